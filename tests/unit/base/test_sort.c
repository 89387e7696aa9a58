/* Numbers in ascending order, the one in the middle, quantiles. */
#include "base/sort.h"

#include "base/mem.h"
#include "base/rng.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(ascending)
{
    double x[] = {3, -INFINITY, 2.5, INFINITY, -1, 2.5, 0}, one[] = {7};
    drove__sort(x, 7);
    for (size_t i = 1; i < 7; i++) assert_true(x[i - 1] <= x[i]);
    assert_true(x[0] == -INFINITY && x[1] == -1 && x[3] == 2.5 && x[6] == INFINITY);
    drove__sort(one, 1);
    assert_true(one[0] == 7);
    drove__sort(one, 0);
}

TEST(medians)
{
    double odd[] = {9, 1, 5, 7, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_true(drove__sort_median(odd, 5) == 5);
    assert_true(odd[0] == 1 && odd[4] == 9); /* sorted */
    assert_true(drove__sort_median(even, 4) == 3);
    assert_true(drove__sort_median(one, 1) == 7);
}

static int ascending_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* numpy.quantile of a sorted copy. */
static double quantile_of(const float *x, size_t n, double p)
{
    float sorted[512];
    memcpy(sorted, x, n * sizeof *x);
    qsort(sorted, n, sizeof *sorted, ascending_floats);
    const double at = p * (double)(n - 1);
    const size_t low = (size_t)floor(at), high = (size_t)ceil(at);
    return (double)sorted[low] + (at - floor(at)) * ((double)sorted[high] - (double)sorted[low]);
}

/* Of numbers of which many are equal, in many orders, with zeros that are not stored. */
TEST(quantiles)
{
    enum { MOST = 300, ZEROS = 40 };
    static const double parts[] = {0, 0.001, 0.25, 0.5, 0.75, 0.999, 1};
    uint64_t words = 5;
    for (size_t n = 1; n <= MOST; n += 1 + n / 7) {
        for (unsigned kinds = 2; kinds < 1000; kinds *= 5) {
            float x[MOST + ZEROS], again[MOST];
            for (size_t i = 0; i < n; i++)
                x[i] = (float)(drove__splitmix64(&words) % kinds) - (float)(kinds / 2);
            memset(x + n, 0, ZEROS * sizeof *x);
            for (size_t k = 0; k < DROVE_COUNT(parts); k++) {
                memcpy(again, x, n * sizeof *x);
                assert_true(fabs(drove__select_quantile(again, n, 0, parts[k]) -
                                 quantile_of(x, n, parts[k])) < 1e-9);
                assert_true(fabs(drove__select_quantile(again, n, ZEROS, parts[k]) -
                                 quantile_of(x, n + ZEROS, parts[k])) < 1e-9);
            }
            const size_t place = n / 3;
            drove__select(x, n, place);
            for (size_t i = 0; i < n; i++)
                assert_true(i < place ? x[i] <= x[place] : x[i] >= x[place]);
        }
    }
    float none[1] = {0};
    assert_true(drove__select_quantile(none, 0, 3, 0.5) == 0.0);
}
