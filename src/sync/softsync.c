/* sync/softsync.c - n-softsync: an update is made of n contributions, whoever they come from.
 *
 * Source: thesis section 2.2.2 (after Zhang et al., IJCAI 2016).  Contributions are summed under a
 * mutex; the one that completes a group applies the rule to their mean, with the mean of their step
 * sizes and the rounded mean of their stalenesses.  n is clamped to the number of workers that are
 * left.  Nobody waits for another worker's step.
 *
 * Contributions of an unfinished group are not in the parameters yet; they are part of the saved
 * state.  Of a worker that is killed while it contributes, that contribution counts in part, or,
 * if it completes a group, the group does.
 */
#include "base/lock.h"
#include "base/cost.h"
#include "sync/lock.h"
#include "sync/sync.h"

#include <stdio.h>
#include <string.h>

enum { PENDING, STALENESS, N_COUNTS }; /* unfinished group: contributions, sum of stalenesses */

static const char name_sum[] = "softsync.sum", name_eta[] = "softsync.eta",
                  name_counts[] = "softsync.counts";

typedef struct softsync_impl {
    pthread_mutex_t mutex; /* protects all that follows and, for writing, s->published */
    float *vector;         /* [n_vector] */
    float *sum;            /* [n] of the contributions; meaningless while there are none */
    uint64_t counts[N_COUNTS];
    double eta;             /* sum of the contributions' step sizes */
    uint64_t n_contributed; /* since init */
    unsigned group, n_left; /* contributions of an update; workers that are not lost */
} softsync_impl;

typedef struct settings {
    uint64_t n;
} settings;

static const drove_spec_key keys[] = {
    {"N", "2", DROVE_AS_COUNT(settings, n, 1, UINT32_MAX), .is_argument = true,
     .help = "contributions that make an update"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    settings set;
    DROVE_TRY(drove__spec_take(opt->spec, keys, &set));
    softsync_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    drove_status status = drove__lock_init(&p->mutex);
    if (status != DROVE_OK) {
        drove__free(p);
        return status;
    }
    s->impl = p;
    p->n_left = s->n_workers;
    p->group = s->batches_per_update = set.n < s->n_workers ? (unsigned)set.n : s->n_workers;
    p->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    p->sum = drove__alloc(s->optim->n, sizeof *p->sum);
    if (p->vector == NULL || p->sum == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

static void fini(drove_sync *s)
{
    softsync_impl *p = s->impl;
    (void)pthread_mutex_destroy(&p->mutex);
    drove__sync_vector_free(s, p->vector);
    drove__free(p->sum);
    drove__free(p);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    softsync_impl *p = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&p->mutex, &me->backoff);
    s->optim->kernels->copy_f32(me->copy, p->vector, s->n_vector);
    drove__spend_fetch(p->vector, s->n_vector);
    /* Relaxed here and in publish: written under the mutex only; others merely look. */
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    const uint64_t order = p->n_contributed;
    drove__unlock(&p->mutex);
    *view = (drove_view){.vector = me->copy,
                         .version = me->version,
                         .order = order,
                         .wait_ns = cost.wait_ns,
                         .backoff_ns = cost.backoff_ns};
    return DROVE_OK;
}

/* Caller holds the mutex. */
static void contribute(drove_sync *s, const drove_step *step, uint64_t staleness)
{
    softsync_impl *p = s->impl;
    const drovek_table *k = s->optim->kernels;
    size_t n = s->optim->n;
    bool first = p->counts[PENDING] == 0;
    if (first) p->eta = 0.0;
    if (step->span == NULL && first) k->copy_f32(p->sum, step->value, n);
    else if (step->span == NULL) k->axpy_f32(p->sum, step->value, n, 1.0f);
    else {
        if (first) memset(p->sum, 0, n * sizeof *p->sum);
        for (size_t i = 0; i < step->n_spans; i++) {
            const drove_span *span = &step->span[i];
            k->axpy_f32(p->sum + span->offset, step->value + span->offset, span->length, 1.0f);
        }
    }
    drove__spend_change(p->sum, n);
    p->counts[STALENESS] = (first ? 0 : p->counts[STALENESS]) + staleness;
    p->counts[PENDING]++;
    p->eta += (double)step->eta;
}

/* Caller holds the mutex; the group is complete, and gone whatever happens from here on. */
static void apply_group(drove_sync *s, uint64_t t)
{
    softsync_impl *p = s->impl;
    uint64_t n = p->counts[PENDING];
    p->counts[PENDING] = 0;
    s->optim->kernels->scale_f32(p->sum, s->optim->n, 1.0f / (float)n);
    drove__spend_change(p->sum, s->optim->n);
    drove_step mean = {.value = p->sum, .eta = (float)(p->eta / (double)n)};
    uint64_t staleness = (p->counts[STALENESS] + n / 2) / n;
    drove__optim_apply(s->optim, &mean, staleness, t, 0, s->optim->n, p->vector, p->vector);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    softsync_impl *p = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    drove_lock_cost cost = drove__lock_mutex(&p->mutex, &me->backoff);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    uint64_t staleness = published - me->version;
    bool complete = p->counts[PENDING] + 1 >= p->group;
    if (complete && p->counts[PENDING] == 0) /* a group of one: the step itself */
        drove__optim_apply(s->optim, step, staleness, published + 1, 0, s->optim->n, p->vector,
                           p->vector);
    else {
        contribute(s, step, staleness);
        if (complete) apply_group(s, published + 1);
    }
    if (complete) atomic_store_explicit(&s->published, published + 1, memory_order_relaxed);
    const uint64_t order = p->n_contributed++;
    drove__unlock(&p->mutex);
    *info = (drove_publish_info){.staleness = staleness,
                                 .order = order,
                                 .wait_ns = cost.wait_ns,
                                 .backoff_ns = cost.backoff_ns,
                                 .attempts = cost.attempts,
                                 .updated = complete};
    return DROVE_OK;
}

static uint64_t snapshot(drove_sync *s, float *out)
{
    softsync_impl *p = s->impl;
    (void)drove__lock(&p->mutex);
    s->optim->kernels->copy_f32(out, p->vector, s->n_vector);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    drove__unlock(&p->mutex);
    return published;
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = ((const softsync_impl *)s->impl)->vector};
}

static size_t tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    softsync_impl *p = s->impl;
    const drove_tensor all[] = {
        {.type = DROVE_T_F32, .rank = 1, .shape = {s->optim->n}, .bytes = p->sum},
        {.type = DROVE_T_F64, .rank = 1, .shape = {1}, .bytes = &p->eta},
        {.type = DROVE_T_U64, .rank = 1, .shape = {N_COUNTS}, .bytes = p->counts},
    };
    const char *const names[] = {name_sum, name_eta, name_counts};
    if (p->counts[PENDING] == 0 || most < DROVE_COUNT(all)) return 0;
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        out[i] = all[i];
        (void)snprintf(out[i].name, sizeof out[i].name, "%s", names[i]);
    }
    return DROVE_COUNT(all);
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    softsync_impl *p = s->impl;
    const void *sum = NULL, *eta = NULL, *counts = NULL;
    bool pending = st != NULL && drove__safetensors_find(st, name_counts) != NULL;
    if (pending) {
        DROVE_TRY(drove__safetensors_want(st, name_sum, DROVE_T_F32, s->optim->n, &sum));
        DROVE_TRY(drove__safetensors_want(st, name_eta, DROVE_T_F64, 1, &eta));
        DROVE_TRY(drove__safetensors_want(st, name_counts, DROVE_T_U64, N_COUNTS, &counts));
        uint64_t n_pending;
        memcpy(&n_pending, counts, sizeof n_pending);
        if (n_pending > UINT32_MAX)
            return drove__fail(DROVE_E_DATA, "%s: expected at most %u contributions, found %llu",
                               name_counts, UINT32_MAX, (unsigned long long)n_pending);
        memcpy(p->sum, sum, s->optim->n * sizeof *p->sum);
        memcpy(&p->eta, eta, sizeof p->eta);
        memcpy(p->counts, counts, sizeof p->counts);
    } else {
        memset(p->counts, 0, sizeof p->counts);
    }
    memcpy(p->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}

/* A group that waits for nobody else any more is complete. */
static void leave(drove_sync *s, unsigned worker)
{
    softsync_impl *p = s->impl;
    (void)worker;
    (void)drove__lock(&p->mutex);
    if (p->n_left > 1) p->n_left--;
    if (p->group > p->n_left) p->group = p->n_left;
    if (p->counts[PENDING] >= p->group) {
        uint64_t t = atomic_load_explicit(&s->published, memory_order_relaxed) + 1;
        apply_group(s, t);
        atomic_store_explicit(&s->published, t, memory_order_relaxed);
    }
    drove__unlock(&p->mutex);
}

static const char *const variants[] = {"softsync:1", "softsync:2", "softsync:4", NULL};

static const drove_sync_places places = {
    .not_ranks = "its workers step on one vector in shared memory", .snapshot = snapshot};

const drove_sync_ops drove__sync_softsync = {
    .name = "softsync",
    .help = "n-softsync: an update is the mean of N contributions",
    .source = "Zhang et al., IJCAI 2016; thesis section 2.2.2",
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
    .tensors = tensors,
    .restore = restore,
    .leave = leave,
    .places = &places,
};
