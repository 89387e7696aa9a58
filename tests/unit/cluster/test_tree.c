/* test_tree.c - the fixed tree of sums: its shape for 1 to 9 workers, whole numbers exactly, other
 * numbers within the rounding of a tree, blocks, factors, results in place of a term. */
#include "cluster/tree.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "crowd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST = 9, N = 2 * DROVE_TREE_BLOCK + 37 };

static float term[MOST][N];
static float spare[DROVE_TREE_LEVELS * DROVE_TREE_BLOCK];

static const float *const *terms(void)
{
    static const float *x[MOST];
    for (unsigned i = 0; i < MOST; i++) x[i] = term[i];
    return x;
}

FIXTURE(fill)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (unsigned w = 0; w < MOST; w++)
        for (size_t i = 0; i < N; i++) term[w][i] = (float)(drove__rng_normal(&rng) * (1 << w));
    return 0;
}

GROUP(fill, NULL);

static void add(unsigned n, float *to, float factor, bool streams)
{
    drove__tree_add(crowd_kernels(), terms(), n, N, to, factor, streams, spare);
}

/* ---- shape ---- */

#define X(w) term[w][i]
static float written_out(unsigned n, size_t i)
{
    switch (n) {
    case 1: return X(0);
    case 2: return X(0) + X(1);
    case 3: return (X(0) + X(1)) + X(2);
    case 4: return (X(0) + X(1)) + (X(2) + X(3));
    case 5: return ((X(0) + X(1)) + (X(2) + X(3))) + X(4);
    case 6: return ((X(0) + X(1)) + (X(2) + X(3))) + (X(4) + X(5));
    case 7: return ((X(0) + X(1)) + (X(2) + X(3))) + ((X(4) + X(5)) + X(6));
    case 8: return ((X(0) + X(1)) + (X(2) + X(3))) + ((X(4) + X(5)) + (X(6) + X(7)));
    default: return (((X(0) + X(1)) + (X(2) + X(3))) + ((X(4) + X(5)) + (X(6) + X(7)))) + X(8);
    }
}
#undef X

TEST(the_shape_is_as_written_out)
{
    for (unsigned n = 1; n <= MOST; n++) {
        static float sum[N];
        size_t n_chain = 0; /* elements where adding one after the other would give the same */
        add(n, sum, 1.0f, false);
        for (size_t i = 0; i < N; i++) {
            float wanted = written_out(n, i), chain = 0.0f;
            assert_true(sum[i] == wanted);
            for (unsigned w = 0; w < n; w++) chain += term[w][i];
            n_chain += chain == wanted;
        }
        if (n > 3) assert_true(n_chain < N * 9 / 10); /* or the numbers would tell nothing */
    }
}

TEST(splits_at_powers_of_two)
{
    static const unsigned split[] = {0, 0, 1, 2, 2, 4, 4, 4, 4, 8};
    for (unsigned n = 2; n < DROVE_COUNT(split); n++)
        assert_int_equal(drove__tree_split(n), split[n]);
    assert_int_equal(drove__tree_split(65536), 32768);
    assert_int_equal(drove__tree_split(65537), 65536);
}

/* ---- numbers ---- */

static double sum_in_double(unsigned first, unsigned n, size_t i, double *magnitude)
{
    double sum = 0.0;
    *magnitude = 0.0;
    for (unsigned w = first; w < first + n; w++) {
        sum += (double)term[w][i];
        *magnitude += fabs((double)term[w][i]);
    }
    return sum;
}

TEST(any_numbers_are_within_the_rounding_of_a_tree)
{
    for (unsigned n = 1; n <= MOST; n++) {
        static float sum[N];
        add(n, sum, 1.0f, false);
        for (size_t i = 0; i < N; i++) {
            double magnitude, exact = sum_in_double(0, n, i, &magnitude);
            assert_true(fabs((double)sum[i] - exact) <= 4.0 * 0x1p-24 * magnitude); /* 4 levels */
        }
    }
}

TEST(whole_numbers_are_exact)
{
    static float whole[MOST][N], sum[N];
    const float *x[MOST];
    for (unsigned w = 0; w < MOST; w++) {
        x[w] = whole[w];
        for (size_t i = 0; i < N; i++) whole[w][i] = (float)((w + 1) * (i % 1000)) - 500.0f;
    }
    for (unsigned n = 1; n <= MOST; n++) {
        drove__tree_add(crowd_kernels(), x, n, N, sum, 0.5f, false, spare);
        for (size_t i = 0; i < N; i++)
            assert_true(sum[i] ==
                        0.5f * ((float)(n * (n + 1) / 2 * (i % 1000)) - 500.0f * (float)n));
    }
}

/* ---- where the result lies ---- */

TEST(the_result_may_lie_on_a_term_or_go_past_the_caches)
{
    for (unsigned n = 1; n <= MOST; n++) {
        static float wanted[N], kept[N], past[N];
        add(n, wanted, 0.25f, false);
        add(n, past, 0.25f, true);
        assert_memory_equal(past, wanted, sizeof wanted);
        for (unsigned w = 0; w < n; w++) {
            memcpy(kept, term[w], sizeof kept);
            add(n, term[w], 0.25f, false);
            assert_memory_equal(term[w], wanted, sizeof wanted);
            memcpy(term[w], kept, sizeof kept);
        }
    }
}

static const float *negated(void *context, unsigned i, size_t offset, size_t length, float *row)
{
    (void)context;
    assert(offset % DROVE_TREE_BLOCK == 0 && length <= DROVE_TREE_BLOCK);
    for (size_t j = 0; j < length; j++) row[j] = -term[i][offset + j];
    return row;
}

TEST(terms_may_be_made_block_by_block)
{
    for (unsigned n = 1; n <= MOST; n++) {
        static float wanted[N], got[N];
        add(n, wanted, -1.0f, false);
        drove__tree_add_terms(crowd_kernels(), negated, NULL, n, N, got, 1.0f, false, spare);
        for (size_t i = 0; i < N; i++) assert_true(got[i] == wanted[i]);
    }
}
