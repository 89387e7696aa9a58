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
    double wide[ROWS]; /* the same slot, of doubles */
    double sorted[ROWS];
    size_t n;
} sample;

static void fill_sample(sample *s, bool is_wide, unsigned n_rows, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    s->n = 0;
    for (unsigned row = 0; row < n_rows; row++) {
        int64_t whole = (int64_t)drove__rng_below(&rng, 3000) - 1500;
        float value = (float)whole * (row % 3 == 0 ? 1e-30f : row % 3 == 1 ? 0.25f : 1e30f);
        uint32_t *raw = &s->raw[row * SLOTS + 1];
        s->raw[row * SLOTS] = 7;
        *raw = drove__raw_of_float(NAN);
        s->wide[row] = (double)NAN;
        if (drove__rng_below(&rng, 5) == 0) continue;
        if (is_wide) s->wide[row] = 1.7e15 + (double)whole / 4; /* beyond a float */
        else *raw = drove__raw_of_float(value);
        s->sorted[s->n++] = is_wide ? s->wide[row] : (double)value;
    }
    qsort(s->sorted, s->n, sizeof *s->sorted, compare_doubles);
}

static void check_order(sample *s, bool is_wide, unsigned n_rows)
{
    enum { BINS = 16 };
    const drove_scan_column column = {.scan = DROVE_SCAN_NUMBER, .is_wide = is_wide, .slot = 1};
    double *wide[SLOTS] = {NULL, is_wide ? s->wide : NULL};
    const drove_table t = {.n_rows = n_rows, .n_slots = SLOTS, .raw = s->raw, .wide = wide};
    double median, *edge, last = (double)-INFINITY;
    size_t n_edges, at = 0;
    assert_int_equal(drove__table_median(&t, &column, &median), DROVE_OK);
    if (s->n == 0) assert_true(median == 0);
    else assert_true(median == (s->sorted[(s->n - 1) / 2] + s->sorted[s->n / 2]) / 2);
    assert_int_equal(drove__table_quantiles(&t, &column, BINS, &edge, &n_edges), DROVE_OK);
    for (size_t i = 0; i <= BINS && s->n > 0; i++) {
        const double expected = s->sorted[(s->n - 1) * i / BINS];
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
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            fill_sample(s, is_wide, sizes[i], i + 1);
            check_order(s, is_wide, sizes[i]);
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
