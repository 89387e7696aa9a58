/* auto/trials.c - see trials.h.
 *
 * Trials of sparse linear models run beside each other on the threads that the run may have: a
 * trial depends on no other, so the outcome is the same.  Those of networks and dense data do not:
 * their products are a library's, which may sum in another order on a thread of another kind.
 */
#include "auto/trials.h"

#include "base/available.h"
#include "base/mem.h"
#include "model/loss.h"
#include "table/parallel.h"
#include "config/chosen.h"
#include "problem/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 400, LEAST_STEPS = 12 };
/* Multiply-adds of all trials: below ten seconds on one core of 5e9 a second. */
static const double MOST_WORK = 4e10;
/* A parameter's update moves its bytes; its cost in multiply-adds, for each vector read. */
static const double UPDATE_WORK = 4.0;

/* Step sizes of the trials: from `least` in factors of the root of 10; `usual` without trials.  A
 * rule whose steps do not shrink by themselves is better off with a smaller one than the best of so
 * few updates: tolerance, as a part of the best trial's progress. */
typedef struct grid {
    const char *rule;
    double least, usual, tolerance;
    unsigned n;
} grid;

static const grid grids[] = {
    {"adam", 1e-4, 1e-3, 0.05, 6},     {"rmsprop", 1e-4, 1e-3, 0.05, 6},
    {"adamw", 1e-4, 1e-3, 0.05, 6},    {"muon", 1e-4, 1e-3, 0.05, 6},
    {"adagrad", 1e-3, 0.1, 0.005, 9},  {"cocob", 1.0, 1.0, 0.0, 0},
    {"momentum", 1e-5, 0.01, 0.05, 9}, {"nesterov", 1e-5, 0.01, 0.05, 9},
    {"sgd", 1e-4, 0.01, 0.05, 12},
};

static const grid *grid_of(const char *rule)
{
    size_t n = strcspn(rule, ":?"), i = 0;
    while (i + 1 < DROVE_COUNT(grids) &&
           (strlen(grids[i].rule) != n || strncmp(grids[i].rule, rule, n) != 0))
        i++;
    return &grids[i];
}

/* ---- how long ---- */

/* Examples of an update: of all workers together, if --global-batch says so. */
static size_t update_rows(const drove_config *config, const drove_problem *problem)
{
    const uint64_t rows = config->method.global_batch, n = problem->train->n_rows;
    if (rows == 0) return drove__update_rows(config, problem);
    return (size_t)(rows < n ? rows : n);
}

/* Multiply-adds of one step of `rows` examples. */
static double work_of_step(const drove_problem *problem, const drove_optim *optim, double rows)
{
    const drove_model *m = problem->model;
    drove_data_facts facts;
    double sum = 0.0, touched = 1.0;
    drove_data_describe(problem->train, &facts);
    double density =
        (double)facts.n_stored / ((double)facts.n_rows * (double)facts.n_features + 1.0);
    for (size_t l = 0; l < m->n_layers; l++) {
        double each = (double)drove__layer_multiply_adds(&m->layer[l]);
        sum += l == 0 && density < 1.0 ? each * density : each;
    }
    if (optim->spans_ok) touched = fmin(density * rows, 1.0);
    double of_rule = 0.0;
    for (size_t i = 0; i < optim->n_matrices; i++) of_rule += drove__muon_work(&optim->matrix[i]);
    return of_rule + 3.0 * sum * rows + UPDATE_WORK * touched * (double)optim->n_vector;
}

static uint64_t steps_of_trial(const drove_config *config, const drove_problem *problem,
                               const drove_optim *optim, unsigned n_trials, double n_examples)
{
    double rows = (double)update_rows(config, problem);
    double by_run = 0.1 * n_examples / rows,
           by_work = MOST_WORK / work_of_step(problem, optim, rows);
    if (n_trials == 0) return 0; /* the rule has no step size to choose */
    double each = fmin(by_run, by_work) / n_trials;
    if (each < LEAST_STEPS) return 0;
    return each < MOST_STEPS ? (uint64_t)each : MOST_STEPS;
}

/* ---- one trial ---- */

typedef struct trial_set trial_set;

typedef struct bench { /* for the trials of one thread, one after the other */
    const trial_set *of;
    bool is_made; /* with or without success */
    drove_engine *engine;
    float *vector; /* [n_vector] */
    float *grad;   /* [n_params] */
    uint32_t *row; /* [batch] */
    drove_order order;
} bench;

enum { MOST_BENCHES = 4 };

struct trial_set { /* all trials; an item is a trial */
    const drove_config *config;
    const drove_problem *problem;
    const drove_workers *workers;
    const char *rule;
    const float *theta;
    size_t n_vector;
    drove_trials *out;
    bench bench[MOST_BENCHES]; /* of each thread */
    double loss_first[DROVE_MOST_TRIALS];
    drove_status status[DROVE_MOST_TRIALS];
    char error[DROVE_MOST_TRIALS][DROVE_ERROR_TEXT_SIZE];
};

/* One update; *loss: of its batch, before it. */
static drove_status step(bench *b, const drove_optim *optim, drove_optim_worker *w,
                         drove_order_cursor *cursor, uint64_t number, double *loss)
{
    const drove_task task = {.number = number};
    drove_batch batch = {.data = b->of->problem->train, .row = b->row, .number = number};
    drove_gradient grad = {.value = b->grad, .spans_wanted = optim->spans_ok};
    drove_work_done done = {0};
    drove_step made;
    batch.n_rows = drove__order_rows(&b->order, cursor, &task, b->row);
    const drove_work work = {.batch = &batch,
                             .theta = drove__optim_theta(optim, w, b->vector),
                             .grad = &grad};
    DROVE_TRY(drove__engine_do(&drove__engine_host, b->engine, &work, UINT64_MAX, &done));
    *loss = done.score.loss / (double)done.score.n_rows;
    drove__optim_prepare(optim, w, b->vector, b->grad, grad.span, grad.n_spans, optim->lr, &made);
    drove__optim_apply(optim, &made, 0, number + 1, 0, optim->n, b->vector, b->vector);
    return DROVE_OK;
}

static drove_status make_optim(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const char *rule, double lr,
                               drove_optim **out)
{
    drove_weight_matrix *matrix = calloc(problem->model->n_layers, sizeof *matrix);
    if (matrix == NULL)
        return drove__fail_nomem("matrices", problem->model->n_layers * sizeof *matrix);
    drove_optim_options opt = {.rule = rule,
                               .schedule = "constant",
                               .lr = lr,
                               .weight_decay = config->method.weight_decay,
                               .clip = config->method.clip,
                               .state = DROVE_STATE_SHARED,
                               .n_params = problem->model->n_params,
                               .n_workers = 1,
                               .kernels = &workers->kernels};
    opt.matrix = matrix;
    opt.n_matrices = drove__model_matrices(problem->model, matrix);
    drove_status status = drove__optim_create(&opt, out);
    free(matrix);
    return status;
}

static drove_status run_trial(bench *b, const char *rule, const float *theta, uint64_t n_steps,
                              drove_trial *trial, double *loss_first)
{
    drove_optim *optim;
    DROVE_TRY(make_optim(b->of->config, b->of->problem, b->of->workers, rule, trial->lr, &optim));
    memset(b->vector, 0, optim->n_vector * sizeof *b->vector);
    memcpy(b->vector, theta, optim->n * sizeof *b->vector);
    /* Its loss: the mean over the last third of the batches, each scored before its update. */
    drove_optim_worker w;
    drove_order_cursor cursor;
    drove_status status = drove__optim_worker_init(&w, optim);
    uint64_t first = n_steps - n_steps / 3;
    double sum = 0.0, loss = 0.0;
    drove__order_cursor_init(&cursor);
    for (uint64_t i = 0; i < n_steps && isfinite(loss) && status == DROVE_OK; i++) {
        status = step(b, optim, &w, &cursor, i, &loss);
        if (i == 0) *loss_first = loss;
        if (i >= first) sum += loss;
    }
    drove__optim_worker_fini(&w);
    trial->loss = isfinite(loss) ? sum / (double)(n_steps - first) : INFINITY;

    drove__optim_destroy(optim);
    return status;
}

/* ---- all of them ---- */

static drove_status bench_init(bench *b, const trial_set *all)
{
    const size_t rows = update_rows(all->config, all->problem);
    *b = (bench){.of = all,
                 .is_made = true,
                 .order = drove__order_make(all->problem->train->n_rows, rows, all->config->seed,
                                            DROVE_ORDER_SHUFFLE)};
    b->vector = drove__alloc(all->n_vector, sizeof *b->vector);
    b->grad = drove__alloc(all->problem->model->n_params, sizeof *b->grad);
    b->row = drove__alloc(rows, sizeof *b->row);
    if (b->vector == NULL || b->grad == NULL || b->row == NULL)
        return drove__fail_nomem("trials of step sizes", all->n_vector * sizeof *b->vector);
    const drove_engine_options opt = {.model = all->problem->model,
                                      .kernels = &all->workers->kernels,
                                      .data = all->problem->train,
                                      .max_rows = rows,
                                      .seed = all->config->seed};
    return drove__engine_host.create(&opt, &b->engine);
}

double drove__trials_choose(const drove_trial *trial, unsigned n, double loss_first,
                            double tolerance)
{
    double best = INFINITY;
    for (unsigned i = 0; i < n; i++) best = fmin(best, trial[i].loss);
    if (!isfinite(best)) return trial[0].lr;
    for (unsigned i = 0; i < n; i++)
        if (trial[i].loss <= best + tolerance * fmax(loss_first - best, 0.0)) return trial[i].lr;
    return trial[0].lr;
}

/* By any thread, with a bench of its own; its floating-point mode is that of the thread that began
 * it. */
static void run_item(void *context, size_t item, unsigned thread)
{
    trial_set *all = context;
    bench *b = &all->bench[thread];
    drove_status status = DROVE_OK;
    if (!b->is_made) status = bench_init(b, all);
    if (status == DROVE_OK && b->engine == NULL)
        status = drove__fail_nomem("trials of step sizes", all->n_vector * sizeof *b->vector);
    if (status == DROVE_OK)
        status = run_trial(b, all->rule, all->theta, all->out->n_steps, &all->out->trial[item],
                           &all->loss_first[item]);
    all->status[item] = status;
    if (status != DROVE_OK) drove__error_copy(all->error[item]);
}

/* As many as have room for their vectors, in a quarter of the memory that is free. */
static unsigned threads_of_trials(const drove_problem *problem, const drove_workers *workers,
                                  size_t n_vector)
{
    bool is_apart =
        drove__model_is_linear(problem->model) && drove__storage_is_sparse(problem->train->storage);
    double each = (double)(n_vector + problem->model->n_params) * sizeof(float);
    double room = 0.25 * (double)drove__memory_available();
    unsigned n = workers->plan.n_asked < MOST_BENCHES ? workers->plan.n_asked : MOST_BENCHES;
    if (!is_apart || n == 0) return 1;
    while (n > 1 && each * n > room) n--;
    return n;
}

drove_status drove__trials_run(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const char *rule, const float *theta,
                               double n_examples, drove_trials *out)
{
    const grid *g = grid_of(rule);
    drove_optim *optim;
    uint64_t begun_ns = drove__clock_now(workers->loop->clock);
    DROVE_TRY(make_optim(config, problem, workers, rule, g->usual, &optim));
    *out = (drove_trials){.lr = g->usual,
                          .n_steps = steps_of_trial(config, problem, optim, g->n, n_examples)};
    size_t n_vector = optim->n_vector;
    drove__optim_destroy(optim);
    if (out->n_steps == 0) return DROVE_OK;
    trial_set *all = calloc(1, sizeof *all);
    if (all == NULL) return drove__fail_nomem("trials of step sizes", sizeof *all);
    *all = (trial_set){.config = config,
                       .problem = problem,
                       .workers = workers,
                       .rule = rule,
                       .theta = theta,
                       .n_vector = n_vector,
                       .out = out};
    drove_status status = DROVE_OK;
    for (unsigned i = 0; i < g->n; i++) out->trial[i].lr = g->least * pow(10.0, 0.5 * i);
    drove__table_run(threads_of_trials(all->problem, all->workers, all->n_vector), g->n, run_item,
                     all);
    for (unsigned i = 0; i < g->n; i++)
        if (all->status[i] != DROVE_OK) {
            status = drove__fail(all->status[i], "%s", all->error[i]);
            goto fail;
        }
    out->n_trials = g->n;
    double before = all->loss_first[0]; /* progress counts from it, or from the constant guess */
    const drove_loss_ops *loss = problem->model->loss;
    if (loss->constant != NULL && problem->target_mean != NULL)
        before =
            fmin(before, loss->constant(problem->target_mean, problem->train->storage->n_classes));
    out->lr = drove__trials_choose(out->trial, g->n, before, g->tolerance);
fail:
    for (unsigned i = 0; i < MOST_BENCHES; i++)
        if (all->bench[i].is_made) {
            if (all->bench[i].engine != NULL) drove__engine_host.destroy(all->bench[i].engine);
            drove__free(all->bench[i].vector);
            drove__free(all->bench[i].grad);
            drove__free(all->bench[i].row);
        }
    free(all);
    out->seconds = (double)(drove__clock_now(workers->loop->clock) - begun_ns) * 1e-9;
    return status;
}

drove_status drove__trials_step_work(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers, double *out)
{
    drove_optim *optim;
    DROVE_TRY(make_optim(config, problem, workers, config->method.rule, config->method.lr, &optim));
    *out = work_of_step(problem, optim, (double)drove__update_rows(config, problem));
    drove__optim_destroy(optim);
    return DROVE_OK;
}
