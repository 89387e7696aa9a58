/* kernel/curves.h - activation functions that no product has as its end: y = f(x), with the slope
 * f'(x) from x.
 *
 * A new one is a line of DROVE_CURVES, two functions here and its row in model/activations.c.  The
 * functions are in the common language of engine/accel/kernels/prelude_opencl.h, and are compiled
 * for the tiers of processors (lanes/curves.h), in double for plain C (ref/curves.c), in OpenCL and
 * in CUDA.  a and b are the row's numbers.  A NaN stays one.
 *
 * Words before it: DROVE_FUNCTION, and
 *   CURVE_REAL   float or double; without it only the list of names is read
 * For double also CURVE_N (a literal), CURVE_EXP, CURVE_LOG1P (of 0 to 1), CURVE_ERFC (from 0),
 * CURVE_SQRT, CURVE_SIN and CURVE_COS (to 8192); those of floats are made here of DROVE_SQRT,
 * DROVE_FLOAT_BITS and DROVE_BITS_FLOAT, without calls, so that loops of them become vectors.
 */
#ifndef DROVE_CURVES
#define DROVE_CURVES(X)                                                                            \
    X(leaky_relu)                                                                                  \
    X(elu)                                                                                         \
    X(selu)                                                                                        \
    X(gelu)                                                                                        \
    X(gelu_tanh)                                                                                   \
    X(silu)                                                                                        \
    X(mish)                                                                                        \
    X(softplus)                                                                                    \
    X(relu6)                                                                                       \
    X(hard_swish)                                                                                  \
    X(hard_sigmoid)                                                                                \
    X(erf)                                                                                         \
    X(smooth_clip)                                                                                 \
    X(sin)
#endif

#ifdef CURVE_REAL

#ifndef CURVE_EXP
/* e^x for x in [-87, 88], and e of the nearest end outside; within 2 units in the last place.
 * x = n ln 2 + r, |r| <= ln 2 / 2: Taylor's series to the 7th power of r, times 2^n.  Adding
 * 1.5 2^23 rounds to an integer, which then stands in the lowest bits. */
DROVE_FUNCTION float drove_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * DROVE_BITS_FLOAT((DROVE_FLOAT_BITS(shifted) << 23) + 0x3f800000u);
}

/* log(1 + t) = 2 artanh(s), s = t / (2 + t) <= 1/3: its series to the 13th power */
DROVE_FUNCTION float drove_log1p(float t)
{
    float s = t / (2.0f + t), q = s * s;
    float p = 2.0f / 13.0f;
    p = p * q + 2.0f / 11.0f;
    p = p * q + 2.0f / 9.0f;
    p = p * q + 2.0f / 7.0f;
    p = p * q + 2.0f / 5.0f;
    p = p * q + 2.0f / 3.0f;
    p = p * q + 2.0f;
    return p * s;
}

/* e^(-x^2) t P(t), t = 1 / (1 + 0.35 x), P of degree 9 with the least largest relative error
 * (7e-9); e^ loses digits where x^2 is large, in all 4e-6 at most until the result is below
 * 1e-37. */
DROVE_FUNCTION float drove_erfc(float x)
{
    float t = 1.0f / (1.0f + 0.35f * x);
    float p = 0.03838856890797615f;
    p = p * t - 0.15885834395885468f;
    p = p * t + 0.18129098415374756f;
    p = p * t - 0.02746984176337719f;
    p = p * t + 0.0868142619729042f;
    p = p * t + 0.1461571305990219f;
    p = p * t + 0.1511443853378296f;
    p = p * t + 0.18791186809539795f;
    p = p * t + 0.19713714718818665f;
    p = p * t + 0.1974838376045227f;
    return drove_exp(-x * x) * (t * p);
}

/* sin(x + quarters pi / 2) for x in [-8192, 8192], within 1.1e-7.  x = n pi / 2 + r, |r| <= pi / 4,
 * pi / 2 in three parts, of which the first two have so few bits that their multiples are exact
 * (Cody, Waite, Software manual for the elementary functions, 1980); then Taylor's series of the
 * sine to the 9th power of r, or of the cosine to the 8th. */
DROVE_FUNCTION float drove_sin(float x, unsigned quarters)
{
    float    shifted = x * 0.636619772f + 12582912.0f, n = shifted - 12582912.0f;
    unsigned quarter = DROVE_FLOAT_BITS(shifted) + quarters;
    float    r = ((x - n * 1.5703125f) - n * 4.8351287841796875e-4f) - n * 3.13916473e-7f;
    float    q = r * r;
    float    s = 1.0f / 362880.0f, c = 1.0f / 40320.0f;
    s = s * q - 1.0f / 5040.0f;
    s = s * q + 1.0f / 120.0f;
    s = s * q - 1.0f / 6.0f;
    s = s * (q * r) + r;
    c = c * q - 1.0f / 720.0f;
    c = c * q + 1.0f / 24.0f;
    c = c * q - 0.5f;
    c = c * q + 1.0f;
    float y = (quarter & 1u) != 0u ? c : s;
    return DROVE_BITS_FLOAT(DROVE_FLOAT_BITS(y) ^ ((quarter & 2u) << 30));
}
#define CURVE_N(number) number##f
#define CURVE_EXP(x)    drove_exp(x)
#define CURVE_LOG1P(t)  drove_log1p(t)
#define CURVE_ERFC(x)   drove_erfc(x)
#define CURVE_SQRT(x)   DROVE_SQRT(x)
#define CURVE_SIN(x)    drove_sin(x, 0u)
#define CURVE_COS(x)    drove_sin(x, 1u)
#endif

#define CURVE_UNUSED __attribute__((unused))
#define CURVE(name)                                                                                \
    DROVE_FUNCTION CURVE_REAL name(CURVE_REAL x, CURVE_UNUSED CURVE_REAL a,                        \
                                   CURVE_UNUSED CURVE_REAL b)

/* ---- what several of them are made of ---- */

/* 1 / (1 + e^-x), from e^-|x|, so that both tails keep their digits */
DROVE_FUNCTION CURVE_REAL curve_logistic(CURVE_REAL x)
{
    CURVE_REAL tail = CURVE_EXP(x < 0.0f ? x : -x);
    return (x < 0.0f ? tail : 1.0f) / (1.0f + tail);
}

/* The normal distribution's share below x. */
DROVE_FUNCTION CURVE_REAL curve_normal(CURVE_REAL x)
{
    CURVE_REAL below = 0.5f * CURVE_ERFC(CURVE_N(0.70710678118654752) * (x < 0.0f ? -x : x));
    return x < 0.0f ? below : 1.0f - below;
}

/* ---- the curves ---- */

CURVE(curve_leaky_relu)
{
    return x < 0.0f ? a * x : x;
}
CURVE(slope_leaky_relu)
{
    return x < 0.0f ? a : 1.0f;
}

CURVE(curve_elu)
{
    return x < 0.0f ? a * (CURVE_EXP(x) - 1.0f) : x;
}
CURVE(slope_elu)
{
    return x < 0.0f ? a * CURVE_EXP(x) : 1.0f;
}

CURVE(curve_selu)
{
    return b * (x < 0.0f ? a * (CURVE_EXP(x) - 1.0f) : x);
}
CURVE(slope_selu)
{
    return b * (x < 0.0f ? a * CURVE_EXP(x) : 1.0f);
}

CURVE(curve_gelu)
{
    return x * curve_normal(x);
}
CURVE(slope_gelu)
{
    return curve_normal(x) + CURVE_N(0.39894228040143268) * x * CURVE_EXP(-0.5f * x * x);
}

/* x (1 + tanh(u)) / 2 = x / (1 + e^-2u), 2u = 1.5957... (x + 0.044715 x^3); beyond 10 on either
 * side the factor is that of 10, 0 or 1, so that no power of x is too large */
DROVE_FUNCTION CURVE_REAL curve_inner(CURVE_REAL x)
{
    x = x < -10.0f ? -10.0f : x;
    return x > 10.0f ? 10.0f : x;
}
CURVE(curve_gelu_tanh)
{
    CURVE_REAL v = curve_inner(x);
    return x * curve_logistic(CURVE_N(1.5957691216057307) * (v + CURVE_N(0.044715) * v * v * v));
}
CURVE(slope_gelu_tanh)
{
    CURVE_REAL v = curve_inner(x), k = CURVE_N(1.5957691216057307), c = CURVE_N(0.044715);
    CURVE_REAL s = curve_logistic(k * (v + c * v * v * v));
    return s + v * (s * (1.0f - s)) * (k * (1.0f + 3.0f * c * v * v));
}

CURVE(curve_silu)
{
    return x * curve_logistic(a * x);
}
CURVE(slope_silu)
{
    CURVE_REAL s = curve_logistic(a * x);
    return s + a * x * (s * (1.0f - s));
}

/* x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2); from 20 on the factor is 1 */
CURVE(curve_mish)
{
    CURVE_REAL e = CURVE_EXP(x > 20.0f ? 20.0f : x), n = e * (e + 2.0f);
    return x * (n / (n + 2.0f));
}
CURVE(slope_mish)
{
    CURVE_REAL e = CURVE_EXP(x > 20.0f ? 20.0f : x), n = e * (e + 2.0f);
    return n / (n + 2.0f) + x * (4.0f * e * (e + 1.0f) / (n + 2.0f) / (n + 2.0f));
}

/* log(1 + e^(a x)) / a */
CURVE(curve_softplus)
{
    CURVE_REAL v = a * x;
    return (x < 0.0f ? 0.0f : x) + CURVE_LOG1P(CURVE_EXP(v < 0.0f ? v : -v)) / a;
}
CURVE(slope_softplus)
{
    return curve_logistic(a * x);
}

CURVE(curve_relu6)
{
    CURVE_REAL y = x < 0.0f ? 0.0f : x;
    return y > 6.0f ? 6.0f : y;
}
CURVE(slope_relu6)
{
    return x > 0.0f && x < 6.0f ? 1.0f : 0.0f;
}

CURVE(curve_hard_swish)
{
    CURVE_REAL s = x * CURVE_N(1.0) / CURVE_N(6.0) + 0.5f;
    s = s < 0.0f ? 0.0f : s;
    return x * (s > 1.0f ? 1.0f : s);
}
CURVE(slope_hard_swish)
{
    CURVE_REAL s = x * CURVE_N(1.0) / CURVE_N(3.0) + 0.5f;
    s = x < -3.0f ? 0.0f : s;
    return x > 3.0f ? 1.0f : s;
}

CURVE(curve_hard_sigmoid)
{
    CURVE_REAL s = a * x + b;
    s = s < 0.0f ? 0.0f : s;
    return s > 1.0f ? 1.0f : s;
}
CURVE(slope_hard_sigmoid)
{
    CURVE_REAL s = a * x + b;
    return s > 0.0f && s < 1.0f ? a : 0.0f;
}

/* Near 0, where 1 - erfc loses its digits, by Taylor's series. */
CURVE(curve_erf)
{
    CURVE_REAL size = x < 0.0f ? -x : x, q = x * x;
    CURVE_REAL p = CURVE_N(1.0) / CURVE_N(9360.0);
    p = p * q - CURVE_N(1.0) / CURVE_N(1320.0);
    p = p * q + CURVE_N(1.0) / CURVE_N(216.0);
    p = p * q - CURVE_N(1.0) / CURVE_N(42.0);
    p = p * q + CURVE_N(1.0) / CURVE_N(10.0);
    p = p * q - CURVE_N(1.0) / CURVE_N(3.0);
    p = CURVE_N(1.1283791670955126) * (p * (q * x) + x);
    CURVE_REAL far = 1.0f - CURVE_ERFC(size);
    far = x < 0.0f ? -far : far;
    return size < 0.5f ? p : far;
}
CURVE(slope_erf)
{
    return CURVE_N(1.1283791670955126) * CURVE_EXP(-x * x);
}

/* x / sqrt(1 + (x / b)^2); beyond 1e5 b it is b to the last digit, and the square stays finite */
DROVE_FUNCTION CURVE_REAL curve_far(CURVE_REAL x)
{
    x = x < CURVE_N(-1e5) ? CURVE_N(-1e5) : x;
    return x > CURVE_N(1e5) ? CURVE_N(1e5) : x;
}
CURVE(curve_smooth_clip)
{
    CURVE_REAL u = curve_far(x * (1.0f / b));
    return b * u / CURVE_SQRT(1.0f + u * u);
}
CURVE(slope_smooth_clip)
{
    CURVE_REAL u = curve_far(x * (1.0f / b)), q = 1.0f + u * u;
    return 1.0f / (q * CURVE_SQRT(q));
}

/* sin(a x); beyond 8192, where neighbouring floats are 0.001 apart, it stays as it is there */
DROVE_FUNCTION CURVE_REAL curve_turns(CURVE_REAL v)
{
    v = v < -8192.0f ? -8192.0f : v;
    return v > 8192.0f ? 8192.0f : v;
}
CURVE(curve_sin)
{
    return CURVE_SIN(curve_turns(a * x));
}
CURVE(slope_sin)
{
    CURVE_REAL v = a * x, d = a * CURVE_COS(curve_turns(v));
    d = v < -8192.0f ? 0.0f : d;
    return v > 8192.0f ? 0.0f : d;
}

#undef CURVE
#undef CURVE_UNUSED
#endif
