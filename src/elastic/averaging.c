/* elastic/averaging.c - workers average gradients, parameters, or changes of parameters.
 *
 *   allreduce   every worker applies the mean gradient of all to equal parameters.  This is `sync`
 *               without shared memory; with 2^k workers it has its bits.  Over ranks the gradient
 *               is exchanged in buckets (cluster/slices.h) while backward goes on
 *   local       H local steps, then all parameters become their mean (Stich, ICLR 2019)
 *   diloco      H local steps by the rule, then an outer step of Nesterov momentum on the mean
 *               change (Douillard et al., 2023), with the outer step size lr and momentum m:
 *                   g = c - mean of W^i     v = m v + g     c -= lr (g + m v)     W^i = c
 *
 * H is the period.  Default for local: 16, the largest that Lin et al. (ICLR 2020) compare.
 * Default for diloco: 100.  Its authors take 500 in runs of 88,000 steps and lose little from 50 to
 * 1000; here an epoch may have a few hundred steps.  "auto": see exchange.
 *
 * With --precision C16s, C8s or C1s gradients, or W^i - c (local: c the last mean), are sent in so
 * many bits.
 *
 * Evaluated are the parameters; the mean of all W^i; c.  An update is a round, in which every
 * worker makes one step; worker 0 publishes it.
 */
#include "elastic/common.h"

#include "base/clock.h"
#include "elastic/typed.h"
#include "cluster/slices.h"
#include "cluster/tree.h"

#include <math.h>
#include <string.h>

enum {
    PERIOD_LOCAL = 16,
    PACE_EXCHANGES = 8, /* between two decisions about H */
    PACE_MOST = 4096
};
#define PACE_SHARE 0.1 /* share of the time for exchanges */

typedef struct averaging_impl {
    drove_elastic e; /* diloco: of[i].c and of[i].v are equal for all i */
    bool is_outer;
    float outer_lr, outer_momentum;
    float *mean;       /* [n_vector] local: peek */
    const float **all; /* [n_workers] */
    float *spare;      /* of tree.h */

    /* allreduce, gradients during backward; NULL: behind it.  Of this process's only worker. */
    drove_slice_exchange *exchange;
    drove_span *part; /* [n_parts] */
    size_t n_parts, n_offered;
    drove_status offered; /* the first failure */
} averaging_impl;

/* ---- setting up ---- */

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start,
                         const drove_elastic_kind *kind)
{
    averaging_impl *p = s->impl = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->batches_per_update = s->n_workers;
    DROVE_TRY(drove__elastic_init(&p->e, s, opt, kind, start));
    /* The period depends on timing. */
    if (p->e.period_is_auto) s->promises &= ~(unsigned)DROVE_SYNC_REPEATABLE;
    return DROVE_OK;
}

static const drove_sync_slice_ops during_backward;

/* Gradients that the limit of the norm or a rule of each worker must see whole, and short ones, for
 * which another thread costs more than it hides, are exchanged behind backward. */
static drove_status exchange_during_backward(drove_sync *s, const drove_sync_options *opt)
{
    averaging_impl *p = s->impl;
    drove_transport *t = p->e.transport;
    const drove_optim *o = s->optim;
    bool needs_whole = o->clip > 0.0f || o->state == DROVE_STATE_WORKER;
    bool is_short = o->n < (size_t)DROVE_SLICES_SHARE * DROVE_SLICES_LEAST;
    if (!t->in_background || t->n_processes == 1 || p->e.bits != 32) return DROVE_OK;
    if (opt->part == NULL || opt->by_layer || needs_whole || is_short) return DROVE_OK;
    p->part = drove__alloc(opt->n_parts, sizeof *p->part);
    if (p->part == NULL) return drove__sync_no_memory(s);
    memcpy(p->part, opt->part, opt->n_parts * sizeof *p->part);
    p->n_parts = opt->n_parts;
    const drove_slice_exchange_options options = {.transport = t,
                                                  .worker = t->first_worker,
                                                  .n_all = s->n_workers,
                                                  .part = p->part,
                                                  .n_parts = p->n_parts,
                                                  .kernels = o->kernels};
    DROVE_TRY(drove__slices_create(&options, &p->exchange));
    s->slices = &during_backward;
    return DROVE_OK;
}

static drove_status init_allreduce(drove_sync *s, const drove_sync_options *opt,
                                   const drove_params *start)
{
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_SUM, .may_encode = true};
    DROVE_TRY(init(s, opt, start, &kind));
    return exchange_during_backward(s, opt);
}

static drove_status init_local(drove_sync *s, const drove_sync_options *opt,
                               const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    const drove_elastic_kind kind = {.vectors = DROVE_ELASTIC_SUM | DROVE_ELASTIC_C,
                                     .period = PERIOD_LOCAL,
                                     .may_auto = true,
                                     .may_encode = true};
    DROVE_TRY(init(s, opt, start, &kind));
    averaging_impl *p = s->impl;
    p->e.saves_c = p->e.bits != 32;
    p->mean = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    p->all = drove__alloc(s->n_workers, sizeof *p->all);
    p->spare = drove__alloc(DROVE_TREE_LEVELS, DROVE_TREE_BLOCK * sizeof *p->spare);
    if (p->mean == NULL || p->all == NULL || p->spare == NULL) return drove__sync_no_memory(s);
    for (unsigned w = 0; w < s->n_workers; w++) p->all[w] = p->e.of[w].w;
    return DROVE_OK;
}

typedef struct outer_step {
    double lr, momentum;
    uint64_t h;
} outer_step;

static const drove_spec_key diloco_keys[] = {
    {"lr", "0.7", DROVE_AS_REAL(outer_step, lr, 1e-6, 10.0), .help = "step size of the outer step"},
    {"momentum", "0.9", DROVE_AS_REAL(outer_step, momentum, 0.0, 0.9999),
     .help = "of the outer step"},
    {"h", "100", DROVE_AS_COUNT(outer_step, h, 1, DROVE_MOST_PERIOD),
     .help = "steps between two exchanges, as --period"},
    DROVE_SPEC_END,
};

static drove_status init_diloco(drove_sync *s, const drove_sync_options *opt,
                                const drove_params *start)
{
    if (opt->layout != NULL) return drove__typed_init(s, opt, start);
    outer_step set;
    DROVE_TRY(drove__spec_take(opt->spec, diloco_keys, &set));
    const drove_elastic_kind kind = {.vectors =
                                         DROVE_ELASTIC_SUM | DROVE_ELASTIC_C | DROVE_ELASTIC_V,
                                     .period = set.h,
                                     .may_auto = true,
                                     .may_encode = true};
    DROVE_TRY(init(s, opt, start, &kind));
    averaging_impl *p = s->impl;
    p->is_outer = true;
    p->outer_lr = (float)set.lr;
    p->outer_momentum = (float)set.momentum;
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    averaging_impl *p = s->impl;
    drove__slices_destroy(p->exchange);
    drove__free(p->part);
    drove__elastic_fini(&p->e, s);
    drove__sync_vector_free(s, p->mean);
    drove__free(p->all);
    drove__free(p->spare);
    drove__free(p);
}

/* ---- a step ---- */

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    DROVE_TRY(drove__elastic_view(&p->e, s, worker, me->steps, view));
    if (p->e.period_is_auto) me->acquired_ns = drove__now_ns();
    return DROVE_OK;
}

static float *gradient(drove_sync *s, unsigned worker)
{
    return ((averaging_impl *)s->impl)->e.of[worker].sum;
}

/* sum[n] = sum of `in` of all workers. */
static drove_status add_all(averaging_impl *p, unsigned worker, const float *in)
{
    drove_elastic_worker *me = &p->e.of[worker];
    const drove_exchange x = {
        .kind = DROVE_ALL_REDUCE, .channel = DROVE_CHANNEL_UP, .in = in, .out = me->sum};
    DROVE_TRY(drove__transfer_begin(&p->e, worker, &me->up, &x, DROVE_CHANNELS_OF_TRANSFER, false));
    return drove__transfer_end(&p->e, worker, &me->up);
}

static void finish(drove_sync *s, unsigned worker, uint64_t begin_ns, drove_publish_info *info)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    /* Relaxed: read for display, or behind the lock of parking. */
    if (worker == p->e.transport->first_worker)
        atomic_store_explicit(&s->published, me->steps, memory_order_relaxed);
    drove__elastic_report(me, begin_ns, info);
    info->updated = worker == 0;
}

static uint64_t slice_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    size_t part = p->n_parts - 1;
    (void)eta;
    if (value != me->sum) memcpy(me->sum + offset, value + offset, length * sizeof *value);
    drove__optim_decay(s->optim, me->w, offset, length, me->sum);
    while (p->part[part].offset != offset) part--;
    if (p->n_offered++ == 0) p->offered = DROVE_OK;
    if (p->offered == DROVE_OK) p->offered = drove__slices_offer(p->exchange, part, me->sum, NULL);
    return 0;
}

/* me->sum becomes the mean gradient of all, of which backward has brought the slices or nothing. */
static drove_status end_slices(drove_sync *s, unsigned worker, const drove_step *step,
                               uint64_t begin_ns)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    uint64_t begun_ns, done_ns;
    for (size_t i = p->n_offered == 0 ? p->n_parts : 0; i-- > 0;)
        (void)slice_ready(s, worker, p->part[i].offset, p->part[i].length, (float *)step->value,
                          step->eta);
    p->n_offered = 0;
    DROVE_TRY(p->offered);
    DROVE_TRY(drove__slices_wait(p->exchange, &me->met, &begun_ns, &done_ns));
    if (done_ns > begin_ns) done_ns = begin_ns;
    me->hidden_ns = done_ns > begun_ns ? done_ns - begun_ns : 0;
    me->met.wait_ns = drove__now_ns() - begin_ns; /* this thread's, which did none of the work */
    me->met.work_ns = 0;
    return DROVE_OK;
}

static drove_status sum_whole(drove_sync *s, unsigned worker, const drove_step *step)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    if (step->value != me->sum) memcpy(me->sum, step->value, s->optim->n * sizeof *me->sum);
    DROVE_TRY(add_all(p, worker, me->sum));
    s->optim->kernels->scale_f32(me->sum, s->optim->n, 1.0f / (float)s->n_workers);
    return DROVE_OK;
}

static drove_status publish_mean(drove_sync *s, unsigned worker, const drove_step *step,
                                 drove_publish_info *info)
{
    averaging_impl *p = s->impl;
    uint64_t begin_ns = drove__now_ns();
    drove_step mean = {.value = p->e.of[worker].sum, .eta = step->eta};
    if (p->exchange != NULL) DROVE_TRY(end_slices(s, worker, step, begin_ns));
    else DROVE_TRY(sum_whole(s, worker, step));
    DROVE_TRY(drove__elastic_agree(&p->e, s, worker, &mean.eta));
    drove__elastic_step(&p->e, s, worker, &mean, 0);
    finish(s, worker, begin_ns, info);
    return DROVE_OK;
}

/* From me->sum, of all W^i or W^i - c, to the mean. */
static void become_mean(drove_sync *s, drove_elastic_worker *me, bool differs)
{
    const drovek_table *k = s->optim->kernels;
    size_t n = s->optim->n;
    float share = 1.0f / (float)s->n_workers;
    if (differs) k->axpy_f32(me->c, me->sum, n, share);
    else k->blend_f32(me->c, me->sum, NULL, n, share, 0.0f);
    me->distance = drove__elastic_distance(k, me->w, me->c, n);
    k->copy_f32(me->w, me->c, n);
}

static void step_outside(drove_sync *s, drove_elastic_worker *me, bool differs)
{
    const averaging_impl *p = s->impl;
    const drovek_table *k = s->optim->kernels;
    size_t n = s->optim->n;
    float *g = me->sum, share = 1.0f / (float)s->n_workers;
    me->distance = drove__elastic_distance(k, me->w, me->c, n);
    if (differs) k->scale_f32(g, n, -share);
    else k->blend_f32(g, me->c, me->sum, n, 1.0f, -share);
    k->blend_f32(me->v, me->v, g, n, p->outer_momentum, 1.0f);
    k->axpy_f32(me->c, g, n, -p->outer_lr);
    k->axpy_f32(me->c, me->v, n, -p->outer_lr * p->outer_momentum);
    k->copy_f32(me->w, me->c, n);
}

static drove_status exchange(drove_sync *s, unsigned worker)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    bool differs = drove__elastic_differs(&p->e, s, worker);
    DROVE_TRY(add_all(p, worker, differs ? me->sum : me->w));
    if (p->is_outer) step_outside(s, me, differs);
    else become_mean(s, me, differs);
    if (!p->e.period_is_auto) return DROVE_OK;
    /* Sets H such that exchanges take at most PACE_SHARE of the time, from means over all workers
     * since the last decision, so that all decide alike.  H is 1 at first. */
    me->exchange_ns += me->met.wait_ns + me->met.work_ns;
    if (++me->n_exchanged < PACE_EXCHANGES) return DROVE_OK;
    me->agreed[0] = (float)me->compute_ns / (float)me->n_computed;
    me->agreed[1] = (float)me->exchange_ns / (float)me->n_exchanged;
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .channel = DROVE_CHANNEL_SMALL,
                              .in = me->agreed,
                              .out = me->agreed,
                              .n = 2};
    DROVE_TRY(drove__exchange(p->e.transport, worker, &x, &me->met));
    double ratio = me->agreed[0] > 0.0f ? (double)me->agreed[1] / (double)me->agreed[0] : 1.0;
    double steps = ceil(ratio * (1.0 - PACE_SHARE) / PACE_SHARE);
    me->period = steps < 1.0 ? 1 : steps < PACE_MOST ? (uint64_t)steps : PACE_MOST;
    me->compute_ns = me->n_computed = me->exchange_ns = me->n_exchanged = 0;
    return DROVE_OK;
}

static drove_status publish_local(drove_sync *s, unsigned worker, const drove_step *step,
                                  drove_publish_info *info)
{
    averaging_impl *p = s->impl;
    drove_elastic_worker *me = &p->e.of[worker];
    uint64_t begin_ns = drove__now_ns();
    bool is_due = drove__elastic_is_due(me);
    drove__elastic_step(&p->e, s, worker, step, 0);
    me->since = is_due ? 0 : me->since + 1;
    me->compute_ns += begin_ns - me->acquired_ns; /* read with period auto only */
    me->n_computed++;
    if (is_due) DROVE_TRY(exchange(s, worker));
    finish(s, worker, begin_ns, info);
    return DROVE_OK;
}

static void stop(drove_sync *s)
{
    averaging_impl *p = s->impl;
    drove__elastic_stop(&p->e, s);
    if (p->exchange != NULL) drove__slices_stop(p->exchange);
}

static float *replica(drove_sync *s, unsigned worker)
{
    return ((averaging_impl *)s->impl)->e.of[worker].w;
}

/* ---- parked ---- */

static drove_elastic_worker *first(const averaging_impl *p)
{
    return &p->e.of[p->e.transport->first_worker];
}

/* local between exchanges: the mean over all processes.  Replicas do not change. */
static drove_status parked(drove_sync *s)
{
    averaging_impl *p = s->impl;
    drove_transport *t = p->e.transport;
    if (t->n_processes == 1 || p->mean == NULL || first(p)->since == 0) return DROVE_OK;
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .channel = DROVE_CHANNEL_UP,
                              .in = first(p)->w,
                              .out = p->mean,
                              .n = s->optim->n};
    DROVE_TRY(drove__exchange(t, t->first_worker, &x, NULL));
    s->optim->kernels->scale_f32(p->mean, s->optim->n, 1.0f / (float)s->n_workers);
    return DROVE_OK;
}

static drove_params peek(drove_sync *s)
{
    averaging_impl *p = s->impl;
    if (p->mean == NULL) return (drove_params){.theta = p->is_outer ? first(p)->c : first(p)->w};
    if (first(p)->since == 0) return (drove_params){.theta = first(p)->w};
    if (p->e.transport->n_processes == 1)
        drove__tree_add(s->optim->kernels, p->all, s->n_workers, s->optim->n, p->mean,
                        1.0f / (float)s->n_workers, false, p->spare);
    return (drove_params){.theta = p->mean};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    averaging_impl *p = s->impl;
    bool found;
    DROVE_TRY(drove__elastic_restore(&p->e, s, vector, st, &found));
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (drove__transport_is_here(p->e.transport, i) && p->is_outer)
            memcpy(p->e.of[i].c, vector->theta, s->optim->n * sizeof(float));
    }
    if (p->mean != NULL) memcpy(p->mean, vector->theta, s->optim->n * sizeof(float));
    return DROVE_OK;
}

static size_t tensors(drove_sync *s, drove_tensor *out, size_t most)
{
    return drove__elastic_tensors(&((averaging_impl *)s->impl)->e, s, out, most);
}

/* allreduce: replicas equal the vector; only residuals are saved besides. */
static size_t tensors_of_codec(drove_sync *s, drove_tensor *out, size_t most)
{
    bool has_codec = ((averaging_impl *)s->impl)->e.bits != 32;
    return has_codec ? tensors(s, out, most) : 0;
}

/* ---- tables ---- */

static const char *const allreduce_variants[] = {"allreduce", NULL};
static const char *const local_variants[] = {"local", NULL};
static const char *const diloco_variants[] = {"diloco", "diloco?h=3&lr=0.5&momentum=0.8", NULL};
static const drove_exchange_pattern mean[] = {
    {.order = DROVE_EXCHANGE_ROUNDS, .is_all_reduce = true}};
static const drove_exchange_pattern outer[] = {
    {.order = DROVE_EXCHANGE_ROUNDS, .is_all_reduce = true, .has_centre = true},
    {.order = DROVE_EXCHANGE_ROUNDS, .is_all_reduce = true, .has_centre = true},
};

enum { NEEDS = DROVE_SYNC_DENSE | DROVE_SYNC_SPREAD };

static const drove_sync_replica_ops replicas = {.vector = replica, .parked = parked};
static const drove_sync_slice_ops during_backward = {.ready = slice_ready};

#define AVERAGING                                                                                  \
    .fini = fini, .acquire = acquire, .peek = peek, .restore = restore, .batches = "rounds",       \
    .stop = stop, .replicas = &replicas

const drove_sync_ops drove__sync_allreduce = {
    AVERAGING,
    .name = "allreduce",
    .help = "the mean gradient of all by an all-reduce, applied alike to equal parameters",
    .source = "You, Buluc, Demmel, SC17, section 2.3; sync without shared memory",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = NEEDS,
    .variants = allreduce_variants,
    .init = init_allreduce,
    .publish = publish_mean,
    .gradient = gradient,
    .tensors = tensors_of_codec,
    .exchange_pattern = mean,
};

const drove_sync_ops drove__sync_local = {
    AVERAGING,
    .name = "local",
    .help = "parameters become their mean every --period steps (16; auto: exchanges take at most "
            "10 % of the time)",
    .source = "Stich, ICLR 2019",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = NEEDS | DROVE_SYNC_OWN_STATE | DROVE_SYNC_TYPED,
    .variants = local_variants,
    .init = init_local,
    .publish = publish_local,
    .tensors = tensors,
    .exchange_pattern = mean,
};

const drove_sync_ops drove__sync_diloco = {
    AVERAGING,
    .name = "diloco",
    .help = "an outer Nesterov step on what all have gained every --period steps",
    .source = "Douillard et al., 2023",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_REPEATABLE,
    .needs = NEEDS | DROVE_SYNC_OWN_STATE | DROVE_SYNC_TYPED,
    .variants = diloco_variants,
    .keys = diloco_keys,
    .init = init_diloco,
    .publish = publish_local,
    .tensors = tensors,
    .exchange_pattern = outer,
};
