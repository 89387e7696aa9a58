/* kernel/x86/gemm_amx.h - C[m][n] = alpha op(A) op(B) + beta C with factors in bf16
 * (kernel/bf16.h), by the tile registers of AMX.
 *
 * One instruction multiplies a tile of op(A), 16 rows of 32 numbers, by one of op(B), 32 numbers by
 * 16 columns, and adds to a tile of 16 x 16 singles.  Both factors are rounded into strips: 16 rows
 * of op(A), or 16 columns of op(B), tile after tile along k.  Each tile is a kilobyte, as the
 * instruction loads it.  A word of 32 bits holds two neighbours along k.
 *
 * The longer side of C is walked two strips at a time (`moving`).  They, and the two strips of the
 * other side that they meet (`resident`), fit the first cache, and all resident strips the second.
 * Where the shorter side has at most 256 rows or columns, each number is rounded once.
 *
 * The order of the sums depends on the shape alone.  A, B and C may be shared with running threads:
 * they are read and written by inline assembly, C by way of a buffer; each element of C is stored
 * once per block of k.  Tile registers are configured and given back in every call, so that a
 * library that uses them as well meets no state of ours.
 */
#ifndef DROVEK_X86_GEMM_AMX_H
#define DROVEK_X86_GEMM_AMX_H

#include "base/racy.h"
#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

#include <stdalign.h>

enum {
    SIDE = 16, /* rows and columns of a tile, words across       */
    TILE_WORDS = SIDE * SIDE,
    TILE_K = 2 * SIDE, /* numbers along k in a tile of a factor          */
    N_TILES = 8,       /* of a strip: 256 numbers along k                */
    BLOCK_K = N_TILES * TILE_K,
    N_RESIDENT = 16, /* strips: 256 rows or columns, 128 KiB of stack  */
    N_MOVING = 2
};

/* Words of two bf16 numbers, which are singles to the compiler. */
typedef struct strip {
    alignas(64) float word[N_TILES][TILE_WORDS];
} strip;

typedef struct strips {
    strip resident[N_RESIDENT], moving[N_MOVING];
    alignas(64) float sum[2][2][TILE_WORDS]; /* tiles of C on their way */
} strips;

/* What LDTILECFG reads. */
typedef struct tile_config {
    uint8_t  palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t  rows[16];
} tile_config;

/* One factor: its strips are n_rows rows of op(A), or columns of op(B). */
typedef struct tile_factor {
    const float *x;
    size_t       step;
    size_t       n;     /* rows of op(A), or columns of op(B)                          */
    bool         along; /* k runs along the rows of x                                  */
    bool         turns; /* what is loaded has words of one k where the tile wants rows */
} tile_factor;

typedef struct tile_product {
    tile_factor a, b;
    size_t      k;
    float       alpha, beta;
    float      *c;
    size_t      ldc;
} tile_product;

/* ---- strips ---- */

/* part[q]: words of row q of the strip, k from p on; x is at the strip's first row. */
INLINE void load_along(vec part[SIDE], const float *x, size_t step, size_t n, size_t n_k)
{
    UNROLL
    for (size_t q = 0; q < SIDE; q++) {
        vec now = vec_set(0.0f), next = now;
        if (q < n) now = racy_load(x + q * step, n_k < LANES ? n_k : LANES);
        if (q < n && n_k > LANES)
            next = racy_load(x + q * step + LANES, n_k < TILE_K ? n_k - LANES : LANES);
        part[q] = vec_words(now, next);
    }
}

/* part[q]: words of the rows 2 q and 2 q + 1 of x, which are two steps along k. */
INLINE void load_across(vec part[SIDE], const float *x, size_t step, size_t n, size_t n_k)
{
    UNROLL
    for (size_t q = 0; q < SIDE; q++) {
        vec now = vec_set(0.0f), next = now;
        if (2 * q < n_k) now = racy_load(x + 2 * q * step, n);
        if (2 * q + 1 < n_k) next = racy_load(x + (2 * q + 1) * step, n);
        part[q] = vec_pairs(now, next);
    }
}

INLINE void fill_tile(float *to, const tile_factor *f, const float *x, size_t n, size_t n_k)
{
    vec part[SIDE];
    if (f->along) load_along(part, x, f->step, n, n_k);
    else load_across(part, x, f->step, n, n_k);
    if (f->turns) vec_transpose(part);
    UNROLL
    for (size_t q = 0; q < SIDE; q++) vec_store(to + q * SIDE, part[q], LANES);
}

/* Tile t of the strip from row or column `at` on; k0: its first number along k, of n_k. */
static void fill_one(strip *to, size_t t, const tile_factor *f, size_t at, size_t k0, size_t n_k)
{
    const size_t n = f->n - at < SIDE ? f->n - at : SIDE;
    const float *x = f->x + (f->along ? at * f->step + k0 : k0 * f->step + at);
    if (n == SIDE && n_k >= TILE_K) fill_tile(to->word[t], f, x, SIDE, TILE_K);
    else fill_tile(to->word[t], f, x, n, n_k);
}

/* The strips of the rows or columns [at, at + n), numbers [k0, k0 + n_k) along k; rows of x are
 * read from end to end as far as that goes. */
static void fill_strips(strip *to, const tile_factor *f, size_t at, size_t n, size_t k0, size_t n_k)
{
    if (f->along) {
        for (size_t j = 0; j < n; j += SIDE)
            for (size_t p = 0; p < n_k; p += TILE_K)
                fill_one(to + j / SIDE, p / TILE_K, f, at + j, k0 + p, n_k - p);
        return;
    }
    for (size_t p = 0; p < n_k; p += TILE_K)
        for (size_t j = 0; j < n; j += SIDE)
            fill_one(to + j / SIDE, p / TILE_K, f, at + j, k0 + p, n_k - p);
}

/* ---- tiles: 0 to 3 hold sums, 4 and 5 a, 6 and 7 b ---- */

static void configure(void)
{
    tile_config config = {.palette = 1};
    for (size_t t = 0; t < 8; t++) {
        config.row_bytes[t] = SIDE * sizeof(float);
        config.rows[t] = SIDE;
    }
    _tile_loadconfig(&config);
}

enum { ROW_BYTES = SIDE * sizeof(float) };

/* Two strips of either factor. */
INLINE void multiply_four(strips *s, const strip *a, const strip *b, size_t n_tiles)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t t = 0; t < n_tiles; t++) {
        _tile_loadd(4, a[0].word[t], ROW_BYTES);
        _tile_loadd(6, b[0].word[t], ROW_BYTES);
        _tile_loadd(7, b[1].word[t], ROW_BYTES);
        _tile_loadd(5, a[1].word[t], ROW_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, s->sum[0][0], ROW_BYTES);
    _tile_stored(1, s->sum[0][1], ROW_BYTES);
    _tile_stored(2, s->sum[1][0], ROW_BYTES);
    _tile_stored(3, s->sum[1][1], ROW_BYTES);
}

INLINE void multiply_one(float *sum, const strip *a, const strip *b, size_t n_tiles)
{
    _tile_zero(0);
    for (size_t t = 0; t < n_tiles; t++) {
        _tile_loadd(4, a->word[t], ROW_BYTES);
        _tile_loadd(6, b->word[t], ROW_BYTES);
        _tile_dpbf16ps(0, 4, 6);
    }
    _tile_stored(0, sum, ROW_BYTES);
}

/* C[m][n] = alpha sum + beta C of one tile, m and n at most SIDE. */
INLINE void finish_sums(float *c, size_t ldc, const float *sum, size_t m, size_t n, float alpha,
                        float beta)
{
    const vec by = vec_set(alpha), keep = vec_set(beta);
    for (size_t i = 0; i < m; i++, c += ldc, sum += SIDE) {
        vec out = vec_mul(by, vec_load(sum, LANES));
        if (beta != 0.0f) out = vec_fma(keep, racy_load(c, n), out);
        racy_store(c, out, n);
    }
}

static void finish_tiles(const tile_product *w, const strips *s, size_t i, size_t j, float beta)
{
    for (size_t u = 0; u < 2 && i + u * SIDE < w->a.n; u++) {
        for (size_t v = 0; v < 2 && j + v * SIDE < w->b.n; v++) {
            const size_t row = i + u * SIDE, column = j + v * SIDE;
            const size_t m = w->a.n - row < SIDE ? w->a.n - row : SIDE;
            const size_t n = w->b.n - column < SIDE ? w->b.n - column : SIDE;
            float       *c = w->c + row * w->ldc + column;
            if (n == SIDE) finish_sums(c, w->ldc, s->sum[u][v], m, SIDE, w->alpha, beta);
            else finish_sums(c, w->ldc, s->sum[u][v], m, n, w->alpha, beta);
        }
    }
}

/* ---- the product ---- */

/* The strips a and b of C at (i, j), up to two of either. */
INLINE void multiply_strips(const tile_product *w, strips *s, const strip *a, const strip *b,
                            size_t i, size_t j, size_t n_tiles, float beta)
{
    const bool two_rows = i + SIDE < w->a.n, two_columns = j + SIDE < w->b.n;
    memory_written();
    if (two_rows && two_columns) multiply_four(s, a, b, n_tiles);
    else {
        multiply_one(s->sum[0][0], a, b, n_tiles);
        if (two_rows) multiply_one(s->sum[1][0], a + 1, b, n_tiles);
        if (two_columns) multiply_one(s->sum[0][1], a, b + 1, n_tiles);
    }
    memory_written();
    finish_tiles(w, s, i, j, beta);
}

/* C += the terms [k0, k0 + n_k) of its sums, for `n` rows or columns of the resident side from
 * `first` on. */
static void add_terms(const tile_product *w, strips *s, bool rows_move, size_t first, size_t n,
                      size_t k0, size_t n_k)
{
    const tile_factor *stays = rows_move ? &w->b : &w->a, *moves = rows_move ? &w->a : &w->b;
    const float        beta = k0 == 0 ? w->beta : 1.0f;
    const size_t       n_tiles = (n_k + TILE_K - 1) / TILE_K;
    fill_strips(s->resident, stays, first, n, k0, n_k);
    for (size_t from = 0; from < moves->n; from += N_MOVING * SIDE) {
        const size_t here = moves->n - from < N_MOVING * SIDE ? moves->n - from : N_MOVING * SIDE;
        fill_strips(s->moving, moves, from, here, k0, n_k);
        for (size_t i = 0; i < here; i += 2 * SIDE) {
            for (size_t j = 0; j < n; j += 2 * SIDE) {
                const strip *u = &s->moving[i / SIDE], *v = &s->resident[j / SIDE];
                if (rows_move) multiply_strips(w, s, u, v, from + i, first + j, n_tiles, beta);
                else multiply_strips(w, s, v, u, first + j, from + i, n_tiles, beta);
            }
        }
    }
}

static void gemm_amx(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                     const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                     size_t ldc)
{
    const tile_product w = {.a = {a, lda, m, !trans_a, trans_a},
                            .b = {b, ldb, n, trans_b, trans_b},
                            .k = k,
                            .alpha = alpha,
                            .beta = beta,
                            .c = c,
                            .ldc = ldc};
    const bool         rows_move = m > n;
    const size_t       n_resident = rows_move ? n : m, most = N_RESIDENT * SIDE;
    const size_t       n_blocks = k > 0 ? (k + BLOCK_K - 1) / BLOCK_K : 1;
    const size_t       each = ((k + n_blocks - 1) / n_blocks + TILE_K - 1) / TILE_K * TILE_K;
    strips             s;
    configure();
    for (size_t first = 0; first < n_resident; first += most) {
        const size_t here = n_resident - first < most ? n_resident - first : most;
        size_t       k0 = 0;
        do {
            size_t n_k = k - k0 < each ? k - k0 : each;
            add_terms(&w, &s, rows_move, first, here, k0, n_k);
            k0 += n_k;
        } while (k0 < k);
    }
    _tile_release();
}

#endif
