/* kernel/lanes/curves.h - the activation functions of kernel/curves.h over vectors: the compiler
 * makes vectors of loops without calls. */
#ifndef DROVEK_LANES_CURVES_H
#define DROVEK_LANES_CURVES_H

#include "kernel/kernel.h"
#include "kernel/lanes/vector.h"

#include <math.h>
#include <string.h>

INLINE uint32_t float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

INLINE float bits_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#define DROVE_FUNCTION      INLINE
#define DROVE_FLOAT_BITS(v) float_bits(v)
#define DROVE_BITS_FLOAT(v) bits_float(v)
#define DROVE_SQRT(x)       sqrtf(x)
#define CURVE_REAL          float
#include "kernel/curves.h"

static void curve_f32(float *y, const float *x, size_t n, drovek_act act, float a, float b)
{
#define X(name)                                                                                    \
    if (act == DROVEK_CURVE_##name)                                                                \
        for (size_t i = 0; i < n; i++) y[i] = curve_##name(x[i], a, b);
    DROVE_CURVES(X)
#undef X
}

static void curve_back_f32(float *dx, const float *dy, const float *x, size_t n, drovek_act act,
                           float a, float b, bool adds)
{
#define X(name)                                                                                    \
    if (act == DROVEK_CURVE_##name && adds)                                                        \
        for (size_t i = 0; i < n; i++) dx[i] += dy[i] * slope_##name(x[i], a, b);                  \
    if (act == DROVEK_CURVE_##name && !adds)                                                       \
        for (size_t i = 0; i < n; i++) dx[i] = dy[i] * slope_##name(x[i], a, b);
    DROVE_CURVES(X)
#undef X
}

#endif
