/* config/validate.c - what can be known to be wrong with the options before any data is read.
 *
 * Names and arguments are not checked by a second set of rules: a model, a rule and a strategy of
 * a few parameters are built from the options with the same calls as in a run, and thrown away.
 */
#include "base/alive.h"
#include "base/available.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "base/status.h"
#include "data/open/formats.h"
#include "cluster/ranks_open.h"
#include "engine/features.h"
#include "kernel/kernel.h"
#include "engine/linear/problem.h"
#include "model/model.h"
#include "optim/optim.h"
#include "strategy/combine.h"
#include "config/exchange.h"
#include "use/modelfile.h"
#include "use/pytorch.h"
#include "config/registry.h"
#include "config/resolve.h"
#include "config/words.h"
#include "config/config.h"
#include "config/until.h"
#include "table/content.h"

#include "config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_PARAMS = 16, MOST_WORDS = 16 };

/* Rows of a WORD list all that it may be. */
drove_status drove__options_check_words(const drove_options *o)
{
    size_t n;
    unsigned unused;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (info[i].value_name != NULL && strcmp(info[i].value_name, "WORD") == 0)
            DROVE_TRY(drove__options_word(o, info[i].name, &unused));
    return DROVE_OK;
}

static drove_status check_data(const char *flag, const char *text)
{
    drove_spec spec;
    const drove_format_ops *format;
    drove_status status = drove__data_parse(text, &spec);
    if (status != DROVE_OK) return drove__fail_in(status, "%s", flag);
    status = drove__format_find(&spec, &format);
    if (status == DROVE_OK) status = drove__format_check(format, &spec);
    drove__spec_fini(&spec);
    return status;
}

/* Model and loss are held against the data when these are known. */
static drove_status check_model(const drove_options *o)
{
    drove_tuning tuning;
    DROVE_TRY(drove__tuning_take(o->model, &tuning));
    const drove_model_io io = {
        .n_features = 1, .n_classes = 2, .custom = &o->custom, .makes_heads = tuning.makes_heads};
    drove_model *model;
    const bool is_custom = o->custom.has_loss && strcmp(o->loss, o->custom.loss_name) == 0;
    /* The initialiser, on a network of two units.  A file of parameters is read when the model is
     * known. */
    const char *weights = drove__pytorch_file(o->init);
    if (weights != NULL && weights[0] == '\0')
        return drove__fail(DROVE_E_ARG, "--init %s: expected a file, found none", o->init);
    const bool is_chosen = o->model[0] == '\0' || strcmp(tuning.model, "auto") == 0;
    if (weights != NULL && is_chosen && o->resume[0] == '\0')
        return drove__fail(DROVE_E_ARG,
                           "--init %s: expected --model with the network of the file, found %s",
                           o->init, o->model[0] != '\0' ? o->model : "none");
    if (weights == NULL) {
        const drove_model_io small = {.n_features = 1, .n_classes = 2};
        drove_model *trial;
        DROVE_TRY(drove__model_create("mlp:1", o->activation, "", &small, &trial));
        float *theta = drove__alloc(trial->n_params, sizeof *theta);
        drove_status status = theta == NULL ? drove__fail_nomem("parameters", trial->n_params)
                                            : drove__model_init(trial, o->init, 1, theta);
        drove__free(theta);
        drove__model_destroy(trial);
        DROVE_TRY(status);
    }
    if (o->loss[0] != '\0' && !is_custom)
        DROVE_TRY(drove__registry_check("losses", "loss", o->loss));
    if (is_chosen && (tuning.makes_heads || tuning.freeze[0] != '\0'))
        return drove__fail(DROVE_E_ARG,
                           "--model %s: expected a network with ?head and ?freeze, found none",
                           o->model);
    if (drove__names_model_file(tuning.model) || strcmp(tuning.model, "auto") == 0) return DROVE_OK;
    drove_status status = drove__model_create(tuning.model, o->activation, "", &io, &model);
    if (status == DROVE_OK) drove__model_destroy(model);
    return status == DROVE_E_SHAPE ? DROVE_OK : status;
}

static drove_status try_row(const drove_sync_ops *ops, const drove_sync_options *opt)
{
    static float theta[FEW_PARAMS]; /* read alone */
    const drove_params start = {.theta = theta};
    drove_sync *sync;
    DROVE_TRY(drove__sync_create(ops, opt, &start, &sync));
    drove__sync_destroy(sync);
    return DROVE_OK;
}

/* True if each update of this row is one round of all workers. */
static bool steps_together(const drove_sync_ops *ops, const drove_sync_options *opt)
{
    static float theta[FEW_PARAMS];
    const drove_params start = {.theta = theta};
    drove_sync *sync;
    if (ops->batches == NULL || strcmp(ops->batches, "rounds") != 0 ||
        drove__sync_create(ops, opt, &start, &sync) != DROVE_OK)
        return false;
    const bool is_whole = sync->batches_per_update == opt->n_workers;
    drove__sync_destroy(sync);
    return is_whole;
}

/* --global-batch: a lone worker makes each update, whatever the strategy. */
static drove_status check_global_batch(const drove_config *c, const drove_plan *p,
                                       const drove_sync_options *opt,
                                       const drove_optim_options *of_optim)
{
    const unsigned long long n = c->method.global_batch;
    char names[512] = "";
    size_t used = 0;
    uint64_t unused;
    if (n == 0 || p->n_workers == 1) return DROVE_OK;
    if (steps_together(p->ops, opt)) return drove__resolve_batch_each(c, p->n_workers, &unused);
    /* The others that run in this place; the rule's state need not be where it is for this one. */
    const drove_combination place = {.n_workers = p->n_workers,
                                     .procs = p->host == DROVE_HOST_PROCS,
                                     .ranks = p->host == DROVE_HOST_RANKS,
                                     .engine_can = DROVE_COMBINE_FUSED | DROVE_COMBINE_TYPED};
    drove_optim_options shared = *of_optim;
    shared.state = DROVE_STATE_SHARED;
    drove_optim *optim;
    DROVE_TRY(drove__optim_create(&shared, &optim));
    const drove_sync_options plain = {.n_workers = opt->n_workers, .optim = optim, .seed = 1};
    for (size_t i = 0; drove__strategies[i] != NULL && used < sizeof names; i++)
        if (drove__combine(drove__strategies[i], &place) == NULL &&
            steps_together(drove__strategies[i], &plain))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", drove__strategies[i]->name);
    drove__optim_destroy(optim);
    return drove__fail(DROVE_E_ARG,
                       "--global-batch %llu: expected a --strategy whose workers make each update "
                       "together (%s), found %s%s",
                       n, names, c->method.strategy == NULL ? "auto, here " : "", p->spec);
}

/* Rules that some places have no room for. */
static drove_status check_rule(const drove_config *c, const drove_optim *optim)
{
    const drove_rule_ops *rule = optim->rule.ops;
    if (rule->by_matrix && c->method.rule_state == DROVE_RULE_STATE_SHARED &&
        c->files.resume != NULL)
        return drove__fail(DROVE_E_ARG,
                           "--resume %s: --rule: expected that of the run to be continued, whose "
                           "workers share the rule's state, found %s, which has none to share",
                           c->files.resume, rule->name);
    if (rule->by_matrix && c->method.rule_state == DROVE_RULE_STATE_SHARED)
        return drove__fail(DROVE_E_ARG,
                           "--rule-state shared: expected worker or auto, as --rule %s takes the "
                           "gradient of whole matrices",
                           rule->name);
    if (rule->by_matrix && c->low.is_low)
        return drove__fail(DROVE_E_ARG,
                           "--rule %s: expected parameters that are floats, found --precision %s",
                           rule->name, c->low.precision);
    if (rule->is_decoupled && c->low.is_low && c->method.weight_decay > 0.0)
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected --weight-decay 0 with --rule %s, found %g",
                           c->low.precision, rule->name, c->method.weight_decay);
    return DROVE_OK;
}

/* The rule and the strategy of the plan. */
static drove_status check_plan(const drove_config *c, const drove_plan *plan)
{
    static const drovek_table no_kernels; /* creation computes nothing */
    char schedule[DROVE_TEXT_SIZE];
    unsigned needs = plan->ops->needs;
    if (c->is_tuned) DROVE_TRY(drove__resolve_needs(c, plan, &needs));
    drove__resolve_schedule(c, schedule);
    const drove_optim_options opt = {
        .rule = drove__resolve_rule(c, needs, "adam"),
        .schedule = schedule,
        .lr = drove__resolve_lr(c, plan->ops->needs, plan->n_workers),
        .weight_decay = c->low.is_low ? 0.0 : c->method.weight_decay, /* the engine's */
        .clip = c->method.clip,
        .state = drove__resolve_rule_state(c, plan->ops->needs) == DROVE_RULE_STATE_WORKER
                     ? DROVE_STATE_WORKER
                     : DROVE_STATE_SHARED,
        .n_params = FEW_PARAMS,
        .n_workers = plan->n_workers,
        .kernels = &no_kernels,
    };
    drove_optim *optim;
    DROVE_TRY(drove__optim_create(&opt, &optim));
    drove_spec spec = {0};
    drove_status status = check_rule(c, optim);
    if (status != DROVE_OK) goto fail;
    /* The row that the spec names reads it; one in its place over ranks has none of its own. */
    const drove_sync_ops *named;
    if ((status = drove__spec_parse(plan->spec, &spec)) != DROVE_OK) goto fail;
    drove_sync_options sync = {.spec = &spec,
                               .backoff = c->method.backoff,
                               .n_workers = plan->n_workers,
                               .optim = optim,
                               .seed = 1};
    drove__exchange_options(c, &sync);
    status = drove__plan_strategy(&drove__plan_registry, spec.name, &named);
    if (status != DROVE_OK || (status = try_row(named, &sync)) != DROVE_OK) goto fail;
    if (named != plan->ops) {
        sync.spec = NULL;
        if ((status = try_row(plan->ops, &sync)) != DROVE_OK) goto fail;
    }
    status = check_global_batch(c, plan, &sync, &opt);
fail:
    drove__spec_fini(&spec);
    drove__optim_destroy(optim);
    return status;
}

static drove_status check_method(const drove_config *c, unsigned n_ranks)
{
    drove_plan plan;
    const drove_machine machine = {.n_pus = drove__processors_available(),
                                   .n_ranks = n_ranks > 0 ? n_ranks : 1,
                                   .n_local = 1};
    const drove_plan_wanted wanted = drove__config_plan(c);
    DROVE_TRY(drove__plan_make(&wanted, &machine, &drove__plan_registry, &plan));
    drove_status status = drove__exchange_check(c, &plan);
    if (status == DROVE_OK) status = check_plan(c, &plan);
    drove__plan_fini(&plan);
    return status;
}

/* Each option is text in UTF-8, as the files of a run are, and inside the range of its row: the
 * caller may have written into the struct. */
static drove_status check_values(const drove_options *o)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    drove_options copy = *o;
    char value[DROVE_TEXT_SIZE], flag[DROVE_FLAG_SIZE];
    for (size_t i = 0; i < n; i++) {
        DROVE_TRY(drove_options_get(o, info[i].name, value, sizeof value));
        if (drove__is_utf8(value, strlen(value))) continue;
        return drove__fail(DROVE_E_ARG,
                           "%s: expected text in UTF-8, which the files of a run are written in, "
                           "found other bytes: \"%s\"",
                           drove_flag_text(info[i].name, flag), value);
    }
    for (size_t i = 0; i < n; i++) {
        if (info[i].kind == DROVE_OPTION_TEXT &&
            memchr(drove__options_field(o, &info[i]), '\0', DROVE_TEXT_SIZE) == NULL)
            return drove__fail(DROVE_E_ARG, "%s: expected text of at most %d bytes, found more",
                               info[i].name, DROVE_TEXT_SIZE - 1);
        DROVE_TRY(drove_options_get(o, info[i].name, value, sizeof value));
        DROVE_TRY(drove_options_set(&copy, info[i].name, value));
    }
    return DROVE_OK;
}

drove_status drove_options_validate(const drove_options *o)
{
    DROVE_ALIVE(o, "options");
    DROVE_GIVEN_AS(o, "options");
    DROVE_IN_C_LOCALE;
    drove_config config;
    DROVE_TRY(drove__config_init(o, &config));
    drove_status status = drove__config_validate(&config, drove__mpi_launched_ranks());
    drove__config_fini(&config);
    return status;
}

/* A batch that is said as strongly as --global-batch, which would take its place. */
static drove_status check_batches(const drove_config *c)
{
    const drove_origin of_batch = drove__config_origin(c, "batch");
    const bool is_said = of_batch == DROVE_FROM_CALLER || of_batch == DROVE_FROM_FILE;
    if (c->method.batch == 0 || c->method.global_batch == 0 || !is_said ||
        of_batch > drove__config_origin(c, "global_batch"))
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--batch %llu: expected none beside --global-batch, which says it (%llu "
                       "divided by the number of workers); --global-batch 0 leaves it to --batch",
                       (unsigned long long)c->method.batch,
                       (unsigned long long)c->method.global_batch);
}

/* --eval-beside: what a record or a virtual clock has instead; auto would choose among strategies
 * that cannot. */
static drove_status check_beside(const drove_config *c)
{
    if (!c->length.is_beside) return DROVE_OK;
    if (c->files.record != NULL || c->files.replay != NULL)
        return drove__fail(DROVE_E_ARG,
                           "--eval-beside: expected no --record and --replay, whose runs are "
                           "evaluated between two steps, found %s",
                           c->files.record != NULL ? c->files.record : c->files.replay);
    if (c->machine.modelled != NULL || c->machine.models_here)
        return drove__fail(DROVE_E_ARG, "--eval-beside: expected no --machine, on whose clock no "
                                        "evaluation parks the workers, found one");
    if (c->method.strategy == NULL)
        return drove__fail(DROVE_E_ARG,
                           "--eval-beside: expected a --strategy whose parameters can be "
                           "copied while the workers write them (drove list combinations), found "
                           "auto");
    return DROVE_OK;
}

drove_status drove__config_validate(const drove_config *c, unsigned n_ranks)
{
    const drove_options *o = c->said;
    drove_until until;
    drove_save_every save_every;
    bool unused_auto, takes_label;
    unsigned unused_n;
    DROVE_TRY(check_values(o));
    DROVE_TRY(check_batches(c));
    DROVE_TRY(check_data("--data", o->data));
    DROVE_TRY(drove__data_takes_label(o->data, &takes_label));
    if (o->label[0] != '\0' && !takes_label)
        return drove__fail(DROVE_E_ARG,
                           "--label: expected --data with columns (table, csv), found \"%s\"",
                           o->data);
    if (o->test[0] != '\0' && strcmp(o->test, "split") != 0)
        DROVE_TRY(check_data("--test", o->test));
    drove_features_options features;
    drove_status status = drove__features_parse(o->features, &features);
    if (status != DROVE_OK) return drove__fail_in(status, "--features");
    DROVE_TRY(check_model(o));
    DROVE_TRY(drove__options_check_words(o));
    DROVE_TRY(drove__partition_check(o->partition));
    DROVE_TRY(check_beside(c));
    DROVE_TRY(check_method(c, n_ranks));
    DROVE_TRY(drove__loaders_parse(o->loaders, &unused_auto, &unused_n));
    drove_rounding rounding;
    DROVE_TRY(drove__rounding_parse(o->rounding, &rounding));
    if (c->low.is_low) DROVE_TRY(drove__precision_check(o->precision));
    /* --isa */
    const char *word[MOST_WORDS];
    size_t n_words = 0;
    unsigned unused_tier;
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) word[n_words++] = *tier;
    word[n_words++] = "auto";
    DROVE_TRY(
        drove__one_of("--isa", o->isa[0] != '\0' ? o->isa : "auto", word, n_words, &unused_tier));
    uint64_t n_bytes;
    if (o->memory[0] != '\0') DROVE_TRY(drove__parse_bytes("--memory", o->memory, &n_bytes));
    DROVE_TRY(drove__until_parse(o->until, &until));
    DROVE_TRY(drove__save_every_parse(o->save_every, &save_every));
    bool has_out = o->out[0] != '\0' && strcmp(o->out, "auto") != 0;
    if (o->resume[0] != '\0' && has_out && strcmp(o->resume, o->out) != 0) {
        return drove__fail(DROVE_E_ARG, "--resume %s: expected no other --out, found \"%s\"",
                           o->resume, o->out);
    }
    return DROVE_OK;
}
