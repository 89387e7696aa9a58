/* loop/step.c - one step of a worker, whatever its strategy, engine and source.
 *
 *     view = acquire;  begin;  slices as they come;  finish;  step = prepare;  release;  publish
 *
 * Three capabilities shorten it.  FUSED and TYPED engines step straight into shared parameters that
 * the strategy lends.  A RESIDENT device keeps its parameters: gradients come down and sums go up
 * while it computes, and it updates itself (Le Duc et al., Algorithm 5).
 *
 * Clock readings: eight of about 25 ns, three of them the engine's; nothing allocates, prints or
 * locks here but the strategy and the source.
 */
#include "loop/step.h"

#include "loop/batches.h"

#include <math.h>
#include <string.h>

static const uint64_t GLANCE_NS = 50000; /* at a device, while sums may come */

static void count(drove_worker *w, size_t n_rows, uint64_t n_steps, const drove_publish_info *info)
{
    drove_trace_worker *t = &w->trace;
    t->steps += n_steps;
    t->attempts += info->attempts;
    t->dropped += info->dropped;
    atomic_store_explicit(&t->examples,
                          atomic_load_explicit(&t->examples, memory_order_relaxed) + n_rows,
                          memory_order_relaxed);
    if (info->dropped) return;
    atomic_store_explicit(&t->updates,
                          atomic_load_explicit(&t->updates, memory_order_relaxed) + n_steps,
                          memory_order_relaxed);
    drove__hist_add_many(&t->staleness, info->staleness, n_steps);
}

static uint64_t now(const drove_worker *w)
{
    return drove__clock_now(w->loop->clock);
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void note(const drove_worker *w, drove_span_kind kind, size_t slice, uint64_t iteration,
                 uint64_t begin_ns, uint64_t end_ns)
{
    const drove_time_span span = {.begin_ns = begin_ns,
                                  .end_ns = end_ns,
                                  .iteration = iteration,
                                  .part = slice == DROVE_NO_PART ? UINT32_MAX : (uint32_t)slice,
                                  .kind = (uint32_t)kind};
    drove__spans_add(w->loop->spans, w->index, &span);
}

/* ---- straight into shared parameters ---- */

bool drove__steps_in_place(const drove_worker *w, size_t n_rows)
{
    const drove_loop *loop = w->loop;
    const drove_sync_ops *ops = loop->sync->ops;
    if (loop->shared != NULL) return true;
    if (ops->live == NULL || (loop->source != NULL && loop->source->publishes)) return false;
    if ((w->engine_ops->can & DROVE_ENGINE_FUSED) == 0 || w->plan->n_cores > 1) return false;
    if (!loop->optim->fusable) return false;
    size_t usual = loop->plan->source->counts_rows ? n_rows : loop->update_rows;
    return (usual == 1 || (loop->sync->needs & DROVE_SYNC_LIVE) != 0) &&
           drove__model_fuses(loop->model);
}

static drove_status step_in_place(drove_worker *w, const drove_task *task, const drove_batch *batch,
                                  float eta)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    drove_steps made = {0};
    drove_publish_info info = {.attempts = 1};
    uint64_t t0 = now(w);
    const drove_params live = s->ops->live(s, w->index);
    DROVE_TRY(w->engine_ops->steps(w->engine, &live, batch, eta, &made));
    DROVE_TRY(s->ops->live_done(s, w->index, made.n_steps, &info));
    uint64_t t1 = now(w);
    w->trace.phase_ns[DROVE_PHASE_BACKWARD] += t1 - t0;
    w->trace.busy_ns += t1 - t0;
    w->trace.clamped += made.n_clamped;
    info.attempts += (uint32_t)made.n_steps - 1; /* one each, and the strategy's failed ones */
    count(w, batch->n_rows, made.n_steps, &info);
    drove__worker_check_finite(w, made.is_finite ? made.score.loss : NAN);
    if (loop->spans != NULL) note(w, DROVE_SPAN_BACKWARD, DROVE_NO_PART, task->number, t0, t1);
    if (loop->source->ops->done != NULL)
        loop->source->ops->done(loop->source, w->index, task, made.n_steps);
    return DROVE_OK;
}

/* ---- slices of the gradient ---- */

typedef struct slicing { /* of one step's gradient */
    drove_worker *w;
    drove_gradient *grad;
    float eta;
    uint64_t iteration, last_ns, added_ns;
    size_t first;      /* of the time line: the first slice ... */
    uint64_t first_ns; /* ... and when it came; 0: none yet */
} slicing;

static void on_layer(void *context, size_t layer)
{
    slicing *c = context;
    drove_worker *w = c->w;
    drove_sync *s = w->loop->sync;
    size_t i = w->loop->slices.of_layer[layer];
    if (i == DROVE_NO_PART) return;
    const drove_span *slice = &w->loop->slices.slice[i];
    bool is_noted = w->loop->spans != NULL;
    if (is_noted && c->first_ns == 0) {
        c->first = i; /* when its backward began is known at the end alone: note_passes */
        c->first_ns = now(w);
    } else if (is_noted) {
        note(w, DROVE_SPAN_BACKWARD, i, c->iteration, c->last_ns, now(w));
    }
    c->added_ns +=
        s->ops->layer_ready(s, w->index, slice->offset, slice->length, c->grad->value, c->eta);
    c->last_ns = is_noted ? now(w) : 0;
}

/* Forward, and the backward pass, or that of the first slice, which begins where forward ends. */
static void note_passes(const slicing *c, const drove_engine_times *t, uint64_t begin_ns,
                        uint64_t end_ns)
{
    uint64_t middle_ns = begin_ns + t->forward_ns;
    if (c->w->loop->spans == NULL) return;
    if (t->forward_ns > 0)
        note(c->w, DROVE_SPAN_FORWARD, DROVE_NO_PART, c->iteration, begin_ns, middle_ns);
    if (c->first_ns != 0)
        note(c->w, DROVE_SPAN_BACKWARD, c->first, c->iteration, middle_ns, c->first_ns);
    else note(c->w, DROVE_SPAN_BACKWARD, DROVE_NO_PART, c->iteration, middle_ns, end_ns);
}

/* ---- devices with parameters of their own ---- */

static drove_status set_params(drove_worker *w)
{
    const drove_optim *o = w->loop->optim;
    const drove_rule *rule = &o->rule;
    const drove_device_rule of_device = {.name = rule->ops->name,
                                         .n_state = rule->ops->n_state,
                                         .mu = rule->mu,
                                         .beta1 = rule->beta1,
                                         .beta2 = rule->beta2,
                                         .epsilon = rule->epsilon,
                                         .weight_decay = o->weight_decay,
                                         .clip = o->clip};
    drove_sync *s = w->loop->sync;
    DROVE_TRY(w->engine_ops->set_params(w->engine, &of_device, s->ops->replica(s, w->index)));
    w->has_params = true;
    return DROVE_OK;
}

/* Sums that are there go up; waits: at least one. */
static drove_status give_sums(drove_worker *w, bool waits, size_t *n_given)
{
    drove_sync *s = w->loop->sync;
    const size_t n = w->loop->slices.n;
    drove_sum sum;
    while (*n_given < n && s->ops->next_sum(s, w->index, waits, &sum)) {
        DROVE_TRY(w->engine_ops->give(w->engine, sum.offset, sum.length, sum.value + sum.offset));
        ++*n_given;
        waits = false;
    }
    return DROVE_OK;
}

/* Gradients down and sums up until both are through.  A device that delivers nothing for the
 * worker's timeout is silent: finish says so. */
static drove_status exchange_sums(drove_worker *w)
{
    const size_t n = w->loop->slices.n;
    size_t n_left = n, n_given = 0;
    uint64_t heard_ns = now(w);
    while (n_left > 0) {
        size_t before = n_left;
        DROVE_TRY(w->engine_ops->part(w->engine, n_given < n ? GLANCE_NS : w->timeout_ns, &n_left));
        if (n_left < before) {
            drove__heartbeat(w);
            heard_ns = now(w);
        } else if (now(w) - heard_ns >= w->timeout_ns) {
            DROVE_TRY(w->engine_ops->finish(w->engine, 0, NULL));
            return drove__fail(DROVE_E_SYSTEM, "no answer");
        }
        DROVE_TRY(give_sums(w, false, &n_given));
    }
    while (n_given < n) {
        size_t before = n_given;
        DROVE_TRY(give_sums(w, true, &n_given));
        if (n_given == before) return drove__fail(DROVE_E_SYSTEM, "stopped");
    }
    return DROVE_OK;
}

typedef struct noting {
    drove_worker *w;
    uint64_t iteration;
} noting;

static void note_copy(void *context, const drove_device_copy *copy)
{
    const noting *n = context;
    const drove_slice_copy noted = {.offset = copy->offset,
                                    .is_up = copy->is_up,
                                    .iteration = n->iteration,
                                    .begin_ns = copy->begin_ns,
                                    .end_ns = copy->end_ns,
                                    .hidden_ns = copy->hidden_ns};
    drove_sync *s = n->w->loop->sync;
    if (s->ops->note_copy != NULL) s->ops->note_copy(s, n->w->index, &noted);
}

/* ---- a gradient, published ---- */

static drove_status compute(drove_worker *w, const drove_batch *batch, const float *theta,
                            slicing *c, drove_work_done *done)
{
    const drove_engine_ops *ops = w->engine_ops;
    const drove_work work = {
        .batch = batch,
        .theta = theta,
        .grad = c->grad,
        .update = {.scale = 1.0f, .eta = c->eta, .t = c->iteration + 1},
    };
    atomic_store_explicit(&w->is_computing, 1, memory_order_relaxed);
    drove_status status = ops->begin(w->engine, &work);
    if (status == DROVE_OK) drove__batches_stage(w);
    if (status == DROVE_OK && theta == NULL) status = exchange_sums(w);
    if (status == DROVE_OK) status = ops->finish(w->engine, w->timeout_ns, done);
    atomic_store_explicit(&w->is_computing, 0, memory_order_relaxed);
    return status;
}

/* The loss of a worker that has lost its task does not count. */
static drove_status publish(drove_worker *w, const drove_task *task, const drove_step *step,
                            double loss, drove_publish_info *info)
{
    drove_source *from = w->loop->source;
    drove_sync *s = w->loop->sync;
    if (from->publishes) drove__worker_check_finite(w, loss);
    if (from->publishes) return from->ops->publish(from, w->index, task, step, info);
    if (from->ops->accepts != NULL && !from->ops->accepts(from, w->index)) {
        atomic_store(&w->is_lost, 1);
        return DROVE_E_SYSTEM;
    }
    drove__worker_check_finite(w, loss);
    drove_status status = s->ops->publish(s, w->index, step, info);
    if (from->ops->done != NULL) from->ops->done(from, w->index, task, status == DROVE_OK);
    return status;
}

/* Times t0 acquire t1 compute t2 prepare t3 publish t4. */
static void record(drove_worker *w, const uint64_t t[5], const drove_view *view, const slicing *c,
                   const drove_engine_times *spent, const drove_publish_info *info)
{
    const drove_loop *loop = w->loop;
    uint64_t *phase = w->trace.phase_ns, at = t[3], published = t[4] - t[3];
    bool exchanges = loop->publish_phase == DROVE_PHASE_EXCHANGE;
    uint64_t update_ns = info->update_ns < published ? info->update_ns : published;
    uint64_t wait_ns = exchanges ? 0 : info->wait_ns; /* for others: part of the exchange */
    const struct {
        drove_span_kind kind;
        drove_phase phase;
        uint64_t ns;
    } did[] = {{DROVE_SPAN_WAIT, DROVE_PHASE_WAIT, wait_ns},
               {DROVE_SPAN_ADD, DROVE_PHASE_ACCUMULATE, info->accumulate_ns},
               {DROVE_SPAN_EXCHANGE, DROVE_PHASE_EXCHANGE, exchanges ? 0 : info->exchange_ns},
               {DROVE_SPAN_UPDATE, DROVE_PHASE_UPDATE, update_ns},
               {DROVE_SPAN_BROADCAST, DROVE_PHASE_BROADCAST, info->broadcast_ns}};
    uint64_t named = 0, backward_ns = above(spent->backward_ns, c->added_ns);
    for (size_t i = 0; i < DROVE_COUNT(did); i++) {
        phase[did[i].phase] += did[i].ns;
        named += did[i].ns;
        if (loop->spans != NULL && did[i].ns > 0 && did[i].kind != DROVE_SPAN_ADD)
            note(w, did[i].kind, DROVE_NO_PART, c->iteration, at, at + did[i].ns);
        at += did[i].ns;
    }
    phase[DROVE_PHASE_WAIT] += view->wait_ns - view->backoff_ns;
    phase[DROVE_PHASE_WAIT] -= info->backoff_ns; /* of info->wait_ns */
    phase[DROVE_PHASE_BACKOFF] += view->backoff_ns + info->backoff_ns;
    phase[loop->acquire_phase] += above(t[1] - t[0], view->wait_ns);
    phase[DROVE_PHASE_FORWARD] += spent->forward_ns;
    phase[DROVE_PHASE_BACKWARD] += backward_ns + spent->compute_ns;
    phase[DROVE_PHASE_EXCHANGE] += above(spent->copy_ns, spent->hidden_ns);
    phase[DROVE_PHASE_ACCUMULATE] += c->added_ns;
    phase[DROVE_PHASE_UPDATE] += t[3] - t[2];
    phase[loop->publish_phase] += above(published, named);
    w->trace.busy_ns += above(t[4] - t[0], view->wait_ns + info->wait_ns);
    w->traffic.bytes += info->bytes;
    w->traffic.messages += info->messages;
    w->traffic.hidden_ns += info->hidden_ns;
    w->traffic.centre_ns += info->centre_ns;
    if (info->distance > 0.0) w->traffic.distance = info->distance;
    w->times.copy_ns += spent->copy_ns;
    w->times.compute_ns += spent->compute_ns;
    w->times.hidden_ns += spent->hidden_ns;
    w->times.wait_ns += spent->wait_ns;
}

static drove_status step_published(drove_worker *w, const drove_task *task,
                                   const drove_batch *batch, float eta)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    drove_view view = {0};
    drove_work_done done = {0};
    drove_publish_info info = {0};
    drove_step step = {.eta = eta};
    bool is_sliced = s->ops->layer_ready != NULL;
    drove_gradient grad = {.value = w->grad, .spans_wanted = loop->spans_wanted && !is_sliced};
    slicing c = {.w = w, .grad = &grad, .eta = eta};
    uint64_t t[5] = {now(w)};

    if (w->is_resident && !w->has_params) DROVE_TRY(set_params(w));
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    t[1] = c.last_ns = now(w);
    c.iteration = view.version;
    drove__heartbeat(w);
    if (is_sliced) grad.after_layer = on_layer;
    grad.context = &c;
    float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, w->index) : NULL;
    if (lent != NULL) grad.value = lent; /* publish will make the new parameters there */
    const float *theta =
        w->is_resident ? NULL : drove__optim_theta(loop->optim, &w->optim, view.vector);
    drove_status status = compute(w, batch, theta, &c, &done);
    /* Others may wait for a window that this batch holds back, before they meet this worker. */
    if (loop->stream != NULL) drove__batches_end(w);
    t[2] = now(w);
    if (status == DROVE_OK && !is_sliced)
        drove__optim_prepare(loop->optim, &w->optim, view.vector, grad.value, grad.span,
                             grad.n_spans, eta, &step);
    else step.value = grad.value;
    s->ops->release(s, w->index);
    DROVE_TRY(status);
    drove__heartbeat(w);
    t[3] = now(w);
    DROVE_TRY(publish(w, task, &step, done.score.loss, &info));
    t[4] = now(w);
    if (w->is_resident && w->engine_ops->copies != NULL) {
        noting copies = {.w = w, .iteration = view.version};
        DROVE_TRY(w->engine_ops->copies(w->engine, note_copy, &copies));
    }
    note_passes(&c, &done.times, t[1], t[2]);
    record(w, t, &view, &c, &done.times, &info);
    count(w, batch->n_rows, 1, &info);
    return DROVE_OK;
}

drove_status drove__step(drove_worker *w, const drove_task *task, const drove_batch *batch,
                         float eta)
{
    return drove__steps_in_place(w, batch->n_rows) ? step_in_place(w, task, batch, eta)
                                                   : step_published(w, task, batch, eta);
}

drove_status drove__step_settle(drove_worker *w)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    if (loop->shared != NULL) {
        const drove_params live = s->ops->live(s, w->index);
        w->engine_ops->settle(w->engine, live.words);
    }
    if (!w->is_resident || !w->has_params || atomic_load(&loop->halted)) return DROVE_OK;
    return w->engine_ops->get_params(w->engine, s->ops->replica(s, w->index));
}
