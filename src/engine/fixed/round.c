/* engine/fixed/round.c - see round.h. */
#include "engine/fixed/round.h"

#include <math.h>
#include <string.h>

float drove__fixed_unit(unsigned bits, float magnitude)
{
    int exponent;
    double significand = frexp((double)magnitude / drove__fixed_most(bits), &exponent);
    if (significand == 0.5) exponent--;
    return ldexpf(1.0f, exponent < -125 ? -125 : exponent);
}

/* The integers are those that an AXPY makes of zeros, so every tier rounds by its own kernel. */
void drove__fixed_round(const drovek_table *k, drove_rounder *rounder, unsigned bits, float *x,
                        size_t n)
{
    int16_t integer[DROVE_FIXED_STRETCH + DROVE_CACHE_LINE]; /* the kernel may read beyond */
    const uint32_t largest = k->largest_f32(x, n);
    float magnitude;
    if (bits == 0 || largest == 0 || largest >= 0x7f800000u) return;
    memcpy(&magnitude, &largest, sizeof magnitude);
    const float unit = drove__fixed_unit(bits, magnitude);
    const drovek_factor factor = {.f = 1.0f / unit};
    for (size_t at = 0; at < n; at += DROVE_FIXED_STRETCH) {
        const size_t count = n - at < DROVE_FIXED_STRETCH ? n - at : DROVE_FIXED_STRETCH;
        const void *from = x + at;
        drovek_bits *random = drove__rounder_next(rounder, DROVE_F32, DROVE_I16, count);
        memset(integer, 0, sizeof integer);
        (void)k->linear.axpy[DROVE_F32][DROVE_I16](integer, &from, &factor, 1, count, random);
        k->widen_i16_f32(x + at, integer, count, unit);
    }
}

void drove__fixed_round_planes(const drovek_table *k, drove_rounder *rounder, unsigned bits,
                               const float *x, float *to, size_t n, uint32_t largest,
                               drovek_planes *planes)
{
    float magnitude;
    memcpy(&magnitude, &largest, sizeof magnitude);
    if (largest == 0 || largest >= 0x7f800000u) {
        memset(planes->high, 0, n);
        if (planes->low != NULL) memset(planes->low, 0, n);
        planes->unit = largest == 0 ? 1.0f : NAN;
        if (to != NULL && to != x) memcpy(to, x, n * sizeof *to);
        return;
    }
    planes->unit = drove__fixed_unit(bits, magnitude);
    for (size_t at = 0; at < n; at += DROVE_FIXED_STRETCH) {
        const size_t count = n - at < DROVE_FIXED_STRETCH ? n - at : DROVE_FIXED_STRETCH;
        const drovek_planes part = drovek_planes_from(planes, at);
        drovek_bits *random = drove__rounder_next(rounder, DROVE_F32, DROVE_I16, count);
        k->planes->round(&part, to != NULL ? to + at : NULL, x + at, count, random);
    }
}
