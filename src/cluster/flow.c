/* cluster/flow.c - flows: a header and contents to or from one peer. */
#include "cluster/request.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Messages that need no answer of the receiver; 0: the wire has none. */
static size_t eager_piece(const messages *m)
{
    return least(m->wire->ops->eager_bytes, m->piece_bytes);
}

size_t drove__flow_spare(const messages *m, size_t n)
{
    size_t n_bytes = n * sizeof(float), piece = least(n_bytes, m->piece_bytes);
    size_t far = least(n_bytes, FLOW_WINDOW * eager_piece(m));
    size_t near = piece == 0 ? 0 : least((n_bytes + piece - 1) / piece, LONG_WINDOW) * piece;
    return (near > far ? near : far) / sizeof(float);
}

static bool is_inline(const flow *o)
{
    return o->n_bytes <= MESSAGE_INLINE;
}

static drove_status check_wire(messages *m, const flow *o, int result)
{
    if (result == 0) return DROVE_OK;
    return drove__messages_fail(m, "rank %u on host %s: messages with rank %u on host %s: %s",
                                m->wire->rank, m->wire->host[m->wire->rank], o->peer,
                                m->wire->host[o->peer], m->wire->error);
}

/* ---- pieces ---- */

static size_t next_size(const flow *o, size_t at)
{
    return o->n_bytes - at < o->piece ? o->n_bytes - at : o->piece;
}

static drove_status post_pieces(messages *m, request *req, flow *o)
{
    if (o->is_eager && o->kind == FLOW_SEND && !o->opposite->head_is_done) return DROVE_OK;
    while (!is_inline(o) && o->n_open < o->window && o->n_begun < o->n_bytes) {
        unsigned slot = (o->first + o->n_open) % o->window;
        size_t n = next_size(o, o->n_begun);
        drove_wire_request *r = &o->request[slot];
        int result;
        if (o->kind == FLOW_SEND) {
            result = m->wire->ops->isend(m->wire, o->from + o->n_begun, n, o->peer, o->body_tag, r);
            req->bytes += n;
            req->messages++;
        } else {
            char *to = o->kind == FLOW_ADD ? o->spare + slot * o->piece : o->to + o->n_begun;
            result = m->wire->ops->irecv(m->wire, to, n, (int)o->peer, o->body_tag, r);
        }
        DROVE_TRY(check_wire(m, o, result));
        o->n_begun += n;
        o->n_open++;
    }
    return DROVE_OK;
}

static void add(messages *m, flow *o, const void *arrived, size_t at, size_t n_bytes)
{
    uint64_t begun = drove__now_ns();
    size_t first = at / sizeof(float);
    m->base.kernels->add_f32((float *)(void *)o->to + first, o->with + first, arrived,
                             n_bytes / sizeof(float), 1.0f, false);
    m->work_ns += drove__now_ns() - begun;
}

/* Finishes the oldest message of contents if it has arrived or was sent. */
static drove_status take_piece(messages *m, flow *o, bool *has_moved)
{
    bool is_done = false;
    size_t n = next_size(o, o->n_done), n_found = 0;
    if (o->n_open == 0) return DROVE_OK;
    DROVE_TRY(check_wire(
        m, o, m->wire->ops->test(m->wire, &o->request[o->first], &is_done, NULL, &n_found)));
    if (!is_done) return DROVE_OK;
    if (o->kind != FLOW_SEND && n_found != n) {
        return drove__messages_fail(
            m, "rank %u on host %s: expected a piece of %zu bytes from rank %u, found %zu",
            m->wire->rank, m->wire->host[m->wire->rank], n, o->peer, n_found);
    }
    if (o->kind == FLOW_ADD) add(m, o, o->spare + o->first * o->piece, o->n_done, n);
    o->n_done += n;
    o->first = (o->first + 1) % o->window;
    o->n_open--;
    *has_moved = true;
    return DROVE_OK;
}

/* ---- header ---- */

static const char *kind_name(unsigned kind)
{
    static const char *const name[] = {"all-reduce", "reduce",  "broadcast", "barrier",
                                       "send",       "receive", "RPC",       "gather"};
    return kind < DROVE_COUNT(name) ? name[kind] : "message of no known kind";
}

/* Does the peer run the same exchange? */
static drove_status check_head(messages *m, const request *req, const flow *o, size_t n_found)
{
    const drove_message *h = &o->buffer->head;
    const char *host = m->wire->host[o->peer];
    size_t n_content = is_inline(o) ? o->n_bytes : 0;
    if (n_found < sizeof *h || h->magic != MESSAGE_MAGIC) {
        return drove__messages_fail(m,
                                    "expected a message of this version of drove from rank %u on "
                                    "host %s, found another of %zu bytes",
                                    o->peer, host, n_found);
    }
    unsigned kind = req->kind == DROVE_RECEIVE ? DROVE_SEND : req->kind;
    /* Collective exchanges of a channel have equal numbers at all ranks; RPCs have none. */
    bool is_next = req->kind == DROVE_RPC || h->order == req->order;
    if (h->kind != kind || !is_next || h->n != req->x.n || h->n_bytes != o->n_bytes ||
        n_found != sizeof *h + n_content) {
        return drove__messages_fail(
            m,
            "rank %u on host %s, channel %u: expected %s %u of %zu numbers, found %s %u of %llu: "
            "the ranks run different exchanges",
            o->peer, host, req->channel, kind_name(kind), req->order, req->x.n, kind_name(h->kind),
            h->order, (unsigned long long)h->n);
    }
    return DROVE_OK;
}

static drove_status take_head(messages *m, request *req, flow *o, bool *has_moved)
{
    bool is_done = false;
    size_t n_found = 0;
    DROVE_TRY(
        check_wire(m, o, m->wire->ops->test(m->wire, &o->head_request, &is_done, NULL, &n_found)));
    if (!is_done) return DROVE_OK;
    *has_moved = true;
    o->head_is_done = true;
    if (o->kind == FLOW_SEND) return DROVE_OK;
    DROVE_TRY(check_head(m, req, o, n_found));
    req->halts |= o->buffer->head.halts != 0;
    req->centre_ns = o->buffer->head.centre_ns;
    memcpy(req->number, o->buffer->head.number, sizeof req->number);
    if (!is_inline(o)) return DROVE_OK;
    if (o->kind == FLOW_ADD) {
        add(m, o, o->buffer->content, 0, o->n_bytes);
    } else if (o->n_bytes > 0) {
        memcpy(o->to, o->buffer->content, o->n_bytes);
    }
    o->n_done = o->n_bytes;
    return DROVE_OK;
}

/* ---- flows ---- */

static void reset(const messages *m, flow *o)
{
    o->n_begun = o->n_done = 0;
    o->first = o->n_open = 0;
    o->head_is_done = o->is_done = false;
    o->is_eager = o->opposite != NULL && eager_piece(m) > 0 &&
                  strcmp(m->wire->host[o->peer], m->wire->host[m->wire->rank]) != 0;
    o->window = o->is_eager ? FLOW_WINDOW : LONG_WINDOW;
    o->piece = least(o->n_bytes, o->is_eager ? eager_piece(m) : m->piece_bytes);
}

drove_status drove__flow_begin_body(messages *m, request *req, flow *o)
{
    reset(m, o);
    o->head_is_done = true;
    return post_pieces(m, req, o);
}

drove_status drove__flow_begin(messages *m, request *req, flow *o)
{
    drove_message *h = &o->buffer->head;
    int result;
    reset(m, o);
    if (o->kind == FLOW_SEND) {
        size_t n_content = is_inline(o) ? o->n_bytes : 0;
        *h = (drove_message){.magic = MESSAGE_MAGIC,
                             .kind = req->kind,
                             .worker = m->wire->rank,
                             .channel = req->channel,
                             .order = req->order,
                             .halts = req->halts,
                             .n_bytes = o->n_bytes,
                             .n = req->x.n,
                             .centre_ns = req->centre_ns};
        memcpy(h->number, req->x.number, sizeof h->number);
        if (n_content > 0) memcpy(o->buffer->content, o->from, n_content);
        result = m->wire->ops->isend(m->wire, o->buffer, sizeof *h + n_content, o->peer, o->tag,
                                     &o->head_request);
        if (n_content > 0) o->n_begun = o->n_done = n_content;
        req->bytes += sizeof *h + n_content;
        req->messages++;
    } else {
        result = m->wire->ops->irecv(m->wire, o->buffer, sizeof *o->buffer, (int)o->peer, o->tag,
                                     &o->head_request);
    }
    DROVE_TRY(check_wire(m, o, result));
    return post_pieces(m, req, o);
}

drove_status drove__flow_advance(messages *m, request *req, flow *o, bool *has_moved)
{
    bool moved = false;
    if (!o->head_is_done) DROVE_TRY(take_head(m, req, o, &moved));
    /* contents may arrive before the header is read: it is checked before the end */
    for (bool again = true; again;) {
        again = false;
        DROVE_TRY(take_piece(m, o, &again));
        DROVE_TRY(post_pieces(m, req, o));
        moved |= again;
    }
    o->is_done = o->head_is_done && o->n_done == o->n_bytes;
    if (moved) {
        *has_moved = true;
        req->moved_ns = drove__now_ns();
        if (o->kind != FLOW_SEND) m->peer[o->peer].heard_ns = req->moved_ns;
    }
    return DROVE_OK;
}

void drove__flow_drop(messages *m, flow *o)
{
    if (!o->head_is_done) m->wire->ops->drop(m->wire, &o->head_request);
    o->head_is_done = true;
    for (; o->n_open > 0; o->n_open--) {
        m->wire->ops->drop(m->wire, &o->request[o->first]);
        o->first = (o->first + 1) % o->window;
    }
}

/* ---- the next round ---- */

flow *drove__flow_next(request *req, flow_kind kind, unsigned peer, size_t n_bytes)
{
    flow *o = &req->flow[req->n_flows++];
    o->kind = kind;
    o->peer = peer;
    unsigned tag = req->way == WAY_PAIR ? TAG_PAIR : TAG_COLLECTIVE;
    o->tag = o->body_tag = tag + req->channel;
    o->n_bytes = n_bytes;
    o->opposite = NULL;
    o->from = NULL;
    o->to = NULL;
    return o;
}

void drove__request_send(request *req, unsigned peer, const void *from, size_t n_bytes)
{
    drove__flow_next(req, FLOW_SEND, peer, n_bytes)->from = from;
}

void drove__request_receive(request *req, unsigned peer, void *to, size_t n_bytes)
{
    drove__flow_next(req, FLOW_RECEIVE, peer, n_bytes)->to = to;
}
