/* Activation functions of their input: formulas of their papers in double, slopes by differences,
 * tiers against plain C within a bound, ends of the number range. */
#include "support.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 1000 };

/* Of a value or slope, relative to itself or to 1, the larger; and, where e^ is a small factor of
 * it, relative to that. */
static const double bound = 4e-7;

static float x[MAX_N], dy[MAX_N], before[MAX_N];

static double phi(double v)
{
    return 0.5 * erfc(-v / sqrt(2.0));
}

static double leaky_relu(double v, double a, double b)
{
    (void)b;
    return v > 0 ? v : a * v;
}
static double elu(double v, double a, double b)
{
    (void)b;
    return v > 0 ? v : a * expm1(v);
}
static double selu(double v, double a, double b)
{
    return b * elu(v, a, 0);
}
static double gelu(double v, double a, double b)
{
    (void)a, (void)b;
    return v * phi(v);
}
static double gelu_tanh(double v, double a, double b)
{
    (void)a, (void)b;
    return 0.5 * v * (1 + tanh(sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v)));
}
static double silu(double v, double a, double b)
{
    (void)b;
    return v / (1 + exp(-a * v));
}
static double softplus(double v, double a, double b)
{
    (void)b;
    return a * v > 40 ? v : log1p(exp(a * v)) / a;
}
static double mish(double v, double a, double b)
{
    (void)a, (void)b;
    return v * tanh(softplus(v, 1, 0));
}
static double relu6(double v, double a, double b)
{
    (void)a, (void)b;
    return fmin(fmax(v, 0), 6);
}
static double hard_swish(double v, double a, double b)
{
    return v * relu6(v + 3, a, b) / 6;
}
static double hard_sigmoid(double v, double a, double b)
{
    return fmax(0, fmin(1, a * v + b));
}
static double error_function(double v, double a, double b)
{
    (void)a, (void)b;
    return erf(v);
}
static double smooth_clip(double v, double a, double b)
{
    (void)a;
    return v / sqrt(1 + pow(v / b, 2));
}
static double sine(double v, double a, double b) /* from 8192 on it stays */
{
    (void)b;
    return sin(fmax(-8192, fmin(8192, a * v)));
}

static const struct {
    const char *name;
    drovek_act act;
    double (*of)(double v, double a, double b);
    float a, b;
    double corner[2]; /* where the slope jumps */
} curves[] = {
    {"leaky_relu", DROVEK_CURVE_leaky_relu, leaky_relu, 0.2f, 0, {0, 0}},
    {"elu", DROVEK_CURVE_elu, elu, 0.7f, 0, {0, 0}},
    {"selu", DROVEK_CURVE_selu, selu, 1.67326324f, 1.05070098f, {0, 0}},
    {"gelu", DROVEK_CURVE_gelu, gelu, 0, 0, {99, 99}},
    {"gelu_tanh", DROVEK_CURVE_gelu_tanh, gelu_tanh, 0, 0, {99, 99}},
    {"silu", DROVEK_CURVE_silu, silu, 1.5f, 0, {99, 99}},
    {"mish", DROVEK_CURVE_mish, mish, 0, 0, {99, 99}},
    {"softplus", DROVEK_CURVE_softplus, softplus, 2.0f, 0, {99, 99}},
    {"relu6", DROVEK_CURVE_relu6, relu6, 0, 0, {0, 6}},
    {"hard_swish", DROVEK_CURVE_hard_swish, hard_swish, 0, 0, {-3, 3}},
    {"hard_sigmoid", DROVEK_CURVE_hard_sigmoid, hard_sigmoid, 0.25f, 0.5f, {-2, 2}},
    {"erf", DROVEK_CURVE_erf, error_function, 0, 0, {99, 99}},
    {"smooth_clip", DROVEK_CURVE_smooth_clip, smooth_clip, 0, 3, {99, 99}},
    {"smooth_clip to 0.4", DROVEK_CURVE_smooth_clip, smooth_clip, 0, 0.4f, {99, 99}},
    {"sin", DROVEK_CURVE_sin, sine, 1, 0, {99, 99}},
    {"sin of halves", DROVEK_CURVE_sin, sine, 0.5f, 0, {99, 99}}, /* which are exact */
};

FIXTURE(fill)
{
    fill_normal(x, MAX_N, 3.0, 1);
    fill_normal(dy, MAX_N, 1.0, 2);
    fill_normal(before, MAX_N, 1.0, 3);
    return 0;
}

GROUP(fill, NULL);

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= bound * fmax(1.0, fabs(wanted));
}

static void check_curves(const drovek_table *t)
{
    for (size_t c = 0; c < DROVE_COUNT(curves); c++) {
        const float a = curves[c].a, b = curves[c].b;
        for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
            const float *from = guarded_floats(x, *n, PLACE_TURN);
            const float *d = guarded_floats(dy, *n, PLACE_TURN);
            float *to = guarded_floats(NULL, *n, PLACE_TURN);
            t->curve_f32(to, from, *n, curves[c].act, a, b);
            for (size_t i = 0; i < *n; i++) {
                const double v = (double)x[i];
                if (!is_near((double)to[i], curves[c].of(v, (double)a, (double)b)))
                    fail_msg("%s, %s: %g of %g", t->isa, curves[c].name, (double)to[i], v);
            }
            for (int adds = 0; adds < 2; adds++) {
                const double h = 1e-5;
                float *dx = guarded_floats(before, *n, PLACE_TURN);
                t->curve_back_f32(dx, d, from, *n, curves[c].act, a, b, adds);
                for (size_t i = 0; i < *n; i++) {
                    const double v = (double)x[i];
                    if (fabs(v - curves[c].corner[0]) < h || fabs(v - curves[c].corner[1]) < h)
                        continue;
                    const double slope = (curves[c].of(v + h, (double)a, (double)b) -
                                          curves[c].of(v - h, (double)a, (double)b)) /
                                         (2 * h);
                    const double wanted = slope * (double)dy[i] + (adds ? (double)before[i] : 0.0);
                    if (fabs((double)dx[i] - wanted) > 2e-6 * fmax(1.0, fabs(wanted)))
                        fail_msg("%s, slope of %s: %g at %g, expected %g", t->isa, curves[c].name,
                                 (double)dx[i], v, wanted);
                }
            }
            guarded_free_all();
        }
    }
}

TEST(test_curves)
{
    for_each_tier(check_curves);
}

/* The sine, and the cosine as its slope, from turn to turn and at multiples of pi / 2. */
static void check_turns(const drovek_table *t)
{
    static float y[MAX_N], slope[MAX_N], ones[MAX_N], at[MAX_N];
    const double quarter = acos(-1) / 2;
    for (int sign = -1; sign <= 1; sign += 2)
        for (size_t first = 0; first < 5200; first += MAX_N / 2) {
            for (size_t i = 0; i < MAX_N; i++) {
                at[i] = (float)(sign * quarter * ((double)first + (double)i / 2));
                if (i % 4 == 1) at[i] = x[i] * (float)(first + 1) / 2; /* anywhere */
                at[i] = at[i] < 8191.0f ? at[i] : 8191.0f;
                at[i] = at[i] > -8191.0f ? at[i] : -8191.0f;
                ones[i] = 1.0f;
            }
            t->curve_f32(y, at, MAX_N, DROVEK_CURVE_sin, 1.0f, 0.0f);
            t->curve_back_f32(slope, ones, at, MAX_N, DROVEK_CURVE_sin, 1.0f, 0.0f, false);
            for (size_t i = 0; i < MAX_N; i++) {
                if (fabs((double)y[i] - sin((double)at[i])) > bound / 2 ||
                    fabs((double)slope[i] - cos((double)at[i])) > bound / 2)
                    fail_msg("%s: sin %.9g, cos %.9g of %.9g", t->isa, (double)y[i],
                             (double)slope[i], (double)at[i]);
            }
        }
}

TEST(test_turns)
{
    for_each_tier(check_turns);
}

/* Far out each is what its formula tends to, and a NaN stays one. */
static void check_ends(const drovek_table *t)
{
    const float far[] = {-1e30f, -1000.0f, -30.0f, -12.0f, 12.0f, 30.0f, 1000.0f, 1e30f, NAN};
    float y[DROVE_COUNT(far)], dx[DROVE_COUNT(far)], ones[DROVE_COUNT(far)];
    for (size_t i = 0; i < DROVE_COUNT(far); i++) ones[i] = 1.0f;
    for (size_t c = 0; c < DROVE_COUNT(curves); c++) {
        const float a = curves[c].a, b = curves[c].b;
        t->curve_f32(y, far, DROVE_COUNT(far), curves[c].act, a, b);
        t->curve_back_f32(dx, ones, far, DROVE_COUNT(far), curves[c].act, a, b, false);
        for (size_t i = 0; i + 1 < DROVE_COUNT(far); i++) {
            double wanted = curves[c].of((double)far[i], (double)a, (double)b);
            if (isnan(wanted)) wanted = 0; /* the formula's own overflow: -1e30^3 */
            if (!is_near((double)y[i], wanted) || !isfinite(dx[i]))
                fail_msg("%s, %s: %g, slope %g of %g, expected %g", t->isa, curves[c].name,
                         (double)y[i], (double)dx[i], (double)far[i], wanted);
        }
        assert_true(isnan(y[DROVE_COUNT(far) - 1]));
    }
}

TEST(test_ends)
{
    for_each_tier(check_ends);
}
