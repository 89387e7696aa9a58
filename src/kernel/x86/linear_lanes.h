/* kernel/x86/linear_lanes.h - VEC_BYTES bytes of integers, or LANES numbers of 32 bits, in one
 * register: the operations that the low-precision kernels are written in, of AVX2 and AVX-512.
 *
 * A tier's source file includes linear_lanes_avx2.h or linear_lanes_avx512.h, which include this,
 * and then linear_dense.h, which uses only these names.  The two define the types, what this is
 * made of, and the operations whose instructions differ; MM(add_epi8) is _mm256_add_epi8 or
 * _mm512_add_epi8.  A number at the end of a name is the width of the integers in bits.  `bytes` or
 * `count` tells how much of a register exists in memory: no store touches more, nor does a load of
 * private memory; absent numbers read as 0.
 *
 * The racy_ functions are for memory that other threads write or read meanwhile (base/racy.h, race
 * R8): one instruction of inline assembly each, which the compiler can neither split nor repeat.
 */
#ifndef DROVEK_X86_LINEAR_LANES_H
#define DROVEK_X86_LINEAR_LANES_H

typedef uint8_t vec_bytes[VEC_BYTES];
typedef uint8_t half_bytes[VEC_BYTES / 2];

/* ---- private memory ---- */

/* clang-format off */
INLINE ivec load(const void *p) { return MM_WHOLE(loadu)(p); }
INLINE void store(void *p, ivec v) { MM_WHOLE(storeu)(p, v); }
/* numbers of a half or a quarter register, widened */
INLINE ivec load_8_as_16(const void *p) { return MM(cvtepi8_epi16)(load_half(p)); }
INLINE ivec load_bytes_as_16(const void *p) { return MM(cvtepu8_epi16)(load_half(p)); }
INLINE ivec load_8_as_32(const void *p) { return MM(cvtepi8_epi32)(load_quarter(p)); }
INLINE ivec load_16_as_32(const void *p) { return MM(cvtepi16_epi32)(load_half(p)); }
INLINE ivec load_unsigned_8_as_32(const void *p) { return MM(cvtepu8_epi32)(load_quarter(p)); }
INLINE ivec load_unsigned_16_as_32(const void *p) { return MM(cvtepu16_epi32)(load_half(p)); }
/* clang-format on */

/* ---- shared memory, whole registers; parts: linear_memory.h ---- */

INLINE ivec racy_load(const void *p)
{
    ivec v;
    __asm__ volatile(MOVE " %1, %0" : "=v"(v) : "m"(*(const vec_bytes *)p));
    return v;
}

INLINE void racy_store(void *p, ivec v)
{
    __asm__ volatile(MOVE " %1, %0" : "=m"(*(vec_bytes *)p) : "v"(v));
}

INLINE void racy_store_half(void *p, half_vec v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(half_bytes *)p) : "x"(v));
}

/* VEC_BYTES / 2 integers of 8 bits as 16 bits */
INLINE ivec racy_load_8_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxbw %1, %0" : "=v"(v) : "m"(*(const half_bytes *)p));
    return v;
}

/* VEC_BYTES / 2 bytes as 16 bits, without a sign */
INLINE ivec racy_load_bytes_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovzxbw %1, %0" : "=v"(v) : "m"(*(const half_bytes *)p));
    return v;
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
    __asm__ volatile("vpmovsxwd %1, %0" : "=v"(v) : "m"(*(const half_bytes *)p));
    return v;
}

/* ---- integers ---- */

/* clang-format off */
INLINE ivec zero(void) { return MM_WHOLE(setzero)(); }
INLINE ivec set8(int a) { return MM(set1_epi8)((char)a); }
INLINE ivec set16(int a) { return MM(set1_epi16)((short)a); }
INLINE ivec set32(int a) { return MM(set1_epi32)(a); }
INLINE ivec bit_and(ivec a, ivec b) { return MM_WHOLE(and)(a, b); }
INLINE ivec bit_xor(ivec a, ivec b) { return MM_WHOLE(xor)(a, b); }
INLINE ivec add8(ivec a, ivec b) { return MM(add_epi8)(a, b); }
INLINE ivec add16(ivec a, ivec b) { return MM(add_epi16)(a, b); }
INLINE ivec add32(ivec a, ivec b) { return MM(add_epi32)(a, b); }
INLINE ivec sub8(ivec a, ivec b) { return MM(sub_epi8)(a, b); }
INLINE ivec sub32(ivec a, ivec b) { return MM(sub_epi32)(a, b); }
INLINE ivec adds8(ivec a, ivec b) { return MM(adds_epi8)(a, b); } /* saturating */
INLINE ivec subs8(ivec a, ivec b) { return MM(subs_epi8)(a, b); }
INLINE ivec adds16(ivec a, ivec b) { return MM(adds_epi16)(a, b); }
INLINE ivec min16(ivec a, ivec b) { return MM(min_epi16)(a, b); }
INLINE ivec max16(ivec a, ivec b) { return MM(max_epi16)(a, b); }
INLINE ivec min32(ivec a, ivec b) { return MM(min_epi32)(a, b); }
INLINE ivec max32(ivec a, ivec b) { return MM(max_epi32)(a, b); }
INLINE ivec mul16(ivec a, ivec b) { return MM(mullo_epi16)(a, b); }
INLINE ivec mul32(ivec a, ivec b) { return MM(mullo_epi32)(a, b); }
/* sums of two products: unsigned bytes and bytes to saturated 16 bits; 16 bits to 32 bits */
INLINE ivec pairs8(ivec u, ivec s) { return MM(maddubs_epi16)(u, s); }
INLINE ivec pairs16(ivec a, ivec b) { return MM(madd_epi16)(a, b); }
/* pairs of a byte or a word of each, of the lower or the upper half of every 16 bytes; and the
 * numbers of two such registers, which must fit the narrow format, in its order */
INLINE ivec low_pairs8(ivec a, ivec b) { return MM(unpacklo_epi8)(a, b); }
INLINE ivec high_pairs8(ivec a, ivec b) { return MM(unpackhi_epi8)(a, b); }
INLINE ivec join16(ivec low, ivec high) { return MM(packs_epi16)(low, high); }
INLINE ivec low_pairs16(ivec a, ivec b) { return MM(unpacklo_epi16)(a, b); }
INLINE ivec high_pairs16(ivec a, ivec b) { return MM(unpackhi_epi16)(a, b); }
INLINE ivec join32(ivec low, ivec high) { return MM(packs_epi32)(low, high); }
INLINE ivec left16_by4(ivec a) { return MM(slli_epi16)(a, 4); }
INLINE ivec left16_by8(ivec a) { return MM(slli_epi16)(a, 8); }
INLINE ivec left16_by12(ivec a) { return MM(slli_epi16)(a, 12); }
INLINE ivec right16_by8(ivec a) { return MM(srai_epi16)(a, 8); }
INLINE ivec unsigned_right16_by4(ivec a) { return MM(srli_epi16)(a, 4); }
INLINE ivec unsigned_right16_by8(ivec a) { return MM(srli_epi16)(a, 8); }
INLINE ivec unsigned_right16_by12(ivec a) { return MM(srli_epi16)(a, 12); }
INLINE ivec right32_by16(ivec a) { return MM(srai_epi32)(a, 16); }
INLINE ivec unsigned_right32_by16(ivec a) { return MM(srli_epi32)(a, 16); }
INLINE ivec left16(ivec a, int by) { return MM(sll_epi16)(a, _mm_cvtsi32_si128(by)); }
INLINE ivec right32(ivec a, int by) { return MM(sra_epi32)(a, _mm_cvtsi32_si128(by)); }
INLINE ivec unsigned_right32(ivec a, int by) { return MM(srl_epi32)(a, _mm_cvtsi32_si128(by)); }
INLINE ivec left32_by16(ivec a) { return MM(slli_epi32)(a, 16); }
INLINE ivec left32(ivec a, int by) { return MM(sll_epi32)(a, _mm_cvtsi32_si128(by)); }
INLINE ivec left64(ivec a, int by) { return MM(slli_epi64)(a, by); }
INLINE ivec unsigned_right64(ivec a, int by) { return MM(srli_epi64)(a, by); }
/* the entries of a table (load_table) at index, bytes of 0 to 15 */
INLINE ivec look_up(ivec table, ivec index) { return MM(shuffle_epi8)(table, index); }

/* ---- floats ---- */

INLINE fvec fset(float a) { return MM(set1_ps)(a); }
INLINE fvec fload(const float *p) { return MM(loadu_ps)(p); }
INLINE fvec fadd(fvec a, fvec b) { return MM(add_ps)(a, b); }
INLINE fvec fsub(fvec a, fvec b) { return MM(sub_ps)(a, b); }
INLINE fvec fmin_(fvec a, fvec b) { return MM(min_ps)(a, b); } /* b if a is NaN */
INLINE fvec fmax_(fvec a, fvec b) { return MM(max_ps)(a, b); } /* b if a is NaN */
INLINE fvec fma_(fvec a, fvec b, fvec c) { return MM(fmadd_ps)(a, b, c); }
INLINE fvec to_float(ivec a) { return MM(cvtepi32_ps)(a); }
INLINE ivec as_bits(fvec a) { return MM_WHOLE(castps)(a); }
/* clang-format on */

/* ---- exact sums ---- */

INLINE int64_t sum_of_32(ivec v)
{
    ivec low = MM(cvtepi32_epi64)(low_half(v)), high = MM(cvtepi32_epi64)(high_half(v));
    return sum_of_64(MM(add_epi64)(low, high));
}

/* sum over the lanes of 2^16 high + (low - 2^16 high mod 2^32): see word_sum. */
INLINE int64_t sum_of_split(ivec low, ivec high)
{
    ivec rest = sub32(low, MM(slli_epi32)(high, 16));
    ivec a = MM(cvtepu32_epi64)(low_half(rest)), b = MM(cvtepu32_epi64)(high_half(rest));
    return 65536 * sum_of_32(high) + sum_of_64(MM(add_epi64)(a, b));
}

#endif
