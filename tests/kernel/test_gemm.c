/* Matrix products of every tier and library against double arithmetic: transposes, leading dimensions, alpha, beta,
 * empty shapes, and the same bits from every thread. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_DIM = 800, PAD = 3 };

/* k products and sums, plus alpha and beta: each rounding is at most half a unit of the sum of sizes. */
static double product_bound(double sum_of_sizes, size_t k) { return sum_of_sizes * (double)(k + 4) * 0x1p-24; }

static float *a, *b, *c;

static int fill(void **state)
{
    size_t n = (size_t)MAX_DIM * (MAX_DIM + PAD);
    (void)state;
    a = malloc(n * sizeof *a);
    b = malloc(n * sizeof *b);
    c = malloc(n * sizeof *c);
    assert_true(a != NULL && b != NULL && c != NULL);
    fill_normal(a, n, 1.0, 1);
    fill_normal(b, n, 1.0, 2);
    fill_normal(c, n, 1.0, 3);
    return 0;
}

static int release(void **state)
{
    (void)state;
    free(a);
    free(b);
    free(c);
    return 0;
}

typedef struct shape {
    size_t m, n, k;
} shape;

static float at(const float *x, bool transposed, size_t stride, size_t row, size_t col)
{
    return transposed ? x[col * stride + row] : x[row * stride + col];
}

static void check_element(const drovek_table *t, const float *got, shape s, bool ta, bool tb, size_t lda, size_t ldb,
                          float alpha, float beta, size_t i, size_t j)
{
    double before = beta == 0.0f ? 0.0 : (double)beta * (double)c[i * (s.n + PAD) + j];
    double sum = 0.0, size = 0.0;
    for (size_t p = 0; p < s.k; p++) {
        double term = (double)at(a, ta, lda, i, p) * (double)at(b, tb, ldb, p, j);
        sum += term;
        size += fabs(term);
    }
    double exact = (double)alpha * sum + before;
    double bound = product_bound(fabs((double)alpha) * size + fabs(before), s.k);
    if (fabs((double)got[i * (s.n + PAD) + j] - exact) <= bound) return;
    print_error("%s (%s) m %zu n %zu k %zu %c%c: [%zu][%zu] is %g, not %g\n", t->isa, t->gemm_source, s.m, s.n, s.k,
                ta ? 't' : 'n', tb ? 't' : 'n', i, j, (double)got[i * (s.n + PAD) + j], exact);
    fail();
}

static void check_product(const drovek_table *t, shape s, bool ta, bool tb, float alpha, float beta)
{
    size_t lda = (ta ? s.m : s.k) + PAD, ldb = (tb ? s.k : s.n) + PAD, ldc = s.n + PAD;
    size_t size_a = ((ta ? s.k : s.m) - (s.k != 0 || !ta)) * lda + (ta ? s.m : s.k);
    size_t size_b = ((tb ? s.n : s.k) - (s.k != 0 || tb)) * ldb + (tb ? s.k : s.n);
    if (s.k == 0) size_a = size_b = 0;
    size_t size_c = (s.m - 1) * ldc + s.n;
    float *got = guarded_floats(c, size_c, PLACE_END);
    if (beta == 0.0f) { /* not to be read */
        for (size_t i = 0; i < s.m; i++) {
            for (size_t j = 0; j < s.n; j++) got[i * ldc + j] = NAN;
        }
    }
    t->gemm_f32(ta, tb, s.m, s.n, s.k, alpha, guarded_floats(a, size_a, PLACE_END), lda,
                guarded_floats(b, size_b, PLACE_END), ldb, beta, got, ldc);
    size_t step = s.m * s.n * s.k > 100000 ? 7 : 1; /* every element of small shapes, a sample of large ones */
    for (size_t i = 0; i < s.m; i++) {
        for (size_t j = i % step; j < s.n; j += step) check_element(t, got, s, ta, tb, lda, ldb, alpha, beta, i, j);
    }
    for (size_t i = 0; i + 1 < s.m; i++) { /* between the rows nothing is written */
        assert_memory_equal(got + i * ldc + s.n, c + i * ldc + s.n, PAD * sizeof *c);
    }
    guarded_free_all();
}

static void check_products(const drovek_table *t)
{
    static const shape shapes[] = {
        {1, 1, 1},      {1, 128, 784},  {2, 3, 4},      {5, 17, 33},   {16, 10, 128},  {16, 128, 128}, {16, 128, 784},
        {31, 64, 65},   {64, 128, 784}, {128, 128, 64}, {784, 128, 16}, {128, 10, 16}, {16, 128, 10},  {65, 130, 70},
        {784, 128, 64}, {33, 200, 129}, {3, 128, 1},    {64, 10, 128},  {8, 128, 128}, {13, 144, 40},
    };
    drovek_thread_init();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int transposes = 0; transposes < 4; transposes++) {
            bool ta = transposes % 2 != 0, tb = transposes / 2 != 0;
            check_product(t, shapes[i], ta, tb, 1.0f, 0.0f);
            check_product(t, shapes[i], ta, tb, 1.0f, 1.0f);
            check_product(t, shapes[i], ta, tb, -0.05f, 1.0f);
            check_product(t, shapes[i], ta, tb, 0.5f, 0.25f);
        }
    }
}

static void test_products(void **state)
{
    (void)state;
    for_each_tier(check_products);
}

static void check_empty(const drovek_table *t)
{
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

static void test_empty_shapes(void **state)
{
    (void)state;
    for_each_tier(check_empty);
}

/* ---- the same bits from every thread ---- */

enum { N_THREADS = 4, M = 64, N = 128, K = 784 };

typedef struct call {
    const drovek_table *tier;
    float               out[M * N], weights[K * N];
} call;

static void *run_call(void *argument)
{
    call *one = argument;
    drovek_thread_init();
    for (int i = 0; i < 3; i++) {
        one->tier->gemm_f32(false, false, M, N, K, 1.0f, a, K, b, N, 0.0f, one->out, N);
        one->tier->gemm_f32(true, false, K, N, M, 1.0f, a, K, c, N, 0.0f, one->weights, N);
    }
    return NULL;
}

static void check_threads(const drovek_table *t)
{
    call     *calls = calloc(N_THREADS, sizeof *calls);
    pthread_t threads[N_THREADS];
    assert_non_null(calls);
    for (size_t i = 0; i < N_THREADS; i++) calls[i].tier = t;
    run_call(&calls[0]);
    for (size_t i = 1; i < N_THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_call, &calls[i]), 0);
    for (size_t i = 1; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_same_bits("gemm_f32 in a thread", t->isa, M * N, calls[i].out, calls[0].out);
        assert_same_bits("gemm_f32 in a thread", t->isa, K * N, calls[i].weights, calls[0].weights);
    }
    free(calls);
}

static void test_threads(void **state)
{
    (void)state;
    for_each_tier(check_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_empty_shapes),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, fill, release);
}
