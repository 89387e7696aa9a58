/* cluster/codes.c - all-reduce of values that travel in fewer bits (codec.h); see request.h.
 *
 *   round 0   the codes of slice p go to rank p
 *   round 1   rank p has added its slice by the tree; the codes of the sum go to all
 *   round 2   nothing travels: every rank decodes all slices
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

/* Codes of all slices of sums, one behind the other, each from a cache line on. */
static char *place_of(const messages *m, const request *f, unsigned rank)
{
    size_t at = 0;
    for (unsigned i = 0; i < rank; i++) at += pad(slice_of(f->x.codec, i).n_bytes);
    return (char *)f->scratch + m->wire->n_ranks * f->row + at;
}

size_t drove__codes_spare(const messages *m, request *f)
{
    f->row = pad(slice_of(f->x.codec, m->wire->rank).n_bytes); /* bytes */
    size_t n_bytes = m->wire->n_ranks * f->row;
    for (unsigned i = 0; i < m->wire->n_ranks; i++) {
        n_bytes += pad(slice_of(f->x.codec, i).n_bytes);
    }
    return n_bytes / sizeof(float);
}

static void add_own(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    part own = slice_of(f->x.codec, r);
    uint64_t begun = drove__now_ns();
    const void **code = (const void **)m->term;
    for (unsigned i = 0; i < n_ranks; i++) code[i] = (const char *)f->scratch + i * f->row;
    code[r] = (const char *)drove__codec_code(f->x.codec) + own.begin;
    float *sum = f->x.out + own.first;
    if (own.length > 0) {
        drove__codec_add(f->x.codec, code, n_ranks, own.length, sum, m->tree_spare);
        const void *codes = drove__codec_encode_sum(f->x.codec, own.first, own.length, sum);
        memcpy(place_of(m, f, r), codes, own.n_bytes);
    }
    m->work_ns += drove__now_ns() - begun;
}

static void decode_all(messages *m, request *f)
{
    uint64_t begun = drove__now_ns();
    for (unsigned i = 0; i < m->wire->n_ranks; i++) {
        part of = slice_of(f->x.codec, i);
        if (of.length == 0) continue;
        drove__codec_decode(f->x.codec, f->x.out + of.first, place_of(m, f, i), of.length);
    }
    m->work_ns += drove__now_ns() - begun;
}

void drove__codes_round(messages *m, request *f)
{
    unsigned n_ranks = m->wire->n_ranks, r = m->wire->rank;
    part own = slice_of(f->x.codec, r);
    if (f->round == 0) (void)drove__codec_encode(f->x.codec, f->x.in);
    if (f->round == 1) add_own(m, f);
    if (f->round == 2) decode_all(m, f);
    const char *codes = drove__codec_code(f->x.codec);
    for (unsigned i = 1; i < n_ranks && f->round < 2; i++) {
        unsigned to = (r + i) % n_ranks, from = (r + n_ranks - i) % n_ranks;
        part theirs = slice_of(f->x.codec, f->round == 0 ? to : from);
        if (f->round == 0) {
            drove__request_send(f, to, codes + theirs.begin, theirs.n_bytes);
            drove__request_place(f, from, (char *)f->scratch + from * f->row, own.n_bytes);
        } else {
            drove__request_send(f, to, place_of(m, f, r), own.n_bytes);
            drove__request_place(f, from, place_of(m, f, from), theirs.n_bytes);
        }
    }
}

bool drove__codes_fit(const messages *m, const drove_exchange *x)
{
    part last = slice_of(x->codec, m->wire->n_ranks - 1);
    return last.first + last.length == x->n;
}
