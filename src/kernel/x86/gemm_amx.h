/* kernel/x86/gemm_amx.h - C[m][n] = alpha op(A) op(B) + beta C with factors in bf16
 * (kernel/bf16.h), or of 16-bit integers times a power of two, by the tile registers of AMX.
 *
 * One instruction multiplies a tile of op(A), 16 rows of 32 numbers, by one of op(B), 32 numbers by
 * 16 columns, and adds to a tile of 16 x 16 singles.  Both factors are rounded into strips: 16 rows
 * of op(A), or 16 columns of op(B), tile after tile along k.  Each tile is a kilobyte, as the
 * instruction loads it.  A word of 32 bits holds two neighbours along k.
 *
 * A 16-bit integer is the sum of two numbers of bf16, its nearest one and the rest: two parts, each
 * with strips of its own, and four products of parts for each number.  Integers of 8 bits are
 * numbers of bf16 as they are.
 *
 * The longer side of C is walked two strips at a time (`moving`).  They, and the two strips of the
 * other side that they meet (`resident`), fit the first cache, and all resident strips the second.
 * Where the shorter side has at most 256 rows or columns, each number is rounded once.
 *
 * A factor may be a matrix of words of bf16, which are copied as they are, and C one whose step
 * the product is (kernel/words.h).
 *
 * The order of the sums depends on the shape alone.  A, B and C may be shared with running threads:
 * they are read and written by inline assembly, C by way of a buffer; each element of C is stored
 * once per block of k.  Tile registers are configured and given back in every call, so that a
 * library that uses them as well meets no state of ours.
 */
#ifndef DROVEK_X86_GEMM_AMX_H
#define DROVEK_X86_GEMM_AMX_H

#include "base/mem.h"
#include "base/racy.h"
#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"
#include "kernel/lanes/words.h"

#include <stdalign.h>

enum {
    SIDE = 16, /* rows and columns of a tile, words across       */
    TILE_WORDS = SIDE * SIDE,
    TILE_K = 2 * SIDE, /* numbers along k in a tile of a factor          */
    N_TILES = 8,       /* of a strip: 256 numbers along k                */
    BLOCK_K = N_TILES * TILE_K,
    N_RESIDENT = 16, /* strips: 256 rows or columns, 128 KiB of stack  */
    N_MOVING = 2,
    MOST_PARTS = 2
};

/* Words of two bf16 numbers, which are singles to the compiler. */
typedef struct strip {
    alignas(64) float word[N_TILES][TILE_WORDS];
} strip;

/* Of each part resident / n_parts and N_MOVING strips, one part after the other. */
typedef struct strips {
    strip resident[N_RESIDENT], moving[MOST_PARTS * N_MOVING];
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
    const float    *x;
    const uint16_t *words; /* of op(B), in the place of x; NULL: x */
    size_t          step;
    size_t          n;     /* rows of op(A), or columns of op(B)                          */
    bool            along; /* k runs along the rows of x                                  */
    bool            turns; /* what is loaded has words of one k where the tile wants rows */
} tile_factor;

typedef struct tile_product {
    tile_factor a, b;
    size_t      k;
    float       alpha, beta;
    float      *c;
    size_t      ldc;
    bool        rows_move; /* else the columns do */
    /* C in words, if not NULL; beta is 1, alpha -eta */
    uint16_t           *words;
    const drovek_draws *draws;
} tile_product;

/* ---- strips ---- */

/* What the part says of v: the rounding to bf16 is still to come. */
INLINE vec part_of(vec v, size_t part)
{
    return part == 0 ? v : vec_sub(v, vec_bf16(v));
}

/* words[q]: of row q of the strip, k from p on; x is at the strip's first row. */
INLINE void load_along(vec words[SIDE], const float *x, size_t step, size_t n, size_t n_k,
                       size_t part)
{
    UNROLL
    for (size_t q = 0; q < SIDE; q++) {
        vec now = vec_set(0.0f), next = now;
        if (q < n) now = racy_load(x + q * step, n_k < LANES ? n_k : LANES);
        if (q < n && n_k > LANES)
            next = racy_load(x + q * step + LANES, n_k < TILE_K ? n_k - LANES : LANES);
        words[q] = vec_words(part_of(now, part), part_of(next, part));
    }
}

/* words[q]: of the rows 2 q and 2 q + 1 of x, which are two steps along k. */
INLINE void load_across(vec words[SIDE], const float *x, size_t step, size_t n, size_t n_k,
                        size_t part)
{
    UNROLL
    for (size_t q = 0; q < SIDE; q++) {
        vec now = vec_set(0.0f), next = now;
        if (2 * q < n_k) now = racy_load(x + 2 * q * step, n);
        if (2 * q + 1 < n_k) next = racy_load(x + (2 * q + 1) * step, n);
        words[q] = vec_pairs(part_of(now, part), part_of(next, part));
    }
}

/* ---- the same of words, which are all there (kernel/words.h) ---- */

/* 32 words.  [racy] */
INLINE __m512i words_line(const uint16_t *x)
{
    typedef uint16_t line[TILE_K];
    __m512i          v;
    __asm__ volatile("vmovdqu64 %1, %0" : "=v"(v) : "m"(*(const line *)x));
    return v;
}

/* A tile from n rows, along which k runs. */
static void take_tile(float *to, const uint16_t *x, size_t step, size_t n)
{
    vec words[SIDE];
    UNROLL
    for (size_t q = 0; q < SIDE; q++)
        words[q] = q < n ? _mm512_castsi512_ps(words_line(x + q * step)) : vec_set(0.0f);
    vec_transpose(words);
    UNROLL
    for (size_t q = 0; q < SIDE; q++) vec_store(to + q * SIDE, words[q], LANES);
}

/* A row of each of two tiles side by side, from the rows k and k + 1 of x. */
INLINE void take_rows(float *to, float *next, __m512i row, __m512i below)
{
    const __m512i a = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(row)),
                  b = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(row, 1)),
                  c = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(below)),
                  d = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(below, 1));
    _mm512_store_si512(to, _mm512_or_si512(a, _mm512_slli_epi32(c, 16)));
    _mm512_store_si512(next, _mm512_or_si512(b, _mm512_slli_epi32(d, 16)));
}

/* Strips of n columns of n_k rows, n a multiple of 32.  Rows are read from end to end: that is how
 * lines come fastest that another core has written. */
static void take_strips(strip *to, const uint16_t *x, size_t step, size_t n, size_t n_k)
{
    const __m512i zero = _mm512_setzero_si512();
    for (size_t p = 0; p < n_k || p % TILE_K != 0; p += 2, x += 2 * step) {
        for (size_t j = 0; j < n; j += 2 * SIDE) {
            strip       *here = to + j / SIDE;
            const size_t t = p / TILE_K, at = p % TILE_K / 2 * SIDE;
            take_rows(here[0].word[t] + at, here[1].word[t] + at,
                      p < n_k ? words_line(x + j) : zero,
                      p + 1 < n_k ? words_line(x + step + j) : zero);
        }
    }
}

/* ---- strips of a factor ---- */

INLINE void fill_tile(float *to, const tile_factor *f, const float *x, size_t n, size_t n_k,
                      size_t part)
{
    vec words[SIDE];
    if (f->along) load_along(words, x, f->step, n, n_k, part);
    else load_across(words, x, f->step, n, n_k, part);
    if (f->turns) vec_transpose(words);
    UNROLL
    for (size_t q = 0; q < SIDE; q++) vec_store(to + q * SIDE, words[q], LANES);
}

/* The tile from row or column `at` on; k0: its first number along k, of n_k. */
INLINE void fill_one(float *to, const tile_factor *f, size_t at, size_t k0, size_t n_k, size_t part)
{
    const size_t n = f->n - at < SIDE ? f->n - at : SIDE;
    const size_t first = f->along ? at * f->step + k0 : k0 * f->step + at;
    if (f->words != NULL) take_tile(to, f->words + first, f->step, n);
    else if (n == SIDE && n_k >= TILE_K) fill_tile(to, f, f->x + first, SIDE, TILE_K, part);
    else fill_tile(to, f, f->x + first, n, n_k, part);
}

/* One part of the strips, `apart` words from each other, of the rows or columns [at, at + n),
 * numbers [k0, k0 + n_k) along k; rows of x are read from end to end as far as that goes. */
INLINE void fill_part(float *to, size_t apart, const tile_factor *f, size_t at, size_t n, size_t k0,
                      size_t n_k, size_t part)
{
    if (f->along) {
        for (size_t j = 0; j < n; j += SIDE)
            for (size_t p = 0; p < n_k; p += TILE_K)
                fill_one(to + j / SIDE * apart + p / TILE_K * TILE_WORDS, f, at + j, k0 + p,
                         n_k - p, part);
        return;
    }
    for (size_t p = 0; p < n_k; p += TILE_K)
        for (size_t j = 0; j < n; j += SIDE)
            fill_one(to + j / SIDE * apart + p / TILE_K * TILE_WORDS, f, at + j, k0 + p, n_k - p,
                     part);
}

static void fill_strips(strip *to, size_t each, const tile_factor *f, size_t at, size_t n,
                        size_t k0, size_t n_k, size_t n_parts)
{
    const size_t apart = sizeof(strip) / sizeof(float);
    if (f->words != NULL && !f->along) {
        take_strips(to, f->words + k0 * f->step + at, f->step, n, n_k);
        return;
    }
    fill_part(to->word[0], apart, f, at, n, k0, n_k, 0);
    if (n_parts > 1) fill_part(to[each].word[0], apart, f, at, n, k0, n_k, 1);
}

/* ---- tiles: 0 to 3 hold sums, 4 and 5 a, 6 and 7 b ----
 *
 * The compiler does not know what memory these instructions read: memory_written() stands between
 * the last store to it and the first of them, and before what they wrote is read. */

static void configure(void)
{
    tile_config config = {.palette = 1};
    for (size_t t = 0; t < 8; t++) {
        config.row_bytes[t] = SIDE * sizeof(float);
        config.rows[t] = SIDE;
    }
    memory_written();
    _tile_loadconfig(&config);
}

enum { ROW_BYTES = SIDE * sizeof(float) };

/* The strips of one factor that meet others; part p of strip i is strip[p * each + i]. */
typedef struct strip_group {
    const strip *strip;
    size_t       each;
} strip_group;

/* Adds the products of two strips of either factor. */
INLINE void add_four(const strip *a, const strip *b, size_t n_tiles)
{
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
}

static void multiply_four(strips *s, strip_group a, strip_group b, size_t n_tiles, size_t n_parts)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t u = 0; u < n_parts; u++)
        for (size_t v = 0; v < n_parts; v++)
            add_four(a.strip + u * a.each, b.strip + v * b.each, n_tiles);
    _tile_stored(0, s->sum[0][0], ROW_BYTES);
    _tile_stored(1, s->sum[0][1], ROW_BYTES);
    _tile_stored(2, s->sum[1][0], ROW_BYTES);
    _tile_stored(3, s->sum[1][1], ROW_BYTES);
}

static void multiply_one(float *sum, strip_group a, strip_group b, size_t n_tiles, size_t n_parts)
{
    _tile_zero(0);
    for (size_t u = 0; u < n_parts; u++) {
        for (size_t v = 0; v < n_parts; v++) {
            for (size_t t = 0; t < n_tiles; t++) {
                _tile_loadd(4, a.strip[u * a.each].word[t], ROW_BYTES);
                _tile_loadd(6, b.strip[v * b.each].word[t], ROW_BYTES);
                _tile_dpbf16ps(0, 4, 6);
            }
        }
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

/* The step of the words of C, with a draw for each row of tiles. */
static void finish_words(const tile_product *w, const strips *s, size_t i, size_t j)
{
    const vec eta = vec_set(-w->alpha);
    for (size_t u = 0; u < 2 && i + u * SIDE < w->a.n; u++) {
        const size_t row = i + u * SIDE, m = w->a.n - row < SIDE ? w->a.n - row : SIDE;
        drovek_bits *bits = w->draws->next(w->draws->context, m * 2 * SIDE);
        uint16_t    *to = w->words + row * w->ldc + j;
        for (size_t r = 0; r < m; r++, to += w->ldc) {
            const uint16_t *random = block_words(bits, r);
            step_words(to, vec_load(s->sum[u][0] + r * SIDE, LANES), eta, random);
            step_words(to + SIDE, vec_load(s->sum[u][1] + r * SIDE, LANES), eta, random + SIDE);
        }
    }
}

/* ---- the product ---- */

/* Terms of the sums: numbers [k0, k0 + n_k) along k. */
typedef struct terms {
    size_t k0, n_k, n_parts;
    float  beta; /* of C */
} terms;

/* The strips a and b of C at (i, j), up to two of either. */
static void multiply_strips(const tile_product *w, strips *s, const terms *t, strip_group a,
                            strip_group b, size_t i, size_t j)
{
    const bool        two_rows = i + SIDE < w->a.n, two_columns = j + SIDE < w->b.n;
    const size_t      n_tiles = (t->n_k + TILE_K - 1) / TILE_K;
    const strip_group next_a = {a.strip + 1, a.each}, next_b = {b.strip + 1, b.each};
    memory_written();
    if (two_rows && two_columns) multiply_four(s, a, b, n_tiles, t->n_parts);
    else {
        multiply_one(s->sum[0][0], a, b, n_tiles, t->n_parts);
        if (two_rows) multiply_one(s->sum[1][0], next_a, b, n_tiles, t->n_parts);
        if (two_columns) multiply_one(s->sum[0][1], a, next_b, n_tiles, t->n_parts);
    }
    memory_written();
    if (w->words != NULL) finish_words(w, s, i, j);
    else finish_tiles(w, s, i, j, t->beta);
}

/* Asks for part b of n_b of the lines of C that the next moving strips change: rows [i, i + 32),
 * columns [first, first + n).  Threads that share C take its lines from each other, which takes
 * longer than products of few terms. */
static void expect_rows(const tile_product *w, size_t i, size_t first, size_t n, size_t b,
                        size_t n_b)
{
    enum { ROWS = N_MOVING * SIDE };
    const size_t size = w->words != NULL ? sizeof *w->words : sizeof *w->c;
    const char  *c = w->words != NULL ? (const char *)w->words : (const char *)w->c;
    for (size_t r = ROWS * b / n_b; r < ROWS * (b + 1) / n_b && i + r < w->a.n; r++) {
        const char *at = c + ((i + r) * w->ldc + first) * size;
        for (size_t byte = 0; byte < n * size; byte += DROVE_CACHE_LINE)
            __asm__ volatile("prefetchw %0" : : "m"(at[byte]));
    }
}

/* C += terms, for n rows or columns of the resident side from `first` on. */
static void add_terms(const tile_product *w, strips *s, const terms *t, size_t first, size_t n)
{
    const tile_factor *stays = w->rows_move ? &w->b : &w->a, *moves = w->rows_move ? &w->a : &w->b;
    const size_t       each = N_RESIDENT / t->n_parts, width = N_MOVING * SIDE;
    fill_strips(s->resident, each, stays, first, n, t->k0, t->n_k, t->n_parts);
    for (size_t i = 0; i < moves->n; i += width) {
        const size_t here = moves->n - i < width ? moves->n - i : width;
        fill_strips(s->moving, N_MOVING, moves, i, here, t->k0, t->n_k, t->n_parts);
        for (size_t j = 0; j < n; j += 2 * SIDE) {
            const strip_group u = {s->moving, N_MOVING}, v = {s->resident + j / SIDE, each};
            if (w->rows_move && t->beta != 0.0f)
                expect_rows(w, i + width, first, n, j / width, (n + width - 1) / width);
            if (w->rows_move) multiply_strips(w, s, t, u, v, i, first + j);
            else multiply_strips(w, s, t, v, u, first + j, i);
        }
    }
}

static void multiply(const tile_product *w, size_t n_parts)
{
    const size_t n = w->rows_move ? w->b.n : w->a.n, most = N_RESIDENT / n_parts * SIDE;
    const size_t n_blocks = w->k > 0 ? (w->k + BLOCK_K - 1) / BLOCK_K : 1;
    const size_t each = ((w->k + n_blocks - 1) / n_blocks + TILE_K - 1) / TILE_K * TILE_K;
    strips       s;
    configure();
    for (size_t first = 0; first < n; first += most) {
        const size_t here = n - first < most ? n - first : most;
        terms        t = {.n_parts = n_parts, .beta = w->beta};
        do {
            t.n_k = w->k - t.k0 < each ? w->k - t.k0 : each;
            add_terms(w, &s, &t, first, here);
            t.beta = 1.0f;
            t.k0 += t.n_k;
        } while (t.k0 < w->k);
    }
    _tile_release();
}

/* The arguments of a slot gemm. */
#define PRODUCT                                                                                    \
    (&(tile_product){.a = {a, NULL, lda, m, !trans_a, trans_a},                                    \
                     .b = {b, NULL, ldb, n, trans_b, trans_b},                                     \
                     .k = k,                                                                       \
                     .alpha = alpha,                                                               \
                     .beta = beta,                                                                 \
                     .c = c,                                                                       \
                     .ldc = ldc,                                                                   \
                     .rows_move = m > n})

/* Factors are rounded to bf16. */
static void gemm_amx(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                     const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                     size_t ldc)
{
    multiply(PRODUCT, 1);
}

/* Factors of at most 16 bits of significand. */
static void gemm_amx_i16(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                         const float *a, size_t lda, const float *b, size_t ldb, float beta,
                         float *c, size_t ldc)
{
    multiply(PRODUCT, 2);
}
#undef PRODUCT

/* ---- words (kernel/words.h) ---- */

static void words_gemm(bool trans_w, size_t m, size_t n, size_t k, const float *a, size_t lda,
                       const uint16_t *w, float beta, float *c, size_t ldc)
{
    multiply(&(tile_product){.a = {a, NULL, lda, m, true, false},
                             .b = {NULL, w, trans_w ? k : n, n, trans_w, trans_w},
                             .k = k,
                             .alpha = 1.0f,
                             .beta = beta,
                             .c = c,
                             .ldc = ldc,
                             .rows_move = !trans_w || m > n}, /* rows of W are read as a whole */
             1);
}

static bool words_step(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float eta, uint16_t *w, const drovek_draws *draws)
{
    if (k > BLOCK_K) return false; /* each word is written once */
    multiply(&(tile_product){.a = {a, NULL, lda, m, false, true},
                             .b = {b, NULL, ldb, n, false, false},
                             .k = k,
                             .alpha = -eta,
                             .beta = 1.0f,
                             .ldc = n,
                             .rows_move = m > n,
                             .words = w,
                             .draws = draws},
             1);
    return true;
}

#endif
