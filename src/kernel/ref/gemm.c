/* kernel/ref/gemm.c - C = alpha op(A) op(B) + beta C in plain C, fast enough to train with.
 *
 * Each of the three matrices may belong to the shared parameters (a forward pass reads W, a fused
 * update adds into it), so their elements are accessed only through base/racy.h.  The arithmetic
 * runs on copies in BLOCK_K x BLOCK_N floats of stack, which the compiler can vectorise.
 *
 * Order of a sum: k ascending inside blocks of BLOCK_K; each block's sum times alpha is then added
 * to C.
 */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>

enum { BLOCK_K = 64, BLOCK_N = 64 }; /* 16 KiB of op(B): fits any first-level cache */

typedef struct matrix { /* op(data)[row][col] = data[row * row_step + col * col_step] */
    const float *data;
    size_t row_step, col_step;
} matrix;

static matrix matrix_view(const float *data, size_t stride, bool transposed)
{
    return transposed ? (matrix){data, 1, stride} : (matrix){data, stride, 1};
}

/* C = beta C, reading C only where beta is not 0. */
static void scale_rows(float *c, size_t ldc, size_t m, size_t n, float beta)
{
    if (beta == 1.0f) return;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float *at = c + i * ldc + j;
            drove__racy_store(at, beta == 0.0f ? 0.0f : beta * drove__racy_load(at));
        }
    }
}

static inline float factor_of(const float *at, bool is_bf16)
{
    float v = drove__racy_load(at);
    return is_bf16 ? drovek_bf16(v) : v;
}

/* part[BLOCK_K][BLOCK_N] = the block of op(B) at (k0, n0), n_k x n_n; the rest of each row is 0. */
static void copy_block(float part[BLOCK_K][BLOCK_N], matrix b, size_t k0, size_t n0, size_t n_k,
                       size_t n_n, bool is_bf16)
{
    for (size_t p = 0; p < n_k; p++) {
        const float *row = b.data + (k0 + p) * b.row_step + n0 * b.col_step;
        for (size_t j = 0; j < n_n; j++) part[p][j] = factor_of(row + j * b.col_step, is_bf16);
        for (size_t j = n_n; j < BLOCK_N; j++) part[p][j] = 0.0f;
    }
}

/* c[n_n] += alpha * (row of op(A), n_k elements from a, col_step apart) x part */
static void row_times_block(float *c, const float *a, size_t col_step, float part[BLOCK_K][BLOCK_N],
                            size_t n_k, size_t n_n, float alpha, bool is_bf16)
{
    float sum[BLOCK_N] = {0.0f};
    for (size_t p = 0; p < n_k; p++) {
        float factor = factor_of(a + p * col_step, is_bf16);
        for (size_t j = 0; j < BLOCK_N; j++) sum[j] += factor * part[p][j];
    }
    for (size_t j = 0; j < n_n; j++) {
        const float before = drove__racy_load(c + j); /* rounded once, as sgd_f32 is */
        drove__racy_store(c + j, alpha == 1.0f ? before + sum[j] : fmaf(alpha, sum[j], before));
    }
}

static void multiply(bool is_bf16, bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                     float alpha, const float *a, size_t lda, const float *b, size_t ldb,
                     float beta, float *c, size_t ldc)
{
    matrix op_a = matrix_view(a, lda, trans_a);
    matrix op_b = matrix_view(b, ldb, trans_b);
    float part[BLOCK_K][BLOCK_N];

    scale_rows(c, ldc, m, n, beta);
    for (size_t k0 = 0; k0 < k; k0 += BLOCK_K) {
        size_t n_k = k - k0 < BLOCK_K ? k - k0 : BLOCK_K;
        for (size_t n0 = 0; n0 < n; n0 += BLOCK_N) {
            size_t n_n = n - n0 < BLOCK_N ? n - n0 : BLOCK_N;
            copy_block(part, op_b, k0, n0, n_k, n_n, is_bf16);
            for (size_t i = 0; i < m; i++) {
                const float *a_row = op_a.data + i * op_a.row_step + k0 * op_a.col_step;
                row_times_block(c + i * ldc + n0, a_row, op_a.col_step, part, n_k, n_n, alpha,
                                is_bf16);
            }
        }
    }
}

void drovek_gemm_f32_ref(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                         const float *a, size_t lda, const float *b, size_t ldb, float beta,
                         float *c, size_t ldc)
{
    multiply(false, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void drovek_gemm_bf16_ref(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                          const float *a, size_t lda, const float *b, size_t ldb, float beta,
                          float *c, size_t ldc)
{
    multiply(true, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void drovek_windows_f32_ref(const drovek_windows *t)
{
    for (size_t i = 0; i < t->m; i++) {
        for (size_t j = 0; j < t->n; j++) {
            float *at = t->c + i * t->c_row + j, sum = t->adds ? drove__racy_load(at) : 0.0f;
            for (size_t s = 0; s < t->n_segments; s++) {
                const float *a = t->a + i * t->a_row + s * t->a_segment;
                const float *b = t->b + s * t->b_segment + j * t->b_column;
                for (size_t p = 0; p < t->k; p++)
                    sum +=
                        drove__racy_load(a + p * t->a_step) * drove__racy_load(b + p * t->b_step);
            }
            drove__racy_store(at, sum);
        }
    }
}
