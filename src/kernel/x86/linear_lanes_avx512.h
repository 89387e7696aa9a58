/* kernel/x86/linear_lanes_avx512.h - 64 bytes of integers, or 16 numbers of 32 bits, in one
 * register: what linear_lanes.h is made of, and the operations whose instructions AVX2 has not
 * (linear_lanes_avx2.h has the same names). */
#ifndef DROVEK_X86_LINEAR_LANES_AVX512_H
#define DROVEK_X86_LINEAR_LANES_AVX512_H

#include "kernel/inline.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what linear_lanes.h is made of ---- */

#define MM(operation)       _mm512_##operation
#define MM_WHOLE(operation) _mm512_##operation##_si512
#define MOVE                "vmovdqu64"

enum { VEC_BYTES = 64, LANES = 16 };
typedef __m512i ivec;
typedef __m512  fvec;
typedef __m256i half_vec;

/* clang-format off */
INLINE __m256i load_half(const void *p) { return _mm256_loadu_si256(p); }
INLINE __m128i load_quarter(const void *p) { return _mm_loadu_si128(p); }
INLINE __m256i low_half(ivec v) { return _mm512_castsi512_si256(v); }
INLINE __m256i high_half(ivec v) { return _mm512_extracti64x4_epi64(v, 1); }
INLINE fvec as_float(ivec a) { return _mm512_castsi512_ps(a); }
INLINE int64_t sum_of_64(ivec v) { return _mm512_reduce_add_epi64(v); }
/* clang-format on */

#include "kernel/x86/linear_lanes.h"

/* ---- memory ---- */

INLINE __mmask64 first_bytes(size_t bytes)
{
    return bytes >= 64 ? ~0ull : (1ull << bytes) - 1;
}

INLINE ivec load_part(const void *p, size_t bytes)
{
    return bytes == VEC_BYTES ? load(p) : _mm512_maskz_loadu_epi8(first_bytes(bytes), p);
}

/* LANES / 2 bytes */
INLINE uint64_t racy_load_pairs(const void *p)
{
    uint64_t pairs;
    __asm__ volatile("movq %1, %0" : "=r"(pairs) : "m"(*(const uint8_t(*)[8])p));
    return pairs;
}

/* LANES bytes */
INLINE void racy_store_quarter(void *p, __m128i v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(uint8_t(*)[LANES])p) : "x"(v));
}

/* ---- integers ---- */

/* (a & b) | c, (a | b) & c, and the bits of a where mask has them, else those of b */
INLINE ivec and_or(ivec a, ivec b, ivec c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0xea);
}

INLINE ivec or_and(ivec a, ivec b, ivec c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0xa8);
}

INLINE ivec choose(ivec mask, ivec a, ivec b)
{
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

/* A table of 16 bytes; its entries at index, bytes of 0 to 15. */
INLINE ivec load_table(const uint8_t table[16])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)table));
}

/* base + step in the bytes where r is above limit, without signs */
INLINE ivec add_if_above8(ivec base, ivec step, ivec r, ivec limit)
{
    return _mm512_mask_add_epi8(base, _mm512_cmpgt_epu8_mask(r, limit), base, step);
}

/* The odd bytes of `odd`, the even ones of `even`; likewise words. */
INLINE ivec odd_bytes(ivec even, ivec odd)
{
    return _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaaull, even, odd);
}

INLINE ivec odd_words(ivec even, ivec odd)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaau, even, odd);
}

/* The even and the odd 16 bytes of both, a's before b's. */
INLINE ivec even_sixteens(ivec a, ivec b)
{
    return _mm512_shuffle_i64x2(a, b, 0x88);
}

INLINE ivec odd_sixteens(ivec a, ivec b)
{
    return _mm512_shuffle_i64x2(a, b, 0xdd);
}

/* acc + pairs16(a, b), wrapping */
INLINE ivec add_pairs16(ivec acc, ivec a, ivec b)
{
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(acc, a, b);
#else
    return add32(acc, pairs16(a, b));
#endif
}

/* ---- widening and narrowing ---- */

/* The low halves of 16-bit numbers; the low quarters and halves of 32-bit numbers. */
INLINE half_vec narrow_16_to_8(ivec v)
{
    return _mm512_cvtepi16_epi8(v);
}

INLINE half_vec narrow_32_to_16(ivec v)
{
    return _mm512_cvtepi32_epi16(v);
}

INLINE __m128i narrow_32_to_8(ivec v)
{
    return _mm512_cvtepi32_epi8(v);
}

/* LANES numbers of 4 bits, and back. */
INLINE ivec nibbles_as_32(uint64_t pairs)
{
    const ivec left = _mm512_set_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    ivec       all =
        _mm512_inserti64x4(_mm512_set1_epi32((int)pairs), _mm256_set1_epi32((int)(pairs >> 32)), 1);
    return _mm512_srai_epi32(_mm512_sllv_epi32(all, left), 28);
}

INLINE uint64_t nibbles_of_32(ivec v)
{
    const ivec left = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
    ivec       bits = _mm512_sllv_epi32(_mm512_and_si512(v, _mm512_set1_epi32(15)), left);
    uint32_t   low = (uint32_t)_mm512_mask_reduce_or_epi32(0x00ff, bits);
    return low | (uint64_t)(uint32_t)_mm512_mask_reduce_or_epi32(0xff00, bits) << 32;
}

/* The low halves of 16-bit numbers below 256. */
INLINE half_vec narrow_16_to_bytes(ivec v)
{
    return _mm512_cvtepi16_epi8(v);
}

/* v with 0 in the lanes from `count` on */
INLINE ivec first_lanes(ivec v, size_t count)
{
    return _mm512_maskz_mov_epi32((__mmask16)((1u << count) - 1u), v);
}

/* ---- which bytes differ ---- */

typedef __mmask64 differ;

INLINE differ differ_at(ivec a, ivec b)
{
    return _mm512_cmpneq_epi8_mask(a, b);
}

INLINE int differ_anywhere(differ a, differ b)
{
    return !_kortestz_mask64_u8(a, b);
}

/* Number of 1-byte or 2-byte numbers that differ. */
INLINE size_t differ_count(differ d, size_t number_bytes)
{
    uint64_t bits = number_bytes == 1 ? d : (d | d >> 1) & 0x5555555555555555ull;
    return (size_t)__builtin_popcountll(bits);
}

/* Number of bytes, or of words, in which a and b differ. */
INLINE size_t count_differing8(ivec a, ivec b)
{
    return (size_t)__builtin_popcountll(_mm512_cmpneq_epi8_mask(a, b));
}

INLINE size_t count_differing16(ivec a, ivec b)
{
    return (size_t)__builtin_popcount(_mm512_cmpneq_epi16_mask(a, b));
}

/* The same among the first `count` 32-bit numbers. */
INLINE size_t differ_count32(ivec a, ivec b, size_t count)
{
    uint32_t mask = _mm512_cmpneq_epi32_mask(a, b);
    return (size_t)__builtin_popcount(mask & ((1u << count) - 1u));
}

/* ---- exact sums of products ---- */

/* Sums of byte products: at most 2^14 additions between two totals. */
typedef struct byte_sum {
    ivec product, x;
    ivec one; /* bytes of 1, which the compiler cannot see: it would make them anew each time */
} byte_sum;

INLINE byte_sum byte_sum_zero(void)
{
    ivec one = set8(1);
    __asm__("" : "+v"(one));
    return (byte_sum){zero(), zero(), one};
}

/* x never holds -128.  With VNNI: (w + 128) x as unsigned times signed, and x alone, in 32 bits; an
 * addition is at most 4 255 127.  Without: |w| times x with the sign of w; 2 128 127 fits 16
 * bits. */
INLINE byte_sum byte_sum_add(byte_sum sum, ivec x, ivec w)
{
#ifdef __AVX512VNNI__
    sum.product = _mm512_dpbusd_epi32(sum.product, bit_xor(w, set8(-128)), x);
    sum.x = _mm512_dpbusd_epi32(sum.x, sum.one, x);
#else
    ivec signed_x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), zero(), x);
    sum.product = add32(sum.product, pairs16(pairs8(_mm512_abs_epi8(w), signed_x), set16(1)));
#endif
    return sum;
}

INLINE int64_t byte_sum_total(byte_sum sum)
{
#ifdef __AVX512VNNI__
    return sum_of_32(sum.product) - 128 * sum_of_32(sum.x);
#else
    return sum_of_32(sum.product);
#endif
}

/* ---- floats ---- */

INLINE ivec floor_to_int(fvec a)
{
    return _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

INLINE double fsum(fvec a)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
    return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
}

#endif
