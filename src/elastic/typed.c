/* elastic/typed.c - words for each worker around a method that exchanges floats; see typed.h. */
#include "elastic/typed.h"

#include <string.h>

typedef struct typed_worker {
    drove_params own;    /* words [optim->n] */
    float *zero;         /* [n_floats] the step of an exchange */
    uint64_t since;      /* steps after the last exchange */
    uint64_t since_call; /* calls of live after it */
    uint64_t most_each;  /* steps of one call: the same for all workers but for a short last one */
    uint64_t n_exchanges;
} DROVE_ALIGNED_CACHE_LINE typed_worker;

typedef struct typed_impl {
    drove_sync_ops ops; /* of the row, with the slots below */
    drove_sync *method;
    drove_optim *optim; /* the method's: plain SGD on floats */
    drove_sync_convert convert;
    typed_worker *worker; /* [n_workers] */
    drove_params seen;    /* words [optim->n] peek */
    uint64_t period;
} typed_impl;

/* The first member of each method's own. */
static drove_elastic *elastic_of(const typed_impl *p)
{
    return p->method->impl;
}

static bool is_here(const typed_impl *p, unsigned worker)
{
    return drove__transport_is_here(elastic_of(p)->transport, worker);
}

static void unpack(const typed_impl *p, unsigned worker)
{
    float *w = p->method->ops->replicas->vector(p->method, worker);
    p->convert.unpack(p->convert.context, p->worker[worker].own.words, w);
}

/* ---- steps ---- */

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    return ((typed_impl *)s->impl)->worker[worker].own;
}

/* Due is decided by calls, of which all workers make the same number. */
static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    typed_impl *p = s->impl;
    typed_worker *me = &p->worker[worker];
    *info = (drove_publish_info){.attempts = 1, .order = DROVE_NO_ORDER};
    if (n_steps > me->most_each) me->most_each = n_steps;
    me->since += n_steps;
    me->since_call++;
    if (me->since_call * me->most_each >= p->period) {
        drove_sync *m = p->method;
        const drove_step nothing = {.value = me->zero, .eta = m->optim->lr};
        drove_view view;
        unpack(p, worker);
        elastic_of(p)->of[worker].since = me->since - 1; /* and the step of nothing makes it all */
        DROVE_TRY(m->ops->acquire(m, worker, &view));
        drove__sync_release(m, worker);
        DROVE_TRY(m->ops->publish(m, worker, &nothing, info));
        p->convert.pack(p->convert.context, worker, me->n_exchanges++,
                        m->ops->replicas->vector(m, worker), me->own.words);
        me->since = me->since_call = 0;
    }
    /* Updates are rounds where all workers meet, else steps of single workers.  Relaxed: read for
     * display, and, when the workers are parked, behind the parking's lock. */
    if (s->batches_per_update <= 1 || worker == elastic_of(p)->transport->first_worker)
        atomic_fetch_add_explicit(&s->published, n_steps, memory_order_relaxed);
    info->updated = s->batches_per_update == 1 || worker == 0;
    return DROVE_OK;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)worker;
    *view = (drove_view){.vector = NULL};
    return drove__fail(DROVE_E_UNSUPPORTED, "%s: low-precision parameters are lent by live alone",
                       s->ops->name);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)worker, (void)step, (void)info;
    return drove__fail(DROVE_E_UNSUPPORTED, "%s: low-precision parameters take no gradients",
                       s->ops->name);
}

static void stop(drove_sync *s)
{
    drove_sync *m = ((typed_impl *)s->impl)->method;
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed); /* the method wakes who waits */
    m->ops->stop(m);
}

static void leave(drove_sync *s, unsigned worker)
{
    drove_sync *m = ((typed_impl *)s->impl)->method;
    m->ops->leave(m, worker);
}

/* ---- parked ---- */

/* The method's replicas are where the words are. */
static void catch_up(drove_sync *s)
{
    typed_impl *p = s->impl;
    for (unsigned w = 0; w < s->n_workers; w++) {
        if (!is_here(p, w)) continue;
        unpack(p, w);
        elastic_of(p)->of[w].since = p->worker[w].since;
    }
}

static drove_status parked(drove_sync *s)
{
    drove_sync *m = ((typed_impl *)s->impl)->method;
    catch_up(s);
    return drove__sync_parked(m);
}

static drove_params peek(drove_sync *s)
{
    typed_impl *p = s->impl;
    catch_up(s);
    p->convert.pack(p->convert.context, DROVE_SYNC_SHARED, 0, p->method->ops->peek(p->method).theta,
                    p->seen.words);
    return p->seen;
}

static size_t tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    drove_sync *m = ((typed_impl *)s->impl)->method;
    catch_up(s);
    return m->ops->tensors(m, out, most);
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    typed_impl *p = s->impl;
    drove_sync *m = p->method;
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    float *theta = drove__alloc(p->convert.n_floats, sizeof *theta);
    if (theta == NULL) return drove__sync_no_memory(s);
    p->convert.unpack(p->convert.context, vector->words, theta);
    drove_status status = drove__sync_restore(m, published, &(drove_params){.theta = theta}, st);
    drove__free(theta);
    DROVE_TRY(status);
    for (unsigned w = 0; w < s->n_workers; w++) {
        if (!is_here(p, w)) continue;
        typed_worker *me = &p->worker[w];
        me->since = elastic_of(p)->of[w].since;
        me->since_call = me->since > 0;
        me->most_each = me->since;
        p->convert.pack(p->convert.context, DROVE_SYNC_SHARED, 0, m->ops->replicas->vector(m, w),
                        me->own.words);
    }
    return DROVE_OK;
}

static const drove_sync_live_ops live = {.begin = live_begin, .done = live_done};
static const drove_sync_replica_ops words = {.parked = parked};

bool drove__elastic_facts(const drove_sync *s, drove_elastic_facts *out)
{
    if ((s->needs & DROVE_SYNC_SPREAD) == 0) return false;
    if (s->ops->replicas == &words) {
        const typed_impl *p = s->impl;
        bool known = drove__elastic_facts(p->method, out);
        out->period = p->period;
        return known;
    }
    const drove_elastic *e = s->impl; /* the first member of each strategy's own */
    bool has_pull = e->alpha_limit > 0.0;
    double eta_rho = (double)(s->optim->lr * e->rho);
    *out = (drove_elastic_facts){.period = e->of[e->transport->first_worker].period,
                                 .period_is_auto = e->period_is_auto,
                                 .has_pull = has_pull,
                                 .alpha = !has_pull               ? 0.0
                                          : e->fixed_alpha > 0.0f ? (double)e->fixed_alpha
                                                                  : eta_rho};
    return true;
}

/* ---- setting up ---- */

static drove_status make_method(drove_sync *s, const drove_sync_options *opt,
                                const drove_params *start)
{
    typed_impl *p = s->impl;
    const drove_optim_options plain = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = (double)s->optim->lr,
                                       .n_params = p->convert.n_floats,
                                       .n_workers = s->n_workers,
                                       .kernels = s->optim->kernels};
    DROVE_TRY(drove__optim_create(&plain, &p->optim));
    drove_sync_options of_floats = *opt;
    of_floats.layout = NULL;
    of_floats.convert = NULL;
    of_floats.optim = p->optim;
    float *theta = drove__alloc(p->convert.n_floats, sizeof *theta);
    if (theta == NULL) return drove__sync_no_memory(s);
    p->convert.unpack(p->convert.context, start->words, theta);
    drove_status status =
        drove__sync_create(s->ops, &of_floats, &(drove_params){.theta = theta}, &p->method);
    drove__free(theta);
    return status;
}

static void fini(drove_sync *s)
{
    typed_impl *p = s->impl;
    for (unsigned w = 0; p->worker != NULL && w < s->n_workers; w++) {
        drove__sync_params_free(s, &p->worker[w].own);
        drove__free(p->worker[w].zero);
    }
    drove__free(p->worker);
    drove__sync_params_free(s, &p->seen);
    drove__sync_destroy(p->method);
    drove__optim_destroy(p->optim);
    drove__free(p);
}

drove_status drove__typed_init(drove_sync *s, const drove_sync_options *opt,
                               const drove_params *start)
{
    if (opt->period != NULL && strcmp(opt->period, "auto") == 0)
        return drove__fail(DROVE_E_ARG, "--period auto: expected a number of steps with "
                                        "low-precision parameters");
    if (opt->by_layer)
        return drove__fail(DROVE_E_ARG, "--messages layers: expected packed with low-precision "
                                        "parameters");
    typed_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    p->convert = *opt->convert;

    /* The row's table with the slots of this file. */
    p->ops = *s->ops;
    p->ops.fini = fini;
    p->ops.acquire = acquire;
    p->ops.publish = publish;
    p->ops.peek = peek;
    p->ops.restore = restore;
    p->ops.gradient = NULL;
    p->ops.tensors = s->ops->tensors != NULL ? tensors : NULL;
    p->ops.stop = stop;
    p->ops.replicas = &words;
    p->ops.leave = s->ops->leave != NULL ? leave : NULL;

    s->live = &live;
    s->impl = p;
    drove_status status = make_method(s, opt, start);
    s->ops = &p->ops; /* also for fini after a failure */
    DROVE_TRY(status);
    p->period = elastic_of(p)->period;
    s->batches_per_update = p->method->batches_per_update;
    s->most_steps = p->period;

    p->worker = drove__alloc(s->n_workers, sizeof *p->worker);
    p->seen = drove__sync_first_params(s, DROVE_SYNC_SHARED, start);
    if (p->worker == NULL || p->seen.words == NULL) return drove__sync_no_memory(s);
    for (unsigned w = 0; w < s->n_workers; w++) {
        typed_worker *me = &p->worker[w];
        if (!is_here(p, w)) continue;
        me->own = drove__sync_first_params(s, w, start);
        me->zero = drove__alloc(p->convert.n_floats, sizeof *me->zero);
        if (me->own.words == NULL || me->zero == NULL) return drove__sync_no_memory(s);
        elastic_of(p)->of[w].period = 1; /* exchanges whenever it is asked */
    }
    return DROVE_OK;
}
