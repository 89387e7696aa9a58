/* kernel/x86/sparse_lanes_avx2.h - eight pairs of a sparse example in registers: the names of
 * sparse_lanes_avx512.h, which documents them. */
#ifndef DROVEK_X86_SPARSE_LANES_AVX2_H
#define DROVEK_X86_SPARSE_LANES_AVX2_H

#include "kernel/x86/lanes_avx2.h"
#include "kernel/x86/sparse_lanes.h"

INLINE ints ints_count_differing(ints n, ints a, ints b)
{
    return _mm256_add_epi32(n, _mm256_andnot_si256(_mm256_cmpeq_epi32(a, b), ints_set(1)));
}

INLINE int ints_any_zero(ints a, size_t count)
{
    __m256i zero = _mm256_cmpeq_epi32(a, _mm256_setzero_si256());
    return (_mm256_movemask_ps(_mm256_castsi256_ps(zero)) & ((1 << count) - 1)) != 0;
}

INLINE int64_t ints_total(ints a)
{
    __m256i sum = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(a)),
                                   _mm256_cvtepi32_epi64(_mm256_extracti128_si256(a, 1)));
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return _mm_extract_epi64(two, 0) + _mm_extract_epi64(two, 1);
}

INLINE ints ints_prefix_sums(ints a)
{
    a = _mm256_add_epi32(a, _mm256_slli_si256(a, 4));
    a = _mm256_add_epi32(a, _mm256_slli_si256(a, 8));
    /* the sum of the lower four, in the upper four lanes */
    __m256i lower = _mm256_permute2x128_si256(a, a, 0x08);
    return _mm256_add_epi32(a, _mm256_shuffle_epi32(lower, 0xff));
}

INLINE ints ints_last(ints a)
{
    return _mm256_permutevar8x32_epi32(a, _mm256_set1_epi32(7));
}

INLINE void ints_pack_16(uint64_t word[LANES / 4], ints a)
{
    __m256i words = _mm256_packs_epi32(a, a); /* four in each half */
    word[0] = (uint64_t)_mm256_extract_epi64(words, 0);
    word[1] = (uint64_t)_mm256_extract_epi64(words, 2);
}

INLINE void ints_pack_8(uint64_t word[LANES / 8], ints a)
{
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    word[0] = (uint64_t)_mm_cvtsi128_si64(_mm_packs_epi16(words, words));
}

/* ---- private memory: fewer than LANES go through a buffer ---- */

INLINE ints load_u8(const uint8_t *p, size_t count)
{
    uint8_t few[LANES] = {0};
    if (count == LANES) return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
    for (size_t i = 0; i < count; i++) few[i] = p[i];
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)few));
}

INLINE ints load_u16(const uint16_t *p, size_t count)
{
    uint16_t few[LANES] = {0};
    if (count == LANES) return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    for (size_t i = 0; i < count; i++) few[i] = p[i];
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)few));
}

INLINE ints load_u32(const uint32_t *p, size_t count)
{
    return count == LANES ? _mm256_loadu_si256((const __m256i *)p)
                          : _mm256_maskload_epi32((const int *)p, first(count));
}

INLINE ints load_i8(const int8_t *p, size_t count)
{
    int8_t few[LANES] = {0};
    if (count == LANES) return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
    for (size_t i = 0; i < count; i++) few[i] = p[i];
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)few));
}

INLINE ints load_i16(const int16_t *p, size_t count)
{
    int16_t few[LANES] = {0};
    if (count == LANES) return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
    for (size_t i = 0; i < count; i++) few[i] = p[i];
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)few));
}

INLINE void xorshift_block(uint64_t *state)
{
    for (int half = 0; half < 8; half += 4) {
        __m256i s = _mm256_loadu_si256((const __m256i *)(state + half));
        s = _mm256_xor_si256(s, _mm256_slli_epi64(s, 13));
        s = _mm256_xor_si256(s, _mm256_srli_epi64(s, 7));
        s = _mm256_xor_si256(s, _mm256_slli_epi64(s, 17));
        _mm256_storeu_si256((__m256i *)(state + half), s);
    }
}

/* ---- shared memory ---- */

INLINE ints gather_8(const char *base, ints place, size_t count)
{
    ints      v = _mm256_setzero_si256();
    lane_mask mask = first(count);
    __asm__ volatile("vpgatherdd %1, (%2,%3,1), %0"
                     : "+&x"(v), "+&x"(mask)
                     : "r"(base), "x"(place)
                     : "memory");
    return v;
}

INLINE ints gather_16(const char *base, ints place, size_t count)
{
    ints      v = _mm256_setzero_si256();
    lane_mask mask = first(count);
    __asm__ volatile("vpgatherdd %1, (%2,%3,2), %0"
                     : "+&x"(v), "+&x"(mask)
                     : "r"(base), "x"(place)
                     : "memory");
    return v;
}

INLINE vec gather_32f(const char *base, ints place, size_t count)
{
    vec       v = _mm256_setzero_ps();
    lane_mask mask = first(count);
    __asm__ volatile("vgatherdps %1, (%2,%3,4), %0"
                     : "+&x"(v), "+&x"(mask)
                     : "r"(base), "x"(place)
                     : "memory");
    return v;
}

#define HAS_SCATTER 0

#endif
