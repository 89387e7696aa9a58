/* Update rules: plain C against the equations in double and a hand-worked case; every tier against
 * plain C, bit for bit, at edge lengths, next to forbidden pages, in place and out of place. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

#define ETA     0.05f
#define MU      0.9f
#define BETA    0.95f
#define BETA1   0.9f
#define BETA2   0.999f
#define EPSILON 1e-6f
#define STEP_T  3 /* of Adam's correction */

enum { MAX_N = 1000 };
/* Some roundings per element: of the state, the step and the sum. */
static const double rule_bound = 4.0; /* units in the last place of the largest term */

static const drovek_table *const ref = &drovek_ref;

typedef void apply_fn(const drovek_table *t, const drovek_update *u);

static void apply_sgd(const drovek_table *t, const drovek_update *u)
{
    t->sgd_f32(u->out, u->in, u->g, u->n, ETA);
}
static void apply_momentum(const drovek_table *t, const drovek_update *u)
{
    t->momentum_f32(u, ETA, MU);
}
static void apply_adagrad(const drovek_table *t, const drovek_update *u)
{
    t->adagrad_f32(u, ETA, EPSILON);
}
static void apply_rmsprop(const drovek_table *t, const drovek_update *u)
{
    t->rmsprop_f32(u, ETA, BETA, EPSILON);
}
static void apply_adam(const drovek_table *t, const drovek_update *u)
{
    float correction1 = 1.0f - powf(BETA1, STEP_T), correction2 = 1.0f - powf(BETA2, STEP_T);
    t->adam_f32(u, ETA, BETA1, BETA2, correction1, correction2, EPSILON);
}

/* The equations of Table 2.3 (epsilon outside the root) in double, for one element. */
static void exact_sgd(double *w, double *a, double *b, double g)
{
    (void)a, (void)b, *w -= (double)ETA * g;
}
static void exact_momentum(double *w, double *v, double *b, double g)
{
    (void)b;
    *v = (double)MU * *v - (double)ETA * g;
    *w += *v;
}
static void exact_adagrad(double *w, double *a, double *b, double g)
{
    (void)b;
    *a += g * g;
    *w -= (double)ETA * g / (sqrt(*a) + (double)EPSILON);
}
static void exact_rmsprop(double *w, double *a, double *b, double g)
{
    (void)b;
    *a = (double)BETA * *a + (1.0 - (double)BETA) * g * g;
    *w -= (double)ETA * g / (sqrt(*a) + (double)EPSILON);
}
static void exact_adam(double *w, double *m1, double *m2, double g)
{
    *m1 = (double)BETA1 * *m1 + (1.0 - (double)BETA1) * g;
    *m2 = (double)BETA2 * *m2 + (1.0 - (double)BETA2) * g * g;
    double corrected1 = *m1 / (double)(1.0f - powf(BETA1, STEP_T));
    double corrected2 = *m2 / (double)(1.0f - powf(BETA2, STEP_T));
    *w -= (double)ETA * corrected1 / (sqrt(corrected2) + (double)EPSILON);
}

static const struct rule {
    const char *name;
    apply_fn *apply;
    void (*exact)(double *w, double *a, double *b, double g);
} rules[] = {
    {"sgd", apply_sgd, exact_sgd},
    {"momentum", apply_momentum, exact_momentum},
    {"adagrad", apply_adagrad, exact_adagrad},
    {"rmsprop", apply_rmsprop, exact_rmsprop},
    {"adam", apply_adam, exact_adam},
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static float in[MAX_N], a_in[MAX_N], b_in[MAX_N], g[MAX_N];

FIXTURE(fill)
{
    fill_normal(in, MAX_N, 1.0, 1);
    fill_normal(a_in, MAX_N, 0.1, 2);
    fill_normal(b_in, MAX_N, 0.1, 3);
    fill_normal(g, MAX_N, 0.3, 4);
    for (size_t i = 0; i < MAX_N; i++) {
        a_in[i] = fabsf(a_in[i]); /* valid as a velocity and as a sum of squares */
        b_in[i] = fabsf(b_in[i]);
    }
    g[5] = 0.0f;
    a_in[6] = b_in[6] = g[6] = 0.0f; /* 0 / (0 + epsilon) */
    return 0;
}

GROUP(fill, NULL);

TEST(test_ref_computes_the_equations)
{
    for (size_t r = 0; r < N_RULES; r++) {
        float out[MAX_N], a_out[MAX_N], b_out[MAX_N];
        const drovek_update u = {MAX_N, g, in, {a_in, b_in}, out, {a_out, b_out}};
        memcpy(a_out, a_in, sizeof a_out);
        memcpy(b_out, b_in, sizeof b_out);
        rules[r].apply(ref, &u);
        for (size_t i = 0; i < MAX_N; i++) {
            double w = in[i], a = a_in[i], b = b_in[i];
            rules[r].exact(&w, &a, &b, g[i]);
            double largest =
                fmax(fabs(w),
                     fabs((double)in[i])); /* cancellation: the terms' own precision counts */
            double unit = nextafterf((float)largest, INFINITY) - (float)largest;
            assert_true(fabs((double)out[i] - w) <= rule_bound * unit);
            assert_true(ulps(a_out[i], a) <= rule_bound || fabs((double)a_out[i] - a) <= 1e-8);
            assert_true(ulps(b_out[i], b) <= rule_bound);
        }
    }
}

/* Exact in binary: parameter 1, gradient 2, step 1/4, squares 12 before. */
TEST(test_hand_worked)
{
    float w = 1.0f, s[2] = {0.5f};
    float two = 2.0f;
    const drovek_update u = {1, &two, &w, {&s[0], &s[1]}, &w, {&s[0], &s[1]}};
    ref->sgd_f32(&w, &w, &two, 1, 0.25f);
    assert_true(w == 0.5f);
    ref->momentum_f32(&u, 0.25f, 0.5f); /* v = 0.25 - 0.5 */
    assert_true(s[0] == -0.25f && w == 0.25f);
    w = 1.0f, s[0] = 12.0f;
    ref->adagrad_f32(&u, 0.25f, 1.0f); /* a = 16, step 0.5 / (4 + 1) */
    assert_true(s[0] == 16.0f && w == 1.0f - 0.5f / 5.0f);
    w = 1.0f, s[0] = 28.0f;
    ref->rmsprop_f32(&u, 0.25f, 0.5f, 1.0f); /* a = 14 + 2 */
    assert_true(s[0] == 16.0f && w == 1.0f - 0.5f / 5.0f);
    w = 1.0f; /* first step: corrected moments are g and g^2, the step eta g / (|g| + epsilon) */
    s[0] = s[1] = 0.0f;
    ref->adam_f32(&u, 0.25f, 0.5f, 0.75f, 0.5f, 0.25f, 2.0f);
    assert_true(s[0] == 1.0f && s[1] == 1.0f && w == 1.0f - 0.5f / 4.0f);
}

/* out of place when in_place is false; `where` for all arrays alike */
static void check_rule(const drovek_table *tier, const struct rule *rule, size_t n, place where,
                       bool in_place)
{
    float want[MAX_N], want_a[MAX_N], want_b[MAX_N];
    const drovek_update plain = {n, g, in, {a_in, b_in}, want, {want_a, want_b}};
    memcpy(want_a, a_in, sizeof want_a);
    memcpy(want_b, b_in, sizeof want_b);
    rule->apply(ref, &plain);

    float *w = guarded_floats(in, n, where), *a = guarded_floats(a_in, n, where),
          *b = guarded_floats(b_in, n, where);
    drovek_update u = {n, guarded_floats(g, n, where), w, {a, b}, w, {a, b}};
    if (!in_place) {
        u.out = guarded_floats(NULL, n, where);
        u.state_out[0] = guarded_floats(a_in, n, where);
        u.state_out[1] = guarded_floats(b_in, n, where);
    }
    rule->apply(tier, &u);
    assert_same_bits(rule->name, tier->isa, n, u.out, want);
    assert_same_bits(rule->name, tier->isa, n, u.state_out[0], want_a);
    assert_same_bits(rule->name, tier->isa, n, u.state_out[1], want_b);
    if (!in_place) assert_same_bits(rule->name, tier->isa, n, w, in);
    guarded_free_all();
}

static void check_tier(const drovek_table *tier)
{
    for (size_t r = 0; r < N_RULES; r++) {
        for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
            for (place where = 0; where < N_PLACES; where++) {
                check_rule(tier, &rules[r], *n, where, true);
                check_rule(tier, &rules[r], *n, where, false);
            }
        }
    }
}

TEST(test_tiers_equal_ref)
{
    for_each_tier(check_tier);
}
