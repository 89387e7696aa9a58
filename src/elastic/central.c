/* elastic/central.c - serving RPCs at the centre, and a worker's step around them. */
#include "elastic/central.h"

#include "base/clock.h"

#include <string.h>

/* ---- setting up ---- */

drove_status drove__central_init(drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start,
                                 drove_serve_fn *serve)
{
    drove_central *v = s->impl;
    v->sync = s;
    DROVE_TRY(drove__elastic_init(&v->e, s, opt, kind, start));
    drove_transport *t = v->e.transport;
    v->is_held = t->process == 0;
    v->centre = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    v->update = drove__alloc(s->n_workers, sizeof *v->update);
    v->known = drove__alloc(s->n_workers, sizeof *v->known);
    if (v->centre == NULL || v->update == NULL || v->known == NULL) return drove__sync_no_memory(s);
    const drove_centre centre = {.vector = v->is_held ? v->centre : NULL,
                                 .serve = serve,
                                 .context = v,
                                 .is_exclusive = (s->needs & DROVE_SYNC_RACY) == 0};
    size_t most = s->n_vector > DROVE_CENTRAL_LEAST ? s->n_vector : DROVE_CENTRAL_LEAST;
    return t->ops->host(t, &centre, most);
}

void drove__central_fini(drove_sync *s)
{
    drove_central *v = s->impl;
    drove__elastic_fini(&v->e, s);
    drove__sync_vector_free(s, v->centre);
    drove__free(v->update);
    drove__free(v->known);
    drove__free(v);
}

/* ---- at the centre: on any thread of its holder ---- */

const drove_span *drove__central_receive(drove_central *v, unsigned worker, size_t n, float *number,
                                         uint64_t *before)
{
    size_t i = number[3] >= 0.0f && number[3] < (float)v->e.n_parts ? (size_t)number[3] : SIZE_MAX;
    if (i == SIZE_MAX || worker >= v->sync->n_workers || n < v->e.part[i].length) return NULL;
    if (i == 0) {
        uint64_t n_steps = drove__elastic_join((const float[2]){number[1], 0.0f});
        /* Relaxed: a count.  The exclusion of RPCs orders the updates, if anything does. */
        *before = atomic_fetch_add_explicit(&v->n_updates, n_steps, memory_order_relaxed);
        v->update[worker] = *before + 1;
    }
    *before = v->update[worker] - 1;
    drove__elastic_split(*before, number);
    return &v->e.part[i];
}

void drove__central_elastic(void *context, unsigned worker, float *message, size_t n, float *number)
{
    drove_central *v = context;
    const drovek_table *k = v->sync->optim->kernels;
    uint64_t before;
    float alpha = number[0];
    const drove_span *part = drove__central_receive(v, worker, n, number, &before);
    if (part == NULL) return;
    /* Several at once: Hogwild. */
    k->centre_f32(v->centre + part->offset, message, message, part->length, alpha, 1.0f);
}

/* ---- a worker's step ---- */

/* Sends W^i to the centre; its reply goes to me->c. */
static drove_status begin(drove_sync *s, unsigned worker, float alpha, bool is_early)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    const drove_exchange x = {.kind = DROVE_RPC,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = me->w,
                              .out = me->c,
                              .number = {alpha, (float)(me->since + 1)},
                              .halts_later = v->halts_later};
    return drove__transfer_begin(&v->e, worker, &me->down, &x, 1, is_early);
}

drove_status drove__central_acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    float alpha;
    DROVE_TRY(drove__elastic_view(&v->e, s, worker, me->known + me->since, view));
    if (!v->is_early || !drove__elastic_is_due(me)) return DROVE_OK;
    if (v->e.fixed_alpha == 0.0f && v->e.eta_varies) return DROVE_OK;
    DROVE_TRY(drove__elastic_alpha(&v->e, s, s->optim->lr, &alpha));
    return begin(s, worker, alpha, true);
}

void drove__central_count(drove_sync *s)
{
    /* Relaxed: read for display, or behind the lock of parking. */
    atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
}

drove_status drove__central_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                    drove_publish_info *info)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    uint64_t begin_ns = drove__now_ns(), staleness = 0;
    const bool is_due = drove__elastic_is_due(me);
    if (is_due) { /* the exchange of this step, begun early or not, and the step */
        float alpha = me->down.x.number[0];
        if (!me->down.is_open) {
            DROVE_TRY(drove__elastic_alpha(&v->e, s, step->eta, &alpha));
            DROVE_TRY(begin(s, worker, alpha, false));
        }
        DROVE_TRY(drove__transfer_end(&v->e, worker, &me->down));
        staleness = me->before - me->known;
        me->known = me->before + me->since + 1;
        me->since = 0;
        drove__elastic_move(&v->e, s, worker, step, staleness, alpha, NULL);
    } else {
        drove__elastic_step(&v->e, s, worker, step, 0);
        me->since++;
    }
    drove__central_count(s);
    drove__elastic_report(me, begin_ns, info);
    info->staleness = staleness;
    info->order = is_due ? me->before : DROVE_NO_ORDER;
    info->is_early = is_due && me->down.is_early;
    return DROVE_OK;
}

void drove__central_stop(drove_sync *s)
{
    drove__elastic_stop(&((drove_central *)s->impl)->e, s);
}

/* Updates of a lost worker stay in the centre. */
void drove__central_leave(drove_sync *s, unsigned worker)
{
    drove_transport *t = ((drove_central *)s->impl)->e.transport;
    t->ops->leave(t, worker, true);
}

float *drove__central_replica(drove_sync *s, unsigned worker)
{
    return ((drove_central *)s->impl)->e.of[worker].w;
}

/* ---- parked ---- */

static uint64_t published(const drove_sync *s)
{
    return atomic_load_explicit(&s->published, memory_order_relaxed);
}

drove_status drove__central_parked(drove_sync *s)
{
    drove_central *v = s->impl;
    drove_transport *t = v->e.transport;
    if (t->n_processes == 1) return DROVE_OK;
    /* Adds up the steps of all processes since the last parking. */
    uint64_t mine = published(s) - v->n_parked;
    uint64_t *all = drove__alloc(t->n_processes, sizeof *all);
    if (all == NULL) return drove__sync_no_memory(s);
    drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    for (unsigned i = 0; i < t->n_processes && status == DROVE_OK; i++) v->n_parked += all[i];
    drove__free(all);
    DROVE_TRY(status);
    atomic_store_explicit(&s->published, v->n_parked, memory_order_relaxed);
    const drove_exchange x = {.kind = DROVE_BROADCAST,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = v->is_held ? v->centre : NULL,
                              .out = v->centre,
                              .n = s->n_vector};
    return drove__exchange(t, t->first_worker, &x, NULL);
}

drove_params drove__central_peek(drove_sync *s)
{
    return (drove_params){.theta = ((drove_central *)s->impl)->centre};
}

drove_status drove__central_restore(drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st)
{
    drove_central *v = s->impl;
    bool found;
    uint64_t n_updates = published(s);
    DROVE_TRY(drove__elastic_restore(&v->e, s, vector, st, &found));
    for (unsigned i = 0; found && i < s->n_workers; i++)
        n_updates -=
            v->e.progress[(size_t)i * DROVE_ELASTIC_PROGRESS + 1]; /* not yet in the centre */
    memcpy(v->centre, vector->theta, s->n_vector * sizeof(float));
    atomic_store_explicit(&v->n_updates, n_updates, memory_order_relaxed);
    v->n_parked = published(s);
    for (unsigned i = 0; i < s->n_workers; i++)
        v->known[i] = found ? v->e.progress[(size_t)i * DROVE_ELASTIC_PROGRESS + 2] : n_updates;
    return DROVE_OK;
}

size_t drove__central_tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    return drove__elastic_tensors(&((drove_central *)s->impl)->e, s, out, most);
}

const drove_sync_replica_ops drove__central_replicas = {.vector = drove__central_replica,
                                                        .parked = drove__central_parked};
