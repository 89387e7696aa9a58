/* tests/unit/table/test_stats.c - median, quantiles and distinct values against a plain sort. */
#include "support.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 5000, SLOTS = 2 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Values of slot 1 of a table, some missing, and the same sorted by the C library. */
typedef struct sample {
    uint32_t raw[ROWS * SLOTS];
    double sorted[ROWS];
    size_t n;
} sample;

static void fill_sample(sample *s, bool is_date, unsigned n_rows, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    s->n = 0;
    for (unsigned row = 0; row < n_rows; row++) {
        int64_t whole = (int64_t)drove__rng_below(&rng, 3000) - 1500;
        float value = (float)whole * (row % 3 == 0 ? 1e-30f : row % 3 == 1 ? 0.25f : 1e30f);
        uint32_t *raw = &s->raw[row * SLOTS + 1];
        s->raw[row * SLOTS] = 7;
        if (drove__rng_below(&rng, 5) == 0) {
            *raw = is_date ? (uint32_t)DROVE_DATE_MISSING : drove__raw_of_float(NAN);
            continue;
        }
        *raw = is_date ? (uint32_t)(int32_t)(whole * 100000) : drove__raw_of_float(value);
        s->sorted[s->n++] = is_date ? (double)(whole * 100000) : (double)value;
    }
    qsort(s->sorted, s->n, sizeof *s->sorted, compare_doubles);
}

static void check_order(const sample *s, bool is_date, unsigned n_rows)
{
    enum { BINS = 16 };
    const drove_scan_column column = {.scan = is_date ? DROVE_SCAN_DATE : DROVE_SCAN_NUMBER,
                                      .slot = 1};
    const drove_table t = {.n_rows = n_rows, .n_slots = SLOTS, .raw = (uint32_t *)s->raw};
    double median;
    float *edge, last = -INFINITY;
    size_t n_edges, at = 0;
    assert_int_equal(drove__table_median(&t, &column, &median), DROVE_OK);
    if (s->n == 0) assert_true(median == 0);
    else assert_true(median == (s->sorted[(s->n - 1) / 2] + s->sorted[s->n / 2]) / 2);
    assert_int_equal(drove__table_quantiles(&t, &column, BINS, &edge, &n_edges), DROVE_OK);
    for (size_t i = 0; i <= BINS && s->n > 0; i++) {
        float expected = (float)s->sorted[(s->n - 1) * i / BINS];
        if (expected == last) continue; /* each edge once */
        assert_true(at < n_edges && edge[at] == expected);
        last = expected;
        at++;
    }
    assert_int_equal(n_edges, at);
    free(edge);
}

TEST(test_order)
{
    static const unsigned sizes[] = {1, 2, 3, 10, 999, ROWS};
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int is_date = 0; is_date < 2; is_date++) {
            fill_sample(s, is_date, sizes[i], i + 1);
            check_order(s, is_date, sizes[i]);
        }
    }
    free(s);
}

TEST(test_distinct)
{
    static const uint32_t raw[] = {5, 0, 5, UINT32_MAX, 1u << 31, 0, 1u << 31, 6, 2053};
    const drove_table t = {.n_rows = 9, .n_slots = 1, .raw = (uint32_t *)raw};
    uint64_t n;
    assert_int_equal(drove__table_count_distinct(&t, 0, &n), DROVE_OK);
    assert_int_equal(n, 5); /* 0 is a missing cell */
}
