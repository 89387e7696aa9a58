/* sync/ssp.c - stale-synchronous SGD: asynchronous updates, but no worker runs more than `bound`
 * steps ahead of the slowest.
 *
 * Source: thesis section 2.2.2.  A worker's clock is the number of steps it has published; it may
 * take a view, and so begin its next step, while clock - (smallest clock) <= bound.  With bound 0
 * nobody begins a step before all have published the one before.
 *
 * Invariants (under the mutex): the smallest clock never sinks; a worker that waits is ahead of
 * some other worker, so the slowest one never waits and the run cannot stand still while all take
 * the same number of steps (batches in rounds).  A lost worker's clock is LOST: it is never the
 * slowest.  Of a worker that is killed while it makes an update, that update is in the parameters
 * in part.
 */
#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/cost.h"
#include "sync/lock.h"
#include "sync/sync.h"

#include <string.h>

#define LOST UINT64_MAX

typedef struct ssp_impl {
    pthread_mutex_t mutex; /* protects what follows and, for writing, s->published, s->stopping */
    float *vector;         /* [n_vector] */
    uint64_t *clock;       /* [n_workers] steps published since the workers started together */
    uint64_t bound;
    /* Changed whenever the smallest clock has grown or the run is being stopped: who waits sleeps
     * on it. */
    _Atomic uint32_t advanced DROVE_ALIGNED_CACHE_LINE;
} ssp_impl;

static const drove_spec_key keys[] = {
    {"S", "3", DROVE_AS_COUNT(ssp_impl, bound, 0, UINT32_MAX), .is_argument = true,
     .help = "most steps ahead of the slowest worker"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    ssp_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    drove_status status = drove__lock_init(&p->mutex);
    if (status != DROVE_OK) {
        drove__free(p);
        return status;
    }
    s->impl = p;
    DROVE_TRY(drove__spec_take(opt->spec, keys, p));
    p->clock = drove__alloc(s->n_workers, sizeof *p->clock);
    p->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    if (p->clock == NULL || p->vector == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

static void fini(drove_sync *s)
{
    ssp_impl *p = s->impl;
    (void)pthread_mutex_destroy(&p->mutex);
    drove__sync_vector_free(s, p->vector);
    drove__free(p->clock);
    drove__free(p);
}

/* Caller holds the mutex. */
static uint64_t smallest_clock(const drove_sync *s)
{
    const ssp_impl *p = s->impl;
    uint64_t least = p->clock[0];
    for (unsigned w = 1; w < s->n_workers; w++) least = p->clock[w] < least ? p->clock[w] : least;
    return least;
}

/* Relaxed: only read and written under the mutex. */
static bool is_stopping(const drove_sync *s)
{
    return atomic_load_explicit(&s->stopping, memory_order_relaxed) != 0;
}

static drove_status stopped(const drove_sync *s)
{
    return drove__fail(DROVE_E_SYSTEM, "%s: stopped", s->ops->name);
}

/* Caller holds the mutex. */
static void wake_all(ssp_impl *p)
{
    /* Relaxed: the sleeper reads everything else under the mutex. */
    atomic_fetch_add_explicit(&p->advanced, 1, memory_order_relaxed);
    drove__futex_wake(&p->advanced);
}

/* Caller holds the mutex, which is given back while it waits; returns ns waited. */
static uint64_t wait_for_slowest(drove_sync *s, unsigned worker)
{
    ssp_impl *p = s->impl;
    if (p->clock[worker] - smallest_clock(s) <= p->bound) return 0;
    uint64_t begin_ns = drove__now_ns();
    while (p->clock[worker] - smallest_clock(s) > p->bound && !is_stopping(s)) {
        /* Read under the mutex: a change after it ends the sleep. */
        uint32_t seen = atomic_load_explicit(&p->advanced, memory_order_relaxed);
        drove__unlock(&p->mutex);
        drove__futex_wait(&p->advanced, seen, UINT64_MAX);
        (void)drove__lock(&p->mutex);
    }
    return drove__now_ns() - begin_ns;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    ssp_impl *p = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&p->mutex, &me->backoff);
    uint64_t wait_ns = wait_for_slowest(s, worker);
    bool stop = is_stopping(s);
    if (!stop) {
        s->optim->kernels->copy_f32(me->copy, p->vector, s->n_vector);
        drove__spend_fetch(p->vector, s->n_vector);
        me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    }
    drove__unlock(&p->mutex);
    if (stop) return stopped(s);
    *view = (drove_view){.vector = me->copy,
                         .version = me->version,
                         .order = me->version,
                         .wait_ns = cost.wait_ns + wait_ns,
                         .backoff_ns = cost.backoff_ns};
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    ssp_impl *p = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&p->mutex, &me->backoff);
    bool stop = is_stopping(s);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    uint64_t staleness = published - me->version;
    if (!stop) {
        drove__optim_apply(s->optim, step, staleness, published + 1, 0, s->optim->n, p->vector,
                           p->vector);
        atomic_store_explicit(&s->published, published + 1, memory_order_relaxed);
        uint64_t before = smallest_clock(s);
        p->clock[worker]++;
        if (smallest_clock(s) != before) wake_all(p);
    }
    drove__unlock(&p->mutex);
    if (stop) return stopped(s);
    *info = (drove_publish_info){.staleness = staleness,
                                 .order = published,
                                 .wait_ns = cost.wait_ns,
                                 .backoff_ns = cost.backoff_ns,
                                 .attempts = cost.attempts,
                                 .updated = 1};
    return DROVE_OK;
}

static uint64_t snapshot(drove_sync *s, float *out)
{
    ssp_impl *p = s->impl;
    (void)drove__lock(&p->mutex);
    s->optim->kernels->copy_f32(out, p->vector, s->n_vector);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    drove__unlock(&p->mutex);
    return published;
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = ((const ssp_impl *)s->impl)->vector};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    ssp_impl *p = s->impl;
    (void)st; /* parked workers have equal clocks: all begin again at 0 */
    for (unsigned w = 0; w < s->n_workers; w++)
        if (p->clock[w] != LOST) p->clock[w] = 0;
    memcpy(p->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    ssp_impl *p = s->impl;
    (void)drove__lock(&p->mutex);
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    wake_all(p);
    drove__unlock(&p->mutex);
}

/* Nobody waits for it any more. */
static void leave(drove_sync *s, unsigned worker)
{
    ssp_impl *p = s->impl;
    (void)drove__lock(&p->mutex);
    p->clock[worker] = LOST;
    wake_all(p);
    drove__unlock(&p->mutex);
}

static const char *const variants[] = {"ssp:0", "ssp:1", "ssp:4", NULL};

static const drove_sync_places places = {
    .not_ranks = "its workers step on one vector in shared memory", .snapshot = snapshot};

const drove_sync_ops drove__sync_ssp = {
    .name = "ssp",
    .help = "stale-synchronous: nobody more than S steps ahead of the slowest",
    .source = "thesis section 2.2.2",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = DROVE_SYNC_BACKOFF,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .batches = "rounds",
    .stop = stop,
    .leave = leave,
    .places = &places,
};
