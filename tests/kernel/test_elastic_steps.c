/* Elastic steps: plain C against equations (1) and (2) in double and a hand-worked case; every tier
 * against plain C, bit for bit but for the distance, which is a sum in double. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ETA   0.05f
#define ALPHA 0.225f
#define P     4.0f

enum { MAX_N = 1000 };
static const double step_bound = 3.0;       /* ulps of the largest term: three roundings */
static const double distance_bound = 1e-13; /* relative: another order of n additions */

static float w_in[MAX_N], c_in[MAX_N], g_in[MAX_N], s_in[MAX_N];

FIXTURE(fill)
{
    fill_normal(w_in, MAX_N, 1.0, 1);
    fill_normal(c_in, MAX_N, 1.0, 2);
    fill_normal(g_in, MAX_N, 0.3, 3);
    fill_normal(s_in, MAX_N, 2.0, 4);
    return 0;
}

GROUP(fill, NULL);

static double unit_at(double largest)
{
    float f = (float)fabs(largest);
    return (double)(nextafterf(f, INFINITY) - f);
}

TEST(ref_computes_the_equations)
{
    float w[MAX_N], c[MAX_N];
    memcpy(w, w_in, sizeof w);
    memcpy(c, c_in, sizeof c);
    double wanted = 0.0, got = drovek_ref.elastic_f32(w, g_in, c, MAX_N, ETA, ALPHA, true);
    drovek_ref.centre_f32(c, s_in, NULL, MAX_N, ALPHA, P);
    for (size_t i = 0; i < MAX_N; i++) {
        double w0 = (double)w_in[i], c0 = (double)c_in[i], s = (double)s_in[i];
        double w1 = w0 - (double)ETA * (double)g_in[i] - (double)ALPHA * (w0 - c0);
        double c1 = c0 + (double)ALPHA * (s - (double)P * c0);
        double most = fmax(fmax(fabs(w0), fabs(c0) * (double)P), fabs(s));
        assert_true(fabs((double)w[i] - w1) <= step_bound * unit_at(most));
        assert_true(fabs((double)c[i] - c1) <= step_bound * unit_at(most));
        wanted += (w0 - c0) * (w0 - c0);
    }
    assert_true(fabs(got - wanted) <= 1e-6 * wanted); /* w - c is rounded to float */
}

/* Exact in binary. */
TEST(hand_worked)
{
    float w = 3.0f, c = 1.0f, s = 8.0f, message = 5.0f;
    const float g = 2.0f;
    assert_true(drovek_ref.elastic_f32(&w, &g, &c, 1, 0.25f, 0.5f, true) == 4.0);
    assert_true(w == 3.0f - 0.5f - 1.0f);
    assert_true(drovek_ref.elastic_f32(&w, NULL, &c, 1, 0.25f, 0.5f, false) == 0.0);
    assert_true(w == 1.25f);
    drovek_ref.centre_f32(&c, &s, NULL, 1, 0.25f, 2.0f); /* 1 + (8 - 2) / 4 */
    assert_true(c == 2.5f);
    drovek_ref.centre_f32(&c, &message, &message, 1, 0.5f, 1.0f); /* a visit */
    assert_true(c == 3.75f && message == 2.5f);
    drovek_ref.centre_f32(&c, &s, NULL, 1, 0.5f, 0.0f); /* s is the sum of differences */
    assert_true(c == 7.75f);
}

/* ---- every tier ---- */

typedef struct result {
    float w[MAX_N], c[MAX_N], before[MAX_N];
    double sum;
} result;

static bool close_to(double got, double wanted)
{
    return fabs(got - wanted) <= distance_bound * fabs(wanted);
}

static void check_steps(const drovek_table *t, size_t n, place where, const float *g, bool measures)
{
    result r;
    memcpy(r.w, w_in, sizeof r.w);
    memcpy(r.c, c_in, sizeof r.c);
    const float *own_g = g != NULL ? guarded_floats(g, n, where) : NULL;
    const float *s = guarded_floats(s_in, n, where);
    float *w = guarded_floats(w_in, n, where), *c = guarded_floats(c_in, n, where);
    r.sum = drovek_ref.elastic_f32(r.w, g, r.c, n, ETA, ALPHA, measures);
    assert_true(close_to(t->elastic_f32(w, own_g, c, n, ETA, ALPHA, measures), r.sum));
    assert_same_bits("elastic_f32", t->isa, n, w, r.w);
    assert_same_bits("elastic_f32's centre", t->isa, n, c, r.c);

    drovek_ref.centre_f32(r.c, s_in, NULL, n, ALPHA, P);
    w = guarded_floats(w_in, n, where);
    assert_true(close_to(t->elastic_centre_f32(w, own_g, c, s, n, ETA, ALPHA, P, measures), r.sum));
    assert_same_bits("elastic_centre_f32", t->isa, n, w, r.w);
    assert_same_bits("elastic_centre_f32's centre", t->isa, n, c, r.c);
    guarded_free_all();
}

static void check_centre(const drovek_table *t, size_t n, place where)
{
    float wanted[MAX_N], before[MAX_N];
    memcpy(wanted, c_in, sizeof wanted);
    drovek_ref.centre_f32(wanted, s_in, before, n, ALPHA, P);
    float *c = guarded_floats(c_in, n, where), *s = guarded_floats(s_in, n, where);
    float *old = guarded_floats(NULL, n, where);
    t->centre_f32(c, s, old, n, ALPHA, P);
    assert_same_bits("centre_f32", t->isa, n, c, wanted);
    assert_same_bits("centre_f32's centre of before", t->isa, n, old, before);
    memcpy(c, c_in, n * sizeof *c);
    t->centre_f32(c, s, s, n, ALPHA, P);
    assert_same_bits("centre_f32, exchanged", t->isa, n, c, wanted);
    assert_same_bits("centre_f32's message", t->isa, n, s, before);
    guarded_free_all();
}

static void check_tier(const drovek_table *tier)
{
    for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
        for (place where = 0; where < N_PLACES; where++) {
            check_steps(tier, *n, where, g_in, true);
            check_steps(tier, *n, where, g_in, false);
            check_steps(tier, *n, where, NULL, true);
            check_steps(tier, *n, where, NULL, false);
            check_centre(tier, *n, where);
        }
    }
}

TEST(tiers_equal_ref)
{
    for_each_tier(check_tier);
}
