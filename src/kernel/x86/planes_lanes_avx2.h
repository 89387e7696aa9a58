/* kernel/x86/planes_lanes_avx2.h - products of integers kept as bytes (kernel/planes.h) by AVX2,
 * and by AVX-VNNI where DROVEK_AVX_VNNI is 1.
 *
 * A lane of 32 bits holds neighbours along k.  One instruction multiplies a lane of op(A), in all
 * eight lanes of a register, by those of eight columns of op(B), and adds up the products in each.
 *
 *   pairs   two words; copies widen the bytes.  AVX2: vpmaddwd and an addition; AVX-VNNI: vpdpwssd.
 *   quads   four bytes, of two factors of 8 bits, by instructions that take signed bytes and
 *           unsigned ones.  AVX-VNNI: vpdpbusd.  op(B) is copied with 128 more, and the sums begin
 *           with what that adds to them, negated: 128 times the sum of op(A)'s row.
 *           AVX2: vpmaddubsw, vpmaddwd by ones and an addition, where no integer of op(A) is
 *           negative, as behind ReLU.  vpmaddubsw adds two products in 16 bits, and would saturate:
 *           2 (127 x 128) fit.  What would do the same for negative ones takes as long as pairs.
 *
 * Sums are exact.  Of factors of 8 bits those of DROVEK_PLANES_K terms fit 32 bits.  Else those of
 * WIDE_TERMS do: op(A) is a word, and of an op(B) that has 16 bits as well each plane is multiplied
 * on its own.  Doubles hold the sums of more terms.
 */
#ifndef DROVEK_X86_PLANES_LANES_AVX2_H
#define DROVEK_X86_PLANES_LANES_AVX2_H

#include "kernel/x86/planes_copies_avx2.h"

enum {
    WIDE_TERMS = 256,                   /* 2^15 (2^8 - 1) 2^8 < 2^31 */
    MOST_PAIRS_K = DROVEK_PLANES_K / 2, /* lanes along k */
    LANE_ROWS = 48,                     /* of op(A) at a time: 198 KiB of stack */
    LANE_ROOM = 8 * MOST_PAIRS_K,       /* lanes along k of all panels: 512 KiB of stack */
    LANE_PAD = 8                        /* rows of op(A) in different sets of the first cache */
};

typedef struct lane_product {
    lane_factor  a, b;
    lane_kind    of_a, of_b[2];
    size_t       n_sums; /* 2: planes of op(B) on their own */
    bool         is_wide, in_quads;
    float        unit_a, unit_b;
    const float *by; /* of op(B)'s columns, times unit_b; NULL: 1 */
    size_t       m, n, k, ldc;
    float       *c;

    const drovek_planes_end *end; /* NULL: none */
} lane_product;

typedef struct lane_blocks {
    alignas(64) int32_t b[LANE_ROOM * LANE_COLS];                 /* [plane][panel][lane][column] */
    alignas(64) int32_t a[LANE_ROWS * (MOST_PAIRS_K + LANE_PAD)]; /* [row][lane] or [lane][row] */
    alignas(64) int32_t sum[2][LANE_ROWS * LANE_COLS];            /* [plane][row][column] */
    alignas(64) double total[LANE_ROWS * LANE_COLS];              /* of wide sums */
    int32_t   extra[LANE_ROWS]; /* what the sums of quads begin with */
    magnitude most;             /* of the numbers of C that are complete */
} lane_blocks;

/* The terms [k0, k0 + n_k) along k of columns [j0, j0 + n_j), whose lanes are there. */
typedef struct lane_part {
    size_t k0, n_k, j0, n_j;
    size_t n_lanes, room; /* along k; and for so many a panel has room */
    bool   adds, ends;    /* C has terms already; these are the last, and end follows */
} lane_part;

/* ---- instructions ---- */

#if DROVEK_AVX_VNNI
INLINE __m256i add_word_pairs(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_dpwssd_avx_epi32(sum, a, b);
}

/* a signed, b unsigned */
INLINE __m256i add_byte_quads(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_dpbusd_avx_epi32(sum, b, a);
}
#else
INLINE __m256i add_word_pairs(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

/* a at least 0, b signed */
INLINE __m256i add_byte_quads(__m256i sum, __m256i a, __m256i b)
{
    const __m256i pairs = _mm256_maddubs_epi16(a, b);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

/* ---- panels of op(B) ---- */

/* The lanes of n <= LANE_COLS columns of op(B); kind: a constant. */
INLINE void fill_panel(int32_t *to, const lane_product *w, const lane_part *t, size_t at, size_t n,
                       lane_kind kind)
{
    if (w->b.along) lanes_turned(to, &w->b, at, n, t->k0, t->n_k, kind);
    else lanes_across(to, LANE_COLS, &w->b, at, n, t->k0, t->n_k, kind);
}

static void fill_panels(const lane_product *w, lane_blocks *f, const lane_part *t)
{
    int32_t *to = f->b;
    for (size_t plane = 0; plane < w->n_sums; plane++)
        for (size_t j = 0; j < t->n_j; j += LANE_COLS, to += t->room * LANE_COLS) {
            const size_t n = t->n_j - j < LANE_COLS ? t->n_j - j : LANE_COLS, at = t->j0 + j;
            switch (w->of_b[plane]) {
            case HIGH_WORDS: fill_panel(to, w, t, at, n, HIGH_WORDS); break;
            case LOW_WORDS: fill_panel(to, w, t, at, n, LOW_WORDS); break;
            case WHOLE_WORDS: fill_panel(to, w, t, at, n, WHOLE_WORDS); break;
            case SIGNED_QUADS: fill_panel(to, w, t, at, n, SIGNED_QUADS); break;
            case RAISED_QUADS: fill_panel(to, w, t, at, n, RAISED_QUADS); break;
            }
        }
}

/* ---- rows of op(A) ---- */

/* Where the lanes of some rows are: lane p of row i at i * step + p * k_step, in bytes. */
typedef struct lane_rows {
    const uint8_t *a;
    size_t         step, k_step;
} lane_rows;

INLINE void rows_along(int32_t *to, size_t step, const lane_factor *f, size_t i, size_t m,
                       size_t k0, size_t n_k, lane_kind kind)
{
    for (size_t r = 0; r < m; r++, to += step)
        for (size_t p = 0; p < n_k; p += WIDENED)
            _mm256_storeu_si256((void *)(to + p / 2),
                                words_of(f, (i + r) * f->step + k0 + p, kind));
}

/* sum[m] = -128 times the sums of rows in place */
static void find_extra_along(int32_t *sum, const lane_factor *f, size_t i, size_t m, size_t k0,
                             size_t n_k)
{
    const __m256i one = _mm256_set1_epi8(1);
    for (size_t r = 0; r < m; r++) {
        __m256i all = _mm256_setzero_si256();
        for (size_t p = 0; p < n_k; p += 2 * WIDENED)
            all = add_byte_quads(all,
                                 lanes_along(f, (i + r) * f->step + k0 + p, n_k - p, SIGNED_QUADS),
                                 one);
        const __m128i four =
            _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
        const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        sum[r] = -128 * _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
    }
}

/* The same of a[n_lanes][LANE_ROWS] */
static void find_extra_across(int32_t *sum, const int32_t *a, size_t n_lanes)
{
    const __m256i one = _mm256_set1_epi8(1);
    for (size_t i = 0; i < LANE_ROWS; i += LANES) {
        __m256i all = _mm256_setzero_si256();
        for (size_t p = 0; p < n_lanes; p++)
            all =
                add_byte_quads(all, _mm256_load_si256((const void *)(a + p * LANE_ROWS + i)), one);
        _mm256_storeu_si256((void *)(sum + i), _mm256_mullo_epi32(all, _mm256_set1_epi32(-128)));
    }
}

/* Rows [i, i + m) of op(A); kind: a constant. */
INLINE lane_rows fill_rows_of(const lane_product *w, lane_blocks *f, const lane_part *t, size_t i,
                              size_t m, lane_kind kind)
{
    const size_t step = (t->n_k + WIDENED - 1) / WIDENED * LANES + LANE_PAD;
    if (!w->a.along) {
        lanes_across(f->a, LANE_ROWS, &w->a, i, m, t->k0, t->n_k, kind);
        if (kind == SIGNED_QUADS && DROVEK_AVX_VNNI) find_extra_across(f->extra, f->a, t->n_lanes);
        return (lane_rows){(const uint8_t *)f->a, sizeof *f->a, LANE_ROWS * sizeof *f->a};
    }
    if (kind == SIGNED_QUADS) {
        if (DROVEK_AVX_VNNI) find_extra_along(f->extra, &w->a, i, m, t->k0, t->n_k);
        return (lane_rows){w->a.high + i * w->a.step + t->k0, w->a.step, sizeof *f->a};
    }
    rows_along(f->a, step, &w->a, i, m, t->k0, t->n_k, kind);
    return (lane_rows){(const uint8_t *)f->a, step * sizeof *f->a, sizeof *f->a};
}

static lane_rows fill_rows(const lane_product *w, lane_blocks *f, const lane_part *t, size_t i,
                           size_t m)
{
    if (w->of_a == SIGNED_QUADS) return fill_rows_of(w, f, t, i, m, SIGNED_QUADS);
    if (w->of_a == HIGH_WORDS) return fill_rows_of(w, f, t, i, m, HIGH_WORDS);
    return fill_rows_of(w, f, t, i, m, WHOLE_WORDS);
}

/* ---- tiles ---- */

typedef struct lane_panel {
    panel          rows; /* m and row_step alone, for run_tiles */
    const uint8_t *a;
    size_t         step, k_step, n_lanes;
    const int32_t *b;     /* [lane][LANE_COLS] */
    const int32_t *extra; /* [m] what sums begin with; NULL: 0 */
    int32_t       *sum;   /* [m][LANE_COLS] */
} lane_panel;

INLINE __m256i lane_broadcast(const uint8_t *base, size_t offset)
{
    __m256i v;
    __asm__ volatile("vpbroadcastd (%1,%2), %0" : "=x"(v) : "r"(base), "r"(offset));
    return v;
}

/* Stands between the loop and the stores: without it gcc 12 keeps the sums in memory. */
INLINE void keep_sum(__m256i *sum)
{
    __asm__ volatile("" : "+x"(*sum));
}

/* rows, n_vec, in_quads: constants; rows * n_vec <= N_SUMS */
INLINE void lane_tile_of(const lane_panel *t, size_t i, size_t rows, size_t n_vec, bool in_quads)
{
    const uint8_t *a[2];
    size_t         step[4];
    const int32_t *b = t->b;
    __m256i        sum[N_SUMS], part[PANEL];
    UNROLL
    for (size_t q = 0; q < 2; q++) a[q] = t->a + (i + (4 * q < rows ? 4 * q : 0)) * t->step;
    UNROLL
    for (size_t q = 0; q < 4; q++) step[q] = q * t->step;
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++)
        sum[s] = _mm256_set1_epi32(in_quads && DROVEK_AVX_VNNI ? t->extra[i + s / n_vec] : 0);
    memory_written();
    for (size_t p = 0; p < t->n_lanes; p++, b += LANE_COLS) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++)
            part[v] = _mm256_load_si256((const void *)(b + v * LANES));
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256i x = lane_broadcast(a[r / 4], step[r % 4]);
            UNROLL
            for (size_t v = 0; v < n_vec; v++)
                sum[r * n_vec + v] = in_quads ? add_byte_quads(sum[r * n_vec + v], x, part[v])
                                              : add_word_pairs(sum[r * n_vec + v], x, part[v]);
        }
        UNROLL
        for (size_t q = 0; q < 2; q++) a[q] += t->k_step;
    }
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++) keep_sum(&sum[s]);
    UNROLL
    for (size_t s = 0; s < rows * n_vec; s++)
        _mm256_store_si256((void *)(t->sum + (i + s / n_vec) * LANE_COLS + s % n_vec * LANES),
                           sum[s]);
}

INLINE void word_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    lane_tile_of((const lane_panel *)(const void *)t, i, rows, n_vec, false);
}

INLINE void byte_tile(const panel *t, size_t i, size_t rows, size_t n_vec)
{
    lane_tile_of((const lane_panel *)(const void *)t, i, rows, n_vec, true);
}

static void run_pairs(const lane_panel *t, size_t n_vec)
{
    run_tiles(&t->rows, n_vec, word_tile);
}

static void run_quads(const lane_panel *t, size_t n_vec)
{
    run_tiles(&t->rows, n_vec, byte_tile);
}

/* ---- sums ---- */

/* total[m][LANE_COLS] = or += 256 times the first plane's sums + the second's; or one plane's */
static void add_wide(lane_blocks *f, size_t n_sums, size_t m, size_t n_vec, bool adds)
{
    const __m256d by = _mm256_set1_pd(256.0);
    for (size_t i = 0; i < m; i++)
        for (size_t j = i * LANE_COLS; j < i * LANE_COLS + n_vec * LANES; j += 4) {
            __m256d v = _mm256_cvtepi32_pd(_mm_load_si128((const void *)(f->sum[0] + j)));
            if (n_sums == 2)
                v = _mm256_fmadd_pd(
                    by, v, _mm256_cvtepi32_pd(_mm_load_si128((const void *)(f->sum[1] + j))));
            if (adds) v = _mm256_add_pd(v, _mm256_load_pd(f->total + j));
            _mm256_store_pd(f->total + j, v);
        }
}

/* What is the same for all rows. */
typedef struct lane_end {
    vec unit_a, unit_b, bias, low; /* of columns; numbers below `low` become it */
} lane_end;

/* Without a bias, -0 is added, which changes nothing, and nothing is below -infinity. */
INLINE lane_end end_of(const lane_product *w, size_t j, size_t n)
{
    lane_end t = {vec_set(w->unit_a), vec_set(w->unit_b), vec_set(-0.0f),
                  vec_set(-__builtin_inff())};
    if (w->by != NULL) t.unit_b = vec_mul(t.unit_b, vec_load(w->by + j, n));
    if (w->end == NULL || w->end->bias == NULL) return t;
    t.bias = racy_load(w->end->bias + j, n);
    if (w->end->relu) t.low = vec_set(0.0f);
    return t;
}

/* Eight sums, rounded to singles. */
INLINE vec sums_at(const lane_blocks *f, size_t at, bool is_wide)
{
    if (!is_wide) return _mm256_cvtepi32_ps(_mm256_load_si256((const void *)(f->sum[0] + at)));
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_load_pd(f->total + at + 4)),
                           _mm256_cvtpd_ps(_mm256_load_pd(f->total + at)));
}

/* C[m][n] at c, n <= LANES, = or += the sums of the panel's columns v on; is_wide, adds, ends:
 * constants */
INLINE void finish_rows(const lane_product *w, lane_blocks *f, lane_end t, float *c, size_t v,
                        size_t m, size_t n, bool is_wide, bool adds, bool ends)
{
    const lane_mask mask = first(n);
    magnitude       most = f->most;
    for (size_t r = 0; r < m; r++, c += w->ldc) {
        vec out = sums_at(f, r * LANE_COLS + v, is_wide);
        out = vec_mul(vec_mul(out, t.unit_a), t.unit_b);
        if (adds) out = vec_add(_mm256_maskload_ps(c, mask), out);
        if (ends) out = vec_max(t.low, vec_add(out, t.bias)); /* the second of NaN */
        if (ends) most = magnitude_max(most, _mm256_and_ps(out, _mm256_castsi256_ps(mask)));
        if (n == LANES) _mm256_storeu_ps(c, out);
        else _mm256_maskstore_ps(c, mask, out);
    }
    f->most = most;
}

INLINE void finish_kind(const lane_product *w, lane_blocks *f, const lane_part *t, size_t i,
                        size_t m, size_t j, size_t v, size_t n, bool is_wide)
{
    float         *c = w->c + i * w->ldc + j;
    const lane_end e = end_of(w, j, n);
    if (t->adds && t->ends) finish_rows(w, f, e, c, v, m, n, is_wide, true, true);
    else if (t->adds) finish_rows(w, f, e, c, v, m, n, is_wide, true, false);
    else if (t->ends) finish_rows(w, f, e, c, v, m, n, is_wide, false, true);
    else finish_rows(w, f, e, c, v, m, n, is_wide, false, false);
}

/* C's rows [i, i + m) and columns [j, j + n) get the sums of a panel. */
static void finish_panel(const lane_product *w, lane_blocks *f, const lane_part *t, size_t i,
                         size_t m, size_t j, size_t n)
{
    for (size_t v = 0; v < n; v += LANES) {
        const size_t count = n - v < LANES ? n - v : LANES;
        if (w->is_wide) finish_kind(w, f, t, i, m, j + v, v, count, true);
        else finish_kind(w, f, t, i, m, j + v, v, count, false);
    }
}

/* ---- the product ---- */

/* The sums of one panel: lanes [first, first + n_lanes) of both factors. */
static void multiply_lanes(const lane_product *w, lane_blocks *f, const lane_part *t,
                           const lane_rows *rows, size_t m, size_t panel_at, size_t n_vec,
                           size_t first_lane, size_t n_lanes)
{
    const size_t n_panels = (t->n_j + LANE_COLS - 1) / LANE_COLS;
    lane_panel   p = {.rows = {.m = m, .row_step = rows->step},
                      .a = rows->a + first_lane * rows->k_step,
                      .step = rows->step,
                      .k_step = rows->k_step,
                      .n_lanes = n_lanes,
                      .extra = f->extra};
    for (size_t plane = 0; plane < w->n_sums; plane++) {
        p.b = f->b + ((plane * n_panels + panel_at) * t->room + first_lane) * LANE_COLS;
        p.sum = f->sum[plane];
        if (w->in_quads) run_quads(&p, n_vec);
        else run_pairs(&p, n_vec);
    }
}

static void multiply_rows(const lane_product *w, lane_blocks *f, const lane_part *t, size_t i,
                          size_t m)
{
    const lane_rows rows = fill_rows(w, f, t, i, m);
    for (size_t j = 0; j < t->n_j; j += LANE_COLS) {
        const size_t n = t->n_j - j < LANE_COLS ? t->n_j - j : LANE_COLS;
        const size_t n_vec = (n + LANES - 1) / LANES, most = w->is_wide ? WIDE_TERMS / 2 : SIZE_MAX;
        size_t       p = 0;
        do {
            const size_t some = t->n_lanes - p < most ? t->n_lanes - p : most;
            multiply_lanes(w, f, t, &rows, m, j / LANE_COLS, n_vec, p, some);
            if (w->is_wide) add_wide(f, w->n_sums, m, n_vec, p > 0);
            p += some;
        } while (p < t->n_lanes);
        finish_panel(w, f, t, i, m, t->j0 + j, n);
    }
}

/* Whether no integer of rows [0, rows) is negative. */
static bool is_never_negative(const uint8_t *x, size_t step, size_t rows, size_t n)
{
    for (size_t i = 0; i < rows; i++, x += step)
        for (size_t j = 0; j < n; j += 2 * WIDENED) {
            const size_t   left = n - j;
            const uint32_t mask = left < 2 * WIDENED ? (1u << left) - 1 : UINT32_MAX;
            const __m256i  v = _mm256_loadu_si256((const void *)(x + j));
            if (((uint32_t)_mm256_movemask_epi8(v) & mask) != 0) return false;
        }
    return true;
}

/* Without its sizes and C; in_quads: of such factors. */
static lane_product lane_product_of(bool trans_a, bool trans_b, const drovek_planes *a, size_t lda,
                                    const drovek_planes *b, size_t ldb, bool in_quads)
{
    const lane_kind quads_of_b = DROVEK_AVX_VNNI ? RAISED_QUADS : SIGNED_QUADS;
    const bool      wide_a = a->low != NULL, wide_b = b->low != NULL;
    return (lane_product){.a = {a->high, a->low, lda, !trans_a},
                          .b = {b->high, b->low, ldb, trans_b},
                          .of_a = in_quads ? SIGNED_QUADS
                                  : wide_a ? WHOLE_WORDS
                                           : HIGH_WORDS,
                          .of_b = {in_quads            ? quads_of_b
                                   : wide_a || !wide_b ? HIGH_WORDS
                                                       : WHOLE_WORDS,
                                   LOW_WORDS},
                          .n_sums = wide_a && wide_b ? 2 : 1,
                          .is_wide = wide_a || wide_b,
                          .in_quads = in_quads,
                          .unit_a = a->unit,
                          .unit_b = b->unit,
                          .by = trans_b ? NULL : b->by};
}

static void planes_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                        const drovek_planes *a, size_t lda, const drovek_planes *b, size_t ldb,
                        bool adds, float *c, size_t ldc, drovek_planes_end *end)
{
    lane_blocks f;
    const bool  are_bytes = a->low == NULL && b->low == NULL;
    const bool  in_quads =
        are_bytes &&
        (DROVEK_AVX_VNNI || is_never_negative(a->high, lda, trans_a ? k : m, trans_a ? m : k));
    lane_product w = lane_product_of(trans_a, trans_b, a, lda, b, ldb, in_quads);
    lane_part    t = {.adds = adds};
    const size_t terms = w.in_quads ? 4 : 2;
    w.m = m, w.n = n, w.k = k, w.c = c, w.ldc = ldc, w.end = end;
    f.most = magnitude_zero();
    do {
        t.n_k = k - t.k0 < DROVEK_PLANES_K ? k - t.k0 : DROVEK_PLANES_K;
        t.ends = end != NULL && t.k0 + t.n_k == k;
        t.n_lanes = (t.n_k + terms - 1) / terms;
        t.room = t.n_lanes > LANES ? (t.n_lanes + LANES - 1) / LANES * LANES : LANES;
        const size_t most = LANE_ROOM / t.room / w.n_sums * LANE_COLS;
        for (t.j0 = 0; t.j0 < n; t.j0 += most) {
            t.n_j = n - t.j0 < most ? n - t.j0 : most;
            fill_panels(&w, &f, &t);
            for (size_t i = 0; i < m; i += LANE_ROWS)
                multiply_rows(&w, &f, &t, i, m - i < LANE_ROWS ? m - i : LANE_ROWS);
        }
        t.adds = true;
        t.k0 += t.n_k;
    } while (t.k0 < k);
    if (end == NULL) return;
    const uint32_t largest = magnitude_largest(f.most);
    if (largest > end->largest) end->largest = largest;
}

#endif
