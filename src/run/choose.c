/* run/choose.c - see choose.h.  The numbers are those of docs/results/defaults.md. */
#include "run/choose.h"

#include "base/mem.h"
#include "base/spec.h"
#include "engine/fixed/engine.h"
#include "model/loss.h"
#include "run/disk.h"
#include "run/exchange.h"
#include "run/trials.h"
#include "run/ranks.h"

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
/* Of a network's words and plain SGD where not even trials fit: cosine takes it to zero. */
static const double FEW_UPDATES_LR = 0.03;

static double clamp(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

void drove__choose_begin(drove_run *run)
{
    run->lr_is_auto = run->opt.lr <= 0.0;
    run->state_is_auto = strcmp(run->opt.rule_state, "auto") == 0;
    run->is_tuned = drove__resolve_is_tuned(&run->opt);
    run->standing.recovers = run->is_tuned;
}

bool drove__choose_is_wide(const drove_storage *storage)
{
    return drove__storage_is_sparse(storage) && storage->n_features >= WIDE_FEATURES;
}

static bool is_wide(const drove_run *run)
{
    return drove__choose_is_wide(run->train->storage);
}

/* A linear model is better at texts than the usual network, and trains in a fraction of its time
 * (docs/results/defaults.md, sector). */
void drove__choose_model(drove_run *run)
{
    if (!run->model_is_auto || !run->is_tuned || run->opt.features[0] != '\0' || !is_wide(run))
        return;
    bool is_value = run->train->storage->y_kind == DROVE_Y_VALUE;
    snprintf(run->opt.model, sizeof run->opt.model, is_value ? "linear" : "logistic");
    drove__run_say(run, "model: %s (wide sparse data; --model names another)", run->opt.model);
}

/* Updates of a linear model of wide sparse data, which gains more from all rows than from an early
 * end; 0: this is none.  Hinges are done sooner: a row beyond its margin changes nothing. */
static double wide_updates(const drove_run *run)
{
    static const struct {
        const char *model;
        double updates;
    } rows[] = {{"logistic", 6000.0}, {"linear", 6000.0}, {"svm", 3000.0}};
    for (size_t i = 0; i < DROVE_COUNT(rows) && is_wide(run); i++) {
        if (strcmp(run->opt.model, rows[i].model) == 0) return rows[i].updates;
    }
    return 0.0;
}

/* ---- lengths ---- */

static double updates_per_epoch(const drove_run *run, size_t n_rows)
{
    return ceil((double)n_rows / (double)run->opt.batch);
}

/* --until auto. */
static void choose_until(drove_run *run)
{
    char *until = run->opt.until;
    size_t n = run->n_train_whole, n_held = n / 10;
    if (!run->is_tuned) {
        snprintf(until, DROVE_TEXT_SIZE, DROVE_UNTIL_CLASSIC);
        return;
    }
    if (n_held > DROVE_MOST_VALIDATION_ROWS) n_held = DROVE_MOST_VALIDATION_ROWS;
    if (run->stream != NULL) n_held = drove__disk_held_rows(run);
    double wanted = run->stream == NULL ? wide_updates(run) : 0.0; /* of all examples in memory */
    if (n_held < LEAST_VALIDATION_ROWS || wanted > 0.0 || drove__ranks_hold_shards(run)) {
        if (wanted == 0.0) wanted = WANTED_BLIND_UPDATES;
        double epochs =
            clamp(ceil(wanted / updates_per_epoch(run, n)), LEAST_EPOCHS, MOST_BLIND_EPOCHS);
        snprintf(until, DROVE_TEXT_SIZE, "epochs=%.0f", epochs);
        return;
    }
    double epochs =
        clamp(ceil(WANTED_UPDATES / updates_per_epoch(run, n - n_held)), LEAST_EPOCHS, MOST_EPOCHS);
    snprintf(until, DROVE_TEXT_SIZE, "validation=%zu,patience=%d,epochs=%.0f", n_held, PATIENCE,
             epochs);
}

/* A target alone may be out of reach: the limits that --until auto has are added to it. */
static drove_status limit_target(drove_run *run)
{
    char given[DROVE_TEXT_SIZE], usual[DROVE_TEXT_SIZE];
    drove_until u;
    DROVE_TRY(drove__until_parse(run->opt.until, &u));
    bool has_limit =
        isfinite(u.epochs) || isfinite(u.seconds) || u.updates != UINT64_MAX || u.patience > 0;
    if (has_limit || drove__resolve_is_classic(&run->opt)) return DROVE_OK;
    memcpy(given, run->opt.until, sizeof given);
    if (run->is_tuned) choose_until(run);
    else snprintf(run->opt.until, sizeof run->opt.until, "epochs=%.0f", MOST_EPOCHS);
    memcpy(usual, run->opt.until, sizeof usual);
    bool holds = strncmp(usual, "validation=", strlen("validation=")) == 0;
    const char *limits = holds && u.validation > 0.0 ? strchr(usual, ',') + 1 : usual;
    int n = snprintf(run->opt.until, sizeof run->opt.until, "%s,%s", given, limits);
    if (n > 0 && (size_t)n < sizeof run->opt.until) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "--until: expected a shorter text, found %zu bytes",
                       strlen(given));
}

/* Of data on disk: what is held out already, or a part of it. */
static drove_status take_kept(drove_run *run, double wanted)
{
    const size_t n = drove__disk_held_rows(run);
    if (n < 2)
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected more --memory, which holds no examples "
                           "besides those that are trained on");
    if (wanted >= (double)n) {
        run->validation = run->kept;
        run->kept = NULL;
        return DROVE_OK;
    }
    return drove__data_hold_out(run->kept, wanted < 1.0 ? 1 : (size_t)wanted, run->opt.seed,
                                &run->validation);
}

/* Moves the examples that --until validation names. */
static drove_status hold_out(drove_run *run)
{
    const drove_until *u = &run->until;
    const size_t n = run->stream != NULL ? run->n_train_whole : run->train->n_rows;
    double wanted = u->validation_is_part ? round(u->validation * (double)n) : u->validation;
    if (u->validation == 0.0) return DROVE_OK;
    if (drove__ranks_hold_shards(run))
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected --shard whole, as ranks with parts of "
                           "their own have no examples in common to hold out");
    if (wanted < 1.0) wanted = 1.0;
    if (wanted >= (double)n)
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected fewer than the %zu training examples, "
                           "found %.0f",
                           n, wanted);
    if (run->stream != NULL) return take_kept(run, wanted);
    DROVE_TRY(drove__data_hold_out(run->train, (size_t)wanted, run->opt.seed, &run->validation));
    run->n_train_whole = run->train->n_rows;
    return DROVE_OK;
}

static void choose_evaluations(drove_run *run)
{
    double updates = updates_per_epoch(run, run->n_train_whole), epochs = run->until.epochs;
    bool decides = run->validation != NULL || wide_updates(run) == 0.0 || !isfinite(epochs);
    if (run->opt.eval_every > 0.0) return;
    if (!run->is_tuned) run->opt.eval_every = drove__resolve_eval_every(&run->opt);
    else if (!decides) run->opt.eval_every = fmax(epochs / BLIND_EVALUATIONS, 1.0 / updates);
    else
        run->opt.eval_every =
            clamp(updates, LEAST_EVALUATION_UPDATES, MOST_EVALUATION_UPDATES) / updates;
}

drove_status drove__choose_lengths(drove_run *run)
{
    run->opt.batch = drove__resolve_batch(&run->opt);
    if (strcmp(run->opt.until, "auto") == 0) choose_until(run);
    else DROVE_TRY(limit_target(run));
    DROVE_TRY(drove__until_parse(run->opt.until, &run->until));
    DROVE_TRY(hold_out(run));
    choose_evaluations(run);
    return DROVE_OK;
}

/* ---- rule and schedule ---- */

/* Of a linear model of texts, steps of the same size for all features generalise better than
 * AdaGrad's, whose largest ones are those of rare words.  The state of Adam would make each update
 * of wide sparse data a dense one. */
static const char *choose_rule(const drove_run *run)
{
    bool is_linear = drove__model_is_linear(run->model);
    if (is_linear) return is_wide(run) ? "sgd" : "adagrad";
    return is_wide(run) ? "adagrad" : "adam";
}

/* A network whose parameters are words keeps the classic length and batch.  The classic rule, plain
 * SGD with a step size of 0.01, lost 1.5 to 3.5 % of MNIST (docs/results/defaults.md). */
static bool finds_lr(const drove_run *run)
{
    return run->loop->core_ops == &drove__engine_fixed && !drove__model_is_linear(run->model) &&
           run->lr_is_auto && strcmp(run->opt.defaults, "classic") != 0;
}

/* Words of a network have the rule that floats would have. */
static const char *rule_for(const drove_run *run, unsigned needs)
{
    const bool is_free = (needs & (DROVE_SYNC_LIVE | DROVE_SYNC_MOMENTUM)) == 0;
    if (run->finds_lr && is_free && strcmp(run->opt.rule, "auto") == 0) return choose_rule(run);
    return drove__resolve_rule(&run->opt, needs, choose_rule(run));
}

static bool is_sgd(const drove_run *run)
{
    return strcmp(run->opt.rule, "sgd") == 0;
}

static bool has_epochs(const drove_run *run)
{
    return isfinite(run->until.epochs) && run->until.epochs > 0.0;
}

static void choose_schedule(drove_run *run)
{
    char schedule[DROVE_TEXT_SIZE];
    if (strcmp(run->opt.schedule, "auto") != 0) return;
    if (!run->is_tuned && !(run->finds_lr && has_epochs(run))) {
        drove__resolve_schedule(&run->opt, schedule);
        memcpy(run->opt.schedule, schedule, sizeof schedule);
    } else if (run->validation != NULL && run->is_tuned) {
        snprintf(run->opt.schedule, sizeof run->opt.schedule, "plateau");
    } else if (has_epochs(run)) {
        snprintf(run->opt.schedule, sizeof run->opt.schedule, "cosine:%.17g", run->until.epochs);
    } else {
        snprintf(run->opt.schedule, sizeof run->opt.schedule, "constant");
    }
}

drove_status drove__choose_method(drove_run *run)
{
    drove_options *opt = &run->opt;
    unsigned needs = run->plan.ops->needs;
    run->finds_lr = finds_lr(run);
    if (run->is_tuned || run->finds_lr) DROVE_TRY(drove__resolve_needs(opt, &run->plan, &needs));
    const char *rule = rule_for(run, needs);
    const char *state = drove__resolve_rule_state(opt, needs);
    choose_schedule(run);
    if (!run->is_tuned && run->lr_is_auto) run->lr_base = drove__resolve_lr(opt, 0, 1);
    if (rule != opt->rule) snprintf(opt->rule, sizeof opt->rule, "%s", rule);
    if (state != opt->rule_state) snprintf(opt->rule_state, sizeof opt->rule_state, "%s", state);
    drove__choose_stretch(run);
    return DROVE_OK;
}

/* ---- step size ---- */

void drove__choose_stretch(drove_run *run)
{
    if (run->lr_is_auto && run->lr_base > 0.0)
        run->opt.lr =
            run->lr_base * drove__resolve_stretch(run->plan.ops->needs, run->plan.n_workers);
}

/* The results of all ranks differ where each has examples or a processor of its own. */
static drove_status take_first(drove_run *run)
{
    if (run->ranks.n <= 1) return DROVE_OK;
    drove_trials *all = calloc(run->ranks.n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", run->ranks.n * sizeof *all);
    drove_status status =
        run->transport->ops->gather(run->transport, &run->trials, sizeof run->trials, all);
    if (status == DROVE_OK) run->trials = all[0];
    free(all);
    return status;
}

/* Mean squared length of the rows as the model sees them; 0: no sparse rows. */
static double mean_square_length(const drove_run *run)
{
    const drove_data *d = run->train;
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
static double lr_of_margin(const drove_run *run)
{
    bool is_many = run->model->loss == &drove__loss_hinge && run->model->n_outputs > 1;
    double length = is_many && is_sgd(run) ? mean_square_length(run) : 0.0;
    return length > 0.0 ? MARGIN_STEP * (double)run->opt.batch / length : 0.0;
}

/* By the rows' length, or by trials. */
static drove_status find_lr(drove_run *run, const float *theta)
{
    double epochs = isfinite(run->until.epochs) ? run->until.epochs : LEAST_EPOCHS;
    double lr = lr_of_margin(run);
    if (lr == 0.0)
        return drove__trials_run(run, run->opt.rule, theta, epochs * (double)run->n_train_whole,
                                 &run->trials);
    run->trials = (drove_trials){.lr = lr, .is_of_margin = true};
    return DROVE_OK;
}

/* A run too short for trials takes the step size of the chosen model's trial runs. */
static void take_searched(drove_run *run)
{
    const drove_candidate_result *chosen = &run->search.candidate[run->search.chosen];
    bool has_own = run->trials.n_trials > 0 || run->trials.is_of_margin;
    if (run->search.n == 0 || chosen->n_tried == 0 || has_own) return;
    run->search.lr = exp(chosen->log_lr);
    run->trials.lr = run->search.lr;
}

drove_status drove__choose_lr(drove_run *run, const float *theta)
{
    if (!run->is_tuned && !run->finds_lr) return DROVE_OK;
    if (run->search.lr > 0.0) {
        run->lr_base = run->search.lr;
        drove__choose_stretch(run);
        return DROVE_OK;
    }
    drove_status status = find_lr(run, theta);
    DROVE_TRY(drove__ranks_agree(run, status));
    DROVE_TRY(take_first(run));
    if (run->finds_lr && is_sgd(run) && run->trials.n_trials == 0) run->trials.lr = FEW_UPDATES_LR;
    take_searched(run);
    run->lr_base = run->trials.lr;
    drove__choose_stretch(run);
    return DROVE_OK;
}

void drove__choose_say(const drove_run *run)
{
    const drove_trials *r = &run->trials;
    const drove_strategy_probe *p = &run->strategy_probe;
    char how[128] = "the rule's default: too few updates for trials";
    if (p->reason == DROVE_STRATEGY_PROBED)
        drove__run_say(run, "chosen: --strategy %s --threads %u (a probe of %.1f s)",
                       run->plan.spec, run->plan.n_workers, p->seconds);
    if (!run->is_tuned && !run->finds_lr) return;
    if (run->finds_lr && is_sgd(run)) snprintf(how, sizeof how, "too few updates for trials");
    if (run->search.lr > 0.0) snprintf(how, sizeof how, "from the chosen model's trial runs");
    if (r->is_of_margin) snprintf(how, sizeof how, "by the margin and the length of the rows");
    if (r->n_trials > 0)
        snprintf(how, sizeof how, "the choice of %u trials of %llu updates, in %.1f s", r->n_trials,
                 (unsigned long long)r->n_steps, r->seconds);
    drove__run_say(run, "chosen: --rule %s --schedule %s --until %s --lr %.4g (%s)", run->opt.rule,
                   run->opt.schedule, run->opt.until, run->opt.lr, how);
}
