/* kernel/exchange.h - kernels of workers that exchange vectors: elastic steps, encodings.  Part of
 * the table of kernel.h; roundings are part of the definitions, so all tiers give equal bits.
 *
 * Source: You, Buluc, Demmel, SC17, equations (1) and (2).  Symbols: w one worker's parameters
 * (W^i), c the centre (W-bar), g gradient, eta step size, alpha = eta rho, s sum of all W^i, P
 * workers.  All equations use the values before the call.
 */
#ifndef DROVEK_EXCHANGE_H
#define DROVEK_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* (1)   w = w - eta g - alpha (w - c)     first the step, then the pull; g NULL: only the pull
 * eta -1: g is a finished step and is added as it is.  Returns the sum of (w - c)^2 if it
 * `measures`, else 0. */
typedef double drovek_elastic_f32_fn(float *w, const float *g, const float *c, size_t n, float eta,
                                     float alpha, bool measures);

/* (2)   c = c + alpha (s - p c)           p = P and s = sum of W^i: all workers at the same time;
 *                                         p = 1 and s = W^i: one worker's exchange;
 *                                         p = 0 and s = sum of W^i - c: s is sent as a difference
 * before: NULL, or receives the old centre; may be s.  [racy: c] */
typedef void drovek_centre_f32_fn(float *c, const float *s, float *before, size_t n, float alpha,
                                  float p);

/* Both in one pass: the bits of elastic, then of centre, with the old c in both. */
typedef double drovek_elastic_centre_f32_fn(float *w, const float *g, float *c, const float *s,
                                            size_t n, float eta, float alpha, float p,
                                            bool measures);

/* ---- fewer bits ---- */

/* A vector is cut into blocks of DROVEK_CODE_BLOCK floats, of which the last may be shorter.  The
 * codes of the blocks follow each other without gaps:
 *   i16, i8  float scale = largest |v| / L, L = 32767 or 127; then a word of 16 or 8 bits for each
 *            number, q + L + 1 with v = q scale, q rounded up or down at random such that its mean
 *            is v / scale
 *   i1       float mean of the numbers >= 0, float mean of those < 0, then a bit for each number:
 *            v < 0 (Seide, Fu, Droppo, Li, Yu, Interspeech 2014); whole bytes
 * A block without a number of 2^-96 or more is sent as zeros; one with an infinity or a NaN decodes
 * to non-finite numbers. */
enum { DROVEK_CODE_BLOCK = 512 };

/* Bytes of the codes of n floats, bits = 16, 8 or 1. */
static inline size_t drovek_code_bytes(unsigned bits, size_t n)
{
    size_t n_full = n / DROVEK_CODE_BLOCK, rest = n % DROVEK_CODE_BLOCK;
    size_t head = bits == 1 ? 2 * sizeof(float) : sizeof(float);
    return n_full * (head + DROVEK_CODE_BLOCK / 8 * bits) +
           (rest > 0 ? head + (rest * bits + 7) / 8 : 0);
}

/* Codes of v = x + residual; residual = v - the decoded code; residual NULL: none.  The random
 * numbers of a block follow from key and first_block + its number (i1 needs none). */
typedef void drovek_encode_fn(void *code, const float *x, float *residual, size_t n, uint64_t key,
                              size_t first_block);
typedef drovek_encode_fn drovek_encode_i16_fn, drovek_encode_i8_fn, drovek_encode_i1_fn;

/* to[n] from the codes of n floats. */
typedef void             drovek_decode_fn(float *to, const void *code, size_t n);
typedef drovek_decode_fn drovek_decode_i16_fn, drovek_decode_i8_fn, drovek_decode_i1_fn;

/* clang-format off */
#define DROVEK_EXCHANGE_LIST(X)                                                                    \
    X(elastic_f32) X(centre_f32) X(elastic_centre_f32)                                             \
    X(encode_i16) X(encode_i8) X(encode_i1) X(decode_i16) X(decode_i8) X(decode_i1)
/* clang-format on */

#endif
