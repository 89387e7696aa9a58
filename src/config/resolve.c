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

drove_status drove__loaders_parse(const char *text, bool *is_auto, unsigned *out)
{
    uint64_t n = 0;
    *is_auto = strcmp(text, "auto") == 0;
    if (!*is_auto && drove__parse_u64("--loaders", text, 0, DROVE_MOST_THREADS, &n) != DROVE_OK) {
        return drove__fail(DROVE_E_ARG,
                           "--loaders: expected a whole number from 0 to %d, or auto, found "
                           "\"%.80s\"",
                           DROVE_MOST_THREADS, text);
    }
    *out = (unsigned)n;
    return DROVE_OK;
}

drove_order_kind drove__resolve_order(const drove_options *options)
{
    if (strcmp(options->order, "random") == 0) return DROVE_ORDER_RANDOM;
    if (strcmp(options->order, "blocks") == 0) return DROVE_ORDER_BLOCKS;
    bool is_auto = strcmp(options->order, "auto") == 0;
    return is_auto && drove__resolve_is_low(options) ? DROVE_ORDER_BLOCKS : DROVE_ORDER_SHUFFLE;
}

bool drove__prefetch_wants_hints(const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "hints") == 0;
}

bool drove__prefetch_wants_hardware_off(const char *word)
{
    return strcmp(word, "off") == 0 || strcmp(word, "hints") == 0;
}

drove_status drove__save_every_parse(const char *text, drove_save_every *out)
{
    static const char *const words[] = {/* in the order of drove_save_unit */
                                        [DROVE_SAVE_EVAL] = "eval",
                                        [DROVE_SAVE_EPOCHS] = "epochs",
                                        [DROVE_SAVE_UPDATES] = "updates",
                                        [DROVE_SAVE_SECONDS] = "seconds",
                                        [DROVE_SAVE_NEVER] = "never"};
    static const char *const shown[] = {"eval", "epochs=N", "updates=N", "seconds=N", "never"};
    for (unsigned i = 0; i < DROVE_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        bool is_plain = i == DROVE_SAVE_EVAL || i == DROVE_SAVE_NEVER;
        if (is_plain && strcmp(text, words[i]) == 0) {
            *out = (drove_save_every){.unit = (drove_save_unit)i};
            return DROVE_OK;
        }
        if (!is_plain && strncmp(text, words[i], n) == 0 && text[n] == '=') {
            const char *value = text + n + 1;
            char what[40];
            drove_save_every every = {.unit = (drove_save_unit)i};
            snprintf(what, sizeof what, "--save-every %s", words[i]);
            if (i == DROVE_SAVE_UPDATES)
                DROVE_TRY(drove__parse_u64(what, value, 1, UINT64_MAX, &every.updates));
            else DROVE_TRY(drove__parse_real(what, value, DBL_MIN, DBL_MAX, &every.amount));
            *out = every;
            return DROVE_OK;
        }
    }
    unsigned unused;
    return drove__one_of("--save-every", text, shown, DROVE_COUNT(shown), &unused);
}

bool drove__resolve_is_low(const drove_options *options)
{
    return drove__precision_is_words(options->precision);
}

bool drove__resolve_is_classic(const drove_options *options)
{
    return strcmp(options->defaults, "classic") == 0 || drove__resolve_is_low(options);
}

bool drove__resolve_is_tuned(const drove_options *options)
{
    return options->lr <= 0.0 && !drove__resolve_is_classic(options);
}

drove_status drove__resolve_needs(const drove_options *options, const drove_plan *plan,
                                  unsigned *out)
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
                                        .backoff = options->backoff,
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

const char *drove__resolve_rule(const drove_options *options, unsigned needs, const char *chosen)
{
    if (strcmp(options->rule, "auto") != 0) return options->rule;
    if ((needs & DROVE_SYNC_MOMENTUM) != 0) return "momentum:0.9";
    if (drove__resolve_is_low(options)) return "sgd";
    if (!drove__resolve_is_tuned(options)) return drove__model_default_rule(options->model);
    if ((needs & DROVE_SYNC_LIVE) != 0) return "sgd";
    return chosen;
}

const char *drove__resolve_rule_state(const drove_options *options, unsigned needs)
{
    if (strcmp(options->rule_state, "auto") != 0) return options->rule_state;
    return (needs & DROVE_SYNC_OWN_STATE) != 0 ? "worker" : "shared";
}

double drove__resolve_lr(const drove_options *options, unsigned needs, unsigned n_workers)
{
    const double usual = 0.01;
    return options->lr > 0.0 ? options->lr : usual * drove__resolve_stretch(needs, n_workers);
}

double drove__resolve_stretch(unsigned needs, unsigned n_workers)
{
    return (needs & DROVE_SYNC_ELASTIC) == 0 ? 1.0 : (n_workers + 1.0) / n_workers;
}

uint64_t drove__resolve_batch(const drove_options *options)
{
    const uint64_t usual = 32;
    return options->batch > 0 ? options->batch : usual;
}

double drove__resolve_eval_every(const drove_options *options)
{
    const double usual = 0.25;
    return options->eval_every > 0.0 ? options->eval_every : usual;
}

/* Networks whose published rule is more than plain SGD were published with a falling step size
 * too: at a constant one their accuracy wavers from epoch to epoch. */
void drove__resolve_schedule(const drove_options *options, char into[DROVE_TEXT_SIZE])
{
    drove_until until;
    bool is_auto = strcmp(options->schedule, "auto") == 0;
    snprintf(into, DROVE_TEXT_SIZE, "%s", is_auto ? "constant" : options->schedule);
    if (!is_auto || strcmp(drove__model_default_rule(options->model), "sgd") == 0) return;
    if (drove__until_parse(options->until, &until) != DROVE_OK || !isfinite(until.epochs)) return;
    snprintf(into, DROVE_TEXT_SIZE, "cosine:%.17g", until.epochs);
}
