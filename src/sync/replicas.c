/* sync/replicas.c - every core, or every NUMA node, trains its own copy of the parameters, and the
 * copies meet in a shared centre while training goes on.
 *
 * Source: Zhang and Re (DimmWitted), VLDB 2014, PerCore and PerNode, whose replicas are averaged
 * (merge=mean); Zhang, Hsieh and Akella (HogWild++), ICDM 2016, where what a replica has gained
 * counts whole (merge=sum).
 *   replicas:core   a replica for each worker, which nobody else touches
 *   replicas:node   a replica for each NUMA node, shared by the node's workers as in HOGWILD!
 *                   (races R1, R2, R4, R8, and R7 with the merge)
 *
 * Symbols: c centre, w replica, last = w when it last met the centre, R number of replicas.
 *     meet:   c += share (w - last);  w = last = c      share = 1/R (mean) or 1 (sum)
 * A worker whose replica has taken `period` steps (of each of its workers) since its last meeting
 * takes the centre, if nobody has it; if somebody has, it goes on and asks again after its next
 * step.  Nobody ever waits.
 *
 * State of the rule (velocity, moments) stays with its replica, consistent with it, and is never
 * summed or moved by a gain, which could make a second moment negative.
 *
 * While the workers are parked, `peek` lets all replicas meet: each takes over the centre, and the
 * mean of all states.  The state that is evaluated or saved is thus all there is, and training goes
 * on from it.  With one replica there is no centre, and nothing but that replica's steps.
 *
 * Staleness of a step: updates published before it that its view does not contain.  That is what
 * other replicas have not brought to the centre, or this one has not fetched from it.
 *
 * Invariants: c, last, merged, bits, n_updates, n_meetings and s->n_clamped are touched by the
 * holder of the centre alone.  own + foreign never exceeds `published` as the reader will find it.
 */
#include "base/cost.h"
#include "strategy/shared.h"
#include "sync/sync.h"

#include <string.h>

/* Steps of one worker.  A meeting moves about as many bytes as three steps of a dense linear model
 * at one example each, and waits for the centre's cache lines, which for small models is the larger
 * part.  Means of convex models hardly suffer from a long period; sums, where R steps add up that
 * did not know of each other, do. */
enum { DEFAULT_PERIOD_MEAN = 256, DEFAULT_PERIOD_SUM = 16 };

typedef struct replica {
    drove_params w;      /* [n_vector] */
    drove_params last;   /* [n_vector], the first n used; none with one replica, like the centre */
    drovek_bits bits;    /* for rounding what a low-precision replica has gained */
    uint64_t merged;     /* of `own`: in the centre */
    uint64_t state_base; /* + own: steps that the state is worth; set while parked */
    unsigned n_workers;
    _Atomic uint64_t own DROVE_ALIGNED_CACHE_LINE; /* steps begun by its workers */
    _Atomic uint64_t foreign;                      /* updates by others in w */
    _Atomic uint64_t due; /* own, from which on it should meet the centre */
} DROVE_ALIGNED_CACHE_LINE replica;

typedef struct member { /* one per worker; its own */
    replica *of;
    unsigned mate;   /* number among the replica's workers */
    uint64_t own;    /* the replica's, when live was called */
    uint64_t lacked; /* updates published but not in w, then */
    uint64_t order;  /* all meetings with smaller places, and no other, are in w */
} DROVE_ALIGNED_CACHE_LINE member;

typedef struct replicas_impl {
    replica *replica; /* [n_replicas] */
    member *member;   /* [n_workers] */
    unsigned n_replicas;
    uint64_t period;
    float share;
    drove_params centre; /* [n_vector]; its state is the mean of all since they were parked */
    float *seen[3];      /* [n_vector] of look: centre, w and last; NULL before */
    uint64_t n_updates;  /* in the centre */
    uint64_t n_together; /* updates when all replicas were last the same */
    uint64_t n_meetings; /* while the workers run: the places of an order */
    _Atomic unsigned taken DROVE_ALIGNED_CACHE_LINE; /* the centre: by worker taken - 1; 0: free */
} replicas_impl;

/* ---- setting up ---- */

typedef struct settings {
    uint64_t period; /* 0: not given */
    bool by_node, is_sum;
} settings;

static const char *const kinds[] = {"core", "node", NULL}, *const merges[] = {"mean", "sum", NULL};
static const drove_spec_key keys[] = {
    {"KIND", "core", DROVE_AS_EITHER(settings, by_node, kinds), .is_argument = true,
     .help = "a replica for each core, or for each NUMA node"},
    {"period", NULL, DROVE_AS_COUNT(settings, period, 1, UINT32_MAX),
     .help = "steps between two meetings; without it 256, with merge=sum 16"},
    {"merge", "mean", DROVE_AS_EITHER(settings, is_sum, merges),
     .help = "what the replicas have gained: its mean, or all of it"},
    DROVE_SPEC_END,
};

/* Worker's replica: a new one, or that of the first worker on its node (not bound: node -1). */
static replica *replica_of(replicas_impl *p, const drove_place *place, unsigned worker,
                           bool by_node)
{
    for (unsigned v = 0; by_node && v < worker; v++) {
        if (place == NULL || place[v].node == place[worker].node) return p->member[v].of;
    }
    return &p->replica[p->n_replicas++];
}

static bool has_memory(const drove_params *vector)
{
    return drove__params_bytes(vector) != NULL;
}

/* All hold the first parameters and zero state. */
static drove_status make_vectors(drove_sync *s, const drove_params *start)
{
    replicas_impl *p = s->impl;
    for (unsigned w = 0; w < s->n_workers; w++) {
        replica *r = p->member[w].of;
        if (p->member[w].mate != 0) continue; /* near its first worker */
        r->w = drove__sync_first_params(s, w, start);
        if (!has_memory(&r->w)) return drove__sync_no_memory(s);
        if (p->n_replicas == 1) return DROVE_OK;
        r->last = drove__sync_first_params(s, w, start);
        if (!has_memory(&r->last)) return drove__sync_no_memory(s);
    }
    p->centre = drove__sync_first_params(s, DROVE_SYNC_SHARED, start);
    return has_memory(&p->centre) ? DROVE_OK : drove__sync_no_memory(s);
}

/* ---- parked: all replicas from one vector ---- */

/* Every replica goes on from the centre, state and all; with one, from its own w. */
static void start_together(drove_sync *s, uint64_t n_updates)
{
    replicas_impl *p = s->impl;
    p->n_updates = p->n_together = n_updates;
    for (unsigned w = 0; w < s->n_workers; w++) p->member[w].order = p->n_meetings;
    for (unsigned i = 0; i < p->n_replicas; i++) {
        replica *r = &p->replica[i];
        /* Relaxed: starting the workers orders this before their first step. */
        uint64_t own = atomic_load_explicit(&r->own, memory_order_relaxed);
        atomic_store_explicit(&r->foreign, n_updates - own, memory_order_relaxed);
        atomic_store_explicit(&r->due, own + p->period * r->n_workers, memory_order_relaxed);
        r->merged = own;
        r->state_base = n_updates / p->n_replicas - own; /* may wrap; only base + own is used */
        if (p->n_replicas == 1) return;
        const void *centre = drove__params_bytes(&p->centre);
        memcpy(drove__params_bytes(&r->w), centre, s->n_vector * sizeof(float));
        memcpy(drove__params_bytes(&r->last), centre, s->optim->n * sizeof(float));
    }
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    if (s->layout.in_bf16)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "expected parameters that are integers or floats, found bf16");
    settings set = {.period = 0};
    replicas_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    DROVE_TRY(drove__spec_take(opt->spec, keys, &set));
    p->period = set.period;
    if (p->period == 0) p->period = set.is_sum ? DEFAULT_PERIOD_SUM : DEFAULT_PERIOD_MEAN;
    p->replica = drove__alloc(s->n_workers, sizeof *p->replica);
    p->member = drove__alloc(s->n_workers, sizeof *p->member);
    if (p->replica == NULL || p->member == NULL) return drove__sync_no_memory(s);
    for (unsigned w = 0; w < s->n_workers; w++) {
        p->member[w].of = replica_of(p, opt->place, w, set.by_node);
        p->member[w].mate = p->member[w].of->n_workers++;
        s->worker[w].own = &p->member[w];
    }
    DROVE_TRY(make_vectors(s, start));

    drove_rng rng;
    for (unsigned i = 0; i < p->n_replicas; i++) {
        drovek_bits *bits = &p->replica[i].bits;
        drove__rng_seed(&rng, opt->seed, DROVE_RNG_MERGE, i);
        bits->kind = DROVEK_BITS_XORSHIFT;
        for (size_t k = 0; k < DROVE_COUNT(bits->state); k++)
            bits->state[k] = drove__rng_u64(&rng) | 1; /* never 0 */
    }

    p->share = set.is_sum ? 1.0f : 1.0f / (float)p->n_replicas;
    start_together(s, 0);
    if (p->n_replicas > 1) s->most_steps = p->period;
    if (set.by_node) { /* a node's workers race on their replica */
        s->promises = DROVE_SYNC_LOCK_FREE | DROVE_SYNC_SEQUENTIAL;
        s->needs |= DROVE_SYNC_RACY;
    } else if (set.is_sum) { /* a mean counts a step in part */
        s->promises |= DROVE_SYNC_NO_LOSS;
    }
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    replicas_impl *p = s->impl;
    for (unsigned i = 0; p->replica != NULL && i < p->n_replicas; i++) {
        drove__sync_params_free(s, &p->replica[i].w);
        drove__sync_params_free(s, &p->replica[i].last);
    }
    drove__sync_params_free(s, &p->centre);
    for (size_t i = 0; i < DROVE_COUNT(p->seen); i++) drove__sync_vector_free(s, p->seen[i]);
    drove__free(p->replica);
    drove__free(p->member);
    drove__free(p);
}

/* ---- meeting the centre ---- */

/* The floats behind the numbers of a layout. */
static void *tail_of(const drove_sync *s, const drove_params *vector)
{
    return (char *)drove__params_bytes(vector) + s->layout.tail * sizeof(float);
}

/* c += share (w - last); w = last = c; returns the number of clamped writes.  The state stays as it
 * is. */
static size_t merge(const drove_sync *s, const drove_params *c, const drove_params *w,
                    const drove_params *last, drovek_bits *bits)
{
    const replicas_impl *p = s->impl;
    const drove_layout *l = &s->layout;
    drovek_merge_fn *const *of = s->optim->kernels->linear.merge;
    const size_t n_clamped = of[l->number](drove__params_bytes(c), drove__params_bytes(w),
                                           drove__params_bytes(last), l->n_numbers, p->share, bits);
    (void)of[DROVE_F32](tail_of(s, c), tail_of(s, w), tail_of(s, last), s->optim->n - l->tail,
                        p->share, bits);
    return n_clamped;
}

/* Caller holds the centre, or all workers are parked. */
static void meet(drove_sync *s, replica *r)
{
    replicas_impl *p = s->impl;
    /* Relaxed: mates' steps that have begun count as merged, as they count as published. */
    uint64_t own = atomic_load_explicit(&r->own, memory_order_relaxed);
    s->n_clamped += merge(s, &p->centre, &r->w, &r->last, &r->bits);
    const size_t n = s->optim->n;
    double taken_ns = drove__take(p->centre.theta, n, true) + drove__take(r->w.theta, n, true);
    drove__spend_update(2 * n, taken_ns); /* the centre and the replica */
    p->n_updates += own - r->merged;
    r->merged = own;
    /* Release: who published what is counted here, for mates; pairs with contained. */
    atomic_store_explicit(&r->foreign, p->n_updates - own, memory_order_release);
    /* Relaxed: a hint for mates; the holder of the centre decides. */
    atomic_store_explicit(&r->due, own + p->period * r->n_workers, memory_order_relaxed);
}

static bool is_due(replica *r)
{
    return atomic_load_explicit(&r->own, memory_order_relaxed) >=
           atomic_load_explicit(&r->due, memory_order_relaxed);
}

/* True: the caller has the centre.  The first look, relaxed, decides nothing but spares those who
 * have it a cache line taken away. */
static bool take_centre(replicas_impl *p, unsigned worker)
{
    unsigned free = 0;
    /* Acquire: what the last holder wrote; pairs with the release at the end of meet_if_due. */
    return atomic_load_explicit(&p->taken, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&p->taken, &free, worker + 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

static void meet_if_due(drove_sync *s, unsigned worker, drove_publish_info *info)
{
    replicas_impl *p = s->impl;
    member *me = &p->member[worker];
    replica *r = me->of;
    info->order = DROVE_NO_ORDER;
    if (p->n_replicas == 1 || !is_due(r)) return;
    if (s->worker[worker].stays || !take_centre(p, worker)) {
        info->attempts++; /* the step is in w all the same */
        return;
    }
    if (is_due(r)) { /* otherwise a mate was faster */
        info->order = p->n_meetings++;
        me->order = p->n_meetings;
        meet(s, r);
    }
    atomic_store_explicit(&p->taken, 0, memory_order_release); /* pairs with take_centre */
}

/* ---- steps ---- */

/* Updates in the replica.  Both parts only grow, and whoever made them grow had seen as much of
 * `published` before, so what is published from here on includes them. */
static uint64_t contained(replica *r)
{
    /* Acquire: pairs with count_steps of mates, and with meet. */
    return atomic_load_explicit(&r->own, memory_order_acquire) +
           atomic_load_explicit(&r->foreign, memory_order_acquire);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    const member *me = s->worker[worker].own;
    s->worker[worker].version = contained(me->of);
    *view = (drove_view){.vector = me->of->w.theta,
                         .version = s->worker[worker].version,
                         .order = me->order};
    return DROVE_OK;
}

/* Counts the worker's next n steps; *lacks: updates published before them that were not in the
 * view.  Returns the replica's steps before them. */
static uint64_t count_steps(drove_sync *s, unsigned worker, uint64_t n, uint64_t *lacks)
{
    const member *me = s->worker[worker].own;
    /* Relaxed: only counts; but before `own`, whose release passes it on to mates, as the one in
     * meet_if_due does to others. */
    *lacks = atomic_fetch_add_explicit(&s->published, n, memory_order_relaxed) -
             s->worker[worker].version;
    return atomic_fetch_add_explicit(&me->of->own, n, memory_order_release);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    const member *me = s->worker[worker].own;
    replica *r = me->of;
    drove_publish_info made = {.attempts = 1, .updated = 1};
    uint64_t t = r->state_base + count_steps(s, worker, 1, &made.staleness) + 1;
    /* Counters say it that no order follows from; the step size may. */
    if (s->worker[worker].is_repeated) made.staleness = s->worker[worker].staleness;
    drove__sync_apply_from(s, step, me->mate, r->n_workers, made.staleness, t, r->w.theta);
    meet_if_due(s, worker, &made);
    *info = made;
    return DROVE_OK;
}

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    member *me = s->worker[worker].own;
    /* Relaxed: own as a number only; contained follows it and orders. */
    me->own = atomic_load_explicit(&me->of->own, memory_order_relaxed);
    uint64_t version = contained(me->of);
    s->worker[worker].version = version;
    me->lacked = atomic_load_explicit(&s->published, memory_order_relaxed) - version;
    return me->of->w;
}

/* Updates that were lacking at first lack in all n steps.  Those that other replicas have published
 * since lack in half of them.  Those of mates were in w at once, and are spread over the n. */
static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    const member *me = s->worker[worker].own;
    uint64_t lacks, n = n_steps;
    uint64_t by_mates = count_steps(s, worker, n, &lacks) - me->own;
    uint64_t grown = lacks - me->lacked;
    if (by_mates > grown) by_mates = grown; /* published before live, counted in own after */
    drove_publish_info made = {.attempts = 1, .updated = 1};
    made.staleness = me->lacked + ((grown - by_mates) * (n + 1) / 2 + by_mates + n / 2) / n;
    meet_if_due(s, worker, &made);
    *info = made;
    return DROVE_OK;
}

static uint64_t next_step(drove_sync *s, unsigned worker)
{
    const replica *r = ((const member *)s->worker[worker].own)->of;
    /* Relaxed: a count alone. */
    return r->state_base + atomic_load_explicit(&r->own, memory_order_relaxed) + 1;
}

/* A meeting that it was in has been held in part; the rest of its replica meets the centre when all
 * are parked.  Its seat at the centre is free again. */
static void leave(drove_sync *s, unsigned worker)
{
    replicas_impl *p = s->impl;
    unsigned its = worker + 1;
    (void)atomic_compare_exchange_strong(&p->taken, &its, 0);
}

/* ---- parked ---- */

/* The floats of the rule's state. */
static float *state_of(const drove_sync *s, const drove_params *vector)
{
    return (float *)drove__params_bytes(vector) + s->optim->n;
}

static drove_params peek(drove_sync *s)
{
    replicas_impl *p = s->impl;
    if (p->n_replicas == 1) return p->replica[0].w;
    /* Also those that have met since their last step: their worker may have settled the decay of
     * low-precision parameters, which is no step. */
    if (atomic_load_explicit(&s->published, memory_order_relaxed) != p->n_together) {
        for (unsigned i = 0; i < p->n_replicas; i++) meet(s, &p->replica[i]);
        /* The mean of all states, into the centre: never of gains, so that no second moment can
         * become negative. */
        const drovek_table *k = s->optim->kernels;
        const size_t n_state = s->n_vector - s->optim->n;
        if (n_state > 0) {
            float *mean = state_of(s, &p->centre);
            k->copy_f32(mean, state_of(s, &p->replica[0].w), n_state);
            for (unsigned i = 1; i < p->n_replicas; i++)
                k->axpy_f32(mean, state_of(s, &p->replica[i].w), n_state, 1.0f);
            k->scale_f32(mean, n_state, 1.0f / (float)p->n_replicas);
        }
        start_together(s, p->n_updates);
    } /* otherwise they stand as they were left */
    return p->centre;
}

/* What the centre would be if all replicas met now: copies do. */
static drove_params look(drove_sync *s)
{
    replicas_impl *p = s->impl;
    const size_t size = s->n_vector * sizeof(float);
    drove_params seen[DROVE_COUNT(p->seen)];
    if (p->n_replicas == 1) return p->replica[0].w;
    for (size_t i = 0; i < DROVE_COUNT(p->seen); i++) {
        if (p->seen[i] == NULL) p->seen[i] = drove__sync_vector(s, DROVE_SYNC_SHARED);
        if (p->seen[i] == NULL) return (drove_params){0};
        seen[i] = (drove_params){.theta = p->seen[i]};
        if (p->centre.words != NULL)
            seen[i] = (drove_params){.words = (uint32_t *)(void *)p->seen[i]};
    }
    memcpy(p->seen[0], drove__params_bytes(&p->centre), size);
    for (unsigned i = 0; i < p->n_replicas; i++) {
        const replica *r = &p->replica[i];
        drovek_bits bits = r->bits;
        memcpy(p->seen[1], drove__params_bytes(&r->w), size);
        memcpy(p->seen[2], drove__params_bytes(&r->last), size);
        (void)merge(s, &seen[0], &seen[1], &seen[2], &bits);
    }
    return seen[0];
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    replicas_impl *p = s->impl;
    (void)st;
    const drove_params to = p->n_replicas == 1 ? p->replica[0].w : p->centre;
    memcpy(drove__params_bytes(&to), drove__params_bytes(vector), s->n_vector * sizeof(float));
    start_together(s, atomic_load_explicit(&s->published, memory_order_relaxed));
    return DROVE_OK;
}

/* ---- tables ---- */

static const char *const variants[] = {"replicas", "replicas:core?period=5&merge=sum",
                                       "replicas:node", NULL};

static const drove_sync_places places = {.not_ranks = "its replicas meet in shared memory"};
static const drove_sync_replica_ops replicas = {.look = look};
static const drove_sync_live_ops live = {.begin = live_begin,
                                         .done = live_done,
                                         .next_step = next_step};

const drove_sync_ops drove__sync_replicas = {
    .name = "replicas",
    .help = "a copy for each core or NUMA node, that meet every so many steps",
    .source = "Zhang, Re, VLDB 2014; Zhang et al., ICDM 2016",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_LOCK_FREE | DROVE_SYNC_ORDERED | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_TYPED | DROVE_SYNC_OWN_VECTOR,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .leave = leave,
    .places = &places,
    .live = &live,
    .replicas = &replicas,
};
