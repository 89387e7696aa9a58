/* engine/accel/engine.c - the engine of all accelerators, over a table of operations
 * (engine/accel/accel.h); see state.h for its parts.
 *
 * A step: submit copies the parameters and puts the whole pass on the queues; stage copies the next
 * batch meanwhile, into the other of two slots; collect takes the gradients as they come.  What was
 * staged and is not what is submitted is dropped.
 *
 * A device that fails is lost: the failure's text is kept, and is the answer to all that follows.
 * One that is silent beyond a time-out is lost, too, and what it may still read or write is left to
 * it: destroy then frees nothing that the device knows, because waiting for it might never end.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/accel/layers.h"
#include "model/loss.h"

#include <stdlib.h>
#include <string.h>

/* Of the calls that have no time-out of their own: far beyond any batch. */
static const uint64_t SYNCHRONOUS_NS = 600u * (uint64_t)1000000000u;

drove_status drove__accel_try(drove_engine *e, drove_status status)
{
    if (status == DROVE_OK || e->is_lost) return status;
    e->is_lost = true;
    drove__error_copy(e->why);
    return status;
}

static drove_status check_alive(const drove_engine *e)
{
    return e->is_lost ? drove__fail(DROVE_E_SYSTEM, "%s", e->why) : DROVE_OK;
}

/* ---- making ---- */

static void drop_events(drove_engine *e)
{
    drove_accel_event **event[] = {&e->params_begun, &e->params_done, &e->work_begun, &e->scored,
                                   &e->scored_read};
    for (size_t i = 0; i < DROVE_COUNT(event); i++) {
        e->ops->event_destroy(*event[i]);
        *event[i] = NULL;
    }
    for (size_t l = 0; e->layer_read != NULL && l < e->model->n_layers; l++) {
        e->ops->event_destroy(e->layer_done[l]);
        e->ops->event_destroy(e->layer_read[l]);
        e->layer_done[l] = e->layer_read[l] = NULL;
    }
}

/* All that the device knows of. */
static void release_device(drove_engine *e)
{
    drop_events(e);
    for (size_t l = 0; e->conv != NULL && l < e->model->n_layers; l++)
        if (e->conv[l] != NULL) e->ops->conv_destroy(e->conv[l]);
    e->ops->queue_destroy(e->up);
    e->ops->queue_destroy(e->work);
    e->ops->queue_destroy(e->down);
    for (size_t i = 0; i < DROVE_ACCEL_N_SLOTS; i++) drove__slot_fini(e, &e->slot[i]);
    drove__resident_release(e);
    drove__params_fini(e);
    for (size_t l = 0; e->out != NULL && l < e->model->n_layers; l++) {
        e->ops->free(e->accel, e->out[l]);
        e->ops->free(e->accel, e->kept[l]);
    }
    for (size_t i = 0; i < e->plan.n_deltas; i++) e->ops->free(e->accel, e->delta[i]);
    e->ops->free(e->accel, e->input);
    e->ops->free(e->accel, e->scratch);
    e->ops->free(e->accel, e->result);
    e->ops->host_free(e->accel, e->result_host);
    e->ops->host_free(e->accel, e->prob_host);
    e->ops->host_free(e->accel, e->statistics_host);
}

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    if (!e->is_silent) release_device(e);
    drove__gather_fini(&e->gather);
    drove__touched_fini(&e->touched);
    drove__free(e->place);
    drove__resident_fini(e);
    drove__accel_plan_fini(&e->plan);
    free(e->out);
    free(e->conv);
    free(e->layer_done);
    free(e->line.read);
    free(e);
}

static drove_status allocate_outputs(drove_engine *e)
{
    size_t rows = e->max_rows, n_result = (e->model->n_heads > 1 ? 8 : 4) * rows;
    for (size_t l = 0; l < e->model->n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        size_t n_kept = drove__accel_kept(y, rows);
        DROVE_TRY(e->ops->alloc(e->accel, rows * y->n_out, &e->out[l]));
        if (n_kept > 0) DROVE_TRY(e->ops->alloc(e->accel, n_kept, &e->kept[l]));
    }
    for (size_t i = 0; i < e->plan.n_deltas; i++)
        DROVE_TRY(e->ops->alloc(e->accel, rows * e->plan.delta_floats[i], &e->delta[i]));
    size_t n_scratch = drove__accel_scratch(e->model, rows);
    if (n_scratch > 0) DROVE_TRY(e->ops->alloc(e->accel, n_scratch, &e->scratch));
    if (e->plan.converts_input)
        DROVE_TRY(e->ops->alloc(e->accel, rows * e->model->n_inputs, &e->input));
    DROVE_TRY(e->ops->alloc(e->accel, n_result, &e->result));
    e->result_host = e->ops->host_alloc(e->accel, rows * 4 * sizeof *e->result_host);
    return e->result_host != NULL
               ? DROVE_OK
               : drove__fail_nomem("losses of a batch", rows * 4 * sizeof *e->result_host);
}

static drove_status make_lists(drove_engine *e)
{
    size_t n_layers = e->model->n_layers;
    DROVE_TRY(drove__accel_plan_make(e->model, &e->plan));
    e->out = calloc(2 * n_layers + e->plan.n_deltas, sizeof *e->out);
    e->conv = calloc(n_layers, sizeof *e->conv);
    e->layer_done = calloc(2 * n_layers, sizeof *e->layer_done);
    e->line.read = calloc(n_layers, sizeof *e->line.read);
    if (e->out == NULL || e->conv == NULL || e->layer_done == NULL || e->line.read == NULL)
        return drove__fail_nomem("engine", 7 * n_layers * sizeof *e->out);
    e->kept = e->out + n_layers;
    e->delta = e->kept + n_layers;
    e->layer_read = e->layer_done + n_layers;
    return DROVE_OK;
}

static drove_status allocate(drove_engine *e, const drove_data *data)
{
    DROVE_TRY(make_lists(e));
    if (e->is_sparse) {
        DROVE_TRY(drove__touched_init(&e->touched, e->model->n_inputs));
        e->place = drove__alloc(e->model->n_inputs, sizeof *e->place);
        if (e->place == NULL) return drove__fail_nomem("engine", e->model->n_inputs);
    }
    DROVE_TRY(
        drove__gather_init(&e->gather, e->kernels, data, e->max_rows, e->model->n_inputs, false));
    DROVE_TRY(e->ops->queue_create(e->accel, &e->up));
    DROVE_TRY(e->ops->queue_create(e->accel, &e->work));
    DROVE_TRY(e->ops->queue_create(e->accel, &e->down));
    for (size_t i = 0; i < DROVE_ACCEL_N_SLOTS; i++)
        DROVE_TRY(drove__slot_init(e, &e->slot[i], data));
    DROVE_TRY(drove__params_init(e, data));
    DROVE_TRY(allocate_outputs(e));
    for (size_t l = 0; l < e->model->n_layers; l++) DROVE_TRY(drove__accel_conv_prepare(e, l));
    return DROVE_OK;
}

static drove_status check_options(const drove_engine_options *opt)
{
    if (opt->max_rows == 0) return drove__fail(DROVE_E_ARG, "batch: expected at least 1 example");
    if (drove__data_n_inputs(opt->data) != opt->model->n_inputs) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           drove__data_n_inputs(opt->data), opt->model->n_inputs);
    }
    if (drove__storage_is_sparse(opt->data->storage) && !opt->model->is_chain) {
        return drove__fail(DROVE_E_SHAPE, "model %s: expected images, found sparse data",
                           opt->model->spec);
    }
    DROVE_TRY(drove__accel_pass_supports(opt->model));
    DROVE_TRY(drove__accel_pass_accepts(opt->model, opt->data));
    size_t most = drove__accel_most_rows(opt);
    if (opt->max_rows <= most) return DROVE_OK;
    return drove__fail(DROVE_E_NOMEM, "%s: its memory holds at most %zu examples a batch, not %zu",
                       opt->device->facts.name, most, opt->max_rows);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    DROVE_TRY(check_options(opt));
    const drove_accel_device *device = opt->device->impl;
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->model = opt->model;
    e->kernels = opt->kernels;
    e->ops = device->ops;
    e->accel = device->accel;
    e->max_rows = opt->max_rows;
    e->seed = opt->seed;
    e->is_sparse = drove__storage_is_sparse(opt->data->storage);
    drove_status status = allocate(e, opt->data);
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* ---- submit, stage, collect ---- */

/* A slot that the present batch is not in, and not the staged one where there is a choice. */
static drove_accel_slot *free_slot(drove_engine *e)
{
    for (size_t i = 0; i < DROVE_ACCEL_N_SLOTS; i++) {
        if (&e->slot[i] != e->present && &e->slot[i] != e->staged) return &e->slot[i];
    }
    return e->staged;
}

static drove_status stage(drove_engine *e, const drove_batch *next)
{
    DROVE_TRY(check_alive(e));
    drove_accel_slot *s = e->staged != NULL ? e->staged : free_slot(e);
    e->staged = NULL;
    DROVE_TRY(drove__slot_fill(e, s, next, true));
    e->staged = s;
    return DROVE_OK;
}

/* The batch's slot: the staged one if it is that, else one that is filled now. */
static drove_status take_slot(drove_engine *e, const drove_batch *batch, bool is_training,
                              drove_accel_slot **out)
{
    drove_accel_slot *s = e->staged;
    if (s == NULL || !drove__slot_holds(s, batch, is_training)) {
        s = free_slot(e);
        DROVE_TRY(drove__slot_fill(e, s, batch, is_training));
    }
    e->staged = NULL;
    *out = s;
    return DROVE_OK;
}

/* theta NULL: at the device's own parameters. */
static drove_status begin(drove_engine *e, const float *theta, const drove_batch *batch,
                          bool wants_gradient, bool is_training, bool is_predicting)
{
    drove_accel_slot *s;
    DROVE_TRY(check_alive(e));
    if (e->present != NULL)
        return drove__fail(DROVE_E_ARG, "a batch was submitted before the last was collected");
    DROVE_TRY(take_slot(e, batch, is_training, &s));
    e->present = s;
    s->number = batch->number;
    e->wants_gradient = wants_gradient;
    e->is_training = is_training;
    e->is_predicting = is_predicting;
    drove_status status = theta != NULL ? drove__params_write(e, theta) : DROVE_OK;
    if (status == DROVE_OK)
        status = theta != NULL ? drove__accel_pass(e) : drove__resident_begin(e);
    if (status != DROVE_OK) drove__accel_try(e, status); /* what is half begun is not used again */
    return status;
}

static drove_status submit(drove_engine *e, const float *theta, const drove_batch *batch,
                           bool wants_gradient)
{
    return begin(e, theta, batch, wants_gradient, wants_gradient, false);
}

typedef struct waiting {
    uint64_t end_ns, slept_ns; /* on the host's clock */
} waiting;

static waiting wait_until(uint64_t timeout_ns)
{
    uint64_t now = drove__now_ns();
    return (waiting){.end_ns = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX};
}

static drove_status wait_for(drove_engine *e, drove_accel_event *event, waiting *w)
{
    uint64_t before = drove__now_ns(), left = UINT64_MAX;
    if (w->end_ns != UINT64_MAX) left = w->end_ns > before ? w->end_ns - before : 0;
    drove_status status = e->ops->wait(event, left);
    uint64_t after = drove__now_ns();
    w->slept_ns += after - before;
    if (status != DROVE_OK && after >= w->end_ns) e->is_silent = true;
    return drove__accel_try(e, status);
}

static void add_score(const drove_engine *e, drove_score *score)
{
    const size_t n_rows = e->present->n_rows;
    const float *loss = (const float *)e->result_host;
    const uint32_t *count = e->result_host + n_rows;
    bool has_labels = e->present->data->storage->y_kind == DROVE_Y_LABELS;
    drove_score sum = {.n_rows = n_rows};
    for (size_t i = 0; i < n_rows; i++, count += 3) {
        sum.loss += (double)loss[i];
        if (has_labels) {
            sum.true_positive += count[0];
            sum.false_positive += count[1];
            sum.false_negative += count[2];
        } else {
            sum.n_correct += count[0];
        }
    }
    drove__score_add(score, &sum);
}

static drove_status take_layers(drove_engine *e, drove_gradient *grad, waiting *w)
{
    for (size_t l = e->model->n_layers; l-- > 0;) {
        drove_accel_event *event = e->layer_read[l] != NULL ? e->layer_read[l] : e->layer_done[l];
        if (event != NULL) DROVE_TRY(wait_for(e, event, w)); /* the first one's is the end */
        if (grad == NULL) continue;
        drove__params_take(e, l, grad);
        if (grad->after_layer != NULL) grad->after_layer(grad->context, l);
    }
    return DROVE_OK;
}

static drove_status collect(drove_engine *e, drove_gradient *grad, drove_score *score,
                            drove_engine_times *times, uint64_t timeout_ns)
{
    DROVE_TRY(check_alive(e));
    if (e->present == NULL)
        return drove__fail(DROVE_E_ARG, "no batch was submitted that could be collected");
    waiting w = wait_until(timeout_ns);
    if (grad != NULL) {
        grad->span = NULL;
        grad->n_spans = 0;
    }
    DROVE_TRY(wait_for(e, e->scored_read, &w));
    if (e->wants_gradient) DROVE_TRY(take_layers(e, grad, &w));
    if (score != NULL && !e->is_predicting) add_score(e, score);
    DROVE_TRY(drove__accel_times(e, times));
    if (times != NULL) times->wait_ns += w.slept_ns;
    drop_events(e);
    e->present->is_full = false;
    e->present = NULL;
    return DROVE_OK;
}

/* ---- all at once ---- */

/* The time is shared out as the device's own was. */
static drove_status gradient(drove_engine *e, const float *theta, const drove_batch *batch,
                             drove_gradient *grad, drove_score *score, uint64_t *forward_ns,
                             uint64_t *backward_ns)
{
    uint64_t start = drove__now_ns();
    DROVE_TRY(begin(e, theta, batch, true, true, false));
    DROVE_TRY(collect(e, grad, score, NULL, SYNCHRONOUS_NS));
    uint64_t all = drove__now_ns() - start;
    const drove_accel_line *line = &e->line;
    double forward = (double)(line->results.begin - line->compute.begin);
    double share = forward / ((double)(line->compute.end - line->compute.begin) + 1.0);
    uint64_t before = (uint64_t)((double)all * (share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share));
    if (forward_ns != NULL) *forward_ns += before;
    if (backward_ns != NULL) *backward_ns += all - before;
    return DROVE_OK;
}

static drove_status score_batch(drove_engine *e, const float *theta, const drove_batch *batch,
                                drove_score *score)
{
    DROVE_TRY(begin(e, theta, batch, false, false, false));
    return collect(e, NULL, score, NULL, SYNCHRONOUS_NS);
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    size_t n = e->max_rows * e->model->n_outputs;
    if (e->prob_host == NULL) e->prob_host = e->ops->host_alloc(e->accel, n * sizeof(float));
    if (e->prob_host == NULL) return drove__fail_nomem("predictions", n * sizeof(float));
    DROVE_TRY(begin(e, theta, batch, false, false, true));
    DROVE_TRY(collect(e, NULL, NULL, NULL, SYNCHRONOUS_NS));
    e->model->loss->predict(e->prob_host, batch->n_rows, e->model->n_outputs, prob);
    return DROVE_OK;
}

/* What batch normalisation saw of n_rows examples, layer by layer; variances without bias (Ioffe,
 * Szegedy, Algorithm 2, step 10). */
static drove_status add_statistics(drove_engine *e, size_t n_rows, float share, float *into)
{
    for (size_t l = 0; l < e->model->n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        drove_accel_event *done = NULL;
        if (y->n_statistics == 0) continue;
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->statistics_host,
                                        drove__accel_view(e->kept[l], 0), y->n_statistics));
        DROVE_ACCEL_TRY(e, e->ops->record(e->down, &done));
        waiting w = wait_until(SYNCHRONOUS_NS);
        drove_status status = wait_for(e, done, &w);
        e->ops->event_destroy(done);
        DROVE_TRY(status);
        double m = (double)(n_rows * y->in.h * y->in.w);
        float unbiased = (float)(m > 1.0 ? m / (m - 1.0) : 1.0);
        e->kernels->axpy_f32(into + y->s_offset, e->statistics_host, y->in.c, share);
        e->kernels->axpy_f32(into + y->s_offset + y->in.c, e->statistics_host + y->in.c, y->in.c,
                             share * unbiased);
    }
    return DROVE_OK;
}

static drove_status statistics(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into)
{
    size_t n = e->model->n_statistics * sizeof(float);
    if (n == 0) return DROVE_OK;
    if (e->statistics_host == NULL) e->statistics_host = e->ops->host_alloc(e->accel, n);
    if (e->statistics_host == NULL) return drove__fail_nomem("statistics", n);
    DROVE_TRY(begin(e, theta, batch, false, true, false));
    DROVE_TRY(collect(e, NULL, NULL, NULL, SYNCHRONOUS_NS));
    return add_statistics(e, batch->n_rows, share, into);
}

/* ---- the device's own parameters ---- */

static drove_status set_params(drove_engine *e, const drove_device_rule *rule, const float *vector)
{
    DROVE_TRY(check_alive(e));
    return drove__resident_set(e, rule, vector);
}

static drove_status get_params(drove_engine *e, float *vector)
{
    DROVE_TRY(check_alive(e));
    return drove__resident_get(e, vector);
}

static drove_status begin_resident(drove_engine *e, const drove_batch *batch)
{
    if (e->resident == NULL) return drove__fail(DROVE_E_ARG, "no parameters were set");
    return begin(e, NULL, batch, true, true, false);
}

static drove_status check_begun(const drove_engine *e)
{
    DROVE_TRY(check_alive(e));
    return e->resident != NULL && e->present != NULL
               ? DROVE_OK
               : drove__fail(DROVE_E_ARG, "no batch was begun at the device's parameters");
}

static drove_status arrived(drove_engine *e, uint64_t timeout_ns, size_t *layer, float **gradient,
                            size_t *n_left)
{
    DROVE_TRY(check_begun(e));
    return drove__resident_arrived(e, timeout_ns, layer, gradient, n_left);
}

static drove_status give(drove_engine *e, size_t offset, size_t length, const float *sum)
{
    DROVE_TRY(check_begun(e));
    return drove__resident_give(e, offset, length, sum);
}

/* How far the device's clock is from ours: the last copy's end was noticed just now. */
static drove_status note_clock(drove_engine *e, drove_accel_event *given)
{
    uint64_t then_ns = 0;
    if (given == NULL) return DROVE_OK;
    DROVE_ACCEL_TRY(e, e->ops->time(given, &then_ns));
    e->clock_shift = drove__now_ns() - then_ns;
    return DROVE_OK;
}

/* What was given may be changed by its owner as soon as this returns, so its copies are awaited. */
static drove_status update(drove_engine *e, const drove_device_update *how, drove_score *score,
                           drove_engine_times *times, uint64_t timeout_ns)
{
    DROVE_TRY(check_begun(e));
    waiting w = wait_until(timeout_ns);
    drove_accel_event *given = drove__resident_last_copy(e);
    if (given != NULL) DROVE_ACCEL_TRY(e, e->ops->follow(e->work, given));
    DROVE_TRY(drove__resident_update(e, how));
    if (given != NULL) DROVE_TRY(wait_for(e, given, &w));
    DROVE_TRY(note_clock(e, given));
    return collect(e, NULL, score, times, timeout_ns);
}

const drove_engine_ops drove__engine_accel = {
    .name = "accel",
    .help = "a device of its own computes: the whole pass is put on its queues at once",
    .source = "Ma and Rusu, section 5",
    .create = create,
    .destroy = destroy,
    .gradient = gradient,
    .score = score_batch,
    .predict = predict,
    .statistics = statistics,
    .submit = submit,
    .stage = stage,
    .collect = collect,
    .most_rows = drove__accel_most_rows,
    .set_params = set_params,
    .get_params = get_params,
    .begin = begin_resident,
    .arrived = arrived,
    .give = give,
    .update = update,
    .copies = drove__accel_copies,
};
