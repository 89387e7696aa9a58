/* strategy/strategy.c - what all strategies have in common: the object, its workers, and where
 * vectors lie.
 *
 * Everything here runs while no worker does.
 */
#include "strategy/strategy.h"

#include <assert.h>
#include <string.h>

const drove_sync_places drove__sync_one_vector = {
    .not_ranks = "its workers step on one vector in shared memory"};

const drove_sync_places *drove__sync_places(const drove_sync_ops *ops)
{
    static const drove_sync_places anywhere = {0};
    return ops->places != NULL ? ops->places : &anywhere;
}

const char *drove__sync_not_beside(const drove_sync_ops *ops)
{
    const drove_sync_places *places = drove__sync_places(ops);
    if (places->snapshot != NULL) return NULL;
    if (places->not_beside != NULL) return places->not_beside;
    if ((ops->needs & (DROVE_SYNC_SPREAD | DROVE_SYNC_OWN_VECTOR)) != 0)
        return "its workers have parameters of their own, which are one model only while they are "
               "parked";
    if ((ops->needs & DROVE_SYNC_RACY) != 0)
        return "its parameters change while they are copied, so that a copy holds parts of updates";
    return "its parameters can be copied only while the workers are parked";
}

const char *drove__sync_not_typed(const drove_sync_ops *ops)
{
    if ((ops->needs & DROVE_SYNC_TYPED) != 0) return NULL;
    const char *why = drove__sync_places(ops)->not_typed;
    if (why != NULL) return why;
    return "its workers publish gradients, and low-precision steps go straight into the parameters";
}

/* What the options ask that the strategy cannot do. */
static drove_status check_options(const drove_sync_ops *ops, const drove_sync_options *opt)
{
    if (opt->n_workers == 0)
        return drove__fail(DROVE_E_ARG, "%s: expected at least one worker, found 0", ops->name);
    if ((ops->needs & DROVE_SYNC_ONE) != 0 && opt->n_workers != 1)
        return drove__fail(DROVE_E_ARG, "%s: expected one worker, found %u", ops->name,
                           opt->n_workers);
    if (opt->layout != NULL && (ops->needs & DROVE_SYNC_TYPED) == 0)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected parameters that are floats, found low-precision ones: %s",
                           ops->name, drove__sync_not_typed(ops));
    if (opt->layout != NULL && opt->convert == NULL && (ops->needs & DROVE_SYNC_SPREAD) != 0)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected low-precision parameters with functions that "
                           "convert them, found none",
                           ops->name);
    return DROVE_OK;
}

static drove_status init_workers(drove_sync *s, const drove_sync_options *opt)
{
    const char *backoff = opt->backoff != NULL ? opt->backoff : "none";
    for (unsigned w = 0; w < s->n_workers; w++)
        DROVE_TRY(drove__backoff_init(&s->worker[w].backoff, backoff, opt->seed, w));
    if ((s->ops->needs & DROVE_SYNC_BACKOFF) == 0 &&
        s->worker[0].backoff.kind != DROVE_BACKOFF_NONE)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected back-off none, since it never tries twice; found \"%s\"",
                           s->ops->name, backoff);
    return DROVE_OK;
}

drove_status drove__sync_create(const drove_sync_ops *ops, const drove_sync_options *opt,
                                const drove_params *start, drove_sync **out)
{
    assert(opt->optim != NULL && (start->theta != NULL) == (opt->layout == NULL));
    DROVE_TRY(check_options(ops, opt));
    drove_sync *s = drove__alloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a strategy", sizeof *s);
    s->ops = ops;
    s->promises = ops->promises;
    s->needs = ops->needs;
    s->live = ops->live;
    s->slices = ops->slices;
    s->optim = opt->optim;
    s->topo = opt->topo;
    s->place = opt->place;
    s->n_vector = opt->optim->n_vector;
    s->n_workers = opt->n_workers;
    s->batches_per_update = 1;
    s->most_steps = UINT64_MAX;
    s->layout = (drove_layout){.number = DROVE_F32, .n_numbers = s->optim->n, .tail = s->optim->n};
    if (opt->layout != NULL) s->layout = *opt->layout;
    atomic_init(&s->published, 0);
    atomic_init(&s->stopping, 0);

    drove_spec bare = {.name = ops->name};
    drove_sync_options full = *opt;
    if (full.spec == NULL) full.spec = &bare;
    drove_status status = drove__spec_accept(full.spec, ops->keys);
    if (status != DROVE_OK) goto fail;
    s->worker = drove__alloc(s->n_workers, sizeof *s->worker);
    if (s->worker == NULL) {
        status = drove__sync_no_memory(s);
        goto fail;
    }
    if ((status = init_workers(s, &full)) != DROVE_OK) goto fail;
    if ((status = ops->init(s, &full, start)) != DROVE_OK) goto fail;
    *out = s;
    return DROVE_OK;
fail:
    drove__sync_destroy(s);
    return status;
}

void drove__sync_destroy(drove_sync *s)
{
    if (s == NULL) return;
    if (s->impl != NULL) s->ops->fini(s);
    for (unsigned w = 0; s->worker != NULL && w < s->n_workers; w++)
        drove__sync_vector_free(s, s->worker[w].copy);
    drove__free(s->worker);
    drove__free(s);
}

/* Of floats or words, which have the same size. */
static void *make_vector(const drove_sync *s, unsigned worker)
{
    if (s->topo == NULL) return drove__alloc(s->n_vector, sizeof(float));
    int node = worker != DROVE_SYNC_SHARED && s->place != NULL ? s->place[worker].node : -1;
    return drove__topo_alloc(s->topo, s->n_vector * sizeof(float), node);
}

static void free_vector(const drove_sync *s, void *bytes)
{
    if (bytes == NULL) return;
    if (s->topo == NULL) drove__free(bytes);
    else drove__topo_free(s->topo, bytes, s->n_vector * sizeof(float));
}

float *drove__sync_vector(const drove_sync *s, unsigned worker)
{
    return make_vector(s, worker);
}

void drove__sync_vector_free(const drove_sync *s, float *vector)
{
    free_vector(s, vector);
}

drove_status drove__sync_restore(drove_sync *s, uint64_t published, const drove_params *vector,
                                 const drove_safetensors *st)
{
    /* Relaxed: the workers are parked, and starting them orders this before their first step. */
    atomic_store_explicit(&s->published, published, memory_order_relaxed);
    return s->ops->restore(s, vector, st);
}

float *drove__sync_first_vector(const drove_sync *s, unsigned worker, const float *theta0)
{
    float *vector = drove__sync_vector(s, worker); /* zeroed: the rule's state starts at 0 */
    if (vector != NULL) memcpy(vector, theta0, s->optim->n * sizeof *vector);
    return vector;
}

drove_params drove__sync_first_params(const drove_sync *s, unsigned worker,
                                      const drove_params *start)
{
    void *bytes = make_vector(s, worker); /* zeroed */
    if (bytes != NULL) memcpy(bytes, drove__params_bytes(start), s->optim->n * sizeof(float));
    return start->words != NULL ? (drove_params){.words = bytes} : (drove_params){.theta = bytes};
}

void drove__sync_params_free(const drove_sync *s, drove_params *params)
{
    free_vector(s, drove__params_bytes(params));
    *params = (drove_params){0};
}

drove_status drove__sync_copies(drove_sync *s)
{
    for (unsigned w = 0; w < s->n_workers; w++) {
        s->worker[w].copy = drove__sync_vector(s, w);
        if (s->worker[w].copy == NULL) return drove__sync_no_memory(s);
    }
    return DROVE_OK;
}

drove_status drove__sync_no_memory(const drove_sync *s)
{
    return drove__fail_nomem("the workers' shared vectors", s->n_vector * sizeof(float));
}
