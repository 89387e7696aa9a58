/* Random numbers against a second transcription and published vectors; the permutation is one, and
 * a fair one. */
#include "support.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the generator ---- */

/* First outputs of xoshiro256++ from the state {1, 2, 3, 4}, as several public implementations test
 * them. */
static const uint64_t published[] = {
    41943041u,
    58720359u,
    3588806011781223u,
    3591011842654386u,
    9228616714210784205u,
    9973669472204895162u,
    14011001112246962877u,
    12406186145184390807u,
    15849039046786891736u,
    10450023813501588000u,
};

/* xoshiro256++ written from the paper's figure, word by word. */
static uint64_t paper_rotl(uint64_t x, int k)
{
    uint64_t result = x;
    for (int i = 0; i < k; i++) result = result << 1 | result >> 63;
    return result;
}

static uint64_t paper_next(uint64_t s[4])
{
    uint64_t sum = s[0] + s[3];
    uint64_t result = paper_rotl(sum, 23) + s[0];
    uint64_t a = s[0], b = s[1], c = s[2], d = s[3];
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= s[1] * ((uint64_t)1 << 17);
    d = paper_rotl(d, 45);
    s[0] = a, s[1] = b, s[2] = c, s[3] = d;
    return result;
}

TEST(test_published_vector)
{
    drove_rng rng = {{1, 2, 3, 4}};
    uint64_t paper[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < DROVE_COUNT(published); i++) {
        assert_true(drove__rng_u64(&rng) == published[i]);
        assert_true(paper_next(paper) == published[i]);
    }
}

TEST(test_agrees_with_the_paper)
{
    drove_rng rng;
    drove__rng_seed(&rng, 7, DROVE_RNG_TEST, 3);
    uint64_t paper[4];
    memcpy(paper, rng.s, sizeof paper);
    for (int i = 0; i < 100000; i++) assert_true(drove__rng_u64(&rng) == paper_next(paper));
}

TEST(test_streams_differ)
{
    enum { SEEDS = 3, PURPOSES = 6, INDICES = 5, STREAMS = SEEDS * PURPOSES * INDICES };
    uint64_t first[STREAMS];
    unsigned n = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (unsigned purpose = 1; purpose <= PURPOSES; purpose++) {
            for (uint64_t index = 0; index < INDICES; index++) {
                drove_rng rng, again;
                drove__rng_seed(&rng, seed, (drove_rng_purpose)purpose, index);
                drove__rng_seed(&again, seed, (drove_rng_purpose)purpose, index);
                first[n] = drove__rng_u64(&rng);
                assert_true(drove__rng_u64(&again) == first[n]);
                for (unsigned i = 0; i < n; i++) assert_true(first[i] != first[n]);
                n++;
            }
        }
    }
}

TEST(test_streams_are_uncorrelated)
{
    enum { DRAWS = 100000 };
    drove_rng left, right;
    drove__rng_seed(&left, 1, DROVE_RNG_TEST, 0);
    drove__rng_seed(&right, 1, DROVE_RNG_TEST, 1);
    double sum = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        sum += (drove__rng_uniform(&left) - 0.5) * (drove__rng_uniform(&right) - 0.5);
    }
    assert_true(fabs(sum * 12.0 / sqrt(DRAWS)) < 4.0); /* standard deviation 1 */
}

/* ---- distributions ---- */

TEST(test_below)
{
    static const uint64_t bounds[] = {
        1, 2, 3, 10, 255, 1000, (1u << 31) + 1u, 0x8000000000000001u, UINT64_MAX};
    drove_rng rng;
    drove__rng_seed(&rng, 11, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < DROVE_COUNT(bounds); i++) {
        unsigned count[10] = {0};
        for (int draw = 0; draw < 100000; draw++) {
            uint64_t x = drove__rng_below(&rng, bounds[i]);
            assert_true(x < bounds[i]);
            if (bounds[i] >= 1000)
                count[(unsigned)((long double)x / (long double)bounds[i] * 10)]++;
            else count[x % 10]++;
        }
        if (bounds[i] >= 10 && bounds[i] != 255) assert_true(chi_square_deviation(count, 10) < 5.0);
    }
}

/* With bound 3 * 2^62 a generator without rejection gives some numbers twice as often. */
TEST(test_below_is_unbiased)
{
    drove_rng rng;
    drove__rng_seed(&rng, 12, DROVE_RNG_TEST, 0);
    unsigned count[3] = {0}, remainder[3] = {0};
    for (int draw = 0; draw < 300000; draw++) {
        uint64_t x = drove__rng_below(&rng, 0xc000000000000000u);
        count[x >> 62]++;
        remainder[x % 3]++;
    }
    assert_true(chi_square_deviation(count, 3) < 5.0);
    assert_true(chi_square_deviation(remainder, 3) < 5.0);
}

TEST(test_uniform)
{
    enum { DRAWS = 1000000, CELLS = 100 };
    drove_rng rng, twin;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    twin = rng;
    unsigned count[CELLS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = drove__rng_uniform(&rng);
        assert_true(x >= 0.0 && x < 1.0);
        assert_true(x == ldexp((double)(drove__rng_u64(&twin) / 2048), -53));
        count[(int)(x * CELLS)]++;
    }
    assert_true(fabs(chi_square_deviation(count, CELLS)) < 5.0);
    drove_rng highest = {
        {UINT64_MAX, 0, 0, 0}}; /* gives rotl(2^64 - 1, 23) + 2^64 - 1 = 2^64 - 2 */
    assert_true(drove__rng_uniform(&highest) < 1.0);
}

TEST(test_normal)
{
    enum { DRAWS = 1000000 };
    drove_rng rng, twin;
    drove__rng_seed(&rng, 6, DROVE_RNG_TEST, 0);
    twin = rng;
    double moment[5] = {0};
    unsigned within[3] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = drove__rng_normal(&rng), power = 1.0;
        for (int k = 1; k <= 4; k++) moment[k] += power *= x;
        for (int k = 0; k < 3; k++) within[k] += fabs(x) < k + 1;
        drove__rng_u64(&twin);
        drove__rng_u64(&twin);
    }
    assert_memory_equal(&rng, &twin, sizeof rng); /* two uniforms a call */
    double n = DRAWS;                             /* bounds: five standard errors */
    assert_true(fabs(moment[1] / n) < 5 * 1.0 / sqrt(n));
    assert_true(fabs(moment[2] / n - 1.0) < 5 * sqrt(2.0 / n));
    assert_true(fabs(moment[3] / n) < 5 * sqrt(15.0 / n));
    assert_true(fabs(moment[4] / n - 3.0) < 5 * sqrt(96.0 / n));
    static const double expected[] = {0.682689492, 0.954499736, 0.997300204};
    for (int k = 0; k < 3; k++) {
        double p = expected[k];
        assert_true(fabs(within[k] / n - p) < 5 * sqrt(p * (1 - p) / n));
    }
}

/* ---- the permutation ---- */

TEST(test_is_a_permutation)
{
    static const uint64_t sizes[] = {1,    2,    3,    4,    5,     6,     7,     8,     9,
                                     15,   16,   17,   31,   64,    100,   255,   256,   257,
                                     1000, 1023, 4096, 4097, 60000, 65535, 65536, 65537, 200000};
    unsigned char *seen = malloc(200000);
    assert_non_null(seen);
    for (size_t k = 0; k < DROVE_COUNT(sizes); k++) {
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            uint64_t n = sizes[k];
            drove_permutation p;
            drove__permutation_init(&p, n, 1, epoch);
            memset(seen, 0, n);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t to = drove__permutation_at(&p, i);
                assert_true(to < n);
                assert_int_equal(seen[to], 0);
                seen[to] = 1;
            }
        }
    }
    free(seen);
}

/* Runs of any length, from anywhere, are what each of their numbers is mapped to. */
TEST(test_runs)
{
    static const uint64_t sizes[] = {1,     2,      7,
                                     33,    257,    4097,
                                     65536, 200000, ((uint64_t)1 << 40) + 7};
    uint64_t to[300];
    for (size_t k = 0; k < DROVE_COUNT(sizes); k++) {
        drove_permutation p;
        drove__permutation_init(&p, sizes[k], 5, k);
        for (uint64_t n = 0; n <= 300 && n <= sizes[k]; n += 1 + n / 3) {
            const uint64_t starts[] = {0, (sizes[k] - n) / 2, sizes[k] - n};
            for (size_t s = 0; s < DROVE_COUNT(starts); s++) {
                drove__permutation_run(&p, starts[s], n, to);
                for (uint64_t i = 0; i < n; i++)
                    assert_int_equal(to[i], drove__permutation_at(&p, starts[s] + i));
            }
        }
    }
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

TEST(test_huge_sets)
{
    static const uint64_t sizes[] = {((uint64_t)1 << 32) + 1, ((uint64_t)1 << 40) + 7,
                                     ((uint64_t)1 << 63) + 1, UINT64_MAX};
    enum { SAMPLE = 20000 };
    uint64_t *to = malloc(SAMPLE * sizeof *to);
    assert_non_null(to);
    for (size_t k = 0; k < DROVE_COUNT(sizes); k++) {
        drove_permutation p;
        drove__permutation_init(&p, sizes[k], 1, 1);
        unsigned tenth[10] = {0};
        for (uint64_t i = 0; i < SAMPLE; i++) {
            to[i] = drove__permutation_at(&p, i % 2 == 0 ? i : sizes[k] - i);
            assert_true(to[i] < sizes[k]);
            tenth[(unsigned)((long double)to[i] / (long double)sizes[k] * 10)]++;
        }
        qsort(to, SAMPLE, sizeof *to, compare_u64);
        for (int i = 1; i < SAMPLE; i++) assert_true(to[i] != to[i - 1]);
        assert_true(chi_square_deviation(tenth, 10) < 5.0);
    }
    free(to);
}

/* Rank of p among the n! permutations, n <= 5 (Lehmer code). */
static unsigned rank_of(const drove_permutation *p)
{
    unsigned to[5], rank = 0;
    for (unsigned i = 0; i < p->n; i++) to[i] = (unsigned)drove__permutation_at(p, i);
    for (unsigned i = 0; i < p->n; i++) {
        unsigned smaller = 0;
        for (unsigned j = i + 1; j < p->n; j++) smaller += to[j] < to[i];
        rank = rank * ((unsigned)p->n - i) + smaller;
    }
    return rank;
}

TEST(test_every_small_permutation_is_as_likely)
{
    static const unsigned factorial[] = {1, 1, 2, 6, 24, 120};
    for (unsigned n = 2; n <= 5; n++) {
        unsigned count[120] = {0};
        for (uint64_t epoch = 0; epoch < 2000 * factorial[n]; epoch++) {
            drove_permutation p;
            drove__permutation_init(&p, n, 42, epoch);
            count[rank_of(&p)]++;
        }
        double deviation = chi_square_deviation(count, factorial[n]);
        if (fabs(deviation) > 5.0)
            fail_msg("n = %u: chi-square is %g deviations off", n, deviation);
    }
}

/* MNIST's size.  Where one index goes over many epochs, and where neighbours go within one. */
TEST(test_large_permutations_are_uniform)
{
    enum { N = 60000, CELLS = 100, EPOCHS = 20000 };
    unsigned fixed = 0, cell[CELLS] = {0}, distance[CELLS] = {0}, per_block[CELLS] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        drove_permutation p;
        drove__permutation_init(&p, N, 3, epoch);
        uint64_t to = drove__permutation_at(&p, 12345), next = drove__permutation_at(&p, 12346);
        cell[to * CELLS / N]++;
        distance[(to + N - next) % N * CELLS / N]++;
        fixed += to == 12345;
    }
    assert_true(fabs(chi_square_deviation(cell, CELLS)) < 5.0);
    assert_true(fabs(chi_square_deviation(distance, CELLS)) < 5.0);
    assert_true(fixed <= 6); /* expected: 1 / 3 */
    drove_permutation p;
    drove__permutation_init(&p, N, 3, 0);
    for (uint64_t i = 0; i < N;
         i++) { /* the first tenth of the epoch comes from all over the set */
        uint64_t to = drove__permutation_at(&p, i);
        if (i < N / 10) per_block[to * CELLS / N]++;
    }
    /* drawn without putting back: the variance is 9 / 10 of the usual one, so small is no fault */
    assert_true(chi_square_deviation(per_block, CELLS) < 5.0);
}

TEST(test_epochs_and_seeds_differ)
{
    enum { N = 1000 };
    drove_permutation p, same, other_epoch, other_seed;
    drove__permutation_init(&p, N, 1, 0);
    drove__permutation_init(&same, N, 1, 0);
    drove__permutation_init(&other_epoch, N, 1, 1);
    drove__permutation_init(&other_seed, N, 2, 0);
    unsigned equal_epoch = 0, equal_seed = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t to = drove__permutation_at(&p, i);
        assert_true(drove__permutation_at(&same, i) == to);
        equal_epoch += drove__permutation_at(&other_epoch, i) == to;
        equal_seed += drove__permutation_at(&other_seed, i) == to;
    }
    assert_true(equal_epoch < 8 && equal_seed < 8); /* expected: 1 */
}
