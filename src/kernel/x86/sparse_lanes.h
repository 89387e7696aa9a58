/* kernel/x86/sparse_lanes.h - LANES pairs of a sparse example in registers: the operations that
 * x86/linear_sparse.h is written in.  After lanes_avx2.h or lanes_avx512.h; the rest is in
 * sparse_lanes_avx2.h and sparse_lanes_avx512.h.
 *
 * `count` is the number of pairs that exist, up to LANES, as in lanes.h: nothing beyond them
 * is touched; absent indices, values and elements of the model read as 0.
 *
 * Positions are kept as int32_t minus 2^31, and the base address of the model is raised by as many
 * elements: gathers take signed indices, and positions go up to 2^32 - 1.
 *
 * Shared memory: gathers and scatters are inline assembly with a memory clobber, so the compiler
 * can neither split, repeat, delay nor drop them (base/racy.h).  A gather reads 32 bits where an
 * element of 8 or 16 bits begins; the neighbours in them are dropped.
 */
#ifndef DROVEK_X86_SPARSE_LANES_H
#define DROVEK_X86_SPARSE_LANES_H

typedef vec_u32 ints;

/* clang-format off */
INLINE ints ints_set(int32_t a) { return MM(set1_epi32)(a); }
INLINE ints ints_add(ints a, ints b) { return MM(add_epi32)(a, b); }
INLINE ints ints_xor(ints a, ints b) { return MM_WHOLE(xor)(a, b); }
INLINE ints ints_and(ints a, ints b) { return MM_WHOLE(and)(a, b); }
INLINE ints ints_min(ints a, ints b) { return MM(min_epi32)(a, b); }
INLINE ints ints_max(ints a, ints b) { return MM(max_epi32)(a, b); }
/* by the same number of bits in all lanes: shifts in zeros, or the sign */
INLINE ints ints_shift(ints a, __m128i bits) { return MM(srl_epi32)(a, bits); }
INLINE ints ints_shift_signed(ints a, __m128i bits) { return MM(sra_epi32)(a, bits); }
INLINE ints ints_high_half(ints a) { return MM(srai_epi32)(a, 16); }
/* the lowest 8 or 16 bits, with their sign */
INLINE ints ints_low_8(ints a) { return MM(srai_epi32)(MM(slli_epi32)(a, 24), 24); }
INLINE ints ints_low_16(ints a) { return MM(srai_epi32)(MM(slli_epi32)(a, 16), 16); }
/* low half times low half + high half times high half, all signed */
INLINE ints ints_madd(ints a, ints b) { return MM(madd_epi16)(a, b); }
INLINE vec  ints_to_floats(ints a) { return MM(cvtepi32_ps)(a); }
INLINE ints floats_to_ints(vec a) { return MM(cvttps_epi32)(a); }
INLINE vec  vec_min(vec a, vec b) { return MM(min_ps)(a, b); } /* b if NaN */
/* clang-format on */

#endif
