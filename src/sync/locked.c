/* sync/locked.c - thesis Algorithm 2: lock, copy, unlock; gradient; lock, update, unlock. */
#include "sync/locked.h"

#include "base/cost.h"

#include <string.h>

drove_status drove__locked_init(drove_sync *s, drove_locked *l, const drove_params *start)
{
    s->impl = l;
    l->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    if (l->vector == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

void drove__locked_fini(drove_sync *s)
{
    drove_locked *l = s->impl;
    l->ops->destroy(l);
    drove__sync_vector_free(s, l->vector);
    drove__free(l);
}

drove_status drove__locked_acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    drove_locked *l = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = l->ops->lock_to_read(l, &me->backoff);
    s->optim->kernels->copy_f32(me->copy, l->vector, s->n_vector);
    drove__spend_fetch(l->vector, s->n_vector);
    /* Relaxed here and in publish: written under the lock only; others merely look. */
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    l->ops->unlock(l);
    *view = (drove_view){.vector = me->copy,
                         .version = me->version,
                         .order = me->version,
                         .wait_ns = cost.wait_ns,
                         .backoff_ns = cost.backoff_ns};
    return DROVE_OK;
}

drove_status drove__locked_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                   drove_publish_info *info)
{
    drove_locked *l = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = l->ops->lock_to_write(l, &me->backoff);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    uint64_t staleness = published - me->version;
    drove__optim_apply(s->optim, step, staleness, published + 1, 0, s->optim->n, l->vector,
                       l->vector);
    atomic_store_explicit(&s->published, published + 1, memory_order_relaxed);
    l->ops->unlock(l);
    *info = (drove_publish_info){.staleness = staleness,
                                 .order = published,
                                 .wait_ns = cost.wait_ns,
                                 .backoff_ns = cost.backoff_ns,
                                 .attempts = cost.attempts,
                                 .updated = 1};
    return DROVE_OK;
}

drove_params drove__locked_peek(drove_sync *s)
{
    return (drove_params){.theta = ((const drove_locked *)s->impl)->vector};
}

uint64_t drove__locked_snapshot(drove_sync *s, float *out)
{
    drove_locked *l = s->impl;
    drove_backoff none = {.kind = DROVE_BACKOFF_NONE};
    (void)l->ops->lock_to_read(l, &none);
    s->optim->kernels->copy_f32(out, l->vector, s->n_vector);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    l->ops->unlock(l);
    return published;
}

drove_status drove__locked_restore(drove_sync *s, const drove_params *vector,
                                   const drove_safetensors *st)
{
    (void)st;
    memcpy(((drove_locked *)s->impl)->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}
