/* kernel/exchange.h - kernels of workers that exchange vectors: elastic steps.  Part of the table
 * of kernel.h; roundings are part of the definitions, so all tiers give equal bits.
 *
 * Source: You, Buluc, Demmel, SC17, equations (1) and (2).  Symbols: w one worker's parameters
 * (W^i), c the centre (W-bar), g gradient, eta step size, alpha = eta rho, s sum of all W^i, P
 * workers.  Every equation is about values as they were before the call.
 */
#ifndef DROVEK_EXCHANGE_H
#define DROVEK_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* (1)   w = w - eta g - alpha (w - c)     the step first, then the pull; g NULL: the pull alone
 * A step that is finished already and only to be added: eta -1.  Returns the sum of (w - c)^2 if it
 * `measures`, else 0. */
typedef double drovek_elastic_f32_fn(float *w, const float *g, const float *c, size_t n, float eta,
                                     float alpha, bool measures);

/* (2)   c = c + alpha (s - p c)           p = P and s = sum of W^i: all at once;
 *                                         p = 1 and s = W^i: one worker's visit;
 *                                         p = 0 and s = sum of W^i - c: what was sent is that
 * before: NULL, or gets the centre as it was; may be s.  [racy: c] */
typedef void drovek_centre_f32_fn(float *c, const float *s, float *before, size_t n, float alpha,
                                  float p);

/* Both, the bits of elastic followed by centre with the c of before, in one pass. */
typedef double drovek_elastic_centre_f32_fn(float *w, const float *g, float *c, const float *s,
                                            size_t n, float eta, float alpha, float p,
                                            bool measures);

/* ---- fewer bits ---- */

/* A vector is cut into blocks of DROVEK_CODE_BLOCK floats, the last may be shorter, and the blocks'
 * codes lie one behind the other, without gaps:
 *   i16, i8  float scale = largest |v| / L, L = 32767 or 127; then a word of 16 or 8 bits for each
 *            number, q + L + 1 with v = q scale, q rounded up or down at random such that its mean
 *            is v / scale
 *   i1       float mean of those >= 0, float mean of those < 0, then a bit for each number: v < 0
 *            (Seide, Fu, Droppo, Li, Yu, Interspeech 2014); whole bytes
 * A block without a number of 2^-96 or more is sent as zeros; one with an infinity or a NaN decodes
 * to no finite number. */
enum { DROVEK_CODE_BLOCK = 512 };

/* Bytes of the codes of n floats, bits = 16, 8 or 1. */
static inline size_t drovek_code_bytes(unsigned bits, size_t n)
{
    size_t n_full = n / DROVEK_CODE_BLOCK, rest = n % DROVEK_CODE_BLOCK;
    size_t head = bits == 1 ? 2 * sizeof(float) : sizeof(float);
    return n_full * (head + DROVEK_CODE_BLOCK / 8 * bits) +
           (rest > 0 ? head + (rest * bits + 7) / 8 : 0);
}

/* Codes of v = x + residual; residual = v - what was sent; residual NULL: none.  The random numbers
 * of a block follow from key and first_block + its number (i1 needs none). */
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
