/* run/device_step.c - one step of a worker that is a device with parameters of its own.
 *
 * Source: Le Duc et al., Algorithm 5: forward; backward, which hands every layer's gradient on as
 * soon as it is there; what remains; update.  Two ways:
 *   on the host, or on a device that is sent the parameters for every batch: the replica of the
 *   strategy is read, and publish updates it;
 *   on a device that keeps them (engine/engine.h): gradients come down and sums go up while it
 *   computes, and it updates itself; this thread adds meanwhile.
 */
#include "run/run.h"

#include "accum/accum.h"
#include "base/clock.h"

#include <string.h>

static const uint64_t GLANCE_NS = 50000; /* at a device, while sums may come */

typedef struct handing { /* of one step's gradient, layer by layer */
    drove_worker *w;
    float *value;
    float eta;
    uint64_t iteration, last_ns, added_ns;
    size_t first_part; /* of the time line: the first that was handed on ... */
    uint64_t first_ns; /* ... and when; 0: none yet */
} handing;

static void note(const drove_worker *w, drove_span_kind kind, size_t part, uint64_t iteration,
                 uint64_t begin_ns, uint64_t end_ns)
{
    const drove_time_span span = {.begin_ns = begin_ns,
                                  .end_ns = end_ns,
                                  .iteration = iteration,
                                  .part = part == DROVE_NO_PART ? UINT32_MAX : (uint32_t)part,
                                  .kind = (uint32_t)kind};
    drove__spans_add(w->run->devices.spans, w->index, &span);
}

static void hand_part(handing *h, size_t part)
{
    drove_sync *s = h->w->run->sync;
    const drove_span *p = &h->w->run->devices.part[part];
    h->added_ns += s->ops->layer_ready(s, h->w->index, p->offset, p->length, h->value, h->eta);
}

static void after_layer(void *context, size_t layer)
{
    handing *h = context;
    size_t part = h->w->run->devices.of_layer[layer];
    if (part == DROVE_NO_PART) return;
    if (h->w->run->devices.spans != NULL && h->first_ns == 0) {
        h->first_part = part; /* when its backward began is not known yet: note_forward */
        h->first_ns = drove__now_ns();
    } else if (h->w->run->devices.spans != NULL) {
        note(h->w, DROVE_SPAN_BACKWARD, part, h->iteration, h->last_ns, drove__now_ns());
    }
    hand_part(h, part);
    h->last_ns = h->w->run->devices.spans != NULL ? drove__now_ns() : 0;
}

/* Forward, and the backward of the layer that was handed on first, which begins where it ends. */
static void note_forward(const handing *h, uint64_t begin_ns, uint64_t forward_ns)
{
    uint64_t end_ns = begin_ns + forward_ns;
    note(h->w, DROVE_SPAN_FORWARD, DROVE_NO_PART, h->iteration, begin_ns, end_ns);
    if (h->first_ns != 0)
        note(h->w, DROVE_SPAN_BACKWARD, h->first_part, h->iteration, end_ns, h->first_ns);
}

/* ---- the replica is read, and publish updates it ---- */

typedef struct spent { /* ns of the parts of a step */
    uint64_t forward_ns, backward_ns, copy_ns;
} spent_ns;

static drove_status compute(drove_worker *w, const float *theta, const drove_batch *batch,
                            drove_gradient *grad, drove_score *score, spent_ns *out)
{
    const drove_engine_ops *ops = w->engine_ops;
    drove_engine_times times = {0};
    if (ops->submit == NULL)
        return ops->gradient(w->engine, theta, batch, grad, score, &out->forward_ns,
                             &out->backward_ns);
    DROVE_TRY(ops->submit(w->engine, theta, batch, true));
    DROVE_TRY(
        ops->collect(w->engine, grad, score, &times, w->run->devices.device[w->index].timeout_ns));
    out->backward_ns = times.compute_ns; /* both: a device has one phase */
    out->copy_ns = times.copy_ns - times.hidden_ns;
    return DROVE_OK;
}

/* What publish says it did, one after the other. */
static void record_publish(drove_worker *w, const drove_publish_info *info, uint64_t iteration,
                           uint64_t begin_ns)
{
    const struct {
        drove_span_kind kind;
        drove_phase phase;
        uint64_t ns;
    } did[] = {{DROVE_SPAN_WAIT, DROVE_PHASE_WAIT, info->wait_ns},
               {DROVE_SPAN_ADD, DROVE_PHASE_ACCUMULATE, info->accumulate_ns},
               {DROVE_SPAN_EXCHANGE, DROVE_PHASE_EXCHANGE, info->exchange_ns},
               {DROVE_SPAN_UPDATE, DROVE_PHASE_UPDATE, info->update_ns},
               {DROVE_SPAN_BROADCAST, DROVE_PHASE_BROADCAST, info->broadcast_ns}};
    for (size_t i = 0; i < DROVE_COUNT(did); i++) {
        w->trace.phase_ns[did[i].phase] += did[i].ns;
        if (did[i].kind != DROVE_SPAN_ADD) /* the chunks themselves are there */
            note(w, did[i].kind, DROVE_NO_PART, iteration, begin_ns, begin_ns + did[i].ns);
        begin_ns += did[i].ns;
    }
}

static uint64_t named_ns(const drove_publish_info *info)
{
    return info->wait_ns + info->accumulate_ns + info->exchange_ns + info->update_ns +
           info->broadcast_ns;
}

static drove_status step_replica(drove_worker *w, const drove_batch *batch, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    uint64_t *phase = w->trace.phase_ns;
    drove_view view = {0};
    drove_score score = {0};
    drove_publish_info info = {0};
    spent_ns spent = {0};

    uint64_t t0 = drove__now_ns();
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    handing hand = {.w = w, .eta = eta, .iteration = view.version};
    hand.value = s->ops->gradient(s, w->index);
    drove_gradient grad = {.value = hand.value, .after_layer = after_layer, .context = &hand};
    const float *theta = drove__optim_theta(run->optim, &w->optim, view.vector);
    uint64_t t1 = hand.last_ns = drove__now_ns();
    drove_status status = compute(w, theta, batch, &grad, &score, &spent);
    uint64_t t2 = drove__now_ns();
    s->ops->release(s, w->index);
    DROVE_TRY(status);
    note_forward(&hand, t1, spent.forward_ns);
    drove__worker_check_finite(w, score.loss);
    const drove_step step = {.value = grad.value, .eta = eta};
    DROVE_TRY(s->ops->publish(s, w->index, &step, &info));
    uint64_t t3 = drove__now_ns();

    uint64_t backward_ns =
        spent.backward_ns > hand.added_ns ? spent.backward_ns - hand.added_ns : 0;
    uint64_t known_ns = spent.forward_ns + spent.copy_ns + backward_ns + hand.added_ns;
    phase[DROVE_PHASE_ACQUIRE] += t1 - t0;
    phase[DROVE_PHASE_FORWARD] += spent.forward_ns;
    phase[DROVE_PHASE_BACKWARD] += backward_ns;
    phase[DROVE_PHASE_EXCHANGE] += spent.copy_ns;
    phase[DROVE_PHASE_ACCUMULATE] += hand.added_ns;
    phase[DROVE_PHASE_OTHER] += t2 - t1 > known_ns ? t2 - t1 - known_ns : 0;
    record_publish(w, &info, view.version, t2);
    phase[DROVE_PHASE_PUBLISH] += t3 - t2 > named_ns(&info) ? t3 - t2 - named_ns(&info) : 0;
    w->trace.busy_ns += t3 - t0 - info.wait_ns;
    drove__worker_count(w, batch->n_rows, 1, &info);
    return DROVE_OK;
}

/* ---- a device that keeps its parameters ---- */

static drove_status set_params(drove_worker *w)
{
    const drove_optim *o = w->run->optim;
    const drove_rule *rule = &o->rule;
    const drove_device_rule of_device = {.name = rule->ops->name,
                                         .n_state = rule->ops->n_state,
                                         .mu = rule->mu,
                                         .beta1 = rule->beta1,
                                         .beta2 = rule->beta2,
                                         .epsilon = rule->epsilon,
                                         .weight_decay = o->weight_decay,
                                         .clip = o->clip};
    drove_sync *s = w->run->sync;
    DROVE_TRY(w->engine_ops->set_params(w->engine, &of_device, s->ops->replica(s, w->index)));
    w->has_params = true;
    return DROVE_OK;
}

/* Sums that are there go up; waits: at least one. */
static drove_status give_sums(drove_worker *w, bool waits, size_t *n_given)
{
    drove_sync *s = w->run->sync;
    drove_sum sum;
    while (*n_given < w->run->devices.n_parts && s->ops->next_sum(s, w->index, waits, &sum)) {
        DROVE_TRY(w->engine_ops->give(w->engine, sum.offset, sum.length, sum.value + sum.offset));
        ++*n_given;
        waits = false;
    }
    return DROVE_OK;
}

/* Gradients down and sums up until both are through. */
static drove_status exchange(drove_worker *w, handing *hand)
{
    const drove_engine_ops *ops = w->engine_ops;
    const drove_devices *all = &w->run->devices;
    size_t n_left = all->n_parts, n_given = 0;
    while (n_left > 0) {
        size_t layer;
        uint64_t wait_ns = n_given < all->n_parts ? GLANCE_NS : all->device[w->index].timeout_ns;
        DROVE_TRY(ops->arrived(w->engine, wait_ns, &layer, &hand->value, &n_left));
        if (layer != SIZE_MAX && all->of_layer[layer] != DROVE_NO_PART)
            hand_part(hand, all->of_layer[layer]);
        DROVE_TRY(give_sums(w, false, &n_given));
    }
    while (n_given < all->n_parts) {
        size_t before = n_given;
        DROVE_TRY(give_sums(w, true, &n_given));
        if (n_given == before) return drove__fail(DROVE_E_SYSTEM, "stopped");
    }
    return DROVE_OK;
}

typedef struct telling {
    drove_worker *w;
    uint64_t iteration;
} telling;

static void tell_copy(void *context, const drove_device_copy *copy)
{
    const telling *t = context;
    const drove_accum_copy told = {.offset = copy->offset,
                                   .is_up = copy->is_up,
                                   .iteration = t->iteration,
                                   .begin_ns = copy->begin_ns,
                                   .end_ns = copy->end_ns,
                                   .hidden_ns = copy->hidden_ns};
    drove__accum_note_copy(t->w->run->sync, t->w->index, &told);
}

static drove_status note_copies(drove_worker *w, uint64_t iteration)
{
    telling t = {.w = w, .iteration = iteration};
    if (w->engine_ops->copies == NULL) return DROVE_OK;
    return w->engine_ops->copies(w->engine, tell_copy, &t);
}

static drove_status step_resident(drove_worker *w, const drove_batch *batch, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    const drove_engine_ops *ops = w->engine_ops;
    drove_view view = {0};
    drove_score score = {0};
    drove_engine_times times = {0};
    drove_publish_info info = {0};
    uint64_t t0 = drove__now_ns();
    if (!w->has_params) DROVE_TRY(set_params(w));
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    s->ops->release(s, w->index);
    handing hand = {.w = w, .eta = eta, .iteration = view.version};
    DROVE_TRY(ops->begin(w->engine, batch));
    DROVE_TRY(exchange(w, &hand));
    uint64_t t1 = drove__now_ns();
    const drove_device_update how = {.scale = 1.0f, .eta = eta, .t = view.version + 1};
    DROVE_TRY(
        ops->update(w->engine, &how, &score, &times, run->devices.device[w->index].timeout_ns));
    uint64_t t2 = drove__now_ns();
    const drove_step step = {.value = hand.value, .eta = eta};
    DROVE_TRY(s->ops->publish(s, w->index, &step, &info));
    uint64_t t3 = drove__now_ns();
    DROVE_TRY(note_copies(w, view.version));
    drove__worker_check_finite(w, score.loss);
    uint64_t *phase = w->trace.phase_ns;
    uint64_t exposed_ns = times.copy_ns - times.hidden_ns, all_ns = t2 - t0;
    phase[DROVE_PHASE_BACKWARD] += times.compute_ns;
    phase[DROVE_PHASE_EXCHANGE] += exposed_ns;
    phase[DROVE_PHASE_OTHER] +=
        all_ns > times.compute_ns + exposed_ns ? all_ns - times.compute_ns - exposed_ns : 0;
    record_publish(w, &info, view.version, t2);
    note(w, DROVE_SPAN_BACKWARD, DROVE_NO_PART, view.version, t0, t1);
    note(w, DROVE_SPAN_UPDATE, DROVE_NO_PART, view.version, t1, t2);
    w->trace.busy_ns += t3 - t0 - info.wait_ns;
    drove__worker_count(w, batch->n_rows, 1, &info);
    return DROVE_OK;
}

drove_status drove__device_step(drove_worker *w, const drove_batch *batch, float eta)
{
    return w->run->devices.is_resident[w->index] ? step_resident(w, batch, eta)
                                                 : step_replica(w, batch, eta);
}

drove_status drove__device_settle(drove_worker *w)
{
    drove_sync *s = w->run->sync;
    if (w->run->devices.n == 0 || !w->run->devices.is_resident[w->index] || !w->has_params)
        return DROVE_OK;
    return w->engine_ops->get_params(w->engine, s->ops->replica(s, w->index));
}
