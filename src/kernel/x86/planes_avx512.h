/* kernel/x86/planes_avx512.h - rounding to integers kept as bytes, and the derivative of ReLU
 * there (kernel/planes.h). */
#ifndef DROVEK_X86_PLANES_AVX512_H
#define DROVEK_X86_PLANES_AVX512_H

#include "kernel/planes.h"

enum {
    WORDS = DROVEK_BLOCK_BYTES / 2, /* random words, and numbers, of a block */
    RUN = 128,                      /* bytes whose sum fits 16 bits, unsigned ones as well */
    COLUMNS = 64
};

INLINE __mmask64 first_of_64(size_t n)
{
    return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* ---- rounding ---- */

INLINE __m512i xorshift_states(__m512i s)
{
    s = _mm512_xor_si512(s, _mm512_slli_epi64(s, 13));
    s = _mm512_xor_si512(s, _mm512_srli_epi64(s, 7));
    return _mm512_xor_si512(s, _mm512_slli_epi64(s, 17));
}

/* (r + 0.5) / 2^16 of 16 words */
INLINE vec random_of(__m256i words)
{
    return vec_fma(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(words)), vec_set(0x1p-16f),
                   vec_set(0x1p-17f));
}

/* The integers of 16 numbers, within [-most - 1, most]; NaN is the lowest. */
INLINE __m512i rounded_numbers(vec x, vec inverse, vec random, float most)
{
    vec v = vec_fma(inverse, x, random);
    v = _mm512_min_ps(_mm512_max_ps(v, vec_set(-most - 1.0f)), vec_set(most));
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

INLINE void put_integers(const drovek_planes *p, size_t at, __m512i q, lane_mask mask)
{
    if (p->low == NULL) {
        _mm512_mask_cvtepi32_storeu_epi8(p->high + at, mask, q);
        return;
    }
    _mm512_mask_cvtepi32_storeu_epi8(p->low + at, mask, q);
    _mm512_mask_cvtepi32_storeu_epi8(p->high + at, mask, _mm512_srai_epi32(q, 8));
}

/* The numbers [at, at + n), n <= LANES, with the random words r. */
INLINE void round_lanes(const drovek_planes *p, float *to, const float *x, size_t at, size_t n,
                        vec inverse, __m256i r, float most)
{
    const __m512i q = rounded_numbers(vec_load(x + at, n), inverse, random_of(r), most);
    put_integers(p, at, q, n == LANES ? (lane_mask)0xffff : first(n));
    if (to != NULL) vec_store(to + at, vec_mul(_mm512_cvtepi32_ps(q), vec_set(p->unit)), n);
}

/* kind: a constant */
INLINE void round_blocks(const drovek_planes *p, float *to, const float *x, size_t n,
                         drovek_bits *bits, drovek_bits_kind kind, float most)
{
    const vec      inverse = vec_set(1.0f / p->unit);
    const uint8_t *block = bits->block;
    __m512i        r =
        kind == DROVEK_BITS_XORSHIFT ? _mm512_loadu_si512(bits->state) : _mm512_loadu_si512(block);
    for (size_t i = 0; i < n; i += WORDS) {
        if (kind == DROVEK_BITS_XORSHIFT) r = xorshift_states(r);
        if (kind == DROVEK_BITS_STREAM) r = _mm512_loadu_si512(block + i / WORDS * 64);
        const __m256i low = _mm512_castsi512_si256(r), high = _mm512_extracti64x4_epi64(r, 1);
        if (n - i >= WORDS) {
            round_lanes(p, to, x, i, LANES, inverse, low, most);
            round_lanes(p, to, x, i + LANES, LANES, inverse, high, most);
            continue;
        }
        const size_t left = n - i;
        round_lanes(p, to, x, i, left < LANES ? left : LANES, inverse, low, most);
        if (left > LANES) round_lanes(p, to, x, i + LANES, left - LANES, inverse, high, most);
    }
    if (kind == DROVEK_BITS_XORSHIFT && n > 0) _mm512_storeu_si512(bits->state, r);
}

/* Bytes alone, with one block for all of x[n]: 64 at a time; returns how many.  per: integers per
 * unit of x. */
static size_t round_bytes(uint8_t *to, const float *x, size_t n, float per, const uint8_t *block)
{
    /* what packing, lane by lane, has made of four registers */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i words = _mm512_loadu_si512(block);
    const vec     inverse = vec_set(per), most = vec_set(127.0f);
    const vec     random[2] = {random_of(_mm512_castsi512_si256(words)),
                               random_of(_mm512_extracti64x4_epi64(words, 1))};
    size_t        i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512i q[4];
        UNROLL
        for (size_t t = 0; t < 4; t++) { /* NaN and numbers far below become the lowest integer */
            const vec v = vec_fma(inverse, _mm512_loadu_ps(x + i + t * LANES), random[t % 2]);
            q[t] = _mm512_cvt_roundps_epi32(_mm512_min_ps(most, v),
                                            _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        }
        const __m512i all =
            _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
        _mm512_storeu_si512(to + i, _mm512_permutexvar_epi32(order, all));
    }
    return i;
}

INLINE void round_kinds(const drovek_planes *p, float *to, const float *x, size_t n,
                        drovek_bits *bits, float most)
{
    if (bits->kind == DROVEK_BITS_XORSHIFT)
        round_blocks(p, to, x, n, bits, DROVEK_BITS_XORSHIFT, most);
    else if (bits->kind == DROVEK_BITS_STREAM)
        round_blocks(p, to, x, n, bits, DROVEK_BITS_STREAM, most);
    else round_blocks(p, to, x, n, bits, DROVEK_BITS_FIXED, most);
}

static void planes_round(const drovek_planes *p, float *to, const float *x, size_t n,
                         drovek_bits *bits)
{
    size_t at = 0;
    if (p->low == NULL && to == NULL && bits->kind == DROVEK_BITS_FIXED)
        at = round_bytes(p->high, x, n, 1.0f / p->unit, bits->block);
    const drovek_planes rest = drovek_planes_from(p, at);
    if (p->low != NULL) round_kinds(p, to, x, n, bits, 32767.0f);
    else round_kinds(&rest, to, x + at, n - at, bits, 127.0f);
}

/* ---- derivatives ---- */

INLINE __m512i load_64(const uint8_t *p, size_t n)
{
    return n == COLUMNS ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(first_of_64(n), p);
}

INLINE void store_64(uint8_t *p, size_t n, __m512i v)
{
    if (n == COLUMNS) _mm512_storeu_si512(p, v);
    else _mm512_mask_storeu_epi8(p, first_of_64(n), v);
}

/* Bytes whose integers are above 0. */
INLINE __mmask64 above_zero_of(const drovek_planes *y, size_t at, size_t n)
{
    const __m512i zero = _mm512_setzero_si512(), high = load_64(y->high + at, n);
    __mmask64     mask = _mm512_cmpgt_epi8_mask(high, zero);
    if (y->low == NULL) return mask;
    const __m512i low = load_64(y->low + at, n);
    return mask | (_mm512_cmpeq_epi8_mask(high, zero) & _mm512_test_epi8_mask(low, low));
}

/* Sums of 64 bytes: at most RUN rows in words of 16 bits, then in words of 32. */
typedef struct byte_sums {
    __m512i words[2], sum[4];
} byte_sums;

INLINE void add_signed(byte_sums *s, __m512i v)
{
    s->words[0] = _mm512_add_epi16(s->words[0], _mm512_cvtepi8_epi16(_mm512_castsi512_si256(v)));
    s->words[1] =
        _mm512_add_epi16(s->words[1], _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(v, 1)));
}

INLINE void add_unsigned(byte_sums *s, __m512i v)
{
    s->words[0] = _mm512_add_epi16(s->words[0], _mm512_cvtepu8_epi16(_mm512_castsi512_si256(v)));
    s->words[1] =
        _mm512_add_epi16(s->words[1], _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(v, 1)));
}

INLINE void end_run(byte_sums *s)
{
    UNROLL
    for (size_t h = 0; h < 2; h++) {
        const __m512i w = s->words[h];
        s->sum[2 * h] =
            _mm512_add_epi32(s->sum[2 * h], _mm512_cvtepi16_epi32(_mm512_castsi512_si256(w)));
        s->sum[2 * h + 1] =
            _mm512_add_epi32(s->sum[2 * h + 1],
                             _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(w, 1)));
        s->words[h] = _mm512_setzero_si512();
    }
}

/* total[COLUMNS] += factor * the sums, which begin again */
static void end_sums(byte_sums *s, double factor, double *total)
{
    alignas(64) int32_t sum[COLUMNS];
    for (size_t q = 0; q < 4; q++) {
        _mm512_store_si512(sum + q * LANES, s->sum[q]);
        s->sum[q] = _mm512_setzero_si512();
    }
    for (size_t o = 0; o < COLUMNS; o++) total[o] += factor * (double)sum[o];
}

/* n columns, at most COLUMNS, from column j on; wide and relu: constants */
INLINE void back_columns(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                         size_t j, size_t n, bool wide, bool relu, double *total)
{
    enum { MOST_RUNS = 1 << 16 }; /* of RUN bytes each: their sum fits 32 bits */
    byte_sums high = {0}, low = {0};
    size_t    run = 0, n_runs = 0;
    for (size_t i = 0, at = j; i < rows; i++, at += cols) {
        const __mmask64 keep = relu ? above_zero_of(y, at, n) : ~0ull;
        const __m512i   v = _mm512_maskz_mov_epi8(keep, load_64(dy->high + at, n));
        add_signed(&high, v);
        if (relu) store_64(dy->high + at, n, v);
        if (wide) {
            const __m512i u = _mm512_maskz_mov_epi8(keep, load_64(dy->low + at, n));
            add_unsigned(&low, u);
            if (relu) store_64(dy->low + at, n, u);
        }
        if (++run < RUN && i + 1 < rows) continue;
        run = 0;
        end_run(&high);
        if (wide) end_run(&low);
        if (++n_runs < MOST_RUNS && i + 1 < rows) continue;
        n_runs = 0;
        end_sums(&high, wide ? 256.0 : 1.0, total);
        if (wide) end_sums(&low, 1.0, total);
    }
}

INLINE void back_columns_of(const drovek_planes *dy, const drovek_planes *y, size_t rows,
                            size_t cols, size_t j, size_t n, bool relu, double *total)
{
    const bool wide = dy->low != NULL;
    if (wide && relu) back_columns(dy, y, rows, cols, j, n, true, true, total);
    else if (wide) back_columns(dy, y, rows, cols, j, n, true, false, total);
    else if (relu) back_columns(dy, y, rows, cols, j, n, false, true, total);
    else back_columns(dy, y, rows, cols, j, n, false, false, total);
}

/* Few columns: so many rows that fill a register are one, and their sums are added at the end. */
static void back_few_columns(const drovek_planes *dy, const drovek_planes *y, size_t rows,
                             size_t cols, bool relu, double *total)
{
    const size_t        n = COLUMNS / cols, n_wide = rows / n, first = n_wide * n * cols;
    const drovek_planes dy_rest = drovek_planes_from(dy, first),
                        y_rest = relu ? drovek_planes_from(y, first) : *y;
    double wide[COLUMNS] = {0};
    back_columns_of(dy, y, n_wide, n * cols, 0, n * cols, relu, wide);
    back_columns_of(&dy_rest, &y_rest, rows - n_wide * n, cols, 0, cols, relu, total);
    for (size_t q = 0; q < n; q++)
        for (size_t o = 0; o < cols; o++) total[o] += wide[q * cols + o];
}

static void planes_back(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                        bool relu, float *db)
{
    for (size_t j = 0; j < cols; j += COLUMNS) {
        const size_t n = cols - j < COLUMNS ? cols - j : COLUMNS;
        double       total[COLUMNS] = {0};
        if (2 * cols <= COLUMNS) back_few_columns(dy, y, rows, cols, relu, total);
        else back_columns_of(dy, y, rows, cols, j, n, relu, total);
        for (size_t o = 0; o < n; o++) db[j + o] = (float)total[o] * drovek_planes_unit(dy, j + o);
    }
}

#endif
