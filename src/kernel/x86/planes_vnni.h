/* kernel/x86/planes_vnni.h - products of integers kept as bytes (kernel/planes.h) by the dot
 * products of AVX512_VNNI.
 *
 * One lane of one instruction multiplies a quad, four neighbours along k, of unsigned bytes by one
 * of signed bytes and adds to a sum of 32 bits.  Which side is unsigned is free: of a high plane of
 * op(A) that of op(B) is, of a low one op(A)'s.  Where both planes are high, or both low, those of
 * op(B) are copied with 128 more or less to be so, and what that adds to a sum, 128 times the sum
 * of a row of op(A), is taken off.  Sums of DROVEK_PLANES_K terms have less than 31 bits.
 *
 * Rows of op(A) that run along k are read in place.  What is read behind the last term meets zeros
 * in the quads of op(B).
 */
#ifndef DROVEK_X86_PLANES_VNNI_H
#define DROVEK_X86_PLANES_VNNI_H

#include "kernel/x86/gemm_vnni.h"
#include "kernel/x86/planes_product.h"

#include <stdalign.h>

enum {
    BYTE_QUADS = DROVEK_PLANES_K / QUAD,
    BYTE_ROWS = 48,  /* of op(A) at a time, packed: 192 KiB of stack for two planes */
    BYTE_PANELS = 4, /* of op(B): 512 KiB of stack */
    BYTE_COLS = PANEL * LANES,
    MOST_PAIRS = 4 /* of planes */
};

typedef struct byte_blocks {
    alignas(64) int32_t b[BYTE_PANELS][BYTE_QUADS * BYTE_COLS]; /* [panel][pair][quad][column] */
    alignas(64) int32_t a[2][BYTE_QUADS * BYTE_ROWS];           /* [plane][quad][row] */
    alignas(64) int32_t sum[MOST_PAIRS][BYTE_ROWS * BYTE_COLS]; /* [pair][row][column] */
    int32_t   row_sum[2][BYTE_ROWS];                            /* of the planes of op(A) */
    magnitude most;
} byte_blocks;

/* The terms [k0, k0 + n_k) along k of columns [j0, j0 + n_j), whose quads are there. */
typedef struct byte_part {
    size_t k0, n_k, j0, n_j;
    bool   adds, ends; /* C has terms already; these are the last, and w->end follows */
} byte_part;

/* ---- copies ---- */

/* 128 more, or less, of the bytes that are there. */
INLINE __m512i shifted(__m512i v, size_t n, bool shifts)
{
    if (!shifts) return v;
    return _mm512_xor_si512(v, _mm512_maskz_set1_epi8(first_bytes_of(n), (char)0x80));
}

/* to[quad][row_step] of x[n_k][step], n columns, at most 64. */
INLINE void byte_rows(int32_t *to, size_t row_step, const uint8_t *x, size_t step, size_t n,
                      size_t n_k, bool shifts)
{
    const size_t n_words = (n + LANES - 1) / LANES;
    for (size_t p = 0; p < n_k; p += QUAD, to += row_step) {
        __m512i row[4], word[4];
        UNROLL
        for (size_t r = 0; r < 4; r++)
            row[r] = p + r < n_k ? shifted(load_bytes(x + (p + r) * step, n), n, shifts)
                                 : _mm512_setzero_si512();
        interleave(row, word);
        UNROLL
        for (size_t s = 0; s < 4; s++)
            if (s < n_words) _mm512_store_si512(to + s * LANES, word[s]);
    }
}

/* to[quad][BYTE_COLS] of x[n][step], n_k columns. */
INLINE void byte_columns(int32_t *to, const uint8_t *x, size_t step, size_t n, size_t n_k,
                         bool shifts)
{
    for (size_t j = 0; j < n; j += LANES) {
        for (size_t p = 0; p < n_k; p += LANES * QUAD) {
            const size_t left = n_k - p, n_quads = (left + QUAD - 1) / QUAD;
            vec          part[LANES];
            UNROLL
            for (size_t q = 0; q < LANES; q++) {
                part[q] = vec_set(0.0f);
                if (j + q < n)
                    part[q] = _mm512_castsi512_ps(
                        shifted(load_bytes(x + (j + q) * step + p, left), left, shifts));
            }
            vec_transpose(part);
            UNROLL
            for (size_t q = 0; q < LANES; q++)
                if (q < n_quads) _mm512_store_ps(to + (p / QUAD + q) * BYTE_COLS + j, part[q]);
        }
    }
}

/* ---- sums of rows of op(A) ---- */

/* sum + the bytes of each lane, of a low plane unsigned ones */
INLINE __m512i add_lanes(__m512i sum, __m512i v, bool is_low)
{
    const __m512i one = _mm512_set1_epi8(1);
    return is_low ? _mm512_dpbusd_epi32(sum, v, one) : _mm512_dpbusd_epi32(sum, one, v);
}

/* of x[m][step], n_k bytes of each row */
static void sum_rows(int32_t *sum, const uint8_t *x, size_t step, size_t m, size_t n_k, bool is_low)
{
    for (size_t i = 0; i < m; i++, x += step) {
        __m512i all = _mm512_setzero_si512();
        for (size_t p = 0; p < n_k; p += 64)
            all = add_lanes(all, load_bytes(x + p, n_k - p), is_low);
        sum[i] = _mm512_reduce_add_epi32(all);
    }
}

/* of a[n_quads][BYTE_ROWS] */
static void sum_quads(int32_t *sum, const int32_t *a, size_t n_quads, bool is_low)
{
    for (size_t i = 0; i < BYTE_ROWS; i += LANES) {
        __m512i all = _mm512_setzero_si512();
        for (size_t p = 0; p < n_quads; p++)
            all = add_lanes(all, _mm512_load_si512(a + p * BYTE_ROWS + i), is_low);
        _mm512_storeu_si512(sum + i, all);
    }
}

/* ---- tiles ---- */

/* One panel of one pair of planes. */
typedef struct byte_panel {
    panel          rows; /* m and row_step alone, for run_tiles */
    const uint8_t *a;    /* quad p of row i is at i * a_step + p * k_step */
    size_t         a_step, k_step, n_quads;
    const int32_t *b;     /* [quad][BYTE_COLS] */
    const int32_t *extra; /* [m] what sums begin with; NULL: 0 */
    int32_t       *sum;   /* [m][BYTE_COLS] */
} byte_panel;

INLINE __m512i bytes_broadcast(const uint8_t *base, size_t offset)
{
    __m512i v;
    __asm__ volatile("vpbroadcastd (%1,%2), %0" : "=v"(v) : "r"(base), "r"(offset));
    return v;
}

/* rows, n_vec, is_low: constants, as in quad_tile; is_low: op(A) is unsigned */
INLINE void byte_tile_of(const byte_panel *t, size_t i, size_t rows, size_t n_vec, bool is_low)
{
    const uint8_t *a[4];
    size_t         step[4];
    const int32_t *b = t->b;
    __m512i        sum[N_SUMS], part[PANEL];
    UNROLL
    for (size_t q = 0; q < 4; q++) {
        a[q] = t->a + (i + (4 * q < rows ? 4 * q : 0)) * t->a_step;
        step[q] = q * t->a_step;
    }
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++)
        sum[s] = _mm512_set1_epi32(t->extra != NULL ? t->extra[i + s / n_vec] : 0);
    memory_written();
    for (size_t p = 0; p < t->n_quads; p++, b += BYTE_COLS) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) part[v] = _mm512_load_si512(b + v * LANES);
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m512i x = bytes_broadcast(a[r / 4], step[r % 4]);
            UNROLL
            for (size_t v = 0; v < n_vec; v++)
                sum[r * n_vec + v] = is_low ? _mm512_dpbusd_epi32(sum[r * n_vec + v], x, part[v])
                                            : _mm512_dpbusd_epi32(sum[r * n_vec + v], part[v], x);
        }
        UNROLL
        for (size_t q = 0; q < 4; q++) a[q] += t->k_step;
    }
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) keep_in_register(&sum[s]);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++)
        _mm512_store_si512(t->sum + (i + s / n_vec) * BYTE_COLS + s % n_vec * LANES, sum[s]);
}

INLINE void high_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    byte_tile_of((const byte_panel *)(const void *)t, i, rows, n_vec, false);
}

INLINE void low_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    byte_tile_of((const byte_panel *)(const void *)t, i, rows, n_vec, true);
}

static void run_high(const byte_panel *t, size_t n_vec)
{
    run_tiles(&t->rows, n_vec, high_tile);
}

static void run_low(const byte_panel *t, size_t n_vec)
{
    run_tiles(&t->rows, n_vec, low_tile);
}

/* ---- the product ---- */

/* Planes of the same kind: op(B)'s bytes are shifted by 128. */
INLINE bool is_shifted(const byte_product *w, size_t pair)
{
    return pair / w->n_b == pair % w->n_b;
}

static size_t n_pairs_of(const byte_product *w)
{
    return w->n_a * w->n_b;
}

/* The quads of op(B)'s columns [j0, j0 + n_j). */
static void fill_panels(const byte_product *w, byte_blocks *f, const byte_part *t)
{
    const size_t n_pairs = n_pairs_of(w);
    for (size_t j = 0; j < t->n_j; j += BYTE_COLS)
        for (size_t pair = 0; pair < n_pairs; pair++) {
            const byte_source *b = &w->b[pair % w->n_b];
            const size_t       n = t->n_j - j < BYTE_COLS ? t->n_j - j : BYTE_COLS, at = t->j0 + j;
            int32_t           *to = f->b[j / BYTE_COLS * n_pairs + pair];
            if (b->along)
                byte_columns(to, b->x + at * b->step + t->k0, b->step, n, t->n_k,
                             is_shifted(w, pair));
            else
                byte_rows(to, BYTE_COLS, b->x + t->k0 * b->step + at, b->step, n, t->n_k,
                          is_shifted(w, pair));
        }
}

/* One plane of op(A)'s rows [i, i + m): where their quads are, and the rows' sums. */
static void fill_rows(const byte_product *w, byte_blocks *f, const byte_part *t, size_t plane,
                      size_t i, size_t m, byte_panel *to)
{
    const byte_source *a = &w->a[plane];
    if (a->along) {
        to->a = a->x + i * a->step + t->k0;
        to->a_step = a->step;
        to->k_step = QUAD;
        sum_rows(f->row_sum[plane], to->a, a->step, m, t->n_k, plane == 1);
        return;
    }
    byte_rows(f->a[plane], BYTE_ROWS, a->x + t->k0 * a->step + i, a->step, m, t->n_k, false);
    to->a = (const uint8_t *)f->a[plane];
    to->a_step = QUAD;
    to->k_step = BYTE_ROWS * sizeof *f->a[plane];
    sum_quads(f->row_sum[plane], f->a[plane], to->n_quads, plane == 1);
}

/* What is too much in the sums of each row, negated. */
static void find_extra(const byte_blocks *f, size_t plane, size_t m, int32_t *extra)
{
    const int32_t by = plane == 0 ? -128 : 128;
    for (size_t i = 0; i < m; i++) extra[i] = by * f->row_sum[plane][i];
}

/* C's rows [i, i + m) and columns [j, j + n) of the block get their sums. */
static void finish_block(const byte_product *w, const byte_blocks *f, const byte_part *t, size_t i,
                         size_t m, size_t j, size_t n)
{
    for (size_t v = 0; v < n; v += LANES) {
        const byte_sums_at sums = {.sum = {f->sum[0] + v, f->sum[1] + v, f->sum[2] + v,
                                           f->sum[3] + v},
                                   .n_planes = n_pairs_of(w),
                                   .step = BYTE_COLS,
                                   .adds = t->adds,
                                   .ends = t->ends};
        finish_byte_sums(w, &sums, i, t->j0 + j + v, m, n - v < LANES ? n - v : LANES);
    }
}

static void multiply_rows(const byte_product *w, byte_blocks *f, const byte_part *t, size_t i,
                          size_t m)
{
    byte_panel   plane[2] = {{.rows = {.m = m}, .n_quads = (t->n_k + QUAD - 1) / QUAD}};
    const size_t n_pairs = n_pairs_of(w);
    int32_t      extra[2][BYTE_ROWS];
    plane[1] = plane[0];
    for (size_t p = 0; p < w->n_a; p++) {
        fill_rows(w, f, t, p, i, m, &plane[p]);
        plane[p].rows.row_step = plane[p].a_step;
        find_extra(f, p, m, extra[p]);
    }
    for (size_t j = 0; j < t->n_j; j += BYTE_COLS) {
        const size_t n = t->n_j - j < BYTE_COLS ? t->n_j - j : BYTE_COLS;
        for (size_t pair = 0; pair < n_pairs; pair++) {
            const size_t p = pair / w->n_b;
            plane[p].b = f->b[j / BYTE_COLS * n_pairs + pair];
            plane[p].sum = f->sum[pair];
            plane[p].extra = is_shifted(w, pair) ? extra[p] : NULL;
            if (p == 0) run_high(&plane[p], (n + LANES - 1) / LANES);
            else run_low(&plane[p], (n + LANES - 1) / LANES);
        }
        finish_block(w, f, t, i, m, j, n);
    }
}

static void planes_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                        const drovek_planes *a, size_t lda, const drovek_planes *b, size_t ldb,
                        bool adds, float *c, size_t ldc, drovek_planes_end *end)
{
    byte_blocks        f;
    const byte_product w =
        product_of(trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, end, &f.most);
    const size_t most = BYTE_PANELS / n_pairs_of(&w) * BYTE_COLS;
    byte_part    t = {.adds = adds};
    do {
        t.n_k = k - t.k0 < DROVEK_PLANES_K ? k - t.k0 : DROVEK_PLANES_K;
        t.ends = end != NULL && t.k0 + t.n_k == k;
        for (t.j0 = 0; t.j0 < n; t.j0 += most) {
            t.n_j = n - t.j0 < most ? n - t.j0 : most;
            fill_panels(&w, &f, &t);
            for (size_t i = 0; i < m; i += BYTE_ROWS)
                multiply_rows(&w, &f, &t, i, m - i < BYTE_ROWS ? m - i : BYTE_ROWS);
        }
        t.adds = true;
        t.k0 += t.n_k;
    } while (t.k0 < k);
    tell_largest(&w, end);
}

#endif
