/* cluster/messages.c - the slots of drove_transport_ops over messages. */
#include "cluster/messages.h"

#include "cluster/request.h"

#include <assert.h>
#include <string.h>

/* ---- start, test, finish ---- */

static bool is_collective(unsigned kind)
{
    return kind <= DROVE_BARRIER || kind == KIND_GATHER;
}

static void finish_alone(messages *m, request *req)
{
    req->done_ns = drove__now_ns();
    m->n_pending--;
    atomic_store_explicit(&req->is_done, 1, memory_order_release); /* acquired by test and finish */
}

/* For one rank alone, a root, or an RPC to the centre here. */
static void copy_in(messages *m, const drove_exchange *x)
{
    uint64_t begun = drove__now_ns();
    if (x->out != NULL && x->out != x->in && x->n > 0)
        m->base.kernels->copy_f32(x->out, x->in, x->n);
    m->work_ns += drove__now_ns() - begun;
}

static drove_status begin(messages *m, request *req)
{
    bool is_local = req->kind == DROVE_RPC && m->wire->rank == 0;
    bool wishes = atomic_load(&m->base.halt_wished) != 0;
    bool by_root = req->kind == DROVE_BROADCAST && m->wire->rank != req->x.peer; /* by the root */
    req->halts = wishes && !by_root;
    req->begun_ns = req->moved_ns = drove__now_ns();
    req->bytes = req->messages = req->centre_ns = 0;
    req->round = req->n_flows = req->n_flows_done = 0;
    if (is_collective(req->kind)) req->order++;
    memcpy(req->number, req->x.number, sizeof req->number);
    atomic_store_explicit(&req->is_done, 0, memory_order_relaxed); /* lock held */
    req->is_active = true;
    m->n_pending++;
    if (is_local) {
        copy_in(m, &req->x);
        return drove__centre_call(m, req);
    }
    if (m->wire->n_ranks > 1 || req->x.codec != NULL) {
        if (req->kind == DROVE_BROADCAST && m->wire->rank == req->x.peer) copy_in(m, &req->x);
        return drove__request_begin(m, req);
    }
    if (req->kind == KIND_GATHER) {
        if (req->each_bytes > 0) memmove(req->all, req->mine, req->each_bytes);
    } else {
        copy_in(m, &req->x);
    }
    finish_alone(m, req);
    return DROVE_OK;
}

static drove_status check(const messages *m, unsigned worker, const drove_exchange *x)
{
    assert(worker == m->wire->rank && x->channel < DROVE_CHANNELS);
    assert(!m->request[x->channel].is_active);
    (void)worker;
    bool has_peer = x->kind != DROVE_ALL_REDUCE && x->kind != DROVE_BARRIER && x->kind != DROVE_RPC;
    if (has_peer && x->peer >= m->wire->n_ranks) {
        return drove__fail(DROVE_E_ARG, "expected a rank below %u, found %u", m->wire->n_ranks,
                           x->peer);
    }
    bool is_pair = x->kind == DROVE_SEND || x->kind == DROVE_RECEIVE;
    if (is_pair && x->peer == m->wire->rank) {
        return drove__fail(DROVE_E_ARG, "expected another rank as peer, found rank %u itself",
                           x->peer);
    }
    if (x->kind == DROVE_RPC && m->wire->rank == 0 && m->centre == NULL) {
        return drove__fail(DROVE_E_ARG, "expected a centre at rank 0 for an RPC, found none");
    }
    if (x->codec == NULL) return DROVE_OK;
    if (x->kind == DROVE_ALL_REDUCE && drove__codes_fit(m, x)) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "a codec goes with an all-reduce of its own length");
}

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    messages *m = messages_of(t);
    request *req = &m->request[x->channel];
    DROVE_TRY(check(m, worker, x));
    DROVE_TRY(drove__messages_stopped(m));
    drove__messages_lock(m);
    req->x = *x;
    req->kind = x->kind;
    req->channel = x->channel;
    req->is_by_library =
        x->kind == DROVE_ALL_REDUCE && x->codec == NULL && m->by_library && m->wire->n_ranks > 1;
    uint64_t begun = drove__now_ns();
    drove_status status = begin(m, req);
    req->start_ns = drove__now_ns() - begun;
    if (status == DROVE_OK && m->has_progress_thread) pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bool test(drove_transport *t, unsigned worker, unsigned channel)
{
    messages *m = messages_of(t);
    request *req = &m->request[channel];
    (void)worker;
    if (!m->has_progress_thread) {
        drove__messages_lock(m);
        drove__messages_advance(m);
        pthread_mutex_unlock(&m->lock);
    }
    bool is_stopped = atomic_load_explicit(&m->is_stopped, memory_order_acquire) != 0;
    return is_stopped || atomic_load_explicit(&req->is_done, memory_order_acquire) != 0;
}

/* Takes over a request to stop that the exchange has carried. */
static void see_halt(messages *m, const request *req)
{
    bool is_pair = req->kind == DROVE_SEND || req->kind == DROVE_RECEIVE;
    bool reaches_all = req->kind != DROVE_REDUCE && !is_pair && !req->x.halts_later;
    if (!req->halts || req->kind == DROVE_SEND) return; /* a SEND tells its own rank nothing new */
    if (req->kind == DROVE_REDUCE && m->wire->rank != req->x.peer) return; /* not all of it */
    atomic_store(&m->base.halt_wished, 1);
    if (reaches_all) atomic_store(&m->base.halt_seen, 1);
}

/* All ranks have come.  Lock held; released meanwhile. */
static drove_status reduce_by_library(messages *m, const request *req)
{
    pthread_mutex_unlock(&m->lock);
    int result = m->wire->ops->all_reduce(m->wire, req->x.in, req->x.out, req->x.n);
    drove__messages_lock(m);
    if (result == 0) return DROVE_OK;
    return drove__messages_fail(m, "rank %u on host %s: %s", m->wire->rank,
                                m->wire->host[m->wire->rank], m->wire->error);
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    messages *m = messages_of(t);
    request *req = &m->request[channel];
    uint64_t begun = drove__now_ns();
    assert(req->is_active);
    (void)worker;
    drove__messages_lock(m);
    uint64_t worked = m->work_ns;
    drove_status status = DROVE_OK;
    if (!atomic_load_explicit(&req->is_done, memory_order_relaxed)) { /* lock held */
        status = drove__messages_wait(m, req);
    }
    if (status == DROVE_OK && req->is_by_library) status = reduce_by_library(m, req);
    if (status == DROVE_OK) {
        see_halt(m, req);
        req->is_active = false;
        if (info != NULL) {
            uint64_t finish_ns = drove__now_ns() - begun;
            uint64_t work_ns = m->work_ns - worked;
            bool is_rpc = req->kind == DROVE_RPC;
            uint64_t wait_ns = finish_ns > work_ns ? finish_ns - work_ns : 0;
            uint64_t centre_ns = !is_rpc ? 0 : req->centre_ns < wait_ns ? req->centre_ns : wait_ns;
            info->wait_ns += wait_ns - centre_ns;
            info->work_ns += req->start_ns + work_ns + centre_ns;
            info->centre_ns += centre_ns;
            if (req->bytes > 0) info->transit_ns += req->done_ns - req->begun_ns;
            info->bytes += req->bytes;
            info->messages += req->messages;
            if (is_collective(req->kind)) info->n_present = m->wire->n_ranks;
            if (is_rpc) memcpy(info->number, req->number, sizeof info->number);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    messages *m = messages_of(t);
    request *req = &m->request[GATHER_CHANNEL];
    DROVE_TRY(drove__messages_stopped(m));
    drove__messages_lock(m);
    req->x = (drove_exchange){.n = each_bytes};
    req->kind = KIND_GATHER;
    req->channel = GATHER_CHANNEL;
    req->mine = mine;
    req->all = all;
    req->each_bytes = each_bytes;
    if (m->wire->n_ranks > 1 && each_bytes > 0) {
        memmove((char *)all + m->wire->rank * each_bytes, mine, each_bytes);
    }
    drove_status status = begin(m, req);
    if (status == DROVE_OK) status = drove__messages_wait(m, req);
    if (status == DROVE_OK) {
        see_halt(m, req);
        req->is_active = false;
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

/* ---- stop, leave, host ---- */

static void stop(drove_transport *t)
{
    messages *m = messages_of(t);
    drove__messages_lock(m);
    drove__messages_fail(m, "rank %u on host %s has stopped", m->wire->rank,
                         m->wire->host[m->wire->rank]);
    pthread_mutex_unlock(&m->lock);
}

void drove__messages_end(drove_transport *t, const char *text)
{
    messages *m = messages_of(t);
    drove__messages_lock(m);
    drove__messages_fail_told(m, text);
    pthread_mutex_unlock(&m->lock);
}

bool drove__messages_are_stopped(const drove_transport *t, bool *by_other)
{
    const messages *m = messages_of(t);
    /* acquire: as in drove__messages_stopped */
    const int how = atomic_load_explicit(&m->is_stopped, memory_order_acquire);
    *by_other = how == STOPPED_BY_OTHER;
    return how != GOES_ON;
}

/* MPI cannot go on without a rank. */
static void leave(drove_transport *t, unsigned worker, bool goes_on)
{
    messages *m = messages_of(t);
    (void)goes_on;
    drove__messages_lock(m);
    drove__messages_fail(m, "rank %u on host %s is lost", worker, m->wire->host[worker]);
    pthread_mutex_unlock(&m->lock);
}

static drove_status host(drove_transport *t, const drove_centre *of, size_t n)
{
    messages *m = messages_of(t);
    if (m->centre != NULL) return drove__fail(DROVE_E_ARG, "expected one centre, found a second");
    if (m->wire->rank != 0) return DROVE_OK;
    return drove__centre_create(m, of, n);
}

/* ---- beginning and end ---- */

drove_status drove__messages_reserve(drove_transport *t, size_t n, unsigned n_channels)
{
    messages *m = messages_of(t);
    drove_status status = DROVE_OK;
    drove__messages_lock(m);
    for (unsigned i = 0; i < n_channels && i < DROVE_CHANNELS && status == DROVE_OK; i++) {
        status = drove__request_reserve(m, &m->request[i], n);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bool is_open(const flow *o)
{
    return !o->head_is_done || o->n_open > 0;
}

/* Drops open flows after a failure.  False: the wire may still write to their memory. */
static bool forget_requests(messages *m)
{
    for (unsigned i = 0; i < N_REQUESTS; i++) {
        request *req = &m->request[i];
        for (unsigned j = 0; req->flow != NULL && j < m->most_flows; j++) {
            if (!is_open(&req->flow[j])) continue;
            if (m->wire->ops->drop == NULL) return false;
            drove__flow_drop(m, &req->flow[j]);
        }
    }
    return true;
}

static bool forget_control(messages *m)
{
    const drove_wire_ops *ops = m->wire->ops;
    bool is_stopped = atomic_load(&m->is_stopped) != 0;
    uint64_t until = drove__now_ns() + 1000000000u;
    unsigned n_open = 1;
    while (n_open > 0 && drove__now_ns() < until) { /* the last words */
        n_open = 0;
        for (unsigned i = 0; i < 2 * m->wire->n_ranks; i++) {
            control_send *s = &m->sending[i];
            bool is_done = false;
            if (!s->is_open) continue;
            if (ops->test(m->wire, &s->request, &is_done, NULL, NULL) != 0 || is_done) {
                s->is_open = false;
            }
            n_open += s->is_open;
        }
    }
    if (ops->drop == NULL) {
        if (n_open > 0 || is_stopped) return false;
        if (m->is_listening) ops->cancel(m->wire, &m->heard_request);
        return true;
    }
    for (unsigned i = 0; i < 2 * m->wire->n_ranks; i++) {
        if (m->sending[i].is_open) ops->drop(m->wire, &m->sending[i].request);
    }
    if (m->is_listening) ops->drop(m->wire, &m->heard_request);
    return true;
}

static void destroy(drove_transport *t)
{
    messages *m = messages_of(t);
    drove__progress_end(m);
    drove__centre_destroy(m);
    bool is_stopped = atomic_load(&m->is_stopped) != 0;
    bool is_free = m->wire->n_ranks == 1 || (forget_requests(m) && forget_control(m));
    if (m->ends_wire && !is_stopped) m->wire->ops->fini(m->wire);
    if (!is_free) return; /* leaked on purpose: the wire may still write to it */
    for (unsigned i = 0; i < N_REQUESTS; i++) {
        drove__free(m->request[i].scratch);
        drove__free(m->request[i].buffer);
        drove__free(m->request[i].flow);
    }
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    drove__free(m->tree_spare);
    drove__free(m->term);
    drove__free(m->peer);
    drove__free(m->sending);
    drove__free(m);
}

const drove_transport_ops drove__transport_mpi_ops = {
    .name = "mpi",
    .help = "ranks that mpirun, mpiexec or srun started, on one or many machines",
    .source = "Thakur, Rabenseifner, Gropp, IJHPCA 2005",
    .start = start,
    .test = test,
    .finish = finish,
    .stop = stop,
    .leave = leave,
    .host = host,
    .gather = gather,
    .destroy = destroy,
};

drove_status drove__transport_messages(drove_wire *w, const drovek_table *kernels,
                                       const drove_messages_options *opt, drove_transport **out)
{
    messages *m = drove__alloc(1, sizeof *m);
    if (m == NULL) return drove__fail_nomem("messages between ranks", sizeof *m);
    m->wire = w;
    m->by_library = opt->by_library;
    m->piece_bytes = opt->piece_bytes > 0 ? opt->piece_bytes : DROVE_MESSAGES_PIECE;
    m->most_flows = 2 * w->n_ranks;
    m->base = (drove_transport){.ops = &drove__transport_mpi_ops,
                                .n_workers = w->n_ranks,
                                .n_processes = w->n_ranks,
                                .process = w->rank,
                                .first_worker = w->rank,
                                .n_here = 1,
                                .kernels = kernels,
                                .timeout_s = opt->timeout_s,
                                .in_background = opt->has_progress_thread,
                                .impl = m};

    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&m->lock, NULL);

    m->tree_spare = drove__alloc((size_t)DROVE_TREE_LEVELS * DROVE_TREE_BLOCK, sizeof(float));
    m->term = drove__alloc(w->n_ranks, sizeof *m->term);
    m->peer = drove__alloc(w->n_ranks, sizeof *m->peer);
    m->sending = drove__alloc(2 * (size_t)w->n_ranks, sizeof *m->sending);
    drove_status status = DROVE_OK;
    if (m->tree_spare == NULL || m->term == NULL || m->peer == NULL || m->sending == NULL) {
        status = drove__fail_nomem("messages between ranks", w->n_ranks * sizeof *m->sending);
    } else if (w->n_ranks > 1u << DROVE_TREE_LEVELS) {
        status = drove__fail(DROVE_E_UNSUPPORTED, "expected at most %u ranks, found %u",
                             1u << DROVE_TREE_LEVELS, w->n_ranks);
    } else if (opt->has_progress_thread && w->n_ranks > 1) {
        status = drove__progress_start(m);
    }
    if (status == DROVE_OK) {
        m->ends_wire = opt->ends_wire;
        *out = &m->base;
    } else {
        destroy(&m->base);
    }
    return status;
}

drove_status drove__messages_library_reduce(drove_transport *t, bool is_on)
{
    messages *m = messages_of(t);
    if (is_on && (m->wire->ops->all_reduce == NULL || !m->wire->takes_threads)) {
        return drove__fail(DROVE_E_UNSUPPORTED, "%s has no all-reduce that can be used",
                           m->wire->library);
    }
    m->by_library = is_on;
    return DROVE_OK;
}

const drove_wire *drove__transport_wire(const drove_transport *t)
{
    return t->ops == &drove__transport_mpi_ops ? messages_of(t)->wire : NULL;
}
