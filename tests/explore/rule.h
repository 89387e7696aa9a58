/* tests/explore/rule.h - plain SGD in plain C, in the place of src/optim and the kernels: code that
 * the explorer sees.  For one file of a scenario to include. */
#ifndef DROVE_TESTS_EXPLORE_RULE_H
#define DROVE_TESTS_EXPLORE_RULE_H

#include "explorer.h"

#include "strategy/strategy.h"

void drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                        uint64_t t, size_t offset, size_t length, const float *in, float *out)
{
    (void)optim, (void)staleness, (void)t;
    for (size_t i = offset; i < offset + length; i++) out[i] = in[i] - step->eta * step->value[i];
}

static inline void rule_copy(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}

static inline void rule_axpy(float *y, const float *x, size_t n, float a)
{
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

static inline void rule_scale(float *y, size_t n, float a)
{
    for (size_t i = 0; i < n; i++) y[i] *= a;
}

/* A strategy on n parameters of 0. */
static inline drove_sync *rule_strategy_of(const drove_sync_ops *ops, const char *variant,
                                           drove_sync_options options, size_t n,
                                           drovek_table *kernels, drove_optim *optim)
{
    static const float zero[64];
    drove_spec         spec;
    drove_sync        *s = NULL;
    *kernels =
        (drovek_table){.copy_f32 = rule_copy, .axpy_f32 = rule_axpy, .scale_f32 = rule_scale};
    *optim = (drove_optim){.n = n, .n_vector = n, .kernels = kernels};
    explore_check(drove__spec_parse(variant, &spec) == DROVE_OK, "the variant is known");
    options.spec = &spec;
    options.optim = optim;
    explore_check(drove__sync_create(ops, &options, &(drove_params){.theta = (float *)zero}, &s) ==
                      DROVE_OK,
                  "the strategy is made");
    return s;
}

static inline drove_sync *rule_strategy(const drove_sync_ops *ops, const char *variant,
                                        unsigned n_workers, size_t n, const drove_place *place,
                                        drovek_table *kernels, drove_optim *optim)
{
    const drove_sync_options options = {.n_workers = n_workers, .place = place};
    return rule_strategy_of(ops, variant, options, n, kernels, optim);
}

#endif
