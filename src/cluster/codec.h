/* cluster/codec.h - sums over all workers in fewer bits: the C of a DMGC signature.
 *
 * Source: De Sa et al., ISCA 2017 (signatures, unbiased rounding); Seide, Fu, Droppo, Li, Yu,
 * Interspeech 2014 (1 bit with error feedback).  Formats and layout: kernel/codes.h.
 *
 * An all-reduce of P workers, each with its own codec:
 *   1. every worker encodes v = x + residual and keeps residual = v - decoded(v);
 *   2. the vector is cut into slices; slice w is decoded of all P and added in float by the fixed
 *      tree (cluster/tree.h);
 *   3. the sum of slice w is encoded in the same format, with a residual in the codec of worker w;
 *   4. every worker decodes all slices, so all have the same bits.
 * Given the codes, the sum is exact: that of the tree, with the same bits on every transport.  The
 * sum of one exchange is rounded, in 1 and 3, but what is rounded away stays in a residual and is
 * sent later.  Random numbers are keyed by seed, number of the exchange, worker and block, so equal
 * runs have equal bits.
 *
 * Threads: a codec belongs to its worker.  During an exchange other workers read its codes and may
 * do 2 and 3 for its slice.  All memory is from drove__alloc.
 */
#ifndef DROVE_CLUSTER_CODEC_H
#define DROVE_CLUSTER_CODEC_H

#include "cluster/transport.h"

/* "C8s", "8s", "8", also after other parts ("G1C1s"): *bits = 16, 8 or 1; 32 for floats ("C32f",
 * "", no C), which need no codec.
 * Errors: DROVE_E_ARG. */
drove_status drove__codec_parse(const char *text, unsigned *bits);

typedef struct drove_codec_options {
    unsigned            bits; /* 16, 8 or 1 */
    size_t              n;    /* floats of the vector */
    unsigned            n_workers, worker;
    uint64_t            seed;    /* the same for all workers */
    const drovek_table *kernels; /* borrowed */
    /* [n], [drove__codec_slice_size]: memory of the caller, zero at first.  NULL: the codec
     * allocates. */
    float *residual, *sum_residual;
} drove_codec_options;

/* Floats in the slice of a worker. */
size_t drove__codec_slice_size(size_t n, unsigned n_workers, unsigned worker);

/* Errors: DROVE_E_NOMEM. */
drove_status drove__codec_create(const drove_codec_options *opt, drove_codec **out);
void         drove__codec_destroy(drove_codec *codec); /* may be NULL */

/* The slice of a worker: floats [*first, *first + *length), whole blocks except at the end. */
void drove__codec_slice(const drove_codec *codec, unsigned worker, size_t *first, size_t *length);
/* The worker whose slice holds this float; *end of the slice. */
unsigned drove__codec_owner(const drove_codec *codec, size_t at, size_t *end);
/* Bytes of the codes of the first n floats. */
size_t drove__codec_bytes(const drove_codec *codec, size_t n);

/* 1. Codes of x[n], valid until the next call.  Begins the next exchange. */
const void *drove__codec_encode(drove_codec *codec, const float *x);

/* The codes of the last call. */
const void *drove__codec_code(const drove_codec *codec);

/* 2. to[length] = tree of the codes, all beginning at the same block.  spare: as in
 * drove__tree_add. */
void drove__codec_add(const drove_codec *codec, const void *const *code, unsigned n_terms,
                      size_t length, float *to, float *spare);

/* 3. Codes of sum[length], which begins at `first` of the vector, inside this worker's slice.
 * Valid until the next exchange. */
const void *drove__codec_encode_sum(drove_codec *codec, size_t first, size_t length,
                                    const float *sum);

/* 4. to[n]; the codes begin at a block. */
void drove__codec_decode(const drove_codec *codec, float *to, const void *code, size_t n);

/* For saving: number of exchanges, residual[n] of 1 and sum_residual[n_sum] of 3. */
typedef struct drove_codec_state {
    uint64_t number;
    float   *residual, *sum_residual;
    size_t   n, n_sum;
} drove_codec_state;
drove_codec_state drove__codec_state(drove_codec *codec);
void              drove__codec_set_number(drove_codec *codec, uint64_t number);

#endif
