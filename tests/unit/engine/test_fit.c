/* The fit of the throughput model: constants that made the figures come back from them. */
#include "engine/linear/fit.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LEAST_BITS = 8, MOST_BITS = 22, POINTS = MOST_BITS - LEAST_BITS + 1 };
static const double exact = 1e-6; /* relative: the grid of the search, and rounding */

static void expect_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

/* ---- base ---- */

/* Figures of a machine with these constants and a cache of 2^18 numbers; factor[i] times. */
static void make_base(const drove_throughput_row *from, const double *factor,
                      drove_base_point point[POINTS])
{
    for (int i = 0; i < POINTS; i++) {
        double n = ldexp(1.0, LEAST_BITS + i);
        double spill = fmax(0.0, 1.0 - 0x1p18 / n);
        double ns = 1.0 / from->gnps + from->step_ns / n + from->spill_ns * spill;
        double by = factor != NULL ? factor[i % 2] : 1.0;
        point[i] = (drove_base_point){.numbers = n, .spill = spill, .gnps = by / ns};
    }
}

static void expect_base(drove_throughput_row from)
{
    drove_base_point point[POINTS];
    drove_throughput_row found;
    make_base(&from, NULL, point);
    drove__fit_base(point, POINTS, &found);
    expect_near(found.gnps, from.gnps, exact);
    assert_true(fabs(found.step_ns - from.step_ns) <= exact * (from.step_ns + 1.0));
    assert_true(fabs(found.spill_ns - from.spill_ns) <= exact * (from.spill_ns + 1.0));
}

TEST(test_base)
{
    expect_base((drove_throughput_row){.gnps = 13.0, .step_ns = 40.0, .spill_ns = 0.07});
    expect_base((drove_throughput_row){.gnps = 13.0, .step_ns = 40.0});
    expect_base((drove_throughput_row){.gnps = 0.2, .spill_ns = 2.0});
    expect_base((drove_throughput_row){.gnps = 0.2});
}

/* Errors of both signs: the middle, and never a negative constant. */
TEST(test_base_noise)
{
    const double factor[2] = {1.1, 1.0 / 1.1};
    const drove_throughput_row from = {.gnps = 8.0, .step_ns = 100.0, .spill_ns = 0.1};
    drove_base_point point[POINTS];
    drove_throughput_row found;
    make_base(&from, factor, point);
    drove__fit_base(point, POINTS, &found);
    expect_near(found.gnps, from.gnps, 0.1);
    expect_near(found.step_ns, from.step_ns, 0.2);
    expect_near(found.spill_ns, from.spill_ns, 0.3);

    /* throughput that falls with n where the cache still holds the model: no step_ns below 0 */
    for (int i = 0; i < POINTS; i++)
        point[i] = (drove_base_point){.numbers = ldexp(1.0, 8 + i), .gnps = 10.0 - 0.1 * i};
    drove__fit_base(point, POINTS, &found);
    assert_true(found.step_ns == 0.0 && found.spill_ns == 0.0);
    expect_near(found.gnps, 9.3, 0.02);
}

TEST(test_base_one_point)
{
    const drove_base_point point = {.numbers = 256, .gnps = 4.0};
    drove_throughput_row found;
    drove__fit_base(&point, 1, &found);
    expect_near(1.0 / found.gnps + found.step_ns / 256, 0.25, exact);
    assert_true(found.gnps > 0.0 && isfinite(found.gnps));
}

/* ---- parallel ---- */

/* Figures of signatures of different speed with this p. */
static void expect_parallel(drove_throughput_parallel from, unsigned threads)
{
    drove_parallel_point point[2 * POINTS];
    drove_throughput_parallel found;
    for (int i = 0; i < 2 * POINTS; i++) {
        uint64_t n = UINT64_C(1) << (LEAST_BITS + i % POINTS);
        double one = i < POINTS ? 0.5 : 9.0;
        double p = drove__throughput_parallel_fraction(&from, n);
        point[i] = (drove_parallel_point){.n_features = (double)n,
                                          .n_threads = threads,
                                          .one_gnps = one,
                                          .many_gnps = drove__throughput_amdahl(one, p, threads)};
    }
    drove__fit_parallel(point, 2 * POINTS, &found);
    expect_near(found.slope, from.slope, exact);
    expect_near(found.zero_features, from.zero_features, 1e-4);
    expect_near(found.most, from.most, exact);
}

TEST(test_parallel)
{
    const double none = -INFINITY;
    expect_parallel((drove_throughput_parallel){0.15, 256.0, 0.98, none}, 2);
    expect_parallel((drove_throughput_parallel){0.15, 256.0, 0.98, none}, 18);
    /* two threads slower than one below n0 */
    expect_parallel((drove_throughput_parallel){0.4, 20000.0, 0.9, none}, 2);
    expect_parallel((drove_throughput_parallel){0.9, 5000.0, 0.7, none}, 4);
}

/* Never parallel, whatever the size: the most is what there is, from the least size on. */
TEST(test_parallel_flat)
{
    drove_parallel_point point[POINTS];
    drove_throughput_parallel found;
    for (int i = 0; i < POINTS; i++)
        point[i] = (drove_parallel_point){
            .n_features = ldexp(1.0, 8 + i), .n_threads = 2, .one_gnps = 2.0, .many_gnps = 3.2};
    drove__fit_parallel(point, POINTS, &found);
    for (int i = 0; i < POINTS; i++)
        expect_near(drove__throughput_parallel_fraction(&found, UINT64_C(1) << (8 + i)), 0.75,
                    exact);
}

/* Next to no slope: what is fitted can be written to a file and read back. */
TEST(test_parallel_nearly_flat)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        drove_parallel_point point[POINTS];
        drove_throughput_parallel found;
        for (int i = 0; i < POINTS; i++)
            point[i] = (drove_parallel_point){.n_features = ldexp(1.0, 8 + i),
                                              .n_threads = 2,
                                              .one_gnps = 2.0,
                                              .many_gnps = sign > 0 ? 3.2 : 1.0};
        point[POINTS - 1].many_gnps *= 1.0 + 1e-5;
        drove__fit_parallel(point, POINTS, &found);
        assert_true(found.slope > 0.0);
        assert_true(found.zero_features > 1e-300 && found.zero_features < 1e300);
        for (int i = 0; i < POINTS; i++) {
            double p = drove__throughput_parallel_fraction(&found, UINT64_C(1) << (8 + i));
            expect_near(p, sign > 0 ? 0.75 : -2.0, 1e-3);
        }
    }
}

/* Two threads that are more than twice as fast as one are measured, but not believed. */
TEST(test_parallel_at_most_one)
{
    drove_parallel_point point[POINTS];
    drove_throughput_parallel found;
    for (int i = 0; i < POINTS; i++)
        point[i] = (drove_parallel_point){.n_features = ldexp(1.0, 8 + i),
                                          .n_threads = 2,
                                          .one_gnps = 2.0,
                                          .many_gnps = i < 3 ? 3.0 : 4.4};
    drove__fit_parallel(point, POINTS, &found);
    expect_near(found.most, 1.0, exact);
    assert_true(found.slope > 0.0 && isfinite(found.zero_features));
}
