/* tests/unit/engine/test_features.c - feature maps: against their definition in double, against
 * the kernel that they approximate, the same bits for any number of threads, specs and errors. */
#include "engine/features.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "data/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586;
/* A feature, times sqrt(D / 2), against double: float sums of up to 784 products of size 1. */
static const double feature_bound = 2e-5;

static drovek_table kernels;

FIXTURE(select_kernels)
{
    return drovek_select(&kernels, drove__cpu_features(), NULL) == DROVE_OK ? 0 : -1;
}

GROUP(select_kernels, NULL);

static drove_features_options parsed(const char *text)
{
    drove_features_options opt;
    if (drove__features_parse(text, &opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    return opt;
}

static drove_data *opened(const char *spec)
{
    drove_data *data;
    if (drove_data_open(spec, NULL, 1, &data, NULL) != DROVE_OK) fail_msg("%s", drove_error_text());
    return data;
}

static drove_data *mapped(const drove_features_options *opt, const drove_data *data,
                          unsigned n_threads)
{
    drove_features *map;
    drove_data *out = NULL;
    size_t n_in = data->storage->n_features;
    drove_status status = drove__features_create(opt, n_in, &kernels, n_threads, &map);
    if (status == DROVE_OK) status = drove__features_apply(map, data, n_threads, &out);
    if (status != DROVE_OK) fail_msg("%s", drove_error_text());
    drove__features_destroy(map);
    return out;
}

/* Example i as a model sees it, in double. */
static void example(const drove_data *data, size_t i, double *x)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features, row = drove__data_row(data, i);
    float *unpacked = NULL;
    if (s->x_kind == DROVE_X_QUANT) {
        unpacked = drove__alloc(n, sizeof *unpacked);
        assert_non_null(unpacked);
        drove__quant_unpack(s->quant, row, n, unpacked);
    }
    for (size_t f = 0; f < n; f++) {
        x[f] = 0;
        if (s->x_kind == DROVE_X_U8) x[f] = s->x_u8[row * n + f];
        if (s->x_kind == DROVE_X_F32) x[f] = (double)s->x_f32[row * n + f];
        if (unpacked != NULL) x[f] = (double)unpacked[f];
    }
    for (uint64_t k = s->x_kind == DROVE_X_CSR ? s->row_start[row] : 1;
         s->x_kind == DROVE_X_CSR && k < s->row_start[row + 1]; k++)
        x[s->index[k]] = s->value != NULL ? (double)s->value[k] : 1.0;
    for (size_t f = 0; data->factor != NULL && f < n; f++)
        x[f] = (x[f] - (double)data->shift[f]) * (double)data->factor[f];
    drove__free(unpacked);
}

/* All examples [n_rows][n_features]; free(). */
static double *examples(const drove_data *data)
{
    size_t n = data->storage->n_features;
    double *x = malloc(data->n_rows * n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < data->n_rows; i++) example(data, i, x + i * n);
    return x;
}

/* ---- the definition ---- */

/* arg[i][j] = Omega_j x_i + b_j in double, from the streams as they are written down. */
static double *arguments(const drove_features_options *opt, const drove_data *data)
{
    size_t n_in = data->storage->n_features, n_out = opt->n_out;
    double *x = examples(data), *arg = calloc(data->n_rows * n_out, sizeof *arg);
    float *weight = malloc(n_out * sizeof *weight);
    drove_rng rng;
    drove__rng_seed(&rng, opt->seed, DROVE_RNG_FEATURES, 0);
    for (size_t j = 0; j < n_out; j++) {
        double phase = two_pi * drove__rng_uniform(&rng);
        for (size_t i = 0; i < data->n_rows; i++) arg[i * n_out + j] = phase;
    }
    for (size_t f = 0; f < n_in; f++) {
        drove__rng_seed(&rng, opt->seed, DROVE_RNG_FEATURES, f + 1);
        for (size_t j = 0; j < n_out; j++)
            weight[j] = (float)(sqrt(2.0 * opt->gamma) * drove__rng_normal(&rng));
        for (size_t i = 0; i < data->n_rows; i++) {
            for (size_t j = 0; j < n_out; j++)
                arg[i * n_out + j] += x[i * n_in + f] * (double)weight[j];
        }
    }
    free(x);
    free(weight);
    return arg;
}

static void check_definition(const drove_data *data, const char *map)
{
    drove_features_options opt = parsed(map);
    drove_data *out = mapped(&opt, data, 2);
    double *arg = arguments(&opt, data), worst = 0;
    assert_int_equal(out->n_rows, data->n_rows);
    assert_int_equal(out->storage->n_features, opt.n_out);
    for (size_t i = 0; i < out->n_rows * opt.n_out; i++)
        worst = fmax(worst, fabs((double)out->storage->x_f32[i] * sqrt((double)opt.n_out / 2.0) -
                                 cos(arg[i])));
    if (worst > feature_bound) fail_msg("%s: a feature is off by %g", map, worst);
    free(arg);
    drove_data_destroy(out);
}

/* Sizes around the block of 256 rows and the panel of 512 features. */
TEST(features_follow_the_definition)
{
    drove_data *bytes = opened("synth:digits?n=257&seed=2");
    drove_data *floats = opened("synth:logistic?n=300&d=37&seed=3");
    drove_data *sparse = opened("synth:logistic?n=270&d=900&density=0.02&seed=4&scale=unit");
    check_definition(bytes, "rff:513?gamma=0.02&seed=7");
    check_definition(bytes, "rff:1?gamma=0.02&seed=0");
    check_definition(floats, "rff:700?gamma=0.1&seed=1");
    check_definition(sparse, "rff:530?gamma=0.1&seed=1");
    drove_data_destroy(bytes);
    drove_data_destroy(floats);
    drove_data_destroy(sparse);
}

TEST(views_and_scaled_data_are_mapped_as_the_model_sees_them)
{
    drove_data *train, *test;
    assert_int_equal(drove_data_open("synth:logistic?n=90&d=20&seed=3&scale=standard&split=0.3",
                                     "split", 5, &train, &test),
                     DROVE_OK);
    assert_non_null(train->row);
    check_definition(train, "rff:40?gamma=0.05&seed=1");
    check_definition(test, "rff:40?gamma=0.05&seed=1");
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* A view of the quantised numbers of `data`. */
static drove_data *quantised(const drove_data *data, unsigned index_bits)
{
    drove_quant_options opt = {.number = DROVE_I16, .index_bits = index_bits};
    drove_data *out;
    assert_int_equal(drove__data_outline(data, &out), DROVE_OK);
    drove__free(out->shift);
    drove__free(out->factor);
    out->shift = out->factor = NULL;
    out->n_rows = out->storage->n_rows = data->n_rows;
    out->storage->x_kind = DROVE_X_QUANT;
    out->storage->y_class = calloc(data->n_rows, sizeof(int32_t));
    assert_int_equal(drove__quant_create(data, &opt, &out->storage->quant), DROVE_OK);
    return out;
}

TEST(quantised_data_are_mapped)
{
    drove_data *dense = opened("synth:logistic?n=30&d=37&seed=3");
    drove_data *sparse = opened("synth:logistic?n=30&d=900&density=0.02&seed=4");
    drove_data *dense_quant = quantised(dense, 0), *sparse_quant = quantised(sparse, 16);
    check_definition(dense_quant, "rff:64?gamma=0.1&seed=1");
    check_definition(sparse_quant, "rff:64?gamma=0.1&seed=1");
    drove_data_destroy(dense_quant);
    drove_data_destroy(sparse_quant);
    drove_data_destroy(dense);
    drove_data_destroy(sparse);
}

/* ---- what the definition is for ---- */

/* z(x) . z(y) is a mean of D terms of variance at most 1. */
TEST(products_approximate_the_kernel)
{
    drove_features_options opt = parsed("rff:16384?seed=3");
    drove_data *data = opened("synth:digits?n=60&seed=2");
    assert_int_equal(drove__features_settle(&opt, &kernels, data, 1), DROVE_OK);
    drove_data *out = mapped(&opt, data, 2);
    size_t n_in = data->storage->n_features, n_pairs = 0;
    double *x = examples(data), bound = 5.0 / sqrt((double)opt.n_out), sum = 0, spread = 0;
    for (size_t a = 0; a < data->n_rows; a++) {
        for (size_t b = 0; b <= a; b++) {
            const float *z = out->storage->x_f32;
            double got = kernels.dot_f32(z + a * opt.n_out, z + b * opt.n_out, opt.n_out), far = 0;
            for (size_t f = 0; f < n_in; f++)
                far += (x[a * n_in + f] - x[b * n_in + f]) * (x[a * n_in + f] - x[b * n_in + f]);
            double wanted = exp(-opt.gamma * far);
            assert_true(fabs(got - wanted) < bound);
            sum += wanted;
            spread = fmax(spread, wanted * (a != b));
            n_pairs++;
        }
    }
    /* the kernel tells examples apart and still sees neighbours: the default gamma is of use */
    assert_true(sum / (double)n_pairs > 0.05 && sum / (double)n_pairs < 0.5 && spread > 0.2);
    free(x);
    drove_data_destroy(out);
    drove_data_destroy(data);
}

TEST(weights_have_variance_two_gamma)
{
    enum { N = 100000 };
    const double gamma = 0.3;
    static float weight[N];
    double sum = 0, squares = 0;
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_FEATURES, 1);
    parsed("rff:1").ops->draw(gamma, &rng, weight, N);
    for (size_t i = 0; i < N; i++) {
        sum += (double)weight[i];
        squares += (double)weight[i] * (double)weight[i];
    }
    assert_true(fabs(sum / N) < 4.0 * sqrt(2.0 * gamma / N));
    assert_true(fabs(squares / N / (2.0 * gamma) - 1.0) < 4.0 * sqrt(2.0 / N));
}

TEST(result_does_not_depend_on_threads_or_other_rows)
{
    drove_features_options opt = parsed("rff:600?gamma=0.02&seed=1"), other = opt;
    drove_data *data = opened("synth:digits?n=1000&seed=2"),
               *few = opened("synth:digits?n=3&seed=2");
    drove_data *one = mapped(&opt, data, 1), *alone = mapped(&opt, few, 4);
    size_t n_bytes = data->n_rows * opt.n_out * sizeof(float);
    for (unsigned n_threads = 2; n_threads < 8; n_threads += 3) {
        drove_data *many = mapped(&opt, data, n_threads);
        assert_memory_equal(many->storage->x_f32, one->storage->x_f32, n_bytes);
        drove_data_destroy(many);
    }
    assert_memory_equal(alone->storage->x_f32, one->storage->x_f32, 3 * opt.n_out * sizeof(float));
    other.seed = 2;
    drove_data *another = mapped(&other, few, 1);
    assert_memory_not_equal(another->storage->x_f32, alone->storage->x_f32, 64);
    drove_data_destroy(another);
    drove_data_destroy(alone);
    drove_data_destroy(one);
    drove_data_destroy(few);
    drove_data_destroy(data);
}

TEST(targets_go_with_their_rows)
{
    drove_data *train, *test;
    FILE *f = fopen("labels.svm", "w");
    assert_non_null(f);
    for (int i = 0; i < 40; i++) fprintf(f, "%d,%d 1:%d 3:1\n", i % 5, 5 + i % 3, i + 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(drove_data_open("libsvm:labels.svm", "split", 5, &train, &test), DROVE_OK);
    drove_features_options opt = parsed("rff:8?gamma=1&seed=1");
    drove_data *out = mapped(&opt, train, 1);
    const drove_storage *a = train->storage, *b = out->storage;
    assert_int_equal(b->y_kind, DROVE_Y_LABELS);
    assert_int_equal(b->n_classes, a->n_classes);
    for (size_t i = 0; i < out->n_rows; i++) {
        uint64_t first = a->label_start[drove__data_row(train, i)];
        assert_int_equal(b->label_start[i + 1] - b->label_start[i], 2);
        assert_memory_equal(b->label + b->label_start[i], a->label + first, 2 * sizeof *b->label);
    }
    drove_data_destroy(out);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* ---- gamma ---- */

static void check_gamma(const char *spec)
{
    drove_data *data = opened(spec);
    drove_features_options opt = parsed("rff:10");
    size_t n = data->storage->n_features, n_rows = data->n_rows;
    double *x = examples(data), variance = 0;
    for (size_t f = 0; f < n; f++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n_rows; i++) mean += x[i * n + f] / (double)n_rows;
        for (size_t i = 0; i < n_rows; i++) square += pow(x[i * n + f] - mean, 2);
        variance += square / (double)n_rows;
    }
    assert_int_equal(drove__features_settle(&opt, &kernels, data, 9), DROVE_OK);
    assert_true(opt.has_seed && opt.seed == 9);
    assert_true(fabs(opt.gamma * variance - 1.0) < 1e-6);
    free(x);
    drove_data_destroy(data);
}

TEST(default_gamma_is_the_inverse_of_the_variance)
{
    check_gamma("synth:digits?n=200&seed=2");
    check_gamma("synth:logistic?n=100&d=20&scale=standard");
    check_gamma("synth:logistic?n=100&d=200&density=0.05&scale=unit");
    FILE *f = fopen("far.csv", "w"); /* what all examples have in common costs no digits */
    assert_non_null(f);
    for (int i = 0; i < 50; i++) fprintf(f, "%d,%d,%d\n", 10000000 + i % 3, i % 5, i % 2);
    assert_int_equal(fclose(f), 0);
    check_gamma("csv:far.csv?label=last");
}

TEST(equal_examples_have_no_default_gamma)
{
    FILE *f = fopen("equal.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < 9; i++) fprintf(f, "0.1,0.7,%d\n", i % 2);
    assert_int_equal(fclose(f), 0);
    drove_data *data = opened("csv:equal.csv?label=last");
    drove_features_options opt = parsed("rff:10"), given = parsed("rff:10?gamma=3");
    assert_int_equal(drove__features_settle(&opt, &kernels, data, 1), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "gamma"));
    assert_int_equal(drove__features_settle(&given, &kernels, data, 1), DROVE_OK);
    assert_true(given.gamma == 3.0 && given.seed == 1);
    drove_data_destroy(data);
}

/* ---- specs ---- */

TEST(specs_read_back)
{
    const char *const texts[] = {"", "rff:1", "rff:4096?gamma=0.1", "rff:4096?seed=12",
                                 "rff:1048576?gamma=1e-60&seed=9000000000000000"};
    char text[DROVE_FEATURES_TEXT_SIZE];
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) {
        drove_features_options opt = parsed(texts[i]);
        drove__features_print(&opt, text);
        assert_string_equal(text, texts[i]);
    }
    drove_features_options opt = parsed("rff:8?gamma=0.018966319786786076&seed=1"), again;
    drove__features_print(&opt, text);
    again = parsed(text);
    assert_true(again.gamma == opt.gamma);
    again = parsed("rff:8?gamma=0.018966");
    assert_false(drove__features_agree(&again, &opt));
    again = parsed("rff:8?seed=1");
    assert_true(drove__features_agree(&again, &opt));
    again = parsed("rff:8?seed=2");
    assert_false(drove__features_agree(&again, &opt));
    again = parsed("rff:9");
    assert_false(drove__features_agree(&again, &opt));
    again = parsed("");
    assert_false(drove__features_agree(&opt, &again));
}

TEST(bad_specs_are_refused)
{
    const char *const texts[] = {
        "rff",       "rff:0",          "rff:1e12",        "rff:1048577",      "rff:-1",
        "rff:8,9",   "rff:8?gama=1",   "rff:8?gamma=0",   "rff:8?seed=",      "rff:8?gamma=inf",
        "fourier:8", "rff:8?gamma=-1", "rff:8?gamma=nan", "rff:8?gamma=1e61", "rff:8?seed=-1"};
    drove_features_options opt;
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) {
        if (drove__features_parse(texts[i], &opt) != DROVE_E_ARG) fail_msg("%s", texts[i]);
        assert_null(strchr(drove_error_text(), '\n'));
        assert_null(opt.ops);
    }
}

TEST(more_than_the_memory_is_refused)
{
    drove_features_options opt = parsed("rff:1048576?gamma=1&seed=1");
    drove_features *map = (drove_features *)(void *)&opt;
    assert_int_equal(drove__features_create(&opt, (size_t)1 << 32, &kernels, 1, &map),
                     DROVE_E_NOMEM);
    assert_null(map);
    assert_non_null(strstr(drove_error_text(), "memory"));
}
