/* accum/tree.c - the conventional data-parallel algorithm, which accumulation is measured against.
 *
 * Source: Le Duc et al., Algorithm 4, and Caffe's P2PSync, which it describes.  In each iteration
 *   forward, backward on every device
 *   reduction   along a tree of devices, ((0+1)+(2+3)) unless the order of its leaves is given, so
 *               that neighbours have the fastest links (tree:0,2,1,3), or taken from the NUMA nodes
 *               that the devices' threads run on (tree?links=nodes): a device that is the right
 * one of a pair
 *               gives its gradient to the left one, which adds it; at last device 0 has the sum
 *   update      on device 0, the root, by the mean
 *   broadcast   of the root's parameters to all, each device fetching them
 * The paper has the broadcast at the beginning of an iteration: the same, but that parameters are
 * equal on all devices whenever the workers are parked.
 *
 * In the order of the devices sums are those of `accumulate`, operation for operation: the losses
 * are the same, bit for bit.
 * On the host a device reads another's gradient where it lies; receive buffers, which devices with
 * memory of their own need, are only counted.
 *
 * Invariants: a gradient is changed by the left device of a pair after both have arrived, and read
 * by nobody else until that device arrives at the next pair.  The root's replica changes between
 * the sum of all and its update's number; others read it behind that number, and the next sum of
 * all needs them to have gone on.
 */
#include "accum/accum.h"
#include "accum/replica.h"

#include "base/clock.h"
#include "base/relax.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_PARITIES = 2,
    SPIN_ROUNDS = 256 /* rests before a waiting worker sleeps: some ten microseconds */
};

typedef struct tree_worker {
    float *value; /* its gradient of this iteration, with those that were added */
    float eta;
    uint64_t iteration;
    /* Iterations whose subtree's sum lies in value: its own thread's to store, its parent's to
     * await. */
    _Atomic uint64_t done DROVE_ALIGNED_CACHE_LINE;
} DROVE_ALIGNED_CACHE_LINE tree_worker;

typedef struct moments {         /* of one iteration, by parity */
    _Atomic uint64_t last_ns;    /* the latest end of a backward */
    _Atomic uint64_t reduced_ns; /* the root has the sum of all */
} moments;

typedef struct tree_impl {
    drove_replicas replicas;
    tree_worker *worker;  /* [n_workers] */
    unsigned *leaf;       /* [n_workers] the device at each place of the tree; the first is 0 */
    unsigned *place_of;   /* [n_workers] the other way round */
    pthread_mutex_t lock; /* protects stopping, and the change of what is waited for */
    pthread_cond_t changed;
    moments moment[N_PARITIES];
    /* Iterations whose update the root has made. */
    _Atomic uint64_t updated DROVE_ALIGNED_CACHE_LINE;
} tree_impl;

/* ---- setting up ---- */

static drove_status leaves_as_given(const drove_sync *s, const drove_spec *spec, unsigned *leaf)
{
    bool is_first = true;
    if (spec->n_args != s->n_workers)
        return drove__fail(DROVE_E_ARG,
                           "tree: expected the %u devices in the order of the leaves, "
                           "found %u numbers",
                           s->n_workers, spec->n_args);
    for (unsigned i = 0; i < s->n_workers; i++) {
        uint64_t device = 0;
        DROVE_TRY(drove__spec_arg_u64(spec, i, 0, s->n_workers - 1, &device));
        leaf[i] = (unsigned)device;
        for (unsigned j = 0; j < i; j++) is_first = is_first && leaf[j] != leaf[i];
    }
    if (is_first && leaf[0] == 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "tree: expected each device once, device 0, the root, first");
}

/* Devices of a node side by side, the root's node first; else as they are numbered. */
static void leaves_by_node(const drove_sync *s, unsigned *leaf)
{
    unsigned n = 0;
    for (unsigned w = 0; w < s->n_workers; w++) {
        bool is_begun = false;
        for (unsigned i = 0; i < w; i++) is_begun |= s->place[i].node == s->place[w].node;
        for (unsigned i = w; !is_begun && i < s->n_workers; i++)
            if (s->place[i].node == s->place[w].node) leaf[n++] = i;
    }
}

static drove_status find_leaves(drove_sync *s, const drove_spec *spec, tree_impl *p)
{
    static const char *const keys[] = {"links", NULL};
    const char *links = drove__spec_get(spec, "links", "order");
    DROVE_TRY(drove__spec_check(spec, DROVE_SPEC_MAX_ARGS, keys));
    p->leaf = calloc(2 * (size_t)s->n_workers, sizeof *p->leaf);
    if (p->leaf == NULL) return drove__sync_no_memory(s);
    p->place_of = p->leaf + s->n_workers;
    for (unsigned w = 0; w < s->n_workers; w++) p->leaf[w] = w;
    if (strcmp(links, "nodes") == 0 && spec->n_args == 0) {
        if (s->place != NULL) leaves_by_node(s, p->leaf);
    } else if (strcmp(links, "order") != 0) {
        return drove__fail(DROVE_E_ARG,
                           "tree?links: expected order, or nodes without a list of "
                           "devices, found \"%s\"",
                           links);
    } else if (spec->n_args > 0) {
        DROVE_TRY(leaves_as_given(s, spec, p->leaf));
    }
    for (unsigned i = 0; i < s->n_workers; i++) p->place_of[p->leaf[i]] = i;
    return DROVE_OK;
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    tree_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    (void)pthread_mutex_init(&p->lock, NULL); /* neither can fail with default attributes */
    (void)pthread_cond_init(&p->changed, NULL);
    s->impl = p;
    s->batches_per_update = s->n_workers;
    p->worker = drove__alloc(s->n_workers, sizeof *p->worker);
    if (p->worker == NULL) return drove__sync_no_memory(s);
    DROVE_TRY(find_leaves(s, opt->spec, p));
    return drove__replicas_init(&p->replicas, s, start);
}

static void fini(drove_sync *s)
{
    tree_impl *p = s->impl;
    drove__replicas_fini(&p->replicas, s);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
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
    pthread_mutex_lock(&p->lock);
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
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(counter, memory_order_acquire) < value && !is_stopping(s))
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return atomic_load_explicit(counter, memory_order_acquire) >= value;
}

/* ---- a step ---- */

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    tree_impl *p = s->impl;
    if (is_stopping(s)) return stopped(s);
    *view =
        (drove_view){.vector = p->replicas.vector[worker], .version = p->worker[worker].iteration};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s; /* nobody writes this worker's replica before it publishes */
    (void)worker;
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
    unsigned half = (n + 1) / 2, right = first + half;
    if (place >= right) return reduce(s, place, right, n - half);
    if (!reduce(s, place, first, half)) return false;
    if (place != first) return true;
    tree_worker *me = &p->worker[p->leaf[place]], *other = &p->worker[p->leaf[right]];
    if (!await(s, &other->done, me->iteration + 1)) return false;
    float factor = n == s->n_workers ? 1.0f / (float)n : 1.0f;
    s->optim->kernels->add_f32(me->value, me->value, other->value, s->optim->n, factor, false);
    return true;
}

/* Step sizes are those of the iteration: nobody goes on before the update. */
static float mean_eta(const drove_sync *s)
{
    const tree_impl *p = s->impl;
    double sum = 0.0;
    for (unsigned w = 0; w < s->n_workers; w++) sum += (double)p->worker[w].eta;
    return (float)(sum / s->n_workers);
}

static void update_root(drove_sync *s, tree_worker *me)
{
    tree_impl *p = s->impl;
    drove__replica_update(&p->replicas, s, 0, me->value, mean_eta(s), me->iteration + 1);
    /* Relaxed: as in accumulate. */
    atomic_store_explicit(&s->published, me->iteration + 1, memory_order_relaxed);
    tell(p, &p->updated, me->iteration + 1);
}

static void fetch(drove_sync *s, unsigned worker)
{
    tree_impl *p = s->impl;
    size_t n = s->optim->rule.ops->lookahead ? s->n_vector : s->optim->n;
    s->optim->kernels->copy_f32(p->replicas.vector[worker], p->replicas.vector[0], n);
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
    if (updated_ns < reduced_ns) updated_ns = reduced_ns;
    made->wait_ns = last_ns - begin_ns;
    made->exchange_ns = reduced_ns - last_ns;
    made->update_ns = updated_ns - reduced_ns;
    made->broadcast_ns = drove__now_ns() - updated_ns;
}

/* All from the end of this worker's backward on. */
static drove_status exchange(drove_sync *s, unsigned worker, drove_publish_info *made)
{
    tree_impl *p = s->impl;
    tree_worker *me = &p->worker[worker];
    moments *at = &p->moment[me->iteration % N_PARITIES];
    uint64_t begin_ns = drove__now_ns();
    note_backward(at, begin_ns);
    if (!reduce(s, p->place_of[worker], 0, s->n_workers)) return stopped(s);
    if (worker == 0) {
        atomic_store_explicit(&at->reduced_ns, drove__now_ns(), memory_order_relaxed);
        update_root(s, me);
    } else {
        tell(p, &me->done, me->iteration + 1);
        if (!await(s, &p->updated, me->iteration + 1)) return stopped(s);
    }
    uint64_t updated_ns = drove__now_ns();
    if (worker > 0) fetch(s, worker);
    measure(p, me, begin_ns, updated_ns, made);
    return DROVE_OK;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    tree_worker *me = &((tree_impl *)s->impl)->worker[worker];
    float *own = gradient(s, worker);
    drove_publish_info made = {.attempts = 1, .updated = worker == 0};
    if (step->value != own) memcpy(own, step->value, s->optim->n * sizeof *own);
    me->value = own;
    me->eta = step->eta;
    DROVE_TRY(exchange(s, worker, &made));
    me->iteration++;
    *info = made;
    return DROVE_OK;
}

/* Nothing is done before all of the gradient is there; that decay and the limit of the norm are of
 * the mean, as in accumulate, is why this slot is here. */
static uint64_t layer_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    (void)s, (void)worker, (void)offset, (void)length, (void)value, (void)eta;
    return 0;
}

static bool next_sum(drove_sync *s, unsigned worker, bool waits, drove_sum *out)
{
    (void)s, (void)worker, (void)waits, (void)out; /* updates are the root's, on the host */
    return false;
}

static float *replica(drove_sync *s, unsigned worker)
{
    return ((tree_impl *)s->impl)->replicas.vector[worker];
}

static void stop(drove_sync *s)
{
    tree_impl *p = s->impl;
    pthread_mutex_lock(&p->lock);
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* ---- parked ---- */

/* The rule's state is the root's. */
static drove_status parked(drove_sync *s)
{
    return drove__replicas_check(&((tree_impl *)s->impl)->replicas, s, s->optim->n);
}

static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = replica(s, 0)};
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

const drove_sync_ops drove__accum_tree = {
    .name = "tree",
    .help = "devices with parameters of their own; after backward a reduction along a tree of "
            "devices, the update on the first, a broadcast; tree:0,2,1,3 = its leaves, "
            "tree?links=nodes = by NUMA node",
    .source = "Le Duc et al., Algorithm 4",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_REPEATABLE,
    .needs = DROVE_SYNC_DENSE,
    .variants = variants,
    .batches = "rounds",
    .not_procs = "its threads add gradients where they lie, in memory of one process",
    .not_ranks = "its gradients are added in memory of one process",
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .release = release,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .gradient = gradient,
    .stop = stop,
    .layer_ready = layer_ready,
    .next_sum = next_sum,
    .replica = replica,
    .parked = parked,
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
