/* engine/accel/batch.c - one batch of an engine on an accelerator; see state.h.
 *
 * begin copies the parameters, unless the device keeps them, and puts the whole pass on the queues;
 * stage copies the next batch meanwhile, into the other of two staging buffers; part and finish
 * deliver the gradient's slices as they come.  A staged batch waits until it is begun, or another
 * one needs its buffer.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/accel/state.h"
#include "model/loss.h"

/* The time-out of calls that have none of their own: far beyond any batch. */
static const uint64_t SYNCHRONOUS_NS = 600u * (uint64_t)1000000000u;

/* ---- staging ---- */

/* A buffer that does not hold the present batch; the staged one only where there is no other. */
static drove_accel_staging *free_staging(drove_engine *e)
{
    for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS; i++) {
        if (&e->staging[i] != e->present && &e->staging[i] != e->staged) return &e->staging[i];
    }
    return e->staged;
}

/* A batch in pieces stages its first one. */
drove_status drove__accel_stage(drove_engine *e, const drove_batch *next)
{
    drove_batch first = *next;
    DROVE_TRY(drove__accel_check_alive(e));
    if (first.n_rows > e->max_rows) first.n_rows = e->max_rows;
    drove_accel_staging *s = e->staged != NULL ? e->staged : free_staging(e);
    e->staged = NULL;
    DROVE_TRY(drove__staging_fill(e, s, &first, true));
    e->staged = s;
    return DROVE_OK;
}

/* ---- begin ---- */

static drove_status begin_pass(drove_engine *e, const drove_work *work, bool is_training,
                               bool is_predicting)
{
    DROVE_TRY(drove__accel_check_free(e));

    /* The batch's buffer: the staged one if it holds the batch, else one that is filled now. */
    drove_accel_staging *s = e->staged;
    if (s == NULL || !drove__staging_holds(s, work->batch, is_training)) {
        s = free_staging(e);
        if (s == e->staged) e->staged = NULL;
        DROVE_TRY(drove__staging_fill(e, s, work->batch, is_training));
    }
    if (s == e->staged) e->staged = NULL;
    e->present = s;
    s->number = work->batch->number;
    e->now.wanted = work->grad;
    e->now.update = work->update;
    e->now.is_resident = work->theta == NULL;
    e->now.is_training = is_training;
    e->now.is_predicting = is_predicting;
    e->now.next = work->grad != NULL ? e->model->n_layers : 0;
    e->now.slept_ns = 0;
    if (e->now.wanted != NULL) {
        e->now.wanted->span = NULL;
        e->now.wanted->n_spans = 0;
        if (e->now.is_resident) e->now.wanted->value = e->params.grad_host;
    }
    drove_status status = DROVE_OK;
    if (work->theta == NULL) drove__resident_begin(e);
    else status = drove__params_gather(e, work->theta);
    if (status == DROVE_OK) status = drove__repeat_pass(e);
    if (status != DROVE_OK) drove__accel_try(e, status); /* what is half begun is not used again */
    return status;
}

static drove_status begin_piece(drove_engine *e, const drove_work *work)
{
    return begin_pass(e, work, work->grad != NULL, false);
}

drove_status drove__accel_check_free(const drove_engine *e)
{
    DROVE_TRY(drove__accel_check_alive(e));
    return e->present == NULL
               ? DROVE_OK
               : drove__fail(DROVE_E_ARG, "a batch was begun before the last was finished");
}

drove_status drove__accel_check_begun(const drove_engine *e)
{
    DROVE_TRY(drove__accel_check_alive(e));
    return e->present != NULL ? DROVE_OK : drove__fail(DROVE_E_ARG, "no batch was begun");
}

/* ---- part ---- */

/* On the host's clock. */
static uint64_t end_of(uint64_t timeout_ns)
{
    uint64_t now = drove__now_ns();
    return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
}

/* Beyond end_ns the device is lost. */
static drove_status wait_for(drove_engine *e, drove_accel_event *event, uint64_t end_ns)
{
    uint64_t before = drove__now_ns(), left = UINT64_MAX;
    if (end_ns != UINT64_MAX) left = end_ns > before ? end_ns - before : 0;
    drove_status status = e->ops->wait(event, left);
    uint64_t after = drove__now_ns();
    e->now.slept_ns += after - before;
    if (status != DROVE_OK && after >= end_ns) e->failure.is_silent = true;
    return drove__accel_try(e, status);
}

/* Has the event happened, if need be after at most timeout_ns? */
static drove_status await(drove_engine *e, drove_accel_event *event, uint64_t timeout_ns,
                          bool *has_come)
{
    uint64_t start_ns = drove__now_ns();
    DROVE_ACCEL_TRY(e, e->ops->happened(event, has_come));
    if (*has_come || timeout_ns == 0) return DROVE_OK;
    drove_status status = e->ops->wait(event, timeout_ns);
    uint64_t took_ns = drove__now_ns() - start_ns;
    e->now.slept_ns += took_ns;
    *has_come = status == DROVE_OK;
    bool is_late = status != DROVE_OK && took_ns >= timeout_ns;
    return is_late ? DROVE_OK : drove__accel_try(e, status);
}

/* The next layer's slice, which has come. */
static void deliver(drove_engine *e)
{
    size_t l = --e->now.next;
    drove_gradient *grad = e->now.wanted;
    if (!e->now.is_resident) drove__params_take(e, l, grad);
    if (grad->after_layer != NULL) grad->after_layer(grad->context, l);
}

static drove_status part_piece(drove_engine *e, uint64_t timeout_ns, size_t *n_left)
{
    bool has_come = true;
    while (e->now.next > 0) {
        drove_accel_event *event = e->now.events.layer_read[e->now.next - 1];
        if (event != NULL) DROVE_TRY(await(e, event, timeout_ns, &has_come));
        if (!has_come) break;
        if (event != NULL) timeout_ns = 0; /* others only if they are there already */
        deliver(e);
    }
    size_t n = 0;
    for (size_t l = 0; l < e->now.next; l++) n += e->now.events.layer_read[l] != NULL;
    *n_left = n;
    return DROVE_OK;
}

/* ---- finish ---- */

static void add_score(const drove_engine *e, drove_score *score)
{
    const size_t n_rows = e->present->n_rows;
    const float *loss = (const float *)e->pass.result_host;
    const uint32_t *count = e->pass.result_host + n_rows;
    bool has_labels = e->present->data->storage->y_kind == DROVE_Y_LABELS;
    bool is_weighted = drove__data_is_weighted(e->present->data);
    const float *weights = e->present->host + e->present->at.weight;
    drove_score sum = {.n_rows = n_rows};
    for (size_t i = 0; i < n_rows; i++, count += 3) {
        double weight = is_weighted ? (double)weights[i] : 1.0;
        sum.weight += weight;
        sum.loss += weight * (double)loss[i];
        if (has_labels) {
            sum.true_positive += weight * count[0];
            sum.false_positive += weight * count[1];
            sum.false_negative += weight * count[2];
        } else {
            sum.n_correct += weight * count[0];
        }
    }
    drove__score_add(score, &sum);
}

/* The caller may change the sums that it gave as soon as finish returns, so their copies are
 * awaited. */
static drove_status update(drove_engine *e, uint64_t end_ns)
{
    drove_accel_event *given = drove__resident_last_copy(e);
    if (given != NULL) DROVE_ACCEL_TRY(e, e->ops->follow(e->work, given));
    DROVE_TRY(drove__resident_update(e, &e->now.update));
    if (given != NULL) DROVE_TRY(wait_for(e, given, end_ns));

    /* How far the device's clock is from ours: the last copy's end was noticed just now. */
    uint64_t then_ns = 0;
    if (given == NULL) return DROVE_OK;
    DROVE_ACCEL_TRY(e, e->ops->time(given, &then_ns));
    e->times.clock_shift = drove__now_ns() - then_ns;
    return DROVE_OK;
}

static drove_status finish_piece(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    uint64_t end_ns = end_of(timeout_ns);
    DROVE_TRY(wait_for(e, e->now.events.scored_read, end_ns));
    if (e->now.wanted != NULL) {
        while (e->now.next > 0) {
            drove_accel_event *event = e->now.events.layer_read[e->now.next - 1];
            if (event != NULL) DROVE_TRY(wait_for(e, event, end_ns));
            deliver(e);
        }
        if (e->now.events.layer_done[0] != NULL)
            DROVE_TRY(wait_for(e, e->now.events.layer_done[0], end_ns));
    }
    if (e->now.wanted != NULL && e->now.is_resident) DROVE_TRY(update(e, end_ns));
    if (done != NULL && !e->now.is_predicting) add_score(e, &done->score);
    DROVE_TRY(drove__accel_times(e, done != NULL ? &done->times : NULL));
    if (done != NULL) done->times.wait_ns += e->now.slept_ns;
    drove__repeat_drop_events(e);
    e->present->is_full = false;
    e->present = NULL;
    return DROVE_OK;
}

/* ---- without a gradient ---- */

static drove_status predict_piece(drove_engine *e, const float *theta, const drove_batch *batch,
                                  float *prob)
{
    size_t n = e->max_rows * e->model->n_outputs;
    const drove_work work = {.batch = batch, .theta = theta};
    void *memory = NULL;
    DROVE_TRY(drove__accel_check_alive(e));
    if (e->pass.prob_host == NULL) DROVE_TRY(drove__accel_host_alloc(e, n, "predictions", &memory));
    if (e->pass.prob_host == NULL) e->pass.prob_host = memory;
    DROVE_TRY(begin_pass(e, &work, false, true));
    DROVE_TRY(finish_piece(e, SYNCHRONOUS_NS, NULL));
    e->model->loss->predict(e->pass.prob_host, batch->n_rows, e->model->n_outputs, prob);
    return DROVE_OK;
}

static drove_status statistics_of_piece(drove_engine *e, const float *theta,
                                        const drove_batch *batch, float share, float *into)
{
    void *memory = NULL;
    if (e->model->n_statistics == 0) return DROVE_OK;
    if (e->pass.statistics_host == NULL)
        DROVE_TRY(drove__accel_host_alloc(e, e->model->n_statistics, "statistics", &memory));
    if (e->pass.statistics_host == NULL) e->pass.statistics_host = memory;
    const drove_work work = {.batch = batch, .theta = theta};
    DROVE_TRY(begin_pass(e, &work, true, false));
    DROVE_TRY(finish_piece(e, SYNCHRONOUS_NS, NULL));

    /* Means and variances, layer by layer; variances without bias (Ioffe, Szegedy, Algorithm 2,
     * step 10). */
    for (size_t l = 0; l < e->model->n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        drove_accel_event *done = NULL;
        if (y->n_statistics == 0 || y->training.is_frozen) continue;
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->pass.statistics_host,
                                        drove__accel_view(e->pass.kept[l], 0), y->n_statistics));
        DROVE_ACCEL_TRY(e, e->ops->record(e->down, &done));
        drove_status status = wait_for(e, done, end_of(SYNCHRONOUS_NS));
        e->ops->event_destroy(done);
        DROVE_TRY(status);
        double m = (double)(batch->n_rows * y->in.h * y->in.w);
        float unbiased = (float)(m > 1.0 ? m / (m - 1.0) : 1.0);
        e->kernels->axpy_f32(into + y->s_offset, e->pass.statistics_host, y->in.c, share);
        e->kernels->axpy_f32(into + y->s_offset + y->in.c, e->pass.statistics_host + y->in.c,
                             y->in.c, share * unbiased);
    }
    return DROVE_OK;
}

const drove_piece_ops drove__accel_piece_ops = {.begin = begin_piece,
                                                .part = part_piece,
                                                .finish = finish_piece,
                                                .predict = predict_piece,
                                                .statistics = statistics_of_piece};
