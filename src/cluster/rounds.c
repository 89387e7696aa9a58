/* cluster/rounds.c - which ranks exchange what in each round of an exchange; see request.h.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005.  P ranks, r this rank, n floats.
 *
 *   DOUBLING  round l: all n to and from r ^ 2^l, added: after log2 P rounds every rank has the
 *             tree's sum, as x + y and y + x have the same bits
 *   HALVING   round l: of the part that r still adds one half goes to r ^ 2^l, the other comes and
 *             is added; then the parts go back the same way, or to the root
 *   SLICES    slice p goes to rank p, which adds all by drove__tree_add; then sums go to all, or to
 *             the root.  Fewer rounds than HALVING but more messages: for few ranks
 *   TREE      round l: ranks with r mod 2^(l+1) = 2^l send all to r - 2^l, which adds: the tree for
 *             any P; then down from rank 0, or from there to the root
 */
#include "cluster/request.h"

#include <string.h>

enum {
    SLICE_UNIT = 16,       /* floats: cache lines are not shared by slices */
    SLICES_MOST_RANKS = 8, /* each sends to all others; above, halving has fewer messages */
};

typedef struct region {
    size_t offset, n;
} region;

static bool is_power_of_2(unsigned n)
{
    return (n & (n - 1)) == 0;
}

/* What rank r adds after `level` rounds of halving. */
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

static flow *next_flow(request *f, flow_kind kind, unsigned peer, size_t n_bytes)
{
    flow *o = &f->flow[f->n_flows++];
    o->kind = kind;
    o->peer = peer;
    unsigned tag = f->way == WAY_PAIR ? TAG_PAIR : TAG_COLLECTIVE;
    o->tag = o->body_tag = tag + f->channel;
    o->n_bytes = n_bytes;
    o->from = NULL;
    o->to = NULL;
    return o;
}

void drove__request_send(request *f, unsigned peer, const void *from, size_t n_bytes)
{
    next_flow(f, FLOW_SEND, peer, n_bytes)->from = from;
}

void drove__request_place(request *f, unsigned peer, void *to, size_t n_bytes)
{
    next_flow(f, FLOW_PLACE, peer, n_bytes)->to = to;
}

static void give(request *f, unsigned peer, const float *base, region part)
{
    next_flow(f, FLOW_SEND, peer, part.n * sizeof(float))->from =
        base == NULL ? NULL : (const char *)(base + part.offset);
}

static void place(request *f, unsigned peer, float *base, region part)
{
    next_flow(f, FLOW_PLACE, peer, part.n * sizeof(float))->to =
        base == NULL ? NULL : (char *)(base + part.offset);
}

/* to = with + what comes. */
static void add(request *f, unsigned peer, float *to, const float *with, region part)
{
    flow *o = next_flow(f, FLOW_ADD, peer, part.n * sizeof(float));
    o->to = (char *)(to + part.offset);
    o->with = with + part.offset;
    o->spare = (char *)f->rows;
}

/* ---- the ways; each sets the flows of round f->round, none: it is over ---- */

static void double_distance(messages *m, request *f)
{
    unsigned distance = 1u << f->round, other = m->wire->rank ^ distance;
    const region all = {0, f->x.n};
    if (distance >= m->wire->n_ranks) return;
    const float *from = f->round == 0 ? f->x.in : f->sum;
    give(f, other, from, all);
    add(f, other, f->sum, from, all);
}

/* What every rank has added goes to the root. */
static void collect(messages *m, request *f,
                    region (*part)(const messages *m, unsigned r, size_t n))
{
    unsigned r = m->wire->rank;
    if (r != f->x.peer) {
        give(f, f->x.peer, f->sum, part(m, r, f->x.n));
        return;
    }
    for (unsigned i = 1; i < m->wire->n_ranks; i++) {
        unsigned other = (r + i) % m->wire->n_ranks;
        place(f, other, f->sum, part(m, other, f->x.n));
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

static void halve(messages *m, request *f)
{
    unsigned levels = levels_of(m->wire->n_ranks), r = m->wire->rank, l = f->round;
    if (l < levels) {
        unsigned other = r ^ 1u << l;
        const float *from = l == 0 ? f->x.in : f->sum;
        give(f, other, from, halves(other, l + 1, f->x.n));
        add(f, other, f->sum, from, halves(r, l + 1, f->x.n));
    } else if (f->kind == DROVE_REDUCE) {
        if (l == levels) collect(m, f, last_half);
    } else if (l < 2 * levels) {
        l = 2 * levels - 1 - l;
        unsigned other = r ^ 1u << l;
        give(f, other, f->sum, halves(r, l + 1, f->x.n));
        place(f, other, f->sum, halves(other, l + 1, f->x.n));
    }
}

static region own_slice(const messages *m, unsigned r, size_t n)
{
    return slice(r, m->wire->n_ranks, n);
}

/* Every rank has one part of the vector, which all others are given. */
static void share_slices(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    for (unsigned i = 1; i < n_ranks; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        give(f, to, f->sum, own_slice(m, r, f->x.n));
        place(f, from, f->sum, own_slice(m, from, f->x.n));
    }
}

static void add_slices(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    region own = own_slice(m, r, f->x.n);
    const float **x = m->term;
    uint64_t begun = drove__now_ns();
    for (unsigned i = 0; i < n_ranks; i++) {
        x[i] = i == r ? f->x.in + own.offset : f->rows + i * f->row;
    }
    drove__tree_add(m->base.kernels, x, n_ranks, own.n, f->sum + own.offset, 1.0f, false,
                    m->tree_spare);
    m->work_ns += drove__now_ns() - begun;
}

static void by_slices(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    if (f->round == 0) {
        for (unsigned i = 1; i < n_ranks; i++) {
            unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
            give(f, to, f->x.in, own_slice(m, to, f->x.n));
            place(f, from, f->rows + from * f->row, (region){0, own_slice(m, r, f->x.n).n});
        }
    } else if (f->round == 1) {
        add_slices(m, f);
        if (f->kind == DROVE_REDUCE) {
            collect(m, f, own_slice);
        } else {
            share_slices(m, f);
        }
    }
}

/* Down from `root`: from whom this rank gets it in the first round, to whom it goes in the second.
 * */
static void spread(messages *m, request *f, unsigned root, unsigned round, const float *from,
                   float *to)
{
    unsigned n_ranks = m->wire->n_ranks, v = (m->wire->rank + n_ranks - root) % n_ranks;
    const region all = {0, f->x.n};
    unsigned lowest = v == 0 ? 1u << levels_of(n_ranks) : v & (~v + 1);
    if (round == 0 && v != 0) place(f, (v - lowest + root) % n_ranks, to, all);
    for (unsigned d = lowest / 2; round == 1 && d > 0; d /= 2) {
        if (v + d < n_ranks) give(f, (v + d + root) % n_ranks, v == 0 ? from : to, all);
    }
}

/* Every rank counts the same rounds, also those in which it has nothing to do. */
static void up_and_down(messages *m, request *f)
{
    unsigned levels = levels_of(m->wire->n_ranks), r = m->wire->rank, l = f->round;
    const region all = {0, f->x.n};
    if (f->kind == DROVE_BROADCAST) {
        spread(m, f, f->x.peer, l, f->x.in, f->x.out);
    } else if (l < levels) {
        unsigned distance = 1u << l;
        if (r % (2 * distance) == distance) {
            give(f, r - distance, f->sum, all);
        } else if (r % (2 * distance) == 0 && r + distance < m->wire->n_ranks) {
            add(f, r + distance, f->sum, f->sum, all);
        }
    } else if (f->kind == DROVE_ALL_REDUCE) {
        spread(m, f, 0, l - levels, f->sum, f->sum);
    } else if (l == levels && f->x.peer != 0) {
        if (r == 0) give(f, f->x.peer, f->sum, all);
        if (r == f->x.peer) place(f, 0, f->sum, all);
    }
}

static void scatter(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, root = f->x.peer, n_slices = n_ranks - 1;
    unsigned v = (m->wire->rank + n_ranks - root) % n_ranks; /* slice v - 1 is its own */
    if (f->round == 0 && v == 0) {
        for (unsigned i = 1; i < n_ranks; i++) {
            give(f, (root + i) % n_ranks, f->x.in, slice(i - 1, n_slices, f->x.n));
        }
    } else if (f->round == 0) {
        place(f, root, f->x.out, slice(v - 1, n_slices, f->x.n));
    } else if (f->round == 1 && v != 0) {
        for (unsigned i = 1; i < n_slices; i++) {
            unsigned to = (v - 1 + i) % n_slices, from = (v - 1 + n_slices - i) % n_slices;
            give(f, (root + 1 + to) % n_ranks, f->x.out, slice(v - 1, n_slices, f->x.n));
            place(f, (root + 1 + from) % n_ranks, f->x.out, slice(from, n_slices, f->x.n));
        }
    }
}

/* Dissemination: after round l a rank has heard of 2^(l+1) others. */
static void meet(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank, distance = 1u << f->round;
    if (f->round >= levels_of(n_ranks)) return;
    give(f, (r + distance) % n_ranks, NULL, (region){0, 0});
    place(f, (r + n_ranks - distance) % n_ranks, NULL, (region){0, 0});
}

static void pair(request *f)
{
    const region all = {0, f->x.n};
    if (f->round > 0) return;
    if (f->kind == DROVE_SEND) give(f, f->x.peer, f->x.in, all);
    if (f->kind == DROVE_RECEIVE) place(f, f->x.peer, f->x.out, all);
}

static void call(request *f)
{
    const region all = {0, f->x.n};
    if (f->round == 0) {
        give(f, 0, f->x.in, all);
        f->flow[0].tag = TAG_RPC;
        f->flow[0].body_tag = TAG_BODY + f->channel;
    } else if (f->round == 1) {
        place(f, 0, f->x.out, all);
        f->flow[0].tag = f->flow[0].body_tag = TAG_REPLY + f->channel;
    }
}

static void gather(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    for (unsigned i = 1; i < n_ranks && f->round == 0; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        drove__request_send(f, to, f->mine, f->each_bytes);
        drove__request_place(f, from, f->all + from * f->each_bytes, f->each_bytes);
    }
}

static void set_flows(messages *m, request *f)
{
    f->n_flows = f->n_flows_done = 0;
    switch (f->way) {
    case WAY_DOUBLING: double_distance(m, f); break;
    case WAY_HALVING: halve(m, f); break;
    case WAY_SLICES: by_slices(m, f); break;
    case WAY_CODES: drove__codes_round(m, f); break;
    case WAY_TREE: up_and_down(m, f); break;
    case WAY_SCATTER: scatter(m, f); break;
    case WAY_BARRIER: meet(m, f); break;
    case WAY_PAIR: pair(f); break;
    case WAY_RPC: call(f); break;
    case WAY_GATHER: gather(m, f); break;
    }
}

static unsigned n_rounds(const messages *m, const request *f)
{
    unsigned levels = levels_of(m->wire->n_ranks);
    switch (f->way) {
    case WAY_DOUBLING:
    case WAY_BARRIER: return levels;
    case WAY_HALVING: return f->kind == DROVE_REDUCE ? levels + 1 : 2 * levels;
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

/* Receives first, so that what comes finds its place. */
static drove_status begin_round(messages *m, request *f)
{
    set_flows(m, f);
    for (int sends = 0; sends < 2; sends++) {
        for (unsigned i = 0; i < f->n_flows; i++) {
            if ((f->flow[i].kind == FLOW_SEND) != (sends == 1)) continue;
            DROVE_TRY(drove__flow_begin(m, f, &f->flow[i]));
        }
    }
    return DROVE_OK;
}

/* Of long sums. */
static request_way choose_sum(const messages *m, size_t n)
{
    unsigned n_ranks = m->wire->n_ranks;
    bool is_cheap = n_ranks <= SLICES_MOST_RANKS && n * sizeof(float) / n_ranks > MESSAGE_INLINE;
    return is_cheap || !is_power_of_2(n_ranks) ? WAY_SLICES : WAY_HALVING;
}

static request_way choose(const messages *m, const request *f)
{
    bool is_short = f->x.n * sizeof(float) <= MESSAGE_INLINE;
    switch (f->kind) {
    case DROVE_ALL_REDUCE:
        if (f->x.codec != NULL) return WAY_CODES;
        if (f->is_by_library) return WAY_BARRIER; /* finish does the rest */
        if (is_short) return is_power_of_2(m->wire->n_ranks) ? WAY_DOUBLING : WAY_TREE;
        return choose_sum(m, f->x.n);
    case DROVE_REDUCE: return is_short ? WAY_TREE : choose_sum(m, f->x.n);
    case DROVE_BROADCAST: return is_short ? WAY_TREE : WAY_SCATTER;
    case DROVE_BARRIER: return WAY_BARRIER;
    case DROVE_SEND:
    case DROVE_RECEIVE: return WAY_PAIR;
    case DROVE_RPC: return WAY_RPC;
    default: return WAY_GATHER;
    }
}

static drove_status ensure_scratch(request *f, size_t n)
{
    if (n <= f->n_scratch) return DROVE_OK;
    float *larger = drove__alloc(n, sizeof *larger);
    if (larger == NULL) return drove__fail_nomem("messages between ranks", n * sizeof *larger);
    drove__free(f->scratch);
    f->scratch = larger;
    f->n_scratch = n;
    return DROVE_OK;
}

static drove_status ensure_flows(messages *m, request *f)
{
    if (f->buffer != NULL) return DROVE_OK;
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
    f->flow = flows;
    f->buffer = buffer;
    return DROVE_OK;
}

/* Floats of the spare memory of a sum of n. */
static size_t spare_of(const messages *m, request_way way, size_t n, size_t *row)
{
    *row = 0;
    if (way == WAY_HALVING) {
        size_t half = halves(0, 1, n).n * sizeof(float), piece = drove__flow_piece(m, half);
        size_t n_pieces = (half + piece - 1) / piece;
        return (n_pieces < FLOW_WINDOW ? n_pieces : FLOW_WINDOW) * piece / sizeof(float);
    }
    if (way != WAY_SLICES) return 0;
    *row = (n / m->wire->n_ranks / SLICE_UNIT + 2) * SLICE_UNIT;
    return *row * m->wire->n_ranks;
}

drove_status drove__request_reserve(messages *m, request *f, size_t n)
{
    size_t row;
    request_way way = choose_sum(m, n);
    DROVE_TRY(ensure_flows(m, f));
    return ensure_scratch(f, spare_of(m, way, n, &row) + drove__pad_floats(n));
}

drove_status drove__request_begin(messages *m, request *f)
{
    bool adds = f->kind == DROVE_ALL_REDUCE || f->kind == DROVE_REDUCE;
    bool keeps =
        f->kind == DROVE_ALL_REDUCE || (f->kind == DROVE_REDUCE && f->x.peer == m->wire->rank);
    f->way = choose(m, f);
    size_t n_spare =
        f->way == WAY_CODES ? drove__codes_spare(m, f) : spare_of(m, f->way, f->x.n, &f->row);
    DROVE_TRY(ensure_flows(m, f));
    DROVE_TRY(ensure_scratch(f, n_spare + (adds && !keeps ? drove__pad_floats(f->x.n) : 0)));
    f->rows = f->scratch;
    f->sum = keeps ? f->x.out : adds ? f->scratch + n_spare : NULL;
    if (f->way == WAY_TREE && adds && f->x.n > 0 && f->sum != f->x.in) {
        memcpy(f->sum, f->x.in, f->x.n * sizeof(float));
    }
    f->round = 0;
    DROVE_TRY(begin_round(m, f));
    bool moved;
    return drove__request_advance(m, f, &moved);
}

drove_status drove__request_advance(messages *m, request *f, bool *has_moved)
{
    for (;;) {
        for (unsigned i = 0; i < f->n_flows; i++) {
            flow *o = &f->flow[i];
            if (o->is_done) continue;
            DROVE_TRY(drove__flow_advance(m, f, o, has_moved));
            f->n_flows_done += o->is_done;
        }
        if (f->n_flows_done < f->n_flows) return DROVE_OK;
        if (++f->round >= n_rounds(m, f)) break;
        DROVE_TRY(begin_round(m, f));
    }
    f->done_ns = drove__now_ns();
    m->n_pending--;
    atomic_store_explicit(&f->is_done, 1, memory_order_release); /* acquired by test and finish */
    return DROVE_OK;
}

unsigned drove__request_awaited(const request *f, bool *is_sending)
{
    for (int sends = 0; sends < 2; sends++) {
        for (unsigned i = 0; i < f->n_flows; i++) {
            const flow *o = &f->flow[i];
            *is_sending = sends == 1;
            if (!o->is_done && (o->kind == FLOW_SEND) == *is_sending) return o->peer;
        }
    }
    return f->x.peer;
}
