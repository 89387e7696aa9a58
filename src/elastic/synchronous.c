/* elastic/synchronous.c - Sync EASGD: all workers exchange with the centre together.
 *
 * Source: the paper, Algorithms 2 and 3, section 6.1; equations (1) and (2), or with the rule
 * momentum (6).  In a step that exchanges (every tau-th), all values as they were before it:
 *     S = sum of W^i, in the fixed tree      W^i += step - alpha (W^i - c)
 *     c += alpha (S - P c)
 *
 *   easgd-sync1   c at the master, which is no worker; broadcast, reduction and update one after
 *                 the other (Algorithm 2)
 *   easgd-sync2   c at worker 0 (Algorithm 3)
 *   easgd-sync3   every worker keeps c, and all change it alike, so one all-reduce of W^i is
 *                 enough.  It runs from acquire to publish, while the gradient is computed.
 *                 ?centre=one: c at worker 0; its broadcast and the reduction of W^i overlap, as in
 *                 the paper
 *
 * The three give the same bits: the same sums in the same order.  On cores the master of sync1 is
 * memory interleaved over the nodes; worker 0's thread does its arithmetic.
 *
 * With --precision C16s, C8s or C1s easgd-sync3 sends W^i - c in so many bits; S is their sum, and
 * c += alpha S.
 *
 * An update is a round, in which every worker makes one step; worker 0 publishes it.
 */
#include "elastic/common.h"

#include "base/clock.h"
#include "elastic/typed.h"

#include <string.h>

typedef struct synchronous_impl {
    drove_elastic e; /* of[i].c: the centre, or worker i's last copy */
    drove_sync *sync;
    bool is_early; /* exchanges begin before the gradient is computed */
    bool is_one;   /* one centre: worker 0's c */
    float *seen;   /* [n_vector] for peek in processes without the centre; else NULL */
} synchronous_impl;

/* ---- setting up ---- */

typedef struct settings {
    bool has_one_centre;
} settings;

static const char *const centres[] = {"each", "one", NULL};
static const drove_spec_key keys[] = {
    /* of easgd-sync3: the others have one */
    {"centre", "each", DROVE_AS_EITHER(settings, has_one_centre, centres),
     .help = "each worker keeps the centre, or one does: a broadcast and a reduction"},
    DROVE_SPEC_END,
};

/* The row's pattern says how its method exchanges. */
static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    const drove_exchange_pattern *pattern = s->ops->exchange_pattern;
    settings set = {.has_one_centre = true};
    if (s->ops->keys != NULL) DROVE_TRY(drove__spec_take(opt->spec, keys, &set));
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_C | DROVE_ELASTIC_SUM,
                                     .period = 1,
                                     .may_encode = !set.has_one_centre,
                                     .alpha_limit = 2.0 / (s->n_workers + 1.0)};
    synchronous_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    s->batches_per_update = s->n_workers;
    p->sync = s;
    p->is_early = pattern->overlap == DROVE_OVERLAP_ALL;
    p->is_one = set.has_one_centre;
    DROVE_TRY(drove__elastic_init(&p->e, s, opt, &kind, start));
    if (p->is_one && !drove__transport_is_here(p->e.transport, 0)) {
        p->seen = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
        if (p->seen == NULL) return drove__sync_no_memory(s);
    } else if (pattern->at_master) {
        drove__sync_vector_free(s, p->e.of[0].c);
        p->e.of[0].c = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
        if (p->e.of[0].c == NULL) return drove__sync_no_memory(s);
    }
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    synchronous_impl *p = s->impl;
    drove__elastic_fini(&p->e, s);
    drove__sync_vector_free(s, p->seen);
    drove__free(p);
}

/* ---- a step ---- */

static drove_status begin_down(synchronous_impl *p, unsigned worker, bool is_early)
{
    drove_elastic_worker *me = &p->e.of[worker];
    const drove_exchange x = {.kind = DROVE_BROADCAST,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = worker == 0 ? me->c : NULL,
                              .out = me->c};
    return drove__transfer_begin(&p->e, worker, &me->down, &x, DROVE_CHANNELS_OF_TRANSFER,
                                 is_early);
}

static drove_status begin_up(synchronous_impl *p, unsigned worker, bool is_early)
{
    drove_elastic_worker *me = &p->e.of[worker];
    bool differs = drove__elastic_differs(&p->e, p->sync, worker);
    const drove_exchange x = {.kind = p->is_one ? DROVE_REDUCE : DROVE_ALL_REDUCE,
                              .channel = DROVE_CHANNEL_UP,
                              .in = differs ? me->sum : me->w,
                              .out = p->is_one && worker != 0 ? NULL : me->sum};
    return drove__transfer_begin(&p->e, worker, &me->up, &x, DROVE_CHANNELS_OF_TRANSFER, is_early);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    synchronous_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    DROVE_TRY(drove__elastic_view(&p->e, s, worker, me->steps, view));
    if (!p->is_early || !drove__elastic_is_due(me)) return DROVE_OK;
    if (p->is_one) DROVE_TRY(begin_down(p, worker, true));
    return begin_up(p, worker, true);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    synchronous_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    uint64_t begin_ns = drove__now_ns();
    if (drove__elastic_is_due(me)) {
        float alpha, eta = step->eta;

        /* Finishes the exchange: c in every me->c, S in me->sum at workers that keep c. */
        if (p->is_one) {
            if (!me->down.is_open) DROVE_TRY(begin_down(p, worker, false));
            DROVE_TRY(drove__transfer_end(&p->e, worker, &me->down));
        }
        if (!me->up.is_open) DROVE_TRY(begin_up(p, worker, false));
        DROVE_TRY(drove__transfer_end(&p->e, worker, &me->up));

        if (p->e.rho > 0.0f) DROVE_TRY(drove__elastic_agree(&p->e, s, worker, &eta));
        DROVE_TRY(drove__elastic_alpha(&p->e, s, eta, &alpha));
        bool keeps_centre = !p->is_one || worker == 0;
        drove__elastic_move(&p->e, s, worker, step, 0, alpha, keeps_centre ? me->sum : NULL);
        me->since = 0;
    } else {
        drove__elastic_step(&p->e, s, worker, step, 0);
        me->since++;
    }
    /* Relaxed: read for display, or behind the lock of parking. */
    if (worker == p->e.transport->first_worker)
        atomic_store_explicit(&s->published, me->steps, memory_order_relaxed);
    drove__elastic_report(me, begin_ns, info);
    info->updated = worker == 0;
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    drove__elastic_stop(&((synchronous_impl *)s->impl)->e, s);
}

static float *replica(drove_sync *s, unsigned worker)
{
    return ((synchronous_impl *)s->impl)->e.of[worker].w;
}

/* ---- parked ---- */

static float *centre(synchronous_impl *p)
{
    return p->seen != NULL ? p->seen : p->e.of[p->e.transport->first_worker].c;
}

/* Sends the one centre to all processes. */
static drove_status parked(drove_sync *s)
{
    synchronous_impl *p = s->impl;
    drove_transport *t = p->e.transport;
    if (!p->is_one || t->n_processes == 1) return DROVE_OK;
    const drove_exchange x = {.kind = DROVE_BROADCAST,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = p->seen == NULL ? centre(p) : NULL,
                              .out = centre(p),
                              .n = s->optim->n};
    return drove__exchange(t, t->first_worker, &x, NULL);
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = centre(s->impl)};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    synchronous_impl *p = s->impl;
    bool found;
    DROVE_TRY(drove__elastic_restore(&p->e, s, vector, st, &found));
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (drove__transport_is_here(p->e.transport, i))
            memcpy(p->e.of[i].c, vector->theta, s->optim->n * sizeof(float));
    }
    if (p->seen != NULL) memcpy(p->seen, vector->theta, s->optim->n * sizeof(float));
    return DROVE_OK;
}

static size_t tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    return drove__elastic_tensors(&((synchronous_impl *)s->impl)->e, s, out, most);
}

/* ---- tables ---- */

static const char *const variants1[] = {"easgd-sync1", NULL};
static const char *const variants2[] = {"easgd-sync2", NULL};
static const char *const variants3[] = {"easgd-sync3", "easgd-sync3?centre=one", NULL};
static const drove_exchange_pattern patterns1[] = {
    {.order = DROVE_EXCHANGE_ROUNDS, .at_master = true, .has_centre = true}};
static const drove_exchange_pattern patterns2[] = {
    {.order = DROVE_EXCHANGE_ROUNDS, .has_centre = true}};
static const drove_exchange_pattern patterns3[] = {
    {.order = DROVE_EXCHANGE_ROUNDS,
     .overlap = DROVE_OVERLAP_ALL,
     .is_all_reduce = true,
     .has_centre = true},
    {.order = DROVE_EXCHANGE_ROUNDS, .overlap = DROVE_OVERLAP_ALL, .has_centre = true},
};

enum {
    NEEDS = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_TYPED | DROVE_SYNC_OWN_STATE |
            DROVE_SYNC_ELASTIC,
};

static const drove_sync_replica_ops replicas = {.vector = replica, .parked = parked};

#define SYNCHRONOUS                                                                                \
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_REPEATABLE, .init = init, .fini = fini,           \
    .acquire = acquire, .publish = publish, .peek = peek, .restore = restore, .batches = "rounds", \
    .tensors = tensors, .stop = stop, .replicas = &replicas

const drove_sync_ops drove__sync_easgd_sync1 = {
    SYNCHRONOUS,
    .name = "easgd-sync1",
    .help = "Sync EASGD1: all exchange with a centre at the master, no overlap; --rho, --period",
    .source = "You, Buluc, Demmel, SC17, Algorithm 2",
    .needs = NEEDS | DROVE_SYNC_MASTER,
    .variants = variants1,
    .exchange_pattern = patterns1,
};

const drove_sync_ops drove__sync_easgd_sync2 = {
    SYNCHRONOUS,
    .name = "easgd-sync2",
    .help = "Sync EASGD2: the same with the centre at worker 0",
    .source = "You, Buluc, Demmel, SC17, Algorithm 3",
    .needs = NEEDS,
    .variants = variants2,
    .exchange_pattern = patterns2,
};

const drove_sync_ops drove__sync_easgd_sync3 = {
    SYNCHRONOUS,
    .name = "easgd-sync3",
    .help = "Sync EASGD3: the same while gradients are computed, by one all-reduce",
    .source = "You, Buluc, Demmel, SC17, Algorithm 3, section 6.1.3",
    .needs = NEEDS,
    .variants = variants3,
    .keys = keys,
    .exchange_pattern = patterns3,
};
