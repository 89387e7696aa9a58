/* kernel/arm/lanes_neon.h - four floats in one register (ARMv8.0 NEON): the names of
 * kernel/x86/lanes.h and lanes_avx512.h, which document them.
 *
 * Shared memory: LD1 and ST1 with 32-bit elements, see sixteen.h.
 */
#ifndef DROVEK_ARM_LANES_NEON_H
#define DROVEK_ARM_LANES_NEON_H

#include "kernel/inline.h"

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 4, N_REGISTERS = 32 };
typedef float32x4_t vec;

/* Number of lanes: NEON has no masked memory access. */
typedef size_t lane_mask;

INLINE lane_mask first(size_t count)
{
    return count;
}

INLINE uint32x4_t lane_numbers(void)
{
    return (uint32x4_t){0, 1, 2, 3};
}

/* ---- private memory ---- */

INLINE vec vec_load(const float *p, size_t count)
{
    vec v = vdupq_n_f32(0.0f);
    switch (count) {
    case 4: return vld1q_f32(p);
    case 3: v = vld1q_lane_f32(p + 2, v, 2); /* fall through */
    case 2: return vcombine_f32(vld1_f32(p), vget_high_f32(v));
    case 1: return vld1q_lane_f32(p, v, 0);
    default: return v;
    }
}

INLINE void vec_store(float *p, vec v, size_t count)
{
    switch (count) {
    case 4: vst1q_f32(p, v); break;
    case 3: vst1q_lane_f32(p + 2, v, 2); /* fall through */
    case 2: vst1_f32(p, vget_low_f32(v)); break;
    case 1: vst1q_lane_f32(p, v, 0); break;
    default: break;
    }
}

/* This tier writes through the caches. */
INLINE void vec_stream(float *p, vec v)
{
    vst1q_f32(p, v);
}
INLINE void vec_stream_end(void)
{
}

/* ---- shared memory ---- */

typedef float lanes_at[LANES];
typedef float pair_at[2];

INLINE vec racy_load(const float *p, size_t count)
{
    vec v;
    if (count == LANES) {
        __asm__ volatile("ld1 {%0.4s}, %1" : "=w"(v) : "Q"(*(const lanes_at *)p));
        return v;
    }
    v = vdupq_n_f32(0.0f);
    if (count & 2) __asm__ volatile("ld1 {%0.2s}, %1" : "=w"(v) : "Q"(*(const pair_at *)p));
    if (count == 3) __asm__ volatile("ld1 {%0.s}[2], %1" : "+w"(v) : "Q"(p[2]));
    if (count == 1) __asm__ volatile("ld1 {%0.s}[0], %1" : "+w"(v) : "Q"(p[0]));
    return v;
}

INLINE vec racy_load_masked(const float *p, lane_mask mask)
{
    return racy_load(p, mask);
}

INLINE void racy_store(float *p, vec v, size_t count)
{
    if (count == LANES) {
        __asm__ volatile("st1 {%1.4s}, %0" : "=Q"(*(lanes_at *)p) : "w"(v));
        return;
    }
    if (count & 2) __asm__ volatile("st1 {%1.2s}, %0" : "=Q"(*(pair_at *)p) : "w"(v));
    if (count == 3) __asm__ volatile("st1 {%1.s}[2], %0" : "=Q"(p[2]) : "w"(v));
    if (count == 1) __asm__ volatile("st1 {%1.s}[0], %0" : "=Q"(p[0]) : "w"(v));
}

INLINE vec racy_fma(vec sum, vec x, const float *p, size_t count)
{
    return vfmaq_f32(sum, x, racy_load(p, count));
}

INLINE vec vec_broadcast(const float *base, size_t offset)
{
    vec v;
    __asm__ volatile("ld1r {%0.4s}, %1" : "=w"(v) : "Q"(base[offset]));
    return v;
}

INLINE void memory_written(void)
{
    __asm__ volatile("" : : : "memory");
}

/* ---- arithmetic ---- */

/* clang-format off */
INLINE vec vec_set(float a) { return vdupq_n_f32(a); }
INLINE vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
INLINE vec vec_sub(vec a, vec b) { return vsubq_f32(a, b); }
INLINE vec vec_mul(vec a, vec b) { return vmulq_f32(a, b); }
INLINE vec vec_div(vec a, vec b) { return vdivq_f32(a, b); }
INLINE vec vec_sqrt(vec a) { return vsqrtq_f32(a); }
INLINE vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }           /* a b + c   */
INLINE vec vec_fnma(vec a, vec b, vec c) { return vfmsq_f32(c, a, b); }          /* c - a b   */
INLINE vec vec_max(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }    /* b if NaN  */
INLINE vec vec_abs(vec a) { return vabsq_f32(a); }
INLINE vec vec_round(vec a) { return vrndnq_f32(a); }
/* clang-format on */

/* |a| with the sign of b */
INLINE vec vec_copysign(vec a, vec b)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), b, a);
}

/* then where a < b, otherwise `other` (also for NaN) */
INLINE vec vec_if_less(vec a, vec b, vec then, vec other)
{
    return vbslq_f32(vcltq_f32(a, b), then, other);
}

/* 0 in the first `count` lanes, -infinity in the others */
INLINE vec vec_absent(size_t count)
{
    uint32x4_t there = vcltq_u32(lane_numbers(), vdupq_n_u32((uint32_t)count));
    return vbslq_f32(there, vdupq_n_f32(0.0f), vdupq_n_f32(-__builtin_inff()));
}

/* 2^n for integral n in [-126, 127] */
INLINE vec power_of_2(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

/* p 2^n for integral n in [-252, 254]: two factors, because 2^n alone may be subnormal */
INLINE vec vec_scale2(vec p, vec n)
{
    int32x4_t whole = vcvtnq_s32_f32(n);
    int32x4_t half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(p, power_of_2(half)), power_of_2(vsubq_s32(whole, half)));
}

/* ---- across the lanes: fixed trees ---- */

INLINE float vec_largest(vec a)
{
    vec two = vec_max(a, vextq_f32(a, a, 2));
    return vgetq_lane_f32(vec_max(two, vextq_f32(two, two, 1)), 0);
}

/* Sum of the lanes in double. */
INLINE double vec_sum_double(vec a)
{
    return vaddvq_f64(vaddq_f64(vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a)));
}

/* {sum of row[0], ... sum of row[LANES - 1]} */
INLINE vec vec_sum_rows(const vec row[LANES])
{
    return vpaddq_f32(vpaddq_f32(row[0], row[1]), vpaddq_f32(row[2], row[3]));
}

/* Two sums of products in double: sum[.] + x y. */
typedef struct double_sum {
    float64x2_t low, high;
} double_sum;

INLINE double_sum double_sum_zero(void)
{
    return (double_sum){vdupq_n_f64(0.0), vdupq_n_f64(0.0)};
}

INLINE double_sum double_sum_add(double_sum sum, vec x, vec y)
{
    float64x2_t x_low = vcvt_f64_f32(vget_low_f32(x)), x_high = vcvt_high_f64_f32(x);
    float64x2_t y_low = vcvt_f64_f32(vget_low_f32(y)), y_high = vcvt_high_f64_f32(y);
    return (double_sum){vfmaq_f64(sum.low, x_low, y_low), vfmaq_f64(sum.high, x_high, y_high)};
}

INLINE double double_sum_total(double_sum a, double_sum b)
{
    return vaddvq_f64(vaddq_f64(vaddq_f64(a.low, a.high), vaddq_f64(b.low, b.high)));
}

/* row[i] lane j becomes row[j] lane i. */
INLINE void vec_transpose(vec row[LANES])
{
    float64x2_t even[2], odd[2]; /* [i]: columns 0 and 2, 1 and 3 of rows 2 i and 2 i + 1 */
    UNROLL
    for (int i = 0; i < 2; i++) {
        even[i] = vreinterpretq_f64_f32(vtrn1q_f32(row[2 * i], row[2 * i + 1]));
        odd[i] = vreinterpretq_f64_f32(vtrn2q_f32(row[2 * i], row[2 * i + 1]));
    }
    row[0] = vreinterpretq_f32_f64(vtrn1q_f64(even[0], even[1]));
    row[1] = vreinterpretq_f32_f64(vtrn1q_f64(odd[0], odd[1]));
    row[2] = vreinterpretq_f32_f64(vtrn2q_f64(even[0], even[1]));
    row[3] = vreinterpretq_f32_f64(vtrn2q_f64(odd[0], odd[1]));
}

/* ---- bits ---- */

INLINE vec vec_xor(vec a, vec b)
{
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

/* The larger, lane by lane, of `so_far` and the bits of |a|: at least 0x7f800000 once an infinity
 * or a NaN was seen. */
typedef uint32x4_t magnitude;

INLINE magnitude magnitude_zero(void)
{
    return vdupq_n_u32(0);
}

INLINE magnitude magnitude_max(magnitude so_far, vec a)
{
    return vmaxq_u32(so_far, vreinterpretq_u32_f32(vabsq_f32(a)));
}

INLINE uint32_t magnitude_largest(magnitude a)
{
    return vmaxvq_u32(a);
}

/* Bit i of the result: lane i of `lanes`, which is all ones or all zeros. */
INLINE uint32_t mask_bits(uint32x4_t lanes)
{
    return vaddvq_u32(vandq_u32(lanes, (uint32x4_t){1, 2, 4, 8}));
}

/* Bit i set: lane i of a is not 0 (a NaN is not 0). */
INLINE uint32_t vec_nonzero(vec a)
{
    return mask_bits(vmvnq_u32(vceqzq_f32(a)));
}

/* Bit i set: lane i of a equals that of b. */
INLINE uint32_t vec_equal(vec a, vec b)
{
    return mask_bits(vceqq_f32(a, b));
}

/* Appends the lanes of x chosen by `mask`, and their positions base + lane, to two lists with room
 * for LANES more; returns how many. */
INLINE size_t vec_append(uint32_t *index, float *value, vec x, uint32_t mask, uint32_t base)
{
    float  lane[LANES];
    size_t n = 0;
    vst1q_f32(lane, x);
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
    uint32x4_t chosen = vceqq_u32(lane_numbers(), vdupq_n_u32(lane));
    return vbslq_f32(chosen, vsubq_f32(a, vdupq_n_f32(minus)), a);
}

/* LANES bytes as floats */
INLINE vec vec_widen_u8(const uint8_t *p, size_t count)
{
    uint32_t bytes = 0;
    if (count == LANES) __builtin_memcpy(&bytes, p, LANES);
    else
        for (size_t i = 0; i < count; i++) bytes |= (uint32_t)p[i] << (8 * i);
    uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
}

/* LANES words of 16 bits as floats */
INLINE vec vec_widen_i16(const int16_t *p, size_t count)
{
    int16_t words[LANES] = {0};
    __builtin_memcpy(words, p, count * sizeof *p);
    return vcvtq_f32_s32(vmovl_s16(vld1_s16(words)));
}

/* ---- conditions lane by lane ---- */

typedef uint32x4_t vec_bool;

/* a > b, or a is NaN */
INLINE vec_bool vec_exceeds(vec a, vec b)
{
    return vorrq_u32(vcgtq_f32(a, b), vmvnq_u32(vceqq_f32(a, a)));
}

INLINE vec vec_select(vec_bool condition, vec then, vec other)
{
    return vbslq_f32(condition, then, other);
}

/* ---- bytes ---- */

/* The lanes of v, whole numbers in [0, 255], as bytes */
INLINE void vec_store_u8(uint8_t *p, vec v, size_t count)
{
    uint16x4_t half = vmovn_u32(vcvtq_u32_f32(v));
    uint32_t   all = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);
    if (count == LANES) __builtin_memcpy(p, &all, LANES);
    else
        for (size_t i = 0; i < count; i++) p[i] = (uint8_t)(all >> (8 * i));
}

/* ---- words of 32 bits ---- */

typedef uint32x4_t vec_u32;

/* clang-format off */
INLINE vec_u32 u32_set(uint32_t a) { return vdupq_n_u32(a); }
INLINE vec_u32 u32_add(vec_u32 a, vec_u32 b) { return vaddq_u32(a, b); }
INLINE vec_u32 u32_mul(vec_u32 a, vec_u32 b) { return vmulq_u32(a, b); }
INLINE vec_u32 u32_xor(vec_u32 a, vec_u32 b) { return veorq_u32(a, b); }
INLINE vec_u32 u32_count(void) { return lane_numbers(); } /* {0, 1, 2, ...} */
/* clang-format on */

/* a ^ (a >> bits), bits a constant */
INLINE vec_u32 u32_fold(vec_u32 a, int bits)
{
    return veorq_u32(a, vshlq_u32(a, vdupq_n_s32(-bits)));
}

/* v where a >> 8 >= least, else 0; least < 2^31 */
INLINE vec vec_where_least(vec_u32 a, vec_u32 least, vec v)
{
    uint32x4_t stays = vcgeq_u32(vshrq_n_u32(a, 8), least);
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), stays));
}

/* 1 / sqrt(a), a > 0 and normal: an estimate and two steps of Newton's method */
INLINE vec vec_rsqrt(vec a)
{
    vec r = vrsqrteq_f32(a);
    r = vmulq_f32(r, vrsqrtsq_f32(vmulq_f32(a, r), r));
    return vmulq_f32(r, vrsqrtsq_f32(vmulq_f32(a, r), r));
}

/* ---- neighbours ---- */

/* {low[n], ..., low[LANES - 1], high[0], ..., high[n - 1]}, n a constant */
#define vec_join(low, high, n) vextq_f32(low, high, n)

/* ---- bytes that select where to add ---- */

typedef float32x4_t vec_bytes; /* widened */

INLINE vec_bytes bytes_load(const uint8_t *p, size_t count)
{
    return vec_widen_u8(p, count);
}

/* Each byte less `value`; results below 0 match no value that vec_add_where tests. */
INLINE vec_bytes bytes_minus(vec_bytes bytes, uint8_t value)
{
    return vsubq_f32(bytes, vdupq_n_f32(value));
}

/* sum + v where the byte is `value` */
INLINE vec vec_add_where(vec sum, vec_bytes bytes, uint8_t value, vec v)
{
    uint32x4_t same = vceqq_f32(bytes, vdupq_n_f32(value));
    return vaddq_f32(sum, vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), same)));
}

/* ---- codes ---- */

INLINE vec vec_floor(vec a)
{
    return vrndmq_f32(a);
}

INLINE vec_u32 u32_spread(vec_u32 a, int bits)
{
    return veorq_u32(a, vshlq_u32(a, vdupq_n_s32(bits)));
}

INLINE vec vec_unit(vec_u32 a)
{
    return vmulq_f32(vcvtq_f32_u32(vshrq_n_u32(a, 8)), vdupq_n_f32(0x1p-24f));
}

INLINE vec vec_widen_u16(const uint16_t *p)
{
    return vcvtq_f32_u32(vmovl_u16(vld1_u16(p)));
}

INLINE void vec_store_u16(uint16_t *p, vec v)
{
    vst1_u16(p, vmovn_u32(vcvtq_u32_f32(v)));
}

INLINE vec vec_from_bits(uint32_t bits, vec then, vec other)
{
    const uint32x4_t lane_bit = {1, 2, 4, 8};
    return vbslq_f32(vtstq_u32(vdupq_n_u32(bits), lane_bit), then, other);
}

/* ---- bf16 ---- */

enum { HAS_DOT_PAIRS = 0 };

INLINE uint32x4_t bf16_bits(vec a)
{
    uint32x4_t bits = vreinterpretq_u32_f32(a);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t up = vaddq_u32(vaddq_u32(bits, odd), vdupq_n_u32(0x7fff));
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vandq_u32(vbslq_u32(vceqq_f32(a, a), up, quiet), vdupq_n_u32(0xffff0000u));
}

INLINE vec vec_bf16(vec a)
{
    return vreinterpretq_f32_u32(bf16_bits(a));
}

INLINE vec vec_words(vec a, vec b)
{
    return vreinterpretq_f32_u16(
        vcombine_u16(vshrn_n_u32(bf16_bits(a), 16), vshrn_n_u32(bf16_bits(b), 16)));
}

INLINE vec vec_dot_pairs(vec sum, vec x, vec y)
{
    (void)x, (void)y;
    return sum;
}

INLINE vec vec_pairs(vec a, vec b)
{
    return vreinterpretq_f32_u32(vorrq_u32(vshrq_n_u32(bf16_bits(a), 16), bf16_bits(b)));
}

INLINE vec vec_low_word(vec a)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a), 16));
}
INLINE vec vec_high_word(vec a)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0xffff0000u)));
}

/* ---- words: LANES of bf16 in memory ---- */

typedef uint16_t words_at[LANES];

/* [racy] */
INLINE vec words_load(const uint16_t *p)
{
    uint16x4_t words;
    __asm__ volatile("ld1 {%0.4h}, %1" : "=w"(words) : "Q"(*(const words_at *)p));
    return vreinterpretq_f32_u32(vshll_n_u16(words, 16));
}

/* The upper halves. [racy] */
INLINE void words_store(uint16_t *p, vec v)
{
    uint16x4_t words = vshrn_n_u32(vreinterpretq_u32_f32(v), 16);
    __asm__ volatile("st1 {%1.4h}, %0" : "=Q"(*(words_at *)p) : "w"(words));
}

/* The words are added to the bits. */
INLINE vec vec_add_words(vec v, const uint16_t *r)
{
    uint32x4_t words = vmovl_u16(vld1_u16(r));
    return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(v), words));
}

#endif
