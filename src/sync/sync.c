/* sync/sync.c - SyncSGD: each round every worker takes one step at the same parameters, and the
 * mean of all is applied.
 *
 * Source: thesis section 2.2.2.  A round has three parts, with a meeting of all workers after the
 * first and the second:
 *   gradient   everyone reads the shared vector, nobody writes it
 *   update     worker w averages and applies slice w of the vector, reading every worker's step
 *              where it lies
 *   (next round)
 * The order of additions is a tree over the worker numbers, so the result does not depend on
 * timing.
 *
 * Invariants: the vector and `published` change between the two meetings only; a step is read
 * between them only, while its owner is inside publish.  A worker leaves the first meeting without
 * a round only when the run is being stopped, and then no worker of that meeting passes it: one
 * word counts the meetings and says whether the run is being stopped, so either the last to come
 * changes it first, or who stops does.  The second meeting cannot be stopped, since all who passed
 * the first are on their way; unless one is killed there, when who looks after the workers ends
 * the others.
 */
#include "base/available.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/relax.h"
#include "base/cost.h"
#include "sync/sync.h"

#include <string.h>

#define BLOCK 4096u /* floats averaged at a time: fits the first-level cache; 16 divides it */
/* Rests before a waiting worker sleeps: as long as it takes to be woken on a virtual machine, some
 * 50 to 150 us, where each worker has a processor; else the others need this one. */
#define SPIN_ROUNDS 16384u

typedef struct sync_slot { /* one per worker */
    drove_step
        step;     /* written by its worker before the first meeting, read by all until the next */
    float *spare; /* [n_spares][BLOCK], its worker's alone */
} DROVE_ALIGNED_CACHE_LINE sync_slot;

typedef struct sync_impl {
    float *vector;   /* [n_vector] */
    float *mean;     /* [n]; slice w is worker w's */
    sync_slot *slot; /* [n_workers] */
    unsigned spins;  /* of a waiting worker */
    _Atomic unsigned arrived DROVE_ALIGNED_CACHE_LINE;
    _Atomic uint32_t meetings DROVE_ALIGNED_CACHE_LINE; /* held so far x MEETING, + STOPPED */
} sync_impl;

enum { STOPPED = 1, MEETING = 2 };

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt;
    sync_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    s->batches_per_update = s->n_workers;
    p->spins = s->n_workers <= drove__processors_allowed() ? SPIN_ROUNDS : SPIN_ROUNDS / 16;
    p->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    p->mean = drove__alloc(s->optim->n, sizeof *p->mean);
    p->slot = drove__alloc(s->n_workers, sizeof *p->slot);
    if (p->vector == NULL || p->mean == NULL || p->slot == NULL) return drove__sync_no_memory(s);
    /* Blocks that sum_tree needs: none for up to three workers, one more with each doubling. */
    unsigned n_spares = 0;
    for (unsigned n = s->n_workers; n >= 4; n /= 2) n_spares++;
    for (unsigned w = 0; w < s->n_workers; w++) {
        p->slot[w].spare = drove__alloc(n_spares, BLOCK * sizeof(float));
        if (p->slot[w].spare == NULL) return drove__sync_no_memory(s);
    }
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    sync_impl *p = s->impl;
    for (unsigned w = 0; p->slot != NULL && w < s->n_workers; w++) drove__free(p->slot[w].spare);
    drove__sync_vector_free(s, p->vector);
    drove__free(p->mean);
    drove__free(p->slot);
    drove__free(p);
}

static drove_status stopped(const drove_sync *s)
{
    return drove__fail(DROVE_E_SYSTEM, "%s: stopped", s->ops->name);
}

/* The last of a meeting lets all go.  False: the run is being stopped, and nobody goes. */
static bool open_meeting(sync_impl *p, uint32_t meeting, bool may_stop)
{
    uint32_t running = meeting;
    /* Relaxed: nobody arrives again before the release below. */
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    /* Release: all that was written before this meeting; pairs with has_opened. */
    if (may_stop) {
        if (!atomic_compare_exchange_strong_explicit(&p->meetings, &running, meeting + MEETING,
                                                     memory_order_release, memory_order_relaxed))
            return false;
    } else {
        atomic_fetch_add_explicit(&p->meetings, MEETING, memory_order_release);
    }
    drove__futex_wake(&p->meetings);
    return true;
}

static bool has_opened(sync_impl *p, uint32_t meeting, uint32_t *now)
{
    *now = atomic_load_explicit(&p->meetings, memory_order_acquire); /* pairs with open_meeting */
    return (*now & ~(uint32_t)STOPPED) != meeting;
}

/* Everyone else waits: for a moment awake, then asleep. */
static bool await_meeting(sync_impl *p, uint32_t meeting, bool may_stop)
{
    uint32_t now;
    for (unsigned i = 0; i < p->spins && drove__actor == NULL; i++) {
        if (has_opened(p, meeting, &now)) return true;
        drove__relax();
    }
    while (!has_opened(p, meeting, &now)) {
        if (may_stop && (now & STOPPED) != 0) return false;
        drove__futex_wait(&p->meetings, now, UINT64_MAX);
    }
    return true;
}

/* All workers meet here; adds the time waited to info.  `closing`: the second meeting of the round,
 * whose last worker counts the update. */
static drove_status meet(drove_sync *s, bool closing, drove_publish_info *info)
{
    sync_impl *p = s->impl;
    /* Relaxed: this worker saw the present number when it passed the last meeting. */
    uint32_t meeting =
        atomic_load_explicit(&p->meetings, memory_order_relaxed) & ~(uint32_t)STOPPED;
    /* Release: what this worker wrote; acquire: what the others wrote, for the last one, who passes
     * it on. */
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) + 1 == s->n_workers) {
        if (closing) {
            atomic_fetch_add_explicit(&s->published, 1,
                                      memory_order_relaxed); /* ordered by the meeting */
            info->updated = 1;
        }
        return open_meeting(p, meeting, !closing) ? DROVE_OK : stopped(s);
    }
    uint64_t begin_ns = drove__now_ns();
    bool open = await_meeting(p, meeting, !closing);
    info->wait_ns += drove__now_ns() - begin_ns;
    return open ? DROVE_OK : stopped(s);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)worker;
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed) != 0) /* a hint */
        return stopped(s);
    *view = (drove_view){.vector = ((const sync_impl *)s->impl)->vector,
                         .version = atomic_load_explicit(&s->published, memory_order_relaxed)};
    return DROVE_OK;
}

/* to[length] = sum over workers [first, first + n) of their values at offset: the first `half`, the
 * largest power of 2 below n, plus the others. spare: a block for each further level. */
static void sum_tree(const drove_sync *s, unsigned first, unsigned n, size_t offset, size_t length,
                     float *to, float *spare)
{
    const drovek_table *k = s->optim->kernels;
    const sync_slot *slot = ((const sync_impl *)s->impl)->slot;
    if (n == 1) {
        k->copy_f32(to, slot[first].step.value + offset, length);
        return;
    }
    unsigned half = 1; /* the tree in which accum/ and cluster/ add, too */
    while (2 * half < n) half *= 2;
    sum_tree(s, first, half, offset, length, to, spare);
    if (n - half == 1) {
        k->axpy_f32(to, slot[first + half].step.value + offset, length, 1.0f);
        return;
    }
    sum_tree(s, first + half, n - half, offset, length, spare, spare + BLOCK);
    k->axpy_f32(to, spare, length, 1.0f);
}

/* Averages and applies worker's slice: whole cache lines, as equal as they go. */
static void apply_slice(drove_sync *s, unsigned worker)
{
    sync_impl *p = s->impl;
    unsigned n_workers = s->n_workers;
    size_t n_lines = (s->optim->n + 15) / 16;
    size_t offset = n_lines * worker / n_workers * 16,
           end = n_lines * (worker + 1) / n_workers * 16;
    if (end > s->optim->n) end = s->optim->n;
    uint64_t t = atomic_load_explicit(&s->published, memory_order_relaxed) + 1;
    if (n_workers == 1) { /* the mean is the step itself */
        drove__optim_apply(s->optim, &p->slot[0].step, 0, t, 0, end, p->vector, p->vector);
        return;
    }
    double eta = 0.0; /* the mean is exact where all are equal */
    for (unsigned w = 0; w < n_workers; w++) eta += (double)p->slot[w].step.eta;
    drove_step mean = {.value = p->mean, .eta = (float)(eta / n_workers)};
    while (offset < end) {
        size_t length = end - offset < BLOCK ? end - offset : BLOCK;
        sum_tree(s, 0, n_workers, offset, length, p->mean + offset, p->slot[worker].spare);
        s->optim->kernels->scale_f32(p->mean + offset, length, 1.0f / (float)n_workers);
        double taken_ns = 0.0;
        for (unsigned w = 0; w < n_workers; w++)
            taken_ns += drove__take(p->slot[w].step.value + offset, length, false);
        drove__spend_copy(n_workers * length, taken_ns); /* every worker's step is read */
        drove__optim_apply(s->optim, &mean, 0, t, offset, length, p->vector, p->vector);
        offset += length;
    }
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    sync_impl *p = s->impl;
    drove_publish_info made = {.attempts = 1};
    p->slot[worker].step = *step;
    DROVE_TRY(meet(s, false, &made));
    apply_slice(s, worker);
    DROVE_TRY(meet(s, true, &made));
    *info = made;
    return DROVE_OK;
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = ((const sync_impl *)s->impl)->vector};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(((sync_impl *)s->impl)->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    sync_impl *p = s->impl;
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    /* Relaxed: it decides whether a meeting is held, and passes nothing on. */
    atomic_fetch_or_explicit(&p->meetings, STOPPED, memory_order_relaxed);
    drove__futex_wake(&p->meetings);
}

static const char *const variants[] = {"sync", NULL};

static const drove_sync_places places = {
    .not_ranks = "its workers step on one vector in shared memory (allreduce: the same over ranks)",
    .not_beside = "its workers write the parameters together, between two meetings that no other "
                  "thread takes part in",
};

const drove_sync_ops drove__sync_sync = {
    .name = "sync",
    .help = "synchronous SGD: each update is the mean of one step from every worker",
    .source = "thesis section 2.2.2",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_DENSE,
    .variants = variants,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .batches = "rounds",
    .stop = stop,
    .places = &places,
};
