/* pack/unit.c - see unit.h. */
#include "pack/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "optim/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCORED_ROWS = 512,     /* at a time */
    LEAST_LOOK_STEPS = 40, /* between two evaluations, in whole epochs */
    PATIENCE = 6,          /* evaluations */
    LEAST_FALLING_STEPS = 300,
    CLOCK_STEPS = 16 /* between two looks at the clock, and for a request to end */
};
static const double CLIP = 1.0;    /* norm of a gradient: a far target is one step */
static const double FLAT = 0.5;    /* of a budget of time, before the step size falls */
static const double FALLING = 0.8; /* steps of a size that falls, for each before */
static const double LEAST_PROGRESS = 0.001;

typedef struct trainer {
    const drove_unit_task *task;
    drove_judge judge;
    drove_engine *engine;
    drove_optim *optim;
    drove_optim_worker worker;
    float *vector, *grad;            /* [n_vector], [n_params] */
    float *output;                   /* [n_held][n_outputs] */
    double *loss, *weight, *scratch; /* [n_held] */
    uint32_t *row;                   /* [batch] */
    uint64_t n_steps, per_epoch, best_step;
    unsigned n_worse;
    double wanted_loss;                      /* that counts as better */
    uint64_t begun_ns, fall_from, n_falling; /* n_falling 0: the step size does not fall yet */
    /* behind it, 1 once it is over; when the step size began to fall */
    double part_of_time, fall_time;
    float eta;
} trainer;

static drove_status make_optim(const drove_unit_task *t, drove_optim **out)
{
    const drove_optim_options opt = {.rule = "adamw",
                                     .schedule = "constant",
                                     .lr = t->member->lr,
                                     .weight_decay = t->member->decay,
                                     .clip = CLIP,
                                     .state = DROVE_STATE_SHARED,
                                     .n_params = t->model->n_params,
                                     .n_workers = 1,
                                     .kernels = t->kernels};
    return drove__optim_create(&opt, out);
}

static drove_status trainer_init(trainer *r, const drove_unit_task *t)
{
    const size_t n_held = t->n_held, n_outputs = t->model->n_outputs;
    *r = (trainer){.task = t, .wanted_loss = INFINITY};
    (void)drove__judge_init(&r->judge, t->data, t->model);
    DROVE_TRY(make_optim(t, &r->optim));
    DROVE_TRY(drove__optim_worker_init(&r->worker, r->optim));
    r->vector = drove__alloc(r->optim->n_vector, sizeof *r->vector);
    r->grad = drove__alloc(t->model->n_params, sizeof *r->grad);
    r->output = drove__alloc(n_held * n_outputs, sizeof *r->output);
    r->loss = drove__alloc(3 * n_held, sizeof *r->loss);
    r->row = drove__alloc(t->batch + SCORED_ROWS, sizeof *r->row);
    if (r->vector == NULL || r->grad == NULL || r->output == NULL || r->loss == NULL ||
        r->row == NULL)
        return drove__fail_nomem("a member of the pack", r->optim->n_vector * sizeof *r->vector);
    r->weight = r->loss + n_held;
    r->scratch = r->weight + n_held;
    for (size_t i = 0; i < n_held; i++) r->weight[i] = drove__judge_weight(&r->judge, t->held[i]);
    const drove_engine_options opt = {.model = t->model,
                                      .kernels = t->kernels,
                                      .data = t->data,
                                      .max_rows = t->batch > SCORED_ROWS ? t->batch : SCORED_ROWS,
                                      .rows = t->batch,
                                      .seed = t->seed};
    DROVE_TRY(drove__engine_host.create(&opt, &r->engine));
    return drove__model_init(t->model, "", t->seed, r->vector);
}

static void trainer_fini(trainer *r)
{
    if (r->engine != NULL) drove__engine_host.destroy(r->engine);
    if (r->optim != NULL) drove__optim_worker_fini(&r->worker);
    drove__optim_destroy(r->optim);
    drove__free(r->vector);
    drove__free(r->grad);
    drove__free(r->output);
    drove__free(r->loss);
    drove__free(r->row);
}

/* The step size: while it falls, by the steps, or by the time where that is short. */
static float step_size(trainer *r)
{
    const drove_unit_task *t = r->task;
    const double most = t->seconds;
    if (r->n_steps % CLOCK_STEPS == 0) {
        if (most > 0.0) r->part_of_time = (double)(drove__now_ns() - r->begun_ns) * 1e-9 / most;
        if (t->is_over(t->context)) r->part_of_time = 1.0;
    }
    if (r->n_falling == 0) return r->eta;
    double at = (double)(r->n_steps - r->fall_from) / (double)r->n_falling;
    if (most > 0.0) at = fmax(at, (r->part_of_time - r->fall_time) / (1.0 - r->fall_time));
    return (float)((double)r->eta * 0.5 * (1.0 + cos(M_PI * fmin(at, 1.0))));
}

static drove_status step(trainer *r, const uint64_t *position, size_t n)
{
    const drove_unit_task *t = r->task;
    drove_gradient grad = {.value = r->grad, .spans_wanted = r->optim->spans_ok};
    drove_work_done done = {0};
    drove_step made;
    const float eta = step_size(r);
    for (size_t i = 0; i < n; i++) r->row[i] = t->trained[position[i]];
    const drove_batch batch = {.data = t->data, .row = r->row, .n_rows = n, .number = r->n_steps};
    const drove_work work = {.batch = &batch, .theta = r->vector, .grad = &grad};
    DROVE_TRY(drove__engine_do(&drove__engine_host, r->engine, &work, UINT64_MAX, &done));
    drove__optim_prepare(r->optim, &r->worker, r->vector, r->grad, grad.span, grad.n_spans, eta,
                         &made);
    drove__optim_apply(r->optim, &made, 0, ++r->n_steps, 0, r->optim->n, r->vector, r->vector);
    return DROVE_OK;
}

/* The steps of an epoch. */
static drove_status train_epoch(trainer *r, uint64_t epoch)
{
    const drove_unit_task *t = r->task;
    uint64_t position[DROVE_PACK_MOST_BATCH];
    drove_permutation order;
    drove__permutation_init(&order, t->n_trained, t->seed, epoch);
    for (size_t at = 0; at < t->n_trained && r->part_of_time < 1.0;) {
        const size_t left = t->n_trained - at, n = left < t->batch ? left : t->batch;
        drove__permutation_run(&order, at, n, position);
        DROVE_TRY(step(r, position, n));
        at += n;
    }
    return DROVE_OK;
}

/* r->output and the mean loss of the held rows. */
static drove_status evaluate(trainer *r, double *loss)
{
    const drove_unit_task *t = r->task;
    const size_t n_outputs = t->model->n_outputs;
    for (size_t at = 0; at < t->n_held;) {
        const size_t left = t->n_held - at, n = left < SCORED_ROWS ? left : SCORED_ROWS;
        const drove_batch batch = {.data = t->data, .row = t->held + at, .n_rows = n};
        float *z = r->output + at * n_outputs;
        DROVE_TRY(drove__engine_host.predict(r->engine, r->vector, &batch, z));
        drove__judge_outputs(&r->judge, z, n * n_outputs);
        for (size_t i = 0; i < n; i++)
            r->loss[at + i] = drove__judge_row(&r->judge, t->held[at + i], z + i * n_outputs);
        at += n;
    }
    *loss = drove__judge_mean(&r->judge, r->loss, r->weight, t->n_held, r->scratch);
    return DROVE_OK;
}

/* Evaluates; keeps the parameters if they are the best so far. */
static drove_status look(trainer *r, drove_unit *out)
{
    const drove_unit_task *t = r->task;
    double loss;
    DROVE_TRY(evaluate(r, &loss));
    if (!isfinite(loss)) loss = INFINITY;
    r->n_worse = loss < r->wanted_loss ? 0 : r->n_worse + 1;
    r->wanted_loss = fmin(r->wanted_loss, loss * (1.0 - LEAST_PROGRESS));
    if (!(loss < out->loss)) return DROVE_OK;
    out->loss = loss;
    out->epochs = (double)r->n_steps / (double)r->per_epoch;
    r->best_step = r->n_steps;
    memcpy(out->theta, r->vector, t->model->n_params * sizeof *out->theta);
    memcpy(out->output, r->output, t->n_held * t->model->n_outputs * sizeof *out->output);
    return DROVE_OK;
}

static bool is_over(const trainer *r)
{
    return r->part_of_time >= 1.0 || r->task->is_over(r->task->context);
}

/* Steps of one size until nothing gets better; then, from the best parameters, steps that become
 * smaller to zero. */
static drove_status train(trainer *r, drove_unit *out)
{
    const drove_unit_task *t = r->task;
    const uint64_t n_flat = t->n_steps > 1 ? t->n_steps / 2 : 1;
    uint64_t epoch = 0;
    r->begun_ns = drove__now_ns();
    r->per_epoch = (t->n_trained + t->batch - 1) / t->batch;
    /* Epochs between two evaluations: of few that are asked for no more than a half. */
    const uint64_t usual = (LEAST_LOOK_STEPS + r->per_epoch - 1) / r->per_epoch;
    const uint64_t half = (n_flat + r->per_epoch - 1) / r->per_epoch,
                   each = usual < half ? usual : half;
    r->eta = (float)t->member->lr;
    while (r->n_steps < n_flat && r->part_of_time < FLAT && r->n_worse < PATIENCE && !is_over(r)) {
        for (uint64_t i = 0; i < each; i++) DROVE_TRY(train_epoch(r, epoch++));
        DROVE_TRY(look(r, out));
    }
    if (!isfinite(out->loss)) return DROVE_OK;
    memcpy(r->vector, out->theta, t->model->n_params * sizeof *out->theta);
    const double left = fmax(FALLING * (double)r->best_step, LEAST_FALLING_STEPS);
    r->fall_from = r->n_steps;
    const uint64_t n_left = t->n_steps > r->n_steps ? t->n_steps - r->n_steps : 0;
    r->n_falling = left < (double)n_left ? (uint64_t)left : n_left;
    if (r->n_falling == 0) return DROVE_OK;
    r->fall_time = r->part_of_time;
    while (r->n_steps < r->fall_from + r->n_falling && !is_over(r)) {
        for (uint64_t i = 0; i < each; i++) DROVE_TRY(train_epoch(r, epoch++));
        DROVE_TRY(look(r, out));
    }
    return DROVE_OK;
}

drove_status drove__unit_train(const drove_unit_task *task, drove_unit *out)
{
    trainer r;
    const size_t n_params = task->model->n_params, n = task->n_held * task->model->n_outputs;
    *out = (drove_unit){.loss = INFINITY,
                        .theta = drove__alloc(n_params, sizeof *out->theta),
                        .output = drove__alloc(n, sizeof *out->output)};
    if (out->theta == NULL || out->output == NULL) {
        drove__unit_fini(out);
        return drove__fail_nomem("a member of the pack", (n_params + n) * sizeof *out->theta);
    }
    drove_status status = trainer_init(&r, task);
    if (status == DROVE_OK) status = train(&r, out);
    trainer_fini(&r);
    if (status != DROVE_OK) drove__unit_fini(out);
    return status;
}

void drove__unit_fini(drove_unit *unit)
{
    drove__free(unit->theta);
    drove__free(unit->output);
    unit->theta = unit->output = NULL;
}
