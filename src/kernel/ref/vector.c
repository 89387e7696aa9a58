/* kernel/ref/vector.c - whole vectors: copy, axpy, scale, add, dot, the check for finite numbers,
 * and widening of data. */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>
#include <string.h>

void drovek_copy_f32_ref(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) drove__racy_store(to + i, drove__racy_load(from + i));
}

void drovek_axpy_f32_ref(float *y, const float *x, size_t n, float a)
{
    for (size_t i = 0; i < n; i++) drove__racy_store(y + i, fmaf(a, x[i], drove__racy_load(y + i)));
}

void drovek_scale_f32_ref(float *y, size_t n, float a)
{
    for (size_t i = 0; i < n; i++) y[i] *= a;
}

void drovek_blend_f32_ref(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    for (size_t i = 0; i < n; i++) to[i] = y != NULL ? fmaf(a, x[i], b * y[i]) : a * x[i];
}

void drovek_add_f32_ref(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    for (size_t i = 0; i < n; i++) to[i] = a * (x[i] + y[i]);
}

double drovek_dot_f32_ref(const float *x, const float *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

bool drovek_finite_f32_ref(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u; /* all ones in the exponent: infinity or NaN */
    }
    return bad == 0;
}

uint32_t drovek_largest_f32_ref(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

void drovek_widen_i16_f32_ref(float *to, const int16_t *from, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++) to[i] = factor * (float)from[i];
}

uint64_t drovek_xor_u64_ref(const uint64_t *x, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) all ^= x[i];
    return all;
}

void drovek_widen_u8_f32_ref(float *to, const uint8_t *from, const float *shift,
                             const float *factor, size_t n)
{
    if (shift == NULL) {
        for (size_t i = 0; i < n; i++) to[i] = from[i];
        return;
    }
    for (size_t i = 0; i < n; i++) to[i] = ((float)from[i] - shift[i]) * factor[i];
}

void drovek_affine_f32_ref(float *to, const float *from, const float *shift, const float *factor,
                           size_t n)
{
    if (shift == NULL) {
        memmove(to, from, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++) to[i] = (from[i] - shift[i]) * factor[i];
}
