/* kernel/x86/linear_lanes_avx2.h - 32 bytes of integers, or 8 numbers of 32 bits, in one register
 * (AVX2 and FMA): the names of linear_lanes_avx512.h, which documents them. */
#ifndef DROVEK_X86_LINEAR_LANES_AVX2_H
#define DROVEK_X86_LINEAR_LANES_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { VEC_BYTES = 32, LANES = 8 };
typedef __m256i ivec;
typedef __m256  fvec;
typedef uint8_t vec_bytes[VEC_BYTES];
typedef uint8_t half_bytes[VEC_BYTES / 2];
typedef __m128i half_vec; /* half a register */

/* ---- private memory ---- */

/* clang-format off */
INLINE ivec load(const void *p) { return _mm256_loadu_si256(p); }
INLINE void store(void *p, ivec v) { _mm256_storeu_si256(p, v); }
/* clang-format on */

INLINE ivec load_part(const void *p, size_t bytes)
{
    vec_bytes room = {0};
    if (bytes == VEC_BYTES) return load(p);
    memcpy(room, p, bytes);
    return load(room);
}

/* ---- shared memory, whole registers; parts: linear_memory.h ---- */

INLINE ivec racy_load(const void *p)
{
    ivec v;
    __asm__ volatile("vmovdqu %1, %0" : "=x"(v) : "m"(*(const vec_bytes *)p));
    return v;
}

INLINE void racy_store(void *p, ivec v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(vec_bytes *)p) : "x"(v));
}

INLINE ivec racy_load_8_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxbw %1, %0" : "=x"(v) : "m"(*(const half_bytes *)p));
    return v;
}

INLINE void racy_store_half(void *p, half_vec v)
{
    __asm__ volatile("vmovdqu %1, %0" : "=m"(*(half_bytes *)p) : "x"(v));
}

INLINE ivec racy_load_bytes_as_16(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovzxbw %1, %0" : "=x"(v) : "m"(*(const half_bytes *)p));
    return v;
}

INLINE uint64_t racy_load_pairs(const void *p)
{
    uint32_t pairs;
    __asm__ volatile("movl %1, %0" : "=r"(pairs) : "m"(*(const uint8_t(*)[4])p));
    return pairs;
}

INLINE ivec racy_load_8_as_32(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxbd %1, %0" : "=x"(v) : "m"(*(const uint8_t(*)[LANES])p));
    return v;
}

INLINE ivec racy_load_16_as_32(const void *p)
{
    ivec v;
    __asm__ volatile("vpmovsxwd %1, %0" : "=x"(v) : "m"(*(const uint8_t(*)[2 * LANES]) p));
    return v;
}

INLINE void racy_store_quarter(void *p, __m128i v)
{
    __asm__ volatile("vmovq %1, %0" : "=m"(*(uint8_t(*)[LANES])p) : "x"(v));
}

/* ---- integers ---- */

/* clang-format off */
INLINE ivec zero(void) { return _mm256_setzero_si256(); }
INLINE ivec set8(int a) { return _mm256_set1_epi8((char)a); }
INLINE ivec set16(int a) { return _mm256_set1_epi16((short)a); }
INLINE ivec set32(int a) { return _mm256_set1_epi32(a); }
INLINE ivec bit_and(ivec a, ivec b) { return _mm256_and_si256(a, b); }
INLINE ivec bit_xor(ivec a, ivec b) { return _mm256_xor_si256(a, b); }
INLINE ivec add8(ivec a, ivec b) { return _mm256_add_epi8(a, b); }
INLINE ivec add16(ivec a, ivec b) { return _mm256_add_epi16(a, b); }
INLINE ivec add32(ivec a, ivec b) { return _mm256_add_epi32(a, b); }
INLINE ivec sub8(ivec a, ivec b) { return _mm256_sub_epi8(a, b); }
INLINE ivec sub32(ivec a, ivec b) { return _mm256_sub_epi32(a, b); }
INLINE ivec adds8(ivec a, ivec b) { return _mm256_adds_epi8(a, b); }
INLINE ivec subs8(ivec a, ivec b) { return _mm256_subs_epi8(a, b); }
INLINE ivec adds16(ivec a, ivec b) { return _mm256_adds_epi16(a, b); }
INLINE ivec min16(ivec a, ivec b) { return _mm256_min_epi16(a, b); }
INLINE ivec max16(ivec a, ivec b) { return _mm256_max_epi16(a, b); }
INLINE ivec min32(ivec a, ivec b) { return _mm256_min_epi32(a, b); }
INLINE ivec max32(ivec a, ivec b) { return _mm256_max_epi32(a, b); }
INLINE ivec mul16(ivec a, ivec b) { return _mm256_mullo_epi16(a, b); }
INLINE ivec mul32(ivec a, ivec b) { return _mm256_mullo_epi32(a, b); }
INLINE ivec pairs8(ivec u, ivec s) { return _mm256_maddubs_epi16(u, s); }
INLINE ivec pairs16(ivec a, ivec b) { return _mm256_madd_epi16(a, b); }
INLINE ivec left16_by4(ivec a) { return _mm256_slli_epi16(a, 4); }
INLINE ivec left16_by12(ivec a) { return _mm256_slli_epi16(a, 12); }
INLINE ivec unsigned_right16_by4(ivec a) { return _mm256_srli_epi16(a, 4); }
INLINE ivec unsigned_right16_by12(ivec a) { return _mm256_srli_epi16(a, 12); }
INLINE ivec left16_by8(ivec a) { return _mm256_slli_epi16(a, 8); }
INLINE ivec right16_by8(ivec a) { return _mm256_srai_epi16(a, 8); }
INLINE ivec unsigned_right16_by8(ivec a) { return _mm256_srli_epi16(a, 8); }
INLINE ivec right32_by16(ivec a) { return _mm256_srai_epi32(a, 16); }
INLINE ivec unsigned_right32_by16(ivec a) { return _mm256_srli_epi32(a, 16); }
INLINE ivec left16(ivec a, int by) { return _mm256_sll_epi16(a, _mm_cvtsi32_si128(by)); }
INLINE ivec right32(ivec a, int by) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(by)); }
INLINE ivec unsigned_right32(ivec a, int by) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(by)); }
INLINE ivec left64(ivec a, int by) { return _mm256_slli_epi64(a, by); }
INLINE ivec unsigned_right64(ivec a, int by) { return _mm256_srli_epi64(a, by); }
/* clang-format on */

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

INLINE ivec look_up(ivec table, ivec index)
{
    return _mm256_shuffle_epi8(table, index);
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

INLINE ivec add_pairs16(ivec acc, ivec a, ivec b)
{
    return add32(acc, pairs16(a, b));
}

/* ---- widening and narrowing ---- */

INLINE ivec load_8_as_16(const void *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(p));
}

INLINE ivec load_8_as_32(const void *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(p));
}

INLINE ivec load_16_as_32(const void *p)
{
    return _mm256_cvtepi16_epi32(_mm_loadu_si128(p));
}

INLINE ivec load_unsigned_8_as_32(const void *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(p));
}

INLINE ivec load_unsigned_16_as_32(const void *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(p));
}

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

INLINE ivec load_bytes_as_16(const void *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(p));
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

INLINE int64_t sum_of_64(__m256i v)
{
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
}

INLINE int64_t sum_of_32(ivec v)
{
    __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v));
    __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1));
    return sum_of_64(_mm256_add_epi64(low, high));
}

INLINE int64_t byte_sum_total(byte_sum sum)
{
    return sum_of_32(sum.product);
}

INLINE int64_t sum_of_split(ivec low, ivec high)
{
    __m256i rest = _mm256_sub_epi32(low, _mm256_slli_epi32(high, 16));
    __m256i a = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(rest));
    __m256i b = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(rest, 1));
    return 65536 * sum_of_32(high) + sum_of_64(_mm256_add_epi64(a, b));
}

/* ---- floats ---- */

/* clang-format off */
INLINE fvec fset(float a) { return _mm256_set1_ps(a); }
INLINE fvec fload(const float *p) { return _mm256_loadu_ps(p); }
INLINE fvec fadd(fvec a, fvec b) { return _mm256_add_ps(a, b); }
INLINE fvec fsub(fvec a, fvec b) { return _mm256_sub_ps(a, b); }
INLINE fvec fmin_(fvec a, fvec b) { return _mm256_min_ps(a, b); }
INLINE fvec fmax_(fvec a, fvec b) { return _mm256_max_ps(a, b); }
INLINE fvec fma_(fvec a, fvec b, fvec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE fvec to_float(ivec a) { return _mm256_cvtepi32_ps(a); }
INLINE fvec as_float(ivec a) { return _mm256_castsi256_ps(a); }
INLINE ivec as_bits(fvec a) { return _mm256_castps_si256(a); }
/* clang-format on */

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
