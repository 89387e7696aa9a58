/* accum/tree.c - the conventional data-parallel algorithm, which accumulation is measured against.
 *
 * Source: Le Duc et al., Algorithm 4, and Caffe's P2PSync, which it describes.  In each iteration
 *   forward, backward on every device
 *   reduction   along a tree of devices, ((0+1)+(2+3)) unless the order of its leaves is given, so
 *               that neighbours have the fastest links (tree:0,2,1,3), or taken from the NUMA nodes
 *               that the devices' threads run on (tree?links=nodes): the right device of a pair
 *               gives its gradient to the left one, which adds it; at last device 0 has the sum
 *   update      on device 0, the root, by the mean
 *   broadcast   of the root's parameters to all, each device fetching them
 * The paper has the broadcast at the beginning of an iteration: the same, but that parameters are
 * equal on all devices whenever the workers are parked.
 *
 * Devices that keep parameters of their own are sent the mean instead, and every worker makes the
 * update itself: the same operations on the same numbers, and one vector less to move.
 *
 * Between sites (accum/site.h) the first worker of each takes part in a reduction to the root and
 * in a broadcast from it.  In the order of the devices sums are those of `accumulate`, operation
 * for operation: the losses are the same, bit for bit.
 * On the host a device reads another's gradient where it lies; receive buffers, which devices with
 * memory of their own need, are only counted.
 *
 * Invariants: a gradient is changed by the left device of a pair after both have arrived, and read
 * by nobody else until that device arrives at the next pair.  The root's replica, or the mean,
 * changes between the sum of all and its update's number; others read it behind that number, and
 * the next sum of all needs them to have gone on.
 */
#include "accum/accum.h"
#include "accum/replica.h"
#include "accum/schedule.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/relax.h"
#include "cluster/tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_PARITIES = 2,
    CHANNEL_ETA = 0,
    CHANNEL_VECTOR = 1, /* of the transport */
    SPIN_ROUNDS = 256   /* rests before a waiting worker sleeps: some ten microseconds */
};

typedef struct tree_worker {
    float *value; /* its gradient of this iteration, with those that were added */
    float eta;
    uint64_t iteration;
    float *all_eta;     /* [n_workers] of the first worker of a site, where there are several */
    unsigned n_ready;   /* slices that layer_ready has seen ... */
    unsigned n_given;   /* ... and that next_sum has given */
    bool is_resident;   /* its device makes the update */
    bool has_exchanged; /* in this iteration */
    drove_publish_info made; /* by the exchange */
    /* Iterations whose subtree's sum lies in value: its own thread's to store, its parent's to
     * await. */
    _Atomic uint64_t done DROVE_ALIGNED_CACHE_LINE;
} DROVE_ALIGNED_CACHE_LINE tree_worker;

typedef struct moments {         /* of one iteration, by parity */
    _Atomic uint64_t last_ns;    /* the latest end of a backward */
    _Atomic uint64_t reduced_ns; /* the root has the sum of all */
} moments;

typedef struct tree_impl {
    drove_site site;
    drove_replicas replicas;
    tree_worker *worker; /* [n_workers] */
    unsigned *leaf; /* [n_workers] the device at each place of the site's tree, from its first */
    unsigned *place_of; /* [n_workers] the other way round */
    drove_span *part;   /* [n_parts] */
    unsigned n_parts;
    bool sends_mean;      /* to workers that make the update; else the root makes it for all */
    float *mean;          /* [n] then; else NULL */
    float eta;            /* the mean step size; changes with `mean` */
    pthread_mutex_t lock; /* protects stopping, and the change of what is waited for */
    pthread_cond_t changed;
    moments moment[N_PARITIES];
    /* Iterations whose update the root has made. */
    _Atomic uint64_t updated DROVE_ALIGNED_CACHE_LINE;
} tree_impl;

/* ---- setting up ---- */

typedef struct settings {
    drove_counts leaf;
    bool by_node;
} settings;

static const char *const links[] = {"order", "nodes", NULL};
static const drove_spec_key keys[] = {
    {"DEVICE", NULL, DROVE_AS_COUNTS(settings, leaf, 0, DROVE_ACCUM_MOST_DEVICES - 1),
     .is_argument = true, .help = "in the order of the leaves, the root first"},
    {"links", "order", DROVE_AS_EITHER(settings, by_node, links),
     .help = "leaves as they are numbered, or those of a NUMA node side by side"},
    DROVE_SPEC_END,
};

static drove_status leaves_as_given(const drove_sync *s, const drove_counts *given, unsigned *leaf)
{
    bool is_first = given->of[0] == 0;
    if (((const tree_impl *)s->impl)->site.transport != NULL)
        return drove__fail(DROVE_E_ARG, "tree: expected no order of the leaves, since the devices "
                                        "are those of several processes");
    if (given->n != s->n_workers)
        return drove__fail(DROVE_E_ARG,
                           "tree: expected the %u devices in the order of the leaves, "
                           "found %u numbers",
                           s->n_workers, given->n);
    for (unsigned i = 0; i < s->n_workers; i++) {
        leaf[i] = (unsigned)given->of[i];
        is_first = is_first && leaf[i] < s->n_workers;
        for (unsigned j = 0; j < i; j++) is_first = is_first && leaf[j] != leaf[i];
    }
    if (is_first) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "tree: expected each device from 0 to %u once, device 0, the root, first",
                       s->n_workers - 1);
}

/* Devices of a node side by side, the first one's node first; else as they are numbered. */
static void leaves_by_node(const drove_sync *s, unsigned *leaf)
{
    const drove_site *site = &((const tree_impl *)s->impl)->site;
    const unsigned end = site->first + site->n_here;
    unsigned n = 0;
    for (unsigned w = site->first; w < end; w++) {
        bool is_begun = false;
        for (unsigned i = site->first; i < w; i++) is_begun |= s->place[i].node == s->place[w].node;
        for (unsigned i = w; !is_begun && i < end; i++)
            if (s->place[i].node == s->place[w].node) leaf[n++] = i;
    }
}

static drove_status find_leaves(drove_sync *s, const drove_spec *spec, tree_impl *p)
{
    settings set;
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    p->leaf = calloc(2 * (size_t)s->n_workers, sizeof *p->leaf);
    if (p->leaf == NULL) return drove__sync_no_memory(s);
    p->place_of = p->leaf + s->n_workers;
    for (unsigned i = 0; i < p->site.n_here; i++) p->leaf[i] = p->site.first + i;
    if (set.by_node && set.leaf.n > 0) {
        return drove__fail(DROVE_E_ARG, "tree?links: expected order, or nodes without a list of "
                                        "devices, found \"nodes\"");
    }
    if (set.by_node && s->place != NULL && !p->site.is_apart) leaves_by_node(s, p->leaf);
    if (set.leaf.n > 0) DROVE_TRY(leaves_as_given(s, &set.leaf, p->leaf));
    for (unsigned i = 0; i < p->site.n_here; i++) p->place_of[p->leaf[i]] = i;
    return DROVE_OK;
}

/* *any: a device of some process keeps parameters of its own. */
static drove_status find_residents(drove_sync *s, const drove_sync_options *opt, bool *any)
{
    tree_impl *p = s->impl;
    drove_transport *t = p->site.transport;
    unsigned char mine = 0;
    for (unsigned w = p->site.first; w < p->site.first + p->site.n_here; w++) {
        p->worker[w].is_resident = opt->is_resident != NULL && opt->is_resident[w];
        mine |= p->worker[w].is_resident;
    }
    *any = mine != 0;
    if (t == NULL || t->n_processes == 1) return DROVE_OK;
    unsigned char *all = drove__alloc(t->n_processes, 1);
    if (all == NULL) return drove__sync_no_memory(s);
    drove_status status = t->ops->gather(t, &mine, 1, all);
    for (unsigned i = 0; status == DROVE_OK && i < t->n_processes; i++) *any |= all[i] != 0;
    drove__free(all);
    return status;
}

static drove_status make_sums(drove_sync *s, const drove_sync_options *opt)
{
    tree_impl *p = s->impl;
    DROVE_TRY(find_residents(s, opt, &p->sends_mean));
    if (p->sends_mean && p->site.is_apart)
        return drove__fail(DROVE_E_ARG, "tree: expected workers that are processes to compute on "
                                        "cores, found a device");
    if (p->sends_mean) p->mean = drove__sync_vector(s, DROVE_SYNC_SHARED);
    if (p->sends_mean && p->mean == NULL) return drove__sync_no_memory(s);
    if (p->site.transport == NULL) return DROVE_OK;
    for (unsigned i = 0; i < p->site.n_here; i += drove__site_size(&p->site)) {
        float *all = drove__alloc(s->n_workers, sizeof *all);
        if (all == NULL) return drove__sync_no_memory(s);
        p->worker[p->site.first + i].all_eta = all;
    }
    return DROVE_OK;
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    tree_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    drove_status status = drove__lock_init(&p->lock);
    if (status != DROVE_OK) {
        drove__free(p);
        return status;
    }
    (void)pthread_cond_init(&p->changed, NULL); /* cannot fail; awaited by threads alone */
    s->impl = p;
    s->batches_per_update = s->n_workers;
    p->worker = drove__alloc(s->n_workers, sizeof *p->worker);
    if (p->worker == NULL) return drove__sync_no_memory(s);

    const drove_span whole = {.offset = 0, .length = s->optim->n};
    p->n_parts = opt->part != NULL ? (unsigned)opt->n_parts : 1;
    p->part = drove__alloc(p->n_parts, sizeof *p->part);
    if (p->part == NULL) return drove__sync_no_memory(s);
    memcpy(p->part, opt->part != NULL ? opt->part : &whole, p->n_parts * sizeof *p->part);

    DROVE_TRY(drove__site_init(&p->site, s, opt));
    DROVE_TRY(find_leaves(s, opt->spec, p));
    DROVE_TRY(make_sums(s, opt));
    return drove__replicas_init(&p->replicas, s, &p->site, opt, start);
}

static void fini(drove_sync *s)
{
    tree_impl *p = s->impl;
    drove__replicas_fini(&p->replicas, s);
    drove__site_fini(&p->site);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    for (unsigned w = 0; p->worker != NULL && w < s->n_workers; w++)
        drove__free(p->worker[w].all_eta);
    drove__sync_vector_free(s, p->mean);
    drove__free(p->part);
    drove__free(p->worker);
    free(p->leaf);
    drove__free(p);
}

static bool is_stopping(const drove_sync *s)
{
    return atomic_load_explicit(&s->stopping, memory_order_relaxed) != 0;
}

static drove_status stopped(const drove_sync *s)
{
    return drove__fail(DROVE_E_SYSTEM, "%s: stopped", s->ops->name);
}

/* ---- meeting ---- */

static void tell(tree_impl *p, _Atomic uint64_t *counter, uint64_t value)
{
    if (drove__site_size(&p->site) == 1) return; /* nobody awaits it */
    (void)drove__lock(&p->lock);
    /* Release: what was written before; pairs with await. */
    atomic_store_explicit(counter, value, memory_order_release);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* Until the counter has come to `value`; false: the run is being stopped. */
static bool await(drove_sync *s, _Atomic uint64_t *counter, uint64_t value)
{
    tree_impl *p = s->impl;
    for (unsigned i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(counter, memory_order_acquire) >= value) return true;
        drove__relax();
    }
    (void)drove__lock(&p->lock);
    while (atomic_load_explicit(counter, memory_order_acquire) < value && !is_stopping(s))
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return atomic_load_explicit(counter, memory_order_acquire) >= value;
}

/* ---- a step ---- */

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    if (is_stopping(s)) return stopped(s);
    me->n_ready = me->n_given = 0;
    me->has_exchanged = false;
    *view = (drove_view){.vector = p->replicas.vector[worker], .version = me->iteration};
    return DROVE_OK;
}

static float *gradient(drove_sync *s, unsigned worker)
{
    return ((tree_impl *)s->impl)->replicas.gradient[worker];
}

/* The end of this worker's backward, for what is exposed behind the last one. */
static void note_backward(moments *at, uint64_t now_ns)
{
    uint64_t last_ns = atomic_load_explicit(&at->last_ns, memory_order_relaxed);
    /* Relaxed: a time, read behind the counters. */
    while (last_ns < now_ns &&
           !atomic_compare_exchange_weak_explicit(&at->last_ns, &last_ns, now_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* Adds the gradients of the subtrees whose left end the worker at this place is, as soon as each is
 * there.  The places first .. first + n - 1 have `place` among them. */
static bool reduce(drove_sync *s, unsigned place, unsigned first, unsigned n)
{
    tree_impl *p = s->impl;
    if (n == 1) return true;
    unsigned half = drove__tree_split(n), right = first + half;
    if (place >= right) return reduce(s, place, right, n - half);
    if (!reduce(s, place, first, half)) return false;
    if (place != first) return true;
    tree_worker *me = &p->worker[p->leaf[place]], *other = &p->worker[p->leaf[right]];
    if (!await(s, &other->done, me->iteration + 1)) return false;
    bool is_all = n == s->n_workers;
    float *to = is_all && p->sends_mean ? p->mean : me->value;
    float factor = is_all ? 1.0f / (float)n : 1.0f;
    s->optim->kernels->add_f32(to, me->value, other->value, s->optim->n, factor, false);
    return true;
}

static drove_status meet_others(drove_sync *s, unsigned worker, drove_exchange *x)
{
    tree_impl *p = s->impl;
    drove_exchange_info info = {0};
    DROVE_TRY(drove__exchange(p->site.transport, drove__site_as(&p->site, worker), x, &info));
    p->worker[worker].made.bytes += info.bytes;
    p->worker[worker].made.messages += info.messages;
    return DROVE_OK;
}

/* The mean, exact where all are equal, in the order of the workers wherever they are.  Within a
 * site step sizes are those of the iteration: nobody goes on before the update. */
static drove_status mean_eta(drove_sync *s, unsigned worker, float *eta)
{
    tree_impl *p = s->impl;
    const unsigned first = drove__site_first(&p->site, worker), n = drove__site_size(&p->site);
    float *all = p->worker[worker].all_eta;
    double sum = 0.0;
    if (all != NULL) {
        memset(all, 0, s->n_workers * sizeof *all);
        for (unsigned w = first; w < first + n; w++) all[w] = p->worker[w].eta;
        drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                            .channel = CHANNEL_ETA,
                            .in = all,
                            .out = all,
                            .n = s->n_workers};
        DROVE_TRY(meet_others(s, worker, &x));
    }
    for (unsigned w = 0; w < s->n_workers; w++)
        sum += (double)(all != NULL ? all[w] : p->worker[w].eta);
    *eta = (float)(sum / s->n_workers);
    return DROVE_OK;
}

/* The sum of this site, in value, becomes at the root the mean of all. */
static drove_status reduce_between(drove_sync *s, unsigned worker)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    float *to = p->sends_mean ? p->mean : me->value;
    drove_exchange x = {.kind = DROVE_REDUCE,
                        .channel = CHANNEL_VECTOR,
                        .in = me->value,
                        .out = worker == 0 ? to : NULL,
                        .n = s->optim->n};
    if (p->site.transport == NULL) {
        if (s->n_workers == 1 && p->sends_mean)
            s->optim->kernels->copy_f32(p->mean, me->value, s->optim->n);
        return DROVE_OK; /* else reduce has made it */
    }
    DROVE_TRY(meet_others(s, worker, &x));
    if (worker == 0) s->optim->kernels->scale_f32(to, s->optim->n, 1.0f / (float)s->n_workers);
    return DROVE_OK;
}

/* Floats of the vector that a step begins with. */
static size_t n_broadcast(const drove_sync *s)
{
    return s->optim->rule.ops->lookahead ? s->n_vector : s->optim->n;
}

/* From the root to the first workers of the other sites. */
static drove_status broadcast(drove_sync *s, unsigned worker)
{
    tree_impl *p = s->impl;
    float *vector = p->sends_mean ? p->mean : p->replicas.vector[worker];
    drove_exchange x = {.kind = DROVE_BROADCAST,
                        .channel = CHANNEL_VECTOR,
                        .in = worker == 0 ? vector : NULL,
                        .out = vector,
                        .n = p->sends_mean ? s->optim->n : n_broadcast(s)};
    return p->site.transport != NULL ? meet_others(s, worker, &x) : DROVE_OK;
}

/* By the first worker of a site, which has the site's sum: until all of the site may go on. */
static drove_status lead(drove_sync *s, unsigned worker)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    moments *at = &p->moment[me->iteration % N_PARITIES];
    float eta;
    DROVE_TRY(mean_eta(s, worker, &eta));
    DROVE_TRY(reduce_between(s, worker));
    /* Relaxed: a time, read behind the counters. */
    atomic_store_explicit(&at->reduced_ns, drove__now_ns(), memory_order_relaxed);
    if (p->sends_mean) p->eta = eta;
    else if (worker == 0)
        drove__replica_update(&p->replicas, s, 0, me->value, eta, me->iteration + 1);
    DROVE_TRY(broadcast(s, worker));
    /* Relaxed: as in accumulate. */
    if (worker == p->site.first)
        atomic_store_explicit(&s->published, me->iteration + 1, memory_order_relaxed);
    tell(p, &p->updated, me->iteration + 1);
    return DROVE_OK;
}

/* When the parts of the iteration ended; what this worker spent is between two of them. */
static void measure(const tree_impl *p, const tree_worker *me, uint64_t begin_ns,
                    uint64_t updated_ns, drove_publish_info *made)
{
    const moments *at = &p->moment[me->iteration % N_PARITIES];
    uint64_t last_ns = atomic_load_explicit(&at->last_ns, memory_order_relaxed);
    uint64_t reduced_ns = atomic_load_explicit(&at->reduced_ns, memory_order_relaxed);
    if (last_ns < begin_ns) last_ns = begin_ns;
    if (reduced_ns < last_ns) reduced_ns = last_ns;
    if (reduced_ns > updated_ns) reduced_ns = updated_ns;
    made->wait_ns = last_ns - begin_ns;
    made->exchange_ns = reduced_ns - last_ns;
    made->update_ns = updated_ns - reduced_ns;
    made->broadcast_ns = drove__now_ns() - updated_ns;
}

/* All from the end of this worker's backward on, until its parameters or the mean are there. */
static drove_status exchange(drove_sync *s, unsigned worker)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    const unsigned first = drove__site_first(&p->site, worker), n = drove__site_size(&p->site);
    uint64_t begin_ns = drove__now_ns();
    me->made = (drove_publish_info){.attempts = 1, .updated = worker == 0};
    note_backward(&p->moment[me->iteration % N_PARITIES], begin_ns);
    if (n > 1 && !reduce(s, p->place_of[worker], 0, n)) return stopped(s);
    if (worker == first) {
        DROVE_TRY(lead(s, worker));
    } else {
        tell(p, &me->done, me->iteration + 1);
        if (!await(s, &p->updated, me->iteration + 1)) return stopped(s);
    }
    uint64_t updated_ns = drove__now_ns();
    if (worker != first && !p->sends_mean)
        s->optim->kernels->copy_f32(p->replicas.vector[worker], p->replicas.vector[first],
                                    n_broadcast(s));
    measure(p, me, begin_ns, updated_ns, &me->made);
    me->has_exchanged = true;
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    float *own = gradient(s, worker);
    if (!me->has_exchanged) {
        if (step->value != own) memcpy(own, step->value, s->optim->n * sizeof *own);
        me->value = own;
        me->eta = step->eta;
        DROVE_TRY(exchange(s, worker));
    }
    me->has_exchanged = false;
    me->iteration++;
    if (p->sends_mean && !me->is_resident) {
        uint64_t begin_ns = drove__now_ns();
        drove__replica_update(&p->replicas, s, worker, p->mean, p->eta, me->iteration);
        me->made.update_ns += drove__now_ns() - begin_ns;
    }
    *info = me->made;
    return DROVE_OK;
}

/* Nothing is done before all of the gradient is there.  The slot is offered so that decay and the
 * limit of the norm are taken of the mean, as in accumulate. */
static uint64_t layer_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    tree_worker *me = &((tree_impl *)s->impl)->worker[worker];
    (void)offset, (void)length;
    me->n_ready++;
    me->value = value;
    me->eta = eta;
    return 0;
}

/* The mean goes up once all of the gradient has come down, from the last slice to the first. */
static bool next_sum(drove_sync *s, unsigned worker, bool waits, drove_sum *out)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    if (me->n_ready < p->n_parts || me->n_given == p->n_parts) return false;
    if (!me->has_exchanged && (!waits || exchange(s, worker) != DROVE_OK)) return false;
    const drove_span *part = &p->part[p->n_parts - ++me->n_given];
    *out = (drove_sum){.offset = part->offset, .length = part->length, .value = p->mean};
    return true;
}

static float *replica(drove_sync *s, unsigned worker)
{
    return ((tree_impl *)s->impl)->replicas.vector[worker];
}

static void stop(drove_sync *s)
{
    tree_impl *p = s->impl;
    (void)drove__lock(&p->lock);
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    drove__site_stop(&p->site);
}

/* ---- parked ---- */

/* The rule's state is the root's. */
static drove_status parked(drove_sync *s)
{
    return drove__replicas_check(&((tree_impl *)s->impl)->replicas, s, s->optim->n);
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = replica(s, ((tree_impl *)s->impl)->site.first)};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    tree_impl *p = s->impl;
    (void)st;
    uint64_t iteration = atomic_load_explicit(&s->published, memory_order_relaxed);
    drove__replicas_set(&p->replicas, s, vector);
    for (unsigned w = 0; w < s->n_workers; w++) {
        p->worker[w].iteration = iteration;
        atomic_store_explicit(&p->worker[w].done, iteration, memory_order_relaxed);
    }
    atomic_store_explicit(&p->updated, iteration, memory_order_relaxed);
    return DROVE_OK;
}

static const char *const variants[] = {"tree", "tree?links=nodes", NULL};

static const drove_sync_places places = {
    .not_virtual = "its workers wait for each other's slices in real time"};
static const drove_sync_slice_ops slices = {.ready = layer_ready, .next_sum = next_sum};
static const drove_sync_replica_ops replicas = {.vector = replica, .parked = parked};

const drove_sync_ops drove__accum_tree = {
    .name = "tree",
    .help = "devices with parameters of their own; after backward a reduction along a tree of "
            "devices, the update on the first, a broadcast",
    .source = "Le Duc et al., Algorithm 4",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_DENSE,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .batches = "rounds",
    .gradient = gradient,
    .stop = stop,
    .places = &places,
    .slices = &slices,
    .replicas = &replicas,
};

/* Caffe keeps a buffer for each device that gives its gradient to this one: the root has most. */
static unsigned n_receives(unsigned n)
{
    unsigned count = 0;
    for (; n > 1; n = (n + 1) / 2) count++;
    return count;
}

bool drove__tree_facts(const drove_sync *s, drove_accum_facts *out)
{
    const tree_impl *p = s->impl;
    out->n_devices = s->n_workers;
    out->n_checks = p->replicas.n_checks;
    out->receive_vectors = n_receives(s->n_workers);
    return true;
}
