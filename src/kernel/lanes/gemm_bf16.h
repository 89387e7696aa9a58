/* kernel/lanes/gemm_bf16.h - C[m][n] = alpha op(A) op(B) + beta C with factors in bf16
 * (kernel/bf16.h), vectorised.
 *
 * Both factors are rounded into copies whose words of 32 bits hold two neighbours along k: what an
 * instruction for bf16 multiplies and adds in one go (vec_dot_pairs), and half the memory of
 * singles.  Without such an instruction the two halves are widened in registers: the same sums but
 * for their order, at the cost of two more operations for each word.
 *
 * C is cut as in gemm.h.  N_PANELS panels of op(B) are copied once, and a block of BLOCK_ROWS rows
 * of op(A) once for all of these.  So a product of few rows costs little more than the copy of
 * op(B): at 32 rows about a tenth of its time is that copy (by count of instructions with
 * AVX512_BF16).
 *
 * The order of the sums depends on the shape alone.  A, B and C may be shared with running threads:
 * they are read and written by inline assembly; each element of C is stored once per block of k.
 */
#ifndef DROVEK_LANES_GEMM_BF16_H
#define DROVEK_LANES_GEMM_BF16_H

#include "base/racy.h"
#include "kernel/lanes/panel.h"

enum {
    BLOCK_PAIRS = 128, /* pairs along k in a block of either factor */
    BLOCK_ROWS = 96,   /* of op(A): 48 KiB of stack                 */
    BLOCK_COLS = PANEL * LANES,
    N_PANELS = 4 /* of op(B): 128 KiB of stack, or 32 */
};

/* Words of two bf16 numbers, which are singles to the compiler. */
typedef struct factor_blocks {
    float a[BLOCK_ROWS * BLOCK_PAIRS];           /* [row][pair]; of a transposed A [pair][row] */
    float b[N_PANELS][BLOCK_PAIRS * BLOCK_COLS]; /* [pair][column] of each panel               */
} factor_blocks;

/* ---- copies ---- */

/* to[pair * to_step + j] for j < n, pairs of the rows 2 pair and 2 pair + 1 of x[n_k][step]; whole
 * registers, the rest 0. */
INLINE void pair_rows(float *to, size_t to_step, const float *x, size_t step, size_t n, size_t n_k)
{
    for (size_t p = 0; p < n_k; p += 2, to += to_step) {
        const float *row = x + p * step;
        for (size_t j = 0; j < n; j += LANES) {
            size_t count = lanes_left(j, n);
            vec    next = vec_set(0.0f), now = racy_load(row + j, count);
            if (p + 1 < n_k) next = racy_load(row + step + j, count);
            vec_store(to + j, vec_pairs(now, next), LANES);
        }
    }
}

/* The next LANES pairs of x[n], n > 0: numbers that are not there are 0. */
INLINE vec pairs_along(const float *x, size_t n)
{
    vec first_half = racy_load(x, n < LANES ? n : LANES), second = vec_set(0.0f);
    if (n > LANES) second = racy_load(x + LANES, n < 2 * LANES ? n - LANES : LANES);
    return vec_words(first_half, second);
}

/* a[row][pair] of x[m][step], n_k columns */
static void pair_columns(float *a, const float *x, size_t step, size_t m, size_t n_k)
{
    for (size_t i = 0; i < m; i++, a += BLOCK_PAIRS, x += step) {
        for (size_t p = 0; p < n_k; p += 2 * LANES)
            vec_store(a + p / 2, pairs_along(x + p, n_k - p), LANES);
    }
}

/* b[pair][j] of x[n][step], n_k columns */
static void pair_columns_transposed(float *b, const float *x, size_t step, size_t n, size_t n_k)
{
    for (size_t j = 0; j < n; j += LANES) {
        for (size_t p = 0; p < n_k; p += 2 * LANES) {
            vec part[LANES];
            UNROLL
            for (size_t q = 0; q < LANES; q++) {
                part[q] = vec_set(0.0f);
                if (j + q < n) part[q] = pairs_along(x + (j + q) * step + p, n_k - p);
            }
            vec_transpose(part);
            UNROLL
            for (size_t q = 0; q < LANES; q++)
                vec_store(b + (p / 2 + q) * BLOCK_COLS + j, part[q], LANES);
        }
    }
}

/* ---- tiles ---- */

/* sum[r][v] += x[r] b[v] for one pair of each; without vec_dot_pairs the low halves come first. */
INLINE void add_pairs(vec *sum, const float *const *a, const size_t *step, const float *b,
                      size_t rows, size_t n_vec)
{
    vec part[PANEL];
    if (HAS_DOT_PAIRS) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) part[v] = vec_load(b + v * LANES, LANES);
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            vec x = vec_broadcast(a[r / 4], step[r % 4]);
            UNROLL
            for (size_t v = 0; v < n_vec; v++)
                sum[r * n_vec + v] = vec_dot_pairs(sum[r * n_vec + v], x, part[v]);
        }
        return;
    }
    UNROLL
    for (size_t half = 0; half < 2; half++) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            vec both = vec_load(b + v * LANES, LANES);
            part[v] = half == 0 ? vec_low_word(both) : vec_high_word(both);
        }
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            vec both = vec_broadcast(a[r / 4], step[r % 4]);
            vec x = half == 0 ? vec_low_word(both) : vec_high_word(both);
            UNROLL
            for (size_t v = 0; v < n_vec; v++)
                sum[r * n_vec + v] = vec_fma(x, part[v], sum[r * n_vec + v]);
        }
    }
}

/* `rows` rows of the panel from row i; rows and n_vec are constants, rows * n_vec <= N_SUMS.
 * t->k counts pairs, and the steps words. */
INLINE void pair_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    const float *a[4], *b = t->b;
    size_t       step[4];
    vec          sum[N_SUMS];
    tile_rows(t, i, rows, a, step);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) sum[s] = vec_set(0.0f);
    memory_written();
    for (size_t p = 0; p < t->k; p++, b += t->b_step) {
        add_pairs(sum, a, step, b, rows, n_vec);
        UNROLL
        for (size_t q = 0; q < 4; q++) a[q] += t->k_step;
    }
    finish_tile(t, t->c + i * t->c_step, sum, rows, n_vec);
}

static void run_pair_panel(const panel *t, size_t n_vec)
{
    run_tiles(t, n_vec, pair_tile);
}

/* ---- the product ---- */

typedef struct bf16_product {
    bool         trans_a, trans_b;
    size_t       m, n, k;
    float        alpha, beta;
    const float *a, *b;
    size_t       lda, ldb, ldc;
    float       *c;
} bf16_product;

/* Rows [i0, i0 + m), columns [j0, j0 + n) of C += the terms [k0, k0 + n_k) of their sums. */
static void add_block(const bf16_product *w, factor_blocks *f, size_t i0, size_t m, size_t j0,
                      size_t n, size_t k0, size_t n_k)
{
    panel t = {.m = m,
               .k = (n_k + 1) / 2,
               .alpha = w->alpha,
               .beta = k0 == 0 ? w->beta : 1.0f,
               .a = f->a,
               .row_step = w->trans_a ? 1 : BLOCK_PAIRS,
               .k_step = w->trans_a ? BLOCK_ROWS : 1,
               .b_step = BLOCK_COLS,
               .c_step = w->ldc,
               .n_segments = 1};
    if (w->trans_a) pair_rows(f->a, BLOCK_ROWS, w->a + k0 * w->lda + i0, w->lda, m, n_k);
    else pair_columns(f->a, w->a + i0 * w->lda + k0, w->lda, m, n_k);
    for (size_t j = 0; j < n; j += BLOCK_COLS) {
        size_t n_j = n - j < BLOCK_COLS ? n - j : BLOCK_COLS;
        size_t n_vec = (n_j + LANES - 1) / LANES;
        t.b = f->b[j / BLOCK_COLS];
        t.last = n_j - (n_vec - 1) * LANES;
        t.c = w->c + i0 * w->ldc + j0 + j;
        run_pair_panel(&t, n_vec);
    }
}

/* Columns [j0, j0 + n) of C += the terms [k0, k0 + n_k) of their sums. */
static void add_columns(const bf16_product *w, factor_blocks *f, size_t j0, size_t n, size_t k0,
                        size_t n_k)
{
    for (size_t j = 0; j < n; j += BLOCK_COLS) {
        float       *to = f->b[j / BLOCK_COLS];
        const size_t n_j = n - j < BLOCK_COLS ? n - j : BLOCK_COLS, at = j0 + j;
        if (w->trans_b) pair_columns_transposed(to, w->b + at * w->ldb + k0, w->ldb, n_j, n_k);
        else pair_rows(to, BLOCK_COLS, w->b + k0 * w->ldb + at, w->ldb, n_j, n_k);
    }
    for (size_t i = 0; i < w->m; i += BLOCK_ROWS)
        add_block(w, f, i, w->m - i < BLOCK_ROWS ? w->m - i : BLOCK_ROWS, j0, n, k0, n_k);
}

static void gemm_bf16(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                      const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                      size_t ldc)
{
    const bf16_product w = {trans_a, trans_b, m, n, k, alpha, beta, a, b, lda, ldb, ldc, c};
    const size_t       most = N_PANELS * BLOCK_COLS;
    factor_blocks      f;
    for (size_t j = 0; j < n; j += most) {
        size_t k0 = 0;
        do {
            size_t n_k = k - k0 < 2 * BLOCK_PAIRS ? k - k0 : 2 * BLOCK_PAIRS;
            add_columns(&w, &f, j, n - j < most ? n - j : most, k0, n_k);
            k0 += n_k;
        } while (k0 < k);
    }
}

#endif
