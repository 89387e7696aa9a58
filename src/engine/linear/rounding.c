/* engine/linear/rounding.c - see rounding.h. */
#include "engine/linear/rounding.h"

#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDINGS = 8, NEAREST_BLOCKS = 2 };

/* ---- the ways ---- */

static void refill_nearest(drove_rounder *r, size_t n_blocks, bool by_bytes)
{
    (void)n_blocks;
    r->bits.block = r->block + (by_bytes ? 0 : DROVEK_BLOCK_BYTES);
}

/* The kernel steps the generators. */
static void refill_xorshift(drove_rounder *r, size_t n_blocks, bool by_bytes)
{
    (void)r, (void)n_blocks, (void)by_bytes;
}

static void refill_shared(drove_rounder *r, size_t n_blocks, bool by_bytes)
{
    (void)n_blocks, (void)by_bytes;
    if (r->until_fresh-- > 0) return;
    r->until_fresh = r->how.period - 1;
    unsigned n_lanes = (unsigned)r->how.bits / 64;
    for (unsigned i = 0; i < n_lanes; i++) r->lane[i] = drovek_xorshift64(r->lane[i]);
    for (unsigned i = n_lanes; i < 8; i++) r->lane[i] = r->lane[i - n_lanes];
    memcpy(r->block, r->lane, sizeof r->lane);
}

static void refill_mt19937(drove_rounder *r, size_t n_blocks, bool by_bytes)
{
    (void)by_bytes;
    for (size_t at = 0; at < n_blocks * DROVEK_BLOCK_BYTES; at += sizeof(uint32_t)) {
        uint32_t word = drove__mt_u32(r->mt);
        memcpy(r->block + at, &word, sizeof word);
    }
}

static const drove_rounding_ops nearest = {
    .name = "nearest",
    .help = "to the nearest number: biased",
    .source = "De Sa et al., ISCA 2017, section 3",
    .refill = refill_nearest,
};

static const drove_rounding_ops mt19937 = {
    .name = "mt19937",
    .help = "unbiased, Mersenne twister, a number for every write",
    .source = "De Sa et al., ISCA 2017, section 5.2; Matsumoto, Nishimura 1998",
    .is_unbiased = true,
    .is_stream = true,
    .refill = refill_mt19937,
};

static const drove_rounding_ops xorshift = {
    .name = "xorshift",
    .help = "unbiased, vectorised xorshift, fresh bits for every write",
    .source = "De Sa et al., ISCA 2017, section 5.2; Marsaglia 2003",
    .is_unbiased = true,
    .refill = refill_xorshift,
};

static const drove_spec_key shared_keys[] = {
    {"bits", "512", DROVE_AS_COUNT(drove_rounding, bits, 256, 512),
     .help = "fresh ones, 256 or 512"},
    {"period", "1", DROVE_AS_COUNT(drove_rounding, period, 1, 1000000),
     .help = "AXPYs until the next fresh ones"},
    DROVE_SPEC_END,
};

static const drove_rounding_ops shared = {
    .name = "shared",
    .help = "unbiased, fresh bits every so many AXPYs, shared by all their writes",
    .source = "De Sa et al., ISCA 2017, section 5.2",
    .keys = shared_keys,
    .is_unbiased = true,
    .refill = refill_shared,
};

const drove_rounding_ops *const drove__roundings[] = {&nearest, &mt19937, &xorshift, &shared, NULL};

/* ---- parsing ---- */

drove_status drove__rounding_parse(const char *spec, drove_rounding *out)
{
    const char *names[MOST_ROUNDINGS];
    drove_spec parts = {0};
    drove_rounding how = {.bits = 512, .period = 1};
    size_t n = 0;
    drove_status status = drove__spec_parse(spec, &parts);
    if (status != DROVE_OK) goto fail;
    for (; how.ops == NULL && drove__roundings[n] != NULL; n++) {
        names[n] = drove__roundings[n]->name;
        if (strcmp(names[n], parts.name) == 0) how.ops = drove__roundings[n];
    }
    if (how.ops == NULL) {
        status = drove__fail_unknown("rounding", parts.name, names, n);
        goto fail;
    }
    status = drove__spec_read(&parts, how.ops->keys, &how);
    if (status == DROVE_OK && how.bits != 256 && how.bits != 512)
        status = drove__fail(DROVE_E_ARG, "shared?bits: expected 256 or 512, found %u",
                             (unsigned)how.bits);
fail:
    drove__spec_fini(&parts);
    if (status != DROVE_OK) return drove__fail_in(status, "--rounding");
    *out = how;
    return DROVE_OK;
}

/* ---- a worker's source ---- */

drove_status drove__rounder_init(drove_rounder *r, const drove_rounding *how, size_t most_blocks)
{
    *r = (drove_rounder){.how = *how, .n_blocks = how->ops->is_stream ? most_blocks : 0};
    if (r->n_blocks < NEAREST_BLOCKS) r->n_blocks = NEAREST_BLOCKS;
    r->block = drove__alloc(r->n_blocks, DROVEK_BLOCK_BYTES);
    if (r->block == NULL) return drove__fail_nomem("random bits", r->n_blocks * DROVEK_BLOCK_BYTES);
    r->bits.block = r->block;
    r->bits.kind = how->ops == &xorshift ? DROVEK_BITS_XORSHIFT
                   : how->ops->is_stream ? DROVEK_BITS_STREAM
                                         : DROVEK_BITS_FIXED;
    memset(r->block, 0x80, DROVEK_BLOCK_BYTES); /* one half in bytes; in little-endian words: */
    for (size_t i = 1; i < DROVEK_BLOCK_BYTES; i += 2) r->block[DROVEK_BLOCK_BYTES + i] = 0x80;
    if (!how->ops->is_stream) return DROVE_OK;
    r->mt = malloc(sizeof *r->mt);
    return r->mt != NULL ? DROVE_OK : drove__fail_nomem("random bits", sizeof *r->mt);
}

/* State of an xorshift generator: never 0. */
static uint64_t fresh(uint64_t *state)
{
    return drove__splitmix64(state) | 1u;
}

/* With one example a batch this is a good part of a step, so each way seeds what it reads alone. */
void drove__rounder_seed(drove_rounder *r, uint64_t seed, uint64_t number)
{
    if (!r->how.ops->is_unbiased) return;
    drove__rng_seed(&r->rng, seed, DROVE_RNG_ROUNDING, number);
    uint64_t state = drove__rng_u64(&r->rng);
    r->until_fresh = 0;
    if (r->mt != NULL) drove__mt_seed(r->mt, (uint32_t)drove__splitmix64(&state));
    else if (r->how.ops == &xorshift)
        for (unsigned i = 0; i < 8; i++) r->bits.state[i] = fresh(&state);
    else
        for (unsigned i = 0; i < r->how.bits / 64; i++) r->lane[i] = fresh(&state);
}

void drove__rounder_fini(drove_rounder *r)
{
    drove__free(r->block);
    free(r->mt);
    r->block = NULL;
    r->mt = NULL;
}

void drove__factor_make(drove_number d, drove_number m, const double *alpha, size_t n,
                        drove_rounder *rounder, drovek_factor *out)
{
    if (d == DROVE_F32 || m == DROVE_F32) {
        for (size_t i = 0; i < n; i++) out[i] = (drovek_factor){.f = (float)alpha[i]};
        return;
    }
    const drovek_fraction fraction = drovek_fraction_of(d, m, n > 1);
    double room = (double)fraction.sum - (double)n, sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += fabs(alpha[i]);
    int shift = fraction.shift;
    while (shift > 0 && sum * (double)(1 << shift) > room) shift--;
    double scale = (double)(1 << shift);
    if (sum > room) scale = room / sum;
    for (size_t i = 0; i < n; i++) {
        double a = floor(alpha[i] * scale + drove__rounder_u(rounder));
        if (!isfinite(sum)) a = 0.0;
        out[i] = (drovek_factor){.a = (int32_t)a, .shift = shift};
    }
}
