/* Scalings by means, and the one that is chosen by the data: each against sums in double over what
 * the data hold. */
#include "support.h"

#include "base/mem.h"
#include "data/scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mean over the rows of feature f. */
static double mean_of(const drove_data *data, size_t f)
{
    double sum = 0;
    for (size_t i = 0; i < data->n_rows; i++) sum += (double)value_at(data, i, f);
    return sum / (double)data->n_rows;
}

/* Mean over the rows of all features of the channel of f. */
static double channel_mean_of(const drove_data *data, size_t f)
{
    const size_t plane = data->storage->n_features / data->storage->channels;
    double sum = 0;
    for (size_t p = f / plane * plane; p < (f / plane + 1) * plane; p++) sum += mean_of(data, p);
    return sum / (double)plane;
}

/* scale=mean and mean_channel: less the mean; with unit before: of pixels that go up to 1. */
TEST(test_images)
{
    static const struct {
        const char *spec;
        bool of_channel;
        double unit;
    } cases[] = {
        {"synth:images?n=40&size=6&scale=mean", false, 1.0},
        {"synth:images?n=40&size=6&scale=mean-channel", true, 1.0},
        {"synth:images?n=40&size=6&scale=unit-mean", false, 1.0 / 255.0},
        {"synth:images?n=40&size=6&scale=unit-mean-channel", true, 1.0 / 255.0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        drove_data *data = open_data(cases[k].spec);
        const size_t n = data->storage->n_features;
        assert_int_equal(data->storage->channels, 3);
        assert_int_equal(n, 3 * 6 * 6);
        for (size_t f = 0; f < n; f++) {
            const double mean = cases[k].of_channel ? channel_mean_of(data, f) : mean_of(data, f);
            for (size_t i = 0; i < data->n_rows; i++) {
                const double expected = ((double)value_at(data, i, f) - mean) * cases[k].unit;
                const double error = fabs((double)scaled_at(data, i, f) - expected);
                if (error > 1e-5 * 255.0 * cases[k].unit)
                    fail_msg("%s: row %zu, feature %zu: %g", cases[k].spec, i, f, error);
            }
        }
        drove_data_destroy(data);
    }
}

/* Dense numbers: scale=mean; with unit, what is left is at most 1 by each feature's range. */
TEST(test_numbers)
{
    write_text("numbers.csv", "1,-2,7,a\n4,0,7,b\n-9,6,7,a\n");
    drove_data *data = open_data("csv:numbers.csv?scale=mean");
    static const double means[3] = {-4.0 / 3.0, 4.0 / 3.0, 7.0};
    for (size_t f = 0; f < 3; f++)
        for (size_t i = 0; i < 3; i++)
            assert_true(fabs((double)scaled_at(data, i, f) -
                             ((double)value_at(data, i, f) - means[f])) < 1e-5);
    drove_data_destroy(data);
    expect_refusal("csv:numbers.csv?scale=mean-channel", NULL, DROVE_E_ARG, "expected images",
                   NULL);
    write_text("sparse.svm", "1 1:2 3:4\n-1 2:1\n");
    expect_refusal("libsvm:sparse.svm?scale=mean", NULL, DROVE_E_ARG,
                   "would make the zeros of sparse data non-zero", NULL);
}

/* A spread whose reciprocal is no float leaves a feature's size as it is; so does none. */
TEST(test_tiny_spreads)
{
    static const char *const specs[] = {"csv:tiny.csv?scale=unit", "csv:tiny.csv?scale=standard",
                                        "libsvm:tiny.svm?scale=unit"};
    write_text("tiny.csv", "0,3,0,2e-38,a\n1e-39,3,4,1e-38,b\n");
    write_text("tiny.svm", "1 1:1e-39 3:4 4:2e-38\n-1 4:1e-38\n");
    static const float unit[4] = {1.0f, 1.0f, 0.25f, 1.0f / 1e-38f};
    static const float standard[4] = {1.0f, 1.0f, 0.5f, 2.0f / 1e-38f};
    static const float sparse[4] = {1.0f, 1.0f, 0.25f, 1.0f / 2e-38f};
    static const float *const factors[] = {unit, standard, sparse};
    for (size_t k = 0; k < 3; k++) {
        drove_data *data = open_data(specs[k]);
        for (size_t f = 0; f < 4; f++) {
            const float factor = data->factor[f], expected = factors[k][f];
            if (!(fabsf(factor - expected) <= 1e-5f * expected))
                fail_msg("%s: feature %zu: factor %g", specs[k], f, (double)factor);
        }
        drove_data_destroy(data);
    }
}

/* Nor is a factor so small that x - shift, which may be infinite, times it is not a number. */
TEST(test_huge_spreads)
{
    static const char *const specs[] = {"csv:huge.csv?scale=unit", "csv:huge.csv?scale=standard",
                                        "csv:huge.csv?scale=robust"};
    write_text("huge.csv", "-3.3e38,a\n-3.2e38,b\n3.2e38,a\n3.3e38,b\n");
    for (size_t k = 0; k < 3; k++) {
        drove_data *data = open_data(specs[k]);
        assert_true(data->factor[0] >= 1.17549435e-38f && data->factor[0] < 1.5e-38f);
        drove_data_destroy(data);
    }
}

/* A constant feature has no deviation, although its weighted mean is not quite its value. */
TEST(test_constant_features)
{
    static float x[6] = {0.1f, 1.7f, 0.1f, 1.7f, 0.1f, 1.7f}, weight[3] = {1.0f, 1e-9f, 3e-5f};
    drove_storage s = {.n_rows = 3, .n_features = 2, .x_kind = DROVE_X_F32, .x_f32 = x};
    drove_data data = {.storage = &s, .n_rows = 3, .scaling = DROVE_SCALE_STANDARD};
    s.weight = weight;
    assert_int_equal(drove__scale_fit(&data), DROVE_OK);
    assert_true(data.factor[0] == 1.0f && data.factor[1] == 1.0f);
    assert_true(data.shift[0] == 0.1f && data.shift[1] == 1.7f);
    drove__free(data.shift);
    drove__free(data.factor);
}

/* scale=auto: pixels to 1, dense numbers to deviation 1, pairs only where one exceeds 1. */
TEST(test_chosen)
{
    write_text("numbers.csv", "1,-2,a\n4,0,b\n-9,6,a\n");
    write_text("large.svm", "1 1:2 3:4\n-1 2:1\n");
    write_text("small.svm", "1 1:0.5 3:-1\n-1 2:1\n");
    write_text("ones.svm", "1 1:1 3:1\n-1 2:1\n");
    static const struct {
        const char *spec;
        drove_scaling scaling;
    } cases[] = {
        {"synth:images?n=10&size=6&scale=auto", DROVE_SCALE_UNIT},
        {"csv:numbers.csv?scale=auto", DROVE_SCALE_STANDARD},
        {"libsvm:large.svm?scale=auto", DROVE_SCALE_UNIT},
        {"libsvm:small.svm?scale=auto", DROVE_SCALE_NONE},
        {"libsvm:ones.svm?scale=auto", DROVE_SCALE_NONE},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        drove_data *data = open_data(cases[k].spec);
        if (data->scaling != cases[k].scaling)
            fail_msg("%s: scaling %d", cases[k].spec, (int)data->scaling);
        drove_data_destroy(data);
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least, quartiles and largest of feature f, as numpy.quantile has them. */
static void quartiles_of(const drove_data *data, size_t f, double out[5])
{
    const size_t n = data->n_rows;
    double *sorted = calloc(n, sizeof *sorted);
    assert_non_null(sorted);
    for (size_t i = 0; i < n; i++) sorted[i] = (double)value_at(data, i, f);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t k = 0; k < 5; k++) {
        const double at = 0.25 * (double)k * (double)(n - 1);
        const size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
        out[k] = sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
    }
    free(sorted);
}

/* Better by Default, section 3: what x is divided by; 0: nothing of it is left. */
static double robust_spread(const double q[5])
{
    return q[3] > q[1] ? q[3] - q[1] : (q[4] - q[0]) / 2;
}

static void expect_robust(const drove_data *data, size_t f)
{
    double q[5];
    quartiles_of(data, f, q);
    const double spread = robust_spread(q), expected = spread > 0 ? 1 / spread : 0;
    const bool is_dense = !drove__storage_is_sparse(data->storage);
    const double shift = is_dense ? q[2] : 0, factor = is_dense || spread > 0 ? expected : 1;
    if (fabs((double)data->shift[f] - shift) > 1e-6 * fabs(shift) ||
        fabs((double)data->factor[f] - factor) > 1e-6 * factor)
        fail_msg("feature %zu: %g, %g; expected %g, %g", f, (double)data->shift[f],
                 (double)data->factor[f], shift, factor);
}

/* scale=robust of numbers, one far, one mostly the same, one constant; of bytes, and of pairs. */
TEST(test_robust)
{
    FILE *dense = fopen("robust.csv", "w"), *sparse = fopen("robust.svm", "w");
    assert_non_null(dense);
    assert_non_null(sparse);
    for (int i = 0; i < 203; i++) {
        const double x = (double)((i * 7919) % 203) / 17 - 3;
        fprintf(dense, "%g,%g,%d,5,%c\n", x, i == 90 ? 1e9 : x * x, i % 10 == 3 ? i : 7,
                i % 2 ? 'a' : 'b');
        /* mostly there, of either sign; rarely; always the same */
        fprintf(sparse, "%d", i % 2);
        if (i % 5 != 0) fprintf(sparse, " 1:%g", x);
        if (i % 20 == 0) fprintf(sparse, " 2:%g", 0.5 + i);
        fprintf(sparse, " 3:4\n");
    }
    fclose(dense);
    fclose(sparse);
    static const char *const specs[] = {"csv:robust.csv?scale=robust",
                                        "table:robust.csv?scale=robust&header=no",
                                        "libsvm:robust.svm?scale=robust",
                                        "synth:images?n=40&size=6&scale=robust"};
    for (size_t k = 0; k < DROVE_COUNT(specs); k++) {
        drove_data *data = open_data(specs[k]);
        assert_int_equal(data->scaling, DROVE_SCALE_ROBUST);
        for (size_t f = 0; f < data->storage->n_features; f++) expect_robust(data, f);
        drove_data_destroy(data);
    }
    drove_data *csv = open_data(specs[0]); /* the constant: nothing of it is left, wherever it is */
    assert_true(csv->factor[3] == 0.0f && csv->factor[2] == 2.0f / (193.0f - 3.0f));
    drove_data_destroy(csv);
}

/* Features of a table that are 0 or 1 stay; pairs without values do; held-out rows change
 * nothing. */
TEST(test_robust_left_alone)
{
    FILE *f = fopen("mixed.csv", "w");
    assert_non_null(f);
    fprintf(f, "x,town,y\n");
    for (int i = 0; i < 60; i++)
        fprintf(f, "%s%d,%s,%d\n", i == 9 ? "NA" : "", i == 9 ? 0 : i * i, i % 3 ? "Rome" : "Oslo",
                i % 2);
    fclose(f);
    drove_data *train, *held;
    open_both("mixed.csv?label=y&types=x:number&scale=robust&split=0.2", "split", 3, &train, &held);
    assert_int_equal(train->storage->n_features, 4); /* x, it is missing, two towns */
    expect_robust(train, 0);
    for (size_t k = 1; k < 4; k++) assert_true(train->shift[k] == 0 && train->factor[k] == 1);
    assert_memory_equal(held->factor, train->factor, 4 * sizeof(float));
    drove_data_destroy(train);
    drove_data_destroy(held);
    write_text("ones.svm", "1 1:1 3:1\n-1 2:1\n");
    drove_data *ones = open_data("libsvm:ones.svm?scale=robust");
    assert_null(ones->factor);
    drove_data_destroy(ones);
}

/* Of more rows than are looked at, the quartiles of a part: near, and the same in every run. */
TEST(test_robust_of_many)
{
    const char *spec = "synth:logistic?n=1500000&d=2&scale=robust";
    drove_data *data = open_data(spec), *again = open_data(spec);
    for (size_t f = 0; f < 2; f++) { /* uniform in [-1, 1]: quartiles -0.5, 0, 0.5 */
        assert_true(fabsf(data->shift[f]) < 0.01f && fabsf(data->factor[f] - 1.0f) < 0.01f);
        assert_true(data->shift[f] == again->shift[f] && data->factor[f] == again->factor[f]);
    }
    drove_data_destroy(data);
    drove_data_destroy(again);
}
