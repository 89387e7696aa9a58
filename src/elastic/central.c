/* elastic/central.c - Async EASGD, Async MEASGD, Hogwild EASGD: workers meet the centre first come,
 * first served; see central.h.
 *
 * Source: the paper, section 5.1; equations (1), (5), (6), and (2) for the one worker that RPCs:
 *     W^i += step - alpha (W^i - c)     c += alpha (W^i - c)        in every tau-th step
 *
 *   easgd-async      one RPC at a time, in the order of arrival
 *   measgd-async     the same, by the rule momentum: equations (5) and (6)
 *   easgd-hogwild    several at once, without a lock (races R1, R2 of docs/memory-model.md)
 *
 * ?overlap=1: the RPC of W^i is under way while the gradient at W^i is computed, where alpha is
 * known before the step size is: under the default pull, and under a constant schedule.
 */
#include "elastic/central.h"

#include "base/clock.h"
#include "elastic/typed.h"

#include <string.h>

/* ---- setting up ---- */

drove_status drove__central_init(drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start,
                                 drove_serve_fn *serve, bool is_exclusive)
{
    drove_central *v = s->impl;
    v->sync = s;
    DROVE_TRY(drove__elastic_init(&v->e, s, opt, kind, start));
    drove_transport *t = v->e.transport;
    v->is_held = t->process == 0;
    v->centre = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    v->turn = drove__alloc(s->n_workers, sizeof *v->turn);
    v->known = drove__alloc(s->n_workers, sizeof *v->known);
    if (v->centre == NULL || v->turn == NULL || v->known == NULL) return drove__sync_no_memory(s);
    const drove_centre centre = {.vector = v->is_held ? v->centre : NULL,
                                 .serve = serve,
                                 .context = v,
                                 .is_exclusive = is_exclusive};
    return t->ops->host(t, &centre, s->n_vector);
}

void drove__central_fini(drove_sync *s)
{
    drove_central *v = s->impl;
    drove__elastic_fini(&v->e, s);
    drove__sync_vector_free(s, v->centre);
    drove__free(v->turn);
    drove__free(v->known);
    drove__free(v);
}

/* ---- at the centre: on any thread of its holder ---- */

const drove_span *drove__central_receive(drove_central *v, unsigned worker, size_t n, float *number,
                                         uint64_t *before)
{
    size_t i = number[3] >= 0.0f && number[3] < (float)v->e.n_parts ? (size_t)number[3] : SIZE_MAX;
    if (i == SIZE_MAX || worker >= v->sync->n_workers || n < v->e.part[i].length) return NULL;
    if (i == 0) {
        uint64_t brings = drove__elastic_join((const float[2]){number[1], 0.0f});
        /* Relaxed: a count; what it counts is ordered by the RPCs' exclusion, or not at all. */
        *before = atomic_fetch_add_explicit(&v->n_updates, brings, memory_order_relaxed);
        v->turn[worker] = *before + 1;
    }
    *before = v->turn[worker] - 1;
    drove__elastic_split(*before, number);
    return &v->e.part[i];
}

void drove__central_elastic(void *context, unsigned worker, float *message, size_t n, float *number)
{
    drove_central *v = context;
    const drovek_table *k = v->sync->optim->kernels;
    uint64_t before;
    float alpha = number[0];
    const drove_span *part = drove__central_receive(v, worker, n, number, &before);
    if (part == NULL) return;
    /* Several at once: Hogwild. */
    k->centre_f32(v->centre + part->offset, message, message, part->length, alpha, 1.0f);
}

/* ---- a worker's step ---- */

/* W^i travels to the centre, what is there comes into me->c. */
static drove_status begin(drove_sync *s, unsigned worker, float alpha, bool is_early)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    const drove_exchange x = {.kind = DROVE_RPC,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = me->w,
                              .out = me->c,
                              .number = {alpha, (float)(me->since + 1)}};
    return drove__transfer_begin(&v->e, worker, &me->down, &x, 1, is_early);
}

drove_status drove__central_acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    float alpha;
    DROVE_TRY(drove__elastic_view(&v->e, s, worker, me->known + me->since, view));
    if (!v->is_early || !drove__elastic_is_due(me)) return DROVE_OK;
    if (v->e.fixed_alpha == 0.0f && v->e.eta_varies) return DROVE_OK;
    DROVE_TRY(drove__elastic_alpha(&v->e, s, s->optim->lr, &alpha));
    return begin(s, worker, alpha, true);
}

/* The exchange of the step in hand, begun or not, and the step. */
static drove_status meet(drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t *staleness)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    float alpha = me->down.x.number[0];
    if (!me->down.is_open) {
        DROVE_TRY(drove__elastic_alpha(&v->e, s, step->eta, &alpha));
        DROVE_TRY(begin(s, worker, alpha, false));
    }
    DROVE_TRY(drove__transfer_end(&v->e, worker, &me->down));
    *staleness = me->before - me->known;
    me->known = me->before + me->since + 1;
    me->since = 0;
    drove__elastic_move(&v->e, s, worker, step, *staleness, alpha, NULL);
    return DROVE_OK;
}

void drove__central_count(drove_sync *s)
{
    /* Relaxed: read for display, and, when the workers are parked, behind the parking's lock. */
    atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
}

drove_status drove__central_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                    drove_publish_info *info)
{
    drove_central *v = s->impl;
    drove_elastic_worker *me = &v->e.of[worker];
    uint64_t begin_ns = drove__now_ns(), staleness = 0;
    if (drove__elastic_is_due(me)) {
        DROVE_TRY(meet(s, worker, step, &staleness));
    } else {
        drove__elastic_step(&v->e, s, worker, step, 0);
        me->since++;
    }
    drove__central_count(s);
    drove__elastic_report(me, begin_ns, info);
    info->staleness = staleness;
    return DROVE_OK;
}

void drove__central_stop(drove_sync *s)
{
    drove__elastic_stop(&((drove_central *)s->impl)->e, s);
}

/* What a lost worker has brought to the centre stays there. */
void drove__central_leave(drove_sync *s, unsigned worker)
{
    drove_transport *t = ((drove_central *)s->impl)->e.transport;
    t->ops->leave(t, worker, true);
}

float *drove__central_replica(drove_sync *s, unsigned worker)
{
    return ((drove_central *)s->impl)->e.of[worker].w;
}

/* ---- parked ---- */

static uint64_t published(const drove_sync *s)
{
    return atomic_load_explicit(&s->published, memory_order_relaxed);
}

/* Adds up what the workers of all processes have done since they were last parked. */
static drove_status gather_updates(drove_sync *s)
{
    drove_central *v = s->impl;
    drove_transport *t = v->e.transport;
    uint64_t mine = published(s) - v->n_parked;
    uint64_t *all = drove__alloc(t->n_processes, sizeof *all);
    if (all == NULL) return drove__sync_no_memory(s);
    drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    for (unsigned i = 0; i < t->n_processes && status == DROVE_OK; i++) v->n_parked += all[i];
    drove__free(all);
    DROVE_TRY(status);
    atomic_store_explicit(&s->published, v->n_parked, memory_order_relaxed);
    return DROVE_OK;
}

drove_status drove__central_parked(drove_sync *s)
{
    drove_central *v = s->impl;
    drove_transport *t = v->e.transport;
    if (t->n_processes == 1) return DROVE_OK;
    DROVE_TRY(gather_updates(s));
    const drove_exchange x = {.kind = DROVE_BROADCAST,
                              .channel = DROVE_CHANNEL_DOWN,
                              .in = v->is_held ? v->centre : NULL,
                              .out = v->centre,
                              .n = s->n_vector};
    return drove__exchange(t, t->first_worker, &x, NULL);
}

drove_params drove__central_peek(drove_sync *s)
{
    return (drove_params){.theta = ((drove_central *)s->impl)->centre};
}

drove_status drove__central_restore(drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st)
{
    drove_central *v = s->impl;
    bool found;
    uint64_t n_updates = published(s);
    DROVE_TRY(drove__elastic_restore(&v->e, s, vector, st, &found));
    for (unsigned i = 0; found && i < s->n_workers; i++)
        n_updates -= v->e.progress[(size_t)i * DROVE_ELASTIC_PROGRESS + 1]; /* not yet brought */
    memcpy(v->centre, vector->theta, s->n_vector * sizeof(float));
    atomic_store_explicit(&v->n_updates, n_updates, memory_order_relaxed);
    v->n_parked = published(s);
    for (unsigned i = 0; i < s->n_workers; i++)
        v->known[i] = found ? v->e.progress[(size_t)i * DROVE_ELASTIC_PROGRESS + 2] : n_updates;
    return DROVE_OK;
}

size_t drove__central_tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    return drove__elastic_tensors(&((drove_central *)s->impl)->e, s, out, most);
}

/* ---- the methods ---- */

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start,
                         bool is_exclusive)
{
    static const char *const keys[] = {"overlap", NULL};
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_C, .period = 1, .alpha_limit = 1.0};
    uint64_t overlap = 0;
    DROVE_TRY(drove__spec_check(opt->spec, 0, keys));
    DROVE_TRY(drove__spec_u64(opt->spec, "overlap", 0, 1, &overlap));
    drove_central *v = drove__alloc(1, sizeof *v);
    if (v == NULL) return drove__sync_no_memory(s);
    s->impl = v;
    v->is_early = overlap != 0;
    return drove__central_init(s, opt, &kind, start, drove__central_elastic, is_exclusive);
}

static drove_status init_async(drove_sync *s, const drove_sync_options *opt,
                               const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    return init(s, opt, start, true);
}

static drove_status init_hogwild(drove_sync *s, const drove_sync_options *opt,
                                 const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    return init(s, opt, start, false);
}

static const char *const async_variants[] = {"easgd-async", "easgd-async?overlap=1", NULL};
static const char *const momentum_variants[] = {"measgd-async", NULL};
static const char *const hogwild_variants[] = {"easgd-hogwild", NULL};

enum {
    NEEDS = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD | DROVE_SYNC_TYPED | DROVE_SYNC_OWN_STATE |
            DROVE_SYNC_MASTER | DROVE_SYNC_ELASTIC,
};

const drove_sync_ops drove__sync_easgd_async = {
    DROVE_CENTRAL_ASYNC_SLOTS,
    .name = "easgd-async",
    .help = "Async EASGD: workers meet the centre first come, first served; --rho, --period; "
            "?overlap=1: while they compute",
    .source = "You, Buluc, Demmel, SC17, section 5.1",
    .promises = DROVE_SYNC_SNAPSHOT,
    .needs = NEEDS,
    .variants = async_variants,
    .init = init_async,
    .publish = drove__central_publish,
};

const drove_sync_ops drove__sync_measgd_async = {
    DROVE_CENTRAL_ASYNC_SLOTS,
    .name = "measgd-async",
    .help = "Async MEASGD: the same with the rule momentum",
    .source = "You, Buluc, Demmel, SC17, section 5.1, equations (5) and (6)",
    .promises = DROVE_SYNC_SNAPSHOT,
    .needs = NEEDS | DROVE_SYNC_MOMENTUM,
    .variants = momentum_variants,
    .init = init_async,
    .publish = drove__central_publish,
};

const drove_sync_ops drove__sync_easgd_hogwild = {
    DROVE_CENTRAL_ASYNC_SLOTS,
    .name = "easgd-hogwild",
    .help = "Hogwild EASGD: several meet the centre at once, without a lock",
    .source = "You, Buluc, Demmel, SC17, section 5.1",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_LOCK_FREE,
    .needs = NEEDS,
    .variants = hogwild_variants,
    .init = init_hogwild,
    .publish = drove__central_publish,
};
