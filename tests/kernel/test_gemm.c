/* Matrix products of every tier and of the library at its widest: values, empty shapes, and the
 * same bits from every thread. */
#include "products.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* First of all, because the library keeps the limit of its first use. */
FIXTURE(choose_widest)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), NULL), DROVE_OK);
    print_message("widest: %s, %s\n", t.isa, t.gemm_source);
    return 0;
}

GROUP(choose_widest, NULL);

TEST(test_products_of_the_widest)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), NULL), DROVE_OK);
    check_products(&t);
}

TEST(test_products)
{
    for_each_tier(check_products);
}

/* A tier's own product has to be right also where the library's is preferred. */
static void check_own(const drovek_table *tier, const drovek_table *own)
{
    drovek_table t = *tier;
    t.gemm_f32 = own->gemm_f32;
    t.gemm_source = own->gemm_source;
    check_products(&t);
}

static void check_own_products(const drovek_table *t)
{
#if DROVEK_X86
    if (strcmp(t->isa, "avx2") == 0) check_own(t, &drovek_avx2);
    if (strcmp(t->isa, "avx512") == 0) check_own(t, &drovek_avx512);
#endif
    if (strcmp(t->isa, "ref") == 0) check_own(t, &drovek_ref);
}

TEST(test_own_products)
{
    for_each_tier(check_own_products);
}

/* ---- steps ---- */

enum { MOST_M = 130, ETA_SEED = 20 };

/* W[m][n] -= eta A^T B in one product: the bits of the product, then sgd_f32. */
static void check_step(const drovek_table *t, size_t m, size_t n, size_t k)
{
    static float a[DROVEK_STEP_K * MOST_M], b[DROVEK_STEP_K * DROVEK_STEP_N];
    static float in_one[MOST_M * DROVEK_STEP_N], in_two[MOST_M * DROVEK_STEP_N],
        g[MOST_M * DROVEK_STEP_N];
    static const float eta = 0.0371f;
    fill_normal(a, k * m, 1.0, ETA_SEED);
    fill_normal(b, k * n, 1.0, ETA_SEED + 1);
    fill_normal(in_one, m * n, 1.0, ETA_SEED + 2);
    memcpy(in_two, in_one, m * n * sizeof *in_one);
    t->gemm_f32(true, false, m, n, k, -eta, a, m, b, n, 1.0f, in_one, n);
    t->gemm_f32(true, false, m, n, k, 1.0f, a, m, b, n, 0.0f, g, n);
    t->sgd_f32(in_two, in_two, g, m * n, eta);
    assert_same_bits("step in place", t->isa, m * n, in_one, in_two);
}

static void check_steps(const drovek_table *t)
{
    static const size_t n[] = {1, 10, 17, 64, 100, 128, 511, DROVEK_STEP_N};
    static const size_t m[] = {1, 5, 13, 128, MOST_M}, k[] = {1, 3, 16, 33, DROVEK_STEP_K};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        for (size_t j = 0; j < sizeof m / sizeof *m; j++)
            for (size_t l = 0; l < sizeof k / sizeof *k; l++) check_step(t, m[j], n[i], k[l]);
}

TEST(test_steps_in_place)
{
    for_each_tier(check_steps);
}

TEST(test_bf16_products)
{
    for_each_bf16_tier(check_products);
}

static void check_empty(const drovek_table *t)
{
    const float *a = products_factors(t).a, *b = products_factors(t).b;
    float out[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    drovek_thread_init();
    t->gemm_f32(false, false, 0, 2, 2, 1.0f, a, 2, b, 2, 0.0f, out, 2);
    t->gemm_f32(false, false, 2, 0, 2, 1.0f, a, 2, b, 2, 0.0f, out, 2);
    assert_true(out[0] == 1.0f && out[3] == 4.0f);
    t->gemm_f32(false, false, 2, 2, 0, 1.0f, a, 2, b, 2, 0.5f, out, 2); /* no terms: C = beta C */
    assert_true(out[0] == 0.5f && out[3] == 2.0f);
    t->gemm_f32(false, true, 2, 2, 0, 1.0f, a, 2, b, 2, 0.0f, out, 2);
    assert_true(out[0] == 0.0f && out[3] == 0.0f);
}

/* A factor that is not finite makes the element that it belongs to so: training sees a crash. */
static void check_crashed(const drovek_table *t)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    enum { SIDE = 40 };
    float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        for (size_t side = 0; side < 2; side++) {
            for (size_t j = 0; j < SIDE * SIDE; j++) a[j] = b[j] = 1.0f;
            (side == 0 ? a : b)[17 * SIDE + 21] = bad[i];
            t->gemm_f32(false, false, SIDE, SIDE, SIDE, 1.0f, a, SIDE, b, SIDE, 0.0f, c, SIDE);
            assert_false(isfinite(c[17 * SIDE + 21]));
        }
    }
}

TEST(test_crashed_factors)
{
    for_each_tier(check_crashed);
    for_each_bf16_tier(check_crashed);
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_crashed);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_crashed);
}

/* Integers times powers of two from one end of the range to the other: exact products.  Blocks
 * with -128 and without 127 are among them, and such with a 128th of 1 beside it. */
static void check_scales(const drovek_table *t)
{
    static const int exponents[][2] = {{0, 0}, {100, -90}, {-100, 60}, {-110, 110}, {120, -119}};
    enum { ROWS = 3, SUM = 70, COLUMNS = 20 };
    float a[ROWS * SUM], b[SUM * COLUMNS], c[ROWS * COLUMNS];
    for (size_t s = 0; s < DROVE_COUNT(exponents); s++) {
        const int e = exponents[s][0], f = exponents[s][1];
        for (size_t j = 0; j < ROWS * SUM; j++)
            a[j] = ldexpf((float)(j * 37 % (255 - s)) - 128.0f, e);
        for (size_t j = 0; j < SUM * COLUMNS; j++) b[j] = ldexpf((float)(j * 91 % 256) - 128.0f, f);
        t->gemm_f32(false, false, ROWS, COLUMNS, SUM, 1.0f, a, SUM, b, COLUMNS, 0.0f, c, COLUMNS);
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t j = 0; j < COLUMNS; j++) {
                double sum = 0.0;
                for (size_t l = 0; l < SUM; l++)
                    sum += (double)a[i * SUM + l] * (double)b[l * COLUMNS + j];
                assert_true((double)c[i * COLUMNS + j] == sum);
            }
        }
    }
}

TEST(test_scales_of_integers)
{
    for_each_tier(check_scales);
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_scales);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_scales);
}

TEST(test_products_of_integers)
{
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_products);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_products);
}

TEST(test_empty_shapes)
{
    for_each_tier(check_empty);
    for_each_bf16_tier(check_empty);
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_empty);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_empty);
}

/* ---- the same bits from every thread ---- */

enum { N_THREADS = 4, M = 64, N = 128, K = 784 };

typedef struct call {
    const drovek_table *tier;
    float out[M * N], weights[K * N];
} call;

static void *run_call(void *argument)
{
    call *one = argument;
    factors f = products_factors(one->tier);
    drovek_thread_init();
    for (int i = 0; i < 3; i++) {
        one->tier->gemm_f32(false, false, M, N, K, 1.0f, f.a, K, f.b, N, 0.0f, one->out, N);
        one->tier->gemm_f32(true, false, K, N, M, 1.0f, f.a, K, f.c, N, 0.0f, one->weights, N);
    }
    return NULL;
}

static void check_threads(const drovek_table *t)
{
    call *calls = calloc(N_THREADS, sizeof *calls);
    pthread_t threads[N_THREADS];
    assert_non_null(calls);
    for (size_t i = 0; i < N_THREADS; i++) calls[i].tier = t;
    run_call(&calls[0]);
    for (size_t i = 1; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_call, &calls[i]), 0);
    for (size_t i = 1; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_same_bits("gemm_f32 in a thread", t->isa, M * N, calls[i].out, calls[0].out);
        assert_same_bits("gemm_f32 in a thread", t->isa, K * N, calls[i].weights, calls[0].weights);
    }
    free(calls);
}

TEST(test_threads)
{
    for_each_tier(check_threads);
    for_each_bf16_tier(check_threads);
    for_each_narrow_tier(DROVEK_FACTORS_I8, check_threads);
    for_each_narrow_tier(DROVEK_FACTORS_I16, check_threads);
}
