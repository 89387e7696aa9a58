/* kernel/x86/lanes.h - floats in one register: the operations that the kernels of kernel/lanes/ are
 * written in, of AVX2 (8) and AVX-512 (16).
 *
 * lanes_avx2.h or lanes_avx512.h includes this: they define the types, what this is made of, and
 * the operations whose instructions differ.  kernel/arm/lanes_neon.h has the same names for four
 * floats.  A source file of a tier includes one of the three and then the kernels, which use only
 * these names.  MM(add_ps) is _mm256_add_ps or _mm512_add_ps.
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
#ifndef DROVEK_X86_LANES_H
#define DROVEK_X86_LANES_H

/* ---- memory ---- */

/* A whole vector past the caches; p is aligned to its size. */
INLINE void vec_stream(float *p, vec v)
{
    MM(stream_ps)(p, v);
}
INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

INLINE vec racy_load(const float *p, size_t count)
{
    vec v;
    if (count < LANES) return racy_load_masked(p, first(count));
    __asm__ volatile("vmovups %1, %0" : "=v"(v) : "m"(*(const lanes_at *)p));
    return v;
}

/* sum + x * p[0 .. count), rounded once */
INLINE vec racy_fma(vec sum, vec x, const float *p, size_t count)
{
    if (count == LANES) {
        __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "m"(*(const lanes_at *)p));
        return sum;
    }
    return MM(fmadd_ps)(x, racy_load(p, count), sum);
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
INLINE vec vec_set(float a) { return MM(set1_ps)(a); }
INLINE vec vec_add(vec a, vec b) { return MM(add_ps)(a, b); }
INLINE vec vec_sub(vec a, vec b) { return MM(sub_ps)(a, b); }
INLINE vec vec_mul(vec a, vec b) { return MM(mul_ps)(a, b); }
INLINE vec vec_div(vec a, vec b) { return MM(div_ps)(a, b); }
INLINE vec vec_sqrt(vec a) { return MM(sqrt_ps)(a); }
INLINE vec vec_fma(vec a, vec b, vec c) { return MM(fmadd_ps)(a, b, c); }   /* a b + c  */
INLINE vec vec_fnma(vec a, vec b, vec c) { return MM(fnmadd_ps)(a, b, c); } /* c - a b  */
INLINE vec vec_max(vec a, vec b) { return MM(max_ps)(a, b); }               /* b if NaN */
INLINE vec vec_xor(vec a, vec b) { return MM(xor_ps)(a, b); }
INLINE vec vec_round(vec a) { return TO_INTEGRAL(a, _MM_FROUND_TO_NEAREST_INT); }
INLINE vec vec_floor(vec a) { return TO_INTEGRAL(a, _MM_FROUND_TO_NEG_INF); }
/* clang-format on */

/* |a| with the sign of b */
INLINE vec vec_copysign(vec a, vec b)
{
    return MM(or_ps)(vec_abs(a), MM(and_ps)(b, MM(set1_ps)(-0.0f)));
}

/* 1 / sqrt(a), a > 0 and normal, within RSQRT_ULPS of tests/kernel: an estimate and one step of
 * Newton's method */
INLINE vec vec_rsqrt(vec a)
{
    vec r = RSQRT_ESTIMATE(a);
    vec half = MM(mul_ps)(MM(mul_ps)(a, r), MM(set1_ps)(-0.5f));
    return MM(mul_ps)(r, MM(fmadd_ps)(half, r, MM(set1_ps)(1.5f)));
}

/* ---- conditions lane by lane ---- */

/* then where a < b, otherwise `other` (also for NaN) */
INLINE vec vec_if_less(vec a, vec b, vec then, vec other)
{
    return vec_select(COMPARE(a, b, _CMP_LT_OQ), then, other);
}

/* a > b, or a is NaN */
INLINE vec_bool vec_exceeds(vec a, vec b)
{
    return either(COMPARE(a, b, _CMP_GT_OQ), COMPARE(a, a, _CMP_UNORD_Q));
}

/* Bit i set: lane i of a is not 0 (a NaN is not 0). */
INLINE uint32_t vec_nonzero(vec a)
{
    return bits_of(COMPARE(a, MM(setzero_ps)(), _CMP_NEQ_UQ));
}

/* Bit i set: lane i of a equals that of b. */
INLINE uint32_t vec_equal(vec a, vec b)
{
    return bits_of(COMPARE(a, b, _CMP_EQ_OQ));
}

/* ---- sums in double: fixed trees ---- */

/* Sum of the lanes. */
INLINE double vec_sum_double(vec a)
{
    vec_doubles low = low_doubles(a), high = high_doubles(a);
    return sum_of_doubles(MM(add_pd)(low, high));
}

/* Two sums of products: sum[.] + x y. */
typedef struct double_sum {
    vec_doubles low, high;
} double_sum;

INLINE double_sum double_sum_zero(void)
{
    return (double_sum){MM(setzero_pd)(), MM(setzero_pd)()};
}

INLINE double_sum double_sum_add(double_sum sum, vec x, vec y)
{
    vec_doubles x_low = low_doubles(x), x_high = high_doubles(x);
    vec_doubles y_low = low_doubles(y), y_high = high_doubles(y);
    return (double_sum){MM(fmadd_pd)(x_low, y_low, sum.low),
                        MM(fmadd_pd)(x_high, y_high, sum.high)};
}

INLINE double double_sum_total(double_sum a, double_sum b)
{
    return sum_of_doubles(MM(add_pd)(MM(add_pd)(a.low, a.high), MM(add_pd)(b.low, b.high)));
}

/* ---- words of 32 bits ---- */

/* clang-format off */
INLINE vec_u32 u32_set(uint32_t a) { return MM(set1_epi32)((int)a); }
INLINE vec_u32 u32_add(vec_u32 a, vec_u32 b) { return MM(add_epi32)(a, b); }
INLINE vec_u32 u32_mul(vec_u32 a, vec_u32 b) { return MM(mullo_epi32)(a, b); }
INLINE vec_u32 u32_xor(vec_u32 a, vec_u32 b) { return MM_WHOLE(xor)(a, b); }
/* a ^ (a >> bits) and a ^ (a << bits), bits a constant */
INLINE vec_u32 u32_fold(vec_u32 a, int bits) { return u32_xor(a, MM(srli_epi32)(a, bits)); }
INLINE vec_u32 u32_spread(vec_u32 a, int bits) { return u32_xor(a, MM(slli_epi32)(a, bits)); }
/* clang-format on */

/* (a >> 8) 2^-24: in [0, 1) */
INLINE vec vec_unit(vec_u32 a)
{
    return MM(mul_ps)(MM(cvtepi32_ps)(MM(srli_epi32)(a, 8)), MM(set1_ps)(0x1p-24f));
}

/* The larger, lane by lane, of `so_far` and the bits of |a|: at least 0x7f800000 once an infinity
 * or a NaN was seen. */
typedef vec_u32 magnitude;

INLINE magnitude magnitude_zero(void)
{
    return MM_WHOLE(setzero)();
}

INLINE magnitude magnitude_max(magnitude so_far, vec a)
{
    return MM(max_epu32)(so_far, MM_WHOLE(castps)(vec_abs(a)));
}

/* ---- bf16: two words in each lane ---- */

/* The number in the low or the high half of each lane. */
INLINE vec vec_low_word(vec a)
{
    return as_floats(MM(slli_epi32)(MM_WHOLE(castps)(a), 16));
}
INLINE vec vec_high_word(vec a)
{
    return as_floats(MM_WHOLE(and)(MM_WHOLE(castps)(a), MM(set1_epi32)(-0x10000)));
}

#endif
