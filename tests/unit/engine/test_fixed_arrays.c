/* tests/unit/engine/test_fixed_arrays.c - arrays rounded to fixed point (engine/fixed/round.h): by
 * every way of rounding, against plain C. */
#include "fixed_numbers.h"
#include "support/test.h"

#include "engine/fixed/round.h"
#include "engine/fixed/shared.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

TEST(units)
{
    for (unsigned bits = 2; bits <= 16; bits++) {
        const double most = drove__fixed_most(bits);
        for (float m = 1e-30f; m < 1e30f; m *= 1.37f) {
            double unit = (double)drove__fixed_unit(bits, m);
            int exponent;
            assert_true(frexp(unit, &exponent) == 0.5);
            assert_true(most * unit >= (double)m && most * unit / 2 < (double)m);
        }
        assert_true((double)drove__fixed_unit(bits, (float)most) == 1.0); /* fits exactly */
        assert_true(isfinite(1.0f / drove__fixed_unit(bits, 1e-38f)));
    }
}

enum { N = 1100 };

/* Multiples of the unit, not beyond the format, next to x; every tier has the bits of plain C. */
static void check_rounding(const drovek_table *k, const char *how, unsigned bits)
{
    static float x[N], got[N], plain[N];
    drove_rounding rounding;
    drove_rounder r;
    assert_int_equal(drove__rounding_parse(how, &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    fixed_draw(x, N, bits);
    memcpy(got, x, sizeof x);
    memcpy(plain, x, sizeof x);
    drove__rounder_seed(&r, 1, bits);
    drove__fixed_round(k, &r, bits, NULL, got, N);
    drovek_table ref;
    assert_int_equal(drovek_select(&ref, 0, NULL), DROVE_OK);
    drove__rounder_seed(&r, 1, bits);
    drove__fixed_round(&ref, &r, bits, NULL, plain, N);
    assert_memory_equal(got, plain, sizeof got);
    const double unit = (double)drove__fixed_unit(bits, fixed_largest(x, N));
    const double bound = rounding.ops->is_unbiased ? 1.0 : 0.5 + 1e-4;
    for (size_t i = 0; i < N; i++) {
        double q = (double)got[i] / unit;
        assert_true(q == nearbyint(q) && fabs(q) <= drove__fixed_most(bits));
        assert_true(fabs((double)got[i] - (double)x[i]) <= bound * unit);
    }
    memcpy(plain, got, sizeof got); /* what is rounded stays as it is */
    drove__rounder_seed(&r, 2, bits);
    drove__fixed_round(k, &r, bits, NULL, got, N);
    assert_memory_equal(got, plain, sizeof got);
    drove__rounder_fini(&r);
}

TEST(arrays_are_rounded)
{
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), *tier) != DROVE_OK) continue;
        for (size_t i = 0; i < FIXED_ROUNDINGS; i++)
            for (unsigned bits = 2; bits <= 16; bits++)
                check_rounding(&k, fixed_roundings[i], bits);
    }
}

/* The mean of many roundings of a number is the number: a variance of at most unit^2 / 4 each. */
TEST(roundings_are_unbiased)
{
    enum { TIMES = 2000, FEW = 70 };
    drovek_table k;
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    for (size_t i = 1; i < FIXED_ROUNDINGS; i++) {
        drove_rounding rounding;
        drove_rounder r;
        float x[FEW], got[FEW];
        double sum[FEW] = {0};
        assert_int_equal(drove__rounding_parse(fixed_roundings[i], &rounding), DROVE_OK);
        assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
        fixed_draw(x, FEW, 7);
        const double unit = (double)drove__fixed_unit(4, fixed_largest(x, FEW));
        for (unsigned t = 0; t < TIMES; t++) {
            memcpy(got, x, sizeof x);
            drove__rounder_seed(&r, 3, t);
            drove__fixed_round(&k, &r, 4, NULL, got, FEW);
            for (size_t n = 0; n < FEW; n++) sum[n] += (double)got[n];
        }
        for (size_t n = 0; n < FEW; n++)
            assert_true(fabs(sum[n] / TIMES - (double)x[n]) < 5.0 * unit / 2.0 / sqrt(TIMES));
        drove__rounder_fini(&r);
    }
}

/* x[rows][places][CHANNELS], or in blocks of 16: each number is a multiple of its channel's unit
 * and next to what it was; the array's unit is that of the largest scaled number.  Bytes hold the
 * same integers. */
static void check_channels(const drovek_table *k, size_t places, size_t block)
{
    enum { CHANNELS = 48, ROUNDED = CHANNELS * 20, BITS = 8 };
    static float x[ROUNDED], got[ROUNDED], values[ROUNDED], by[CHANNELS], inverse[CHANNELS];
    static uint8_t high[ROUNDED + DROVEK_PLANES_SLACK];
    static size_t channel[ROUNDED];
    const drove_fixed_channels c = {by, inverse, CHANNELS, places, block};
    drovek_planes planes = {.high = high};
    drove_rounding rounding;
    drove_rounder r;
    float most = 0.0f;
    assert_int_equal(drove__rounding_parse("xorshift", &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    fixed_draw(x, ROUNDED, places);
    for (size_t i = 0; i < CHANNELS; i++) {
        inverse[i] = ldexpf(1.0f, (int)(i * 5 % 7));
        by[i] = 1.0f / inverse[i];
    }
    for (size_t i = 0; i < ROUNDED; i++) {
        channel[i] = i / block / places * block % CHANNELS + i % block;
        most = fmaxf(most, fabsf(x[i] * by[channel[i]]));
    }
    memcpy(got, x, sizeof x);
    drove__rounder_seed(&r, 1, 2);
    drove__fixed_round(k, &r, BITS, &c, got, ROUNDED);
    const float unit = drove__fixed_unit(BITS, most);
    for (size_t i = 0; i < ROUNDED; i++) {
        const float own = unit * inverse[channel[i]], q = got[i] / own;
        assert_true(q == nearbyintf(q) && fabsf(q) <= 127.0f && fabsf(got[i] - x[i]) < own);
    }
    drove__rounder_fini(&r);
    if (k->integers == NULL || block != CHANNELS) return;
    const drovek_table narrow = drovek_narrow(k, DROVEK_FACTORS_I8);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    drove__rounder_seed(&r, 1, 2);
    drove__fixed_round_planes(&narrow, &r, BITS, &c, x, values, ROUNDED, 0, &planes);
    assert_memory_equal(values, got, sizeof got);
    assert_true(planes.unit == unit && planes.by == inverse);
    for (size_t i = 0; i < ROUNDED; i++)
        assert_true((float)drovek_planes_at(&planes, i) * unit * inverse[channel[i]] == got[i]);
    planes.by = NULL; /* and so they do if they are kept, which may halve the unit */
    drove__fixed_keep_planes(&narrow, BITS, &c, got, ROUNDED, 0, &planes);
    assert_true(planes.by == inverse);
    for (size_t i = 0; i < ROUNDED; i++)
        assert_true((float)drovek_planes_at(&planes, i) * planes.unit * inverse[channel[i]] ==
                    got[i]);
    drove__rounder_fini(&r);
}

TEST(channels_have_units_of_their_own)
{
    for (const char *const *tier = drovek_tiers(); *tier != NULL; tier++) {
        drovek_table k;
        if (drovek_select(&k, drove__cpu_features(), *tier) != DROVE_OK) continue;
        check_channels(&k, 1, 48);
        check_channels(&k, 5, 48);
        check_channels(&k, 4, 16);
        check_channels(&k, 10, 16);
    }
}

TEST(what_cannot_be_rounded_stays)
{
    drove_rounding rounding;
    drove_rounder r;
    drovek_table k;
    float x[3] = {0.3f, INFINITY, 1.0f}, zero[2] = {0.0f, -0.0f}, bad[2] = {NAN, 2.7f};
    assert_int_equal(drovek_select(&k, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__rounding_parse("nearest", &rounding), DROVE_OK);
    assert_int_equal(drove__rounder_init(&r, &rounding, 32), DROVE_OK);
    drove__fixed_round(&k, &r, 4, NULL, x, 3);
    drove__fixed_round(&k, &r, 4, NULL, zero, 2);
    drove__fixed_round(&k, &r, 4, NULL, bad, 2);
    drove__fixed_round(&k, &r, 4, NULL, bad, 0);
    assert_true(x[0] == 0.3f && x[2] == 1.0f && zero[0] == 0.0f && bad[1] == 2.7f);
    x[1] = 0.4f;
    drove__fixed_round(&k, &r, 0, NULL, x, 3); /* floats */
    assert_true(x[0] == 0.3f && x[1] == 0.4f);
    drove__rounder_fini(&r);
}
