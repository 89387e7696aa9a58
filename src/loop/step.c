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

#include "base/cost.h"
#include "loop/batches.h"
#include "loop/modelled.h"
#include "loop/rule.h"
#include "trace/recording.h"

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
    drove__spans_add(w->loop->trace.spans, w->index, &span);
}

/* ---- straight into shared parameters ---- */

static bool can_fuse(const drove_worker *w)
{
    const drove_loop *loop = w->loop;
    if (loop->on != NULL) return false; /* parts of such a step could not cost time */
    if (loop->sync->live == NULL || (loop->source != NULL && loop->source->publishes)) return false;
    if ((w->engine_ops->can & DROVE_ENGINE_FUSED) == 0 || w->plan->n_cores > 1) return false;
    return loop->optim->fusable && drove__model_fuses(loop->model);
}

bool drove__steps_in_place(const drove_worker *w, size_t n_rows)
{
    const drove_loop *loop = w->loop;
    if (loop->shared != NULL) return true;
    size_t usual = loop->plan->source->counts_rows ? n_rows : loop->sizes.update_rows;
    return (usual == 1 || (loop->sync->needs & DROVE_SYNC_LIVE) != 0) && can_fuse(w);
}

bool drove__steps_unseen(const drove_worker *w, size_t n_rows)
{
    const drove_loop *loop = w->loop;
    if (loop->plan->n_workers > 1 || loop->trace.recording != NULL) return false;
    if (loop->trace.spans != NULL || loop->trace.measures_gradients) return false;
    return can_fuse(w) && !drove__storage_is_sparse(w->data->storage) &&
           drove__model_fuses_exactly(loop->model, n_rows);
}

/* A strategy that has lent its parameters under a lock gets them back. */
static uint64_t give_back(drove_worker *w)
{
    drove_sync *s = w->loop->sync;
    const drove_sync_replay_ops *replay = s->ops->replay;
    bool is_said = replay != NULL && replay->live_end != NULL;
    return is_said ? replay->live_end(s, w->index) : DROVE_NO_ORDER;
}

static drove_recorded recorded_task(const drove_task *task)
{
    return (drove_recorded){.number = task->number,
                            .first = task->first,
                            .n_rows = task->n_rows,
                            .lr_factor = task->lr_factor};
}

/* Several batches that the worker has taken at once may share a lending of the parameters: what
 * the strategy counts and the clock is read for is then done once for all of them. */
static bool joins_batches(const drove_loop *loop)
{
    return loop->shared == NULL && loop->trace.recording == NULL && loop->trace.spans == NULL &&
           loop->source->ops->done == NULL;
}

/* The steps of one batch, added to *made. */
static drove_status steps_of_batch(drove_worker *w, const drove_params *live,
                                   const drove_batch *batch, float eta, drove_steps *made)
{
    drove_steps more = {0};
    DROVE_TRY(w->engine_ops->steps(w->engine, live, batch, eta, &more));
    drove__rule_made(w, more.n_steps);
    made->n_steps += more.n_steps;
    made->n_clamped += more.n_clamped;
    made->forward_ns += more.forward_ns;
    drove__worker_check_finite(w, more.is_finite ? more.score.loss : NAN);
    return DROVE_OK;
}

/* may_join: batches of any size go in place. */
static drove_status step_live(drove_worker *w, const drove_task *task, const drove_batch *batch,
                              float eta, bool may_join)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    drove_steps made = {0};
    drove_publish_info info = {.attempts = 1};
    drove_task further;
    drove_batch next;
    size_t n_rows = batch->n_rows;
    uint64_t t0 = now(w);
    const drove_params lent = s->live->begin(s, w->index);
    const drove_params live = loop->on != NULL ? drove__modelled_begin(w, &lent) : lent;
    drove__rule_begin(w, &lent);
    drove_status status = steps_of_batch(w, &live, batch, eta, &made);
    may_join = may_join && joins_batches(loop);
    while (status == DROVE_OK && may_join && made.n_steps < s->most_steps &&
           !atomic_load(&loop->ending.nonfinite) && drove__batches_more(w, &further, &next)) {
        drove__heartbeat(w);
        status = steps_of_batch(w, &live, &next, drove__step_size(loop, &further), &made);
        n_rows += next.n_rows;
    }
    if (status != DROVE_OK) (void)give_back(w);
    DROVE_TRY(status);
    if (loop->on != NULL)
        made.forward_ns = drove__modelled_end(w, &lent, n_rows, &made.n_clamped) / 3;
    DROVE_TRY(s->live->done(s, w->index, made.n_steps, &info));
    uint64_t t1 = now(w);
    w->trace.phase_ns[DROVE_PHASE_FORWARD] += made.forward_ns;
    w->trace.phase_ns[DROVE_PHASE_BACKWARD] += t1 - t0 - made.forward_ns;
    w->trace.busy_ns += t1 - t0;
    w->trace.clamped += made.n_clamped;
    info.attempts += (uint32_t)made.n_steps - 1; /* one each, and the strategy's failed ones */
    count(w, n_rows, made.n_steps, &info);
    if (loop->trace.recording != NULL) {
        drove_recorded r = recorded_task(task);
        r.read = s->worker[w->index].version;
        r.view_order = r.read; /* in place, there is none: this takes one byte */
        r.staleness = info.staleness;
        r.order = info.order;
        r.n_steps = made.n_steps;
        r.is_updated = info.updated != 0;
        drove__recording_step(loop->trace.recording, w->index, &r);
    }
    if (loop->trace.spans != NULL)
        note(w, DROVE_SPAN_BACKWARD, DROVE_NO_PART, task->number, t0, t1);
    if (loop->source->ops->done != NULL)
        loop->source->ops->done(loop->source, w->index, task, made.n_steps);
    return DROVE_OK;
}

/* ---- slices of the gradient ---- */

static void on_layer(void *context, size_t layer)
{
    drove_slicing *c = context;
    drove_worker *w = c->w;
    drove_sync *s = w->loop->sync;
    size_t i = w->loop->slices.of_layer[layer];
    if (i == DROVE_NO_PART) return;
    const drove_span *slice = &w->loop->slices.slice[i];
    bool is_noted = w->loop->trace.spans != NULL;
    if (is_noted && c->first_ns == 0) {
        c->first = i; /* when its backward began is known at the end alone: note_passes */
        c->first_ns = now(w);
    } else if (is_noted) {
        note(w, DROVE_SPAN_BACKWARD, i, c->iteration, c->last_ns, now(w));
    }
    c->added_ns +=
        s->slices->ready(s, w->index, slice->offset, slice->length, c->grad->value, c->eta);
    c->last_ns = is_noted ? now(w) : 0;
}

/* Forward, and the backward pass, or that of the first slice, which begins where forward ends. */
static void note_passes(const drove_slicing *c, const drove_engine_times *t, uint64_t begin_ns,
                        uint64_t end_ns)
{
    uint64_t middle_ns = begin_ns + t->forward_ns;
    if (c->w->loop->trace.spans == NULL) return;
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
    DROVE_TRY(w->engine_ops->resident->set_params(w->engine, &of_device,
                                                  s->ops->replicas->vector(s, w->index)));
    w->resident.has_params = true;
    return DROVE_OK;
}

/* Sums that are there go up; waits: at least one. */
static drove_status give_sums(drove_worker *w, bool waits, size_t *n_given)
{
    drove_sync *s = w->loop->sync;
    const size_t n = w->loop->slices.n;
    drove_sum sum;
    while (*n_given < n && s->ops->slices->next_sum(s, w->index, waits, &sum)) {
        DROVE_TRY(w->engine_ops->resident->give(w->engine, sum.offset, sum.length,
                                                sum.value + sum.offset));
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
    if (s->ops->slices->note_copy != NULL) s->ops->slices->note_copy(s, n->w->index, &noted);
}

/* ---- a gradient, published ---- */

/* On a virtual clock a gradient on cores, all computed by now, takes what it costs there, and the
 * time in which the parameters come from the cores that wrote them; a third of it is forward. */
static void spend_gradient(const drove_worker *w, const drove_work *work, drove_work_done *done)
{
    if (w->loop->on == NULL || w->device != NULL) return;
    uint64_t begin_ns = now(w);
    const drove_gradient *g = work->grad;
    const size_t n = w->loop->optim->n;
    double taken_ns = drove__optim_take(work->theta, 0, n, g->span, g->n_spans, false) +
                      drove__optim_take(g->value, 0, n, g->span, g->n_spans, true);
    drove__spend_work(w->modelled.batch_ns + w->modelled.example_ns * (double)work->batch->n_rows,
                      taken_ns);
    uint64_t took_ns = now(w) - begin_ns;
    done->times =
        (drove_engine_times){.forward_ns = took_ns / 3, .backward_ns = took_ns - took_ns / 3};
}

static drove_status compute(drove_worker *w, const drove_batch *batch, const float *theta,
                            drove_slicing *c, drove_work_done *done)
{
    const drove_engine_ops *ops = w->engine_ops;
    const drove_work work = {
        .batch = batch,
        .theta = theta,
        .grad = c->grad,
        .update = {.scale = 1.0f, .eta = c->eta, .t = c->iteration + 1},
    };
    atomic_store_explicit(&w->health.is_computing, 1, memory_order_relaxed);
    drove_status status = ops->begin(w->engine, &work);
    if (status == DROVE_OK) drove__batches_stage(w);
    if (status == DROVE_OK && theta == NULL) status = exchange_sums(w);
    if (status == DROVE_OK) status = ops->finish(w->engine, w->timeout_ns, done);
    if (status == DROVE_OK) spend_gradient(w, &work, done);
    atomic_store_explicit(&w->health.is_computing, 0, memory_order_relaxed);
    return status;
}

/* The loss of a worker that has lost its task does not count. */
static drove_status publish(drove_worker *w, const drove_task *task, const drove_step *step,
                            double loss, drove_publish_info *info)
{
    drove_source *from = w->loop->source;
    drove_sync *s = w->loop->sync;
    if (from->publishes) drove__worker_check_finite(w, loss);
    if (from->publishes) return from->ops->coordinator->publish(from, w->index, task, step, info);
    const drove_source_coordinator_ops *coordinator = from->ops->coordinator;
    if (coordinator != NULL && coordinator->accepts != NULL &&
        !coordinator->accepts(from, w->index)) {
        atomic_store(&w->health.is_lost, 1);
        return DROVE_E_SYSTEM;
    }
    drove__worker_check_finite(w, loss);
    drove_status status = s->ops->publish(s, w->index, step, info);
    if (from->ops->done != NULL) from->ops->done(from, w->index, task, status == DROVE_OK);
    return status;
}

/* Times t0 acquire t1 compute t2 prepare t3 publish t4. */
static void add_times(drove_worker *w, const drove_step_hand *h, const drove_publish_info *info)
{
    const drove_loop *loop = w->loop;
    const drove_view *view = &h->view;
    const drove_slicing *c = &h->slicing;
    const drove_engine_times *spent = &h->done.times;
    const uint64_t *t = h->t;
    uint64_t *phase = w->trace.phase_ns, at = t[3], published = t[4] - t[3];
    bool exchanges = loop->trace.publish_phase == DROVE_PHASE_EXCHANGE;
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
        if (loop->trace.spans != NULL && did[i].ns > 0 && did[i].kind != DROVE_SPAN_ADD)
            note(w, did[i].kind, DROVE_NO_PART, c->iteration, at, at + did[i].ns);
        at += did[i].ns;
    }
    phase[DROVE_PHASE_WAIT] += view->wait_ns - view->backoff_ns;
    phase[DROVE_PHASE_WAIT] -= info->backoff_ns; /* of info->wait_ns */
    phase[DROVE_PHASE_BACKOFF] += view->backoff_ns + info->backoff_ns;
    phase[loop->trace.acquire_phase] += above(t[1] - t[0], view->wait_ns);
    phase[DROVE_PHASE_FORWARD] += spent->forward_ns;
    phase[DROVE_PHASE_BACKWARD] += backward_ns + spent->compute_ns;
    phase[DROVE_PHASE_EXCHANGE] += above(spent->copy_ns, spent->hidden_ns);
    phase[DROVE_PHASE_ACCUMULATE] += c->added_ns;
    phase[DROVE_PHASE_UPDATE] += t[3] - t[2];
    phase[loop->trace.publish_phase] += above(published, named);
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

static double norm_of(const drove_gradient *g, size_t n)
{
    const drove_span all = {.length = n};
    const drove_span *span = g->span != NULL ? g->span : &all;
    size_t n_spans = g->span != NULL ? g->n_spans : 1;
    double sum = 0.0;
    for (size_t k = 0; k < n_spans; k++) {
        const float *value = g->value + span[k].offset;
        for (size_t i = 0; i < span[k].length; i++) sum += (double)value[i] * (double)value[i];
    }
    return sqrt(sum);
}

_Static_assert(DROVE_NO_ORDER == DROVE_RECORDED_NO_ORDER, "one word for no place");

/* ---- the two halves of a step ---- */

drove_status drove__step_begin(drove_worker *w, const drove_task *task, const drove_batch *batch,
                               float eta, drove_step_hand *h)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    bool is_sliced = s->slices != NULL;
    *h = (drove_step_hand){.task = *task, .batch = *batch, .step = {.eta = eta}, .t = {now(w)}};
    h->grad = (drove_gradient){.value = w->grad, .spans_wanted = loop->spans_wanted && !is_sliced};
    h->slicing = (drove_slicing){.w = w, .grad = &h->grad, .eta = eta};

    if (w->resident.is_there && !w->resident.has_params) DROVE_TRY(set_params(w));
    DROVE_TRY(s->ops->acquire(s, w->index, &h->view));
    h->t[1] = h->slicing.last_ns = now(w);
    h->slicing.iteration = h->view.version;
    drove__heartbeat(w);
    if (is_sliced) h->grad.after_layer = on_layer;
    h->grad.context = &h->slicing;
    float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, w->index) : NULL;
    if (lent != NULL) h->grad.value = lent; /* publish will make the new parameters there */
    const float *theta =
        w->resident.is_there ? NULL : drove__optim_theta(loop->optim, &w->optim, h->view.vector);
    drove_status status = compute(w, &h->batch, theta, &h->slicing, &h->done);
    /* Others may wait for a window that this batch holds back, before they meet this worker. */
    if (loop->data.stream != NULL) drove__batches_end(w);
    h->t[2] = now(w);
    if (loop->trace.measures_gradients) h->gradient_norm = norm_of(&h->grad, loop->optim->n);
    if (status == DROVE_OK && !is_sliced)
        drove__optim_prepare(loop->optim, &w->optim, h->view.vector, h->grad.value, h->grad.span,
                             h->grad.n_spans, eta, &h->step);
    else h->step.value = h->grad.value;
    drove__sync_release(s, w->index);
    DROVE_TRY(status);
    drove__heartbeat(w);
    h->t[3] = now(w);
    return DROVE_OK;
}

drove_status drove__step_end(drove_worker *w, drove_step_hand *h)
{
    drove_publish_info info = {0};
    DROVE_TRY(publish(w, &h->task, &h->step, h->done.score.loss, &info));
    h->t[4] = now(w);
    if (w->resident.is_there && w->engine_ops->resident->copies != NULL) {
        noting copies = {.w = w, .iteration = h->view.version};
        DROVE_TRY(w->engine_ops->resident->copies(w->engine, note_copy, &copies));
    }
    note_passes(&h->slicing, &h->done.times, h->t[1], h->t[2]);
    add_times(w, h, &info);
    count(w, h->batch.n_rows, 1, &info);
    if (w->loop->trace.recording != NULL) {
        drove_recorded r = recorded_task(&h->task);
        r.read = h->view.version;
        r.staleness = info.staleness;
        r.view_order = h->view.order;
        r.order = info.dropped ? DROVE_NO_ORDER : info.order;
        r.retried = info.dropped ? 0 : info.retried;
        r.n_steps = 1;
        r.is_dropped = info.dropped != 0;
        r.is_updated = info.updated != 0;
        r.is_early = info.is_early != 0;
        drove__recording_step(w->loop->trace.recording, w->index, &r);
    }
    return DROVE_OK;
}

void drove__step_drop(drove_worker *w, drove_step_hand *h)
{
    const drove_publish_info info = {.attempts = 1, .dropped = 1};
    drove__worker_check_finite(w, h->done.score.loss);
    h->t[4] = now(w);
    add_times(w, h, &info);
    count(w, h->batch.n_rows, 1, &info);
}

/* All steps of a round have the size of its first: replicas that add the same sums stay equal. */
float drove__step_size(const drove_loop *loop, const drove_task *task)
{
    const unsigned width = loop->source->width;
    uint64_t number = width > 0 ? task->number - task->number % width : task->number;
    double epoch = loop->plan->source->counts_rows
                       ? (double)task->first / (double)loop->order.n_rows
                       : drove__order_epochs(&loop->order, number);
    return (float)((double)drove__optim_eta(loop->optim, epoch) * task->lr_factor);
}

drove_status drove__step(drove_worker *w, const drove_task *task, const drove_batch *batch,
                         float eta)
{
    drove_step_hand hand;
    const bool is_in_place = drove__steps_in_place(w, batch->n_rows);
    if (is_in_place || drove__steps_unseen(w, batch->n_rows))
        return step_live(w, task, batch, eta, is_in_place);
    DROVE_TRY(drove__step_begin(w, task, batch, eta, &hand));
    return drove__step_end(w, &hand);
}

drove_status drove__step_settle(drove_worker *w)
{
    drove_loop *loop = w->loop;
    drove_sync *s = loop->sync;
    if (loop->shared != NULL) {
        const drove_params live = s->live->begin(s, w->index);
        w->engine_ops->typed->settle(w->engine, live.words);
        const drove_recorded settled = {.order = give_back(w), .is_settling = true};
        if (loop->trace.recording != NULL && settled.order != DROVE_NO_ORDER)
            drove__recording_step(loop->trace.recording, w->index, &settled);
    }
    if (!w->resident.is_there || !w->resident.has_params || atomic_load(&loop->ending.halted))
        return DROVE_OK;
    return w->engine_ops->resident->get_params(w->engine, s->ops->replicas->vector(s, w->index));
}
