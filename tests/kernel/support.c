#include "support.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_BLOCKS = 256 };

/* Mapped once, used again: mapping is what takes long. */
static struct {
    char *map;
    size_t size_bytes;
    bool is_used;
} blocks[MAX_BLOCKS];
static size_t n_blocks;
static unsigned n_turns; /* of PLACE_TURN, from the day on: 0: not begun */

static void unmap_unused(void)
{
    size_t n_used = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        if (blocks[i].is_used) blocks[n_used++] = blocks[i];
        else munmap(blocks[i].map, blocks[i].size_bytes);
    }
    n_blocks = n_used;
}

/* `inner` bytes between two forbidden pages. */
static char *between_pages(size_t inner, size_t page)
{
    size_t size_bytes = inner + 2 * page;
    for (size_t i = 0; i < n_blocks; i++) {
        if (blocks[i].is_used || blocks[i].size_bytes != size_bytes) continue;
        blocks[i].is_used = true;
        return blocks[i].map + page;
    }
    char *map = mmap(NULL, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    if (n_blocks == MAX_BLOCKS) unmap_unused();
    assert_true(n_blocks < MAX_BLOCKS);
    assert_int_equal(mprotect(map + page, inner, PROT_READ | PROT_WRITE), 0);
    blocks[n_blocks].map = map;
    blocks[n_blocks].is_used = true;
    blocks[n_blocks++].size_bytes = size_bytes;
    return map + page;
}

void *guarded(size_t size_bytes, size_t element_bytes, place where)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (size_bytes + 64 + element_bytes + page - 1) / page * page;
    char *from = between_pages(inner, page);
    memset(from, 0xff, inner);
    if (n_turns == 0) n_turns = test_day();
    /* Not every other time: loops over two variants would see one side each. */
    if (where == PLACE_TURN) where = __builtin_parity(n_turns) ? PLACE_START : PLACE_END;
    if (where == PLACE_END) return from + inner - size_bytes;
    if (where == PLACE_START) return from;
    return from + 64 + element_bytes;
}

void guarded_free_all(void)
{
    for (size_t i = 0; i < n_blocks; i++) blocks[i].is_used = false;
    if (n_turns > 0) n_turns++;
}

float *guarded_floats(const float *from, size_t n, place where)
{
    float *x = guarded(n * sizeof *x, sizeof *x, where);
    if (from != NULL) memcpy(x, from, n * sizeof *x);
    return x;
}

void fill_normal(float *x, size_t n, double deviation, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) x[i] = (float)(deviation * drove__rng_normal(&rng));
}

const size_t edge_lengths[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,   13,
                               14, 15, 16, 17, 18, 19, 20, 21, 22, 23,  24,  25,  26,   27,
                               28, 29, 30, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, SIZE_MAX};

void assert_same_bits(const char *what, const char *isa, size_t n, const float *got,
                      const float *wanted)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(got + i, wanted + i, sizeof *got) == 0) continue;
        print_error("%s (%s), n %zu: element %zu is %a, not %a\n", what, isa, n, i, (double)got[i],
                    (double)wanted[i]);
        fail();
    }
}

double ulps(float got, double wanted)
{
    if (isnan(wanted) || isinf(wanted)) {
        bool same = isnan(wanted) ? (bool)isnan(got) : (double)got == wanted;
        return same ? 0.0 : INFINITY;
    }
    int exponent;
    frexp(wanted, &exponent);
    double unit = ldexp(1.0, exponent - FLT_MANT_DIG);
    return fabs((double)got - wanted) / fmax(unit, (double)FLT_MIN * (double)FLT_EPSILON);
}

double factor_value(const drovek_table *tier, float v)
{
    int exponent;
    if (tier->factors != DROVEK_FACTORS_BF16 || v == 0.0f || !isfinite(v)) return v;
    double significand = frexp(v, &exponent); /* bf16: eight bits, ties to even */
    return ldexp(nearbyint(ldexp(significand, 8)), exponent - 8);
}

static void (*check_narrow)(const drovek_table *tier);
static drovek_factors narrow_factors;

static void narrow_and_check(const drovek_table *tier)
{
    const drovek_table narrow = drovek_narrow(tier, narrow_factors);
    if (narrow.factors == narrow_factors) check_narrow(&narrow);
}

void for_each_narrow_tier(drovek_factors factors, void (*check)(const drovek_table *tier))
{
    narrow_factors = factors;
    check_narrow = check;
    for_each_tier(narrow_and_check);
}

void for_each_bf16_tier(void (*check)(const drovek_table *tier))
{
    for_each_narrow_tier(DROVEK_FACTORS_BF16, check);
}

void for_each_tier(void (*check)(const drovek_table *tier))
{
    for (const char *const *name = drovek_tiers(); *name != NULL; name++) {
        drovek_table tier;
        drove_status status = drovek_select(&tier, drove__cpu_features(), *name);
        if (status == DROVE_E_UNSUPPORTED) {
            print_message("skipped: this processor cannot run the tier %s\n", *name);
            continue;
        }
        assert_int_equal(status, DROVE_OK);
        check(&tier);
        guarded_free_all();
    }
}
