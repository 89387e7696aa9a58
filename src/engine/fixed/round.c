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

/* to[n] = x[n], the numbers [at, at + n) of an array, times their channels' factors. */
static void scale(const drove_fixed_channels *c, const float *factor, const float *x, float *to,
                  size_t at, size_t n)
{
    size_t piece = at / c->block, first = at % c->block;
    for (size_t i = 0, count; i < n; i += count, piece++, first = 0) {
        const size_t left = c->block - first;
        if (c->block != c->n) first += piece / c->n_places * c->block % c->n;
        count = left < n - i ? left : n - i;
        for (size_t j = 0; j < count; j++) to[i + j] = x[i + j] * factor[first + j];
    }
}

static size_t stretch_at(size_t at, size_t n)
{
    return n - at < DROVE_FIXED_STRETCH ? n - at : DROVE_FIXED_STRETCH;
}

/* The largest magnitude of x[n] times by, as by largest_f32. */
static uint32_t largest_of(const drovek_table *k, const drove_fixed_channels *channels,
                           const float *x, size_t n)
{
    float scaled[DROVE_FIXED_STRETCH];
    uint32_t most = 0;
    if (channels == NULL) return k->largest_f32(x, n);
    for (size_t at = 0; at < n; at += DROVE_FIXED_STRETCH) {
        const size_t count = stretch_at(at, n);
        scale(channels, channels->by, x + at, scaled, at, count);
        const uint32_t here = k->largest_f32(scaled, count);
        if (here > most) most = here;
    }
    return most;
}

/* The integers are those that an AXPY makes of zeros, so every tier rounds by its own kernel. */
void drove__fixed_round(const drovek_table *k, drove_rounder *rounder, unsigned bits,
                        const drove_fixed_channels *channels, float *x, size_t n)
{
    int16_t integer[DROVE_FIXED_STRETCH + DROVE_CACHE_LINE]; /* the kernel may read beyond */
    const uint32_t largest = bits > 0 ? largest_of(k, channels, x, n) : 0;
    float magnitude;
    if (largest == 0 || largest >= 0x7f800000u) return;
    memcpy(&magnitude, &largest, sizeof magnitude);
    const float unit = drove__fixed_unit(bits, magnitude);
    const drovek_factor factor = {.f = 1.0f / unit};
    for (size_t at = 0; at < n; at += DROVE_FIXED_STRETCH) {
        const size_t count = stretch_at(at, n);
        const void *from = x + at;
        drovek_bits *random = drove__rounder_next(rounder, DROVE_F32, DROVE_I16, false, count);
        if (channels != NULL) scale(channels, channels->by, x + at, x + at, at, count);
        memset(integer, 0, sizeof integer);
        (void)k->linear.axpy[DROVE_F32][DROVE_I16](integer, &from, &factor, 1, count, random);
        k->widen_i16_f32(x + at, integer, count, unit);
        if (channels != NULL) scale(channels, channels->inverse, x + at, x + at, at, count);
    }
}

void drove__fixed_round_planes(const drovek_table *k, drove_rounder *rounder, unsigned bits,
                               const drove_fixed_channels *channels, const float *x, float *to,
                               size_t n, uint32_t largest, drovek_planes *planes)
{
    static const DROVE_ALIGNED_CACHE_LINE uint8_t zeros[DROVEK_BLOCK_BYTES];
    drovek_bits none = {.kind = DROVEK_BITS_FIXED, .block = zeros};
    float magnitude, scaled[DROVE_FIXED_STRETCH];
    if (channels != NULL) largest = largest_of(k, channels, x, n);
    planes->by = channels != NULL ? channels->inverse : NULL;
    memcpy(&magnitude, &largest, sizeof magnitude);
    if (largest == 0 || largest >= 0x7f800000u) {
        /* All integers 0; of numbers that are not finite, with a unit that says so. */
        memset(planes->high, 0, n);
        if (planes->low != NULL) memset(planes->low, 0, n);
        planes->unit = largest == 0 ? 1.0f : NAN;
        if (to != NULL && to != x) memcpy(to, x, n * sizeof *to);
        return;
    }
    planes->unit = drove__fixed_unit(bits, magnitude);
    for (size_t at = 0; at < n; at += DROVE_FIXED_STRETCH) {
        const size_t count = stretch_at(at, n);
        const drovek_planes part = drovek_planes_from(planes, at);
        const float *from = x + at;
        float *values = to != NULL ? to + at : NULL;
        drovek_bits *random =
            rounder == NULL ? &none
                            : drove__rounder_next(rounder, DROVE_F32, DROVE_I16, false, count);
        if (channels != NULL) scale(channels, channels->by, x + at, scaled, at, count);
        if (channels != NULL) from = scaled;
        k->planes->round(&part, values, from, count, random);
        if (channels != NULL && to != NULL)
            scale(channels, channels->inverse, values, values, at, count);
    }
}

void drove__fixed_keep_planes(const drovek_table *k, unsigned bits,
                              const drove_fixed_channels *channels, const float *x, size_t n,
                              uint32_t largest, drovek_planes *planes)
{
    drove__fixed_round_planes(k, NULL, bits, channels, x, NULL, n, largest, planes);
}
