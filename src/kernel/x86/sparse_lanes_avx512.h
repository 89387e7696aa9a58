/* kernel/x86/sparse_lanes_avx512.h - sixteen pairs of a sparse example in registers: the operations
 * whose instructions AVX2 has not (sparse_lanes_avx2.h has the same names). */
#ifndef DROVEK_X86_SPARSE_LANES_AVX512_H
#define DROVEK_X86_SPARSE_LANES_AVX512_H

#include "kernel/x86/lanes_avx512.h"
#include "kernel/x86/sparse_lanes.h"

/* n + 1 where a and b differ, n where they do not */
INLINE ints ints_count_differing(ints n, ints a, ints b)
{
    return _mm512_mask_add_epi32(n, _mm512_cmpneq_epi32_mask(a, b), n, _mm512_set1_epi32(1));
}

/* Whether one of the first `count` lanes is 0. */
INLINE int ints_any_zero(ints a, size_t count)
{
    return (_mm512_testn_epi32_mask(a, a) & first(count)) != 0;
}

INLINE int64_t ints_total(ints a)
{
    __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(a));
    __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(a, 1));
    return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

/* lane i: the sum of lanes 0 .. i */
INLINE ints ints_prefix_sums(ints a)
{
    const ints zero = _mm512_setzero_si512();
    a = _mm512_add_epi32(a, _mm512_alignr_epi32(a, zero, 15));
    a = _mm512_add_epi32(a, _mm512_alignr_epi32(a, zero, 14));
    a = _mm512_add_epi32(a, _mm512_alignr_epi32(a, zero, 12));
    return _mm512_add_epi32(a, _mm512_alignr_epi32(a, zero, 8));
}

/* the last lane in every lane */
INLINE ints ints_last(ints a)
{
    return _mm512_permutexvar_epi32(_mm512_set1_epi32(15), a);
}

/* Lanes that fit in 8 or 16 bits, side by side. */
INLINE void ints_pack_8(uint64_t word[LANES / 8], ints a)
{
    __m128i bytes = _mm512_cvtepi32_epi8(a);
    word[0] = (uint64_t)_mm_extract_epi64(bytes, 0);
    word[1] = (uint64_t)_mm_extract_epi64(bytes, 1);
}

INLINE void ints_pack_16(uint64_t word[LANES / 4], ints a)
{
    __m256i words = _mm512_cvtepi32_epi16(a);
    word[0] = (uint64_t)_mm256_extract_epi64(words, 0);
    word[1] = (uint64_t)_mm256_extract_epi64(words, 1);
    word[2] = (uint64_t)_mm256_extract_epi64(words, 2);
    word[3] = (uint64_t)_mm256_extract_epi64(words, 3);
}

/* ---- private memory ---- */

INLINE ints load_u8(const uint8_t *p, size_t count)
{
    return _mm512_cvtepu8_epi32(count == LANES ? _mm_loadu_si128((const __m128i *)p)
                                               : _mm_maskz_loadu_epi8(first(count), p));
}

INLINE ints load_u16(const uint16_t *p, size_t count)
{
    return _mm512_cvtepu16_epi32(count == LANES ? _mm256_loadu_si256((const __m256i *)p)
                                                : _mm256_maskz_loadu_epi16(first(count), p));
}

INLINE ints load_u32(const uint32_t *p, size_t count)
{
    return count == LANES ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi32(first(count), p);
}

INLINE ints load_i8(const int8_t *p, size_t count)
{
    return _mm512_cvtepi8_epi32(count == LANES ? _mm_loadu_si128((const __m128i *)p)
                                               : _mm_maskz_loadu_epi8(first(count), p));
}

INLINE ints load_i16(const int16_t *p, size_t count)
{
    return _mm512_cvtepi16_epi32(count == LANES ? _mm256_loadu_si256((const __m256i *)p)
                                                : _mm256_maskz_loadu_epi16(first(count), p));
}

/* The eight states after one more step of xorshift64 each, they are a block of random bits. */
INLINE void xorshift_block(uint64_t *state)
{
    __m512i s = _mm512_loadu_si512(state);
    s = _mm512_xor_si512(s, _mm512_slli_epi64(s, 13));
    s = _mm512_xor_si512(s, _mm512_srli_epi64(s, 7));
    s = _mm512_xor_si512(s, _mm512_slli_epi64(s, 17));
    _mm512_storeu_si512(state, s);
}

/* ---- shared memory ---- */

INLINE ints gather_8(const char *base, ints place, size_t count)
{
    ints      v = _mm512_setzero_si512();
    lane_mask mask = first(count);
    __asm__ volatile("vpgatherdd (%2,%3,1), %0%{%1%}"
                     : "+&v"(v), "+&Yk"(mask)
                     : "r"(base), "v"(place)
                     : "memory");
    return v;
}

INLINE ints gather_16(const char *base, ints place, size_t count)
{
    ints      v = _mm512_setzero_si512();
    lane_mask mask = first(count);
    __asm__ volatile("vpgatherdd (%2,%3,2), %0%{%1%}"
                     : "+&v"(v), "+&Yk"(mask)
                     : "r"(base), "v"(place)
                     : "memory");
    return v;
}

INLINE vec gather_32f(const char *base, ints place, size_t count)
{
    vec       v = _mm512_setzero_ps();
    lane_mask mask = first(count);
    __asm__ volatile("vgatherdps (%2,%3,4), %0%{%1%}"
                     : "+&v"(v), "+&Yk"(mask)
                     : "r"(base), "v"(place)
                     : "memory");
    return v;
}

#define HAS_SCATTER 1

/* Only the lanes whose bit is set in `keep`. */
INLINE void scatter_32f(char *base, ints place, vec v, unsigned keep)
{
    lane_mask mask = (lane_mask)keep;
    __asm__ volatile("vscatterdps %1, (%2,%3,4)%{%0%}"
                     : "+&Yk"(mask)
                     : "v"(v), "r"(base), "v"(place)
                     : "memory");
}

#endif
