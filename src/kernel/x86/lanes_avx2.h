/* kernel/x86/lanes_avx2.h - eight floats in one register (AVX2 and FMA): the names of lanes.h and
 * lanes_avx512.h, which document them. */
#ifndef DROVEK_X86_LANES_AVX2_H
#define DROVEK_X86_LANES_AVX2_H

#include "kernel/inline.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what lanes.h is made of ---- */

#define MM(operation)       _mm256_##operation
#define MM_WHOLE(operation) _mm256_##operation##_si256

enum { LANES = 8, N_REGISTERS = 16 };
typedef __m256  vec, vec_bool;
typedef __m256d vec_doubles;
typedef __m256i vec_u32, lane_mask; /* mask: all bits of a lane, or none */
typedef float   lanes_at[LANES];

#define COMPARE(a, b, how)  _mm256_cmp_ps(a, b, how)
#define TO_INTEGRAL(a, how) _mm256_round_ps(a, (how) | _MM_FROUND_NO_EXC)
#define RSQRT_ESTIMATE(a)   _mm256_rsqrt_ps(a)

/* clang-format off */
INLINE vec as_floats(__m256i a) { return _mm256_castsi256_ps(a); }
INLINE vec vec_abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
INLINE vec vec_select(vec_bool at, vec a, vec other) { return _mm256_blendv_ps(other, a, at); }
INLINE vec_bool either(vec_bool a, vec_bool b) { return _mm256_or_ps(a, b); }
INLINE uint32_t bits_of(vec_bool a) { return (uint32_t)_mm256_movemask_ps(a); }
INLINE __m256d low_doubles(vec a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
INLINE __m256d high_doubles(vec a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
/* clang-format on */

INLINE double sum_of_doubles(__m256d a)
{
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

INLINE lane_mask first(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                              _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

INLINE vec racy_load_masked(const float *p, lane_mask mask)
{
    vec v;
    __asm__ volatile("vmaskmovps %1, %2, %0" : "=x"(v) : "m"(*(const lanes_at *)p), "x"(mask));
    return v;
}

#include "kernel/x86/lanes.h"

/* ---- memory ---- */

INLINE vec vec_load(const float *p, size_t count)
{
    return count == LANES ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, first(count));
}

INLINE void vec_store(float *p, vec v, size_t count)
{
    if (count == LANES) {
        _mm256_storeu_ps(p, v);
        return;
    }
    __m128 four = _mm256_castps256_ps128(v);
    if (count & 4) {
        _mm_storeu_ps(p, four);
        p += 4;
        four = _mm256_extractf128_ps(v, 1);
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
        __asm__ volatile("vmovups %1, %0" : "=m"(*(lanes_at *)p) : "x"(v));
        return;
    }
    __m128 four = _mm256_castps256_ps128(v);
    if (count & 4) {
        __asm__ volatile("vmovups %1, %0" : "=m"(*(float(*)[4])p) : "x"(four));
        p += 4;
        four = _mm256_extractf128_ps(v, 1);
    }
    if (count & 2) {
        __asm__ volatile("vmovlps %1, %0" : "=m"(*(float(*)[2])p) : "x"(four));
        p += 2;
        four = _mm_movehl_ps(four, four);
    }
    if (count & 1) __asm__ volatile("vmovss %1, %0" : "=m"(*p) : "x"(four));
}

/* ---- arithmetic ---- */

/* 0 in the first `count` lanes, -infinity in the others */
INLINE vec vec_absent(size_t count)
{
    return _mm256_andnot_ps(_mm256_castsi256_ps(first(count)), _mm256_set1_ps(-__builtin_inff()));
}

/* 2^n for integral n in [-126, 127] */
INLINE vec power_of_2(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* p 2^n for integral n in [-252, 254]: two factors, because 2^n alone may be subnormal */
INLINE vec vec_scale2(vec p, vec n)
{
    __m256i whole = _mm256_cvtps_epi32(n);
    __m256i half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(p, power_of_2(half)),
                         power_of_2(_mm256_sub_epi32(whole, half)));
}

/* ---- across the lanes: fixed trees ---- */

INLINE float vec_largest(vec a)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* {sum of row[0], ... sum of row[LANES - 1]} */
INLINE vec vec_sum_rows(const vec row[LANES])
{
    vec pair[4], quad[2];
    UNROLL
    for (int i = 0; i < 4; i++) {
        pair[i] = _mm256_add_ps(_mm256_unpacklo_ps(row[2 * i], row[2 * i + 1]),
                                _mm256_unpackhi_ps(row[2 * i], row[2 * i + 1]));
    }
    UNROLL
    for (int i = 0; i < 2; i++) { /* each 128 bits: partial sums of rows 4 i .. 4 i + 3 */
        __m256d a = _mm256_castps_pd(pair[2 * i]), b = _mm256_castps_pd(pair[2 * i + 1]);
        quad[i] = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                                _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    }
    return _mm256_add_ps(_mm256_permute2f128_ps(quad[0], quad[1], 0x20),
                         _mm256_permute2f128_ps(quad[0], quad[1], 0x31));
}

/* row[i] lane j becomes row[j] lane i. */
INLINE void vec_transpose(vec row[LANES])
{
    vec pair[8], quad[8];
    UNROLL
    for (int i = 0; i < 4; i++) {
        pair[2 * i] = _mm256_unpacklo_ps(row[2 * i], row[2 * i + 1]);
        pair[2 * i + 1] = _mm256_unpackhi_ps(row[2 * i], row[2 * i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8;
         i += 4) { /* quad[i + j], 128 bits q: rows i .. i + 3 of column 4 q + j */
        __m256d a = _mm256_castps_pd(pair[i]), b = _mm256_castps_pd(pair[i + 1]);
        __m256d c = _mm256_castps_pd(pair[i + 2]), d = _mm256_castps_pd(pair[i + 3]);
        quad[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        quad[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        quad[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        quad[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        row[j] = _mm256_permute2f128_ps(quad[j], quad[4 + j], 0x20);
        row[4 + j] = _mm256_permute2f128_ps(quad[j], quad[4 + j], 0x31);
    }
}

INLINE uint32_t magnitude_largest(magnitude a)
{
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    __m128i two = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 0xb1)));
}

/* Appends the lanes of x chosen by `mask`, and their positions base + lane, to two lists with room
 * for LANES more; returns how many. */
INLINE size_t vec_append(uint32_t *index, float *value, vec x, uint32_t mask, uint32_t base)
{
    float  lane[LANES];
    size_t n = 0;
    _mm256_storeu_ps(lane, x);
    for (; mask != 0; mask &= mask - 1, n++) {
        uint32_t at = (uint32_t)__builtin_ctz(mask);
        index[n] = base + at;
        value[n] = lane[at];
    }
    return n;
}

/* a with `minus` subtracted from lane `lane` */
INLINE vec vec_sub_lane(vec a, uint32_t lane, float minus)
{
    __m256i chosen =
        _mm256_cmpeq_epi32(_mm256_set1_epi32((int)lane), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    return _mm256_blendv_ps(a, _mm256_sub_ps(a, _mm256_set1_ps(minus)),
                            _mm256_castsi256_ps(chosen));
}

/* LANES bytes as floats */
INLINE vec vec_widen_u8(const uint8_t *p, size_t count)
{
    uint64_t bytes = 0;
    if (count == LANES) __builtin_memcpy(&bytes, p, LANES);
    else
        for (size_t i = 0; i < count; i++) bytes |= (uint64_t)p[i] << (8 * i);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes)));
}

/* LANES words of 16 bits as floats */
INLINE vec vec_widen_i16(const int16_t *p, size_t count)
{
    int16_t words[LANES] = {0};
    __builtin_memcpy(words, p, count * sizeof *p);
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)words)));
}

/* ---- bytes ---- */

/* The lanes of v, whole numbers in [0, 255], as bytes */
INLINE void vec_store_u8(uint8_t *p, vec v, size_t count)
{
    __m256i whole = _mm256_cvtps_epi32(v);
    __m128i half =
        _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    __m128i bytes = _mm_packus_epi16(half, half);
    if (count == LANES) {
        _mm_storel_epi64((__m128i *)p, bytes);
        return;
    }
    uint64_t all = (uint64_t)_mm_cvtsi128_si64(bytes);
    for (size_t i = 0; i < count; i++) p[i] = (uint8_t)(all >> (8 * i));
}

INLINE __m128i load_bytes(const uint8_t *p, size_t count)
{
    if (count == LANES) return _mm_loadl_epi64((const __m128i *)p);
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) all |= (uint64_t)p[i] << (8 * i);
    return _mm_cvtsi64_si128((long long)all);
}

/* ---- words of 32 bits ---- */

/* {0, 1, 2, ...} */
INLINE vec_u32 u32_count(void)
{
    return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
}

/* v where a >> 8 >= least, else 0; least < 2^31 */
INLINE vec vec_where_least(vec_u32 a, vec_u32 least, vec v)
{
    __m256i below = _mm256_cmpgt_epi32(least, _mm256_srli_epi32(a, 8));
    return _mm256_andnot_ps(_mm256_castsi256_ps(below), v);
}

/* ---- neighbours ---- */

INLINE vec join_halves(vec low, vec high)
{
    return _mm256_permute2f128_ps(low, high, 0x21);
}

/* {low[n], ..., low[LANES - 1], high[0], ..., high[n - 1]}, n a constant */
#define join_bytes(a, b, n)                                                                        \
    _mm256_castsi256_ps(_mm256_alignr_epi8(_mm256_castps_si256(a), _mm256_castps_si256(b), n))
#define vec_join(low, high, n)                                                                     \
    ((n) < 4 ? join_bytes(join_halves(low, high), low, 4 * (n) % 16)                               \
             : join_bytes(high, join_halves(low, high), 4 * (n) % 16))

/* ---- bytes that select where to add ---- */

typedef __m256i vec_bytes; /* widened */

INLINE vec_bytes bytes_load(const uint8_t *p, size_t count)
{
    return _mm256_cvtepu8_epi32(load_bytes(p, count));
}

/* Each byte less `value`; results below 0 match no value that vec_add_where tests. */
INLINE vec_bytes bytes_minus(vec_bytes bytes, uint8_t value)
{
    return _mm256_sub_epi32(bytes, _mm256_set1_epi32(value));
}

/* sum + v where the byte is `value` */
INLINE vec vec_add_where(vec sum, vec_bytes bytes, uint8_t value, vec v)
{
    __m256i same = _mm256_cmpeq_epi32(bytes, _mm256_set1_epi32(value));
    return _mm256_add_ps(sum, _mm256_and_ps(v, _mm256_castsi256_ps(same)));
}

/* ---- codes ---- */

INLINE vec vec_widen_u16(const uint16_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)));
}

INLINE void vec_store_u16(uint16_t *p, vec v)
{
    __m256i whole = _mm256_cvtps_epi32(v);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(whole),
                                                    _mm256_extracti128_si256(whole, 1)));
}

INLINE vec vec_from_bits(uint32_t bits, vec then, vec other)
{
    __m256i lane_bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    __m256i chosen = _mm256_and_si256(_mm256_set1_epi32((int)bits), lane_bit);
    return _mm256_blendv_ps(other, then, _mm256_castsi256_ps(_mm256_cmpeq_epi32(chosen, lane_bit)));
}

/* ---- bf16 ---- */

enum { HAS_DOT_PAIRS = 0 };

INLINE vec vec_bf16(vec a)
{
    __m256i bits = _mm256_castps_si256(a);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    up = _mm256_blendv_epi8(up, quiet, is_nan);
    return _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32(-0x10000)));
}

INLINE vec vec_words(vec a, vec b)
{
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(vec_bf16(a)), 16);
    __m256i high = _mm256_srli_epi32(_mm256_castps_si256(vec_bf16(b)), 16);
    return _mm256_castsi256_ps(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
}

INLINE vec vec_dot_pairs(vec sum, vec x, vec y)
{
    (void)x, (void)y;
    return sum;
}

INLINE vec vec_pairs(vec a, vec b)
{
    __m256i low = _mm256_srli_epi32(_mm256_castps_si256(vec_bf16(a)), 16);
    return _mm256_castsi256_ps(_mm256_or_si256(low, _mm256_castps_si256(vec_bf16(b))));
}

/* ---- words: LANES of bf16 in memory ---- */

typedef uint16_t words_at[LANES];

/* [racy] */
INLINE vec words_load(const uint16_t *p)
{
    __m128i words;
    __asm__ volatile("vmovdqu %1, %0" : "=x"(words) : "m"(*(const words_at *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}

/* The upper halves. [racy] */
INLINE void words_store(uint16_t *p, vec v)
{
    __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(v), 16);
    __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32(upper, upper), 0x08);
    __m128i words = _mm256_castsi256_si128(pairs);
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(words_at *)p) : "x"(words));
}

/* The words are added to the bits. */
INLINE vec vec_add_words(vec v, const uint16_t *r)
{
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)r));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), words));
}

#endif
