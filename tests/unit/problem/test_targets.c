/* Targets of a regression while they train: less a mean, by a deviation, each against sums in
 * double; with scale=robust of the values without their ends. */
#include "problem/targets.h"

#include "base/mem.h"
#include "support/files.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4000, FAR = 3 };

/* Rows whose targets are near 5, but for a few. */
static void write_far(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++) {
        const double y = i % 1333 == 700 ? 1e6 : 5 + 0.01 * ((i * 37) % 101 - 50);
        fprintf(f, "%d,%g\n", i % 11, y);
    }
    fclose(f);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and deviation of y[n], of values moved between their quantiles at p and 1 - p. */
static void measure(const double *y, size_t n, double p, double *mean, double *deviation)
{
    double sorted[N], range[2], sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sorted[i] = y[i];
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t k = 0; k < 2; k++) {
        const double at = (k == 0 ? p : 1 - p) * (double)(n - 1);
        const size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
        range[k] = sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
    }
    for (size_t i = 0; i < n; i++) sum += fmin(fmax(y[i], range[0]), range[1]);
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += pow(fmin(fmax(y[i], range[0]), range[1]) - *mean, 2) / (double)n;
    *deviation = sqrt(square);
}

static void check(const char *spec, double share)
{
    drove_problem problem = {0};
    static drove_config config;
    static drove_workers workers;
    if (drove_data_open(spec, NULL, 1, &problem.train, NULL) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    const drove_model_io io = {.n_features = problem.train->storage->n_features, .n_values = 1};
    assert_int_equal(drove__model_create("linear", NULL, NULL, &io, &problem.model), DROVE_OK);
    config.problem.model = "linear";
    drove_storage *s = problem.train->storage;
    double y[N], mean, deviation;
    for (size_t i = 0; i < N; i++) y[i] = (double)s->y_value[i];
    measure(y, N, share, &mean, &deviation);
    assert_int_equal(drove__targets_standardise(&config, &problem, &workers), DROVE_OK);
    assert_true(fabs(problem.target_shift[0] - mean) < 1e-6 * fabs(mean));
    assert_true(fabs(problem.target_scale[0] - deviation) < 1e-6 * deviation);
    for (size_t i = 0; i < N; i++) {
        const double expected = (y[i] - mean) / deviation;
        assert_true(fabs((double)s->y_value[i] - expected) < 1e-5 * fmax(1, fabs(expected)));
    }
    drove__free(problem.target_shift);
    drove__free(problem.target_scale);
    drove__model_destroy(problem.model);
    drove_data_destroy(problem.train);
}

TEST(mean_and_deviation)
{
    write_far("far.csv");
    check("csv:far.csv?target=value&scale=standard", 0);
    check("csv:far.csv?target=value&scale=robust", 0.001);
}

/* Values of which nearly all are one number keep the deviation of all. */
TEST(hardly_any_differ)
{
    FILE *f = fopen("zeros.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++) fprintf(f, "%d,%g\n", i % 11, i == 77 ? 2.5 : 0.0);
    fclose(f);
    check("csv:zeros.csv?target=value&scale=robust", 0);
}
