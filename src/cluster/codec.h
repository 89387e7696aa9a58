/* cluster/codec.h - vectors that are added over all workers while travelling in fewer bits: the C
 * of a DMGC signature.
 *
 * Source: De Sa et al., ISCA 2017 (signatures, unbiased rounding); Seide, Fu, Droppo, Li, Yu,
 * Interspeech 2014 (1 bit with error feedback).  Formats and layout: kernel/exchange.h.
 *
 * An all-reduce of P workers, each with a codec of its own:
 *   1. every worker encodes v = x + residual and keeps residual = v - what is sent;
 *   2. the vector is cut into slices; the slice of worker w is decoded of all P and added by the
 *      fixed tree (cluster/tree.h) in float;
 *   3. the sum of a slice is sent in the same format, with a residual of its own that stays in
 *      the codec of the worker whose slice it is;
 *   4. everybody decodes all slices, so all end with the same bits.
 * What is exact: given the codes, the sum is that of the tree, the same bits on every transport,
 * and nothing is lost for good: what one exchange rounds away, 1 or 3, is in a residual and is sent
 * by later ones.  What is not: the sum of one exchange.  Random numbers are keyed by seed, number
 * of the exchange, worker and block, so equal runs are equal.
 *
 * Threads: a codec is its worker's, but in an exchange, when others read its codes and may carry
 * out 2 and 3 for its slice.  All memory is from drove__alloc.
 */
#ifndef DROVE_CLUSTER_CODEC_H
#define DROVE_CLUSTER_CODEC_H

#include "cluster/transport.h"

/* "C8s", "8s", "8", also behind other parts ("G1C1s"): bits = 16, 8, 1, or 32 for floats ("C32f",
 * "" and what has no C): no codec is needed then.
 * Errors: DROVE_E_ARG. */
drove_status drove__codec_parse(const char *text, unsigned *bits);

typedef struct drove_codec_options {
    unsigned            bits; /* 16, 8 or 1 */
    size_t              n;    /* floats of the vector */
    unsigned            n_workers, worker;
    uint64_t            seed;    /* the same for all workers */
    const drovek_table *kernels; /* borrowed */
    /* [n] and [drove__codec_slice_size]: the caller's, all zero at first.  NULL: the codec's. */
    float *residual, *sum_residual;
} drove_codec_options;

/* Floats of the slice of a worker: those whose sums it encodes. */
size_t drove__codec_slice_size(size_t n, unsigned n_workers, unsigned worker);

/* Errors: DROVE_E_NOMEM. */
drove_status drove__codec_create(const drove_codec_options *opt, drove_codec **out);
void         drove__codec_destroy(drove_codec *codec); /* may be NULL */

/* Whose slice is floats [*first, *first + *length): whole blocks, but for the vector's end. */
void drove__codec_slice(const drove_codec *codec, unsigned worker, size_t *first, size_t *length);
/* Worker whose slice holds this float, and where the slice ends. */
unsigned drove__codec_owner(const drove_codec *codec, size_t at, size_t *end);
/* Bytes of the codes of the first n floats: where the codes of a slice begin, and how long they
 * are, by difference. */
size_t drove__codec_bytes(const drove_codec *codec, size_t n);

/* 1. Codes of the vector [bytes of n], valid until the next call; a new number begins. */
const void *drove__codec_encode(drove_codec *codec, const float *x);

/* The codes of the latest call, for those who reach them. */
const void *drove__codec_code(const drove_codec *codec);

/* 2. to[length] = tree of the terms' codes, each beginning at the same block of the vector.  spare:
 * as for drove__tree_add. */
void drove__codec_add(const drove_codec *codec, const void *const *code, unsigned n_terms,
                      size_t length, float *to, float *spare);

/* 3. Codes of sum[length], which lies at `first` in the vector and in the slice of this codec's
 * worker; in the codec until the next number. */
const void *drove__codec_encode_sum(drove_codec *codec, size_t first, size_t length,
                                    const float *sum);

/* 4. to[n] from codes that begin at a block. */
void drove__codec_decode(const drove_codec *codec, float *to, const void *code, size_t n);

/* What a saved run needs: number of exchanges begun, residual[n] of 1 and residual of 3, of the
 * worker's slice. */
typedef struct drove_codec_state {
    uint64_t number;
    float   *residual, *sum_residual;
    size_t   n, n_sum;
} drove_codec_state;
drove_codec_state drove__codec_state(drove_codec *codec);
void              drove__codec_set_number(drove_codec *codec, uint64_t number);

#endif
