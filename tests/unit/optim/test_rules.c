/* Every rule over 50 steps against Table 2.3 of the thesis, written down again in double: with
 * its state shared and per worker, on every ISA tier.
 *
 * The gradient is that of a quadratic plus noise, a_i (x_i - b_i) + noise, taken where the rule
 * wants it, so that a wrong place (Nesterov), a wrong number t or a correction applied twice
 * (Adam) leads somewhere else. / */
#include "support.h"

#include <math.h>
#include <string.h>

enum { N = 208, N_STEPS = 50 };
static const double trajectory_bound = 3e-6; /* 50 steps of float roundings on values near 1 */

/* The parameters and sums of a rule in double; before[] is theta one step earlier. */
typedef struct precise {
    double theta[N], before[N], v[N], sum[N], m1[N], m2[N];
} precise;

typedef void reference_step(precise *p, unsigned i, double g, double eta, double t);

/* ---- Table 2.3, row by row; numbers as the float that the program holds ---- */

#define MU      ((double)0.8f)
#define BETA    ((double)0.95f)
#define BETA1   ((double)0.85f)
#define BETA2   ((double)0.97f)
#define DECAY   ((double)0.3f)
#define EPSILON ((double)0.05f) /* large: inside the root it would make a visible difference */

static void step_sgd(precise *p, unsigned i, double g, double eta, double t)
{
    (void)t;
    p->theta[i] -= eta * g;
}

/* As printed: theta(t) + mu (theta(t) - theta(t-1)) - eta g, without a velocity. */
static void step_momentum(precise *p, unsigned i, double g, double eta, double t)
{
    (void)t;
    double now = p->theta[i];
    p->theta[i] = now + MU * (now - p->before[i]) - eta * g;
    p->before[i] = now;
}

static void step_nesterov(precise *p, unsigned i, double g, double eta, double t)
{
    (void)t;
    p->v[i] = MU * p->v[i] - eta * g;
    p->theta[i] += p->v[i];
}

static void step_adagrad(precise *p, unsigned i, double g, double eta, double t)
{
    (void)t;
    p->sum[i] += g * g;
    p->theta[i] -= eta * g / (sqrt(p->sum[i]) + EPSILON);
}

static void step_rmsprop(precise *p, unsigned i, double g, double eta, double t)
{
    (void)t;
    p->sum[i] = BETA * p->sum[i] + (1.0 - BETA) * g * g;
    p->theta[i] -= eta * g / (sqrt(p->sum[i]) + EPSILON);
}

static void step_adam(precise *p, unsigned i, double g, double eta, double t)
{
    p->m1[i] = BETA1 * p->m1[i] + (1.0 - BETA1) * g;
    p->m2[i] = BETA2 * p->m2[i] + (1.0 - BETA2) * g * g;
    double m1 = p->m1[i] / (1.0 - pow(BETA1, t)), m2 = p->m2[i] / (1.0 - pow(BETA2, t));
    p->theta[i] -= eta * m1 / (sqrt(m2) + EPSILON);
}

/* Loshchilov and Hutter, Algorithm 2, as PyTorch has it: both in one line. */
static void step_adamw(precise *p, unsigned i, double g, double eta, double t)
{
    double shrunk = p->theta[i] - eta * DECAY * p->theta[i];
    p->theta[i] = 0.0;
    step_adam(p, i, g, eta, t);
    p->theta[i] += shrunk;
}

/* Orabona and Tommasi, Algorithm 2, with w(1) = 0 and L(0) = 1e-30; m1 is their theta, m2 the
 * reward, v the sum of sizes, before[] L. */
static void step_cocob(precise *p, unsigned i, double g, double eta, double t)
{
    double h = -g, bet_now = p->theta[i] / eta;
    if (t == 1) p->before[i] = 1e-30;
    p->before[i] = fmax(p->before[i], fabs(h));
    p->v[i] += fabs(h);
    p->m2[i] = fmax(p->m2[i] + bet_now * h, 0.0);
    p->m1[i] += h;
    double beta = p->m1[i] / (p->before[i] * fmax(p->v[i] + p->before[i], 30.0 * p->before[i]));
    p->theta[i] = eta * beta * (p->before[i] + p->m2[i]);
}

typedef struct rule_case {
    const char *spec;
    reference_step *step;
    bool nesterov;
    double decay;
} rule_case;

static const rule_case cases[] = {
    {"sgd", step_sgd, false, 0.0},
    {"momentum:0.8", step_momentum, false, 0.0},
    {"nesterov:0.8", step_nesterov, true, 0.0},
    {"adagrad?epsilon=0.05", step_adagrad, false, 0.0},
    {"rmsprop:0.95?epsilon=0.05", step_rmsprop, false, 0.0},
    {"adam?beta1=0.85&beta2=0.97&epsilon=0.05", step_adam, false, 0.0},
    {"adamw?beta1=0.85&beta2=0.97&epsilon=0.05", step_adamw, false, DECAY},
    /* of parameters that are in no matrix; test_muon.c has the others */
    {"muon?beta1=0.85&beta2=0.97&epsilon=0.05", step_adamw, false, DECAY},
    {"cocob?alpha=30", step_cocob, false, 0.0},
};

/* ---- the problem ---- */

static double slope[N], centre[N], noise[N_STEPS][N];

static void make_problem(void)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (unsigned i = 0; i < N; i++) {
        slope[i] = 0.2 + 2.0 * drove__rng_uniform(&rng);
        centre[i] = drove__rng_normal(&rng);
        for (unsigned t = 0; t < N_STEPS; t++) noise[t][i] = 0.1 * drove__rng_normal(&rng);
    }
}

static double gradient(unsigned t, unsigned i, double x)
{
    return slope[i] * (x - centre[i]) + noise[t][i];
}

/* theta[n_steps] of the reference, for all steps. */
static void run_reference(const rule_case *c, double eta, double path[N_STEPS][N])
{
    static precise p;
    p = (precise){.theta = {0}};
    for (unsigned t = 0; t < N_STEPS; t++) {
        for (unsigned i = 0; i < N; i++) {
            double place = p.theta[i] + (c->nesterov ? MU * p.v[i] : 0.0);
            c->step(&p, i, gradient(t, i, place), eta, t + 1);
            path[t][i] = p.theta[i];
        }
    }
}

static void check_run(const rule_case *c, const drovek_table *kernels, drove_state_place place,
                      double path[N_STEPS][N])
{
    drove_optim_options opt = plain_options(N);
    opt.rule = c->spec;
    opt.kernels = kernels;
    opt.state = place;
    opt.weight_decay = c->decay;
    drove_optim *optim = make_optim(&opt);
    drove_optim_worker w;
    assert_ok(drove__optim_worker_init(&w, optim));
    float *vector = drove__alloc(optim->n_vector, sizeof *vector);
    float *g = drove__alloc(N, sizeof *g);
    for (unsigned t = 0; t < N_STEPS; t++) {
        const float *theta = drove__optim_theta(optim, &w, vector);
        for (unsigned i = 0; i < N; i++) g[i] = (float)gradient(t, i, (double)theta[i]);
        drove_step step;
        drove__optim_prepare(optim, &w, vector, g, NULL, 0, drove__optim_eta(optim, 0.0), &step);
        drove__optim_apply(optim, &step, 0, t + 1, 0, N, vector, vector);
        for (unsigned i = 0; i < N; i++) {
            double error = fabs((double)vector[i] - path[t][i]);
            if (error <= trajectory_bound) continue;
            fail_msg("%s, %s, state %s: step %u, element %u: %.9g, expected %.9g", c->spec,
                     kernels->isa, place == DROVE_STATE_SHARED ? "shared" : "worker", t + 1, i,
                     (double)vector[i], path[t][i]);
        }
    }
    drove__free(g);
    drove__free(vector);
    drove__optim_worker_fini(&w);
    drove__optim_destroy(optim);
}

TEST(test_table_2_3)
{
    static double path[N_STEPS][N];
    drovek_table kernels;
    make_problem();
    for (unsigned c = 0; c < DROVE_COUNT(cases); c++) {
        run_reference(&cases[c], (double)0.05f, path);
        for (unsigned tier = 0; next_tier(tier, &kernels); tier++) {
            check_run(&cases[c], &kernels, DROVE_STATE_SHARED, path);
            check_run(&cases[c], &kernels, DROVE_STATE_WORKER, path);
        }
    }
}

/* Adam's first step is eta for every element, whatever the size of its gradient: 1 - beta^t with
 * t = 1 undoes the start at 0 completely. */
TEST(test_adam_first_step)
{
    drove_optim_options opt = plain_options(16);
    opt.rule = "adam?epsilon=1e-20";
    drove_optim *optim = make_optim(&opt);
    float vector[48] = {0}, g[16];
    for (int i = 0; i < 16; i++) g[i] = (i % 2 == 0 ? 1.0f : -1.0f) * powf(10.0f, (float)(i - 8));
    drove_step step = {.value = g, .eta = 0.05f};
    drove__optim_apply(optim, &step, 0, 1, 0, 16, vector, vector);
    for (int i = 0; i < 16; i++) {
        assert_true(fabs((double)vector[i] - (i % 2 == 0 ? -0.05 : 0.05)) < 1e-7);
    }
    drove__optim_destroy(optim);
}

/* The numbers that --help gives as defaults. */
TEST(test_defaults)
{
    static const struct {
        const char *rule;
        float mu, beta1, beta2, epsilon;
    } expected[] = {
        {"sgd", 0, 0, 0, 0},
        {"momentum", 0.9f, 0, 0, 0},
        {"nesterov", 0.9f, 0, 0, 0},
        {"adagrad", 0, 0, 0, 1e-8f},
        {"rmsprop", 0, 0.9f, 0, 1e-8f},
        {"adam", 0, 0.9f, 0.999f, 1e-8f},
        {"adamw", 0, 0.9f, 0.999f, 1e-8f},
        {"muon", 0.95f, 0.9f, 0.999f, 1e-8f},
        {"cocob", 100.0f, 0, 0, 0},
    };
    for (unsigned i = 0; i < DROVE_COUNT(expected); i++) {
        drove_optim_options opt = plain_options(16);
        opt.rule = expected[i].rule;
        drove_optim *optim = make_optim(&opt);
        assert_true(optim->rule.mu == expected[i].mu && optim->rule.beta1 == expected[i].beta1);
        assert_true(optim->rule.beta2 == expected[i].beta2);
        assert_true(optim->rule.epsilon == expected[i].epsilon);
        drove__optim_destroy(optim);
    }
}

/* Every registered rule is among the cases above: a new one cannot be forgotten. */
TEST(test_every_rule_has_a_case)
{
    for (unsigned i = 0; drove__rules[i] != NULL; i++) {
        drove_spec spec;
        bool found = false;
        for (unsigned c = 0; c < DROVE_COUNT(cases); c++) {
            assert_ok(drove__spec_parse(cases[c].spec, &spec));
            found = found || strcmp(spec.name, drove__rules[i]->name) == 0;
            drove__spec_fini(&spec);
        }
        if (!found) fail_msg("rule %s has no reference here", drove__rules[i]->name);
        assert_non_null(drove__rules[i]->help);
        assert_non_null(drove__rules[i]->source);
        assert_true(drove__rules[i]->n_state <= DROVE_RULE_MAX_STATE);
    }
}
