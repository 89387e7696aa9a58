/* base/half.h - floats of 16 bits, as files of other programs have them.
 *
 *   half   IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction
 *   bf16   the upper half of a binary32
 */
#ifndef DROVE_BASE_HALF_H
#define DROVE_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float drove__float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float drove__float_of_bf16(uint16_t bits)
{
    return drove__float_of_bits((uint32_t)bits << 16);
}

/* Exact: every half is a float. */
static inline float drove__float_of_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, fraction = bits & 0x3ffu;
    const uint32_t exponent = bits >> 10 & 0x1fu;
    if (exponent == 0x1f) return drove__float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* denormal: fraction units of 2^-24 */
        const float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    return drove__float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

#endif
