/* tests/unit/data/test_synth.c - generated data: determinism, independence of the number of
 * rows, statistics, and images pixel by pixel.
 *
 * How hard synth:digits is, was measured apart (src/data/synth_digits.c); here a nearest-mean
 * classifier, which is linear, has to be better than chance and worse than the best linear
 * model.
 */
#include "support.h"

#include "base/available.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(test_rows_depend_on_seed_and_number)
{
    static const char *const kinds[][3] = {
        {"synth:digits?n=50&seed=3", "synth:digits?n=20&seed=3", "synth:digits?n=50&seed=4"},
        {"synth:images?n=50&seed=3&size=8", "synth:images?n=20&seed=3&size=8",
         "synth:images?n=50&seed=4&size=8"},
        {"synth:logistic?n=50&d=30&seed=3", "synth:logistic?n=20&d=30&seed=3",
         "synth:logistic?n=50&d=30&seed=4"},
        {"synth:logistic?n=50&d=30&density=0.2&seed=3",
         "synth:logistic?n=20&d=30&density=0.2&seed=3",
         "synth:logistic?n=50&d=30&density=0.2&seed=4"},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        drove_data *d = open_data(kinds[k][0]), *again = open_data(kinds[k][0]);
        drove_data *fewer = open_data(kinds[k][1]), *other = open_data(kinds[k][2]);
        expect_same(d, again);
        assert_int_equal(fewer->n_rows, 20);
        size_t n_different = 0;
        for (size_t i = 0; i < 20; i++) {
            assert_int_equal(fewer->storage->y_class[i], d->storage->y_class[i]);
            for (size_t f = 0; f < d->storage->n_features; f++) {
                assert_true(value_at(fewer, i, f) == value_at(d, i, f));
                n_different += value_at(other, i, f) != value_at(d, i, f);
            }
        }
        assert_true(n_different > d->storage->n_features);
        drove_data_destroy(d);
        drove_data_destroy(again);
        drove_data_destroy(fewer);
        drove_data_destroy(other);
    }
}

TEST(test_parts_differ)
{
    drove_data *train, *test;
    open_both("synth:digits?n=300&n_test=200", "split", 1, &train, &test);
    assert_int_equal(train->n_rows, 300);
    assert_int_equal(test->n_rows, 200);
    assert_int_equal(train->storage->channels * train->storage->height * train->storage->width,
                     784);
    for (size_t i = 0; i < 200; i++) {
        for (size_t j = 0; j < 300; j++) {
            assert_memory_not_equal(test->storage->x_u8 + i * 784, train->storage->x_u8 + j * 784,
                                    784);
        }
    }
    drove_data *part = open_data("synth:digits?part=test&n_test=200");
    expect_same(part, test);
    drove_data_destroy(part);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* Ink does not touch the border often, every class occurs, noise is everywhere. */
TEST(test_digits_look_like_digits)
{
    drove_data *d = open_data("synth:digits?n=4000");
    const drove_storage *s = d->storage;
    size_t of_class[10] = {0}, n_dark = 0, n_dark_border = 0, n_least = 784, n_most = 0;
    for (size_t i = 0; i < 4000; i++) {
        size_t n = 0;
        of_class[s->y_class[i]]++;
        for (size_t p = 0; p < 784; p++) {
            if (s->x_u8[i * 784 + p] < 100) continue;
            n++;
            n_dark_border += p < 28 || p >= 756 || p % 28 == 0 || p % 28 == 27;
        }
        n_dark += n;
        if (n < n_least) n_least = n;
        if (n > n_most) n_most = n;
    }
    for (size_t c = 0; c < 10; c++) assert_in_range(of_class[c], 320, 480); /* 400, deviation 19 */
    assert_in_range(n_dark / 4000, 60, 160);
    assert_true(n_least >= 10 && n_most <= 350);
    assert_true(n_dark_border * 50 < n_dark);
    drove_data_destroy(d);
}

/* Inside its line a digit has its own ink, 65 % to all of the darkest, evenly drawn, and at most
 * 16 % of noise: about half of all digits have no pixel above 230. */
TEST(test_a_line_is_no_darker_than_its_ink)
{
    enum { N = 1000 };
    drove_data *d = open_data("synth:digits?n=1000");
    unsigned n_pale = 0, n_palest = 0;
    for (size_t i = 0; i < N; i++) {
        float most = 0.0f;
        for (size_t f = 0; f < 784; f++) most = fmaxf(most, value_at(d, i, f));
        n_pale += most <= 230.0f;
        n_palest += most <= 0.65f * 255.0f;
        assert_true(most >= 0.6f * 255.0f);
    }
    assert_in_range(n_pale, N * 3 / 10, N * 7 / 10);
    assert_in_range(n_palest, 0, N / 10);
    drove_data_destroy(d);
}

TEST(test_digits_are_learnable_but_not_trivial)
{
    drove_data *train, *test;
    static double mean[10][784];
    size_t of_class[10] = {0}, n_right = 0;
    open_both("synth:digits?n=6000&n_test=2000", "split", 1, &train, &test);
    for (size_t i = 0; i < train->n_rows; i++) {
        int32_t c = train->storage->y_class[i];
        of_class[c]++;
        for (size_t p = 0; p < 784; p++) mean[c][p] += train->storage->x_u8[i * 784 + p];
    }
    for (size_t i = 0; i < test->n_rows; i++) {
        double nearest = INFINITY;
        int32_t guess = 0;
        for (int32_t c = 0; c < 10; c++) {
            double distance = 0;
            for (size_t p = 0; p < 784; p++) {
                double off = test->storage->x_u8[i * 784 + p] - mean[c][p] / (double)of_class[c];
                distance += off * off;
            }
            if (distance < nearest) {
                nearest = distance;
                guess = c;
            }
        }
        n_right += guess == test->storage->y_class[i];
    }
    assert_in_range(n_right, 1000, 1800); /* 50 % to 90 % */
    drove_data_destroy(train);
    drove_data_destroy(test);
}

/* ---- images ---- */

enum { HEIGHT = 11, WIDTH = 7, CHANNELS = 3, BLOBS = 5, CLASSES = 3 };

static double between(drove_rng *rng, double least, double most)
{
    return least + (most - least) * drove__rng_uniform(rng);
}

/* exp(-(d / r)^2), d being the least distance of place `i` of n from the centre, round the edge. */
static double fade(double centre, double radius, size_t i, size_t n)
{
    double d = 1.0;
    for (int lap = -1; lap <= 1; lap++)
        d = fmin(d, fabs(((double)i + 0.5) / (double)n - centre + lap));
    return exp(-d * d / (radius * radius));
}

/* A pixel of a class at its place in [CHANNELS][HEIGHT][WIDTH]. */
static void draw_arrangement(uint64_t class, double picture[CHANNELS * HEIGHT * WIDTH])
{
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_SYNTH, UINT64_C(1) << 62 | class);
    for (size_t p = 0; p < CHANNELS * HEIGHT * WIDTH; p++) picture[p] = 0.5;
    for (size_t b = 0; b < BLOBS; b++) {
        const double at_x = between(&rng, 0, 1), at_y = between(&rng, 0, 1);
        const double radius = between(&rng, 0.08, 0.25);
        double colour[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) colour[c] = between(&rng, -0.5, 0.5);
        for (size_t p = 0; p < CHANNELS * HEIGHT * WIDTH; p++)
            picture[p] += colour[p / WIDTH / HEIGHT] * fade(at_x, radius, p % WIDTH, WIDTH) *
                          fade(at_y, radius, p / WIDTH % HEIGHT, HEIGHT);
    }
}

/* Every pixel is computed again in double: blobs round the edges, shift, mirror, contrast and
 * noise.  One more or less is rounding. */
TEST(test_images_are_blobs)
{
    static double picture[CLASSES][CHANNELS * HEIGHT * WIDTH];
    drove_data *d = open_data("synth:images?n=60&size=11x7&classes=3&seed=3");
    const uint8_t *found = d->storage->x_u8;
    for (uint64_t c = 0; c < CLASSES; c++) draw_arrangement(c, picture[c]);
    for (size_t i = 0; i < 60; i++) {
        drove_rng rng;
        uint64_t bits = 0;
        drove__rng_seed(&rng, 3, DROVE_RNG_SYNTH, i);
        const size_t class = (size_t)drove__rng_below(&rng, CLASSES);
        const size_t right = (size_t)drove__rng_below(&rng, WIDTH);
        const size_t down = (size_t)drove__rng_below(&rng, HEIGHT);
        const bool mirrored = drove__rng_below(&rng, 2) == 1;
        const double contrast = between(&rng, 0.5, 1.0), noise = 0.25 * between(&rng, 0.2, 1.0);
        assert_int_equal(d->storage->y_class[i], class);
        for (size_t p = 0; p < CHANNELS * HEIGHT * WIDTH; p++) {
            const size_t x = p % WIDTH, y = p / WIDTH % HEIGHT, c = p / WIDTH / HEIGHT;
            if (x % 4 == 0) bits = drove__rng_u64(&rng);
            const double grain = (double)(bits & 255) + (double)(bits >> 8 & 255) - 255.0;
            const size_t row = (y + down) % HEIGHT;
            const size_t column = ((mirrored ? WIDTH - 1 - x : x) + right) % WIDTH;
            const double pixel = picture[class][(c * HEIGHT + row) * WIDTH + column];
            const double value = 127.5 + 255.0 * contrast * (pixel - 0.5) + noise * grain;
            assert_true(fabs((double)*found++ - fmin(fmax(value, 0.0), 255.0)) < 0.51);
            bits >>= 16;
        }
    }
    drove_data_destroy(d);
}

/* x uniform in [-1, 1]: mean 0, variance 1/3; P(+1 | x) is the logistic function of w x for some
 * w in [-1, 1]^d. */
TEST(test_logistic_model)
{
    enum { N = 40000, D = 4 };
    drove_data *d = open_data("synth:logistic?n=40000&d=4&seed=5");
    const drove_storage *s = d->storage;
    double sum = 0, squares = 0, w[D] = {0};
    assert_int_equal(s->x_kind, DROVE_X_F32);
    for (size_t i = 0; i < N * D; i++) {
        assert_true(s->x_f32[i] >= -1 && s->x_f32[i] < 1);
        sum += s->x_f32[i];
        squares += (double)s->x_f32[i] * s->x_f32[i];
    }
    assert_true(fabs(sum / (N * D)) < 0.01);
    assert_true(fabs(squares / (N * D) - 1.0 / 3) < 0.01);
    /* logistic regression by gradient ascent: the estimate lies in the cube, and explains the
     * labels: the sum of y - p over examples of large, small and middling products is near 0 */
    for (int step = 0; step < 200; step++) {
        double gradient[D] = {0};
        for (size_t i = 0; i < N; i++) {
            const float *x = s->x_f32 + i * D;
            double product = 0;
            for (int f = 0; f < D; f++) product += w[f] * (double)x[f];
            double residual = s->y_class[i] - 1 / (1 + exp(-product));
            for (int f = 0; f < D; f++) gradient[f] += residual * (double)x[f] / N;
        }
        for (int f = 0; f < D; f++) w[f] += 6 * gradient[f];
    }
    double size = 0, residuals[3] = {0};
    for (int f = 0; f < D; f++) {
        assert_true(fabs(w[f]) < 1.08); /* 1 and three standard errors, sqrt(12 / N) each */
        size += w[f] * w[f];
    }
    assert_true(size > 0.05);
    for (size_t i = 0; i < N; i++) {
        double product = 0;
        for (int f = 0; f < D; f++) product += w[f] * (double)s->x_f32[i * D + (size_t)f];
        int third = product < -0.3 ? 0 : product < 0.3 ? 1 : 2;
        residuals[third] += s->y_class[i] - 1 / (1 + exp(-product));
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(residuals[i]) < 3 * sqrt(N / 4.0));
    assert_string_equal(s->class_name[0], "-1");
    assert_string_equal(s->class_name[1], "+1");
    drove_data_destroy(d);
}

TEST(test_logistic_density)
{
    drove_data *d = open_data("synth:logistic?n=2000&d=1000&density=0.03");
    const drove_storage *s = d->storage;
    assert_int_equal(s->x_kind, DROVE_X_CSR);
    assert_int_equal(drove__storage_check(s, "generated"), DROVE_OK);
    double n = (double)s->row_start[2000];
    assert_true(fabs(n - 60000) < 5 * sqrt(60000 * 0.97));
    size_t of_feature[1000] = {0};
    for (size_t k = 0; k < (size_t)n; k++) of_feature[s->index[k]]++;
    for (size_t f = 0; f < 1000; f++)
        assert_in_range(of_feature[f], 20, 110); /* 60, deviation 7.6 */
    drove_data_destroy(d);
}

TEST(test_refusals)
{
    expect_refusal("synth:digits?n=0", NULL, DROVE_E_ARG, "n", NULL);
    expect_refusal("synth:digits?n=-1", NULL, DROVE_E_ARG, "n", NULL);
    expect_refusal("synth:digits?m=1", NULL, DROVE_E_ARG, "m", NULL);
    expect_refusal("synth:digits,2", NULL, DROVE_E_ARG, "synth:digits", NULL);
    expect_refusal("synth:logistic?density=0", NULL, DROVE_E_ARG, "density", NULL);
    expect_refusal("synth:logistic?n=4000000000&d=2000000000", NULL, DROVE_E_ARG, "GiB", NULL);
    expect_refusal("synth", NULL, DROVE_E_ARG, NULL);
}

/* More than any machine has: what is stored, and 12 bytes of a row for its class and its number. */
TEST(test_too_much_is_told)
{
    static const struct {
        const char *spec, *name;
        double bytes;
    } cases[] = {
        {"synth:logistic?n=4000000000&d=2000000000", "logistic", 4e9 * (4 * 2e9 + 12)},
        {"synth:logistic?n=4000000000&d=2000000000&density=0.0625", "logistic",
         4e9 * (8 * 125e6 + 12)},
        {"synth:images?n=4000000000&size=4096", "images", 4e9 * (3.0 * 4096 * 4096 + 12)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "these data need %.1f GiB, this machine has %.1f GiB",
                 cases[i].bytes / (1024.0 * 1024.0 * 1024.0),
                 (double)drove__memory_most() / (1024.0 * 1024.0 * 1024.0));
        expect_refusal(cases[i].spec, NULL, DROVE_E_ARG, text, cases[i].name, NULL);
    }
}
