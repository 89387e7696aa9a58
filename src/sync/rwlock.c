/* sync/rwlock.c - AsyncSGD with a POSIX read-write lock: views are copied side by side, updates are
 * made alone.
 *
 * Source: thesis Algorithm 2 with its rw-lock; with back-off lock() is Algorithm 4.  Whom the lock
 * prefers is glibc's to choose: `readers` (its default) lets new readers in past a waiting writer,
 * `writers` does not.
 */
#include "sync/lock.h"
#include "sync/sync.h"

#include <string.h>

typedef struct rwlock_impl {
    pthread_rwlock_t lock; /* protects vector and s->published: read to copy, write to update */
    float *vector;         /* [n_vector] */
} rwlock_impl;

static const char *const keys[] = {"prefer", NULL};
static const char *const preferences[] = {"readers", "writers"};
static const int preference_of[] = {PTHREAD_RWLOCK_PREFER_READER_NP,
                                    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

static drove_status init_lock(drove_sync *s, pthread_rwlock_t *lock, int preference)
{
    pthread_rwlockattr_t attributes;
    int failed = pthread_rwlockattr_init(&attributes);
    if (failed != 0) return drove__fail(DROVE_E_SYSTEM, "%s: %s", s->ops->name, strerror(failed));
    failed = pthread_rwlockattr_setkind_np(&attributes, preference);
    if (failed == 0) failed = pthread_rwlock_init(lock, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
    return failed == 0 ? DROVE_OK
                       : drove__fail(DROVE_E_SYSTEM, "%s: %s", s->ops->name, strerror(failed));
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const float *theta0)
{
    unsigned preference = 0;
    DROVE_TRY(drove__spec_check(opt->spec, 0, keys));
    DROVE_TRY(
        drove__spec_word(opt->spec, "prefer", preferences, DROVE_COUNT(preferences), &preference));
    rwlock_impl *r = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__sync_no_memory(s);
    drove_status status = init_lock(s, &r->lock, preference_of[preference]);
    if (status != DROVE_OK) {
        drove__free(r);
        return status;
    }
    s->impl = r;
    r->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, theta0);
    if (r->vector == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

static void fini(drove_sync *s)
{
    rwlock_impl *r = s->impl;
    (void)pthread_rwlock_destroy(&r->lock);
    drove__sync_vector_free(s, r->vector);
    drove__free(r);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    rwlock_impl *r = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_read(&r->lock, &me->backoff);
    s->optim->kernels->copy_f32(me->copy, r->vector, s->n_vector);
    /* Relaxed here and in publish: written under the write lock only; others merely look. */
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    pthread_rwlock_unlock(&r->lock);
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
    rwlock_impl *r = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_write(&r->lock, &me->backoff);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    uint64_t staleness = published - me->version;
    drove__optim_apply(s->optim, step, staleness, published + 1, 0, s->optim->n, r->vector,
                       r->vector);
    atomic_store_explicit(&s->published, published + 1, memory_order_relaxed);
    pthread_rwlock_unlock(&r->lock);
    *info = (drove_publish_info){.staleness = staleness,
                                 .wait_ns = cost.wait_ns,
                                 .backoff_ns = cost.backoff_ns,
                                 .attempts = cost.attempts,
                                 .updated = 1};
    return DROVE_OK;
}

static const float *peek(drove_sync *s)
{
    return ((const rwlock_impl *)s->impl)->vector;
}

static drove_status restore(drove_sync *s, const float *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(((rwlock_impl *)s->impl)->vector, vector, s->n_vector * sizeof *vector);
    return DROVE_OK;
}

static const char *const variants[] = {"rwlock", "rwlock?prefer=writers", NULL};

const drove_sync_ops drove__sync_rwlock = {
    .name = "rwlock",
    .help = "asynchronous SGD under a POSIX read-write lock; ?prefer=readers (default) or writers",
    .source = "thesis Algorithm 2, with a rw-lock",
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
