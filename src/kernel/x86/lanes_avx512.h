/* kernel/x86/lanes_avx512.h - sixteen floats in one register: what lanes.h is made of, and the
 * operations whose instructions AVX2 has not (lanes_avx2.h has the same names). */
#ifndef DROVEK_X86_LANES_AVX512_H
#define DROVEK_X86_LANES_AVX512_H

#include "kernel/inline.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what lanes.h is made of ---- */

#define MM(operation)       _mm512_##operation
#define MM_WHOLE(operation) _mm512_##operation##_si512

enum { LANES = 16, N_REGISTERS = 32 };
typedef __m512    vec;
typedef __m512d   vec_doubles;
typedef __m512i   vec_u32;
typedef __mmask16 lane_mask, vec_bool;
typedef float     lanes_at[LANES];

#define COMPARE(a, b, how)  _mm512_cmp_ps_mask(a, b, how)
#define TO_INTEGRAL(a, how) _mm512_roundscale_ps(a, (how) | _MM_FROUND_NO_EXC)
#define RSQRT_ESTIMATE(a)   _mm512_rsqrt14_ps(a)

/* clang-format off */
INLINE vec as_floats(__m512i a) { return _mm512_castsi512_ps(a); }
INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
INLINE vec vec_select(vec_bool at, vec a, vec other) { return _mm512_mask_mov_ps(other, at, a); }
INLINE vec_bool either(vec_bool a, vec_bool b) { return a | b; }
INLINE uint32_t bits_of(vec_bool a) { return a; }
INLINE __m512d low_doubles(vec a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
INLINE __m512d high_doubles(vec a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
INLINE double sum_of_doubles(__m512d a) { return _mm512_reduce_add_pd(a); }
/* clang-format on */

INLINE lane_mask first(size_t count)
{
    return (lane_mask)((1u << count) - 1u);
}

INLINE vec racy_load_masked(const float *p, lane_mask mask)
{
    vec v;
    __asm__ volatile("vmovups %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const lanes_at *)p), "Yk"(mask));
    return v;
}

#include "kernel/x86/lanes.h"

/* ---- memory ---- */

INLINE vec vec_load(const float *p, size_t count)
{
    return count == LANES ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(first(count), p);
}

INLINE void vec_store(float *p, vec v, size_t count)
{
    if (count == LANES) {
        _mm512_storeu_ps(p, v);
        return;
    }
    __m256 eight = _mm512_castps512_ps256(v);
    if (count & 8) {
        _mm256_storeu_ps(p, eight);
        p += 8;
        eight = _mm512_extractf32x8_ps(v, 1);
    }
    __m128 four = _mm256_castps256_ps128(eight);
    if (count & 4) {
        _mm_storeu_ps(p, four);
        p += 4;
        four = _mm256_extractf128_ps(eight, 1);
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)p, four);
        p += 2;
        four = _mm_movehl_ps(four, four);
    }
    if (count & 1) _mm_store_ss(p, four);
}

INLINE void racy_store(float *p, vec v, size_t count)
{
    if (count == LANES) {
        __asm__ volatile("vmovups %1, %0" : "=m"(*(lanes_at *)p) : "v"(v));
        return;
    }
    __m256 eight = _mm512_castps512_ps256(v);
    if (count & 8) {
        __asm__ volatile("vmovups %1, %0" : "=m"(*(float(*)[8])p) : "v"(eight));
        p += 8;
        eight = _mm512_extractf32x8_ps(v, 1);
    }
    __m128 four = _mm256_castps256_ps128(eight);
    if (count & 4) {
        __asm__ volatile("vmovups %1, %0" : "=m"(*(float(*)[4])p) : "v"(four));
        p += 4;
        four = _mm256_extractf128_ps(eight, 1);
    }
    if (count & 2) {
        __asm__ volatile("vmovlps %1, %0" : "=m"(*(float(*)[2])p) : "v"(four));
        p += 2;
        four = _mm_movehl_ps(four, four);
    }
    if (count & 1) __asm__ volatile("vmovss %1, %0" : "=m"(*p) : "v"(four));
}

/* ---- arithmetic ---- */

/* 0 in the first `count` lanes, -infinity in the others */
INLINE vec vec_absent(size_t count)
{
    return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), first(count), _mm512_setzero_ps());
}

/* p 2^n for integral n; underflow and overflow follow the rounding */
INLINE vec vec_scale2(vec p, vec n)
{
    return _mm512_scalef_ps(p, n);
}

/* ---- across the lanes: fixed trees ---- */

INLINE float vec_largest(vec a)
{
    return _mm512_reduce_max_ps(a);
}

/* {sum of row[0], ... sum of row[LANES - 1]} */
INLINE vec vec_sum_rows(const vec row[LANES])
{
    vec pair[8], quad[4], half[2];
    UNROLL
    for (int i = 0; i < 8; i++) {
        pair[i] = _mm512_add_ps(_mm512_unpacklo_ps(row[2 * i], row[2 * i + 1]),
                                _mm512_unpackhi_ps(row[2 * i], row[2 * i + 1]));
    }
    UNROLL
    for (int i = 0; i < 4; i++) { /* each 128 bits: partial sums of rows 4 i .. 4 i + 3 */
        __m512d a = _mm512_castps_pd(pair[2 * i]), b = _mm512_castps_pd(pair[2 * i + 1]);
        quad[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                                _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        half[i] = _mm512_add_ps(_mm512_shuffle_f32x4(quad[2 * i], quad[2 * i + 1], 0x88),
                                _mm512_shuffle_f32x4(quad[2 * i], quad[2 * i + 1], 0xdd));
    }
    return _mm512_add_ps(_mm512_shuffle_f32x4(half[0], half[1], 0x88),
                         _mm512_shuffle_f32x4(half[0], half[1], 0xdd));
}

/* row[i] lane j becomes row[j] lane i. */
INLINE void vec_transpose(vec row[LANES])
{
    vec pair[16], quad[16];
    UNROLL
    for (int i = 0; i < 8; i++) {
        pair[2 * i] = _mm512_unpacklo_ps(row[2 * i], row[2 * i + 1]);
        pair[2 * i + 1] = _mm512_unpackhi_ps(row[2 * i], row[2 * i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16;
         i += 4) { /* quad[i + j], 128 bits q: rows i .. i + 3 of column 4 q + j */
        __m512d a = _mm512_castps_pd(pair[i]), b = _mm512_castps_pd(pair[i + 1]);
        __m512d c = _mm512_castps_pd(pair[i + 2]), d = _mm512_castps_pd(pair[i + 3]);
        quad[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        quad[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        quad[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        quad[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        vec even_low = _mm512_shuffle_f32x4(quad[j], quad[4 + j], 0x88);
        vec odd_low = _mm512_shuffle_f32x4(quad[j], quad[4 + j], 0xdd);
        vec even_high = _mm512_shuffle_f32x4(quad[8 + j], quad[12 + j], 0x88);
        vec odd_high = _mm512_shuffle_f32x4(quad[8 + j], quad[12 + j], 0xdd);
        row[j] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
        row[4 + j] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
        row[8 + j] = _mm512_shuffle_f32x4(even_low, even_high, 0xdd);
        row[12 + j] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
    }
}

INLINE uint32_t magnitude_largest(magnitude a)
{
    return _mm512_reduce_max_epu32(a);
}

/* Appends the lanes of x chosen by `mask`, and their positions base + lane, to two lists with room
 * for LANES more; returns how many. */
INLINE size_t vec_append(uint32_t *index, float *value, vec x, uint32_t mask, uint32_t base)
{
    __mmask16 chosen = (__mmask16)mask;
    __m512i   lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i   place = _mm512_add_epi32(lane, _mm512_set1_epi32((int)base));
    _mm512_storeu_ps(value, _mm512_maskz_compress_ps(chosen, x));
    _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(chosen, place));
    return (size_t)__builtin_popcount(mask);
}

/* a with `minus` subtracted from lane `lane` */
INLINE vec vec_sub_lane(vec a, uint32_t lane, float minus)
{
    return _mm512_mask_sub_ps(a, (__mmask16)(1u << lane), a, _mm512_set1_ps(minus));
}

/* LANES bytes as floats */
INLINE vec vec_widen_u8(const uint8_t *p, size_t count)
{
    __m128i bytes = count == LANES ? _mm_loadu_si128((const __m128i *)p)
                                   : _mm_maskz_loadu_epi8(first(count), p);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

/* LANES words of 16 bits as floats */
INLINE vec vec_widen_i16(const int16_t *p, size_t count)
{
    __m256i words = count == LANES ? _mm256_loadu_si256((const __m256i *)p)
                                   : _mm256_maskz_loadu_epi16(first(count), p);
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(words));
}

/* ---- bytes ---- */

/* The lanes of v, whole numbers in [0, 255], as bytes */
INLINE void vec_store_u8(uint8_t *p, vec v, size_t count)
{
    __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v));
    if (count == LANES) _mm_storeu_si128((__m128i *)p, bytes);
    else _mm_mask_storeu_epi8(p, first(count), bytes);
}

/* ---- words of 32 bits ---- */

/* {0, 1, 2, ...} */
INLINE vec_u32 u32_count(void)
{
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* v where a >> 8 >= least, else 0; least < 2^31 */
INLINE vec vec_where_least(vec_u32 a, vec_u32 least, vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(_mm512_srli_epi32(a, 8), least), v);
}

/* ---- neighbours ---- */

/* {low[n], ..., low[LANES - 1], high[0], ..., high[n - 1]}, n a constant */
#define vec_join(low, high, n)                                                                     \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(high), _mm512_castps_si512(low), n))

/* ---- bytes that select where to add ---- */

typedef __m128i vec_bytes;

INLINE vec_bytes bytes_load(const uint8_t *p, size_t count)
{
    return count == LANES ? _mm_loadu_si128((const __m128i *)p)
                          : _mm_maskz_loadu_epi8(first(count), p);
}

/* Each byte less `value`; results below 0 match no value that vec_add_where tests. */
INLINE vec_bytes bytes_minus(vec_bytes bytes, uint8_t value)
{
    return _mm_sub_epi8(bytes, _mm_set1_epi8((char)value));
}

/* sum + v where the byte is `value` */
INLINE vec vec_add_where(vec sum, vec_bytes bytes, uint8_t value, vec v)
{
    return _mm512_mask_add_ps(sum, _mm_cmpeq_epi8_mask(bytes, _mm_set1_epi8((char)value)), sum, v);
}

/* ---- codes ---- */

/* LANES words of 16 bits as floats, and whole numbers in [0, 65535] as 16-bit words */
INLINE vec vec_widen_u16(const uint16_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}

INLINE void vec_store_u16(uint16_t *p, vec v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(v)));
}

/* Lane i: then where bit i is set, otherwise `other` */
INLINE vec vec_from_bits(uint32_t bits, vec then, vec other)
{
    return _mm512_mask_mov_ps(other, (__mmask16)bits, then);
}

/* ---- bf16 (kernel/bf16.h) ---- */

#if defined(__AVX512BF16__)

enum { HAS_DOT_PAIRS = 1 };

/* Each element to the nearest bf16 number. */
INLINE vec vec_bf16(vec a)
{
    __m512i words = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(a));
    return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}

/* The bf16 words of a, then those of b; two words in each lane. */
INLINE vec vec_words(vec a, vec b)
{
    return _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(b, a));
}

/* sum + low x low + high x high of the two bf16 words of each lane */
INLINE vec vec_dot_pairs(vec sum, vec x, vec y)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x),
                            (__m512bh)_mm512_castps_si512(y));
}

#else

enum { HAS_DOT_PAIRS = 0 };

/* Each element to the nearest bf16 number. */
INLINE vec vec_bf16(vec a)
{
    __m512i bits = _mm512_castps_si512(a);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    up = _mm512_mask_or_epi32(up, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), bits,
                              _mm512_set1_epi32(0x400000));
    return _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(-0x10000)));
}

/* The bf16 words of a, then those of b; two words in each lane. */
INLINE vec vec_words(vec a, vec b)
{
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(vec_bf16(a)), 16);
    __m512i high = _mm512_srli_epi32(_mm512_castps_si512(vec_bf16(b)), 16);
    __m512i words = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(low));
    words = _mm512_inserti64x4(words, _mm512_cvtepi32_epi16(high), 1);
    return _mm512_castsi512_ps(words);
}

/* Only where HAS_DOT_PAIRS. */
INLINE vec vec_dot_pairs(vec sum, vec x, vec y)
{
    (void)x, (void)y;
    return sum;
}

#endif

/* The bf16 words of a in the low halves of the lanes, those of b in the high ones. */
INLINE vec vec_pairs(vec a, vec b)
{
#if defined(__AVX512BF16__)
    const __m512i order =
        _mm512_set_epi32(0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009,
                         0x180008, 0x170007, 0x160006, 0x150005, 0x140004, 0x130003, 0x120002,
                         0x110001, 0x100000);
    return _mm512_castsi512_ps(
        _mm512_permutexvar_epi16(order, _mm512_castps_si512(vec_words(a, b))));
#else
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(vec_bf16(a)), 16);
    return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_castps_si512(vec_bf16(b))));
#endif
}

/* ---- words: LANES of bf16 in memory ---- */

typedef uint16_t words_at[LANES];

/* [racy] */
INLINE vec words_load(const uint16_t *p)
{
    __m256i words;
    __asm__ volatile("vmovdqu32 %1, %0" : "=v"(words) : "m"(*(const words_at *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}

/* The upper halves. [racy] */
INLINE void words_store(uint16_t *p, vec v)
{
    __m256i words = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(v), 16));
    __asm__ volatile("vmovdqu32 %1, %0" : "=m"(*(words_at *)p) : "v"(words));
}

/* The words are added to the bits. */
INLINE vec vec_add_words(vec v, const uint16_t *r)
{
    __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)r));
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(v), words));
}

#endif
