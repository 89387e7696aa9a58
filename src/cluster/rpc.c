/* cluster/rpc.c - the centre at rank 0, and those who RPC it; see request.h.
 *
 * An RPC is a header from whomever, contents into the memory of a place, the call, and a reply.
 * Places are few, and wait for callers: who finds none free waits in the wire.  Threads of their
 * own carry RPCs out, one where the centre is exclusive; without a progress thread who advances does.
 */
#include "cluster/request.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 4 };

typedef enum place_state { FREE, ARRIVING, READY, INSIDE, LEAVING } place_state;

typedef struct place {
    place_state state;
    uint64_t ticket; /* order of arrival */
    unsigned worker;
    float *vector; /* [n]; of an RPC at home: the caller's own */
    request *home; /* of this process's worker; NULL: came by the wire */
    request f;     /* of contents and reply */
    flow flow;
    message_buffer *buffer;
} place;

struct centre {
    drove_centre c;
    size_t n;
    unsigned n_places; /* the last DROVE_CHANNELS are for RPCs at home */
    place *place;
    message_buffer *head;
    drove_wire_request request;
    bool is_listening, is_ending;
    uint64_t n_tickets;
    pthread_cond_t has_work;
    pthread_t thread[MOST_THREADS];
    unsigned n_threads;
};

/* ---- carrying out ---- */

static place *first_ready(centre *c)
{
    place *first = NULL;
    for (unsigned i = 0; i < c->n_places; i++) {
        place *p = &c->place[i];
        if (p->state != READY) continue;
        if (first == NULL || p->ticket < first->ticket) first = p;
    }
    return first;
}

static void make_ready(centre *c, place *p)
{
    p->state = READY;
    p->ticket = c->n_tickets++;
    if (c->n_threads > 0) pthread_cond_signal(&c->has_work);
}

static void finish_at_home(messages *m, place *p, uint64_t centre_ns)
{
    request *f = p->home;
    memcpy(f->number, p->f.x.number, sizeof f->number);
    f->centre_ns = centre_ns;
    f->halts = atomic_load(&m->base.halt_wished) != 0;
    f->done_ns = drove__now_ns();
    p->state = FREE;
    m->n_pending--;
    atomic_store_explicit(&f->is_done, 1, memory_order_release); /* acquired by test and finish */
}

static void reply(messages *m, place *p, uint64_t centre_ns)
{
    p->state = LEAVING;
    p->f.centre_ns = centre_ns;
    p->f.halts = atomic_load(&m->base.halt_wished) != 0;
    p->flow = (flow){.kind = FLOW_SEND,
                     .peer = p->worker,
                     .tag = TAG_REPLY + p->f.channel,
                     .body_tag = TAG_REPLY + p->f.channel,
                     .from = (const char *)p->vector,
                     .n_bytes = p->f.x.n * sizeof(float),
                     .buffer = p->buffer};
    drove__flow_begin(m, &p->f, &p->flow); /* a failure has stopped everything */
}

/* Lock held, let go while the caller is inside. */
static void carry_out(messages *m, centre *c, place *p)
{
    p->state = INSIDE;
    pthread_mutex_unlock(&m->lock);
    uint64_t begun = drove__now_ns();
    c->c.serve(c->c.context, p->worker, p->vector, p->f.x.n, p->f.x.number);
    uint64_t centre_ns = drove__now_ns() - begun;
    drove__messages_lock(m);
    if (p->home != NULL) {
        finish_at_home(m, p, centre_ns);
    } else if (!atomic_load_explicit(&m->is_stopped, memory_order_relaxed)) { /* lock held */
        reply(m, p, centre_ns);
    }
}

static void *serve(void *argument)
{
    messages *m = argument;
    centre *c = m->centre;
    pthread_mutex_lock(&m->lock);
    while (!c->is_ending) {
        place *p = first_ready(c);
        if (p != NULL) {
            carry_out(m, c, p);
        } else {
            pthread_cond_wait(&c->has_work, &m->lock);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- arriving ---- */

static place *find_free(centre *c)
{
    for (unsigned i = 0; i < c->n_places - DROVE_CHANNELS; i++) {
        if (c->place[i].state == FREE) return &c->place[i];
    }
    return NULL;
}

/* A caller's header: into a place. */
static drove_status enter(messages *m, centre *c, place *p, unsigned from, size_t n_found)
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
    p->home = NULL;
    p->f = (request){.kind = DROVE_RPC, .channel = h->channel, .x = {.kind = DROVE_RPC, .n = h->n}};
    memcpy(p->f.x.number, h->number, sizeof h->number);
    if (n_content > 0) memcpy(p->vector, c->head->content, n_content);
    if (n_content == n_bytes) {
        make_ready(c, p);
        return DROVE_OK;
    }
    p->state = ARRIVING;
    p->flow = (flow){.kind = FLOW_PLACE,
                     .peer = from,
                     .body_tag = TAG_BODY + h->channel,
                     .to = (char *)p->vector,
                     .n_bytes = n_bytes,
                     .buffer = p->buffer};
    return drove__flow_begin_body(m, &p->f, &p->flow);
}

static bool listen_at_door(messages *m, centre *c)
{
    const drove_wire_ops *ops = m->wire->ops;
    bool is_done = false;
    unsigned from = 0;
    size_t n_found = 0;
    place *p = find_free(c);
    if (p == NULL) return false;
    if (!c->is_listening) {
        c->is_listening = ops->irecv(m->wire, c->head, sizeof *c->head, DROVE_WIRE_ANY, TAG_RPC,
                                     &c->request) == 0;
    }
    if (!c->is_listening) return false;
    if (ops->test(m->wire, &c->request, &is_done, &from, &n_found) != 0 || !is_done) return false;
    c->is_listening = false;
    return from < m->wire->n_ranks && enter(m, c, p, from, n_found) == DROVE_OK;
}

bool drove__centre_advance(messages *m)
{
    centre *c = m->centre;
    bool has_moved = false;
    for (unsigned i = 0; i < c->n_places; i++) {
        place *p = &c->place[i];
        if (atomic_load_explicit(&m->is_stopped, memory_order_relaxed))
            return false; /* lock held */
        if (p->state != ARRIVING && p->state != LEAVING) continue;
        if (drove__flow_advance(m, &p->f, &p->flow, &has_moved) != DROVE_OK) return false;
        if (!p->flow.is_done) continue;
        if (p->state == ARRIVING) make_ready(c, p);
        else p->state = FREE;
    }
    while (listen_at_door(m, c)) has_moved = true;
    if (c->n_threads > 0) return has_moved;
    for (place *p = first_ready(c); p != NULL; p = first_ready(c)) {
        carry_out(m, c, p);
        has_moved = true;
    }
    return has_moved;
}

drove_status drove__centre_enter(messages *m, request *f)
{
    centre *c = m->centre;
    place *p = &c->place[c->n_places - DROVE_CHANNELS + f->channel];
    if (f->x.n > c->n) {
        return drove__messages_fail(m, "expected an RPC of at most %zu numbers, found %zu", c->n,
                                    f->x.n);
    }
    p->worker = m->wire->rank;
    p->home = f;
    p->vector = f->x.out;
    p->f = (request){.kind = DROVE_RPC, .channel = f->channel, .x = f->x};
    make_ready(c, p);
    return DROVE_OK;
}

/* ---- beginning and end ---- */

static drove_status make_places(messages *m, centre *c, size_t n)
{
    c->head = drove__alloc(1, sizeof *c->head);
    c->place = drove__alloc(c->n_places, sizeof *c->place);
    if (c->head == NULL || c->place == NULL) return drove__fail_nomem("centre", sizeof *c->place);
    for (unsigned i = 0; i < c->n_places - DROVE_CHANNELS && m->wire->n_ranks > 1; i++) {
        c->place[i].vector = drove__alloc(n, sizeof(float));
        c->place[i].buffer = drove__alloc(1, sizeof *c->place[i].buffer);
        if (c->place[i].vector == NULL || c->place[i].buffer == NULL) {
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
    drove__messages_lock(m); /* until they may see n_threads */
    while (error == 0 && c->n_threads < n) {
        error = pthread_create(&c->thread[c->n_threads], NULL, serve, m);
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
    c->n_places = n_threads + 1 + DROVE_CHANNELS;
    pthread_cond_init(&c->has_work, NULL);
    drove_status status = make_places(m, c, n);
    drove__messages_lock(m);
    m->centre = c;
    pthread_mutex_unlock(&m->lock);
    if (status == DROVE_OK && m->has_progress_thread) status = start_threads(m, c, n_threads);
    if (status != DROVE_OK) drove__centre_destroy(m);
    return status;
}

/* Contents that a wire may still write to stay. */
static bool forget(messages *m, centre *c)
{
    const drove_wire_ops *ops = m->wire->ops;
    bool is_stopped = atomic_load(&m->is_stopped) != 0;
    if (is_stopped && ops->drop == NULL) return false;
    if (c->is_listening && is_stopped) ops->drop(m->wire, &c->request);
    if (c->is_listening && !is_stopped) ops->cancel(m->wire, &c->request);
    for (unsigned i = 0; i < c->n_places && is_stopped; i++) {
        place *p = &c->place[i];
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
    bool is_free = forget(m, c);
    pthread_mutex_unlock(&m->lock);
    if (!is_free) return;
    for (unsigned i = 0; c->place != NULL && i < c->n_places - DROVE_CHANNELS; i++) {
        drove__free(c->place[i].vector);
        drove__free(c->place[i].buffer);
    }
    drove__free(c->place);
    drove__free(c->head);
    pthread_cond_destroy(&c->has_work);
    free(c);
}
