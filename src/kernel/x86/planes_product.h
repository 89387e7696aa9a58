/* kernel/x86/planes_product.h - what products of integers kept as bytes (kernel/planes.h) have in
 * common on AVX-512: factors, words of four bytes, and sums of 32 bits that become C.  Sums of
 * products of bf16 (strips_amx.h), which are singles already, become C in the same way.
 */
#ifndef DROVEK_X86_PLANES_PRODUCT_H
#define DROVEK_X86_PLANES_PRODUCT_H

#include "base/racy.h"
#include "kernel/planes.h"

/* One plane of a factor. */
typedef struct byte_source {
    const uint8_t *x;
    size_t         step;
    bool           along; /* k runs along the rows of x */
} byte_source;

/* ---- copies ---- */

INLINE __mmask64 first_bytes_of(size_t n)
{
    return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* The bytes [0, 64) of x[n], zeros behind its end. */
INLINE __m512i load_bytes(const uint8_t *x, size_t n)
{
    return n >= 64 ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi8(first_bytes_of(n), x);
}

/* rows 0 to 3 of 64 columns; word[s]: four bytes each of columns 16 (c / 4) + 4 s + c % 4 */
INLINE void interleave_in_lanes(const __m512i row[4], __m512i word[4])
{
    const __m512i t0 = _mm512_unpacklo_epi8(row[0], row[1]),
                  t1 = _mm512_unpackhi_epi8(row[0], row[1]),
                  u0 = _mm512_unpacklo_epi8(row[2], row[3]),
                  u1 = _mm512_unpackhi_epi8(row[2], row[3]);
    word[0] = _mm512_unpacklo_epi16(t0, u0), word[1] = _mm512_unpackhi_epi16(t0, u0);
    word[2] = _mm512_unpacklo_epi16(t1, u1), word[3] = _mm512_unpackhi_epi16(t1, u1);
}

/* Lane l of v[s] becomes lane s of v[l]: lanes of four words. */
INLINE void transpose_lanes(__m512i v[4])
{
    const __m512i a = _mm512_shuffle_i64x2(v[0], v[1], 0x88),
                  b = _mm512_shuffle_i64x2(v[0], v[1], 0xdd),
                  c = _mm512_shuffle_i64x2(v[2], v[3], 0x88),
                  d = _mm512_shuffle_i64x2(v[2], v[3], 0xdd);
    v[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[1] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[2] = _mm512_shuffle_i64x2(a, c, 0xdd);
    v[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

/* rows 0 to 3 of 64 columns; word[s]: of columns 16 s and the next, four bytes each */
INLINE void interleave(const __m512i row[4], __m512i word[4])
{
    interleave_in_lanes(row, word);
    transpose_lanes(word);
}

/* ---- sums ---- */

typedef struct byte_product {
    byte_source  a[2], b[2]; /* planes */
    size_t       n_a, n_b;   /* of them */
    bool         is_bf16;    /* sums are singles; units are 1 */
    float        unit_a, unit_b;
    const float *by; /* of op(B)'s columns, times unit_b; NULL: 1 */
    size_t       m, n, k, ldc;
    float       *c;

    const drovek_planes_end *end;  /* NULL: none */
    magnitude               *most; /* of the numbers that are complete */
} byte_product;

/* A register of C: the exact sums of n_planes products of planes (a constant), of which the
 * first has both high planes and the last both low ones; i: where they are in each.  n_planes 0:
 * a sum of singles.
 *
 * T = 2^16 first + 2^8 middle + last = 2^24 upper + lower, lower = T modulo 2^24: both are singles,
 * as T is less than 2^48, so one fused multiplication and addition rounds T once. */
INLINE vec joined_sums(const int32_t *const sum[4], size_t n_planes, size_t i)
{
    const __m512i head = _mm512_load_si512(sum[0] + i);
    if (n_planes == 0) return _mm512_castsi512_ps(head);
    if (n_planes == 1) return _mm512_cvtepi32_ps(head);
    __m512i middle = n_planes == 4 ? _mm512_load_si512(sum[1] + i) : head;
    if (n_planes == 4) middle = _mm512_add_epi32(middle, _mm512_load_si512(sum[2] + i));
    const __m512i last = _mm512_load_si512(sum[n_planes - 1] + i);
    __m512i       upper = _mm512_add_epi32(middle, _mm512_srai_epi32(last, 8)), lower = middle;
    if (n_planes == 4) {
        upper = _mm512_srai_epi32(_mm512_add_epi32(head, _mm512_srai_epi32(upper, 8)), 8);
        lower = _mm512_add_epi32(_mm512_slli_epi32(head, 8), middle);
    } else {
        upper = _mm512_srai_epi32(upper, 16);
    }
    lower = _mm512_add_epi32(_mm512_slli_epi32(lower, 8), last);
    lower = _mm512_and_si512(lower, _mm512_set1_epi32(0xffffff));
    return vec_fma(_mm512_cvtepi32_ps(upper), vec_set(0x1p24f), _mm512_cvtepi32_ps(lower));
}

/* What is the same for all rows. */
typedef struct byte_end {
    vec unit_b, bias, low; /* of columns; numbers below `low` become it */
} byte_end;

/* Without a bias, -0 is added, which changes nothing, and nothing is below -infinity. */
INLINE byte_end end_of(const byte_product *w, size_t j, size_t n)
{
    byte_end t = {vec_set(w->unit_b), vec_set(-0.0f), vec_set(-__builtin_inff())};
    if (w->by != NULL) t.unit_b = vec_mul(t.unit_b, vec_load(w->by + j, n));
    if (w->end == NULL || w->end->bias == NULL) return t;
    t.bias = racy_load(w->end->bias + j, n);
    if (w->end->relu) t.low = vec_set(0.0f);
    return t;
}

/* Sums of 32 bits that C waits for: of `step` in a row, a number of pairs of planes. */
typedef struct byte_sums_at {
    const int32_t *sum[4];
    size_t         n_planes, step; /* n_planes 0: singles, in sum[0] */
    bool           adds, ends; /* C has terms already; it is complete then, and w->end follows */
} byte_sums_at;

/* C[m][n], n <= LANES, = or += the sums; n_planes, adds, ends: constants */
INLINE void finish_rows(const byte_product *w, const byte_sums_at *f, size_t n_planes, byte_end t,
                        float *c, size_t m, size_t n, bool adds, bool ends)
{
    const vec       unit_a = vec_set(w->unit_a);
    const lane_mask mask = n == LANES ? (lane_mask)0xffff : first(n);
    magnitude       most = ends ? *w->most : magnitude_zero();
    for (size_t r = 0; r < m; r++, c += w->ldc) {
        vec out = joined_sums(f->sum, n_planes, r * f->step);
        if (n_planes > 0) out = vec_mul(vec_mul(out, unit_a), t.unit_b);
        if (adds) out = vec_add(_mm512_maskz_loadu_ps(mask, c), out);
        if (ends) out = vec_max(t.low, vec_add(out, t.bias)); /* the second of NaN */
        if (ends) most = magnitude_max(most, _mm512_maskz_mov_ps(mask, out));
        _mm512_mask_storeu_ps(c, mask, out);
    }
    if (ends) *w->most = most;
}

INLINE void finish_planes(const byte_product *w, const byte_sums_at *f, size_t n_planes, size_t i,
                          size_t j, size_t m, size_t n)
{
    float         *c = w->c + i * w->ldc + j;
    const byte_end t = end_of(w, j, n);
    if (f->adds && f->ends) finish_rows(w, f, n_planes, t, c, m, n, true, true);
    else if (f->adds) finish_rows(w, f, n_planes, t, c, m, n, true, false);
    else if (f->ends) finish_rows(w, f, n_planes, t, c, m, n, false, true);
    else finish_rows(w, f, n_planes, t, c, m, n, false, false);
}

/* C's rows i and columns j on, m x n of them, n <= LANES, get their sums. */
static void finish_byte_sums(const byte_product *w, const byte_sums_at *f, size_t i, size_t j,
                             size_t m, size_t n)
{
    if (f->n_planes == 0) finish_planes(w, f, 0, i, j, m, n);
    else if (f->n_planes == 1) finish_planes(w, f, 1, i, j, m, n);
    else if (f->n_planes == 2) finish_planes(w, f, 2, i, j, m, n);
    else finish_planes(w, f, 4, i, j, m, n);
}

INLINE byte_product product_of(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                               const drovek_planes *a, size_t lda, const drovek_planes *b,
                               size_t ldb, float *c, size_t ldc, const drovek_planes_end *end,
                               magnitude *most)
{
    *most = magnitude_zero();
    return (byte_product){.a = {{a->high, lda, !trans_a}, {a->low, lda, !trans_a}},
                          .b = {{b->high, ldb, trans_b}, {b->low, ldb, trans_b}},
                          .n_a = a->low != NULL ? 2 : 1,
                          .n_b = b->low != NULL ? 2 : 1,
                          .unit_a = a->unit,
                          .unit_b = b->unit,
                          .by = trans_b ? NULL : b->by,
                          .m = m,
                          .n = n,
                          .k = k,
                          .ldc = ldc,
                          .c = c,
                          .end = end,
                          .most = most};
}

INLINE void tell_largest(const byte_product *w, drovek_planes_end *end)
{
    if (end == NULL) return;
    const uint32_t largest = magnitude_largest(*w->most);
    if (largest > end->largest) end->largest = largest;
}

#endif
