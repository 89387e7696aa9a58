/* kernel/x86/linear_lanes_avx2.h - 32 bytes of integers, or 8 numbers of 32 bits, in one register
 * (AVX2 and FMA): the names of linear_lanes.h and linear_lanes_avx512.h, which document them. */
#ifndef DROVEK_X86_LINEAR_LANES_AVX2_H
#define DROVEK_X86_LINEAR_LANES_AVX2_H

#include "kernel/inline.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- what linear_lanes.h is made of ---- */

#define MM(operation)       _mm256_##operation
#define MM_WHOLE(operation) _mm256_##operation##_si256
#define MOVE                "vmovdqu"

enum { VEC_BYTES = 32, LANES = 8 };
typedef __m256i ivec;
typedef __m256  fvec;
typedef __m128i half_vec;

/* clang-format off */
INLINE __m128i load_half(const void *p) { return _mm_loadu_si128(p); }
INLINE __m128i load_quarter(const void *p) { return _mm_loadl_epi64(p); }
INLINE __m128i low_half(ivec v) { return _mm256_castsi256_si128(v); }
INLINE __m128i high_half(ivec v) { return _mm256_extracti128_si256(v, 1); }
INLINE fvec as_float(ivec a) { return _mm256_castsi256_ps(a); }
/* clang-format on */

INLINE int64_t sum_of_64(__m256i v)
{
    __m128i two = _mm_add_epi64(low_half(v), high_half(v));
    return _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
}

#include "kernel/x86/linear_lanes.h"

/* ---- memory ---- */

INLINE ivec load_part(const void *p, size_t bytes)
{
    vec_bytes room = {0};
    if (bytes == VEC_BYTES) return load(p);
    memcpy(room, p, bytes);
    return load(room);
}

INLINE uint64_t racy_load_pairs(const void *p)
{
    uint32_t pairs;
    __asm__ volatile("movl %1, %0" : "=r"(pairs) : "m"(*(const uint8_t(*)[4])p));
    return pairs;
}

INLINE void racy_store_quarter(void *p, __m128i v)
{
    __asm__ volatile("vmovq %1, %0" : "=m"(*(uint8_t(*)[LANES])p) : "x"(v));
}

/* ---- integers ---- */

INLINE ivec and_or(ivec a, ivec b, ivec c)
{
    return _mm256_or_si256(_mm256_and_si256(a, b), c);
}

INLINE ivec or_and(ivec a, ivec b, ivec c)
{
    return _mm256_and_si256(_mm256_or_si256(a, b), c);
}

INLINE ivec choose(ivec mask, ivec a, ivec b)
{
    return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

INLINE ivec load_table(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
}

INLINE ivec add_if_above8(ivec base, ivec step, ivec r, ivec limit)
{
    ivec is_not_above = _mm256_cmpeq_epi8(_mm256_min_epu8(r, limit), r);
    return _mm256_add_epi8(base, _mm256_andnot_si256(is_not_above, step));
}

INLINE ivec odd_bytes(ivec even, ivec odd)
{
    return _mm256_blendv_epi8(even, odd, _mm256_set1_epi16((short)0xff00));
}

INLINE ivec odd_words(ivec even, ivec odd)
{
    return _mm256_blend_epi16(even, odd, 0xaa);
}

INLINE ivec even_sixteens(ivec a, ivec b)
{
    return _mm256_permute2x128_si256(a, b, 0x20);
}

INLINE ivec odd_sixteens(ivec a, ivec b)
{
    return _mm256_permute2x128_si256(a, b, 0x31);
}

INLINE ivec add_pairs16(ivec acc, ivec a, ivec b)
{
    return add32(acc, pairs16(a, b));
}

/* ---- widening and narrowing ---- */

/* These three require numbers that fit the narrow format. */
INLINE half_vec narrow_16_to_8(ivec v)
{
    return _mm_packs_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

INLINE half_vec narrow_32_to_16(ivec v)
{
    return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

INLINE __m128i narrow_32_to_8(ivec v)
{
    half_vec words = narrow_32_to_16(v);
    return _mm_packs_epi16(words, words);
}

INLINE ivec nibbles_as_32(uint64_t pairs)
{
    const ivec left = _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    return _mm256_srai_epi32(_mm256_sllv_epi32(_mm256_set1_epi32((int)pairs), left), 28);
}

INLINE uint64_t nibbles_of_32(ivec v)
{
    const ivec left = _mm256_set_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    ivec       bits = _mm256_sllv_epi32(_mm256_and_si256(v, _mm256_set1_epi32(15)), left);
    __m128i    four = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    __m128i    two = _mm_or_si128(four, _mm_srli_si128(four, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_or_si128(two, _mm_srli_si128(two, 4)));
}

INLINE half_vec narrow_16_to_bytes(ivec v)
{
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

INLINE ivec first_lanes(ivec v, size_t count)
{
    ivec lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_and_si256(v, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane));
}

/* ---- which bytes differ ---- */

/* All bits set in the bytes that are equal. */
typedef __m256i differ;

INLINE differ differ_at(ivec a, ivec b)
{
    return _mm256_cmpeq_epi8(a, b);
}

INLINE int differ_anywhere(differ a, differ b)
{
    return _mm256_movemask_epi8(_mm256_and_si256(a, b)) != -1;
}

INLINE size_t differ_count(differ d, size_t number_bytes)
{
    uint32_t bits = ~(uint32_t)_mm256_movemask_epi8(d);
    if (number_bytes == 2) bits = (bits | bits >> 1) & 0x55555555u;
    return (size_t)__builtin_popcount(bits);
}

INLINE size_t count_differing8(ivec a, ivec b)
{
    uint32_t equal = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
    return (size_t)__builtin_popcount(~equal);
}

INLINE size_t count_differing16(ivec a, ivec b)
{
    uint32_t equal = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(a, b));
    return (size_t)__builtin_popcount(~equal) / 2;
}

INLINE size_t differ_count32(ivec a, ivec b, size_t count)
{
    int equal = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
    return (size_t)__builtin_popcount(~(uint32_t)equal & ((1u << count) - 1u));
}

/* ---- exact sums of products ---- */

typedef struct byte_sum {
    ivec product;
} byte_sum;

INLINE byte_sum byte_sum_zero(void)
{
    return (byte_sum){zero()};
}

/* |w| times x with the sign of w: x never holds -128, and 2 128 127 fits 16 bits. */
INLINE byte_sum byte_sum_add(byte_sum sum, ivec x, ivec w)
{
    ivec product = pairs8(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return (byte_sum){add32(sum.product, pairs16(product, set16(1)))};
}

INLINE int64_t byte_sum_total(byte_sum sum)
{
    return sum_of_32(sum.product);
}

/* ---- floats ---- */

INLINE ivec floor_to_int(fvec a)
{
    return _mm256_cvttps_epi32(_mm256_floor_ps(a));
}

INLINE double fsum(fvec a)
{
    __m256d four = _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(a)),
                                 _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#endif
