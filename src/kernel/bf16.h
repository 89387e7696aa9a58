/* kernel/bf16.h - products whose factors are rounded to bf16 first: part of the table of kernel.h.
 *
 * bf16 is the upper half of an IEEE single: 8 bits of significand, the same range.  The product of
 * two such numbers is exact in a single, and the sums are singles, in an order that each tier may
 * choose as for f32.  Only the factors are rounded, to nearest, ties to even: results, alpha and
 * beta, eta, and the parameters that ger and spger change are singles.  Denormal numbers count as
 * zero.  Rounding a number twice gives the same as once, so a factor may already be in bf16.
 *
 * The functions have the types and the meaning of the slots of kernel.h, whose place they take in a
 * table for networks in bf16 (drovek_narrow).
 */
#ifndef DROVEK_BF16_H
#define DROVEK_BF16_H

#include "base/racy.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The nearest bf16 number, as a single; a NaN stays one. */
static inline float drovek_bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) bits |= 0x400000u;
    else bits += 0x7fffu + (bits >> 16 & 1u);
    bits &= 0xffff0000u;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* The single whose upper half a word is. [racy] */
static inline float drovek_bf16_load(const uint16_t *word)
{
    uint32_t bits = (uint32_t)(uint16_t)drove__racy_load_i16((const int16_t *)word) << 16;
    float    v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* One number of the slot sgd_bf16. [racy: word] */
static inline void drovek_bf16_step(uint16_t *word, float g, float eta, uint16_t r)
{
    float    next = fmaf(-eta, g, drovek_bf16_load(word));
    bool     is_finite = fabsf(next) < INFINITY;
    uint32_t bits;
    if (!is_finite) next += next;
    memcpy(&bits, &next, sizeof bits);
    if (is_finite) bits += r;
    drove__racy_store_i16((int16_t *)word, (int16_t)(bits >> 16));
}

#endif
