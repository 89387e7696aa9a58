/* kernel/kernel.h - the numeric kernels: one table, filled per ISA tier, chosen once.
 *
 * ref/ (plain C) defines every kernel; x86/ and arm/ hold one table per tier; onednn.c is the
 * library's matrix product, for shapes that the tiers' own is not made for.  Tests compare each
 * version with ref at edge lengths and alignments, within the bound named beside the kernel in
 * tests/kernel.  Within one tier a kernel gives the same bits for the same input, whatever the
 * alignment and the calling thread.
 *
 * Formats: f32 = IEEE single.  All matrices are row-major.  n may be 0.  No kernel allocates, locks
 * or keeps state, so any number of threads may call it at the same time.  (A library's own
 * threading is off: one caller, one core.)
 *
 * Shared elements: kernels marked [racy] may run while other threads read and write the same
 * elements (docs/inside/memory-model.md).  They access each shared element by one load and one
 * store of its own width or wider, which the compiler can neither split nor repeat.
 */
#ifndef DROVE_KERNEL_H
#define DROVE_KERNEL_H

#include "base/status.h"
#include "kernel/bf16.h"
#include "kernel/exchange.h"
#include "kernel/image.h"
#include "kernel/linear.h"
#include "kernel/strips.h"
#include "kernel/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum drovek_act { DROVEK_LINEAR, DROVEK_RELU, DROVEK_SIGMOID, DROVEK_TANH } drovek_act;

/* ---- matrix products ---- */

/* C[m][n] = alpha op(A) op(B) + beta C;  op(A) is m x k, op(B) is k x n; beta 0 does not read C.
 * [racy: a, b, c, in the versions written here; the library's machine code is taken as it is] */
typedef void drovek_gemm_f32_fn(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                                float alpha, const float *a, size_t lda, const float *b, size_t ldb,
                                float beta, float *c, size_t ldc);

/* C[i][j] = (adds: +=) sum over s < n_segments and p < k of A[i][s][p] B[s][p][j]: the products of
 * convolutions on images in place, whose windows are overlapping rows of a matrix.
 *   A[i][s][p] = a[i * a_row + s * a_segment + p * a_step]
 *   B[s][p][j] = b[s * b_segment + p * b_step + j * b_column]
 *   C[i][j] = c[i * c_row + j]                               all of m, n, k, n_segments >= 1
 * b_column is 1; or more if a_step and b_step are 1: few rows, sums along k.
 * Order of a sum: s, then p ascending, by fused multiply-add (ref: as written); along k by lanes,
 * which are added at the end.  [racy: a, b, c] */
typedef struct drovek_windows {
    size_t       m, n, k, n_segments;
    const float *a;
    size_t       a_row, a_step, a_segment;
    const float *b;
    size_t       b_step, b_segment, b_column;
    float       *c;
    size_t       c_row;
    bool         adds;
} drovek_windows;
typedef void drovek_windows_f32_fn(const drovek_windows *t);

/* One example (batch 1).  W[n_in][n_out].  Inputs that are exactly 0 are skipped. [racy: W]
 *   matvec    y[o] += sum_j x[j] W[j][o]      j ascending, fused multiply-add
 *   matvec_t  dx[j] = sum_o W[j][o] dy[o]     [racy: dy too: with one output the weights are dy]
 *   ger       W[j][o] -= eta * (x[j] dy[o])   product rounded to float first, then fused
 *                                             multiply-add: the bits of outer followed by sgd
 *   outer     G[j][o] = x[j] dy[o] */
typedef void drovek_matvec_f32_fn(float *y, const float *x, const float *w, size_t n_in,
                                  size_t n_out);
typedef void drovek_matvec_t_f32_fn(float *dx, const float *dy, const float *w, size_t n_in,
                                    size_t n_out);
typedef void drovek_ger_f32_fn(float *w, const float *x, const float *dy, size_t n_in, size_t n_out,
                               float eta);
typedef void drovek_outer_f32_fn(float *g, const float *x, const float *dy, size_t n_in,
                                 size_t n_out);

/* Sparse example: nnz pairs (index[k], value[k]); value NULL = all ones.  W[.][n_out]. [racy: W]
 *   spmatvec  y[o] += sum_k value[k] W[index[k]][o]   k ascending, fused multiply-add
 *   spger     W[index[k]][o] -= eta * (value[k] dy[o])
 *   spouter   G[index[k]][o] += value[k] dy[o] */
typedef void drovek_spmatvec_f32_fn(float *y, const uint32_t *index, const float *value, size_t nnz,
                                    const float *w, size_t n_out);
typedef void drovek_spger_f32_fn(float *w, const uint32_t *index, const float *value, size_t nnz,
                                 const float *dy, size_t n_out, float eta);
typedef void drovek_spouter_f32_fn(float *g, const uint32_t *index, const float *value, size_t nnz,
                                   const float *dy, size_t n_out);

/* ---- element-wise, over y[rows][cols] ---- */

/* y = act(y + bias[cols]), in place.  [racy: bias] */
typedef void drovek_bias_act_f32_fn(float *y, const float *bias, size_t rows, size_t cols,
                                    drovek_act act);
/* dy *= act'(.), expressed through the output y (relu: y > 0; sigmoid: y (1 - y); tanh: 1 - y^2);
 * then db[o] = sum over rows of dy (row order ascending). */
typedef void drovek_act_grad_f32_fn(float *dy, float *db, const float *y, size_t rows, size_t cols,
                                    drovek_act act);
/* Without a bias: y = act(x), y may be x; dx = dy act'(.), dx may be dy, adds: dx += it. */
typedef void drovek_act_f32_fn(float *y, const float *x, size_t n, drovek_act act);
typedef void drovek_act_back_f32_fn(float *dx, const float *dy, const float *y, size_t n,
                                    drovek_act act, bool adds);
/* y = factor cos(y + phase[cols]), in place: the last step of random Fourier features.  The error
 * bound holds for |y + phase| up to 10^5; beyond, the result still lies within +-factor. */
typedef void drovek_cos_f32_fn(float *y, const float *phase, size_t rows, size_t cols,
                               float factor);

/* ---- losses: value summed over the rows in double, gradient times `scale` (1 / batch: mean) -- */

/* z[rows][cols] logits; label[rows] in [0, cols).  n_correct += rows whose largest logit (first of
 * equals) is the label's.  dz = scale (softmax - onehot); may be z itself, or NULL: loss only. */
typedef double drovek_softmax_f32_fn(const float *z, const int32_t *label, float *dz, size_t rows,
                                     size_t cols, float scale, size_t *n_correct);

/* ---- whole vectors ---- */

/* to = from [racy: both]; y += a x [racy: y]; y *= a; x y summed in double; is finite: no infinity,
 * no NaN */
typedef void drovek_copy_f32_fn(float *to, const float *from, size_t n);
typedef void drovek_axpy_f32_fn(float *y, const float *x, size_t n, float a);
typedef void drovek_scale_f32_fn(float *y, size_t n, float a);
/* to = a x + b y; to may be x or y; y NULL: a x */
typedef void drovek_blend_f32_fn(float *to, const float *x, const float *y, size_t n, float a,
                                 float b);
/* to = a (x + y), the sum rounded first; to may be x or y.  streams: writes `to` past the caches,
 * for vectors that will not be read before they would have been evicted; complete when the call
 * returns. */
typedef void   drovek_add_f32_fn(float *to, const float *x, const float *y, size_t n, float a,
                                 bool streams);
typedef double drovek_dot_f32_fn(const float *x, const float *y, size_t n);
typedef bool   drovek_finite_f32_fn(const float *x, size_t n);
/* The bits of the largest magnitude, which order as magnitudes do, a NaN above infinity; n 0: 0. */
typedef uint32_t drovek_largest_f32_fn(const float *x, size_t n);
/* to = factor from */
typedef void drovek_widen_i16_f32_fn(float *to, const int16_t *from, size_t n, float factor);
/* x[0] ^ x[1] ^ ... ^ x[n - 1]: reads only, to measure memory bandwidth; x 8-byte aligned. */
typedef uint64_t drovek_xor_u64_fn(const uint64_t *x, size_t n);
/* Loading data: to[i] = (from[i] - shift[i]) * factor[i]; shift and factor of length n, or both
 * NULL: plain widening. */
typedef void drovek_widen_u8_f32_fn(float *to, const uint8_t *from, const float *shift,
                                    const float *factor, size_t n);
typedef void drovek_affine_f32_fn(float *to, const float *from, const float *shift,
                                  const float *factor, size_t n);

/* ---- parameters in bf16: words of 16 bits, the upper halves of singles (kernel/bf16.h) ---- */

/* to = from [racy: from] */
typedef void drovek_widen_bf16_fn(float *to, const uint16_t *from, size_t n);
/* w = the upper half of (w - eta g) + r, which is added to the bits of the single: random words r,
 * 32 of each block of bits, round it up or down such that its mean is w - eta g, 0x8000 rounds to
 * the nearest.  What is not finite stays so.  [racy: w] */
typedef void drovek_sgd_bf16_fn(uint16_t *w, const float *g, size_t n, float eta,
                                drovek_bits *bits);

/* ---- update rules (optim/rules.c names their equations) ---- */

/* out may be in, and the same for state. [racy: all but g]   sgd: out = in - eta g */
typedef void drovek_sgd_f32_fn(float *out, const float *in, const float *g, size_t n, float eta);
typedef void drovek_momentum_f32_fn(float *out, const float *in, float *v_out, const float *v_in,
                                    const float *g, size_t n, float eta, float mu);
typedef void drovek_adagrad_f32_fn(float *out, const float *in, float *a_out, const float *a_in,
                                   const float *g, size_t n, float eta, float epsilon);
typedef void drovek_rmsprop_f32_fn(float *out, const float *in, float *a_out, const float *a_in,
                                   const float *g, size_t n, float eta, float beta, float epsilon);
typedef void drovek_adam_f32_fn(float *out, const float *in, float *m1_out, const float *m1_in,
                                float *m2_out, const float *m2_in, const float *g, size_t n,
                                float eta, float beta1, float beta2, float correction1,
                                float correction2, float epsilon);

/* What multiplies factors: the slots that have a version for bf16 (kernel/bf16.h) as well. */
#define DROVEK_FACTOR_LIST(X)                                                                      \
    X(gemm) X(matvec) X(matvec_t) X(ger) X(outer) X(spmatvec) X(spger) X(spouter)

/* What factors are rounded to; or what the caller promises that they are, so that products of
 * narrower numbers give what those of singles would: integers of 8 or 16 bits, each array's times a
 * power of two; I8_I16: of the two factors of a product one has 8. */
typedef enum drovek_factors {
    DROVEK_FACTORS_F32,
    DROVEK_FACTORS_BF16,
    DROVEK_FACTORS_I8,
    DROVEK_FACTORS_I16,
    DROVEK_FACTORS_I8_I16
} drovek_factors;

typedef struct drovek_products {
#define X(k) drovek_##k##_f32_fn *k; /* NULL in a tier's own table: the slower tier's version */
    DROVEK_FACTOR_LIST(X)
#undef X
    const char              *source; /* "drove avx512_bf16": as gemm_source */
    const drovek_strips_ops *strips; /* packed factors (strips.h); NULL: no gain */
} drovek_products;

/* One line here = slot, selection, test and benchmark. */
/* clang-format off */
#define DROVEK_LIST(X)                                                                             \
    X(gemm_f32) X(matvec_f32) X(matvec_t_f32) X(ger_f32) X(outer_f32) X(spmatvec_f32) X(spger_f32) \
    X(spouter_f32) X(bias_act_f32) X(act_grad_f32) X(act_f32) X(act_back_f32) X(cos_f32)           \
    X(softmax_f32) X(copy_f32) X(axpy_f32) X(scale_f32) X(blend_f32) X(add_f32) X(dot_f32)         \
    X(finite_f32) X(largest_f32) X(widen_i16_f32) X(xor_u64) X(widen_u8_f32) X(affine_f32)         \
    X(sgd_f32) X(momentum_f32) X(adagrad_f32) X(rmsprop_f32) X(adam_f32)                           \
    X(widen_bf16) X(sgd_bf16) X(windows_f32) DROVEK_IMAGE_LIST(X) DROVEK_EXCHANGE_LIST(X)
/* clang-format on */

typedef struct drovek_table {
    const char *isa;   /* "ref", "avx2", "avx512", "neon" ...: name in logs, results and tests */
    uint32_t    needs; /* DROVE_CPU_* bits, all required                                       */
#define X(k) drovek_##k##_fn *k; /* NULL in a tier's own table: keep the slower tier's version  */
    DROVEK_LIST(X)
#undef X
    const drovek_images *images; /* a tier's own slots of image.h, all filled; NULL: none */
    const char *gemm_source;  /* "plain C", "drove; large: oneDNN 2.6.3 avx512_core" ...         */
    drovek_products     bf16; /* in a chosen table every slot is filled */
    drovek_gemm_f32_fn *gemm_i8, *gemm_i16; /* for factors that are integers; NULL: gemm_f32    */
    const drovek_words_ops *words; /* NULL: widening them first is as fast; else used with bf16 */
    drovek_factors factors; /* what the slots above round their factors to: drovek_narrow      */
    /* Arrays of integers kept as bytes; NULL: floats are faster.  In a table narrowed to integers
     * `planes` is what layers use, elsewhere NULL. */
    const drovek_planes_ops *integers, *planes;
    const drovek_strips_ops *strips; /* bf16.strips, in a table narrowed to bf16; else NULL */
    /* A tier's own slots of kernel/linear.h, in two parts (NULL: none) ... */
    const drovek_linear *linear_dense, *linear_sparse;
    drovek_linear        linear; /* ... and, in a chosen table, the choice: every slot filled   */
} drovek_table;

/* Fills *out with the best version of each kernel that the features `have` allow, up to the tier
 * called `cap` (NULL: no limit).  cap "ref" also bypasses every library; a lower cap limits the
 * library too (the library accepts this once per process, before its first product).
 * Errors: DROVE_E_ARG (cap is not a tier's name: the text lists them), DROVE_E_UNSUPPORTED (the
 * processor cannot run that tier). */
drove_status drovek_select(drovek_table *out, uint32_t have, const char *cap);

/* Out of a chosen table the one whose products round their factors, or may take them to be
 * integers; no other slot differs.  Where singles are the fastest for integers, the same table. */
drovek_table drovek_narrow(const drovek_table *chosen, drovek_factors factors);

/* Names of the tiers compiled in, slowest first; NULL-terminated. */
const char *const *drovek_tiers(void);

/* Every thread of ours calls it once before it uses the table: denormal numbers count as zero
 * (base/denormals.h), and a library's threading is off.  Not for a caller's thread. */
void drovek_thread_init(void);

/* The same in a thread of the caller's, from borrow until give_back. */
typedef struct drovek_thread {
    uint64_t denormals;
    int      n_library_threads;
} drovek_thread;
drovek_thread drovek_thread_borrow(void);
void          drovek_thread_give_back(drovek_thread before);

#endif
