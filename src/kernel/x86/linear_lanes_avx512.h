/* kernel/x86/linear_lanes_avx512.h - 64 bytes of integers, or 16 numbers of 32 bits, in one
 * register: the operations that the low-precision kernels are written in.
 *
 * linear_lanes_avx2.h has the same names for half as many.  A tier's source file includes one of
 * the two and then linear_dense.h, which uses only these names.  A number at the end of a name is
 * the width of the integers in bits.  `bytes` or `count` tells how much of a register exists in
 * memory: no store touches more, nor does a load of private memory; absent numbers read as 0.
 *
 * The racy_ functions are for memory that other threads write or read meanwhile (base/racy.h, race
 * R8): one instruction of inline assembly each, which the compiler can neither split nor repeat.
 */
#ifndef DROVEK_X86_LINEAR_LANES_AVX512_H
#define DROVEK_X86_LINEAR_LANES_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { VEC_BYTES = 64, LANES = 16 };
typedef __m512i ivec;
typedef __m512  fvec;
typedef uint8_t vec_bytes[VEC_BYTES];
typedef uint8_t half_bytes[VEC_BYTES / 2];
typedef __m256i half_vec; /* half a register */

/* ---- private memory ---- */

/* clang-format off */
INLINE ivec load(const void *p) { return _mm512_loadu_si512(p); }
INLINE void store(void *p, ivec v) { _mm512_storeu_si512(p, v); }
/* clang-format on */

INLINE __mmask64 first_bytes(size_t bytes)
{
    return bytes >= 64 ? ~0ull : (1ull << bytes) - 1;
}

INLINE ivec load_part(const void *p, size_t bytes)
{
    return bytes == VEC_BYTES ? load(p) : _mm512_maskz_loadu_epi8(first_bytes(bytes), p);
}

/* ---- shared memory, whole registers; parts: linear_memory.h ---- */

INLINE ivec racy_load(const void *p)
{
    ivec v;
    __asm__ volatile("vmovdqu64 %1, %0" : "=v"(v) : "m"(*(const vec_bytes *)p));
    return v;
}

INLINE void racy_store(void *p, ivec v)
{
    __asm__ volatile("vmovdqu64 %1, %0" : "=m"(*(vec_bytes *)p) : "v"(v));
}

/* VEC_BYTES / 2 integers of 8 bits as 16 bits */
INLINE ivec racy_load_8_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxbw %1, %0" : "=v"(v) : "m"(*(const half_bytes *)p));
    return v;
}

INLINE void racy_store_half(void *p, half_vec v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(half_bytes *)p) : "x"(v));
}

/* VEC_BYTES / 2 bytes as 16 bits, without a sign */
INLINE ivec racy_load_bytes_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovzxbw %1, %0" : "=v"(v) : "m"(*(const half_bytes *)p));
    return v;
}

/* LANES / 2 bytes */
INLINE uint64_t racy_load_pairs(const void *p)
{
    uint64_t pairs;
    __asm__ volatile("movq %1, %0" : "=r"(pairs) : "m"(*(const uint8_t(*)[8])p));
    return pairs;
}

/* LANES integers of 8 or 16 bits as 32 bits */
INLINE ivec racy_load_8_as_32(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxbd %1, %0" : "=v"(v) : "m"(*(const uint8_t(*)[LANES])p));
    return v;
}

INLINE ivec racy_load_16_as_32(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxwd %1, %0" : "=v"(v) : "m"(*(const uint8_t(*)[2 * LANES]) p));
    return v;
}

/* LANES bytes */
INLINE void racy_store_quarter(void *p, __m128i v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(uint8_t(*)[LANES])p) : "x"(v));
}

/* ---- integers ---- */

/* clang-format off */
INLINE ivec zero(void) { return _mm512_setzero_si512(); }
INLINE ivec set8(int a) { return _mm512_set1_epi8((char)a); }
INLINE ivec set16(int a) { return _mm512_set1_epi16((short)a); }
INLINE ivec set32(int a) { return _mm512_set1_epi32(a); }
INLINE ivec bit_and(ivec a, ivec b) { return _mm512_and_si512(a, b); }
INLINE ivec bit_xor(ivec a, ivec b) { return _mm512_xor_si512(a, b); }
INLINE ivec add8(ivec a, ivec b) { return _mm512_add_epi8(a, b); }
INLINE ivec add16(ivec a, ivec b) { return _mm512_add_epi16(a, b); }
INLINE ivec add32(ivec a, ivec b) { return _mm512_add_epi32(a, b); }
INLINE ivec sub8(ivec a, ivec b) { return _mm512_sub_epi8(a, b); }
INLINE ivec sub32(ivec a, ivec b) { return _mm512_sub_epi32(a, b); }
INLINE ivec adds8(ivec a, ivec b) { return _mm512_adds_epi8(a, b); }   /* saturating */
INLINE ivec subs8(ivec a, ivec b) { return _mm512_subs_epi8(a, b); }
INLINE ivec adds16(ivec a, ivec b) { return _mm512_adds_epi16(a, b); }
INLINE ivec min16(ivec a, ivec b) { return _mm512_min_epi16(a, b); }
INLINE ivec max16(ivec a, ivec b) { return _mm512_max_epi16(a, b); }
INLINE ivec min32(ivec a, ivec b) { return _mm512_min_epi32(a, b); }
INLINE ivec max32(ivec a, ivec b) { return _mm512_max_epi32(a, b); }
INLINE ivec mul16(ivec a, ivec b) { return _mm512_mullo_epi16(a, b); }
INLINE ivec mul32(ivec a, ivec b) { return _mm512_mullo_epi32(a, b); }
/* sums of two products: unsigned bytes and bytes to saturated 16 bits; 16 bits to 32 bits */
INLINE ivec pairs8(ivec u, ivec s) { return _mm512_maddubs_epi16(u, s); }
INLINE ivec pairs16(ivec a, ivec b) { return _mm512_madd_epi16(a, b); }
INLINE ivec left16_by4(ivec a) { return _mm512_slli_epi16(a, 4); }
INLINE ivec left16_by12(ivec a) { return _mm512_slli_epi16(a, 12); }
INLINE ivec unsigned_right16_by4(ivec a) { return _mm512_srli_epi16(a, 4); }
INLINE ivec unsigned_right16_by12(ivec a) { return _mm512_srli_epi16(a, 12); }
INLINE ivec left16_by8(ivec a) { return _mm512_slli_epi16(a, 8); }
INLINE ivec right16_by8(ivec a) { return _mm512_srai_epi16(a, 8); }
INLINE ivec unsigned_right16_by8(ivec a) { return _mm512_srli_epi16(a, 8); }
INLINE ivec right32_by16(ivec a) { return _mm512_srai_epi32(a, 16); }
INLINE ivec unsigned_right32_by16(ivec a) { return _mm512_srli_epi32(a, 16); }
INLINE ivec left16(ivec a, int by) { return _mm512_sll_epi16(a, _mm_cvtsi32_si128(by)); }
INLINE ivec right32(ivec a, int by) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(by)); }
INLINE ivec unsigned_right32(ivec a, int by) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(by)); }
INLINE ivec left64(ivec a, unsigned by) { return _mm512_slli_epi64(a, by); }
INLINE ivec unsigned_right64(ivec a, unsigned by) { return _mm512_srli_epi64(a, by); }
/* clang-format on */

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

INLINE ivec look_up(ivec table, ivec index)
{
    return _mm512_shuffle_epi8(table, index);
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

INLINE ivec load_8_as_16(const void *p)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(p));
}

INLINE ivec load_8_as_32(const void *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(p));
}

INLINE ivec load_16_as_32(const void *p)
{
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256(p));
}

INLINE ivec load_unsigned_8_as_32(const void *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(p));
}

INLINE ivec load_unsigned_16_as_32(const void *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(p));
}

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

INLINE ivec load_bytes_as_16(const void *p)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(p));
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

INLINE int64_t sum_of_32(ivec v)
{
    __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
    __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
    return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

INLINE int64_t byte_sum_total(byte_sum sum)
{
#ifdef __AVX512VNNI__
    return sum_of_32(sum.product) - 128 * sum_of_32(sum.x);
#else
    return sum_of_32(sum.product);
#endif
}

/* sum over the lanes of 2^16 high + (low - 2^16 high mod 2^32): see word_sum. */
INLINE int64_t sum_of_split(ivec low, ivec high)
{
    __m512i rest = _mm512_sub_epi32(low, _mm512_slli_epi32(high, 16));
    __m512i a = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(rest));
    __m512i b = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(rest, 1));
    return 65536 * sum_of_32(high) + _mm512_reduce_add_epi64(_mm512_add_epi64(a, b));
}

/* ---- floats ---- */

/* clang-format off */
INLINE fvec fset(float a) { return _mm512_set1_ps(a); }
INLINE fvec fload(const float *p) { return _mm512_loadu_ps(p); }
INLINE fvec fadd(fvec a, fvec b) { return _mm512_add_ps(a, b); }
INLINE fvec fsub(fvec a, fvec b) { return _mm512_sub_ps(a, b); }
INLINE fvec fmin_(fvec a, fvec b) { return _mm512_min_ps(a, b); } /* b if a is NaN */
INLINE fvec fmax_(fvec a, fvec b) { return _mm512_max_ps(a, b); } /* b if a is NaN */
INLINE fvec fma_(fvec a, fvec b, fvec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE fvec to_float(ivec a) { return _mm512_cvtepi32_ps(a); }
INLINE fvec as_float(ivec a) { return _mm512_castsi512_ps(a); }
INLINE ivec as_bits(fvec a) { return _mm512_castps_si512(a); }
/* clang-format on */

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
