/* kernel/x86/gemm_vnni.h - C[m][n] = alpha op(A) op(B) + beta C with factors that are integers of
 * -128 to 127, each array's times a power of two, by the dot products of AVX512_VNNI.
 *
 * Both factors are copied as bytes; a word of 32 bits holds four neighbours along k, a quad, which
 * one lane of one instruction multiplies and adds.  The power of two is found for each block of
 * either factor, from its largest magnitude: with it all integers fit a byte, whatever power the
 * caller has in mind.  Numbers below 2^-120 are rounded.
 *
 * The instruction takes bytes of op(A) as unsigned ones, so 128 is added to each and what that adds
 * to the sums, 128 times the sum of a column of op(B), is taken off in the end.  A sum of 512
 * products has 23 bits: integers, and their conversion to singles, are exact.  Sums of several
 * blocks are added as singles.
 *
 * C is cut as in lanes/gemm_bf16.h.  The order of the sums depends on the shape alone.  A, B and C
 * may be shared with running threads: they are read and written by inline assembly; each element of
 * C is stored once per block of k.
 */
#ifndef DROVEK_X86_GEMM_VNNI_H
#define DROVEK_X86_GEMM_VNNI_H

#include "base/racy.h"
#include "kernel/lanes/panel.h"

enum {
    QUAD = 4,          /* numbers along k in a word                 */
    BLOCK_QUADS = 128, /* along k in a block of either factor       */
    BLOCK_ROWS = 96,   /* of op(A): 48 KiB of stack                 */
    BLOCK_COLS = PANEL * LANES,
    N_PANELS = 4, /* of op(B): 132 KiB of stack */
    BYTES = QUAD * LANES,
    LEAST_EXPONENT = -120, /* of a unit: its inverse is a single, too */
    INTEGER_BITS = 7
};

/* The power of two that a block's integers are multiples of; NaN if not all are finite. */
typedef struct unit {
    float value, inverse;
} unit;

/* Words of four bytes, which are singles to the compiler. */
typedef struct quad_panel {
    unit of_b;
    /* row 0: what is too much in the sums of each column; then [quad][column] */
    float b[(1 + BLOCK_QUADS) * BLOCK_COLS];
} quad_panel;

typedef struct quad_blocks {
    float      a[BLOCK_ROWS * BLOCK_QUADS]; /* [row][quad]; of a transposed A [quad][row] */
    quad_panel panel[N_PANELS];
} quad_blocks;

/* ---- units ---- */

/* Whether one of x[rows][step], n numbers of each row, is `value` or more. */
static bool reaches(const float *x, size_t step, size_t rows, size_t n, float value)
{
    vec most = vec_set(-value);
    for (size_t i = 0; i < rows; i++, x += step)
        for (size_t j = 0; j < n; j += LANES)
            most = vec_max(most, racy_load(x + j, lanes_left(j, n)));
    return vec_largest(most) >= value;
}

/* x[rows][step], n numbers of each row.  A byte holds -128, too: where the largest magnitude is a
 * power of two, and only of negative numbers, the unit is a 128th of it. */
static unit unit_of(const float *x, size_t step, size_t rows, size_t n)
{
    magnitude so_far = magnitude_zero();
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * step;
        size_t       j = 0;
        for (; j + LANES <= n; j += LANES)
            so_far = magnitude_max(so_far, racy_load(row + j, LANES));
        if (j < n) so_far = magnitude_max(so_far, racy_load(row + j, n - j));
    }
    const uint32_t largest = magnitude_largest(so_far);
    int            e = (int)(largest >> 23) - 127 - (INTEGER_BITS - 1);
    if (largest >= 0x7f800000u) return (unit){__builtin_nanf(""), 1.0f};
    const bool is_power = (largest & 0x7fffffu) == 0 && e > LEAST_EXPONENT;
    if (is_power && !reaches(x, step, rows, n, ldexpf(1.0f, e + INTEGER_BITS - 1))) e--;
    if (e < LEAST_EXPONENT) e = LEAST_EXPONENT;
    return (unit){ldexpf(1.0f, e), ldexpf(1.0f, -e)};
}

/* ---- copies ---- */

INLINE __m512i integers_of(vec v, vec by)
{
    return _mm512_cvtps_epi32(vec_mul(v, by));
}

/* The next LANES quads of x[n], n > 0: numbers that are not there are 0. */
INLINE __m512i quads_along(const float *x, size_t n, vec by)
{
    /* packing works in pieces of 128 bits: dword 4 L + q has numbers 16 q + 4 L and the next */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i       part[QUAD];
    UNROLL
    for (size_t q = 0; q < QUAD; q++) {
        part[q] = _mm512_setzero_si512();
        if (q * LANES < n)
            part[q] = integers_of(racy_load(x + q * LANES, lanes_left(q * LANES, n)), by);
    }
    return _mm512_permutexvar_epi32(order,
                                    _mm512_packs_epi16(_mm512_packs_epi32(part[0], part[1]),
                                                       _mm512_packs_epi32(part[2], part[3])));
}

/* The quads of LANES columns of x, rows [0, n_k) of which those that are not there are 0. */
INLINE __m512i quads_across(const float *x, size_t step, size_t n, size_t n_k, vec by)
{
    __m512i part[QUAD];
    UNROLL
    for (size_t q = 0; q < QUAD; q++) {
        part[q] = _mm512_setzero_si512();
        if (q < n_k) part[q] = integers_of(racy_load(x + q * step, n), by);
    }
    const __m512i low = _mm512_mask_blend_epi8(0x2222222222222222, part[0],
                                               _mm512_slli_epi32(part[1], 8)),
                  high = _mm512_mask_blend_epi8(0x8888888888888888, _mm512_slli_epi32(part[2], 16),
                                                _mm512_slli_epi32(part[3], 24));
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, high);
}

/* from signed bytes to unsigned ones, 128 more */
INLINE __m512i above_zero(__m512i quads)
{
    return _mm512_xor_si512(quads, _mm512_set1_epi8((char)0x80));
}

INLINE void store_quads(float *to, __m512i quads)
{
    vec_store(to, _mm512_castsi512_ps(quads), LANES);
}

/* a[row][quad] of x[m][step], n_k columns */
static void quad_columns(float *a, const float *x, size_t step, size_t m, size_t n_k, vec by)
{
    for (size_t i = 0; i < m; i++, a += BLOCK_QUADS, x += step) {
        size_t p = 0;
        for (; p + BYTES <= n_k; p += BYTES)
            store_quads(a + p / QUAD, above_zero(quads_along(x + p, BYTES, by)));
        if (p < n_k) store_quads(a + p / QUAD, above_zero(quads_along(x + p, n_k - p, by)));
    }
}

/* a[quad][row] of x[n_k][step], m columns */
static void quad_rows(float *a, const float *x, size_t step, size_t m, size_t n_k, vec by)
{
    for (size_t p = 0; p < n_k; p += QUAD, a += BLOCK_ROWS) {
        const float *row = x + p * step;
        for (size_t j = 0; j < m; j += LANES) {
            const size_t n = lanes_left(j, m);
            __m512i      quads;
            if (n == LANES && n_k - p >= QUAD) quads = quads_across(row + j, step, LANES, QUAD, by);
            else quads = quads_across(row + j, step, n, n_k - p, by);
            store_quads(a + j, above_zero(quads));
        }
    }
}

/* Stores quads of op(B); `extra` + what the 128 of op(A) adds to the sums for them. */
INLINE __m512i put_quads(float *to, __m512i quads, __m512i extra)
{
    store_quads(to, quads);
    return _mm512_dpbusd_epi32(extra, _mm512_set1_epi8((char)0x80), quads);
}

/* b of x[n_k][step], n columns */
static void panel_rows(float *b, const float *x, size_t step, size_t n, size_t n_k, vec by)
{
    for (size_t j = 0; j < n; j += LANES) {
        const size_t count = lanes_left(j, n);
        float       *to = b + BLOCK_COLS + j;
        __m512i      extra = _mm512_setzero_si512();
        for (size_t p = 0; p < n_k; p += QUAD, to += BLOCK_COLS)
            extra = put_quads(to, quads_across(x + p * step + j, step, count, n_k - p, by), extra);
        store_quads(b + j, extra);
    }
}

/* b of x[n][step], n_k columns */
static void panel_columns(float *b, const float *x, size_t step, size_t n, size_t n_k, vec by)
{
    for (size_t j = 0; j < n; j += LANES) {
        __m512i extra = _mm512_setzero_si512();
        for (size_t p = 0; p < n_k; p += BYTES) {
            vec part[LANES];
            UNROLL
            for (size_t q = 0; q < LANES; q++) {
                part[q] = vec_set(0.0f);
                if (j + q < n)
                    part[q] = _mm512_castsi512_ps(quads_along(x + (j + q) * step + p, n_k - p, by));
            }
            vec_transpose(part);
            UNROLL
            for (size_t q = 0; q < LANES; q++)
                extra = put_quads(b + (1 + p / QUAD + q) * BLOCK_COLS + j,
                                  _mm512_castps_si512(part[q]), extra);
        }
        store_quads(b + j, extra);
    }
}

/* ---- tiles ---- */

/* Stands between the loop and what its sums are used for.  Without it gcc 12 keeps the sums in
 * memory, at 0.6 of the speed. */
INLINE void keep_in_register(__m512i *sum)
{
    __asm__ volatile("" : "+v"(*sum));
}

/* As vec_broadcast. */
INLINE __m512i quads_broadcast(const float *base, size_t offset)
{
    __m512i v;
    __asm__ volatile("vpbroadcastd (%1,%2,4), %0" : "=v"(v) : "r"(base), "r"(offset));
    return v;
}

/* `rows` rows of the panel from row i; rows and n_vec are constants, rows * n_vec <= N_SUMS.
 * t->k counts quads, and the steps words; the row before t->b is what is too much in the sums. */
INLINE void quad_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    const float *a[4], *b = t->b;
    size_t       step[4];
    __m512i      sum[N_SUMS], part[PANEL];
    vec          out[N_SUMS];
    tile_rows(t, i, rows, a, step);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) sum[s] = _mm512_setzero_si512();
    memory_written();
    for (size_t p = 0; p < t->k; p++, b += t->b_step) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) part[v] = _mm512_loadu_si512(b + v * LANES);
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m512i x = quads_broadcast(a[r / 4], step[r % 4]);
            UNROLL
            for (size_t v = 0; v < n_vec; v++)
                sum[r * n_vec + v] = _mm512_dpbusd_epi32(sum[r * n_vec + v], x, part[v]);
        }
        UNROLL
        for (size_t q = 0; q < 4; q++) a[q] += t->k_step;
    }
    UNROLL
    for (size_t v = 0; v < n_vec; v++) part[v] = _mm512_loadu_si512(t->b - t->b_step + v * LANES);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) keep_in_register(&sum[s]);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++)
        out[s] = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum[s], part[s % n_vec]));
    finish_tile(t, t->c + i * t->c_step, out, rows, n_vec);
}

static void run_quad_panel(const panel *t, size_t n_vec)
{
    run_tiles(t, n_vec, quad_tile);
}

/* ---- the product ---- */

typedef struct quad_product {
    bool         trans_a, trans_b;
    size_t       m, n, k;
    float        alpha, beta;
    const float *a, *b;
    size_t       lda, ldb, ldc;
    float       *c;
} quad_product;

/* The terms [k0, k0 + n_k) of op(A)'s rows [i0, i0 + m). */
static unit copy_a(float *to, const quad_product *w, size_t i0, size_t m, size_t k0, size_t n_k)
{
    const float *x = w->trans_a ? w->a + k0 * w->lda + i0 : w->a + i0 * w->lda + k0;
    const unit   u = w->trans_a ? unit_of(x, w->lda, n_k, m) : unit_of(x, w->lda, m, n_k);
    const vec    by = vec_set(u.inverse);
    if (w->trans_a) quad_rows(to, x, w->lda, m, n_k, by);
    else quad_columns(to, x, w->lda, m, n_k, by);
    return u;
}

/* The terms [k0, k0 + n_k) of op(B)'s columns [j0, j0 + n). */
static unit copy_b(float *to, const quad_product *w, size_t j0, size_t n, size_t k0, size_t n_k)
{
    const float *x = w->trans_b ? w->b + j0 * w->ldb + k0 : w->b + k0 * w->ldb + j0;
    const unit   u = w->trans_b ? unit_of(x, w->ldb, n, n_k) : unit_of(x, w->ldb, n_k, n);
    const vec    by = vec_set(u.inverse);
    if (w->trans_b) panel_columns(to, x, w->ldb, n, n_k, by);
    else panel_rows(to, x, w->ldb, n, n_k, by);
    return u;
}

/* Rows [i0, i0 + m), columns [j0, j0 + n) of C += the terms [k0, k0 + n_k) of their sums. */
static void add_quads(const quad_product *w, quad_blocks *f, size_t i0, size_t m, size_t j0,
                      size_t n, size_t k0, size_t n_k)
{
    panel      t = {.m = m,
                    .k = (n_k + QUAD - 1) / QUAD,
                    .beta = k0 == 0 ? w->beta : 1.0f,
                    .a = f->a,
                    .row_step = w->trans_a ? 1 : BLOCK_QUADS,
                    .k_step = w->trans_a ? BLOCK_ROWS : 1,
                    .b_step = BLOCK_COLS,
                    .c_step = w->ldc,
                    .n_segments = 1};
    const unit of_a = copy_a(f->a, w, i0, m, k0, n_k);
    for (size_t j = 0; j < n; j += BLOCK_COLS) {
        const quad_panel *p = &f->panel[j / BLOCK_COLS];
        const size_t      n_j = n - j < BLOCK_COLS ? n - j : BLOCK_COLS;
        const size_t      n_vec = (n_j + LANES - 1) / LANES;
        t.alpha = w->alpha * of_a.value * p->of_b.value;
        t.b = p->b + BLOCK_COLS;
        t.last = n_j - (n_vec - 1) * LANES;
        t.c = w->c + i0 * w->ldc + j0 + j;
        run_quad_panel(&t, n_vec);
    }
}

/* Columns [j0, j0 + n) of C += the terms [k0, k0 + n_k) of their sums. */
static void add_columns(const quad_product *w, quad_blocks *f, size_t j0, size_t n, size_t k0,
                        size_t n_k)
{
    for (size_t j = 0; j < n; j += BLOCK_COLS) {
        quad_panel *p = &f->panel[j / BLOCK_COLS];
        p->of_b = copy_b(p->b, w, j0 + j, n - j < BLOCK_COLS ? n - j : BLOCK_COLS, k0, n_k);
    }
    for (size_t i = 0; i < w->m; i += BLOCK_ROWS)
        add_quads(w, f, i, w->m - i < BLOCK_ROWS ? w->m - i : BLOCK_ROWS, j0, n, k0, n_k);
}

static void gemm_vnni(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                      const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                      size_t ldc)
{
    const quad_product w = {trans_a, trans_b, m, n, k, alpha, beta, a, b, lda, ldb, ldc, c};
    const size_t       most = N_PANELS * BLOCK_COLS;
    quad_blocks        f;
    for (size_t j = 0; j < n; j += most) {
        size_t k0 = 0;
        do {
            const size_t n_k = k - k0 < QUAD * BLOCK_QUADS ? k - k0 : QUAD * BLOCK_QUADS;
            add_columns(&w, &f, j, n - j < most ? n - j : most, k0, n_k);
            k0 += n_k;
        } while (k0 < k);
    }
}

#endif
