/* auto/choose.c - see choose.h.  The numbers are those of docs/results/defaults.md. */
#include "auto/choose.h"

#include "base/mem.h"
#include "base/spec.h"
#include "engine/fixed/engine.h"
#include "model/loss.h"
#include "config/exchange.h"
#include "values/chosen.h"
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
enum { LEAST_VALIDATION_ROWS = 20, PATIENCE = 4 };
static const size_t WIDE_FEATURES = 4096; /* of sparse data */
static const double MARGIN_STEP = 0.3;
/* A network's words and plain SGD where not even trials fit: cosine takes it to zero. */
static const double FEW_UPDATES_LR = 0.03;

static double clamp(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

void drove__choose_begin(drove_config *config, drove_state *state)
{
    config->is_tuned = drove__resolve_is_tuned(&config->opt);
    state->standing.recovers = config->is_tuned;
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
 * (docs/results/defaults.md, sector). */
void drove__choose_model(drove_config *config, const drove_problem *problem)
{
    if (!config->model_is_auto || !config->is_tuned || config->opt.features[0] != '\0' ||
        !is_wide(problem))
        return;
    bool is_value = problem->train->storage->y_kind == DROVE_Y_VALUE;
    snprintf(config->opt.model, sizeof config->opt.model, is_value ? "linear" : "logistic");
    drove__run_say(config, "model: %s (wide sparse data; --model names another)",
                   config->opt.model);
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
        if (strcmp(config->opt.model, rows[i].model) == 0) return rows[i].updates;
    }
    return 0.0;
}

/* ---- lengths ---- */

static double updates_per_epoch(const drove_config *config, size_t n_rows)
{
    return ceil((double)n_rows / (double)config->opt.batch);
}

/* --until auto. */
static void choose_until(drove_config *config, const drove_problem *problem,
                         const drove_workers *workers)
{
    char *until = config->opt.until;
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

/* Moves the examples that --until validation names. */
static drove_status hold_out(const drove_config *config, drove_problem *problem,
                             const drove_workers *workers)
{
    const drove_until *u = &config->until;
    const size_t n = problem->stream != NULL ? problem->n_train_whole : problem->train->n_rows;
    double wanted = u->validation_is_part ? round(u->validation * (double)n) : u->validation;
    if (u->validation == 0.0) return DROVE_OK;
    if (drove__ranks_hold_shards(config, workers))
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected --shard whole, as ranks with parts of "
                           "their own have no examples in common to hold out");
    if (wanted < 1.0) wanted = 1.0;
    if (wanted >= (double)n)
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected fewer than the %zu training examples, "
                           "found %.0f",
                           n, wanted);
    if (problem->stream != NULL) {
        /* Data on disk: a part of the examples that are held out already, or all of them. */
        const size_t n_kept = drove__disk_held_rows(problem);
        if (n_kept < 2)
            return drove__fail(
                DROVE_E_ARG, "--until validation: expected more --memory, which holds no examples "
                             "besides those that are trained on");
        if (wanted >= (double)n_kept) {
            problem->validation = problem->kept;
            problem->kept = NULL;
            return DROVE_OK;
        }
        return drove__data_hold_out(problem->kept, wanted < 1.0 ? 1 : (size_t)wanted,
                                    config->opt.seed, &problem->validation);
    }
    DROVE_TRY(drove__data_hold_out(problem->train, (size_t)wanted, config->opt.seed,
                                   &problem->validation));
    problem->n_train_whole = problem->train->n_rows;
    return DROVE_OK;
}

drove_status drove__choose_lengths(drove_config *config, drove_problem *problem,
                                   const drove_workers *workers)
{
    config->opt.batch = drove__resolve_batch(&config->opt);
    if (config->words.until_is_auto) choose_until(config, problem, workers);
    else {
        /* A target alone may be out of reach: the limits that --until auto has are added to it. */
        char given[DROVE_TEXT_SIZE], usual[DROVE_TEXT_SIZE];
        drove_until u;
        DROVE_TRY(drove__until_parse(config->opt.until, &u));
        bool has_limit =
            isfinite(u.epochs) || isfinite(u.seconds) || u.updates != UINT64_MAX || u.patience > 0;
        if (!has_limit && !drove__resolve_is_classic(&config->opt)) {
            memcpy(given, config->opt.until, sizeof given);
            if (config->is_tuned) choose_until(config, problem, workers);
            else snprintf(config->opt.until, sizeof config->opt.until, "epochs=%.0f", MOST_EPOCHS);
            memcpy(usual, config->opt.until, sizeof usual);
            bool holds = strncmp(usual, "validation=", strlen("validation=")) == 0;
            const char *limits = holds && u.validation > 0.0 ? strchr(usual, ',') + 1 : usual;
            int n = snprintf(config->opt.until, sizeof config->opt.until, "%s,%s", given, limits);
            if (n <= 0 || (size_t)n >= sizeof config->opt.until)
                return drove__fail(DROVE_E_ARG, "--until: expected a shorter text, found %zu bytes",
                                   strlen(given));
        }
    }
    DROVE_TRY(drove__until_parse(config->opt.until, &config->until));
    DROVE_TRY(hold_out(config, problem, workers));
    double updates = updates_per_epoch(config, problem->n_train_whole),
           epochs = config->until.epochs;
    bool decides =
        problem->validation != NULL || wide_updates(config, problem) == 0.0 || !isfinite(epochs);
    if (!(config->opt.eval_every > 0.0)) {
        if (!config->is_tuned) config->opt.eval_every = drove__resolve_eval_every(&config->opt);
        else if (!decides) config->opt.eval_every = fmax(epochs / BLIND_EVALUATIONS, 1.0 / updates);
        else
            config->opt.eval_every =
                clamp(updates, LEAST_EVALUATION_UPDATES, MOST_EVALUATION_UPDATES) / updates;
    }
    return DROVE_OK;
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
           !drove__model_is_linear(problem->model) && config->words.lr_is_auto &&
           !config->words.is_classic;
}

static bool is_sgd(const drove_config *config)
{
    return drove__words_rule_is_sgd(&config->opt);
}

static bool has_epochs(const drove_config *config)
{
    return isfinite(config->until.epochs) && config->until.epochs > 0.0;
}

drove_status drove__choose_method(drove_config *config, const drove_problem *problem,
                                  const drove_workers *workers)
{
    drove_options *opt = &config->opt;
    unsigned needs = workers->plan.ops->needs;
    config->finds_lr = finds_lr(config, problem, workers);
    if (config->is_tuned || config->finds_lr)
        DROVE_TRY(drove__resolve_needs(opt, &workers->plan, &needs));
    /* Words of a network have the rule that floats would have. */
    const bool is_free = (needs & (DROVE_SYNC_LIVE | DROVE_SYNC_MOMENTUM)) == 0;
    const char *rule = choose_rule(problem);
    if (!config->finds_lr || !is_free || !config->words.rule_is_auto)
        rule = drove__resolve_rule(opt, needs, rule);
    const char *state = drove__resolve_rule_state(opt, needs);
    char schedule[DROVE_TEXT_SIZE];
    if (config->words.schedule_is_auto) {
        if (!config->is_tuned && !(config->finds_lr && has_epochs(config))) {
            drove__resolve_schedule(&config->opt, schedule);
            memcpy(config->opt.schedule, schedule, sizeof schedule);
        } else if (problem->validation != NULL && config->is_tuned) {
            snprintf(config->opt.schedule, sizeof config->opt.schedule, "plateau");
        } else if (has_epochs(config)) {
            snprintf(config->opt.schedule, sizeof config->opt.schedule, "cosine:%.17g",
                     config->until.epochs);
        } else {
            snprintf(config->opt.schedule, sizeof config->opt.schedule, "constant");
        }
    }
    if (!config->is_tuned && config->words.lr_is_auto)
        config->lr_base = drove__resolve_lr(opt, 0, 1);
    if (rule != opt->rule) snprintf(opt->rule, sizeof opt->rule, "%s", rule);
    if (state != opt->rule_state) snprintf(opt->rule_state, sizeof opt->rule_state, "%s", state);
    drove__choose_stretch(config, workers);
    return DROVE_OK;
}

/* ---- step size ---- */

void drove__choose_stretch(drove_config *config, const drove_workers *workers)
{
    if (config->words.lr_is_auto && config->lr_base > 0.0)
        config->opt.lr = config->lr_base *
                         drove__resolve_stretch(workers->plan.ops->needs, workers->plan.n_workers);
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
    return length > 0.0 ? MARGIN_STEP * (double)config->opt.batch / length : 0.0;
}

drove_status drove__choose_lr(drove_run *run, const float *theta)
{
    if (!run->config.is_tuned && !run->config.finds_lr) return DROVE_OK;
    if (run->config.search.lr > 0.0) {
        run->config.lr_base = run->config.search.lr;
        drove__choose_stretch(&run->config, &run->workers);
        return DROVE_OK;
    }
    /* By the rows' length, or by trials. */
    const double lr = lr_of_margin(&run->config, &run->problem);
    const double epochs =
        isfinite(run->config.until.epochs) ? run->config.until.epochs : LEAST_EPOCHS;
    drove_status status = DROVE_OK;
    if (lr != 0.0) run->config.trials = (drove_trials){.lr = lr, .is_of_margin = true};
    else
        status = drove__trials_run(&run->config, &run->problem, &run->workers, run->config.opt.rule,
                                   theta, epochs * (double)run->problem.n_train_whole,
                                   &run->config.trials);
    DROVE_TRY(drove__ranks_agree(&run->config, &run->workers, &run->state, status));
    /* The results of all ranks differ where each has examples or a processor of its own. */
    if (run->workers.ranks.n > 1) {
        drove_trials *all = calloc(run->workers.ranks.n, sizeof *all);
        if (all == NULL)
            return drove__fail_nomem("messages of the ranks", run->workers.ranks.n * sizeof *all);
        status = run->workers.transport->ops->gather(run->workers.transport, &run->config.trials,
                                                     sizeof run->config.trials, all);
        if (status == DROVE_OK) run->config.trials = all[0];
        free(all);
        DROVE_TRY(status);
    }
    if (run->config.finds_lr && is_sgd(&run->config) && run->config.trials.n_trials == 0)
        run->config.trials.lr = FEW_UPDATES_LR;
    /* A run too short for trials takes the step size of the chosen model's trial runs. */
    const drove_candidate_result *chosen = &run->config.search.candidate[run->config.search.chosen];
    bool has_own = run->config.trials.n_trials > 0 || run->config.trials.is_of_margin;
    if (run->config.search.n != 0 && chosen->n_tried != 0 && !has_own) {
        run->config.search.lr = exp(chosen->log_lr);
        run->config.trials.lr = run->config.search.lr;
    }
    run->config.lr_base = run->config.trials.lr;
    drove__choose_stretch(&run->config, &run->workers);
    return DROVE_OK;
}

void drove__choose_say(const drove_config *config, const drove_workers *workers)
{
    const drove_trials *r = &config->trials;
    const drove_strategy_probe *p = &config->strategy_probe;
    char how[128] = "the rule's default: too few updates for trials";
    if (p->reason == DROVE_STRATEGY_PROBED)
        drove__run_say(config, "chosen: --strategy %s --threads %u (a probe of %.1f s)",
                       workers->plan.spec, workers->plan.n_workers, p->seconds);
    if (!config->is_tuned && !config->finds_lr) return;
    if (config->finds_lr && is_sgd(config)) snprintf(how, sizeof how, "too few updates for trials");
    if (config->search.lr > 0.0) snprintf(how, sizeof how, "from the chosen model's trial runs");
    if (r->is_of_margin) snprintf(how, sizeof how, "by the margin and the length of the rows");
    if (r->n_trials > 0)
        snprintf(how, sizeof how, "the choice of %u trials of %llu updates, in %.1f s", r->n_trials,
                 (unsigned long long)r->n_steps, r->seconds);
    drove__run_say(config, "chosen: --rule %s --schedule %s --until %s --lr %.4g (%s)",
                   config->opt.rule, config->opt.schedule, config->opt.until, config->opt.lr, how);
}
