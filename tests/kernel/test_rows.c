/* Activations, their derivatives and softmax: hand-worked values, finite differences, tiers against
 * plain C within named bounds, behaviour at the ends of the number range. */
#include "support.h"
#include "support/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_ROWS = 33, MAX_COLS = 300, MAX_N = MAX_ROWS * MAX_COLS };

/* Against double arithmetic, in units in the last place (of at least the smallest normal number's
 * spacing). */
static const double sigmoid_bound = 3.0;
static const double tanh_bound = 3.0;
/* Softmax: absolute, times `scale`; a probability is at most 1 = 2^24 units. */
static const double softmax_bound = 4.0 * 0x1p-24;
/* Cosine: absolute, times `factor`. */
static const double cos_bound = 2e-6;
/* Loss of a row, relative to itself. */
static const double loss_bound = 4.0 * 0x1p-24;

static const drovek_act acts[] = {DROVEK_LINEAR, DROVEK_RELU, DROVEK_SIGMOID, DROVEK_TANH};
static const size_t col_sizes[] = {1,  2,  7,   8,   9,   10,  15,  16,
                                   17, 64, 100, 127, 128, 129, 257, MAX_COLS};
static const size_t row_sizes[] = {0, 1, 2, 16, MAX_ROWS};
enum {
    N_COLS = sizeof col_sizes / sizeof col_sizes[0],
    N_ROWS = sizeof row_sizes / sizeof row_sizes[0]
};

static float z[MAX_N], other[MAX_N], bias[MAX_COLS];
static int32_t label[MAX_ROWS];

FIXTURE(fill)
{
    fill_normal(z, MAX_N, 3.0, 1);
    fill_normal(other, MAX_N, 1.0, 2);
    fill_normal(bias, MAX_COLS, 1.0, 3);
    return 0;
}

GROUP(fill, NULL);

static void set_labels(size_t cols)
{
    for (size_t i = 0; i < MAX_ROWS; i++) label[i] = (int32_t)(i * 7 % cols);
}

/* ---- cosine ---- */

static void check_cos(const drovek_table *t)
{
    const float factor = 0.75f;
    for (size_t c = 0; c < N_COLS; c++) {
        for (size_t r = 0; r < N_ROWS; r++) {
            size_t rows = row_sizes[r], cols = col_sizes[c];
            for (place where = 0; where < N_PLACES; where++) {
                float *y = guarded_floats(z, rows * cols, where);
                t->cos_f32(y, guarded_floats(bias, cols, where), rows, cols, factor);
                for (size_t i = 0; i < rows * cols; i++) {
                    double wanted = (double)factor * cos((double)(z[i] + bias[i % cols]));
                    assert_true(fabs((double)y[i] - wanted) <= cos_bound * (double)factor);
                }
                guarded_free_all();
            }
        }
    }
}

TEST(test_cos)
{
    for_each_tier(check_cos);
}

/* Largest error over v = 0, step, 2 step ... below `end`, of either sign. */
static double worst_cos(const drovek_table *t, double step, double end)
{
    const float nothing[16] = {0.0f};
    double worst = 0.0;
    for (double at = 0.0; at < end; at += 16 * step) {
        float v[16], y[16];
        for (int i = 0; i < 16; i++) v[i] = (float)((at + i * step) * (i % 2 == 0 ? 1.0 : -1.0));
        memcpy(y, v, sizeof y);
        t->cos_f32(y, nothing, 1, 16, 1.0f);
        for (int i = 0; i < 16; i++) worst = fmax(worst, fabs((double)y[i] - cos((double)v[i])));
    }
    return worst;
}

static void check_cos_range(const drovek_table *t)
{
    float nothing[8] = {0.0f}, v[8] = {1e6f, 3e7f, -1e12f, FLT_MAX, -FLT_MAX, INFINITY, NAN, 0.0f};
    assert_true(worst_cos(t, 1e-4, 20.0) <= cos_bound);
    assert_true(worst_cos(t, 0.37, 1e5) <= cos_bound);
    t->cos_f32(v, nothing, 1, 8, 2.0f);
    for (int i = 0; i < 5; i++) assert_true(fabsf(v[i]) <= 2.0f);
    assert_true(isnan(v[5]) && isnan(v[6]) && v[7] == 2.0f);
}

TEST(test_cos_range)
{
    for_each_tier(check_cos_range);
}

/* ---- activations ---- */

TEST(test_activations_by_hand)
{
    float v[4] = {-1.0f, 0.25f, 3.0f, -0.25f};
    const float b[2] = {0.5f, -0.25f};
    drovek_ref.bias_act_f32(v, b, 2, 2, DROVEK_RELU);
    assert_true(v[0] == 0.0f && v[1] == 0.0f && v[2] == 3.5f && v[3] == 0.0f);
    float s[2] = {-0.5f, 0.25f};
    drovek_ref.bias_act_f32(s, b, 1, 2, DROVEK_SIGMOID);
    assert_true(s[0] == 0.5f && s[1] == 0.5f);
    float t[2] = {0.5f, 0.25f};
    drovek_ref.bias_act_f32(t, b, 1, 2, DROVEK_TANH);
    assert_true(fabs((double)t[0] - 0.76159415595576488812) < 0x1p-24 && t[1] == 0.0f);
}

static double act_exact(double v, drovek_act act)
{
    if (act == DROVEK_RELU) return v > 0.0 ? v : 0.0;
    if (act == DROVEK_SIGMOID) return 1.0 / (1.0 + exp(-v));
    return act == DROVEK_TANH ? tanh(v) : v;
}

static double act_bound(drovek_act act)
{
    if (act == DROVEK_SIGMOID) return sigmoid_bound;
    return act == DROVEK_TANH ? tanh_bound : 0.0;
}

static void check_bias_act(const drovek_table *t, size_t rows, size_t cols, drovek_act act,
                           place where)
{
    float *y = guarded_floats(z, rows * cols, where);
    t->bias_act_f32(y, guarded_floats(bias, cols, where), rows, cols, act);
    for (size_t i = 0; i < rows * cols; i++) {
        double far = ulps(y[i], act_exact((double)(z[i] + bias[i % cols]), act));
        if (far > act_bound(act))
            print_error("%s act %d: %g units at %zu\n", t->isa, (int)act, far, i);
        assert_true(far <= act_bound(act));
    }
    guarded_free_all();
}

static void check_bias_acts(const drovek_table *t)
{
    for (size_t a = 0; a < 4; a++) {
        for (size_t c = 0; c < N_COLS; c++) {
            for (size_t r = 0; r < N_ROWS; r++) {
                for (place where = 0; where < N_PLACES; where++) {
                    check_bias_act(t, row_sizes[r], col_sizes[c], acts[a], where);
                }
            }
        }
    }
}

TEST(test_bias_act)
{
    for_each_tier(check_bias_acts);
}

/* Sigmoid and tanh over the whole range of floats, by steps through their bits. */
static void check_whole_range(const drovek_table *t)
{
    float nothing[16] = {0.0f}, v[16];
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 16 * 1013) {
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t pattern = bits + i * 1013 < 0x7f800000u ? bits + i * 1013 : 0;
            memcpy(&v[i], &pattern, sizeof pattern);
            if (i % 2 != 0) v[i] = -v[i];
        }
        for (size_t a = 2; a < 4; a++) {
            float y[16];
            memcpy(y, v, sizeof y);
            t->bias_act_f32(y, nothing, 1, 16, acts[a]);
            for (size_t i = 0; i < 16; i++) {
                double far = ulps(y[i], act_exact(v[i], acts[a]));
                if (far > act_bound(acts[a]))
                    print_error("%s act %zu (%a) is %g units off\n", t->isa, a, (double)v[i], far);
                assert_true(far <= act_bound(acts[a]));
            }
        }
    }
}

TEST(test_whole_range)
{
    for_each_tier(check_whole_range);
}

static void check_non_finite(const drovek_table *t)
{
    const float b[3] = {0.0f, 0.0f, 0.0f};
    for (size_t a = 0; a < 4; a++) {
        float y[3] = {NAN, INFINITY, -INFINITY};
        t->bias_act_f32(y, b, 1, 3, acts[a]);
        assert_true(isnan(y[0]));
        assert_true((double)y[1] == act_exact(INFINITY, acts[a]));
        assert_true((double)y[2] == act_exact(-INFINITY, acts[a]));
    }
}

TEST(test_non_finite_stays_visible)
{
    for_each_tier(check_non_finite);
}

/* ---- derivatives ---- */

TEST(test_derivative_against_differences)
{
    const double h = 1e-4,
                 bound =
                     1e-5; /* of the central difference of a smooth function, and of y's rounding */
    for (size_t a = 0; a < 4; a++) {
        for (size_t i = 0; i < 200; i++) {
            double v = z[i];
            float y = (float)act_exact(v, acts[a]), dy = 1.0f, db;
            drovek_ref.act_grad_f32(&dy, &db, &y, 1, 1, acts[a]);
            double slope = (act_exact(v + h, acts[a]) - act_exact(v - h, acts[a])) / (2.0 * h);
            assert_true(fabs((double)dy - slope) <= bound);
            assert_true(db == dy);
        }
    }
}

static void check_act_grad(const drovek_table *t, size_t rows, size_t cols, drovek_act act,
                           place where)
{
    float want[MAX_N], want_db[MAX_COLS];
    float *y = guarded_floats(z, rows * cols, where),
          *dy = guarded_floats(other, rows * cols, where);
    float *db = guarded_floats(NULL, cols, where);
    memcpy(want, other, sizeof want);
    drovek_ref.act_grad_f32(want, want_db, z, rows, cols, act);
    t->act_grad_f32(dy, db, y, rows, cols, act);
    assert_same_bits("act_grad_f32", t->isa, rows * cols, dy, want);
    assert_same_bits("act_grad_f32 db", t->isa, cols, db, want_db);
    guarded_free_all();
}

static void check_act_grads(const drovek_table *t)
{
    for (size_t a = 0; a < 4; a++) {
        for (size_t c = 0; c < N_COLS; c++) {
            for (size_t r = 0; r < N_ROWS; r++) {
                for (place where = 0; where < N_PLACES; where++) {
                    check_act_grad(t, row_sizes[r], col_sizes[c], acts[a], where);
                }
            }
        }
    }
}

TEST(test_act_grad_equals_ref)
{
    for_each_tier(check_act_grads);
}

/* ---- softmax ---- */

TEST(test_softmax_by_hand)
{
    const float logits[4] = {0.0f, 0.0f, 3.0f, 3.0f};
    const int32_t first[1] = {0}, second[1] = {1};
    float d[4];
    size_t right = 0;
    double loss = drovek_ref.softmax_f32(logits, first, d, 1, 2, 0.5f, &right);
    assert_true(fabs(loss - 0.69314718055994530942) < 1e-15);
    assert_true(d[0] == -0.25f && d[1] == 0.25f && right == 1);
    drovek_ref.softmax_f32(logits + 2, second, NULL, 1, 2, 1.0f,
                           &right); /* the first of equals is not the label's */
    assert_true(right == 1);
    drovek_ref.softmax_f32(logits + 1, second, NULL, 1, 2, 1.0f, &right);
    assert_true(right == 2);
}

/* The gradient is the derivative of the loss. */
TEST(test_softmax_against_differences)
{
    const float h = 0x1p-8f;
    const double bound = 1e-5;
    const int32_t wanted[1] = {2};
    float row[5], d[5];
    size_t right = 0;
    memcpy(row, z, sizeof row);
    drovek_ref.softmax_f32(row, wanted, d, 1, 5, 1.0f, &right);
    for (size_t o = 0; o < 5; o++) {
        float was = row[o];
        row[o] = was + h;
        double above = drovek_ref.softmax_f32(row, wanted, NULL, 1, 5, 1.0f, &right), step = row[o];
        row[o] = was - h;
        double below = drovek_ref.softmax_f32(row, wanted, NULL, 1, 5, 1.0f, &right);
        step -= row[o];
        row[o] = was;
        assert_true(fabs((above - below) / step - (double)d[o]) <= bound);
    }
}

static void check_softmax(const drovek_table *t, size_t rows, size_t cols, place where)
{
    const float scale = 0.125f;
    float want[MAX_N];
    size_t right = 3, want_right = 3;
    float *logits = guarded_floats(z, rows * cols, where),
          *d = guarded_floats(NULL, rows * cols, where);
    int32_t *labels = guarded(rows * sizeof *labels, sizeof *labels, where);
    set_labels(cols);
    memcpy(labels, label, rows * sizeof *labels);

    double want_loss = drovek_ref.softmax_f32(z, label, want, rows, cols, scale, &want_right);
    double loss = t->softmax_f32(logits, labels, d, rows, cols, scale, &right);
    assert_true(fabs(loss - want_loss) <= loss_bound * want_loss);
    assert_int_equal(right, want_right);
    for (size_t i = 0; i < rows * cols; i++) {
        assert_true(fabs((double)d[i] - (double)want[i]) <= softmax_bound * (double)scale);
    }
    assert_true(t->softmax_f32(logits, labels, NULL, rows, cols, scale, &right) ==
                loss); /* loss only: the same */
    assert_same_bits("softmax_f32 input", t->isa, rows * cols, logits, z);
    t->softmax_f32(logits, labels, logits, rows, cols, scale, &right); /* in place: the same */
    assert_same_bits("softmax_f32 in place", t->isa, rows * cols, logits, d);
    guarded_free_all();
}

static void check_softmaxes(const drovek_table *t)
{
    for (size_t c = 0; c < N_COLS; c++) {
        for (size_t r = 0; r < N_ROWS; r++) {
            for (place where = 0; where < N_PLACES; where++)
                check_softmax(t, row_sizes[r], col_sizes[c], where);
        }
    }
}

TEST(test_softmax_near_ref)
{
    for_each_tier(check_softmaxes);
}

/* A certain answer has a tiny loss, and its relative precision is kept. */
static void check_softmax_ends(const drovek_table *t)
{
    const size_t cols[] = {2, 10, 40};
    for (size_t c = 0; c < 3; c++) {
        float row[40], d[40];
        int32_t wanted = 1;
        size_t right = 0;
        for (size_t o = 0; o < 40; o++) row[o] = o == 1 ? 5.0f : -11.0f;
        double exact = log1p((double)(cols[c] - 1) * exp(-16.0));
        double loss = t->softmax_f32(row, &wanted, d, 1, cols[c], 1.0f, &right);
        assert_true(fabs(loss - exact) <= loss_bound * exact);
        row[1] = 3000.0f, row[0] = -3000.0f; /* far beyond the range of the exponential */
        assert_true(t->softmax_f32(row, &wanted, d, 1, cols[c], 1.0f, &right) == 0.0);
        assert_true(d[0] == 0.0f && d[1] == 0.0f);
        wanted = 0;
        assert_true(t->softmax_f32(row, &wanted, d, 1, cols[c], 1.0f, &right) == 6000.0);
        assert_true(d[0] == -1.0f && d[1] == 1.0f && right == 2);
        row[cols[c] - 1] = NAN;
        assert_true(isnan(t->softmax_f32(row, &wanted, d, 1, cols[c], 1.0f, &right)));
        row[cols[c] - 1] = INFINITY;
        assert_true(isnan(t->softmax_f32(row, &wanted, d, 1, cols[c], 1.0f, &right)));
    }
}

TEST(test_softmax_ends)
{
    for_each_tier(check_softmax_ends);
}

/* Thousands of rows: the product behind the logarithm must not overflow. */
static void check_many_rows(const drovek_table *t)
{
    static float even[4096 * 10];
    static int32_t zero[4096];
    size_t right = 0;
    double loss = t->softmax_f32(even, zero, NULL, 4096, 10, 1.0f, &right);
    assert_true(fabs(loss - 4096.0 * log(10.0)) <= 1e-9);
    assert_int_equal(right, 4096);
}

TEST(test_many_rows)
{
    for_each_tier(check_many_rows);
}
