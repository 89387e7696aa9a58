/* cluster/shared.c - the transport of workers that share memory: threads of a process, or processes
 * forked after it was made.  No messages: vectors are read in place and written once to where they
 * belong.
 *
 * Thread rules: transport.h.  Memory order: docs/inside/memory-model.md, A13.
 */
#include "cluster/shared_state.h"

#include "base/clock.h"
#include "base/cost.h"
#include "cluster/codec.h"

#include <assert.h>
#include <string.h>

static drove_shared *shared_of(drove_transport *t)
{
    return t->impl;
}

/* ---- messages from worker to worker ---- */

static uint64_t offer_of(uint64_t number, unsigned to)
{
    return number << 16 | to;
}

static void offer(drove_shared *s, unsigned worker, const drove_exchange *x)
{
    drove_shared_channel *l = &s->worker[worker].channel[x->channel];
    /* Relaxed: its own. */
    uint64_t number = (atomic_load_explicit(&l->offer, memory_order_relaxed) >> 16) + 1;
    atomic_store(&l->offer, offer_of(number, x->peer)); /* publishes `mine` */
    drove__shared_wake(s, x->peer);
}

static bool is_taken(const drove_shared_channel *l)
{
    return atomic_load(&l->n_taken) == atomic_load(&l->offer) >> 16;
}

static uint32_t waits_for_receiver(const drove_shared *s, unsigned worker, unsigned channel)
{
    const drove_shared_channel *l = &s->worker[worker].channel[channel];
    bool has_left = atomic_load(&s->worker[l->mine.peer].has_left);
    return has_left || is_taken(l) ? DROVE_NOBODY : l->mine.peer;
}

static bool is_offered(const drove_shared_channel *from, unsigned worker)
{
    uint64_t offered = atomic_load(&from->offer);
    return (offered & 0xffff) == worker && offered >> 16 > atomic_load(&from->n_taken);
}

static uint32_t waits_for_sender(const drove_shared *s, unsigned worker, unsigned channel)
{
    unsigned peer = s->worker[worker].channel[channel].mine.peer;
    bool has_left = atomic_load(&s->worker[peer].has_left);
    return has_left || is_offered(&s->worker[peer].channel[channel], worker) ? DROVE_NOBODY : peer;
}

static drove_status fail_left(const drove_exchange *x, unsigned worker)
{
    return drove__fail(DROVE_E_SYSTEM, "%s of worker %u in channel %u: worker %u has left",
                       drove__shared_kind_name(x->kind), worker, x->channel, x->peer);
}

static drove_status finish_send(drove_shared *s, unsigned worker, unsigned channel,
                                drove_exchange_info *info)
{
    drove_shared_channel *l = &s->worker[worker].channel[channel];
    DROVE_TRY(drove__shared_await(s, worker, channel, waits_for_receiver, &info->wait_ns));
    if (is_taken(l)) return DROVE_OK;
    /* No other worker reads this offer any more. */
    atomic_store(&l->n_taken, atomic_load(&l->offer) >> 16);
    return fail_left(&l->mine, worker);
}

static drove_status finish_receive(drove_shared *s, unsigned worker, unsigned channel,
                                   drove_exchange_info *info)
{
    const drove_exchange *mine = &s->worker[worker].channel[channel].mine;
    drove_shared_channel *from = &s->worker[mine->peer].channel[channel];
    DROVE_TRY(drove__shared_await(s, worker, channel, waits_for_sender, &info->wait_ns));
    if (!is_offered(from, worker)) return fail_left(mine, worker);
    uint64_t begin_ns = drove__now_ns();
    size_t n_sent = from->mine.n;
    if (n_sent == mine->n && n_sent > 0) s->t.kernels->copy_f32(mine->out, from->mine.in, mine->n);
    if (n_sent == mine->n) drove__spend_fetch(from->mine.in, n_sent);
    info->work_ns += drove__now_ns() - begin_ns;
    atomic_store(&from->n_taken, atomic_load(&from->offer) >> 16);
    drove__shared_wake(s, mine->peer);
    if (n_sent == mine->n) return DROVE_OK;
    return drove__fail(
        DROVE_E_SYSTEM,
        "receive of worker %u in channel %u: expected %zu floats, worker %u sent %zu", worker,
        channel, mine->n, mine->peer, n_sent);
}

/* ---- slots ---- */

static bool is_collective(drove_exchange_kind kind)
{
    return kind <= DROVE_BARRIER;
}

static void assert_sound(const drove_shared *s, unsigned worker, const drove_exchange *x)
{
    assert(worker < s->t.n_workers && x->channel < DROVE_CHANNELS && x->peer < s->t.n_workers);
    assert(!s->worker[worker].channel[x->channel].is_open);
    assert(!is_collective(x->kind) || x->n <= s->n_most);
    assert(x->kind != DROVE_RPC || s->centre.serve != NULL);
    assert(x->codec == NULL || x->kind == DROVE_ALL_REDUCE);
    (void)s, (void)worker, (void)x;
}

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    drove_shared *s = shared_of(t);
    assert_sound(s, worker, x);
    drove_shared_channel *l = &s->worker[worker].channel[x->channel];
    DROVE_TRY(drove__shared_check(s, worker, x));
    l->mine = *x;
    l->took = (drove_exchange_info){0};
    if (x->codec != NULL) {
        uint64_t begin_ns = drove__now_ns();
        (void)drove__codec_encode(x->codec, x->in);
        l->took.work_ns += drove__now_ns() - begin_ns;
    }
    if (is_collective(x->kind)) drove__shared_post(s, worker, x);
    else if (x->kind == DROVE_SEND) offer(s, worker, x);
    else if (x->kind == DROVE_RPC) DROVE_TRY(drove__shared_rpc(s, worker, x->channel));
    l->is_open = true;
    return DROVE_OK;
}

static bool test(drove_transport *t, unsigned worker, unsigned channel)
{
    const drove_shared *s = shared_of(t);
    const drove_shared_channel *l = &s->worker[worker].channel[channel];
    if (is_collective(l->mine.kind)) return drove__shared_have_come(s, worker, channel);
    if (l->mine.kind == DROVE_SEND) return waits_for_receiver(s, worker, channel) == DROVE_NOBODY;
    if (l->mine.kind == DROVE_RECEIVE) return waits_for_sender(s, worker, channel) == DROVE_NOBODY;
    return true;
}

/* Counts the worker's contribution as sent. */
static void count_bytes(const drove_shared *s, unsigned worker, const drove_exchange *x,
                        drove_exchange_info *info)
{
    bool contributes = x->kind == DROVE_ALL_REDUCE || x->kind == DROVE_SEND ||
                       x->kind == DROVE_RPC || (x->kind == DROVE_REDUCE && worker != x->peer) ||
                       (x->kind == DROVE_BROADCAST && worker == x->peer);
    if (!contributes || s->t.n_workers == 1) return;
    info->bytes += x->codec != NULL ? drove__codec_bytes(x->codec, x->n) : x->n * sizeof(float);
    info->messages++;
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    drove_shared *s = shared_of(t);
    drove_shared_channel *l = &s->worker[worker].channel[channel];
    assert(l->is_open);
    l->is_open = false;
    drove_status status = DROVE_OK;
    if (is_collective(l->mine.kind)) status = drove__shared_collect(s, worker, channel, &l->took);
    else if (l->mine.kind == DROVE_SEND) status = finish_send(s, worker, channel, &l->took);
    else if (l->mine.kind == DROVE_RECEIVE) status = finish_receive(s, worker, channel, &l->took);
    else if (!l->mine.halts_later && atomic_load(&t->halt_wished) != 0)
        atomic_store(&t->halt_seen, 1);
    count_bytes(s, worker, &l->mine, &l->took);
    if (info != NULL) {
        info->wait_ns += l->took.wait_ns;
        info->work_ns += l->took.work_ns;
        info->centre_ns += l->took.centre_ns;
        info->transit_ns += l->took.transit_ns;
        info->bytes += l->took.bytes;
        info->messages += l->took.messages;
        info->n_present = l->took.n_present;
        memcpy(info->number, l->took.number, sizeof info->number);
    }
    return status;
}

static void stop(drove_transport *t)
{
    drove__shared_fail(shared_of(t), DROVE_SHARED_STOPPED, 0);
}

static void leave(drove_transport *t, unsigned worker, bool goes_on)
{
    drove_shared *s = shared_of(t);
    assert(worker < t->n_workers);
    if (!goes_on) drove__shared_fail(s, DROVE_SHARED_LOST, worker); /* before others continue */
    if (atomic_exchange(&s->worker[worker].has_left, true)) return;
    drove__shared_inherit(s, worker);
    drove__shared_release_centre(s, worker);
    drove__shared_wake_all(s);
}

static bool has_left(const drove_transport *t, unsigned worker)
{
    const drove_shared *s = t->impl;
    return atomic_load(&s->worker[worker].has_left);
}

static drove_status host(drove_transport *t, const drove_centre *centre, size_t n)
{
    drove_shared *s = shared_of(t);
    s->centre = *centre;
    s->n_centre = n;
    return DROVE_OK;
}

static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    (void)t;
    memcpy(all, mine, each_bytes);
    return DROVE_OK;
}

/* ---- creation ---- */

static void destroy(drove_transport *t)
{
    if (t == NULL) return;
    drove_shared *s = shared_of(t);
    for (unsigned i = 0; s->worker != NULL && i < t->n_workers; i++) {
        drove__free(s->worker[i].spare);
        drove__free(s->worker[i].source);
        drove__free(s->worker[i].code);
        drove__free(s->worker[i].to);
    }
    for (unsigned i = 0; i < DROVE_CHANNELS; i++) drove__free(s->chunk[i]);
    drove__free(s->minus_zero);
    drove__free(s->worker);
    drove__free(s);
}

static drove_status allocate(drove_shared *s)
{
    const unsigned n = s->t.n_workers;
    unsigned n_levels = 1; /* spare rows of a tree of n */
    while (n_levels < DROVE_TREE_LEVELS && (1u << (n_levels - 1)) < n) n_levels++;
    size_t n_spare = (size_t)(n_levels + 1) * DROVE_TREE_BLOCK;
    s->worker = drove__alloc(n, sizeof *s->worker);
    if (s->worker == NULL) return drove__fail_nomem("workers' exchanges", n * sizeof *s->worker);
    for (unsigned i = 0; i < n; i++) {
        drove_shared_worker *w = &s->worker[i];
        w->spare = drove__alloc(n_spare + DROVE_TREE_BLOCK, sizeof *w->spare);
        w->source = drove__alloc(n, sizeof *w->source);
        w->code = drove__alloc(n, sizeof *w->code);
        w->to = drove__alloc(n, sizeof *w->to);
        if (w->spare == NULL || w->source == NULL || w->code == NULL || w->to == NULL)
            return drove__fail_nomem("a worker's sums", n_spare * sizeof *w->spare);
        w->stage = w->spare + n_spare;
    }
    s->minus_zero = drove__alloc(DROVE_TREE_BLOCK, sizeof *s->minus_zero);
    if (s->minus_zero == NULL) return drove__fail_nomem("exchanges", DROVE_TREE_BLOCK);
    for (unsigned i = 0; i < DROVE_TREE_BLOCK; i++) s->minus_zero[i] = -0.0f;
    for (unsigned i = 0; i < DROVE_CHANNELS; i++) {
        s->chunk[i] = drove__alloc(s->n_chunks, sizeof *s->chunk[i]);
        if (s->chunk[i] == NULL)
            return drove__fail_nomem("chunks of exchanges", s->n_chunks * sizeof *s->chunk[i]);
    }
    return DROVE_OK;
}

drove_status drove__transport_shared(unsigned n_workers, bool is_procs, size_t n_most,
                                     const drovek_table *kernels, const drove_topo *topo,
                                     const drove_place *place, drove_transport **out)
{
    (void)topo, (void)place; /* a worker's state is small and stays in its cache */
    *out = NULL;
    assert(n_workers >= 1);
    if (n_workers > DROVE_SHARED_MOST_WORKERS)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "workers: at most %d may exchange in shared memory, found %u",
                           DROVE_SHARED_MOST_WORKERS, n_workers);
    drove_shared *s = drove__alloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("exchanges", sizeof *s);
    s->t = (drove_transport){
        .ops = is_procs ? &drove__transport_procs : &drove__transport_threads,
        .n_workers = n_workers,
        .n_processes = 1,
        .n_here = n_workers,
        .kernels = kernels,
        .timeout_s = 60.0,
        .impl = s,
    };
    s->is_between = is_procs;
    s->n_most = n_most;
    s->n_chunks = n_most / DROVE_SHARED_CHUNK + 1;
    drove_status status = allocate(s);
    if (status != DROVE_OK) {
        destroy(&s->t);
        return status;
    }
    *out = &s->t;
    return DROVE_OK;
}

#define SLOTS                                                                                      \
    .start = start, .test = test, .finish = finish, .stop = stop, .leave = leave,                  \
    .has_left = has_left, .host = host, .gather = gather, .destroy = destroy
#define SOURCE "You, Buluc, Demmel, SC17, sections 5 and 6.2"

const drove_transport_ops drove__transport_threads = {
    .name = "threads",
    .help = "threads of one process; a vector is read where it lies",
    .source = SOURCE,
    SLOTS,
};
const drove_transport_ops drove__transport_procs = {
    .name = "procs",
    .help =
        "processes of one machine over shared memory; a worker that is killed costs its own work",
    .source = SOURCE,
    SLOTS,
};
