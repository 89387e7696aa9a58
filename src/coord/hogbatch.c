/* coord/hogbatch.c - how the workers of Hogbatch and Adaptive Hogbatch share the parameters.
 *
 * Source: Ma and Rusu, Algorithms 1 and 2 and section 6.2.  One vector that all read and write at
 * once, as HOGWILD! does (races R1 and R2 of docs/inside/memory-model.md).  Workers of this
 * machine's cores work on it by reference.  A device has its copy, made while others write (R3);
 * its step is added to the parameters as they are by then, so that no other worker's step is lost
 * in between; or, with merge=replace, the parameters that it has arrived at are written over all
 * others (R2).
 *
 * With update=coordinator the same publish is called by one thread alone.
 *
 * Over ranks the vector lies in a parameter server at rank 0 (elastic/server.c), which applies the
 * ranks' gradients one after the other: what update=coordinator asks for.
 */
#include "coord/method.h"
#include "strategy/shared.h"

#include <string.h>

typedef struct hogbatch {
    float *vector; /* [n_vector] */
    drove_method method;
} hogbatch;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    hogbatch *h = drove__alloc(1, sizeof *h);
    s->impl = h;
    if (h == NULL) return drove__sync_no_memory(s);
    DROVE_TRY(drove__method_parse(opt->spec, &h->method));
    h->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    if (h->vector == NULL) return drove__sync_no_memory(s);
    if (!h->method.replaces || opt->is_deep == NULL) return DROVE_OK;
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (!opt->is_deep[i]) continue;
        s->worker[i].copy = drove__sync_vector(s, i);
        if (s->worker[i].copy == NULL) return drove__sync_no_memory(s);
    }
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    hogbatch *h = s->impl;
    if (h == NULL) return;
    drove__sync_vector_free(s, h->vector);
    drove__free(h);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    hogbatch *h = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    /* Relaxed here and below: the count says how many and orders nothing, as nothing here is. */
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    if (me->copy != NULL) drove__sync_copy_from(s, h->vector, me->copy);
    *view = (drove_view){.vector = me->copy != NULL ? me->copy : h->vector, .version = me->version};
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    hogbatch *h = s->impl;
    drove_sync_worker *me = &s->worker[worker];
    uint64_t before = atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
    *info = (drove_publish_info){.staleness = before - me->version, .attempts = 1, .updated = 1};
    if (me->copy == NULL) {
        drove__sync_apply_from(s, step, worker, s->n_workers, info->staleness, before + 1,
                               h->vector);
        return DROVE_OK;
    }
    drove__sync_apply_from(s, step, 0, 1, info->staleness, before + 1, me->copy);
    drove__sync_copy_from(s, me->copy, h->vector);
    return DROVE_OK;
}

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    s->worker[worker].version = atomic_load_explicit(&s->published, memory_order_relaxed);
    return (drove_params){.theta = ((hogbatch *)s->impl)->vector};
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    uint64_t before = atomic_fetch_add_explicit(&s->published, n_steps, memory_order_relaxed);
    *info = (drove_publish_info){.staleness = (before - s->worker[worker].version) / n_steps,
                                 .attempts = 1,
                                 .updated = 1};
    return DROVE_OK;
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = ((hogbatch *)s->impl)->vector};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(((hogbatch *)s->impl)->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}

static const char *const hogbatch_variants[] = {"hogbatch", "hogbatch:mixed",
                                                "hogbatch?merge=replace",
                                                "hogbatch?update=coordinator", NULL};
static const char *const adaptive_variants[] = {"adaptive", NULL};

static const drove_sync_places places = {
    .not_procs = "its coordinator gives out batches through a queue of this process",
    .over_ranks = "psgd-async",
};
static const drove_sync_live_ops live = {.begin = live_begin, .done = live_done};

#define HOGBATCH                                                                                   \
    .promises = DROVE_SYNC_LOCK_FREE | DROVE_SYNC_SEQUENTIAL, .needs = DROVE_SYNC_RACY,            \
    .init = init, .fini = fini, .acquire = acquire, .publish = publish, .peek = peek,              \
    .restore = restore, .batches = "assigned", .places = &places, .live = &live

const drove_sync_ops drove__sync_hogbatch = {
    HOGBATCH,
    .name = "hogbatch",
    .help = "a coordinator gives batches to cores, devices and ranks, --batch examples for each",
    .source = "Ma and Rusu, Algorithm 1 and section 6.2",
    .variants = hogbatch_variants,
    .keys = drove__hogbatch_keys,
};

const drove_sync_ops drove__sync_adaptive = {
    HOGBATCH,
    .name = "adaptive",
    .help = "hogbatch whose batch sizes follow the workers' updates",
    .source = "Ma and Rusu, Algorithm 2",
    .variants = adaptive_variants,
    .keys = drove__adaptive_keys,
};
