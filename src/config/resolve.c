/* config/resolve.c - see resolve.h. */
#include "config/resolve.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/spec.h"
#include "engine/linear/precision.h"
#include "model/model.h"
#include "use/modelfile.h"
#include "config/registry.h"
#include "config/until.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

drove_order_kind drove__resolve_order(const drove_config *config)
{
    switch (config->method.order) {
    case DROVE_CHOICE_RANDOM: return DROVE_ORDER_RANDOM;
    case DROVE_CHOICE_BLOCKS: return DROVE_ORDER_BLOCKS;
    case DROVE_CHOICE_SHUFFLE: return DROVE_ORDER_SHUFFLE;
    case DROVE_CHOICE_AUTO: break;
    }
    return config->low.is_low ? DROVE_ORDER_BLOCKS : DROVE_ORDER_SHUFFLE;
}

drove_status drove__resolve_needs(const drove_config *config, const drove_plan *plan, unsigned *out)
{
    enum { FEW = 16 };
    static const drovek_table no_kernels; /* creation computes nothing */
    float zero[FEW] = {0.0f};
    const drove_params start = {.theta = zero};
    const drove_optim_options plain = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = 1.0,
                                       .n_params = FEW,
                                       .n_workers = plan->n_workers,
                                       .kernels = &no_kernels};
    drove_spec spec;
    drove_sync *sync = NULL;
    drove_optim *optim;
    *out = plan->ops->needs;
    if ((*out & DROVE_SYNC_SPREAD) != 0) return DROVE_OK; /* all variants are alike */
    DROVE_TRY(drove__optim_create(&plain, &optim));
    drove_status status = drove__spec_parse(plan->spec, &spec);
    if (status == DROVE_OK) {
        const drove_sync_options opt = {.spec = &spec,
                                        .backoff = config->method.backoff,
                                        .n_workers = plan->n_workers,
                                        .optim = optim,
                                        .seed = 1};
        status = drove__sync_create(plan->ops, &opt, &start, &sync);
        if (status == DROVE_OK) *out = sync->needs;
        drove__sync_destroy(sync);
        drove__spec_fini(&spec);
    }
    drove__optim_destroy(optim);
    return status;
}

/* The rule that this model was published with. */
static const char *published_rule(const drove_config *config)
{
    return drove__model_default_rule(config->problem.model != NULL ? config->problem.model : "");
}

const char *drove__resolve_rule(const drove_config *config, unsigned needs, const char *chosen)
{
    if (config->method.rule != NULL) return config->method.rule;
    if ((needs & DROVE_SYNC_MOMENTUM) != 0) return "momentum:0.9";
    if (config->low.is_low) return "sgd";
    if (!config->is_tuned) return published_rule(config);
    if ((needs & DROVE_SYNC_LIVE) != 0) return "sgd";
    return chosen;
}

drove_rule_state drove__resolve_rule_state(const drove_config *config, unsigned needs)
{
    if (config->method.rule_state != DROVE_RULE_STATE_AUTO &&
        !drove__config_is_own(config, "rule_state"))
        return config->method.rule_state;
    const bool by_matrix =
        config->method.rule != NULL && drove__rule_by_matrix(config->method.rule);
    return (needs & DROVE_SYNC_OWN_STATE) != 0 || by_matrix ? DROVE_RULE_STATE_WORKER
                                                            : DROVE_RULE_STATE_SHARED;
}

double drove__resolve_lr(const drove_config *config, unsigned needs, unsigned n_workers)
{
    const double usual = 0.01;
    return config->method.lr > 0.0 ? config->method.lr
                                   : usual * drove__resolve_stretch(needs, n_workers);
}

double drove__resolve_stretch(unsigned needs, unsigned n_workers)
{
    return (needs & DROVE_SYNC_ELASTIC) == 0 ? 1.0 : (n_workers + 1.0) / n_workers;
}

uint64_t drove__resolve_batch(const drove_config *config)
{
    const uint64_t usual = 32;
    if (config->method.global_batch > 0) return config->method.global_batch;
    return config->method.batch > 0 ? config->method.batch : usual;
}

drove_status drove__resolve_batch_each(const drove_config *config, unsigned n_workers,
                                       uint64_t *out)
{
    const uint64_t all = config->method.global_batch, rest = all % n_workers;
    const unsigned n = all > 0 ? n_workers : 1;
    if (all > 0 && rest != 0)
        return drove__fail(DROVE_E_ARG,
                           "--global-batch: expected a multiple of the %u workers, such as %llu, "
                           "found %llu",
                           n_workers, (unsigned long long)(all - rest + n_workers),
                           (unsigned long long)all);
    *out = drove__resolve_batch(config) / n;
    return DROVE_OK;
}

double drove__resolve_eval_every(const drove_config *config)
{
    const double usual = 0.25;
    return config->length.eval_every > 0.0 ? config->length.eval_every : usual;
}

/* Networks whose published rule is more than plain SGD were published with a falling step size
 * too: at a constant one their accuracy wavers from epoch to epoch. */
void drove__resolve_schedule(const drove_config *config, char into[DROVE_TEXT_SIZE])
{
    const char *given = config->method.schedule;
    const double epochs = config->length.until.epochs;
    snprintf(into, DROVE_TEXT_SIZE, "%s", given != NULL ? given : "constant");
    if (given == NULL && strcmp(published_rule(config), "sgd") != 0 && isfinite(epochs))
        snprintf(into, DROVE_TEXT_SIZE, "cosine:%.17g", epochs);
}
