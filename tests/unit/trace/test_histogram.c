/* Histograms against the same numbers sorted; the names of the phases. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "trace/trace.h"
#include "support/test.h"

enum { N = 5000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What a bucket makes of a value: itself below 256, otherwise the power of two at or below it. */
static uint64_t seen(uint64_t value)
{
    uint64_t power = 256;
    if (value < 256) return value;
    while (power <= value / 2) power *= 2;
    return power;
}

/* Smallest value that a share of at least q is not above, by its definition. */
static uint64_t sorted_quantile(const uint64_t *sorted, unsigned n, double q)
{
    for (unsigned i = 0; i + 1 < n; i++) {
        bool last_of_its_bucket = seen(sorted[i + 1]) != seen(sorted[i]);
        if (last_of_its_bucket && (double)(i + 1) / n >= q) return seen(sorted[i]);
    }
    return seen(sorted[n - 1]);
}

static void check(const uint64_t *value, unsigned n)
{
    static const double q[] = {0.0, 1e-4, 0.01, 0.07, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0};
    static uint64_t sorted[N];
    drove_histogram h = {.n = 0};
    double sum = 0.0;
    for (unsigned i = 0; i < n; i++) {
        drove__hist_add(&h, value[i]);
        sum += (double)value[i];
        sorted[i] = value[i];
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    for (unsigned i = 0; i < DROVE_COUNT(q); i++) {
        assert_int_equal(drove__hist_quantile(&h, q[i]), sorted_quantile(sorted, n, q[i]));
    }
    assert_int_equal(h.max, sorted[n - 1]);
    assert_int_equal(h.n, n);
    assert_true(drove__hist_mean(&h) == sum / n);
}

TEST(test_quantiles)
{
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    static uint64_t value[N];
    for (unsigned bits = 1; bits <= 64; bits++) {
        for (unsigned i = 0; i < N; i++) value[i] = drove__rng_u64(&rng) >> (64 - bits);
        check(value, N);
        check(value, 100);
        check(value, 1);
    }
    for (unsigned i = 0; i < N; i++) value[i] = drove__rng_u64(&rng) >> drove__rng_below(&rng, 64);
    check(value, N);
}

TEST(test_edges_of_buckets)
{
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i++) {
        uint64_t least = drove__hist_least(i);
        assert_int_equal(drove__hist_bucket(least), i);
        if (least > 0) assert_int_equal(drove__hist_bucket(least - 1), i - 1);
    }
    assert_int_equal(drove__hist_bucket(UINT64_MAX), DROVE_HIST_BUCKETS - 1);
}

TEST(test_merge)
{
    drove_rng rng;
    drove__rng_seed(&rng, 6, DROVE_RNG_TEST, 0);
    drove_histogram part[3] = {{.n = 0}}, all = {.n = 0}, merged = {.n = 0};
    for (unsigned i = 0; i < N; i++) {
        uint64_t value = drove__rng_below(&rng, 1000);
        drove__hist_add(&part[i % 3], value);
        drove__hist_add(&all, value);
    }
    for (unsigned i = 0; i < 3; i++) drove__hist_merge(&merged, &part[i]);
    assert_memory_equal(merged.count, all.count, sizeof all.count);
    assert_int_equal(merged.n, all.n);
    assert_int_equal(merged.max, all.max);
    assert_true(merged.sum == all.sum);
}

TEST(test_nothing_counted)
{
    drove_histogram h = {.n = 0};
    assert_true(drove__hist_mean(&h) == 0.0);
    assert_int_equal(drove__hist_quantile(&h, 0.5), 0);
}

TEST(test_phase_names)
{
    for (unsigned i = 0; i < DROVE_N_PHASES; i++) {
        assert_non_null(drove__phase_names[i]);
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(drove__phase_names[i], drove__phase_names[k]);
        }
    }
}
