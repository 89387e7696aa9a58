/* cluster/rounds.c - which ranks exchange what in each round of a request.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005.  P ranks, r this rank, n floats.
 *
 *   DOUBLING  round l: send all n to r ^ 2^l, receive as many and add.  After log2 P rounds every
 *             rank has the sum of the tree, since x + y and y + x have the same bits
 *   HALVING   round l: of the part that r still adds, one half goes to r ^ 2^l; the other half
 *             arrives and is added.  Then the parts go back the same way, or to the root
 *   SLICES    slice p goes to rank p, which adds all P by drove__tree_add; then the sums go to all,
 *             or to the root.  Fewer rounds than HALVING but more messages: for few ranks
 *   TREE      round l: ranks with r mod 2^(l+1) = 2^l send all to r - 2^l, which adds: the tree for
 *             any P.  Then down from rank 0, or from there to the root
 */
#include "cluster/request.h"

#include <string.h>

enum {
    SLICE_UNIT = 16,       /* floats: slices share no cache line */
    SLICES_MOST_RANKS = 8, /* above, halving wins by fewer messages */
};

typedef struct region {
    size_t offset, n;
} region;

static bool is_power_of_2(unsigned n)
{
    return (n & (n - 1)) == 0;
}

/* The part that rank r adds after `level` rounds of halving. */
static region halves(unsigned r, unsigned level, size_t n)
{
    region part = {0, n};
    for (unsigned l = 0; l < level; l++) {
        size_t low = (part.n / 2 + SLICE_UNIT - 1) / SLICE_UNIT * SLICE_UNIT;
        if (low > part.n) low = part.n;
        if ((r >> l & 1) == 0) {
            part.n = low;
        } else {
            part.offset += low;
            part.n -= low;
        }
    }
    return part;
}

/* Slice i of n_slices. */
static region slice(unsigned i, unsigned n_slices, size_t n)
{
    size_t units = (n + SLICE_UNIT - 1) / SLICE_UNIT;
    size_t begin = units / n_slices * i + (units % n_slices) * i / n_slices;
    size_t end = units / n_slices * (i + 1) + (units % n_slices) * (i + 1) / n_slices;
    begin = begin * SLICE_UNIT > n ? n : begin * SLICE_UNIT;
    end = end * SLICE_UNIT > n ? n : end * SLICE_UNIT;
    return (region){begin, end - begin};
}

/* ---- flows of the next round ---- */

static void send(request *req, unsigned peer, const float *base, region part)
{
    drove__flow_next(req, FLOW_SEND, peer, part.n * sizeof(float))->from =
        base == NULL ? NULL : (const char *)(base + part.offset);
}

static void receive(request *req, unsigned peer, float *base, region part)
{
    drove__flow_next(req, FLOW_RECEIVE, peer, part.n * sizeof(float))->to =
        base == NULL ? NULL : (char *)(base + part.offset);
}

/* to = with + received. */
static void add(request *req, unsigned peer, float *to, const float *with, region part)
{
    flow *o = drove__flow_next(req, FLOW_ADD, peer, part.n * sizeof(float));
    o->to = (char *)(to + part.offset);
    o->with = with + part.offset;
    o->spare = (char *)req->rows;
}

/* ---- the ways; each sets the flows of round req->round, none: it is over ---- */

static void double_distance(messages *m, request *req)
{
    unsigned distance = 1u << req->round, other = m->wire->rank ^ distance;
    const region all = {0, req->x.n};
    if (distance >= m->wire->n_ranks) return;
    const float *from = req->round == 0 ? req->x.in : req->sum;
    send(req, other, from, all);
    add(req, other, req->sum, from, all);
}

/* Each rank sends its part of the sum to the root. */
static void collect(messages *m, request *req,
                    region (*part)(const messages *m, unsigned r, size_t n))
{
    unsigned r = m->wire->rank;
    if (r != req->x.peer) {
        send(req, req->x.peer, req->sum, part(m, r, req->x.n));
        return;
    }
    for (unsigned i = 1; i < m->wire->n_ranks; i++) {
        unsigned other = (r + i) % m->wire->n_ranks;
        receive(req, other, req->sum, part(m, other, req->x.n));
    }
}

static unsigned levels_of(unsigned n_ranks)
{
    unsigned levels = 0;
    while (1u << levels < n_ranks) levels++;
    return levels;
}

static region last_half(const messages *m, unsigned r, size_t n)
{
    return halves(r, levels_of(m->wire->n_ranks), n);
}

static void halve(messages *m, request *req)
{
    unsigned levels = levels_of(m->wire->n_ranks), r = m->wire->rank, l = req->round;
    if (l < levels) {
        unsigned other = r ^ 1u << l;
        const float *from = l == 0 ? req->x.in : req->sum;
        send(req, other, from, halves(other, l + 1, req->x.n));
        add(req, other, req->sum, from, halves(r, l + 1, req->x.n));
    } else if (req->kind == DROVE_REDUCE) {
        if (l == levels) collect(m, req, last_half);
    } else if (l < 2 * levels) {
        l = 2 * levels - 1 - l;
        unsigned other = r ^ 1u << l;
        send(req, other, req->sum, halves(r, l + 1, req->x.n));
        receive(req, other, req->sum, halves(other, l + 1, req->x.n));
    }
}

static region own_slice(const messages *m, unsigned r, size_t n)
{
    return slice(r, m->wire->n_ranks, n);
}

/* Each rank sends its slice to all others. */
static void share_slices(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    for (unsigned i = 1; i < n_ranks; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        send(req, to, req->sum, own_slice(m, r, req->x.n));
        receive(req, from, req->sum, own_slice(m, from, req->x.n));
    }
}

static void add_slices(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    region own = own_slice(m, r, req->x.n);
    const float **x = m->term;
    uint64_t begun = drove__now_ns();
    for (unsigned i = 0; i < n_ranks; i++) {
        x[i] = i == r ? req->x.in + own.offset : req->rows + i * req->row;
    }
    drove__tree_add(m->base.kernels, x, n_ranks, own.n, req->sum + own.offset, 1.0f, false,
                    m->tree_spare);
    m->work_ns += drove__now_ns() - begun;
}

static void by_slices(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    if (req->round == 0) {
        for (unsigned i = 1; i < n_ranks; i++) {
            unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
            send(req, to, req->x.in, own_slice(m, to, req->x.n));
            receive(req, from, req->rows + from * req->row,
                    (region){0, own_slice(m, r, req->x.n).n});
        }
    } else if (req->round == 1) {
        add_slices(m, req);
        if (req->kind == DROVE_REDUCE) {
            collect(m, req, own_slice);
        } else {
            share_slices(m, req);
        }
    }
}

/* Down from `root`: receive in the first round, send in the second. */
static void spread(messages *m, request *req, unsigned root, unsigned round, const float *from,
                   float *to)
{
    unsigned n_ranks = m->wire->n_ranks, v = (m->wire->rank + n_ranks - root) % n_ranks;
    const region all = {0, req->x.n};
    unsigned lowest = v == 0 ? 1u << levels_of(n_ranks) : v & (~v + 1);
    if (round == 0 && v != 0) receive(req, (v - lowest + root) % n_ranks, to, all);
    for (unsigned d = lowest / 2; round == 1 && d > 0; d /= 2) {
        if (v + d < n_ranks) send(req, (v + d + root) % n_ranks, v == 0 ? from : to, all);
    }
}

/* All ranks count the same rounds, also idle ones. */
static void up_and_down(messages *m, request *req)
{
    unsigned levels = levels_of(m->wire->n_ranks), r = m->wire->rank, l = req->round;
    const region all = {0, req->x.n};
    if (req->kind == DROVE_BROADCAST) {
        spread(m, req, req->x.peer, l, req->x.in, req->x.out);
    } else if (l < levels) {
        unsigned distance = 1u << l;
        if (r % (2 * distance) == distance) {
            send(req, r - distance, req->sum, all);
        } else if (r % (2 * distance) == 0 && r + distance < m->wire->n_ranks) {
            add(req, r + distance, req->sum, req->sum, all);
        }
    } else if (req->kind == DROVE_ALL_REDUCE) {
        spread(m, req, 0, l - levels, req->sum, req->sum);
    } else if (l == levels && req->x.peer != 0) {
        if (r == 0) send(req, req->x.peer, req->sum, all);
        if (r == req->x.peer) receive(req, 0, req->sum, all);
    }
}

static void scatter(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, root = req->x.peer, n_slices = n_ranks - 1;
    unsigned v = (m->wire->rank + n_ranks - root) % n_ranks; /* slice v - 1 is its own */
    if (req->round == 0 && v == 0) {
        for (unsigned i = 1; i < n_ranks; i++) {
            send(req, (root + i) % n_ranks, req->x.in, slice(i - 1, n_slices, req->x.n));
        }
    } else if (req->round == 0) {
        receive(req, root, req->x.out, slice(v - 1, n_slices, req->x.n));
    } else if (req->round == 1 && v != 0) {
        for (unsigned i = 1; i < n_slices; i++) {
            unsigned to = (v - 1 + i) % n_slices, from = (v - 1 + n_slices - i) % n_slices;
            send(req, (root + 1 + to) % n_ranks, req->x.out, slice(v - 1, n_slices, req->x.n));
            receive(req, (root + 1 + from) % n_ranks, req->x.out, slice(from, n_slices, req->x.n));
        }
    }
}

/* Dissemination: after round l a rank has heard of 2^(l+1) others. */
static void barrier(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank, distance = 1u << req->round;
    if (req->round >= levels_of(n_ranks)) return;
    send(req, (r + distance) % n_ranks, NULL, (region){0, 0});
    receive(req, (r + n_ranks - distance) % n_ranks, NULL, (region){0, 0});
}

static void pair(request *req)
{
    const region all = {0, req->x.n};
    if (req->round > 0) return;
    if (req->kind == DROVE_SEND) send(req, req->x.peer, req->x.in, all);
    if (req->kind == DROVE_RECEIVE) receive(req, req->x.peer, req->x.out, all);
}

static void call(request *req)
{
    const region all = {0, req->x.n};
    if (req->round == 0) {
        send(req, 0, req->x.in, all);
        req->flow[0].tag = TAG_RPC;
        req->flow[0].body_tag = TAG_BODY + req->channel;
    } else if (req->round == 1) {
        receive(req, 0, req->x.out, all);
        req->flow[0].tag = req->flow[0].body_tag = TAG_REPLY + req->channel;
    }
}

static void gather(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    for (unsigned i = 1; i < n_ranks && req->round == 0; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        drove__request_send(req, to, req->mine, req->each_bytes);
        drove__request_receive(req, from, req->all + from * req->each_bytes, req->each_bytes);
    }
}

static void set_flows(messages *m, request *req)
{
    req->n_flows = req->n_flows_done = 0;
    switch (req->way) {
    case WAY_DOUBLING: double_distance(m, req); break;
    case WAY_HALVING: halve(m, req); break;
    case WAY_SLICES: by_slices(m, req); break;
    case WAY_CODES: drove__codes_round(m, req); break;
    case WAY_TREE: up_and_down(m, req); break;
    case WAY_SCATTER: scatter(m, req); break;
    case WAY_BARRIER: barrier(m, req); break;
    case WAY_PAIR: pair(req); break;
    case WAY_RPC: call(req); break;
    case WAY_GATHER: gather(m, req); break;
    }
}

static unsigned n_rounds(const messages *m, const request *req)
{
    unsigned levels = levels_of(m->wire->n_ranks);
    switch (req->way) {
    case WAY_DOUBLING:
    case WAY_BARRIER: return levels;
    case WAY_HALVING: return req->kind == DROVE_REDUCE ? levels + 1 : 2 * levels;
    case WAY_TREE: return levels + 2;
    case WAY_CODES: return 3;
    case WAY_SLICES:
    case WAY_SCATTER:
    case WAY_RPC: return 2;
    case WAY_PAIR:
    case WAY_GATHER: return 1;
    }
    return 0;
}

/* ---- requests ---- */

/* Finds the flows between the same two ranks. */
static void pair_flows(messages *m, request *req)
{
    for (unsigned i = 0; i < req->n_flows; i++) {
        flow *o = &req->flow[i];
        *(o->kind == FLOW_SEND ? &m->peer[o->peer].sent : &m->peer[o->peer].received) = o;
    }
    for (unsigned i = 0; i < req->n_flows; i++) {
        peer_news *p = &m->peer[req->flow[i].peer];
        if (p->sent != NULL && p->received != NULL) {
            p->sent->opposite = p->received;
            p->received->opposite = p->sent;
        }
        p->sent = p->received = NULL;
    }
}

/* Receives first: contents then go straight to their place. */
static drove_status begin_round(messages *m, request *req)
{
    set_flows(m, req);
    pair_flows(m, req);
    for (int sends = 0; sends < 2; sends++) {
        for (unsigned i = 0; i < req->n_flows; i++) {
            if ((req->flow[i].kind == FLOW_SEND) != (sends == 1)) continue;
            DROVE_TRY(drove__flow_begin(m, req, &req->flow[i]));
        }
    }
    return DROVE_OK;
}

/* The way of long sums. */
static request_way choose_sum(const messages *m, size_t n)
{
    unsigned n_ranks = m->wire->n_ranks;
    bool is_cheap = n_ranks <= SLICES_MOST_RANKS && n * sizeof(float) / n_ranks > MESSAGE_INLINE;
    return is_cheap || !is_power_of_2(n_ranks) ? WAY_SLICES : WAY_HALVING;
}

static request_way choose(const messages *m, const request *req)
{
    bool is_short = req->x.n * sizeof(float) <= MESSAGE_INLINE;
    switch (req->kind) {
    case DROVE_ALL_REDUCE:
        if (req->x.codec != NULL) return WAY_CODES;
        if (req->is_by_library) return WAY_BARRIER; /* the library adds in finish */
        if (is_short) return is_power_of_2(m->wire->n_ranks) ? WAY_DOUBLING : WAY_TREE;
        return choose_sum(m, req->x.n);
    case DROVE_REDUCE: return is_short ? WAY_TREE : choose_sum(m, req->x.n);
    case DROVE_BROADCAST: return is_short ? WAY_TREE : WAY_SCATTER;
    case DROVE_BARRIER: return WAY_BARRIER;
    case DROVE_SEND:
    case DROVE_RECEIVE: return WAY_PAIR;
    case DROVE_RPC: return WAY_RPC;
    default: return WAY_GATHER;
    }
}

static drove_status ensure_scratch(request *req, size_t n)
{
    if (n <= req->n_scratch) return DROVE_OK;
    float *larger = drove__alloc(n, sizeof *larger);
    if (larger == NULL) return drove__fail_nomem("messages between ranks", n * sizeof *larger);
    drove__free(req->scratch);
    req->scratch = larger;
    req->n_scratch = n;
    return DROVE_OK;
}

static drove_status ensure_flows(messages *m, request *req)
{
    if (req->buffer != NULL) return DROVE_OK;
    message_buffer *buffer = drove__alloc(m->most_flows, sizeof *buffer);
    flow *flows = drove__alloc(m->most_flows, sizeof *flows);
    if (buffer == NULL || flows == NULL) {
        drove__free(buffer);
        drove__free(flows);
        return drove__fail_nomem("messages between ranks", m->most_flows * sizeof *buffer);
    }
    for (unsigned i = 0; i < m->most_flows; i++) {
        flows[i].buffer = &buffer[i];
        flows[i].head_is_done = true;
    }
    req->flow = flows;
    req->buffer = buffer;
    return DROVE_OK;
}

/* Floats of scratch that a sum of n needs. */
static size_t spare_of(const messages *m, request_way way, size_t n, size_t *row)
{
    *row = 0;
    if (way == WAY_HALVING) return drove__flow_spare(m, halves(0, 1, n).n);
    if (way != WAY_SLICES) return 0;
    *row = (n / m->wire->n_ranks / SLICE_UNIT + 2) * SLICE_UNIT;
    return *row * m->wire->n_ranks;
}

drove_status drove__request_reserve(messages *m, request *req, size_t n)
{
    size_t row;
    request_way way = choose_sum(m, n);
    DROVE_TRY(ensure_flows(m, req));
    return ensure_scratch(req, spare_of(m, way, n, &row) + drove__pad_floats(n));
}

drove_status drove__request_begin(messages *m, request *req)
{
    bool adds = req->kind == DROVE_ALL_REDUCE || req->kind == DROVE_REDUCE;
    bool keeps = req->kind == DROVE_ALL_REDUCE ||
                 (req->kind == DROVE_REDUCE && req->x.peer == m->wire->rank);
    req->way = choose(m, req);
    size_t n_spare = req->way == WAY_CODES ? drove__codes_spare(m, req)
                                           : spare_of(m, req->way, req->x.n, &req->row);
    DROVE_TRY(ensure_flows(m, req));
    DROVE_TRY(ensure_scratch(req, n_spare + (adds && !keeps ? drove__pad_floats(req->x.n) : 0)));
    req->rows = req->scratch;
    req->sum = keeps ? req->x.out : adds ? req->scratch + n_spare : NULL;
    if (req->way == WAY_TREE && adds && req->x.n > 0 && req->sum != req->x.in) {
        memcpy(req->sum, req->x.in, req->x.n * sizeof(float));
    }
    req->round = 0;
    DROVE_TRY(begin_round(m, req));
    bool moved;
    return drove__request_advance(m, req, &moved);
}

drove_status drove__request_advance(messages *m, request *req, bool *has_moved)
{
    for (;;) {
        for (unsigned i = 0; i < req->n_flows; i++) {
            flow *o = &req->flow[i];
            if (o->is_done) continue;
            DROVE_TRY(drove__flow_advance(m, req, o, has_moved));
            req->n_flows_done += o->is_done;
        }
        if (req->n_flows_done < req->n_flows) return DROVE_OK;
        if (++req->round >= n_rounds(m, req)) break;
        DROVE_TRY(begin_round(m, req));
    }
    req->done_ns = drove__now_ns();
    m->n_pending--;
    atomic_store_explicit(&req->is_done, 1, memory_order_release); /* acquired by test and finish */
    return DROVE_OK;
}

unsigned drove__request_awaited(const request *req, bool *is_sending)
{
    for (int sends = 0; sends < 2; sends++) {
        for (unsigned i = 0; i < req->n_flows; i++) {
            const flow *o = &req->flow[i];
            *is_sending = sends == 1;
            if (!o->is_done && (o->kind == FLOW_SEND) == *is_sending) return o->peer;
        }
    }
    return req->x.peer;
}
