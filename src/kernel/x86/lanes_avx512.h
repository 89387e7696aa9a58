/* kernel/x86/lanes_avx512.h - sixteen floats in one register: the operations that the kernels of
 * kernel/lanes/ are written in.
 *
 * lanes_avx2.h has the same names for eight floats, kernel/arm/lanes_neon.h for four.  A source
 * file of a tier includes one of them and then the kernels, which use only these names.
 *
 * `count` is the number of elements at p that exist, up to LANES: no load or store touches memory
 * beyond them, and absent elements read as 0.  If count is the constant LANES the compiler drops
 * the code for fewer.
 *
 * Partial vectors are loaded under a mask but stored in pieces of 8, 4, 2, 1: a later load that
 * overlaps the masked-off part of a masked store waits until that store is in the cache (measured:
 * an update of rows of 10 takes four times as long).
 *
 * The racy_ functions are for memory that other threads write or read meanwhile (base/racy.h): they
 * access each element once, by inline assembly, so the compiler can neither split, repeat, delay
 * nor drop an access.  Nanoseconds with them / with plain intrinsics (gcc 12, Zen 5): sgd of
 * 134,794 elements 5308 / 5318, axpy of 4096 80 / 79, ger 784x128 2697 / 2837, matvec 784x128
 * 1840 / 2041; the worst is sgd of 4096, in the first-level cache: 85 / 71.
 */
#ifndef DROVEK_X86_LANES_AVX512_H
#define DROVEK_X86_LANES_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

enum { LANES = 16, N_REGISTERS = 32 };
typedef __m512 vec;

typedef __mmask16 lane_mask;

INLINE lane_mask first(size_t count)
{
    return (lane_mask)((1u << count) - 1u);
}

/* ---- private memory ---- */

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

/* A whole vector past the caches; p is aligned to its size. */
INLINE void vec_stream(float *p, vec v)
{
    _mm512_stream_ps(p, v);
}
INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

/* ---- shared memory ---- */

typedef float lanes_at[LANES];

INLINE vec racy_load_masked(const float *p, lane_mask mask)
{
    vec v;
    __asm__ volatile("vmovups %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const lanes_at *)p), "Yk"(mask));
    return v;
}

INLINE vec racy_load(const float *p, size_t count)
{
    vec v;
    if (count < LANES) return racy_load_masked(p, first(count));
    __asm__ volatile("vmovups %1, %0" : "=v"(v) : "m"(*(const lanes_at *)p));
    return v;
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

/* sum + x * p[0 .. count), rounded once */
INLINE vec racy_fma(vec sum, vec x, const float *p, size_t count)
{
    if (count == LANES) {
        __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "m"(*(const lanes_at *)p));
        return sum;
    }
    return _mm512_fmadd_ps(x, racy_load(p, count), sum);
}

/* base[offset] in every lane.  In assembly for another reason: the compiler would turn many rows at
 * a constant distance into as many moving pointers, and run out of registers.  It does not know
 * which memory is read: memory_written() must come between the last store to it and the first
 * call. */
INLINE vec vec_broadcast(const float *base, size_t offset)
{
    vec v;
    __asm__ volatile("vbroadcastss (%1,%2,4), %0" : "=v"(v) : "r"(base), "r"(offset));
    return v;
}

INLINE void memory_written(void)
{
    __asm__ volatile("" : : : "memory");
}

/* ---- arithmetic ---- */

/* clang-format off */
INLINE vec vec_set(float a) { return _mm512_set1_ps(a); }
INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
INLINE vec vec_sqrt(vec a) { return _mm512_sqrt_ps(a); }
INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c   */
INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a b   */
INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }               /* b if NaN  */
INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
/* clang-format on */

INLINE vec vec_round(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* |a| with the sign of b */
INLINE vec vec_copysign(vec a, vec b)
{
    return _mm512_or_ps(vec_abs(a), _mm512_and_ps(b, _mm512_set1_ps(-0.0f)));
}

/* then where a < b, otherwise `other` (also for NaN) */
INLINE vec vec_if_less(vec a, vec b, vec then, vec other)
{
    return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), then);
}

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

/* Sum of the lanes in double. */
INLINE double vec_sum_double(vec a)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
    return _mm512_reduce_add_pd(_mm512_add_pd(low, high));
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

/* Two sums of products in double: sum[.] + x y. */
typedef struct double_sum {
    __m512d low, high;
} double_sum;

INLINE double_sum double_sum_zero(void)
{
    return (double_sum){_mm512_setzero_pd(), _mm512_setzero_pd()};
}

INLINE double_sum double_sum_add(double_sum sum, vec x, vec y)
{
    __m512d x_low = _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
            x_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
    __m512d y_low = _mm512_cvtps_pd(_mm512_castps512_ps256(y)),
            y_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1));
    return (double_sum){_mm512_fmadd_pd(x_low, y_low, sum.low),
                        _mm512_fmadd_pd(x_high, y_high, sum.high)};
}

INLINE double double_sum_total(double_sum a, double_sum b)
{
    return _mm512_reduce_add_pd(
        _mm512_add_pd(_mm512_add_pd(a.low, a.high), _mm512_add_pd(b.low, b.high)));
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

/* ---- bits ---- */

INLINE vec vec_xor(vec a, vec b)
{
    return _mm512_xor_ps(a, b);
}

/* The larger, lane by lane, of `so_far` and the bits of |a|: at least 0x7f800000 once an infinity
 * or a NaN was seen. */
typedef __m512i magnitude;

INLINE magnitude magnitude_zero(void)
{
    return _mm512_setzero_si512();
}

INLINE magnitude magnitude_max(magnitude so_far, vec a)
{
    return _mm512_max_epu32(so_far, _mm512_and_si512(_mm512_castps_si512(a),
                                                     _mm512_set1_epi32(0x7fffffff)));
}

INLINE uint32_t magnitude_largest(magnitude a)
{
    return _mm512_reduce_max_epu32(a);
}

/* Bit i set: lane i of a is not 0 (a NaN is not 0). */
INLINE uint32_t vec_nonzero(vec a)
{
    return _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_NEQ_UQ);
}

/* Bit i set: lane i of a equals that of b. */
INLINE uint32_t vec_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
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

/* ---- conditions lane by lane ---- */

typedef __mmask16 vec_bool;

/* a > b, or a is NaN */
INLINE vec_bool vec_exceeds(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) | _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}

INLINE vec vec_select(vec_bool condition, vec then, vec other)
{
    return _mm512_mask_mov_ps(other, condition, then);
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

typedef __m512i vec_u32;

/* clang-format off */
INLINE vec_u32 u32_set(uint32_t a) { return _mm512_set1_epi32((int)a); }
INLINE vec_u32 u32_add(vec_u32 a, vec_u32 b) { return _mm512_add_epi32(a, b); }
INLINE vec_u32 u32_mul(vec_u32 a, vec_u32 b) { return _mm512_mullo_epi32(a, b); }
INLINE vec_u32 u32_xor(vec_u32 a, vec_u32 b) { return _mm512_xor_si512(a, b); }
/* clang-format on */

/* {0, 1, 2, ...} */
INLINE vec_u32 u32_count(void)
{
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* a ^ (a >> bits), bits a constant */
INLINE vec_u32 u32_fold(vec_u32 a, unsigned bits)
{
    return _mm512_xor_si512(a, _mm512_srli_epi32(a, bits));
}

/* v where a >> 8 >= least, else 0; least < 2^31 */
INLINE vec vec_where_least(vec_u32 a, vec_u32 least, vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(_mm512_srli_epi32(a, 8), least), v);
}

/* 1 / sqrt(a), a > 0 and normal, within RSQRT_ULPS of tests/kernel: an estimate and one step of
 * Newton's method */
INLINE vec vec_rsqrt(vec a)
{
    vec r = _mm512_rsqrt14_ps(a);
    vec half = _mm512_mul_ps(_mm512_mul_ps(a, r), _mm512_set1_ps(-0.5f));
    return _mm512_mul_ps(r, _mm512_fmadd_ps(half, r, _mm512_set1_ps(1.5f)));
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

INLINE vec vec_floor(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* a ^ (a << bits), bits a constant */
INLINE vec_u32 u32_spread(vec_u32 a, unsigned bits)
{
    return _mm512_xor_si512(a, _mm512_slli_epi32(a, bits));
}

/* (a >> 8) 2^-24: in [0, 1) */
INLINE vec vec_unit(vec_u32 a)
{
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(a, 8)), _mm512_set1_ps(0x1p-24f));
}

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

/* The number in the low or the high half of each lane. */
INLINE vec vec_low_word(vec a)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 16));
}
INLINE vec vec_high_word(vec a)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(-0x10000)));
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
