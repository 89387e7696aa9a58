/* train/pack.c - see pack.h. */
#include "train/pack.h"

#include "base/mem.h"
#include "base/spec.h"
#include "config/resolve.h"
#include "pack/pack.h"
#include "table/schema.h"
#include "values/interrupt.h"
#include "values/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const double LEAST_PROGRESS = 0.01; /* against a constant guess */
enum { MOST_KEYS = 4096 };
static const char LR_TO_GO_ON[] = "0.001"; /* with the network that it made */

/* ---- whether there is one ---- */

/* *is_table: the data are a table. */
static drove_status look_at_data(const char *data, bool *is_table)
{
    drove_spec spec;
    DROVE_TRY(drove__data_parse(data, &spec));
    *is_table = strcmp(spec.name, "table") == 0;
    drove__spec_fini(&spec);
    return DROVE_OK;
}

/* Whether an option was given, and not as what it is by default. */
static bool is_given(const drove_config *config, const char *name)
{
    char text[DROVE_TEXT_SIZE];
    size_t n, i = 0;
    const drove_option_info *info = drove_options_table(&n);
    while (strcmp(info[i].name, name) != 0) i++;
    return drove__config_origin(config, name) != DROVE_FROM_DEFAULT &&
           strcmp(drove__config_text(config, name, text), info[i].default_text) != 0;
}

/* The first option that a pack does not take, which is given; NULL: none. */
static const char *option_against(const drove_config *config, bool has_ranks)
{
    static const char *const none[] = {
        "strategy", "rule",         "schedule", "lr",     "partition",      "precision",
        "clip",     "rule_state",   "machine",  "init",   "activation",     "weight_decay",
        "batch",    "global_batch", "record",   "replay", "label_smoothing"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++)
        if (is_given(config, none[i])) return none[i];
    if (config->machine.workers != NULL && !config->machine.has_procs) return "workers";
    if (has_ranks && config->exchange.owns_shard) return "shard";
    const drove_until *u = &config->length.until;
    const bool has_other = drove__until_has_target(u) || u->validation > 0.0 || u->patience > 0 ||
                           u->updates != UINT64_MAX;
    return !config->length.is_auto && has_other ? "until" : NULL;
}

/* Whether a loss was given that packs learn with only of some targets, or not at all. */
static bool has_other_loss(const drove_config *config)
{
    static const char *const learnt[] = {"softmax", "sigmoid", "logistic"};
    char text[DROVE_TEXT_SIZE];
    if (!is_given(config, "loss")) return false;
    for (size_t i = 0; i < DROVE_COUNT(learnt); i++)
        if (strcmp(drove__config_text(config, "loss", text), learnt[i]) == 0) return false;
    return true;
}

/* Appends "key=value" to a spec, unless it has the key; false: there is no room. */
static bool add_key(char spec[DROVE_TEXT_SIZE], const char *key, const char *value)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%s=", key);
    const char *keys = strchr(spec, '?'), *at = keys != NULL ? strstr(keys, wanted) : NULL;
    if (at != NULL && (at[-1] == '?' || at[-1] == '&')) return true;
    const size_t n = strlen(spec);
    const int used =
        snprintf(spec + n, DROVE_TEXT_SIZE - n, "%c%s%s", keys != NULL ? '&' : '?', wanted, value);
    return used > 0 && (size_t)used < DROVE_TEXT_SIZE - n;
}

drove_status drove__pack_choose(const drove_config *config, bool has_ranks,
                                const drove_callbacks *cb, drove_choice *choice)
{
    bool is_table;
    char flag[DROVE_FLAG_SIZE], spec[DROVE_TEXT_SIZE];
    const bool is_open = config->problem.model == NULL && !config->problem.compares_model;
    if (!is_open && !config->problem.compares_model) return DROVE_OK;
    if (config->files.resume != NULL) { /* the network that it made */
        const char *model = is_open ? DROVE_MODEL_USUAL : config->files.resume;
        drove__choice_add(choice, "model", DROVE_BY_KIND, "%s", model);
        return DROVE_OK;
    }
    const char *against = option_against(config, has_ranks);
    if (is_open && against == NULL && has_other_loss(config)) against = "loss";
    DROVE_TRY(look_at_data(config->problem.data, &is_table));
    if (is_open && (!is_table || has_ranks || !config->is_tuned || against != NULL)) {
        drove__choice_add(choice, "model", DROVE_BY_KIND, "%s", DROVE_MODEL_USUAL);
        if (is_table && against != NULL)
            drove__run_say(cb, "model: %s (with %s there is no pack of models)", DROVE_MODEL_USUAL,
                           drove_flag_text(against, flag));
        return DROVE_OK;
    }
    if (against != NULL)
        return drove__fail(DROVE_E_ARG, "--model auto: expected no %s beside it, found one%s",
                           drove_flag_text(against, flag),
                           strcmp(against, "until") == 0 ? " (of more than epochs and seconds)"
                                                         : "");
    if (is_open) drove__choice_add(choice, "model", DROVE_BY_KIND, "auto");
    snprintf(spec, sizeof spec, "%s", config->problem.data);
    if (is_table && add_key(spec, "scale", "robust"))
        drove__choice_add(choice, "data", DROVE_BY_KIND, "%s", spec);
    return DROVE_OK;
}

/* A column of ids is left out; where things have several rows, it tells much of those that are
 * known and nothing of others: which of them are to come, the run cannot know. */
static void say_keys(const drove_schema *schema, const drove_callbacks *cb)
{
    char escaped[DROVE_TEXT_SIZE];
    for (size_t i = 0; schema != NULL && i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        const bool has_several = 5 * c->n_distinct <= 4 * schema->n_rows;
        if (c->type != DROVE_COLUMN_ID || !has_several || c->n_distinct < 2 ||
            c->n_distinct > MOST_KEYS)
            continue;
        drove__run_say(cb,
                       "model: column \"%.40s\" is left out: it says which of %zu things a row is "
                       "about; where more rows of the same things are to be predicted, "
                       "?types=%.60s:category uses it",
                       c->name, (size_t)c->n_distinct,
                       drove__spec_escape(c->name, escaped, sizeof escaped));
    }
}

/* ---- making it ---- */

typedef struct making {
    const drove_callbacks *cb;
    const drove_interrupt *interrupt;
    double budget_s; /* 0: none */
    unsigned n_threads;
} making;

static bool is_over(void *context)
{
    const making *m = context;
    return drove__run_signal(m->interrupt) != 0;
}

/* As include/drove/train.h has it.  With a budget more networks are planned while there is time. */
static void tell(void *context, const drove_pack_told *told)
{
    const making *m = context;
    if (m->cb->progress == NULL) return;
    const double done = fmin(told->n_done, told->n_units), planned = fmax(told->n_units, 1.0);
    const double part = m->budget_s > 0.0 ? told->seconds / m->budget_s : done / planned;
    drove_progress p = {.epochs = NAN,
                        .epochs_total = told->n_units,
                        .updates = (uint64_t)done,
                        .fraction = fmin(part, 1.0),
                        .train_s = told->seconds,
                        .eta_s = part > 0.0 ? fmax(told->seconds / part - told->seconds, 0.0) : NAN,
                        .loss = NAN,
                        .loss_initial = NAN,
                        .accuracy = NAN,
                        .test_loss = NAN,
                        .test_accuracy = NAN,
                        .target_loss = NAN,
                        .n_workers = m->n_threads,
                        .validation_loss = NAN,
                        .validation_accuracy = NAN};
    m->cb->progress(m->cb->context, &p);
}

/* "mlp:64 bins 45 %, linear 20 %" */
static void list_members(const drove_pack_record *r, char *into, size_t size)
{
    bool is_named[DROVE_PACK_MOST_MEMBERS] = {false};
    size_t used = 0;
    double left = 1.0;
    *into = '\0';
    for (;;) {
        unsigned most = r->n;
        for (unsigned i = 0; i < r->n; i++)
            if (!is_named[i] && r->member[i].share > 0.0 &&
                (most == r->n || r->member[i].share > r->member[most].share))
                most = i;
        if (used >= size) return;
        if (most == r->n) {
            if (left > 0.005)
                snprintf(into + used, size - used, "%sthe constant guess %.0f %%",
                         used > 0 ? ", " : "", 100.0 * left);
            return;
        }
        left -= r->member[most].share;
        is_named[most] = true;
        const int n = snprintf(into + used, size - used, "%s%s %.0f %%", used > 0 ? ", " : "",
                               r->member[most].name, 100.0 * r->member[most].share);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void say(const drove_pack_record *r, const drove_callbacks *cb)
{
    char list[400];
    list_members(r, list, sizeof list);
    if (r->n_networks == 0) drove__run_say(cb, "model: the constant guess");
    else
        drove__run_say(cb, "model: a pack of %u network%s: %s", r->n_networks,
                       r->n_networks == 1 ? "" : "s", list);
    drove__run_say(cb,
                   "model: loss %.4g +- %.2g%s on %zu examples that its networks had not seen; the "
                   "best member alone (%s) %.4g, a constant guess %.4g (%.1f s)",
                   r->loss, 1.96 * r->error, r->is_standardised ? " of standardised values" : "",
                   r->n_judged, r->best < r->n ? r->member[r->best].name : "the constant guess",
                   r->best_loss, r->constant_loss, r->seconds);
    if (r->is_interrupted) drove__run_say(cb, "model: interrupted: fewer networks than planned");
    if (r->n_left_out > 0)
        drove__run_say(cb,
                       "model: without %u kind%s of members: what they see of the rows would take "
                       "more than a quarter of the memory that is available",
                       r->n_left_out, r->n_left_out == 1 ? "" : "s");
    if (r->is_one_group)
        drove__run_say(cb, "model: all training rows are of one group: this loss is of rows of the "
                           "group that it was trained on, not of others");
    if (r->loss > r->constant_loss * (1.0 - LEAST_PROGRESS))
        drove__run_say(cb, "model: it is not 1 %% better than a constant guess: these columns say "
                           "little about the label");
}

static drove_status gather(void *context, const void *mine, size_t size_bytes, void *all)
{
    drove_transport *t = context;
    return t->ops->gather(t, mine, size_bytes, all);
}

drove_status drove__pack_make(const drove_config *config, drove_problem *problem,
                              const drove_workers *workers, const drove_interrupt *interrupt,
                              const drove_callbacks *cb, drove_pack_record *record,
                              drove_choice *choice)
{
    const drove_until *until = &config->length.until;
    const drove_model_io io = drove__data_io(problem->train);
    const bool is_open = drove__config_is_own(config, "until");
    const bool has_procs = workers->plan.host == DROVE_HOST_PROCS;
    making m = {.cb = cb,
                .interrupt = interrupt,
                .budget_s = !is_open && isfinite(until->seconds) ? until->seconds : 0.0,
                .n_threads = workers->plan.n_asked};
    drove_model *model;
    float *theta;
    const drove_pack_options options = {
        .data = problem->train,
        .io = &io,
        .loss = config->problem.loss,
        .kernels = &workers->kernels,
        .seed = config->seed,
        .n_threads = has_procs ? workers->plan.worker[0].n_cores : workers->plan.n_asked,
        .n_procs = has_procs ? workers->plan.n_asked : 1,
        .exchange = {.n = workers->ranks.n,
                     .rank = workers->ranks.rank,
                     .n_local = workers->ranks.n_local,
                     .gather = gather,
                     .context = workers->transport},
        .most_members = config->problem.most_members,
        .epochs = !is_open && isfinite(until->epochs) ? until->epochs : 0.0,
        .seconds = m.budget_s,
        .is_over = is_over,
        .tell = tell,
        .context = &m};
    DROVE_TRY(drove__pack_train(&options, &model, &theta, record));
    drove__model_destroy(problem->model);
    drove__free(problem->first);
    problem->model = model;
    problem->first = theta;
    /* Nothing is left to the workers but to evaluate. */
    if (workers->ranks.n <= 1) drove__choice_add(choice, "strategy", DROVE_BY_KIND, "sequential");
    drove__choice_add(choice, "lr", DROVE_BY_KIND, "%s", LR_TO_GO_ON);
    choice->pack = record;
    say(record, cb);
    say_keys(problem->train->storage->schema, cb);
    return DROVE_OK;
}
