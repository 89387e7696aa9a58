/* kernel/lanes/gemm.h - C[m][n] = alpha op(A) op(B) + beta C, vectorised, for the products of a
 * training step: one dimension is a batch of examples, another a layer of some hundred units.
 *
 * C is cut into panels PANEL registers wide and tiles of a few rows, whose sums stay in registers
 * while k runs.  Elements of op(A) are broadcast; rows of op(B) stream from the second-level cache
 * in place, asked for ahead where a tile has too few sums to hide the cache's latency.  op(B) is
 * copied only if it is transposed, or if its rows are so far apart that they share a few cache
 * sets.  Rows of op(A) are taken in blocks that the second-level cache holds.  Of a transposed A a
 * tile reads a few columns, a cache line of every row: where the rows are far apart, k is cut into
 * short blocks, and the next block's rows are fetched ahead.  A few rows times a transposed B are
 * sums along k instead (dots).
 *
 * The order of the sums depends on the shape alone, so neither the calling thread nor the alignment
 * changes a bit.  A, B and C may be shared with running threads: all accesses are inline assembly;
 * each element of C is stored once per block of k.
 *
 * docs/results/limits.md compares it with oneDNN by product: it is at least about as fast for the
 * shapes of is_small, for larger ones the library's blocking is better.
 */
#ifndef DROVEK_LANES_GEMM_H
#define DROVEK_LANES_GEMM_H

#include "base/racy.h"
#include "kernel/kernel.h"
#include "kernel/lanes/panel.h"

enum {
    PACK_K = LANES == 16 ? 256 : 400, /* rows of a packed panel: 64 KiB of stack at most          */
    FAR = 8 * PANEL * LANES,          /* elements between rows of B from which they are packed,   */
    MANY_ROWS = LANES == 8 ? 64 : 256, /* for this many rows of op(A)                             */
    B_AHEAD = LANES == 8 ? 6 : 0,   /* rows of B that a tile asks for ahead                     */
    MAX_K = 1024,                   /* rows of a panel that is not packed                       */
    FAR_A = 512,                    /* elements between rows of a transposed A, from which ...  */
    FAR_K = LANES == 16 ? 256 : 64, /* ... a tile reads no more rows of it, and ...             */
    NEAR_K = 256,                   /* ... below which no more than these                       */
    BLOCK_A = 1 << 16,              /* elements of A, half of a second-level cache of 512 KiB,  */
                                    /* that all panels take before the next                     */
    FEW_ROWS = 8,                   /* of op(A), up to which a transposed B is not packed,      */
    LONG = 4 * LANES                /* if k is at least this                                    */
};

_Static_assert((int)FAR_K >= (int)DROVEK_STEP_K, "a step of that many examples has one block");

/* ---- tiles ---- */

/* `rows` rows of the panel from row i; rows and n_vec are constants, rows * n_vec <= N_SUMS. */
INLINE void tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    const float *a[4], *b = t->b;
    size_t       step[4];
    lane_mask    mask = first(t->last);
    const bool   is_full = t->last == LANES;
    vec          sum[N_SUMS], part[PANEL];
    tile_rows(t, i, rows, a, step);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) sum[s] = vec_set(0.0f);
    memory_written();
    for (size_t s = 0;;) {
        for (size_t p = t->k; p > 0; p--, b += t->b_step) {
            if (B_AHEAD > 0) __builtin_prefetch(b + B_AHEAD * t->b_step);
            UNROLL
            for (size_t v = 0; v + 1 < n_vec; v++) part[v] = racy_load(b + v * LANES, LANES);
            part[n_vec - 1] = is_full ? racy_load(b + (n_vec - 1) * LANES, LANES)
                                      : racy_load_masked(b + (n_vec - 1) * LANES, mask);
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                vec x = vec_broadcast(a[r / 4], step[r % 4]);
                UNROLL
                for (size_t v = 0; v < n_vec; v++)
                    sum[r * n_vec + v] = vec_fma(x, part[v], sum[r * n_vec + v]);
            }
            UNROLL
            for (size_t q = 0; q < 4; q++) a[q] += t->k_step;
        }
        if (++s == t->n_segments) break;
        b += t->b_jump;
        UNROLL
        for (size_t q = 0; q < 4; q++) a[q] += t->a_jump;
    }
    finish_tile(t, t->c + i * t->c_step, sum, rows, n_vec);
}

static void run_panel(const panel *t, size_t n_vec)
{
    run_tiles(t, n_vec, tile);
}

/* ---- copies of op(B) ---- */

typedef float packed_panel[PACK_K][PANEL * LANES];

/* to[p][j] = b[j * step + p]: n <= PANEL * LANES columns, n_k <= PACK_K rows; further columns 0 */
static void pack_transposed(packed_panel to, const float *b, size_t step, size_t n, size_t n_k)
{
    for (size_t j = 0; j < n; j += LANES) {
        for (size_t p = 0; p < n_k; p += LANES) {
            size_t rows = n_k - p < LANES ? n_k - p : LANES;
            vec    part[LANES];
            UNROLL
            for (size_t q = 0; q < LANES; q++) {
                part[q] = vec_set(0.0f);
                if (j + q < n) part[q] = racy_load(b + (j + q) * step + p, rows);
            }
            vec_transpose(part);
            if (rows == LANES) {
                UNROLL
                for (size_t q = 0; q < LANES; q++) vec_store(&to[p + q][j], part[q], LANES);
            } else {
                for (size_t q = 0; q < rows; q++) vec_store(&to[p + q][j], part[q], LANES);
            }
        }
    }
}

/* to[p][j] = b[p * step + j], further columns 0 */
static void pack_straight(packed_panel to, const float *b, size_t step, size_t n, size_t n_k)
{
    for (size_t p = 0; p < n_k; p++) {
        for (size_t j = 0; j < n; j += LANES)
            vec_store(&to[p][j], racy_load(b + p * step + j, lanes_left(j, n)), LANES);
    }
}

/* ---- sums along k: op(A) = A with few rows, op(B) transposed ---- */

typedef struct dots {
    size_t       n, k, lda, ldb, ldc;
    float        alpha, beta;
    const float *a, *b; /* a[i][k] b[j][k] */
    float       *c;
    size_t       n_segments;           /* passes over k; each pass starts ...   */
    size_t       a_segment, b_segment; /* ... this far after the start of the last */
} dots;

/* sum[r * n_cols + s] += a[r] b[s], `count` elements, those of b at p */
INLINE void dot_step(vec *sum, const dots *t, const float *a, const float *const *b, size_t n_rows,
                     size_t p, size_t count)
{
    const size_t n_cols = LANES / n_rows;
    vec          x[4];
    UNROLL
    for (size_t r = 0; r < n_rows; r++) x[r] = racy_load(a + r * t->lda, count);
    UNROLL
    for (size_t s = 0; s < n_cols; s++) {
        vec part = racy_load(b[s] + p, count);
        UNROLL
        for (size_t r = 0; r < n_rows; r++)
            sum[r * n_cols + s] = vec_fma(x[r], part, sum[r * n_cols + s]);
    }
}

/* The next n_rows rows (a constant) times the columns from j whose sums fill one register. */
INLINE void dot_tile(const dots *t, size_t i, size_t j, size_t n_rows)
{
    const size_t n_cols = LANES / n_rows;
    const float *a = t->a + i * t->lda, *b[LANES];
    vec          sum[LANES];
    float        total[LANES];
    UNROLL
    for (size_t s = 0; s < n_cols; s++) b[s] = t->b + (j + s < t->n ? j + s : t->n - 1) * t->ldb;
    UNROLL
    for (size_t s = 0; s < LANES; s++) sum[s] = vec_set(0.0f);
    for (size_t s = 0; s < t->n_segments; s++, a += t->a_segment) {
        size_t p = 0, first = s * t->b_segment;
        for (; p + LANES <= t->k; p += LANES) dot_step(sum, t, a + p, b, n_rows, first + p, LANES);
        if (p < t->k) dot_step(sum, t, a + p, b, n_rows, first + p, t->k - p);
    }
    vec_store(total, vec_mul(vec_set(t->alpha), vec_sum_rows(sum)), LANES);
    for (size_t r = 0; r < n_rows; r++) {
        float *c = t->c + (i + r) * t->ldc;
        for (size_t s = 0; s < n_cols && j + s < t->n; s++) {
            float before = t->beta == 0.0f ? 0.0f : t->beta * drove__racy_load(c + j + s);
            drove__racy_store(c + j + s, total[r * n_cols + s] + before);
        }
    }
}

INLINE void dot_rows(const dots *t, size_t i, size_t n_rows)
{
    for (size_t j = 0; j < t->n; j += LANES / n_rows) dot_tile(t, i, j, n_rows);
}

static void multiply_dots(const dots *t, size_t m)
{
    size_t i = 0;
    for (; i + 4 <= m; i += 4) dot_rows(t, i, 4);
    if (i + 2 <= m) {
        dot_rows(t, i, 2);
        i += 2;
    }
    if (i < m) dot_rows(t, i, 1);
}

/* ---- the product ---- */

/* Shapes for which this file is at least as fast as the library, for any m. */
INLINE bool is_small(bool trans_a, size_t n, size_t k)
{
    return n <= 512 && k <= (!trans_a ? 1024 : LANES == 16 ? 512 : 4096);
}

/* Rows of op(B) in a block: as even as can be, so that C is read and written few times. */
INLINE size_t block_of(size_t k, bool is_packed, bool trans_a, size_t lda)
{
    const size_t most = trans_a ? (lda >= FAR_A ? FAR_K : NEAR_K) : is_packed ? PACK_K : MAX_K;
    const size_t n_blocks = (k + most - 1) / most;
    return n_blocks > 1 ? (k + n_blocks - 1) / n_blocks : k;
}

static void gemm_f32(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                     const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                     size_t ldc)
{
    if (!trans_a && trans_b && m <= FEW_ROWS && k >= LONG) {
        dots t = {n, k, lda, ldb, ldc, alpha, beta, a, b, c, 1, 0, 0};
        multiply_dots(&t, m);
        return;
    }
    /* 8 rows on three registers across are faster than 6 + 2 rows on four */
    const size_t width = (m == 8 && PANEL == 4 ? 3 : PANEL) * LANES;
    const bool   is_packed = trans_b || (ldb >= FAR && m >= MANY_ROWS);
    const size_t block_k = block_of(k, is_packed, trans_a, lda);
    const size_t n_rows = block_k > 0 && BLOCK_A / block_k > 12 ? BLOCK_A / block_k / 12 * 12 : 12;
    const size_t n_ahead = block_k * width / (n + width) + 1; /* so all panels fetch a block */
    packed_panel packed;
    size_t       k0 = 0;
    do {
        for (size_t i = 0; i < m; i += n_rows) {
            panel t = {.m = m - i < n_rows ? m - i : n_rows,
                       .k = k - k0 < block_k ? k - k0 : block_k,
                       .alpha = alpha,
                       .beta = k0 == 0 ? beta : 1.0f,
                       .a = trans_a ? a + k0 * lda + i : a + i * lda + k0,
                       .row_step = trans_a ? 1 : lda,
                       .k_step = trans_a ? lda : 1,
                       .b_step = is_packed ? PANEL * LANES : ldb,
                       .c_step = ldc,
                       .n_segments = 1};
            for (size_t j = 0; j < n; j += width) {
                size_t n_j = n - j < width ? n - j : width;
                size_t n_vec = (n_j + LANES - 1) / LANES;
                t.last = n_j - (n_vec - 1) * LANES;
                t.c = c + i * ldc + j;
                t.b = is_packed ? packed[0] : b + k0 * ldb + j;
                if (trans_b) pack_transposed(packed, b + j * ldb + k0, ldb, n_j, t.k);
                else if (is_packed) pack_straight(packed, b + k0 * ldb + j, ldb, n_j, t.k);
                const size_t next = k0 + block_k + j / width * n_ahead;
                t.n_ahead = 0;
                if (FAR_K < NEAR_K && trans_a && lda >= FAR_A &&
                    next < k) { /* sixteen lanes do not gain */
                    t.ahead = a + next * lda + i;
                    t.n_ahead = k - next < n_ahead ? k - next : n_ahead;
                }
                run_panel(&t, n_vec);
            }
        }
        k0 += block_k;
    } while (k0 < k);
}

/* Sums along k: a few rows of A, and windows as the columns of B. */
static void windows_dots(const drovek_windows *w)
{
    dots t = {w->n, w->k, w->a_row, w->b_column,   w->c_row,     1.0f,        w->adds ? 1.0f : 0.0f,
              w->a, w->b, w->c,     w->n_segments, w->a_segment, w->b_segment};
    multiply_dots(&t, w->m);
}

static void windows_f32(const drovek_windows *w)
{
    if (w->b_column != 1) {
        windows_dots(w);
        return;
    }
    const size_t width = (w->m == 8 && PANEL == 4 ? 3 : PANEL) * LANES;
    panel        t = {.m = w->m,
                      .k = w->k,
                      .alpha = 1.0f,
                      .beta = w->adds ? 1.0f : 0.0f,
                      .a = w->a,
                      .row_step = w->a_row,
                      .k_step = w->a_step,
                      .b_step = w->b_step,
                      .c_step = w->c_row,
                      .n_segments = w->n_segments,
                      .a_jump = (ptrdiff_t)w->a_segment - (ptrdiff_t)(w->k * w->a_step),
                      .b_jump = (ptrdiff_t)w->b_segment - (ptrdiff_t)(w->k * w->b_step)};
    for (size_t j = 0; j < w->n; j += width) {
        size_t n_j = w->n - j < width ? w->n - j : width;
        size_t n_vec = (n_j + LANES - 1) / LANES;
        t.last = n_j - (n_vec - 1) * LANES;
        t.b = w->b + j;
        t.c = w->c + j;
        run_panel(&t, n_vec);
    }
}

#endif
