/* strategy/serialised.c - see serialised.h.
 *
 * The lock orders everything that the strategy's own slots do, so that what they say of races does
 * not matter here.  A view is copied under it, except where nobody else writes the view: a private
 * copy of the strategy's, or the own vector of a SPREAD worker.
 */
#include "strategy/serialised.h"

#include "base/lock.h"

struct drove_serial {
    drove_sync_ops ops;
    drove_sync_live_ops live;
    drove_sync_replay_ops replay;
    const drove_sync_ops *inner;
    const drove_sync_live_ops *inner_live;
    pthread_mutex_t lock; /* protects `order`, and all that inner's slots share */
    uint64_t order;       /* of the next publication */
    float **copy;         /* [n_workers] of the view; NULL: the view is private */
};

/* A process that is killed while it holds the lock may leave half of its step, as it does without
 * the lock. */
static void lock(drove_sync *s)
{
    (void)drove__lock(&s->serial->lock);
}

static void unlock(drove_sync *s)
{
    drove__unlock(&s->serial->lock);
}

static void release_inner(drove_sync *s, unsigned worker)
{
    const drove_sync_ops *inner = s->serial->inner;
    if (inner->release != NULL) inner->release(s, worker);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    struct drove_serial *p = s->serial;
    lock(s);
    drove_status status = p->inner->acquire(s, worker, view);
    view->order = p->order;
    if (status == DROVE_OK && p->copy[worker] != NULL) {
        s->optim->kernels->copy_f32(p->copy[worker], view->vector, s->n_vector);
        view->vector = p->copy[worker];
        release_inner(s, worker);
    }
    unlock(s);
    return status;
}

static void release(drove_sync *s, unsigned worker)
{
    if (s->serial->copy[worker] == NULL) release_inner(s, worker);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    struct drove_serial *p = s->serial;
    lock(s);
    drove_status status = p->inner->publish(s, worker, step, info);
    info->order = p->order++;
    unlock(s);
    return status;
}

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    lock(s); /* until live_done or live_end */
    return s->serial->inner_live->begin(s, worker);
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    struct drove_serial *p = s->serial;
    drove_status status = p->inner_live->done(s, worker, n_steps, info);
    info->order = p->order++;
    unlock(s);
    return status;
}

static uint64_t live_end(drove_sync *s, unsigned worker)
{
    (void)worker;
    uint64_t order = s->serial->order++;
    unlock(s);
    return order;
}

static void free_serial(drove_sync *s)
{
    struct drove_serial *p = s->serial;
    for (unsigned w = 0; p->copy != NULL && w < s->n_workers; w++)
        drove__sync_vector_free(s, p->copy[w]);
    drove__free(p->copy);
    (void)pthread_mutex_destroy(&p->lock);
    drove__free(p);
    s->serial = NULL;
}

static void fini(drove_sync *s)
{
    s->serial->inner->fini(s);
    free_serial(s);
}

drove_status drove__sync_serialise(drove_sync *s, bool is_typed)
{
    struct drove_serial *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    drove_status status = drove__lock_init(&p->lock);
    if (status != DROVE_OK) {
        drove__free(p);
        return status;
    }
    s->serial = p;
    p->inner = s->ops;
    p->inner_live = s->live;
    p->copy = drove__alloc(s->n_workers, sizeof *p->copy);
    bool is_complete = p->copy != NULL;
    const bool needs_copies = (s->needs & DROVE_SYNC_SPREAD) == 0 && !is_typed;
    for (unsigned w = 0; is_complete && needs_copies && w < s->n_workers; w++) {
        if (s->worker[w].copy != NULL) continue;
        p->copy[w] = drove__sync_vector(s, w);
        is_complete = p->copy[w] != NULL;
    }
    if (!is_complete) status = drove__sync_no_memory(s);
    if (status != DROVE_OK) {
        free_serial(s);
        return status;
    }
    p->ops = *s->ops;
    p->ops.fini = fini;
    p->ops.acquire = acquire;
    p->ops.release = release;
    p->ops.publish = publish;
    if (is_typed) {
        if (s->ops->replay != NULL) p->replay = *s->ops->replay;
        p->replay.live_end = live_end;
        p->ops.replay = &p->replay;
        p->live = *s->live;
        p->live.begin = live_begin;
        p->live.done = live_done;
    }
    s->ops = &p->ops;
    s->live = is_typed ? &p->live : NULL;
    s->promises &= ~(unsigned)DROVE_SYNC_LOCK_FREE;
    s->promises |= DROVE_SYNC_SNAPSHOT | DROVE_SYNC_ORDERED;
    s->needs &= ~(unsigned)(DROVE_SYNC_RACY | DROVE_SYNC_LIVE);
    return DROVE_OK;
}
