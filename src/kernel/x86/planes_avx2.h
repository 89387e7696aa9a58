/* kernel/x86/planes_avx2.h - rounding to integers kept as bytes, and the derivative of ReLU there
 * (kernel/planes.h), by AVX2. */
#ifndef DROVEK_X86_PLANES_AVX2_H
#define DROVEK_X86_PLANES_AVX2_H

#include "kernel/planes.h"

#include <stdalign.h>
#include <string.h>

enum {
    WORDS = DROVEK_BLOCK_BYTES / 2, /* random words, and numbers, of a block */
    RUN = 128,                      /* bytes whose sum fits 16 bits, unsigned ones as well */
    COLUMNS = 16                    /* whose sums a register holds */
};

/* ---- rounding ---- */

INLINE __m256i xorshift_states(__m256i s)
{
    s = _mm256_xor_si256(s, _mm256_slli_epi64(s, 13));
    s = _mm256_xor_si256(s, _mm256_srli_epi64(s, 7));
    return _mm256_xor_si256(s, _mm256_slli_epi64(s, 17));
}

/* (r + 0.5) / 2^16 of eight words */
INLINE vec random_of(__m128i words)
{
    return vec_fma(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(words)), vec_set(0x1p-16f),
                   vec_set(0x1p-17f));
}

/* The integers of eight numbers, within [-most - 1, most]; NaN is the lowest. */
INLINE __m256i rounded_numbers(vec x, vec inverse, vec random, float most)
{
    vec v = vec_fma(inverse, x, random);
    v = _mm256_min_ps(_mm256_max_ps(v, vec_set(-most - 1.0f)), vec_set(most));
    return _mm256_cvtps_epi32(vec_floor(v));
}

/* The low bytes of 32 integers, in order. */
INLINE __m256i low_bytes(const __m256i q[4])
{
    const __m256i byte = _mm256_set1_epi32(0xff);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a =
        _mm256_packus_epi32(_mm256_and_si256(q[0], byte), _mm256_and_si256(q[1], byte));
    const __m256i b =
        _mm256_packus_epi32(_mm256_and_si256(q[2], byte), _mm256_and_si256(q[3], byte));
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
}

/* What rounds x[WORDS] to the planes at `at`, by the random words r; to NULL: not wanted. */
INLINE void round_block(const drovek_planes *p, size_t at, float *to, const float *x, vec inverse,
                        const __m256i r[2], float most)
{
    __m256i q[4];
    UNROLL
    for (size_t s = 0; s < 4; s++) {
        const __m128i words =
            s % 2 == 0 ? _mm256_castsi256_si128(r[s / 2]) : _mm256_extracti128_si256(r[s / 2], 1);
        q[s] = rounded_numbers(_mm256_loadu_ps(x + s * LANES), inverse, random_of(words), most);
    }
    if (to != NULL) {
        UNROLL
        for (size_t s = 0; s < 4; s++)
            _mm256_storeu_ps(to + s * LANES, vec_mul(_mm256_cvtepi32_ps(q[s]), vec_set(p->unit)));
    }
    uint8_t *low = p->low != NULL ? p->low : p->high;
    _mm256_storeu_si256((void *)(low + at), low_bytes(q));
    if (p->low == NULL) return;
    UNROLL
    for (size_t s = 0; s < 4; s++) q[s] = _mm256_srai_epi32(q[s], 8);
    _mm256_storeu_si256((void *)(p->high + at), low_bytes(q));
}

/* The last n numbers, fewer than WORDS. */
static void round_last(const drovek_planes *p, size_t at, float *to, const float *x, size_t n,
                       vec inverse, const __m256i r[2], float most)
{
    uint8_t             high[WORDS], low[WORDS];
    float               from[WORDS] = {0.0f}, values[WORDS];
    const drovek_planes part = {high, p->low != NULL ? low : NULL, p->unit, NULL};
    memcpy(from, x, n * sizeof *x);
    round_block(&part, 0, values, from, inverse, r, most);
    memcpy(p->high + at, high, n);
    if (p->low != NULL) memcpy(p->low + at, low, n);
    if (to != NULL) memcpy(to, values, n * sizeof *to);
}

static void planes_round(const drovek_planes *p, float *to, const float *x, size_t n,
                         drovek_bits *bits)
{
    const bool     draws = bits->kind == DROVEK_BITS_XORSHIFT;
    const vec      inverse = vec_set(1.0f / p->unit);
    const float    most = p->low != NULL ? 32767.0f : 127.0f;
    const uint8_t *block = draws ? (const uint8_t *)bits->state : bits->block;
    __m256i        r[2];
    if (n == 0) return; /* a stream of no blocks is not read */
    UNROLL
    for (size_t h = 0; h < 2; h++) r[h] = _mm256_loadu_si256((const void *)(block + 32 * h));
    for (size_t i = 0; i < n; i += WORDS) {
        UNROLL
        for (size_t h = 0; h < 2; h++) {
            if (draws) r[h] = xorshift_states(r[h]);
            else if (bits->kind == DROVEK_BITS_STREAM)
                r[h] = _mm256_loadu_si256((const void *)(block + i / WORDS * 64 + 32 * h));
        }
        float *values = to != NULL ? to + i : NULL;
        if (n - i >= WORDS) round_block(p, i, values, x + i, inverse, r, most);
        else round_last(p, i, values, x + i, n - i, inverse, r, most);
    }
    UNROLL
    for (size_t h = 0; h < 2; h++)
        if (draws) _mm256_storeu_si256((void *)(bits->state + 4 * h), r[h]);
}

/* ---- derivatives ---- */

INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const void *)p);
}

/* The bytes of integers above 0 are all ones. */
INLINE __m128i above_zero_of(const drovek_planes *y, size_t at)
{
    const __m128i zero = _mm_setzero_si128(), high = load_16(y->high + at);
    const __m128i above = _mm_cmpgt_epi8(high, zero);
    if (y->low == NULL) return above;
    const __m128i low_zero = _mm_cmpeq_epi8(load_16(y->low + at), zero);
    return _mm_or_si128(above, _mm_andnot_si128(low_zero, _mm_cmpeq_epi8(high, zero)));
}

/* Sums of COLUMNS bytes: of at most RUN rows in words of 16 bits, of these in words of 32. */
typedef struct byte_sums {
    __m256i words, sum[2];
} byte_sums;

INLINE void end_run(byte_sums *s)
{
    const __m128i low = _mm256_castsi256_si128(s->words),
                  high = _mm256_extracti128_si256(s->words, 1);
    s->sum[0] = _mm256_add_epi32(s->sum[0], _mm256_cvtepi16_epi32(low));
    s->sum[1] = _mm256_add_epi32(s->sum[1], _mm256_cvtepi16_epi32(high));
    s->words = _mm256_setzero_si256();
}

/* total[COLUMNS] += factor * the sums, which begin again */
static void end_sums(byte_sums *s, double factor, double *total)
{
    alignas(32) int32_t sum[COLUMNS];
    for (size_t h = 0; h < 2; h++) {
        _mm256_store_si256((void *)(sum + h * LANES), s->sum[h]);
        s->sum[h] = _mm256_setzero_si256();
    }
    for (size_t o = 0; o < COLUMNS; o++) total[o] += factor * (double)sum[o];
}

/* One row: derivatives where `keep` has ones stay. */
INLINE void back_one_row(const drovek_planes *dy, size_t at, __m128i keep, byte_sums *high,
                         byte_sums *low, bool wide, bool relu)
{
    __m128i v = load_16(dy->high + at);
    if (relu) _mm_storeu_si128((void *)(dy->high + at), v = _mm_and_si128(keep, v));
    high->words = _mm256_add_epi16(high->words, _mm256_cvtepi8_epi16(v));
    if (!wide) return;
    v = load_16(dy->low + at);
    if (relu) _mm_storeu_si128((void *)(dy->low + at), v = _mm_and_si128(keep, v));
    low->words = _mm256_add_epi16(low->words, _mm256_cvtepu8_epi16(v));
}

/* The COLUMNS columns from column j on, of rows of `cols`; wide and relu: constants.  What is in
 * reach of two calls is the same after both. */
INLINE void back_columns(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                         size_t j, bool wide, bool relu, double *total)
{
    enum { MOST_RUNS = 1 << 16 }; /* of RUN bytes each: their sum fits 32 bits */
    byte_sums high = {0}, low = {0};
    size_t    run = 0, n_runs = 0;
    for (size_t i = 0, at = j; i < rows; i++, at += cols) {
        back_one_row(dy, at, relu ? above_zero_of(y, at) : _mm_setzero_si128(), &high, &low, wide,
                     relu);
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

static void back_columns_of(const drovek_planes *dy, const drovek_planes *y, size_t rows,
                            size_t cols, size_t j, bool relu, double *total)
{
    const bool wide = dy->low != NULL;
    if (wide && relu) back_columns(dy, y, rows, cols, j, true, true, total);
    else if (wide) back_columns(dy, y, rows, cols, j, true, false, total);
    else if (relu) back_columns(dy, y, rows, cols, j, false, true, total);
    else back_columns(dy, y, rows, cols, j, false, false, total);
}

/* total[cols] += the sums of a few rows, number by number */
static void back_plainly(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                         bool relu, double *total)
{
    for (size_t i = 0; i < rows * cols; i++) {
        if (relu && drovek_planes_at(y, i) <= 0) {
            dy->high[i] = 0;
            if (dy->low != NULL) dy->low[i] = 0;
        }
        total[i % cols] += (double)drovek_planes_at(dy, i);
    }
}

/* cols < COLUMNS: as many rows as two registers' columns hold are one row, whose sums are added at
 * the end. */
static void back_few_columns(const drovek_planes *dy, const drovek_planes *y, size_t rows,
                             size_t cols, bool relu, double *total)
{
    const size_t        n = (2 * COLUMNS - 1) / cols, wide_cols = n * cols, n_wide = rows / n;
    const drovek_planes dy_rest = drovek_planes_from(dy, n_wide * wide_cols),
                        y_rest = relu ? drovek_planes_from(y, n_wide * wide_cols) : *y;
    const size_t last = wide_cols - COLUMNS;
    double       first_sums[COLUMNS] = {0}, last_sums[COLUMNS] = {0};
    back_columns_of(dy, y, n_wide, wide_cols, 0, relu, first_sums);
    back_columns_of(dy, y, n_wide, wide_cols, last, relu, last_sums);
    for (size_t q = 0; q < wide_cols; q++)
        total[q % cols] += q < COLUMNS ? first_sums[q] : last_sums[q - last];
    back_plainly(&dy_rest, &y_rest, rows - n_wide * n, cols, relu, total);
}

static void put_bias(const drovek_planes *dy, size_t j, size_t n, const double *total, float *db)
{
    for (size_t o = 0; o < n; o++) db[j + o] = (float)total[o] * drovek_planes_unit(dy, j + o);
}

static void planes_back(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                        bool relu, float *db)
{
    if (cols < COLUMNS) {
        double total[COLUMNS] = {0};
        if (cols > 0) back_few_columns(dy, y, rows, cols, relu, total);
        put_bias(dy, 0, cols, total, db);
        return;
    }
    for (size_t j = 0; j < cols; j += COLUMNS) {
        double total[COLUMNS] = {0};
        if (cols - j < COLUMNS) j = cols - COLUMNS;
        back_columns_of(dy, y, rows, cols, j, relu, total);
        put_bias(dy, j, COLUMNS, total, db);
    }
}

#endif
