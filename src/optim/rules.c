/* optim/rules.c - the update rules: their names, numbers and equations.
 *
 * Source: thesis Table 2.3, read as docs/methods/readings.md says.  Here eta is the step size of
 * this update (schedule and staleness included), g the gradient, t the number of the update from 1;
 * a prime marks the new value.
 *
 *   sgd         theta' = theta - eta g        (rows "learning rate" and "adaptive learning rate")
 *   momentum    v' = mu v - eta g;  theta' = theta + v'             v = theta(t) - theta(t-1)
 *   nesterov    the same with g taken at theta + mu v
 *   adagrad     a' = a + g^2;  theta' = theta - eta g / (sqrt(a') + epsilon)
 *   rmsprop     a' = beta a + (1 - beta) g^2;  theta' as adagrad
 *   adam        m1' = beta1 m1 + (1 - beta1) g;  m2' = beta2 m2 + (1 - beta2) g^2;
 *               theta' = theta - eta (m1' / (1 - beta1^t)) / (sqrt(m2' / (1 - beta2^t)) + epsilon)
 *   adamw       adam, and theta loses eta W theta, W being --weight-decay (optim.c)
 *   muon        of a matrix: muon.c; of all else: adamw
 *
 * The kernels do the arithmetic.  No function here keeps state, so any thread may call all of them.
 */
#include "optim/optim.h"

#include <float.h>
#include <math.h>

/* mu and the betas: below 1 as floats. */
#define DECAY_AS(field) DROVE_AS_FLOAT(drove_rule, field, 0.0, 1.0 - FLT_EPSILON / 2)
/* Not 0: a gradient that was always 0 would give 0 / 0. */
#define EPSILON                                                                                    \
    {                                                                                              \
        "epsilon", "1e-8", DROVE_AS_FLOAT(drove_rule, epsilon, FLT_MIN, 1e6),                      \
            .help = "added to the root"                                                            \
    }

/* ---- sgd ---- */

static void apply_sgd(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                      float eta, uint64_t t)
{
    (void)rule, (void)t;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
}

static const drove_rule_ops rule_sgd = {
    .name = "sgd",
    .help = "theta - eta g; with a schedule, the adaptive learning rate",
    .source = "thesis Table 2.3, learning rate",
    .n_state = 0,
    .zero_is_noop = true,
    .apply = apply_sgd,
};

/* ---- momentum, nesterov ---- */

static const drove_spec_key momentum_keys[] = {
    {"MU", "0.9", DECAY_AS(mu), .is_argument = true, .help = "share of the velocity that stays"},
    DROVE_SPEC_END,
};

static void apply_momentum(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                           float eta, uint64_t t)
{
    (void)t;
    k->momentum_f32(u, eta, rule->mu);
}

static const drove_rule_ops rule_momentum = {
    .name = "momentum",
    .help = "v' = mu v - eta g, theta + v'",
    .source = "thesis Table 2.3, momentum",
    .n_state = 1,
    .keys = momentum_keys,
    .apply = apply_momentum,
};

static const drove_rule_ops rule_nesterov = {
    .name = "nesterov",
    .help = "momentum with the gradient taken at theta + mu v",
    .source = "thesis Table 2.3, Nesterov momentum",
    .n_state = 1,
    .lookahead = true,
    .keys = momentum_keys,
    .apply = apply_momentum,
};

/* ---- adagrad ---- */

static const drove_spec_key adagrad_keys[] = {
    EPSILON,
    DROVE_SPEC_END,
};

static void apply_adagrad(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                          float eta, uint64_t t)
{
    (void)t;
    k->adagrad_f32(u, eta, rule->epsilon);
}

static const drove_rule_ops rule_adagrad = {
    .name = "adagrad",
    .help = "step over sqrt(sum of g^2) + epsilon, outside the root",
    .source = "thesis Table 2.3, AdaGrad",
    .n_state = 1,
    .zero_is_noop = true,
    .keys = adagrad_keys,
    .apply = apply_adagrad,
};

/* ---- rmsprop ---- */

static const drove_spec_key rmsprop_keys[] = {
    {"BETA", "0.9", DECAY_AS(beta1), .is_argument = true, .help = "share of the mean that stays"},
    EPSILON,
    DROVE_SPEC_END,
};

static void apply_rmsprop(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                          float eta, uint64_t t)
{
    (void)t;
    k->rmsprop_f32(u, eta, rule->beta1, rule->epsilon);
}

static const drove_rule_ops rule_rmsprop = {
    .name = "rmsprop",
    .help = "step over sqrt(running mean of g^2) + epsilon, outside the root",
    .source = "thesis Table 2.3, RMSProp",
    .n_state = 1,
    .keys = rmsprop_keys,
    .apply = apply_rmsprop,
};

/* ---- adam ---- */

static const drove_spec_key adam_keys[] = {
    {"beta1", "0.9", DECAY_AS(beta1), .help = "share of the mean of g that stays"},
    {"beta2", "0.999", DECAY_AS(beta2), .help = "share of the mean of g^2 that stays"},
    EPSILON,
    DROVE_SPEC_END,
};

/* 1 - beta^t: the total weight of t steps in a running mean that started at 0. */
static float correction(float beta, uint64_t t)
{
    return (float)(1.0 - pow((double)beta, (double)t));
}

static void apply_adam(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                       float eta, uint64_t t)
{
    k->adam_f32(u, eta, rule->beta1, rule->beta2, correction(rule->beta1, t),
                correction(rule->beta2, t), rule->epsilon);
}

static const drove_rule_ops rule_adam = {
    .name = "adam",
    .help = "corrected running means of g and g^2, epsilon outside the root",
    .source = "thesis Table 2.3, Adam",
    .n_state = 2,
    .keys = adam_keys,
    .apply = apply_adam,
};

/* ---- adamw, muon ---- */

static const drove_rule_ops rule_adamw = {
    .name = "adamw",
    .help = "adam with decoupled decay: theta also loses eta times --weight-decay of itself",
    .source = "Loshchilov, Hutter, ICLR 2019, Algorithm 2",
    .n_state = 2,
    .is_decoupled = true,
    .keys = adam_keys,
    .apply = apply_adam,
};

static const drove_spec_key muon_keys[] = {
    {"MU", "0.95", DECAY_AS(mu), .is_argument = true, .help = "share of the velocity that stays"},
    DROVE_SPEC_KEYS_TOO(adam_keys),
    DROVE_SPEC_END,
};

static const drove_rule_ops rule_muon = {
    .name = "muon",
    .help = "orthogonalised momentum for the matrices of hidden layers, adamw for the rest",
    .source = "Jordan et al., 2024; Liu et al., 2025, section 2.2",
    .n_state = 2,
    .is_decoupled = true,
    .by_matrix = true,
    .keys = muon_keys,
    .apply = apply_adam,
};

const drove_rule_ops *const drove__rules[] = {
    &rule_sgd,  &rule_momentum, &rule_nesterov, &rule_adagrad,      &rule_rmsprop,
    &rule_adam, &rule_adamw,    &rule_muon,     &drove__rule_cocob, NULL,
};
