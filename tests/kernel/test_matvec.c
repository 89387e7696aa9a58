/* One example at a time: the equations by hand, plain C against double, every tier against plain C
 * (bit for bit but matvec_t), dense against sparse, ger against outer followed by sgd. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IN = 1100, MAX_OUT = 300 }; /* inputs beyond one list of the vector tiers */

/* A sum of n fused terms: each partial sum is rounded once. */
static double sum_bound(double sum_of_sizes, size_t n)
{
    return sum_of_sizes * (double)(n + 1) * 0x1p-24;
}

static const size_t in_sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 33, 784, MAX_IN};
static const size_t out_sizes[] = {0,  1,  3,  8,   10,  16,  17,  31,
                                   63, 64, 65, 128, 129, 207, 256, MAX_OUT};
enum {
    N_IN = sizeof in_sizes / sizeof in_sizes[0],
    N_OUT = sizeof out_sizes / sizeof out_sizes[0]
};

static float x[MAX_IN], dy[MAX_OUT], y[MAX_OUT], w[MAX_IN * MAX_OUT];
static uint32_t index_of[MAX_IN];

FIXTURE(fill)
{
    fill_normal(x, MAX_IN, 1.0, 1);
    fill_normal(dy, MAX_OUT, 1.0, 2);
    fill_normal(y, MAX_OUT, 1.0, 3);
    fill_normal(w, MAX_IN * MAX_OUT, 1.0, 4);
    for (size_t j = 0; j < MAX_IN; j++) { /* runs and lone zeros, as in images */
        if (j % 5 == 2 || (j / 40) % 3 == 1) x[j] = 0.0f;
    }
    return 0;
}

GROUP(fill, NULL);

TEST(test_by_hand)
{
    const float in[2] = {2.0f, 3.0f}, d[2] = {1.0f, -1.0f}, ones[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    float m[4] = {1.0f, 10.0f, 100.0f, 1000.0f}, out[2] = {0.5f, 0.0f}, back[2], g[4];
    const uint32_t second = 1;
    drovek_ref.matvec_f32(out, in, m, 2, 2);
    assert_true(out[0] == 0.5f + 302.0f && out[1] == 3020.0f);
    drovek_ref.matvec_t_f32(back, d, m, 2, 2);
    assert_true(back[0] == -9.0f && back[1] == -900.0f);
    drovek_ref.outer_f32(g, in, d, 2, 2);
    assert_true(g[0] == 2.0f && g[1] == -2.0f && g[2] == 3.0f && g[3] == -3.0f);
    drovek_ref.ger_f32(m, in, d, 2, 2, 0.5f);
    assert_true(m[0] == 0.0f && m[1] == 11.0f && m[2] == 98.5f && m[3] == 1001.5f);
    drovek_ref.spmatvec_f32(back, &second, NULL, 0, m, 2);
    out[0] = out[1] = 0.0f;
    drovek_ref.spmatvec_f32(out, &second, NULL, 1, ones, 2);
    drovek_ref.spmatvec_f32(out, &second, in, 1, ones, 2);
    assert_true(out[0] == 3.0f && out[1] == 3.0f);
    drovek_ref.spger_f32(m, &second, in, 1, d, 2, 0.5f);
    assert_true(m[0] == 0.0f && m[2] == 97.5f && m[3] == 1002.5f);
    drovek_ref.spouter_f32(g, &second, NULL, 1, d, 2);
    assert_true(g[0] == 2.0f && g[2] == 4.0f && g[3] == -4.0f);
}

static void check_dense(const drovek_table *t, size_t n_in, size_t n_out, place where)
{
    static float want[MAX_IN * MAX_OUT];
    const drovek_table plain = drovek_narrow(&drovek_ref, t->factors);
    size_t n = n_in * n_out;
    float *xs = guarded_floats(x, n_in, where), *ds = guarded_floats(dy, n_out, where);
    float *ws = guarded_floats(w, n, where), *ys = guarded_floats(y, n_out, where);

    memcpy(want, y, sizeof y);
    plain.matvec_f32(want, x, w, n_in, n_out);
    t->matvec_f32(ys, xs, ws, n_in, n_out);
    assert_same_bits("matvec_f32", t->isa, n_out, ys, want);

    float *dx = guarded_floats(NULL, n_in, where);
    t->matvec_t_f32(dx, ds, ws, n_in, n_out);
    for (size_t j = 0; j < n_in; j++) {
        double sum = 0.0, size = 0.0;
        for (size_t o = 0; o < n_out; o++) {
            double term = factor_value(t, w[j * n_out + o]) * factor_value(t, dy[o]);
            sum += term;
            size += fabs(term);
        }
        assert_true(fabs((double)dx[j] - sum) <= sum_bound(size, n_out));
    }

    float *g = guarded_floats(NULL, n, where);
    plain.outer_f32(want, x, dy, n_in, n_out);
    t->outer_f32(g, xs, ds, n_in, n_out);
    assert_same_bits("outer_f32", t->isa, n, g, want);
    memcpy(want, w, n * sizeof *w);
    t->sgd_f32(want, want, g, n, 0.1f);
    t->ger_f32(ws, xs, ds, n_in, n_out, 0.1f);
    assert_same_bits("ger_f32 against outer and sgd", t->isa, n, ws, want);
    memcpy(want, w, n * sizeof *w);
    plain.ger_f32(want, x, dy, n_in, n_out, 0.1f);
    assert_same_bits("ger_f32", t->isa, n, ws, want);
    guarded_free_all();
}

static void check_dense_sizes(const drovek_table *t)
{
    for (size_t i = 0; i < N_IN; i++) {
        for (size_t o = 0; o < N_OUT; o++) {
            check_dense(t, in_sizes[i], out_sizes[o], PLACE_END);
            check_dense(t, in_sizes[i], out_sizes[o], PLACE_START);
        }
    }
}

TEST(test_dense)
{
    for_each_tier(check_dense_sizes);
    for_each_bf16_tier(check_dense_sizes);
}

/* Sums of matvec are what double arithmetic says, and so is the step of ger. */
static void check_against_double(const drovek_table *t)
{
    static float stepped[784 * 128];
    float sum[128] = {0.0f};
    t->matvec_f32(sum, x, w, 784, 128);
    memcpy(stepped, w, sizeof stepped);
    t->ger_f32(stepped, x, dy, 784, 128, 0.1f);
    for (size_t o = 0; o < 128; o++) {
        double exact = 0.0, size = 0.0;
        for (size_t j = 0; j < 784; j++) {
            double term = factor_value(t, x[j]) * factor_value(t, w[j * 128 + o]);
            double step = (double)0.1f * factor_value(t, x[j]) * factor_value(t, dy[o]);
            double after = (double)w[j * 128 + o] - step;
            exact += term;
            size += fabs(term);
            assert_true(fabs((double)stepped[j * 128 + o] - after) <=
                        sum_bound(fabs((double)w[j * 128 + o]) + fabs(step), 2));
        }
        assert_true(fabs((double)sum[o] - exact) <= sum_bound(size, 784));
    }
}

TEST(test_ref_against_double)
{
    const drovek_table narrow = drovek_narrow(&drovek_ref, DROVEK_FACTORS_BF16);
    check_against_double(&drovek_ref);
    check_against_double(&narrow);
}

/* Zero inputs cost nothing, so not even a NaN behind them is seen; a NaN input is not a zero. */
static void check_zero_inputs(const drovek_table *t)
{
    float in[40] = {0.0f}, m[40 * 16], d[16], out[16] = {0.0f};
    for (size_t i = 0; i < 40 * 16; i++) m[i] = i / 16 == 20 ? 1.0f : NAN;
    for (size_t o = 0; o < 16; o++) d[o] = 1.0f;
    in[20] = 3.0f, in[7] = -0.0f;
    t->matvec_f32(out, in, m, 40, 16);
    for (size_t o = 0; o < 16; o++) assert_true(out[o] == 3.0f);
    t->ger_f32(m, in, d, 40, 16, 1.0f);
    for (size_t o = 0; o < 16; o++) assert_true(m[20 * 16 + o] == -2.0f);
    in[20] = NAN;
    t->matvec_f32(out, in, m, 40, 16);
    for (size_t o = 0; o < 16; o++) assert_true(isnan(out[o]));
}

TEST(test_zero_inputs)
{
    for_each_tier(check_zero_inputs);
    for_each_bf16_tier(check_zero_inputs);
}

static void check_sparse(const drovek_table *t, size_t nnz, size_t n_out, const float *value)
{
    static float want[MAX_IN * MAX_OUT];
    const drovek_table plain = drovek_narrow(&drovek_ref, t->factors);
    size_t n = MAX_IN * n_out;
    uint32_t *indices = guarded(nnz * sizeof *indices, sizeof *indices, PLACE_TURN);
    float *values = value == NULL ? NULL : guarded_floats(value, nnz, PLACE_TURN);
    for (size_t k = 0; k < nnz; k++)
        indices[k] = index_of[k] = (uint32_t)((k * 7 + 3) % MAX_IN); /* unsorted */
    float *ds = guarded_floats(dy, n_out, PLACE_TURN), *ws = guarded_floats(w, n, PLACE_TURN);
    float *ys = guarded_floats(y, n_out, PLACE_TURN), *gs = guarded_floats(w, n, PLACE_TURN);

    memcpy(want, y, sizeof y);
    plain.spmatvec_f32(want, index_of, value, nnz, w, n_out);
    t->spmatvec_f32(ys, indices, values, nnz, ws, n_out);
    assert_same_bits("spmatvec_f32", t->isa, n_out, ys, want);

    memcpy(want, w, n * sizeof *w);
    plain.spger_f32(want, index_of, value, nnz, dy, n_out, 0.1f);
    t->spger_f32(ws, indices, values, nnz, ds, n_out, 0.1f);
    assert_same_bits("spger_f32", t->isa, n, ws, want);

    memcpy(want, w, n * sizeof *w);
    plain.spouter_f32(want, index_of, value, nnz, dy, n_out);
    t->spouter_f32(gs, indices, values, nnz, ds, n_out);
    assert_same_bits("spouter_f32", t->isa, n, gs, want);
    guarded_free_all();
}

static void check_sparse_sizes(const drovek_table *t)
{
    const size_t counts[] = {0, 1, 2, 15, 100};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t o = 0; o < N_OUT; o++) {
            check_sparse(t, counts[i], out_sizes[o], x);
            check_sparse(t, counts[i], out_sizes[o], NULL);
        }
    }
}

TEST(test_sparse)
{
    for_each_tier(check_sparse_sizes);
    for_each_bf16_tier(check_sparse_sizes);
}

/* The list of non-zero inputs, given as sparse input, yields the bits of the dense call. */
static void check_dense_is_sparse(const drovek_table *t)
{
    float value[MAX_IN], dense[MAX_OUT], sparse[MAX_OUT];
    uint32_t index[MAX_IN];
    size_t nnz = 0;
    for (uint32_t j = 0; j < MAX_IN; j++) {
        if (x[j] == 0.0f) continue;
        index[nnz] = j;
        value[nnz++] = x[j];
    }
    assert_true(nnz > 100 && nnz < MAX_IN - 100);
    memcpy(dense, y, sizeof dense);
    memcpy(sparse, y, sizeof sparse);
    t->matvec_f32(dense, x, w, MAX_IN, MAX_OUT);
    t->spmatvec_f32(sparse, index, value, nnz, w, MAX_OUT);
    assert_same_bits("dense and sparse", t->isa, MAX_OUT, sparse, dense);
}

TEST(test_dense_is_sparse)
{
    for_each_tier(check_dense_is_sparse);
    for_each_bf16_tier(check_dense_is_sparse);
}
