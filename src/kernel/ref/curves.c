/* kernel/ref/curves.c - the activation functions of kernel/curves.h in double, rounded once. */
#include "kernel/tiers.h"

#include <math.h>

#define DROVE_FUNCTION  static inline
#define CURVE_REAL      double
#define CURVE_N(number) number
#define CURVE_EXP(x)    exp(x)
#define CURVE_LOG1P(t)  log1p(t)
#define CURVE_ERFC(x)   erfc(x)
#define CURVE_SQRT(x)   sqrt(x)
#define CURVE_SIN(x)    sin(x)
#define CURVE_COS(x)    cos(x)
#include "kernel/curves.h"

void drovek_curve_f32_ref(float *y, const float *x, size_t n, drovek_act act, float a, float b)
{
#define X(name)                                                                                    \
    if (act == DROVEK_CURVE_##name)                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (float)curve_##name((double)x[i], (double)a, (double)b);
    DROVE_CURVES(X)
#undef X
}

void drovek_curve_back_f32_ref(float *dx, const float *dy, const float *x, size_t n, drovek_act act,
                               float a, float b, bool adds)
{
#define X(name)                                                                                    \
    if (act == DROVEK_CURVE_##name)                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float d = dy[i] * (float)slope_##name((double)x[i], (double)a, (double)b);       \
            dx[i] = adds ? dx[i] + d : d;                                                          \
        }
    DROVE_CURVES(X)
#undef X
}
