/* accum/collect.c - see collect.h. */
#include "accum/collect.h"

#include "cluster/slices.h"
#include "accum/sum.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/relax.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIN_ROUNDS = 256, /* rests before a waiting thread sleeps: some ten microseconds */
    N_COMPARED = 4096, /* elements of a part, of sums in the order of arrival */
    N_PARITIES = 2
};
static const size_t STREAM_FROM = (size_t)1 << 22; /* floats: sums that no cache keeps */

typedef struct job {            /* an addition that was ordered */
    struct job *before, *after; /* in the queue, while chunks are left */
    drove_accum_action what;
    size_t n_chunks, n_claimed, n_done;
    unsigned *taken; /* [n_devices] chunks by each */
} job;

typedef struct part_times { /* of this iteration */
    uint64_t add_begin_ns, add_end_ns, add_ns;
} part_times;

typedef struct member {
    float *gradient; /* [n] of this iteration */
    float eta;
    bool is_resident;
    uint64_t iteration;         /* that it is in, as its own thread sees it */
    unsigned n_ready, n_handed; /* resident: sums in `ready`; handed out of them */
    unsigned *ready;            /* [n_parts] */
} member;

typedef struct turn { /* of one iteration, by parity */
    uint64_t last_ns; /* the latest arrival */
    size_t n_arrived; /* of all parts of all devices */
    size_t n_sums;
    float eta; /* mean, when all have arrived */
} turn;

struct drove_collector {
    drove_collector_options opt;
    drove_span *part;             /* [n_parts] */
    drove_accum_part *record;     /* [n_parts] */
    part_times *times;            /* [n_parts] */
    const drove_accum_node *tree; /* the schedule's */
    unsigned n_nodes, root;
    float *sum[N_PARITIES];         /* [n]; the second for FIRST_COME alone */
    float **node;                   /* [n_nodes] PAIRS: sums that are not the root's */
    float *reference;               /* [N_COMPARED] FIRST_COME */
    drove_slice_exchange *exchange; /* with other processes; NULL: there are none */
    float *eta;                     /* [n_devices] for it */
    float share;                    /* factor of the last addition */
    float *spare;                   /* [n_threads][DROVE_SUM_LEVELS][DROVE_SUM_BLOCK] */
    member *device;                 /* [n_devices] */
    drove_accum_error error;
    pthread_t *helper; /* [n_helpers] */
    unsigned n_started;

    pthread_mutex_t lock;   /* protects all below, and all above that changes */
    pthread_cond_t changed; /* version has grown */
    drove_schedule *schedule;
    drove_accum_action *action; /* [most] */
    job *job;                   /* [n_parts][n_nodes - n_devices, at least 1] */
    unsigned *taken;            /* memory behind the jobs' */
    job *first, *last;          /* queue of those with chunks left */
    size_t n_jobs, n_per_part;
    turn turn[N_PARITIES];
    uint64_t exchanged; /* the iteration whose slices are exchanged: one at a time */
    bool is_stopping, is_ending;
    _Atomic uint64_t version DROVE_ALIGNED_CACHE_LINE; /* changed under the lock */
};

/* ---- memory ---- */

static float *vector_alloc(const drove_collector_options *o)
{
    return o->topo != NULL ? drove__topo_alloc(o->topo, o->n * sizeof(float), -1)
                           : drove__alloc(o->n, sizeof(float));
}

static void vector_free(const drove_collector_options *o, float *v)
{
    if (v == NULL) return;
    if (o->topo != NULL) drove__topo_free(o->topo, v, o->n * sizeof(float));
    else drove__free(v);
}

static drove_status no_memory(const drove_collector_options *o)
{
    return drove__fail_nomem("sums of gradients", o->n * sizeof(float));
}

static drove_status allocate_sums(drove_collector *c)
{
    const drove_collector_options *o = &c->opt;
    unsigned n_threads = o->n_devices + o->n_helpers;
    c->spare = drove__alloc(n_threads, DROVE_SUM_LEVELS * DROVE_SUM_BLOCK * sizeof(float));
    c->node = calloc(c->n_nodes, sizeof *c->node);
    if (c->spare == NULL || c->node == NULL) return no_memory(o);
    if (o->n_devices == 1) return DROVE_OK;
    c->sum[0] = vector_alloc(o);
    if (c->sum[0] == NULL) return no_memory(o);
    if (o->order == DROVE_ACCUM_FIRST_COME) {
        c->sum[1] = vector_alloc(o);
        c->reference = drove__alloc(N_COMPARED, sizeof *c->reference);
        if (c->sum[1] == NULL || c->reference == NULL) return no_memory(o);
    }
    for (unsigned i = o->n_devices; o->order == DROVE_ACCUM_PAIRS && i < c->root; i++) {
        c->node[i] = vector_alloc(o);
        if (c->node[i] == NULL) return no_memory(o);
    }
    return DROVE_OK;
}

static drove_status allocate_jobs(drove_collector *c)
{
    const drove_collector_options *o = &c->opt;
    c->n_per_part = c->n_nodes > o->n_devices ? c->n_nodes - o->n_devices : 1;
    c->n_jobs = o->n_parts * c->n_per_part;
    c->job = calloc(c->n_jobs, sizeof *c->job);
    c->taken = calloc(c->n_jobs, o->n_devices * sizeof *c->taken);
    c->action = calloc(drove__schedule_most_actions(c->schedule), sizeof *c->action);
    c->part = calloc(o->n_parts, sizeof *c->part);
    c->record = calloc(o->n_parts, sizeof *c->record);
    c->times = calloc(o->n_parts, sizeof *c->times);
    c->device = calloc(o->n_devices, sizeof *c->device);
    if (c->job == NULL || c->taken == NULL || c->action == NULL || c->part == NULL ||
        c->record == NULL || c->times == NULL || c->device == NULL)
        return no_memory(o);
    for (size_t i = 0; i < c->n_jobs; i++) c->job[i].taken = c->taken + i * o->n_devices;
    for (size_t i = 0; i < o->n_parts; i++) {
        c->part[i] = o->part[i];
        c->record[i].offset = o->part[i].offset;
        c->record[i].length = o->part[i].length;
    }
    for (unsigned d = 0; d < o->n_devices; d++) {
        c->device[d].is_resident = o->is_resident != NULL && o->is_resident[d];
        c->device[d].ready = calloc(o->n_parts, sizeof *c->device[d].ready);
        if (c->device[d].ready == NULL) return no_memory(o);
    }
    return DROVE_OK;
}

/* ---- orders ---- */

static void tell(drove_collector *c)
{
    /* Release: pairs with the acquire of a thread that waits awake; sleepers see it by the lock. */
    atomic_fetch_add_explicit(&c->version, 1, memory_order_release);
    pthread_cond_broadcast(&c->changed);
}

static void push_job(drove_collector *c, const drove_accum_action *a)
{
    unsigned slot = a->node - c->opt.n_devices;
    job *j = &c->job[a->part * c->n_per_part + slot];
    j->what = *a;
    j->n_chunks = (c->part[a->part].length + DROVE_SUM_CHUNK - 1) / DROVE_SUM_CHUNK;
    j->n_claimed = j->n_done = 0;
    memset(j->taken, 0, c->opt.n_devices * sizeof *j->taken);
    j->before = c->last;
    j->after = NULL;
    *(c->last != NULL ? &c->last->after : &c->first) = j;
    c->last = j;
}

static void unlink_job(drove_collector *c, job *j)
{
    *(j->before != NULL ? &j->before->after : &c->first) = j->after;
    *(j->after != NULL ? &j->after->before : &c->last) = j->before;
}

/* The time of each part's additions, now that it is known when the last backward ended.
 */
static void close_round(drove_collector *c, turn *r)
{
    unsigned n_devices = c->opt.n_devices;
    double eta = 0.0; /* the mean is exact where all are equal */
    for (unsigned d = 0; d < n_devices; d++) eta += (double)c->device[d].eta;
    r->eta = (float)(eta / n_devices);
    r->n_sums = r->n_arrived = 0;
    for (size_t i = 0; i < c->opt.n_parts; i++) {
        part_times *t = &c->times[i];
        drove_accum_part *p = &c->record[i];
        uint64_t from = t->add_begin_ns > r->last_ns ? t->add_begin_ns : r->last_ns;
        p->n_iterations++;
        p->add_ns += t->add_ns;
        p->add_span_ns += t->add_end_ns - t->add_begin_ns;
        p->add_exposed_ns += t->add_end_ns > from ? t->add_end_ns - from : 0;
        *t = (part_times){0};
    }
}

static void give(drove_collector *c, const drove_accum_action *a)
{
    member *d = &c->device[a->device];
    if (d->is_resident) {
        d->ready[d->n_ready++] = a->part;
        return;
    }
    const drove_accum_event given = {
        .verb = DROVE_ACCUM_GIVEN, .iteration = a->iteration, .part = a->part, .device = a->device};
    size_t none;
    drove_status status = drove__schedule_handle(c->schedule, &given, NULL, &none);
    assert(status == DROVE_OK && none == 0);
    (void)status;
}

/* What the tree would have made of the first elements, while the gradients are still there. */
static void compare(drove_collector *c, unsigned part, const float *sum)
{
    float *gradient[DROVE_ACCUM_MOST_DEVICES];
    size_t offset = c->part[part].offset, n = c->part[part].length;
    unsigned n_devices = c->opt.n_devices;
    float spare[DROVE_SUM_LEVELS * DROVE_SUM_BLOCK];
    if (n > N_COMPARED) n = N_COMPARED;
    for (unsigned d = 0; d < n_devices; d++) gradient[d] = c->device[d].gradient;
    drove__sum_tree(c->opt.kernels, c->tree, c->n_nodes - 1, gradient, offset, n, c->reference,
                    c->share, false, spare);
    for (size_t i = 0; i < n; i++) {
        double want = (double)c->reference[i], difference = fabs((double)sum[offset + i] - want);
        c->error.n_compared++;
        if (!(difference > 0.0)) continue;
        c->error.n_different++;
        if (difference > c->error.most) c->error.most = difference;
        if (difference > c->error.relative * fabs(want))
            c->error.relative = difference / fabs(want);
    }
}

static float *sum_of(const drove_collector *c, uint64_t iteration)
{
    if (c->opt.n_devices == 1) return c->device[0].gradient;
    return c->sum[c->opt.order == DROVE_ACCUM_FIRST_COME ? iteration % N_PARITIES : 0];
}

/* The sum of this process's devices goes on to the other processes; given when it is back. */
static void offer(drove_collector *c, const drove_accum_action *a)
{
    for (unsigned d = 0; d < c->opt.n_devices; d++) c->eta[d] = c->device[d].eta;
    c->exchanged = a->iteration;
    if (drove__slices_offer(c->exchange, a->part, sum_of(c, a->iteration), c->eta) != DROVE_OK)
        c->is_stopping = true;
}

/* By the exchange's thread: a slice is the mean of all processes. */
static void take_back(void *context, size_t part, const float *eta)
{
    drove_collector *c = context;
    pthread_mutex_lock(&c->lock);
    if (part == c->opt.n_parts) c->is_stopping = true;
    drove_accum_action a = {.verb = DROVE_ACCUM_GIVE,
                            .iteration = c->exchanged,
                            .part = (unsigned)part};
    if (eta != NULL) c->turn[c->exchanged % N_PARITIES].eta = *eta;
    for (; part < c->opt.n_parts && a.device < c->opt.n_devices; a.device++) give(c, &a);
    tell(c);
    pthread_mutex_unlock(&c->lock);
}

/* The caller holds the lock. */
static void handle(drove_collector *c, const drove_accum_event *event)
{
    size_t n;
    drove_status status = drove__schedule_handle(c->schedule, event, c->action, &n);
    assert(status == DROVE_OK);
    (void)status;
    if (n == 0) return;
    bool is_sum = c->action[0].verb == DROVE_ACCUM_GIVE;
    turn *r = &c->turn[event->iteration % N_PARITIES];
    if (is_sum && c->reference != NULL)
        compare(c, event->part, c->sum[event->iteration % N_PARITIES]);
    for (size_t i = 0; i < n; i++) {
        if (c->action[i].verb == DROVE_ACCUM_ADD) push_job(c, &c->action[i]);
        else if (c->exchange == NULL) give(c, &c->action[i]);
    }
    if (is_sum && c->exchange != NULL) offer(c, &c->action[0]);
    if (is_sum && ++r->n_sums == c->opt.n_parts) close_round(c, r);
    tell(c);
}

/* ---- additions ---- */

static float *node_of(const drove_collector *c, const drove_accum_action *a, unsigned node)
{
    unsigned n_devices = c->opt.n_devices;
    if (node < n_devices) return c->device[node].gradient;
    bool is_first_come = c->opt.order == DROVE_ACCUM_FIRST_COME;
    if (is_first_come) return c->sum[a->iteration % N_PARITIES];
    return node == c->root ? c->sum[0] : c->node[node];
}

/* One chunk, by the thread number `thread`; without the lock: nothing that is read here changes
 * before the chunk is reported. */
static void add_chunk(const drove_collector *c, const job *j, size_t chunk, unsigned thread)
{
    const drove_accum_action *a = &j->what;
    const drove_span *part = &c->part[a->part];
    size_t at = chunk * DROVE_SUM_CHUNK;
    size_t length = part->length - at < DROVE_SUM_CHUNK ? part->length - at : DROVE_SUM_CHUNK;
    size_t offset = part->offset + at;
    float *to = node_of(c, a, a->node) + offset;
    float factor = a->is_last ? c->share : 1.0f;
    if (c->opt.order == DROVE_ACCUM_ONCE) {
        float *gradient[DROVE_ACCUM_MOST_DEVICES];
        for (unsigned d = 0; d < c->opt.n_devices; d++) gradient[d] = c->device[d].gradient;
        drove__sum_tree(c->opt.kernels, c->tree, c->root, gradient, offset, length, to, factor,
                        c->opt.n >= STREAM_FROM,
                        c->spare + (size_t)thread * DROVE_SUM_LEVELS * DROVE_SUM_BLOCK);
        return;
    }
    const float *term[DROVE_ACCUM_MOST_DEVICES + 1];
    for (unsigned i = 0; i < a->n_terms; i++) term[i] = node_of(c, a, a->term[i]) + offset;
    drove__sum_chain(c->opt.kernels, term, a->n_terms, length, to, factor);
}

/* A chunk that is left; share: at most so many parts of a job, of each device.  NULL: none. */
static job *claim(drove_collector *c, unsigned device, unsigned share, size_t *chunk)
{
    for (job *j = c->first; j != NULL; j = j->after) {
        if (share > 1 && j->taken[device] * share >= j->n_chunks) continue;
        if (device < c->opt.n_devices) j->taken[device]++;
        *chunk = j->n_claimed++;
        if (j->n_claimed == j->n_chunks) unlink_job(c, j);
        return j;
    }
    return NULL;
}

/* Of the time line. */
static unsigned track_of(const drove_collector *c, unsigned thread)
{
    const drove_collector_options *o = &c->opt;
    return thread < o->n_devices ? o->first + thread : o->n_all + thread - o->n_devices;
}

/* Takes one chunk and adds it, the lock given up meanwhile; false: there was none. */
static bool add_one(drove_collector *c, unsigned thread, unsigned share, uint64_t *add_ns)
{
    size_t chunk;
    job *j = claim(c, thread, share, &chunk);
    if (j == NULL) return false;
    part_times *t = &c->times[j->what.part];
    drove_time_span span = {.iteration = j->what.iteration,
                            .part = j->what.part,
                            .kind = DROVE_SPAN_ADD,
                            .begin_ns = drove__now_ns()};
    pthread_mutex_unlock(&c->lock);
    add_chunk(c, j, chunk, thread);
    span.end_ns = drove__now_ns();
    drove__spans_add(c->opt.spans, track_of(c, thread), &span);
    pthread_mutex_lock(&c->lock);
    *add_ns += span.end_ns - span.begin_ns;
    if (t->add_begin_ns == 0 || span.begin_ns < t->add_begin_ns) t->add_begin_ns = span.begin_ns;
    if (span.end_ns > t->add_end_ns) t->add_end_ns = span.end_ns;
    t->add_ns += span.end_ns - span.begin_ns;
    if (++j->n_done < j->n_chunks) return true;
    const drove_accum_event added = {.verb = DROVE_ACCUM_ADDED,
                                     .iteration = j->what.iteration,
                                     .part = j->what.part,
                                     .node = j->what.node};
    handle(c, &added);
    return true;
}

/* ---- waiting ---- */

/* Until something has changed; the caller holds the lock. */
static void await_change(drove_collector *c)
{
    uint64_t seen = atomic_load_explicit(&c->version, memory_order_relaxed);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(&c->version, memory_order_acquire) != seen) break;
        drove__relax();
    }
    pthread_mutex_lock(&c->lock);
    while (atomic_load_explicit(&c->version, memory_order_relaxed) == seen && !c->is_stopping &&
           !c->is_ending)
        pthread_cond_wait(&c->changed, &c->lock);
}

static void *help(void *argument)
{
    drove_collector *c = argument;
    drovek_thread_init();
    pthread_mutex_lock(&c->lock);
    unsigned thread = c->opt.n_devices + c->n_started++;
    uint64_t unused = 0;
    while (!c->is_ending && !c->is_stopping) {
        if (!add_one(c, thread, 1, &unused)) await_change(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- creation ---- */

static drove_status start_helpers(drove_collector *c)
{
    unsigned n = c->opt.n_helpers;
    c->helper = calloc(n > 0 ? n : 1, sizeof *c->helper);
    if (c->helper == NULL) return no_memory(&c->opt);
    c->opt.n_helpers = 0;
    while (c->opt.n_helpers < n) {
        int error = pthread_create(&c->helper[c->opt.n_helpers], NULL, help, c);
        if (error != 0)
            return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start helper %u of %u",
                                     c->opt.n_helpers + 1, n);
        c->opt.n_helpers++;
    }
    return DROVE_OK;
}

static drove_status make_exchange(drove_collector *c)
{
    const drove_collector_options *o = &c->opt;
    c->share = o->transport != NULL ? 1.0f : 1.0f / (float)o->n_devices;
    if (o->transport == NULL) return DROVE_OK;
    const drove_slice_exchange_options opt = {.transport = o->transport,
                                              .worker = o->as,
                                              .n_all = o->n_all,
                                              .first = o->first,
                                              .n_here = o->n_devices,
                                              .part = c->part,
                                              .n_parts = o->n_parts,
                                              .kernels = o->kernels,
                                              .done = take_back,
                                              .context = c};
    c->eta = calloc(o->n_devices, sizeof *c->eta);
    if (c->eta == NULL) return no_memory(o);
    return drove__slices_create(&opt, &c->exchange);
}

static drove_status fill(drove_collector *c)
{
    const drove_collector_options *o = &c->opt;
    DROVE_TRY(drove__schedule_create(o->n_devices, (unsigned)o->n_parts, o->order, &c->schedule));
    c->tree = (drove_accum_node *)drove__schedule_tree(c->schedule, &c->n_nodes);
    c->root = c->n_nodes - 1;
    DROVE_TRY(allocate_jobs(c));
    DROVE_TRY(allocate_sums(c));
    DROVE_TRY(make_exchange(c));
    return start_helpers(c);
}

drove_status drove__collector_create(const drove_collector_options *opt, drove_collector **out)
{
    *out = NULL;
    /* Not drove__alloc: a process that is forked later has this, locks and all, for itself. */
    drove_collector *c = aligned_alloc(_Alignof(drove_collector), sizeof *c);
    if (c == NULL) return no_memory(opt);
    memset(c, 0, sizeof *c);
    c->opt = *opt;
    (void)pthread_mutex_init(&c->lock, NULL); /* neither can fail with default attributes */
    (void)pthread_cond_init(&c->changed, NULL);
    drove_status status = fill(c);
    if (status != DROVE_OK) {
        drove__collector_destroy(c);
        return status;
    }
    *out = c;
    return DROVE_OK;
}

void drove__collector_destroy(drove_collector *c)
{
    if (c == NULL) return;
    pthread_mutex_lock(&c->lock);
    c->is_ending = true;
    tell(c);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; c->helper != NULL && i < c->opt.n_helpers; i++)
        pthread_join(c->helper[i], NULL);
    drove__slices_destroy(c->exchange);
    free(c->eta);
    for (unsigned i = 0; c->node != NULL && i < c->n_nodes; i++) vector_free(&c->opt, c->node[i]);
    for (unsigned i = 0; i < N_PARITIES; i++) vector_free(&c->opt, c->sum[i]);
    for (unsigned d = 0; c->device != NULL && d < c->opt.n_devices; d++) free(c->device[d].ready);
    drove__schedule_destroy(c->schedule);
    drove__free(c->reference);
    drove__free(c->spare);
    free(c->helper);
    free(c->node);
    free(c->device);
    free(c->part);
    free(c->record);
    free(c->times);
    free(c->job);
    free(c->taken);
    free(c->action);
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- a device's thread ---- */

static float *mean_of(const drove_collector *c, unsigned device)
{
    return sum_of(c, c->device[device].iteration);
}

uint64_t drove__collect_arrive(drove_collector *c, unsigned device, unsigned part, float *gradient,
                               float eta, bool adds)
{
    uint64_t add_ns = 0, now_ns = drove__now_ns();
    pthread_mutex_lock(&c->lock);
    member *d = &c->device[device];
    turn *r = &c->turn[d->iteration % N_PARITIES];
    if (drove__schedule_n_arrived(c->schedule, device) == 0) {
        d->gradient = gradient; /* others may be reading it from now on */
        d->eta = eta;
    }
    if (r->n_arrived++ == 0 || now_ns > r->last_ns) r->last_ns = now_ns;
    const drove_accum_event arrived = {
        .verb = DROVE_ACCUM_ARRIVED, .iteration = d->iteration, .part = part, .device = device};
    handle(c, &arrived);
    while (adds && !c->is_stopping && add_one(c, device, c->opt.n_devices, &add_ns)) continue;
    pthread_mutex_unlock(&c->lock);
    return add_ns;
}

unsigned drove__collect_n_arrived(drove_collector *c, unsigned device)
{
    pthread_mutex_lock(&c->lock);
    unsigned n = drove__schedule_n_arrived(c->schedule, device);
    pthread_mutex_unlock(&c->lock);
    return n;
}

bool drove__collect_next(drove_collector *c, unsigned device, bool waits, unsigned *part,
                         const float **mean)
{
    uint64_t unused = 0;
    member *d = &c->device[device];
    pthread_mutex_lock(&c->lock);
    while (waits && d->n_handed == d->n_ready && !c->is_stopping) {
        if (!add_one(c, device, 1, &unused)) await_change(c);
    }
    if (!waits && d->n_handed == d->n_ready && !c->is_stopping)
        (void)add_one(c, device, 1, &unused);
    bool has_one = d->n_handed < d->n_ready && !c->is_stopping;
    if (has_one) {
        *part = d->ready[d->n_handed++];
        *mean = mean_of(c, device);
    }
    pthread_mutex_unlock(&c->lock);
    return has_one;
}

/* All that was handed out has reached the device. */
static void confirm(drove_collector *c, unsigned device)
{
    member *d = &c->device[device];
    uint64_t iteration = d->iteration;
    for (unsigned i = 0; i < d->n_handed; i++) {
        const drove_accum_event given = {.verb = DROVE_ACCUM_GIVEN,
                                         .iteration = iteration,
                                         .part = d->ready[i],
                                         .device = device};
        handle(c, &given);
    }
    d->n_ready = d->n_handed = 0;
}

bool drove__collect_finish(drove_collector *c, unsigned device, float **mean, float *eta,
                           drove_collect_times *times)
{
    uint64_t begin_ns = drove__now_ns(), hidden_ns = 0, late_ns = 0;
    size_t n_all = c->opt.n_parts * c->opt.n_devices;
    member *d = &c->device[device];
    pthread_mutex_lock(&c->lock);
    turn *r = &c->turn[d->iteration % N_PARITIES];
    if (d->is_resident) confirm(c, device);
    while (drove__schedule_iteration(c->schedule, device) == d->iteration && !c->is_stopping) {
        bool is_late = r->n_arrived == n_all;
        if (!add_one(c, device, 1, is_late ? &late_ns : &hidden_ns)) await_change(c);
    }
    bool is_done = drove__schedule_iteration(c->schedule, device) != d->iteration;
    uint64_t end_ns = drove__now_ns(), last_ns = r->last_ns > begin_ns ? r->last_ns : begin_ns;
    if (last_ns > end_ns) last_ns = end_ns;
    *mean = mean_of(c, device);
    *eta = r->eta;
    d->iteration++;
    pthread_mutex_unlock(&c->lock);
    uint64_t waited_ns = last_ns - begin_ns;
    *times = (drove_collect_times){.exchange_ns = end_ns - last_ns,
                                   .accumulate_ns = hidden_ns < waited_ns ? hidden_ns : waited_ns};
    times->wait_ns = waited_ns - times->accumulate_ns;
    return is_done;
}

void drove__collect_stop(drove_collector *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_stopping = true;
    tell(c);
    pthread_mutex_unlock(&c->lock);
    if (c->exchange != NULL) drove__slices_stop(c->exchange);
}

drove_status drove__collect_status(drove_collector *c)
{
    return c->exchange != NULL ? drove__slices_status(c->exchange) : DROVE_OK;
}

void drove__collect_restart(drove_collector *c, uint64_t iteration)
{
    pthread_mutex_lock(&c->lock);
    drove__schedule_restart(c->schedule, iteration);
    for (unsigned d = 0; d < c->opt.n_devices; d++) c->device[d].iteration = iteration;
    pthread_mutex_unlock(&c->lock);
}

/* ---- facts ---- */

unsigned drove__collect_find(const drove_collector *c, size_t offset)
{
    size_t low = 0, high = c->opt.n_parts;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (c->part[middle].offset <= offset) low = middle;
        else high = middle;
    }
    return (unsigned)low;
}

const drove_span *drove__collect_part(const drove_collector *c, unsigned part)
{
    return &c->part[part];
}

/* Told when a round is over, so straight into the record: means over the devices. */
void drove__collect_note_copy(drove_collector *c, unsigned device, const drove_slice_copy *copy)
{
    const unsigned part = drove__collect_find(c, copy->offset), n_devices = c->opt.n_devices;
    const uint64_t took_ns = copy->end_ns - copy->begin_ns;
    const drove_time_span span = {.begin_ns = copy->begin_ns,
                                  .end_ns = copy->end_ns,
                                  .iteration = copy->iteration,
                                  .part = part,
                                  .kind = copy->is_up ? DROVE_SPAN_COPY_UP : DROVE_SPAN_COPY_DOWN};
    drove__spans_add(c->opt.spans, c->opt.first + device, &span);
    pthread_mutex_lock(&c->lock);
    drove_accum_part *p = &c->record[part];
    *(copy->is_up ? &p->up_ns : &p->down_ns) += took_ns / n_devices;
    *(copy->is_up ? &p->up_exposed_ns : &p->down_exposed_ns) +=
        (took_ns - copy->hidden_ns) / n_devices;
    pthread_mutex_unlock(&c->lock);
}

void drove__collect_facts(const drove_collector *c, drove_accum_facts *out)
{
    out->n_devices = c->opt.n_devices;
    out->n_parts = c->opt.n_parts;
    out->part = c->record;
    out->is_first_come = c->opt.order == DROVE_ACCUM_FIRST_COME;
    out->error = c->error;
    out->receive_vectors = 0.0;
    out->host_vectors = 0.0;
    for (unsigned i = 0; i < N_PARITIES; i++) out->host_vectors += c->sum[i] != NULL;
    for (unsigned i = 0; i < c->n_nodes; i++) out->host_vectors += c->node[i] != NULL;
}
