/* auto/choose.c - see choose.h.  The numbers are those of docs/results/defaults.md. */
#include "auto/choose.h"

#include "base/mem.h"
#include "base/spec.h"
#include "engine/fixed/engine.h"
#include "model/loss.h"
#include "config/resolve.h"
#include "problem/disk.h"
#include "values/ranks.h"
#include "values/say.h"
#include "auto/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A budget in updates, so that small sets get enough of them; in epochs, so that large ones do not
 * get too many, and small ones not for ever. */
static const double WANTED_UPDATES = 100000.0, LEAST_EPOCHS = 10.0, MOST_EPOCHS = 500.0;
/* Without validation examples nothing ends such a run early. */
static const double WANTED_BLIND_UPDATES = 3000.0, MOST_BLIND_EPOCHS = 200.0;
static const double LEAST_EVALUATION_UPDATES = 100.0, MOST_EVALUATION_UPDATES = 5000.0;
static const double BLIND_EVALUATIONS = 10.0; /* that decide nothing */
enum { LEAST_VALIDATION_ROWS = 20, LEAST_PACK_ROWS = 10, PATIENCE = 4 };
static const size_t WIDE_FEATURES = 4096; /* of sparse data */
static const double MARGIN_STEP = 0.3;
/* A network's words and plain SGD where not even trials fit: cosine takes it to zero. */
static const double FEW_UPDATES_LR = 0.03;

static double clamp(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

bool drove__choose_is_wide(const drove_storage *storage)
{
    return drove__storage_is_sparse(storage) && storage->n_features >= WIDE_FEATURES;
}

static bool is_wide(const drove_problem *problem)
{
    return drove__choose_is_wide(problem->train->storage);
}

/* A linear model is better at texts than the usual network, and trains in a fraction of its time
 * (docs/results/defaults.md, sector).  Of few rows there are no parts to judge a pack by. */
void drove__choose_model(const drove_config *config, const drove_problem *problem,
                         drove_choice *choice)
{
    const bool is_usual = drove__config_origin(config, "model") == DROVE_BY_KIND;
    const bool is_other = is_wide(problem) || (config->problem.compares_model &&
                                               problem->train->n_rows < LEAST_PACK_ROWS);
    if (!is_usual || !config->is_tuned || config->problem.features[0] != '\0' || !is_other) return;
    const bool is_value = problem->train->storage->y_kind == DROVE_Y_VALUE;
    drove__choice_add(choice, "model", DROVE_BY_KIND, "%s", is_value ? "linear" : "logistic");
}

/* Updates of a linear model of wide sparse data, which gains more from all rows than from an early
 * end; 0: this is none.  Hinges are done sooner: a row beyond its margin changes nothing. */
static double wide_updates(const drove_config *config, const drove_problem *problem)
{
    static const struct {
        const char *model;
        double updates;
    } rows[] = {{"logistic", 6000.0}, {"linear", 6000.0}, {"svm", 3000.0}};
    for (size_t i = 0; i < DROVE_COUNT(rows) && is_wide(problem); i++) {
        if (strcmp(config->problem.model, rows[i].model) == 0) return rows[i].updates;
    }
    return 0.0;
}

/* ---- lengths ---- */

static double updates_per_epoch(const drove_config *config, size_t n_rows)
{
    return ceil((double)n_rows / (double)drove__resolve_batch(config));
}

/* --until auto. */
static void usual_until(const drove_config *config, const drove_problem *problem,
                        const drove_workers *workers, char until[DROVE_TEXT_SIZE])
{
    size_t n = problem->n_train_whole, n_held = n / 10;
    if (!config->is_tuned) {
        snprintf(until, DROVE_TEXT_SIZE, DROVE_UNTIL_CLASSIC);
        return;
    }
    if (n_held > DROVE_MOST_VALIDATION_ROWS) n_held = DROVE_MOST_VALIDATION_ROWS;
    if (problem->stream != NULL) n_held = drove__disk_held_rows(problem);
    double wanted = problem->stream == NULL ? wide_updates(config, problem)
                                            : 0.0; /* of all examples in memory */
    if (n_held < LEAST_VALIDATION_ROWS || wanted > 0.0 ||
        drove__ranks_hold_shards(config, workers)) {
        if (wanted == 0.0) wanted = WANTED_BLIND_UPDATES;
        double epochs =
            clamp(ceil(wanted / updates_per_epoch(config, n)), LEAST_EPOCHS, MOST_BLIND_EPOCHS);
        snprintf(until, DROVE_TEXT_SIZE, "epochs=%.0f", epochs);
        return;
    }
    double epochs = clamp(ceil(WANTED_UPDATES / updates_per_epoch(config, n - n_held)),
                          LEAST_EPOCHS, MOST_EPOCHS);
    snprintf(until, DROVE_TEXT_SIZE, "validation=%zu,patience=%d,epochs=%.0f", n_held, PATIENCE,
             epochs);
}

drove_status drove__choose_batch(const drove_config *config, const drove_workers *workers,
                                 drove_choice *choice)
{
    uint64_t each;
    if (config->method.batch > 0 && config->method.global_batch == 0) return DROVE_OK;
    DROVE_TRY(drove__resolve_batch_each(config, workers->plan.n_workers, &each));
    drove__choice_add(choice, "batch", DROVE_BY_KIND, "%llu", (unsigned long long)each);
    return DROVE_OK;
}

drove_status drove__choose_until(const drove_config *config, const drove_problem *problem,
                                 const drove_workers *workers, drove_choice *choice)
{
    char given[DROVE_TEXT_SIZE], usual[DROVE_TEXT_SIZE];
    const drove_until *u = &config->length.until;
    DROVE_TRY(drove__choose_batch(config, workers, choice));
    usual_until(config, problem, workers, usual);
    if (config->problem.compares_model) { /* the pack is trained before the run */
        if (config->length.is_auto) drove__choice_add(choice, "until", DROVE_BY_KIND, "epochs=0");
        return DROVE_OK;
    }
    if (config->length.is_auto) {
        drove__choice_add(choice, "until", DROVE_BY_KIND, "%s", usual);
        return DROVE_OK;
    }
    /* A target alone may be out of reach: the limits that --until auto has are added to it. */
    bool has_limit =
        isfinite(u->epochs) || isfinite(u->seconds) || u->updates != UINT64_MAX || u->patience > 0;
    if (has_limit || config->is_classic) return DROVE_OK;
    if (!config->is_tuned) snprintf(usual, sizeof usual, "epochs=%.0f", MOST_EPOCHS);
    bool holds = strncmp(usual, "validation=", strlen("validation=")) == 0;
    const char *limits = holds && u->validation > 0.0 ? strchr(usual, ',') + 1 : usual;
    drove__config_text(config, "until", given);
    if (strlen(given) + 1 + strlen(limits) >= DROVE_TEXT_SIZE)
        return drove__fail(DROVE_E_ARG, "--until: expected a shorter text, found %zu bytes",
                           strlen(given));
    drove__choice_add(choice, "until", DROVE_BY_KIND, "%s,%s", given, limits);
    return DROVE_OK;
}

void drove__choose_evaluations(const drove_config *config, const drove_problem *problem,
                               drove_choice *choice)
{
    const double updates = updates_per_epoch(config, problem->n_train_whole),
                 epochs = config->length.until.epochs;
    const bool decides =
        problem->validation != NULL || wide_updates(config, problem) == 0.0 || !isfinite(epochs);
    double every = drove__resolve_eval_every(config);
    if (config->length.eval_every > 0.0) return;
    if (config->is_tuned && !decides) every = fmax(epochs / BLIND_EVALUATIONS, 1.0 / updates);
    else if (config->is_tuned)
        every = clamp(updates, LEAST_EVALUATION_UPDATES, MOST_EVALUATION_UPDATES) / updates;
    drove__choice_add(choice, "eval_every", DROVE_BY_KIND, "%.17g", every);
}

/* ---- rule and schedule ---- */

/* For a linear model of texts, steps of the same size for all features generalise better than
 * AdaGrad's, whose largest ones are those of rare words.  The state of Adam would make each update
 * of wide sparse data a dense one. */
static const char *choose_rule(const drove_problem *problem)
{
    bool is_linear = drove__model_is_linear(problem->model);
    if (is_linear) return is_wide(problem) ? "sgd" : "adagrad";
    return is_wide(problem) ? "adagrad" : "adam";
}

/* A network whose parameters are words keeps the classic length and batch.  The classic rule, plain
 * SGD with a step size of 0.01, lost 1.5 to 3.5 % of MNIST (docs/results/defaults.md). */
static bool finds_lr(const drove_config *config, const drove_problem *problem,
                     const drove_workers *workers)
{
    return workers->loop->core_ops == &drove__engine_fixed &&
           !drove__model_is_linear(problem->model) && !(config->method.lr > 0.0) &&
           !config->asks_classic;
}

static bool is_sgd(const drove_config *config)
{
    return strcmp(config->method.rule, "sgd") == 0;
}

/* One worker's step size, and --lr for as many as there are. */
static void add_lr(drove_choice *choice, const drove_workers *workers, drove_origin origin,
                   double lr)
{
    const double stretch =
        drove__resolve_stretch(workers->plan.ops->needs, workers->plan.n_workers);
    choice->lr_each = lr;
    drove__choice_add(choice, "lr", origin, "%.17g", lr * stretch);
}

drove_status drove__choose_method(const drove_config *config, const drove_problem *problem,
                                  const drove_workers *workers, drove_choice *choice)
{
    const drove_config_method *given = &config->method;
    const bool finds = finds_lr(config, problem, workers);
    const double epochs = config->length.until.epochs;
    const bool has_epochs = isfinite(epochs) && epochs > 0.0;
    unsigned needs = workers->plan.ops->needs;
    if (config->is_tuned || finds) DROVE_TRY(drove__resolve_needs(config, &workers->plan, &needs));
    if (given->rule == NULL) {
        /* Words of a network have the rule that floats would have. */
        const bool is_free = (needs & (DROVE_SYNC_LIVE | DROVE_SYNC_MOMENTUM)) == 0;
        const char *rule = choose_rule(problem);
        if (!finds || !is_free) rule = drove__resolve_rule(config, needs, rule);
        drove__choice_add(choice, "rule", DROVE_BY_KIND, "%s", rule);
    }
    if (given->rule_state == DROVE_RULE_STATE_AUTO) drove__choose_rule_state(config, needs, choice);
    if (given->schedule == NULL) {
        char schedule[DROVE_TEXT_SIZE] = "constant";
        if (!config->is_tuned && !(finds && has_epochs)) drove__resolve_schedule(config, schedule);
        else if (problem->validation != NULL && config->is_tuned)
            snprintf(schedule, sizeof schedule, "plateau");
        else if (has_epochs) snprintf(schedule, sizeof schedule, "cosine:%.17g", epochs);
        drove__choice_add(choice, "schedule", DROVE_BY_KIND, "%s", schedule);
    }
    if (!config->is_tuned && !finds && !(given->lr > 0.0))
        add_lr(choice, workers, DROVE_BY_KIND, drove__resolve_lr(config, 0, 1));
    return DROVE_OK;
}

void drove__choose_rule_state(const drove_config *config, unsigned needs, drove_choice *choice)
{
    const drove_rule_state state = drove__resolve_rule_state(config, needs);
    drove__choice_add(choice, "rule_state", DROVE_BY_KIND, "%s",
                      state == DROVE_RULE_STATE_WORKER ? "worker" : "shared");
}

/* ---- step size ---- */

void drove__choose_stretch(const drove_config *config, const drove_workers *workers,
                           drove_choice *choice)
{
    if (config->chosen.lr > 0.0)
        add_lr(choice, workers, drove__config_origin(config, "lr"), config->chosen.lr);
}

/* Mean squared length of the rows as the model sees them; 0: no sparse rows. */
static double mean_square_length(const drove_problem *problem)
{
    const drove_data *d = problem->train;
    const drove_storage *s = d->storage;
    double sum = 0.0;
    if (s->x_kind != DROVE_X_CSR || s->n_rows == 0) return 0.0;
    for (uint64_t i = s->row_start[0]; i < s->row_start[s->n_rows]; i++) {
        double x = s->value != NULL ? (double)s->value[i] : 1.0;
        if (d->factor != NULL) x *= (double)d->factor[s->index[i]];
        sum += x * x;
    }
    return sum / (double)s->n_rows;
}

/* The hinge of many classes has a scale of its own, the margin of 1, and trials would measure
 * little but how soon each output learns that its class is rare: a step moves the margin of each
 * row in its batch by MARGIN_STEP.  0: this is another model. */
static double lr_of_margin(const drove_config *config, const drove_problem *problem)
{
    bool is_many = problem->model->loss == &drove__loss_hinge && problem->model->n_outputs > 1;
    double length = is_many && is_sgd(config) ? mean_square_length(problem) : 0.0;
    return length > 0.0 ? MARGIN_STEP * (double)drove__resolve_batch(config) / length : 0.0;
}

typedef struct found_lr { /* by one rank */
    drove_trials trials;
    double by_margin; /* 0: trials decide */
} found_lr;

drove_status drove__choose_lr(const drove_config *config, const drove_problem *problem,
                              drove_workers *workers, drove_trials *trials, drove_choice *choice)
{
    const bool finds = finds_lr(config, problem, workers);
    *trials = (drove_trials){0};
    if (!config->is_tuned && !finds) return DROVE_OK;
    /* By the rows' length, or by trials. */
    const drove_until *u = &config->length.until;
    double by_margin = lr_of_margin(config, problem);
    const double epochs = isfinite(u->epochs) ? u->epochs : LEAST_EPOCHS;
    drove_status status = DROVE_OK;
    if (by_margin > 0.0) trials->lr = by_margin;
    else
        status = drove__trials_run(config, problem, workers, config->method.rule, problem->first,
                                   epochs * (double)problem->n_train_whole, trials);
    DROVE_TRY(drove__ranks_agree(workers, status));
    /* The results of all ranks differ where each has examples or a processor of its own; all take
     * those of rank 0, and how it came to them. */
    if (workers->ranks.n > 1) {
        const found_lr mine = {.trials = *trials, .by_margin = by_margin};
        found_lr *all = calloc(workers->ranks.n, sizeof *all);
        if (all == NULL)
            return drove__fail_nomem("messages of the ranks", workers->ranks.n * sizeof *all);
        status = workers->transport->ops->gather(workers->transport, &mine, sizeof mine, all);
        if (status == DROVE_OK) {
            *trials = all[0].trials;
            by_margin = all[0].by_margin;
        }
        free(all);
        DROVE_TRY(status);
    }
    choice->trials = trials;
    if (finds && is_sgd(config) && trials->n_trials == 0) trials->lr = FEW_UPDATES_LR;
    add_lr(choice, workers, by_margin > 0.0 ? DROVE_BY_MARGIN : DROVE_BY_TRIALS, trials->lr);
    return DROVE_OK;
}

void drove__choose_say(const drove_config *config, const drove_callbacks *cb)
{
    const drove_trials *r = &config->chosen.trials;
    const drove_config_method *m = &config->method;
    const drove_origin origin = drove__config_origin(config, "lr");
    char until[DROVE_TEXT_SIZE], how[128] = "the rule's default: too few updates for trials";
    if (drove__config_origin(config, "strategy") == DROVE_BY_PROBE)
        drove__run_say(cb, "chosen: --strategy %s --threads %u (a probe of %.1f s)", m->strategy,
                       config->chosen.probe.rival[config->chosen.probe.chosen].n_threads,
                       config->chosen.probe.seconds);
    if (origin <= DROVE_BY_KIND) return;
    if (config->low.is_low && is_sgd(config))
        snprintf(how, sizeof how, "too few updates for trials");
    if (origin == DROVE_BY_MARGIN)
        snprintf(how, sizeof how, "by the margin and the length of the rows");
    if (origin == DROVE_BY_TRIALS && r->n_trials > 0)
        snprintf(how, sizeof how, "the choice of %u trials of %llu updates, in %.1f s", r->n_trials,
                 (unsigned long long)r->n_steps, r->seconds);
    drove__run_say(cb, "chosen: --rule %s --schedule %s --until %s --lr %.4g (%s)", m->rule,
                   m->schedule, drove__config_text(config, "until", until), m->lr, how);
}
