/* base/rng.c - xoshiro256++ and SplitMix64 (D. Blackman, S. Vigna, "Scrambled linear pseudorandom
 * number generators", ACM TOMS 47, 2021), and a Feistel permutation of any {0 .. n-1}.
 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

__extension__ typedef unsigned __int128 wide; /* product of two 64-bit numbers */

/* Four rounds are enough in theory, if the halves have many bits; halves of a few bits need
 * more. */
enum { ROUNDS = 8, ROUNDS_SMALL = 16, SMALL_HALF_BITS = 5 };

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

/* SplitMix64's output function: a bijection in which every input bit moves every output bit. */
static uint64_t mix(uint64_t z)
{
    z -= DROVE_SPLITMIX_STEP;
    return drove__splitmix64(&z);
}

/* One number to name the stream (seed, purpose, index). */
static uint64_t stream_name(uint64_t seed, drove_rng_purpose purpose, uint64_t index)
{
    uint64_t name = mix(seed + DROVE_SPLITMIX_STEP);
    name = mix(name + (uint64_t)purpose * DROVE_SPLITMIX_STEP);
    return mix(name ^ (index * DROVE_SPLITMIX_STEP));
}

void drove__rng_seed(drove_rng *rng, uint64_t seed, drove_rng_purpose purpose, uint64_t index)
{
    uint64_t state = stream_name(seed, purpose, index);
    for (int i = 0; i < 4; i++) rng->s[i] = drove__splitmix64(&state); /* never all zero */
}

uint64_t drove__rng_u64(drove_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* The high half of a 128-bit product (Lemire, "Fast random integer generation in an interval",
 * 2019); the low half says when to draw again. */
uint64_t drove__rng_below(drove_rng *rng, uint64_t bound)
{
    assert(bound >= 1);
    wide product = (wide)drove__rng_u64(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t surplus = (0 - bound) % bound; /* 2^64 mod bound */
        while ((uint64_t)product < surplus) product = (wide)drove__rng_u64(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

double drove__rng_uniform(drove_rng *rng)
{
    return (double)(drove__rng_u64(rng) >> 11) * 0x1p-53;
}

/* Box-Muller; 1 - u lies in (0, 1], so the logarithm is finite. */
double drove__rng_normal(drove_rng *rng)
{
    double radius = sqrt(-2.0 * log(1.0 - drove__rng_uniform(rng)));
    return radius * cos(6.283185307179586477 * drove__rng_uniform(rng));
}

void drove__permutation_init(drove_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch)
{
    assert(n >= 1);
    p->n = n;
    unsigned bits = n > 1 ? 64u - (unsigned)__builtin_clzll(n - 1) : 1u;
    p->half_bits = (bits + 1) / 2;
    uint64_t state = stream_name(seed, DROVE_RNG_ORDER, epoch);
    for (int i = 0; i < 4; i++) p->key[i] = drove__splitmix64(&state);
}

/* The function of a round; its low half counts. */
static uint64_t scramble(uint64_t x)
{
    x *= DROVE_SPLITMIX_STEP;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x >> 32;
}

/* Permutes the numbers of 2 * half_bits bits, of which there are fewer than 4 n.  The rounds alone
 * are even permutations; the keyed shift before them makes odd ones as likely. */
static uint64_t feistel(const drove_permutation *p, uint64_t i)
{
    uint64_t mask = ((uint64_t)1 << p->half_bits) - 1;
    uint64_t shifted = i + (p->key[0] >> 5);
    uint64_t left = (shifted >> p->half_bits) & mask;
    uint64_t right = shifted & mask;
    unsigned n_rounds = p->half_bits <= SMALL_HALF_BITS ? ROUNDS_SMALL : ROUNDS;
    for (unsigned round = 0; round < n_rounds; round++) {
        uint64_t next = left ^ (scramble(right + p->key[round & 3] + round) & mask);
        left = right;
        right = next;
    }
    return (left << p->half_bits) | right;
}

uint64_t drove__permutation_at(const drove_permutation *p, uint64_t i)
{
    assert(i < p->n);
    do {
        i = feistel(p, i);
    } while (i >= p->n); /* terminates: the cycle of i contains i, which is < n */
    return i;
}

/* Several at a time: a round of one waits for its multiplications, those of the others fill the
 * time. */
enum { TOGETHER = 8 };

static void feistel_together(const drove_permutation *p, const uint64_t i[TOGETHER],
                             uint64_t out[TOGETHER])
{
    const uint64_t mask = ((uint64_t)1 << p->half_bits) - 1;
    uint64_t left[TOGETHER], right[TOGETHER];
    for (int k = 0; k < TOGETHER; k++) {
        uint64_t shifted = i[k] + (p->key[0] >> 5);
        left[k] = (shifted >> p->half_bits) & mask;
        right[k] = shifted & mask;
    }
    unsigned n_rounds = p->half_bits <= SMALL_HALF_BITS ? ROUNDS_SMALL : ROUNDS;
    for (unsigned round = 0; round < n_rounds; round++) {
        const uint64_t key = p->key[round & 3] + round;
        for (int k = 0; k < TOGETHER; k++) {
            uint64_t next = left[k] ^ (scramble(right[k] + key) & mask);
            left[k] = right[k];
            right[k] = next;
        }
    }
    for (int k = 0; k < TOGETHER; k++) out[k] = (left[k] << p->half_bits) | right[k];
}

void drove__permutation_run(const drove_permutation *p, uint64_t first, uint64_t n, uint64_t *out)
{
    uint64_t at[TOGETHER], to[TOGETHER], place[TOGETHER] = {0};
    uint64_t next = 0;
    unsigned n_walking = 0;
    /* place[k] of out has walked to at[k]; each that arrives makes room for the next */
    while (next < n || n_walking > 0) {
        for (; n_walking < TOGETHER && next < n; n_walking++, next++) {
            place[n_walking] = next;
            at[n_walking] = first + next;
        }
        for (unsigned k = n_walking; k < TOGETHER; k++) at[k] = 0;
        feistel_together(p, at, to);
        unsigned left = 0;
        for (unsigned k = 0; k < n_walking; k++) {
            out[place[k]] = to[k]; /* until the last time */
            at[left] = to[k];
            place[left] = place[k];
            left += to[k] >= p->n;
        }
        n_walking = left;
    }
}
