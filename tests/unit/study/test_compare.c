/* tests/unit/study/test_compare.c - statistics of a sweep against counts by hand. */
#include "study/compare.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

TEST(medians)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    double half[] = {INFINITY, 1, INFINITY, 2}, most[] = {INFINITY, 1, INFINITY};
    assert_true(drove__median(odd, 3) == 2.0);
    assert_true(drove__median(even, 4) == 2.5);
    assert_true(drove__median(one, 1) == 7.0);
    assert_true(isinf(drove__median(half, 4)));
    assert_true(isinf(drove__median(most, 3)));
}

/* A resample's median is at most the k-th of n values where more than half of its draws are among
 * the first k: P(Binomial(n, k/n) > n/2), by which the ends of the interval are certain values. */
static double below(unsigned n, unsigned k)
{
    double sum = 0.0;
    for (unsigned i = n / 2 + 1; i <= n; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0)) *
               pow((double)k / n, i) * pow(1.0 - (double)k / n, n - i);
    return sum;
}

TEST(interval_is_that_of_the_exact_bootstrap)
{
    for (unsigned n = 1; n <= 21; n += 2) {
        double x[21];
        unsigned low = 1;
        drove_interval found;
        for (unsigned i = 0; i < n; i++) x[i] = (double)((i * 5) % n + 1) * 0.5;
        if (n % 5 == 0)
            for (unsigned i = 0; i < n; i++) x[i] = (double)(i + 1) * 0.5;
        while (n > 1 && below(n, low) < 0.025) low++;
        if (n == 15) continue; /* 0.0255: luck decides */
        assert_true(n == 1 || fabs(below(n, low) - 0.025) > 0.004);
        assert_true(n == 1 || low == 1 || fabs(below(n, low - 1) - 0.025) > 0.004);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            assert_int_equal(drove__bootstrap_median(x, n, seed, &found), DROVE_OK);
            assert_true(found.median == (double)((n + 1) / 2) * 0.5);
            assert_true(found.low == (double)low * 0.5);
            assert_true(found.high == (double)(n + 1 - low) * 0.5);
        }
    }
}

TEST(the_best_is_fast_and_seldom_crashes)
{
    const drove_sweep_row row[] = {
        {0, 10, 2, 1.0},      /* fastest, crashes too often  */
        {0, 10, 1, 2.0},      /* the best                    */
        {1, 10, 0, 0.5},      /* another group               */
        {0, 10, 0, 2.2},      /* within 10 %                 */
        {0, 10, 0, 2.21},     /* not quite                   */
        {0, 10, 2, 2.05},     /* would be                    */
        {0, 10, 0, INFINITY}, /* never there                 */
        {0, 0, 0, 0.1},       /* no run yet                  */
        {2, 10, 0, INFINITY},
    };
    const size_t n = sizeof row / sizeof row[0];
    drove_sweep_fastest best;
    drove__sweep_find_best(row, n, 0, &best);
    assert_int_equal(best.n_settings, 7);
    assert_int_equal(best.n_allowed, 4);
    assert_int_equal(best.n_crashed, 5);
    assert_int_equal(best.best, 1);
    assert_int_equal(best.n_near, 2);
    assert_true(best.slowest_s == 2.2);
    drove__sweep_find_best(row, n, 1, &best);
    assert_int_equal(best.best, 2);
    assert_int_equal(best.n_near, 1);
    drove__sweep_find_best(row, n, 2, &best);
    assert_int_equal(best.n_allowed, 1);
    assert_true(best.best == SIZE_MAX);
    assert_int_equal(best.n_near, 0);
}
