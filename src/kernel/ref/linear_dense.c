/* kernel/ref/linear_dense.c - dense dot, AXPY, merge and decay for every pair of formats, in plain
 * C: the definition, as kernel/linear.h states it.
 *
 * Every body is written once, for data format d and model format m, which are constants in each
 * caller.  Shared numbers (w, centre) are relaxed atomics of their own width.
 */
#include "base/racy.h"
#include "kernel/inline.h"
#include "kernel/tiers.h"

#include <math.h>

/* ---- one number ---- */

INLINE int32_t integer_at(drove_number d, const void *x, size_t i)
{
    if (d == DROVE_I4) return drove__nibble_at(x, i);
    return d == DROVE_I8 ? ((const int8_t *)x)[i] : ((const int16_t *)x)[i];
}

INLINE float float_at(drove_number d, const void *x, size_t i)
{
    return d == DROVE_F32 ? ((const float *)x)[i] : (float)integer_at(d, x, i);
}

INLINE uint8_t shared_pair(const void *w, size_t i)
{
    return (uint8_t)drove__racy_load_i8((const int8_t *)w + i / 2);
}

INLINE int32_t shared_integer(drove_number m, const void *w, size_t i)
{
    if (m == DROVE_I4) return drove__nibble_of(shared_pair(w, i), i);
    return m == DROVE_I8 ? drove__racy_load_i8((const int8_t *)w + i)
                         : drove__racy_load_i16((const int16_t *)w + i);
}

INLINE float shared_float(drove_number m, const void *w, size_t i)
{
    return m == DROVE_F32 ? drove__racy_load((const float *)w + i) : (float)shared_integer(m, w, i);
}

/* 4 bits: the neighbour in the byte is written back as it is now. */
INLINE void store_integer(drove_number m, void *w, size_t i, int32_t value)
{
    if (m == DROVE_I4) {
        uint8_t pair = drove__nibble_put(shared_pair(w, i), i, value);
        drove__racy_store_i8((int8_t *)w + i / 2, (int8_t)pair);
    } else if (m == DROVE_I8) drove__racy_store_i8((int8_t *)w + i, (int8_t)value);
    else drove__racy_store_i16((int16_t *)w + i, (int16_t)value);
}

/* clamp(sum); *n_clamped + 1 if that is not sum. */
INLINE int32_t clamp(drove_number m, int32_t sum, size_t *n_clamped)
{
    int32_t most = drove__number_most(m);
    int32_t clamped = sum > most ? most : sum < -most - 1 ? -most - 1 : sum;
    *n_clamped += sum != clamped;
    return clamped;
}

/* ---- random bits ---- */

/* Block b; called once per block, in order. */
static const uint8_t *next_block(drovek_bits *bits, size_t b, uint8_t *room)
{
    if (bits->kind == DROVEK_BITS_FIXED) return bits->block;
    if (bits->kind == DROVEK_BITS_STREAM) return bits->block + DROVEK_BLOCK_BYTES * b;
    for (size_t k = 0; k < 8; k++) {
        uint64_t s = bits->state[k];
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        bits->state[k] = s;
        for (size_t byte = 0; byte < 8; byte++) room[8 * k + byte] = (uint8_t)(s >> (8 * byte));
    }
    return room;
}

/* The block, or the two, that numbers use now. */
typedef struct draw {
    uint8_t room[2][DROVEK_BLOCK_BYTES];
    const uint8_t *block[2];
} draw;

/* The block of number i and its place there; called in order. */
INLINE const uint8_t *block_of(drove_number d, drove_number m, bool is_batch, draw *from,
                               drovek_bits *bits, size_t i, size_t *place)
{
    const size_t per_draw = drovek_per_draw(d, m, is_batch),
                 n_blocks = 1u << drovek_fraction_of(d, m, is_batch).is_split;
    for (size_t b = 0; b < n_blocks && i % per_draw == 0; b++)
        from->block[b] = next_block(bits, i / per_draw * n_blocks + b, from->room[b]);
    *place = i % per_draw / n_blocks;
    return from->block[i % n_blocks];
}

INLINE int32_t word_of(const uint8_t *block, size_t i)
{
    return block[2 * i] | block[2 * i + 1] << 8;
}

/* r of number i of its block. */
INLINE int32_t random_bits(drove_number d, drove_number m, bool is_batch, const uint8_t *block,
                           size_t i, int shift)
{
    if (drovek_fraction_of(d, m, is_batch).is_bytes) return block[i] >> (8 - shift);
    return (int32_t)((2 * (uint64_t)word_of(block, i) + 1) << shift >> 17);
}

/* floor(v) if w + floor(v) may be in the range of a 16-bit w; otherwise some number that leaves the
 * range on the same side.  NaN counts as the lowest number. */
INLINE int32_t floor_within(float v)
{
    const float beyond = 65536.0f;
    v = v > -beyond ? v : -beyond;
    v = v < beyond ? v : beyond;
    return (int32_t)floorf(v);
}

/* The constant in (0, 1) that turns floor into rounding. */
INLINE float rounding_of(const uint8_t *block, size_t i)
{
    return ((float)word_of(block, i) + 0.5f) * 0x1p-16f;
}

/* ---- the kernels ---- */

INLINE double dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    if (d != DROVE_F32 && m != DROVE_F32) {
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (int64_t)integer_at(d, x, i) * shared_integer(m, w, i);
        return (double)sum;
    }
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += (double)float_at(d, x, i) * (double)shared_float(m, w, i);
    return sum;
}

/* fmaf over the rows from 0; c is added before the last one.  (Adding -0 changes no sum.) */
INLINE float sum_rows(drove_number d, const void *const *x, const drovek_factor *factor,
                      size_t n_rows, size_t i, float c)
{
    float sum = -0.0f;
    for (size_t k = 0; k + 1 < n_rows; k++) sum = fmaf(factor[k].f, float_at(d, x[k], i), sum);
    return fmaf(factor[n_rows - 1].f, float_at(d, x[n_rows - 1], i), sum + c);
}

INLINE int32_t sum_integer_rows(drove_number d, const void *const *x, const drovek_factor *factor,
                                size_t n_rows, size_t i)
{
    int32_t sum = 0;
    for (size_t k = 0; k < n_rows; k++) sum += factor[k].a * integer_at(d, x[k], i);
    return sum;
}

INLINE size_t axpy_float_model(drove_number d, void *w, const void *const *x,
                               const drovek_factor *factor, size_t n_rows, size_t n)
{
    float *to = w;
    for (size_t i = 0; i < n; i++)
        drove__racy_store(to + i, sum_rows(d, x, factor, n_rows, i, drove__racy_load(to + i)));
    return 0;
}

/* Whether n_rows is 1 is known in every caller. */
INLINE size_t axpy_integer_model(drove_number d, drove_number m, void *w, const void *const *x,
                                 const drovek_factor *factor, size_t n_rows, size_t n,
                                 drovek_bits *bits)
{
    const bool is_batch = n_rows > 1;
    size_t n_clamped = 0;
    draw from = {.block = {NULL}};
    for (size_t i = 0; i < n; i++) {
        size_t place;
        const uint8_t *block = block_of(d, m, is_batch, &from, bits, i, &place);
        int32_t delta;
        if (d == DROVE_F32) {
            delta = floor_within(sum_rows(d, x, factor, n_rows, i, rounding_of(block, place)));
        } else {
            int shift = factor[0].shift;
            delta = sum_integer_rows(d, x, factor, n_rows, i) +
                    random_bits(d, m, is_batch, block, place, shift);
            delta >>= shift; /* of negative numbers too: floor */
        }
        store_integer(m, w, i, clamp(m, shared_integer(m, w, i) + delta, &n_clamped));
    }
    return n_clamped;
}

INLINE size_t axpy(drove_number d, drove_number m, void *w, const void *const *x,
                   const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    if (m == DROVE_F32) return axpy_float_model(d, w, x, factor, n_rows, n);
    return n_rows > 1 ? axpy_integer_model(d, m, w, x, factor, n_rows, n, bits)
                      : axpy_integer_model(d, m, w, x, factor, 1, n, bits);
}

INLINE double axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                       const drovek_factor *factor, const void *next, const void *ahead, size_t n,
                       drovek_bits *bits, size_t *n_clamped)
{
    (void)ahead;
    *n_clamped += axpy(d, m, w, &x, factor, 1, n, bits);
    return dot(d, m, next, w, n);
}

/* round(factor x), by the bits of word i. */
INLINE int32_t rounded(float factor, int32_t x, const uint8_t *block, size_t i)
{
    return floor_within(fmaf(factor, (float)x, rounding_of(block, i)));
}

INLINE size_t merge_floats(void *centre, void *w, void *last, size_t n, float share)
{
    float *c = centre, *replica = w, *was = last;
    for (size_t i = 0; i < n; i++) {
        float gain = drove__racy_load(replica + i) - was[i];
        was[i] = fmaf(share, gain, drove__racy_load(c + i));
        drove__racy_store(c + i, was[i]);
        drove__racy_store(replica + i, was[i]);
    }
    return 0;
}

INLINE size_t merge(drove_number m, void *centre, void *w, void *last, size_t n, float share,
                    drovek_bits *bits)
{
    uint8_t room[DROVEK_BLOCK_BYTES];
    const uint8_t *block = NULL;
    size_t n_clamped = 0;
    if (m == DROVE_F32) return merge_floats(centre, w, last, n, share);
    for (size_t i = 0; i < n; i++) {
        int32_t gain = shared_integer(m, w, i) - integer_at(m, last, i);
        if (share != 1.0f) {
            if (i % 32 == 0) block = next_block(bits, i / 32, room);
            gain = rounded(share, gain, block, i % 32);
        }
        int32_t met = clamp(m, shared_integer(m, centre, i) + gain, &n_clamped);
        store_integer(m, centre, i, met);
        store_integer(m, w, i, met);
        if (m == DROVE_I4) drove__nibble_set(last, i, met);
        else if (m == DROVE_I8) ((int8_t *)last)[i] = (int8_t)met;
        else ((int16_t *)last)[i] = (int16_t)met;
    }
    return n_clamped;
}

INLINE void decay_floats(void *w, size_t n, float kappa)
{
    float *to = w;
    for (size_t i = 0; i < n; i++) {
        float was = drove__racy_load(to + i);
        drove__racy_store(to + i, fmaf(-kappa, was, was));
    }
}

INLINE void decay(drove_number m, void *w, size_t n, float kappa, drovek_bits *bits)
{
    uint8_t room[DROVEK_BLOCK_BYTES];
    const uint8_t *block = NULL;
    if (m == DROVE_F32) {
        decay_floats(w, n, kappa);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (i % 32 == 0) block = next_block(bits, i / 32, room);
        int32_t was = shared_integer(m, w, i);
        store_integer(m, w, i, was + rounded(kappa, -was, block, i % 32));
    }
}

/* ---- the table: one instance per pair of formats ---- */

#define EACH_BODY "kernel/linear_dense_body.h"
#include "kernel/linear_each_dense.h"

const drovek_table drovek_linear_dense_ref = {.linear = DENSE_TABLE};
