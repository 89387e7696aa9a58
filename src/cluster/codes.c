/* cluster/codes.c - all-reduce in fewer bits (codec.h).
 *
 *   round 0   the codes of slice p go to rank p
 *   round 1   rank p adds its slice by the tree; the codes of the sum go to all
 *   round 2   no messages: every rank decodes all slices
 */
#include "cluster/codec.h"
#include "cluster/request.h"

#include <string.h>

typedef struct part {
    size_t first, length; /* floats */
    size_t begin, n_bytes;
} part;

static part slice_of(const drove_codec *codec, unsigned rank)
{
    part p;
    drove__codec_slice(codec, rank, &p.first, &p.length);
    p.begin = drove__codec_bytes(codec, p.first);
    p.n_bytes = drove__codec_bytes(codec, p.first + p.length) - p.begin;
    return p;
}

static size_t pad(size_t n_bytes)
{
    return (n_bytes + DROVE_CACHE_LINE - 1) / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
}

/* Codes of the sums, slice after slice, each aligned to a cache line. */
static char *place_of(const messages *m, const request *req, unsigned rank)
{
    size_t at = 0;
    for (unsigned i = 0; i < rank; i++) at += pad(slice_of(req->x.codec, i).n_bytes);
    return (char *)req->scratch + m->wire->n_ranks * req->row + at;
}

size_t drove__codes_spare(const messages *m, request *req)
{
    req->row = pad(slice_of(req->x.codec, m->wire->rank).n_bytes); /* bytes */
    size_t n_bytes = m->wire->n_ranks * req->row;
    for (unsigned i = 0; i < m->wire->n_ranks; i++) {
        n_bytes += pad(slice_of(req->x.codec, i).n_bytes);
    }
    return n_bytes / sizeof(float);
}

static void add_own(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    part own = slice_of(req->x.codec, r);
    uint64_t begun = drove__now_ns();
    const void **code = (const void **)m->term;
    for (unsigned i = 0; i < n_ranks; i++) code[i] = (const char *)req->scratch + i * req->row;
    code[r] = (const char *)drove__codec_code(req->x.codec) + own.begin;
    float *sum = req->x.out + own.first;
    if (own.length > 0) {
        drove__codec_add(req->x.codec, code, n_ranks, own.length, sum, m->tree_spare);
        const void *codes = drove__codec_encode_sum(req->x.codec, own.first, own.length, sum);
        memcpy(place_of(m, req, r), codes, own.n_bytes);
    }
    m->work_ns += drove__now_ns() - begun;
}

static void decode_all(messages *m, request *req)
{
    uint64_t begun = drove__now_ns();
    for (unsigned i = 0; i < m->wire->n_ranks; i++) {
        part of = slice_of(req->x.codec, i);
        if (of.length == 0) continue;
        drove__codec_decode(req->x.codec, req->x.out + of.first, place_of(m, req, i), of.length);
    }
    m->work_ns += drove__now_ns() - begun;
}

void drove__codes_round(messages *m, request *req)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    part own = slice_of(req->x.codec, r);
    if (req->round == 0) (void)drove__codec_encode(req->x.codec, req->x.in);
    if (req->round == 1) add_own(m, req);
    if (req->round == 2) decode_all(m, req);
    const char *codes = drove__codec_code(req->x.codec);
    for (unsigned i = 1; i < n_ranks && req->round < 2; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        part theirs = slice_of(req->x.codec, req->round == 0 ? to : from);
        if (req->round == 0) {
            drove__request_send(req, to, codes + theirs.begin, theirs.n_bytes);
            drove__request_receive(req, from, (char *)req->scratch + from * req->row, own.n_bytes);
        } else {
            drove__request_send(req, to, place_of(m, req, r), own.n_bytes);
            drove__request_receive(req, from, place_of(m, req, from), theirs.n_bytes);
        }
    }
}

bool drove__codes_fit(const messages *m, const drove_exchange *x)
{
    part last = slice_of(x->codec, m->wire->n_ranks - 1);
    return last.first + last.length == x->n;
}
