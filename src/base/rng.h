/* base/rng.h - random numbers: xoshiro256++ (Blackman, Vigna) seeded through SplitMix64, and a
 * keyed permutation.
 *
 * Every consumer has its own stream, named by (seed, purpose, index), so that adding a consumer or
 * a thread never changes the numbers that another one sees.  A drove_rng belongs to one thread.
 */
#ifndef DROVE_BASE_RNG_H
#define DROVE_BASE_RNG_H

#include <stdint.h>

typedef struct drove_rng {
    uint64_t s[4];
} drove_rng;

/* Add at the end: the values are part of what a seed means. */
typedef enum drove_rng_purpose {
    DROVE_RNG_INIT = 1,   /* initial parameters          */
    DROVE_RNG_ORDER,      /* order of the examples       */
    DROVE_RNG_SPLIT,      /* held-out split              */
    DROVE_RNG_SYNTH,      /* generated data              */
    DROVE_RNG_BACKOFF,    /* waiting times               */
    DROVE_RNG_TEST,       /* tests and benchmarks        */
    DROVE_RNG_ROUNDING,   /* unbiased rounding           */
    DROVE_RNG_MERGE,      /* rounding of averaged copies */
    DROVE_RNG_FEATURES,   /* random feature maps         */
    DROVE_RNG_FAKE,       /* times of a fake device      */
    DROVE_RNG_AUGMENT,    /* crops and mirror images     */
    DROVE_RNG_SHARD,      /* the worker that owns a row */
    DROVE_RNG_HOLD_OUT,   /* validation examples         */
    DROVE_RNG_STUDY,      /* settings to try             */
    DROVE_RNG_VIRTUAL,    /* times on a virtual clock    */
    DROVE_RNG_IMPORTANCE, /* columns whose values change places */
    DROVE_RNG_MIXUP,      /* shares of mixed examples    */
    DROVE_RNG_FOLDS       /* parts for cross-validation  */
} drove_rng_purpose;

#define DROVE_SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */
/* SplitMix64: the next number of a stream that is one word, to seed other generators by. */
static inline uint64_t drove__splitmix64(uint64_t *state)
{
    uint64_t z = *state += DROVE_SPLITMIX_STEP;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void     drove__rng_seed(drove_rng *rng, uint64_t seed, drove_rng_purpose purpose, uint64_t index);
uint64_t drove__rng_u64(drove_rng *rng);
/* Uniform in [0, bound), unbiased; bound >= 1. */
uint64_t drove__rng_below(drove_rng *rng, uint64_t bound);
double   drove__rng_uniform(drove_rng *rng); /* [0, 1), 53 bits                          */
double   drove__rng_normal(drove_rng *rng);  /* mean 0, deviation 1; two uniforms a call */

/* Keyed permutation of {0 .. n-1}: maps index i.  A Feistel network with cycle walking: no memory,
 * no state, so any worker finds its part of an epoch's order by itself, and a resumed run needs
 * only its counter.  n >= 1, i < n. */
typedef struct drove_permutation {
    uint64_t n;
    uint64_t key[4];
    unsigned half_bits;
} drove_permutation;

void     drove__permutation_init(drove_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch);
uint64_t drove__permutation_at(const drove_permutation *p, uint64_t i);
/* out[k] = where first + k is mapped, k < n; first + n <= p->n.  Much faster than one by one. */
void drove__permutation_run(const drove_permutation *p, uint64_t first, uint64_t n, uint64_t *out);

#endif
