/* kernel/words.h - products with a matrix of parameters that are words of bf16 (the slots
 * widen_bf16 and sgd_bf16), read and written where they are: part of the table of kernel.h.
 *
 * W is [.][columns], columns a multiple of DROVEK_WORDS_COLUMNS, its rows without gaps.  Each
 * function gives the bits of the tier's products in bf16 (kernel/bf16.h) with W widened first.
 * [racy: W]
 */
#ifndef DROVEK_WORDS_H
#define DROVEK_WORDS_H

#include "kernel/planes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVEK_WORDS_COLUMNS = 32 };

/* C[m][n] = A[m][k] op(W) + beta C; op(W) is k x n */
typedef void drovek_words_gemm_fn(bool trans_w, size_t m, size_t n, size_t k, const float *a,
                                  size_t lda, const uint16_t *w, float beta, float *c, size_t ldc);

/* W[m][n] -= eta A^T B, A[k][m], B[k][n], each word rounded as by sgd_bf16.  Up to
 * DROVEK_PLANES_DRAW numbers are drawn at a time: 16 rows, or the last ones, of 32 columns, row
 * after row.  false: not for so large a k, and nothing is done. */
typedef bool drovek_words_step_fn(size_t m, size_t n, size_t k, const float *a, size_t lda,
                                  const float *b, size_t ldb, float eta, uint16_t *w,
                                  const drovek_draws *draws);

typedef struct drovek_words_ops {
    drovek_words_gemm_fn *gemm;
    drovek_words_step_fn *step;
} drovek_words_ops;

#endif
