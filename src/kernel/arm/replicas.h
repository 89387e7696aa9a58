/* kernel/arm/replicas.h - merge and decay of kernel/linear.h, sixteen numbers at a time; m is a
 * constant of the caller.  Random bits are words here, so a block is two groups. */
#ifndef DROVEK_ARM_REPLICAS_H
#define DROVEK_ARM_REPLICAS_H

#include "kernel/arm/linear.h"

/* round(factor x) */
INLINE words rounded(float factor, words x, size_t count, group_bits bits)
{
    floats exact = rounding_of(bits), wide = words_to_floats(x);
    UNROLL
    for (size_t k = 0; k < 4; k++) exact.v[k] = vfmaq_n_f32(exact.v[k], wide.v[k], factor);
    return floor_within(exact, count);
}

/* Operation on one group. */
typedef struct replica_call {
    void       *centre, *w, *last;
    float       factor; /* share or kappa */
    bool        has_bits;
    clamp_count clamped;
} replica_call;

INLINE void merge_group(replica_call *c, drove_number m, size_t i, size_t count, group_bits bits)
{
    sixteen w = shared_load(m, c->w, i, count), last = load(m, c->last, i, count);
    sixteen centre = shared_load(m, c->centre, i, count);
    if (m == DROVE_F32) {
        floats now = to_floats(m, w), was = to_floats(m, last), sum = to_floats(m, centre);
        UNROLL
        for (size_t k = 0; k < 4; k++)
            sum.v[k] = vfmaq_n_f32(sum.v[k], vsubq_f32(now.v[k], was.v[k]), c->factor);
        centre = from_floats(sum);
    } else {
        words now = to_words(m, w), was = to_words(m, last), gain;
        UNROLL
        for (size_t k = 0; k < 4; k++) gain.v[k] = vsubq_s32(now.v[k], was.v[k]);
        if (c->has_bits) gain = rounded(c->factor, gain, count, bits);
        centre = clamp_words(m, add_words(to_words(m, centre), gain), &c->clamped);
    }
    shared_store(m, c->centre, i, centre, count);
    shared_store(m, c->w, i, centre, count);
    store(m, c->last, i, centre, count);
}

INLINE void decay_group(replica_call *c, drove_number m, size_t i, size_t count, group_bits bits)
{
    sixteen w = shared_load(m, c->w, i, count);
    if (m == DROVE_F32) {
        floats now = to_floats(m, w);
        UNROLL
        for (size_t k = 0; k < 4; k++) now.v[k] = vfmaq_n_f32(now.v[k], now.v[k], -c->factor);
        w = from_floats(now);
    } else {
        words now = to_words(m, w), minus;
        UNROLL
        for (size_t k = 0; k < 4; k++) minus.v[k] = vnegq_s32(now.v[k]);
        w = clamp_words(m, add_words(now, rounded(c->factor, minus, count, bits)), &c->clamped);
    }
    shared_store(m, c->w, i, w, count);
}

INLINE void walk(replica_call *c, drove_number m, size_t n, drovek_bits *bits, bool is_merge)
{
    bit_source random = {.bits = bits};
    if (n == 0) return;
    UNROLL
    for (size_t k = 0; k < 4; k++) random.block.part[k] = vdupq_n_u8(0);
    if (c->has_bits) random = bit_source_begin(bits);
    for (size_t i = 0; i < n; i += 2 * SIXTEEN) {
        if (c->has_bits) bit_source_next(&random, bits->kind == DROVEK_BITS_FIXED);
        UNROLL
        for (size_t g = 0; g < 2; g++) {
            size_t     at = i + g * SIXTEEN;
            group_bits part = bits_of_group(&random.block, g, false);
            size_t     left = at < n ? n - at : 0;
            if (left >= SIXTEEN && is_merge) merge_group(c, m, at, SIXTEEN, part);
            else if (left >= SIXTEEN) decay_group(c, m, at, SIXTEEN, part);
            else if (left > 0 && is_merge) merge_group(c, m, at, left, part);
            else if (left > 0) decay_group(c, m, at, left, part);
        }
    }
    if (c->has_bits) bit_source_end(&random);
}

INLINE size_t merge(drove_number m, void *centre, void *w, void *last, size_t n, float share,
                    drovek_bits *bits)
{
    replica_call c = {.centre = centre,
                      .w = w,
                      .last = last,
                      .factor = share,
                      .has_bits = m != DROVE_F32 && share != 1.0f,
                      .clamped = clamp_count_zero()};
    walk(&c, m, n, bits, true);
    return clamp_count_total(&c.clamped);
}

INLINE void decay(drove_number m, void *w, size_t n, float kappa, drovek_bits *bits)
{
    replica_call c = {
        .w = w, .factor = kappa, .has_bits = m != DROVE_F32, .clamped = clamp_count_zero()};
    walk(&c, m, n, bits, false);
}

#endif
