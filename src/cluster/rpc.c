/* cluster/rpc.c - the centre at rank 0, and the RPCs to it.
 *
 * An RPC is a header from any rank, its contents, the call, and a reply.  Contents go to the memory
 * of a slot.  Slots are few: while none is free, further RPCs wait in the MPI library.  Threads
 * serve RPCs, one where the centre is exclusive; without a progress thread, whoever advances
 * requests serves them.
 */
#include "cluster/request.h"

#include "base/denormals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 4 };

typedef enum slot_state { FREE, ARRIVING, READY, SERVING, LEAVING } slot_state;

typedef struct slot {
    slot_state state;
    uint64_t ticket; /* order of arrival */
    unsigned worker;
    float *vector;  /* [n]; local RPC: of the caller */
    request *local; /* RPC of this process's worker; NULL: of another rank */
    request req;    /* contents and reply */
    flow flow;
    message_buffer *buffer;
} slot;

struct centre {
    drove_centre c;
    size_t n;
    unsigned n_slots; /* the last DROVE_CHANNELS are for local RPCs */
    slot *slot;
    message_buffer *head;
    drove_wire_request request;
    bool is_listening, is_ending;
    uint64_t n_tickets;
    pthread_cond_t has_work;
    pthread_t thread[MOST_THREADS];
    unsigned n_threads;
};

/* ---- carrying out ---- */

static slot *first_ready(centre *c)
{
    slot *first = NULL;
    for (unsigned i = 0; i < c->n_slots; i++) {
        slot *p = &c->slot[i];
        if (p->state != READY) continue;
        if (first == NULL || p->ticket < first->ticket) first = p;
    }
    return first;
}

static void make_ready(centre *c, slot *p)
{
    p->state = READY;
    p->ticket = c->n_tickets++;
    if (c->n_threads > 0) pthread_cond_signal(&c->has_work);
}

static void finish_local(messages *m, slot *p, uint64_t centre_ns)
{
    request *req = p->local;
    memcpy(req->number, p->req.x.number, sizeof req->number);
    req->centre_ns = centre_ns;
    req->halts = atomic_load(&m->base.halt_wished) != 0;
    req->done_ns = drove__now_ns();
    p->state = FREE;
    m->n_pending--;
    atomic_store_explicit(&req->is_done, 1, memory_order_release); /* acquired by test and finish */
}

static void reply(messages *m, slot *p, uint64_t centre_ns)
{
    p->state = LEAVING;
    p->req.centre_ns = centre_ns;
    p->req.halts = atomic_load(&m->base.halt_wished) != 0;
    p->flow = (flow){.kind = FLOW_SEND,
                     .peer = p->worker,
                     .tag = TAG_REPLY + p->req.channel,
                     .body_tag = TAG_REPLY + p->req.channel,
                     .from = (const char *)p->vector,
                     .n_bytes = p->req.x.n * sizeof(float),
                     .buffer = p->buffer};
    drove__flow_begin(m, &p->req, &p->flow); /* a failure stops the transport */
}

/* Lock held; released during the call. */
static void serve(messages *m, centre *c, slot *p)
{
    p->state = SERVING;
    pthread_mutex_unlock(&m->lock);
    uint64_t begun = drove__now_ns();
    c->c.serve(c->c.context, p->worker, p->vector, p->req.x.n, p->req.x.number);
    uint64_t centre_ns = drove__now_ns() - begun;
    drove__messages_lock(m);
    if (p->local != NULL) {
        finish_local(m, p, centre_ns);
    } else if (!atomic_load_explicit(&m->is_stopped, memory_order_relaxed)) { /* lock held */
        reply(m, p, centre_ns);
    }
}

static void *serve_rpcs(void *argument)
{
    messages *m = argument;
    centre *c = m->centre;
    (void)drove__denormals_flush();
    pthread_mutex_lock(&m->lock);
    while (!c->is_ending) {
        slot *p = first_ready(c);
        if (p != NULL) {
            serve(m, c, p);
        } else {
            pthread_cond_wait(&c->has_work, &m->lock);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- arriving ---- */

static slot *find_free(centre *c)
{
    for (unsigned i = 0; i < c->n_slots - DROVE_CHANNELS; i++) {
        if (c->slot[i].state == FREE) return &c->slot[i];
    }
    return NULL;
}

/* Checks the header; receives contents into the slot. */
static drove_status take_head(messages *m, centre *c, slot *p, unsigned from, size_t n_found)
{
    const drove_message *h = &c->head->head;
    size_t n_bytes = h->n * sizeof(float), n_content = n_bytes <= MESSAGE_INLINE ? n_bytes : 0;
    if (n_found < sizeof *h || h->magic != MESSAGE_MAGIC || h->kind != DROVE_RPC ||
        h->worker != from || h->channel >= DROVE_CHANNELS || h->n > c->n || h->n_bytes != n_bytes ||
        n_found != sizeof *h + n_content) {
        return drove__messages_fail(
            m,
            "rank %u on host %s: expected an RPC of at most %zu numbers, found another message "
            "of %zu bytes",
            from, m->wire->host[from], c->n, n_found);
    }
    m->peer[from].heard_ns = drove__now_ns();
    if (h->halts) atomic_store(&m->base.halt_wished, 1);
    p->worker = from;
    p->local = NULL;
    p->req =
        (request){.kind = DROVE_RPC, .channel = h->channel, .x = {.kind = DROVE_RPC, .n = h->n}};
    memcpy(p->req.x.number, h->number, sizeof h->number);
    if (n_content > 0) memcpy(p->vector, c->head->content, n_content);
    if (n_content == n_bytes) {
        make_ready(c, p);
        return DROVE_OK;
    }
    p->state = ARRIVING;
    p->flow = (flow){.kind = FLOW_RECEIVE,
                     .peer = from,
                     .body_tag = TAG_BODY + h->channel,
                     .to = (char *)p->vector,
                     .n_bytes = n_bytes,
                     .buffer = p->buffer};
    return drove__flow_begin_body(m, &p->req, &p->flow);
}

static bool poll_heads(messages *m, centre *c)
{
    unsigned from = 0;
    size_t n_found = 0;
    slot *p = find_free(c);
    if (p == NULL) return false;
    if (!drove__messages_hear(m, c->head, sizeof *c->head, TAG_RPC, &c->request, &c->is_listening,
                              &from, &n_found))
        return false;
    return from < m->wire->n_ranks && take_head(m, c, p, from, n_found) == DROVE_OK;
}

bool drove__centre_advance(messages *m)
{
    centre *c = m->centre;
    bool has_moved = false;
    for (unsigned i = 0; i < c->n_slots; i++) {
        slot *p = &c->slot[i];
        if (atomic_load_explicit(&m->is_stopped, memory_order_relaxed))
            return false; /* lock held */
        if (p->state != ARRIVING && p->state != LEAVING) continue;
        if (drove__flow_advance(m, &p->req, &p->flow, &has_moved) != DROVE_OK) return false;
        if (!p->flow.is_done) continue;
        if (p->state == ARRIVING) make_ready(c, p);
        else p->state = FREE;
    }
    while (poll_heads(m, c)) has_moved = true;
    if (c->n_threads > 0) return has_moved;
    for (slot *p = first_ready(c); p != NULL; p = first_ready(c)) {
        serve(m, c, p);
        has_moved = true;
    }
    return has_moved;
}

drove_status drove__centre_call(messages *m, request *req)
{
    centre *c = m->centre;
    slot *p = &c->slot[c->n_slots - DROVE_CHANNELS + req->channel];
    if (req->x.n > c->n) {
        return drove__messages_fail(m, "expected an RPC of at most %zu numbers, found %zu", c->n,
                                    req->x.n);
    }
    p->worker = m->wire->rank;
    p->local = req;
    p->vector = req->x.out;
    p->req = (request){.kind = DROVE_RPC, .channel = req->channel, .x = req->x};
    make_ready(c, p);
    return DROVE_OK;
}

/* ---- beginning and end ---- */

static drove_status make_slots(messages *m, centre *c, size_t n)
{
    c->head = drove__alloc(1, sizeof *c->head);
    c->slot = drove__alloc(c->n_slots, sizeof *c->slot);
    if (c->head == NULL || c->slot == NULL) return drove__fail_nomem("centre", sizeof *c->slot);
    for (unsigned i = 0; i < c->n_slots - DROVE_CHANNELS && m->wire->n_ranks > 1; i++) {
        c->slot[i].vector = drove__alloc(n, sizeof(float));
        c->slot[i].buffer = drove__alloc(1, sizeof *c->slot[i].buffer);
        if (c->slot[i].vector == NULL || c->slot[i].buffer == NULL) {
            return drove__fail_nomem("RPCs to the centre", n * sizeof(float));
        }
    }
    return DROVE_OK;
}

static drove_status start_threads(messages *m, centre *c, unsigned n)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    drove__messages_lock(m); /* the threads read n_threads */
    while (error == 0 && c->n_threads < n) {
        error = pthread_create(&c->thread[c->n_threads], NULL, serve_rpcs, m);
        c->n_threads += error == 0;
    }
    pthread_mutex_unlock(&m->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return drove__fail_errno(DROVE_E_SYSTEM, error, "thread for the centre");
    return DROVE_OK;
}

drove_status drove__centre_create(messages *m, const drove_centre *of, size_t n)
{
    unsigned n_others = m->wire->n_ranks - 1;
    unsigned n_threads = of->is_exclusive || n_others == 0 ? 1
                         : n_others < MOST_THREADS         ? n_others
                                                           : MOST_THREADS;
    centre *c = calloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("centre", sizeof *c);
    c->c = *of;
    c->n = n;
    c->n_slots = n_threads + 1 + DROVE_CHANNELS;
    pthread_cond_init(&c->has_work, NULL);
    drove_status status = make_slots(m, c, n);
    drove__messages_lock(m);
    m->centre = c;
    pthread_mutex_unlock(&m->lock);
    if (status == DROVE_OK && m->has_progress_thread) status = start_threads(m, c, n_threads);
    if (status != DROVE_OK) drove__centre_destroy(m);
    return status;
}

static unsigned n_in(const centre *c, slot_state state)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_slots; i++) n += c->slot[i].state == state;
    return n;
}

/* A caller may have all of a reply, and the run be over, before this rank has seen it sent. */
static void finish_replies(messages *m, centre *c)
{
    const uint64_t until = drove__now_ns() + 1000000000u;
    while (n_in(c, LEAVING) > 0 && drove__now_ns() < until) {
        for (unsigned i = 0; i < c->n_slots; i++) {
            slot *p = &c->slot[i];
            bool has_moved = false;
            if (p->state != LEAVING) continue;
            if (drove__flow_advance(m, &p->req, &p->flow, &has_moved) != DROVE_OK) return;
            if (p->flow.is_done) p->state = FREE;
        }
        nanosleep(&(struct timespec){0, 20000}, NULL); /* no other thread needs the lock */
    }
}

/* False: the wire may still use the memory of the slots. */
static bool drop_requests(messages *m, centre *c)
{
    const drove_wire_ops *ops = m->wire->ops;
    if (c->slot == NULL) return true;
    if (!atomic_load(&m->is_stopped)) finish_replies(m, c);
    const bool is_stopped = atomic_load(&m->is_stopped) != 0;
    const bool any_is_open = n_in(c, ARRIVING) + n_in(c, LEAVING) > 0;
    if (ops->drop == NULL && (is_stopped || any_is_open)) return false;
    if (c->is_listening && is_stopped) ops->drop(m->wire, &c->request);
    if (c->is_listening && !is_stopped) ops->cancel(m->wire, &c->request);
    for (unsigned i = 0; i < c->n_slots; i++) {
        slot *p = &c->slot[i];
        if (p->state == ARRIVING || p->state == LEAVING) drove__flow_drop(m, &p->flow);
    }
    return true;
}

void drove__centre_destroy(messages *m)
{
    centre *c = m->centre;
    if (c == NULL) return;
    drove__messages_lock(m);
    c->is_ending = true;
    pthread_cond_broadcast(&c->has_work);
    pthread_mutex_unlock(&m->lock);
    for (unsigned i = 0; i < c->n_threads; i++) pthread_join(c->thread[i], NULL);
    drove__messages_lock(m);
    m->centre = NULL;
    bool is_free = drop_requests(m, c);
    pthread_mutex_unlock(&m->lock);
    if (!is_free) return;
    for (unsigned i = 0; c->slot != NULL && i < c->n_slots - DROVE_CHANNELS; i++) {
        drove__free(c->slot[i].vector);
        drove__free(c->slot[i].buffer);
    }
    drove__free(c->slot);
    drove__free(c->head);
    pthread_cond_destroy(&c->has_work);
    free(c);
}
