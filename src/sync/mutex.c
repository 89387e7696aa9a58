/* sync/mutex.c - AsyncSGD with a mutex: lock, copy, unlock; gradient; lock, update, unlock.
 *
 * Source: thesis Algorithm 2; with back-off its lock() is Algorithm 4.
 */
#include "sync/lock.h"
#include "sync/sync.h"

#include <string.h>

typedef struct mutex_impl {
    pthread_mutex_t mutex; /* protects vector and, for writing, s->published */
    float *vector;         /* [n_vector] */
} mutex_impl;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const float *theta0)
{
    DROVE_TRY(drove__spec_check(opt->spec, 0, NULL));
    mutex_impl *m = drove__alloc(1, sizeof *m);
    if (m == NULL) return drove__sync_no_memory(s);
    (void)pthread_mutex_init(&m->mutex, NULL); /* cannot fail with default attributes */
    s->impl = m;
    m->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, theta0);
    if (m->vector == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

static void fini(drove_sync *s)
{
    mutex_impl *m = s->impl;
    (void)pthread_mutex_destroy(&m->mutex);
    drove__sync_vector_free(s, m->vector);
    drove__free(m);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    mutex_impl *m = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&m->mutex, &me->backoff);
    s->optim->kernels->copy_f32(me->copy, m->vector, s->n_vector);
    /* Relaxed here and in publish: written under the mutex only; others merely look. */
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    pthread_mutex_unlock(&m->mutex);
    *view = (drove_view){.vector = me->copy,
                         .version = me->version,
                         .wait_ns = cost.wait_ns,
                         .backoff_ns = cost.backoff_ns};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s; /* the view is a private copy */
    (void)worker;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    mutex_impl *m = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&m->mutex, &me->backoff);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    uint64_t staleness = published - me->version;
    drove__optim_apply(s->optim, step, staleness, published + 1, 0, s->optim->n, m->vector,
                       m->vector);
    atomic_store_explicit(&s->published, published + 1, memory_order_relaxed);
    pthread_mutex_unlock(&m->mutex);
    *info = (drove_publish_info){.staleness = staleness,
                                 .wait_ns = cost.wait_ns,
                                 .backoff_ns = cost.backoff_ns,
                                 .attempts = cost.attempts,
                                 .updated = 1};
    return DROVE_OK;
}

static const float *peek(drove_sync *s)
{
    return ((const mutex_impl *)s->impl)->vector;
}

static drove_status restore(drove_sync *s, const float *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(((mutex_impl *)s->impl)->vector, vector, s->n_vector * sizeof *vector);
    return DROVE_OK;
}

static const char *const variants[] = {"mutex", NULL};

const drove_sync_ops drove__sync_mutex = {
    .name = "mutex",
    .help = "asynchronous SGD, reads and updates under one mutex",
    .source = "thesis Algorithm 2",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS,
    .needs = DROVE_SYNC_BACKOFF,
    .variants = variants,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .release = release,
    .publish = publish,
    .peek = peek,
    .restore = restore,
};
