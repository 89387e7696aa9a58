/* kernel/x86/linear_sparse.h - dot and AXPY of a sparse example, LANES pairs at a time.
 *
 * A tier's source file includes this after sparse_lanes_<tier>.h; linear_sparse_body.h then makes
 * the kernels for each combination of formats.  Positions come from prefix sums of the differences
 * in registers, elements of w from gathers.  AXPY rounds in 32-bit lanes; it stores floats by a
 * scatter if the tier has one, and everything else one by one.
 *
 * Two pairs of a vector may share a position (a difference of 0) only if one has the value 0.
 * Such a vector stores only its non-zero pairs: the others would write back what they gathered.
 * Across vectors the order of the pairs is kept.
 */
#ifndef DROVEK_X86_LINEAR_SPARSE_H
#define DROVEK_X86_LINEAR_SPARSE_H

#include "base/racy.h"
#include "kernel/linear.h"

#include <stdbool.h>

/* ---- positions ---- */

/* Positions are stored minus 2^31 (sparse_lanes.h). */
#define PLACE_BIAS INT32_MIN

INLINE ints places_32(ints index, ints *base)
{
    (void)base;
    return ints_xor(index, ints_set(PLACE_BIAS));
}

/* *base: the position of the previous pair, in every lane; updated */
INLINE ints places_16(ints index, ints *base)
{
    ints prefix = ints_prefix_sums(index), place = ints_add(*base, prefix);
    *base = ints_add(*base, ints_last(prefix));
    return place;
}

INLINE ints places_8(ints index, ints *base)
{
    return places_16(index, base);
}

/* Address of position 2^31 in a model at w with elements of size_bytes. */
INLINE char *biased(const void *w, size_t size_bytes)
{
    return (char *)((uintptr_t)w + ((uintptr_t)size_bytes << 31));
}

/* ---- pairs ---- */

#define load_index_8  load_u8
#define load_index_16 load_u16
#define load_index_32 load_u32

/* Whether two of these pairs may share a position.  Differences only: 32-bit positions ascend. */
#define may_meet_8                ints_any_zero
#define may_meet_16               ints_any_zero
#define may_meet_32(index, count) 0

#define load_value_8   load_i8
#define load_value_16  load_i16
#define load_value_32f vec_load

/* ---- dot ---- */

/* Vectors whose products are summed in 32-bit lanes before the sum is widened: 2^8 products of at
 * most 2^22, or 2^8 halves of larger ones.  Sums of floats become more precise, too. */
enum { DOT_RUN = 256 };

typedef struct wide_sum {
    ints low, high; /* of the low halves, unsigned; of the high halves */
} wide_sum;

/* clang-format off */
INLINE ints     zero_sum(void) { return ints_set(0); }
INLINE wide_sum zero_wide(void) { return (wide_sum){ints_set(0), ints_set(0)}; }
INLINE vec      zero_float(void) { return vec_set(0.0f); }
INLINE int64_t  total_wide(wide_sum s) { return ints_total(s.low) + ints_total(s.high) * 65536; }
/* clang-format on */

/* x: numbers; w: gathered, bits beyond the element are arbitrary */
INLINE ints add_by_8(ints sum, ints x, ints w)
{
    return ints_add(sum, ints_madd(ints_and(x, ints_set(0xffff)), ints_low_8(w)));
}

INLINE ints add_by_16(ints sum, ints x, ints w)
{
    return ints_add(sum, ints_madd(ints_and(x, ints_set(0xffff)), w));
}

INLINE wide_sum add_16_by_16(wide_sum sum, ints x, ints w)
{
    ints product = ints_madd(ints_and(x, ints_set(0xffff)), w);
    sum.low = ints_add(sum.low, ints_and(product, ints_set(0xffff)));
    sum.high = ints_add(sum.high, ints_high_half(product));
    return sum;
}

INLINE vec add_float_by_8(vec sum, vec x, ints w)
{
    return vec_fma(x, ints_to_floats(ints_low_8(w)), sum);
}

INLINE vec add_float_by_16(vec sum, vec x, ints w)
{
    return vec_fma(x, ints_to_floats(ints_low_16(w)), sum);
}

INLINE vec add_by_float(vec sum, ints x, vec w)
{
    return vec_fma(ints_to_floats(x), w, sum);
}

INLINE vec add_float_by_float(vec sum, vec x, vec w)
{
    return vec_fma(x, w, sum);
}

/* By data and model: types of the sum per lane and in total; its start, step and end. */
#define LANE_SUM_8_8     ints
#define LANE_SUM_8_16    ints
#define LANE_SUM_16_8    ints
#define LANE_SUM_16_16   wide_sum
#define LANE_SUM_8_32f   vec
#define LANE_SUM_16_32f  vec
#define LANE_SUM_32f_8   vec
#define LANE_SUM_32f_16  vec
#define LANE_SUM_32f_32f vec

#define TOTAL_8_8     int64_t
#define TOTAL_8_16    int64_t
#define TOTAL_16_8    int64_t
#define TOTAL_16_16   int64_t
#define TOTAL_8_32f   double
#define TOTAL_16_32f  double
#define TOTAL_32f_8   double
#define TOTAL_32f_16  double
#define TOTAL_32f_32f double

#define zero_8_8     zero_sum
#define zero_8_16    zero_sum
#define zero_16_8    zero_sum
#define zero_16_16   zero_wide
#define zero_8_32f   zero_float
#define zero_16_32f  zero_float
#define zero_32f_8   zero_float
#define zero_32f_16  zero_float
#define zero_32f_32f zero_float

#define add_8_8     add_by_8
#define add_8_16    add_by_16
#define add_16_8    add_by_8
#define add_16_16   add_16_by_16
#define add_8_32f   add_by_float
#define add_16_32f  add_by_float
#define add_32f_8   add_float_by_8
#define add_32f_16  add_float_by_16
#define add_32f_32f add_float_by_float

#define total_8_8     ints_total
#define total_8_16    ints_total
#define total_16_8    ints_total
#define total_16_16   total_wide
#define total_8_32f   vec_sum_double
#define total_16_32f  vec_sum_double
#define total_32f_8   vec_sum_double
#define total_32f_16  vec_sum_double
#define total_32f_32f vec_sum_double

/* ---- AXPY ---- */

/* State of one call, in registers. */
typedef struct update {
    ints           a;                             /* factor.a in the low half */
    vec            f;                             /* factor.f */
    __m128i        shift, byte_shift, word_shift; /* of delta; of random bytes and words */
    drovek_bits   *bits;
    const uint8_t *block; /* of the current numbers; xorshift: the state itself */
    ints           n_clamped;
} update;

INLINE void update_begin(update *u, const drovek_factor *factor, drovek_bits *bits)
{
    u->a = ints_set(factor->a & 0xffff);
    u->f = vec_set(factor->f);
    u->shift = _mm_cvtsi32_si128(factor->shift);
    u->byte_shift = _mm_cvtsi32_si128(8 - factor->shift);
    u->word_shift = _mm_cvtsi32_si128(16 - factor->shift);
    u->bits = bits;
    u->block = NULL;
    u->n_clamped = ints_set(0);
}

/* Called before the first number of every block. */
INLINE void update_next_block(update *u)
{
    if (u->bits->kind == DROVEK_BITS_XORSHIFT) {
        xorshift_block(u->bits->state);
        u->block = (const uint8_t *)u->bits->state;
    } else if (u->block == NULL) {
        u->block = u->bits->block;
    } else if (u->bits->kind == DROVEK_BITS_STREAM) {
        u->block += DROVEK_BLOCK_BYTES;
    }
}

/* delta of the numbers x, which are i, i + 1 ... of their block */
INLINE ints delta_by_byte(const update *u, ints x, size_t i)
{
    ints r = ints_shift(load_u8(u->block + i, LANES), u->byte_shift);
    return ints_shift_signed(ints_add(ints_madd(x, u->a), r), u->shift);
}

INLINE ints random_words(const update *u, size_t i)
{
    return load_u16((const uint16_t *)(const void *)u->block + i, LANES);
}

INLINE ints delta_by_word(const update *u, ints x, size_t i)
{
    ints r = ints_shift(random_words(u, i), u->word_shift);
    return ints_shift_signed(ints_add(ints_madd(x, u->a), r), u->shift);
}

/* Beyond +-2^17 every w clamps; NaN becomes the lower bound. */
INLINE ints delta_of_float(const update *u, vec x, size_t i)
{
    vec r = vec_fma(ints_to_floats(random_words(u, i)), vec_set(0x1p-16f), vec_set(0x1p-17f));
    vec exact = vec_fma(u->f, x, r);
    exact = vec_min(vec_max(exact, vec_set(-0x1p17f)), vec_set(0x1p17f));
    return floats_to_ints(vec_floor(exact));
}

INLINE ints moved_8(update *u, ints w, ints delta)
{
    ints wanted = ints_add(ints_low_8(w), delta);
    ints result = ints_max(ints_min(wanted, ints_set(INT8_MAX)), ints_set(INT8_MIN));
    u->n_clamped = ints_count_differing(u->n_clamped, wanted, result);
    return result;
}

INLINE ints moved_16(update *u, ints w, ints delta)
{
    ints wanted = ints_add(ints_low_16(w), delta);
    ints result = ints_max(ints_min(wanted, ints_set(INT16_MAX)), ints_set(INT16_MIN));
    u->n_clamped = ints_count_differing(u->n_clamped, wanted, result);
    return result;
}

#define MOVED_8_8(u, w, x, i)     moved_8(u, w, delta_by_byte(u, x, i))
#define MOVED_16_8(u, w, x, i)    moved_8(u, w, delta_by_word(u, x, i))
#define MOVED_32f_8(u, w, x, i)   moved_8(u, w, delta_of_float(u, x, i))
#define MOVED_8_16(u, w, x, i)    moved_16(u, w, delta_by_word(u, x, i))
#define MOVED_16_16(u, w, x, i)   moved_16(u, w, delta_by_word(u, x, i))
#define MOVED_32f_16(u, w, x, i)  moved_16(u, w, delta_of_float(u, x, i))
#define MOVED_8_32f(u, w, x, i)   vec_fma((u)->f, ints_to_floats(x), w)
#define MOVED_16_32f(u, w, x, i)  vec_fma((u)->f, ints_to_floats(x), w)
#define MOVED_32f_32f(u, w, x, i) vec_fma((u)->f, x, w)

/* Numbers per block of random bits. */
#define PER_BLOCK_8_8     64
#define PER_BLOCK_16_8    32
#define PER_BLOCK_32f_8   32
#define PER_BLOCK_8_16    32
#define PER_BLOCK_16_16   32
#define PER_BLOCK_32f_16  32
#define PER_BLOCK_8_32f   32
#define PER_BLOCK_16_32f  32
#define PER_BLOCK_32f_32f 32

#define next_block_8      update_next_block
#define next_block_16     update_next_block
#define next_block_32f(u) (void)(u) /* nothing is rounded */

/* Register type for elements of a model. */
#define LANES_8   ints
#define LANES_16  ints
#define LANES_32f vec

/* ---- stores one by one, without a scatter ---- */

/* Extracts the elements of a vector through general registers, several per register, and adds the
 * differences up a second time: spilling them to the stack and reading them back costs twice as
 * much (measured, D8i8M8: 2.2 against 1.1 cycles an element). */
#define STORE_8   drove__racy_store_i8
#define STORE_16  drove__racy_store_i16
#define STORE_32f drove__racy_store

typedef struct packed_8 {
    uint64_t word[LANES / 8];
} packed_8;

typedef struct packed_16 {
    uint64_t word[LANES / 4];
} packed_16;

/* Element i; called for i = 0, 1 ... in order. */
INLINE int8_t take_8(packed_8 *p, size_t i)
{
    int8_t element = (int8_t)p->word[i / 8];
    p->word[i / 8] >>= 8;
    return element;
}

INLINE int16_t take_16(packed_16 *p, size_t i)
{
    int16_t element = (int16_t)p->word[i / 4];
    p->word[i / 4] >>= 16;
    return element;
}

INLINE packed_8 pack_8(ints v)
{
    packed_8 p;
    ints_pack_8(p.word, v);
    return p;
}

INLINE packed_16 pack_16(ints v)
{
    packed_16 p;
    ints_pack_16(p.word, v);
    return p;
}

/* Floats from the stack. */
typedef struct packed_32f {
    float element[LANES];
} packed_32f;

INLINE packed_32f pack_32f(vec v)
{
    packed_32f p;
    vec_store(p.element, v, LANES);
    return p;
}

INLINE float take_32f(packed_32f *p, size_t i)
{
    return p->element[i];
}

#define USES_SCATTER_8   0
#define USES_SCATTER_16  0
#define USES_SCATTER_32f HAS_SCATTER

#endif
