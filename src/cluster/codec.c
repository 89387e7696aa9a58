/* cluster/codec.c - encoding with error feedback, slices, signatures. */
#include "cluster/codec.h"

#include "base/mem.h"
#include "cluster/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct drove_codec {
    drove_codec_options opt;
    drovek_encode_fn *encode;
    drovek_decode_fn *decode;
    uint64_t number;                /* exchanges begun */
    float *residual, *sum_residual; /* [n], [n_slice]: the codec's or the caller's */
    float *own, *own_sum;           /* NULL: the caller's */
    uint8_t *code, *sum_code;
    size_t first, n_slice;
};

/* ---- signature ---- */

drove_status drove__codec_parse(const char *text, unsigned *bits)
{
    static const struct {
        const char *name;
        unsigned bits;
    } known[] = {{"", 32},   {"32f", 32}, {"32", 32}, {"32s", 32}, {"32fs", 32}, {"16s", 16},
                 {"16", 16}, {"8s", 8},   {"8", 8},   {"1s", 1},   {"1", 1}};
    const char *c = strchr(text, 'C'), *format = text;
    if (c != NULL) format = c + 1;
    else if (text[0] < '0' || text[0] > '9') format = "";     /* a signature without C */
    for (size_t i = c != NULL; i < DROVE_COUNT(known); i++) { /* a C alone is an error */
        if (strcmp(format, known[i].name) != 0) continue;
        *bits = known[i].bits;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "precision: communication '%s': expected C32f, C16s, C8s or C1s", text);
}

/* ---- slices ---- */

static size_t n_blocks(size_t n)
{
    return (n + DROVEK_CODE_BLOCK - 1) / DROVEK_CODE_BLOCK;
}

/* First float of a worker's slice; n for the worker after the last. */
static size_t slice_begin(const drove_codec_options *o, unsigned worker)
{
    size_t at = n_blocks(o->n) * worker / o->n_workers * DROVEK_CODE_BLOCK;
    return at < o->n ? at : o->n;
}

size_t drove__codec_slice_size(size_t n, unsigned n_workers, unsigned worker)
{
    const drove_codec_options o = {.n = n, .n_workers = n_workers};
    return slice_begin(&o, worker + 1) - slice_begin(&o, worker);
}

void drove__codec_slice(const drove_codec *codec, unsigned worker, size_t *first, size_t *length)
{
    *first = slice_begin(&codec->opt, worker);
    *length = slice_begin(&codec->opt, worker + 1) - *first;
}

unsigned drove__codec_owner(const drove_codec *codec, size_t at, size_t *end)
{
    const drove_codec_options *o = &codec->opt;
    assert(at < o->n);
    size_t block = at / DROVEK_CODE_BLOCK;
    unsigned worker = (unsigned)(block * o->n_workers / n_blocks(o->n));
    while (slice_begin(o, worker) > at) worker--;
    while (slice_begin(o, worker + 1) <= at) worker++;
    *end = slice_begin(o, worker + 1);
    return worker;
}

/* ---- creation ---- */

static drove_status allocate(drove_codec *c)
{
    const drove_codec_options *o = &c->opt;
    c->own = o->residual != NULL ? NULL : drove__alloc(o->n, sizeof(float));
    c->own_sum = o->sum_residual != NULL ? NULL : drove__alloc(c->n_slice, sizeof(float));
    c->residual = o->residual != NULL ? o->residual : c->own;
    c->sum_residual = o->sum_residual != NULL ? o->sum_residual : c->own_sum;
    c->code = drove__alloc(drove__codec_bytes(c, o->n), 1);
    c->sum_code = drove__alloc(drove__codec_bytes(c, c->n_slice), 1);
    if (c->residual != NULL && c->sum_residual != NULL && c->code != NULL && c->sum_code != NULL)
        return DROVE_OK;
    return drove__fail_nomem("what lower precision lost", o->n * sizeof(float));
}

drove_status drove__codec_create(const drove_codec_options *opt, drove_codec **out)
{
    *out = NULL;
    assert(opt->bits == 16 || opt->bits == 8 || opt->bits == 1);
    drove_codec *c = drove__alloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("a codec", sizeof *c);
    c->opt = *opt;
    const drovek_table *k = opt->kernels;
    c->encode = opt->bits == 16 ? k->encode_i16 : opt->bits == 8 ? k->encode_i8 : k->encode_i1;
    c->decode = opt->bits == 16 ? k->decode_i16 : opt->bits == 8 ? k->decode_i8 : k->decode_i1;
    drove__codec_slice(c, opt->worker, &c->first, &c->n_slice);
    drove_status status = allocate(c);
    if (status != DROVE_OK) {
        drove__codec_destroy(c);
        return status;
    }
    *out = c;
    return DROVE_OK;
}

void drove__codec_destroy(drove_codec *codec)
{
    if (codec == NULL) return;
    drove__free(codec->own);
    drove__free(codec->own_sum);
    drove__free(codec->code);
    drove__free(codec->sum_code);
    drove__free(codec);
}

size_t drove__codec_bytes(const drove_codec *codec, size_t n)
{
    return drovek_code_bytes(codec->opt.bits, n);
}

/* ---- the four steps ---- */

/* Key of the random numbers of this exchange; stream: 1 + worker, or 0 for sums. */
static uint64_t key_of(const drove_codec *c, uint64_t stream)
{
    uint64_t key = c->opt.seed * 0x9e3779b97f4a7c15u + c->number;
    return key * 0xd1342543de82ef95u + stream * 0xda942042e4dd58b5u;
}

const void *drove__codec_encode(drove_codec *codec, const float *x)
{
    codec->number++;
    codec->encode(codec->code, x, codec->residual, codec->opt.n,
                  key_of(codec, (uint64_t)codec->opt.worker + 1), 0);
    return codec->code;
}

const void *drove__codec_code(const drove_codec *codec)
{
    return codec->code;
}

typedef struct terms {
    const drove_codec *codec;
    const void *const *code;
} terms;

static const float *decode_term(void *context, unsigned term, size_t offset, size_t length,
                                float *row)
{
    const terms *t = context;
    const uint8_t *code = t->code[term];
    t->codec->decode(row, code + drove__codec_bytes(t->codec, offset), length);
    return row;
}

void drove__codec_add(const drove_codec *codec, const void *const *code, unsigned n_terms,
                      size_t length, float *to, float *spare)
{
    terms t = {.codec = codec, .code = code};
    drove__tree_add_terms(codec->opt.kernels, decode_term, &t, n_terms, length, to, 1.0f, false,
                          spare);
}

const void *drove__codec_encode_sum(drove_codec *codec, size_t first, size_t length,
                                    const float *sum)
{
    assert(first >= codec->first && first + length <= codec->first + codec->n_slice);
    size_t offset = first - codec->first;
    uint8_t *code = codec->sum_code + drove__codec_bytes(codec, offset);
    codec->encode(code, sum, codec->sum_residual + offset, length, key_of(codec, 0),
                  first / DROVEK_CODE_BLOCK);
    return code;
}

void drove__codec_decode(const drove_codec *codec, float *to, const void *code, size_t n)
{
    codec->decode(to, code, n);
}

/* ---- state ---- */

drove_codec_state drove__codec_state(drove_codec *codec)
{
    return (drove_codec_state){.number = codec->number,
                               .residual = codec->residual,
                               .sum_residual = codec->sum_residual,
                               .n = codec->opt.n,
                               .n_sum = codec->n_slice};
}

void drove__codec_set_number(drove_codec *codec, uint64_t number)
{
    codec->number = number;
}
