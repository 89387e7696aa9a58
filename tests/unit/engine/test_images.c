/* tests/unit/engine/test_images.c - images as a model sees them: crops, padding and mirror images
 * against a plain transcription, means against sums, and what must not depend on who loads a batch.
 */
#include "base/cpu.h"
#include "engine/gather.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_IMAGES = 40, HEIGHT = 9, WIDTH = 13, CHANNELS = 3, PIXELS = CHANNELS * HEIGHT * WIDTH };

#define BYTES "synth:images?n=40&size=9x13&classes=3"

static const char floats[] = "idx:images.idx,labels.idx?classes=3";

static void open_data(const char *spec, const char *keys, const char *test, drove_data **train,
                      drove_data **held_out)
{
    char text[512];
    snprintf(text, sizeof text, "%s&%s", spec, keys);
    if (drove_data_open(text, test, 7, train, held_out) != DROVE_OK)
        fail_msg("%s: %s", text, drove_error_text());
}

/* The same images as floats of another range. */
FIXTURE(write_floats)
{
    drove_data *d, *none;
    unlink("images.idx");
    unlink("labels.idx");
    open_data(BYTES, "scale=standard", NULL, &d, &none);
    drove_status status = drove_data_convert(d, "idx:images.idx,labels.idx?scaled=1");
    drove_data_destroy(d);
    return status == DROVE_OK ? 0 : -1;
}

GROUP(write_floats, NULL);

static void begin(drove_gather *g, const drove_data *d, const char *isa, drovek_table *kernels)
{
    assert_int_equal(drovek_select(kernels, drove__cpu_features(), isa), DROVE_OK);
    assert_int_equal(drove__gather_init(g, kernels, d, N_IMAGES, drove__data_n_inputs(d), true),
                     DROVE_OK);
}

static double raw_at(const drove_data *d, size_t row, size_t feature)
{
    const drove_storage *s = d->storage;
    size_t at = drove__data_row(d, row) * s->n_features + feature;
    return s->x_kind == DROVE_X_U8 ? (double)s->x_u8[at] : (double)s->x_f32[at];
}

/* One number of the input, from the definition: pad, cut, then turn round. */
static double pixel_of(const drove_data *d, size_t row, const drove_window *w, size_t c, size_t y,
                       size_t x)
{
    const drove_augment *a = &d->augment;
    size_t column = w->is_mirrored ? a->crop_width - 1 - x : x;
    long from_y = (long)(w->top + y) - (long)a->pad,
         from_x = (long)(w->left + column) - (long)a->pad;
    if (from_y < 0 || from_y >= HEIGHT || from_x < 0 || from_x >= WIDTH) return 0.0;
    size_t f = (c * HEIGHT + (size_t)from_y) * WIDTH + (size_t)from_x;
    double value = raw_at(d, row, f);
    return d->factor == NULL ? value : (value - (double)d->shift[f]) * (double)d->factor[f];
}

static void expect_image(const drove_data *d, size_t row, const drove_window *w, const float *x)
{
    const drove_augment *a = &d->augment;
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t y = 0; y < a->crop_height; y++) {
            for (size_t i = 0; i < a->crop_width; i++) {
                double wanted = pixel_of(d, row, w, c, y, i);
                if (fabs((double)*x++ - wanted) > 1e-6 * (1.0 + fabs(wanted)))
                    fail_msg("row %zu, channel %zu, %zu,%zu: expected %g, found %g", row, c, y, i,
                             wanted, (double)x[-1]);
            }
        }
    }
}

static void check_spec(const char *spec, const char *keys, const char *isa)
{
    drove_data *d, *none;
    drove_gather g;
    drovek_table kernels;
    drove_input in;
    uint32_t row[N_IMAGES];
    open_data(spec, keys, NULL, &d, &none);
    begin(&g, d, isa, &kernels);
    for (size_t i = 0; i < N_IMAGES; i++) row[i] = (uint32_t)((i * 7 + 3) % N_IMAGES);
    for (uint64_t number = 0; number < 5; number++) {
        drove_batch batch = {.data = d, .row = row, .n_rows = N_IMAGES - number, .number = number};
        for (int is_training = 0; is_training < 2; is_training++) {
            assert_int_equal(drove__gather_load(&g, &batch, is_training, NULL, &in), DROVE_OK);
            for (size_t i = 0; i < batch.n_rows; i++) {
                drove_window w = is_training ? drove__augment_draw(&d->augment, number, row[i])
                                             : drove__augment_centre(&d->augment);
                expect_image(d, row[i], &w, in.dense + i * g.n_features);
            }
        }
    }
    drove__gather_fini(&g);
    drove_data_destroy(d);
}

TEST(test_windows)
{
    static const char *const keys[] = {
        "crop=7&scale=none",
        "crop=5x13&mirror=1&scale=unit",
        "mirror=1",
        "pad=2&scale=unit-mean",
        "pad=3&crop=15x18&mirror=1",
        "pad=20&crop=5&scale=mean",
        "crop=1x1&scale=mean-channel",
        "crop=9x12&pad=1&mirror=1&scale=standard",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        check_spec(BYTES, keys[i], NULL);
        check_spec(floats, keys[i], NULL);
        check_spec(BYTES, keys[i], "ref");
    }
}

/* Every place and both directions, about equally often; other images in other batches. */
TEST(test_choices)
{
    enum { PAD = 2, CROP = 9, N_PLACES = 2 * PAD + 1, N_DRAWS = 4000 };
    const drove_augment a = {.channels = 1,
                             .height = CROP,
                             .width = CROP,
                             .crop_height = CROP,
                             .crop_width = CROP,
                             .pad = PAD,
                             .mirror = true,
                             .seed = 3};
    size_t top[N_PLACES] = {0}, left[N_PLACES] = {0}, n_mirrored = 0, n_same = 0;
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        drove_window w = drove__augment_draw(&a, i / 50, (uint32_t)(i % 50));
        drove_window again = drove__augment_draw(&a, i / 50, (uint32_t)(i % 50));
        drove_window next = drove__augment_draw(&a, i / 50 + 1, (uint32_t)(i % 50));
        assert_true(w.top == again.top && w.left == again.left &&
                    w.is_mirrored == again.is_mirrored);
        n_same += w.top == next.top && w.left == next.left && w.is_mirrored == next.is_mirrored;
        top[w.top]++;
        left[w.left]++;
        n_mirrored += w.is_mirrored;
    }
    for (size_t i = 0; i < N_PLACES; i++) { /* 800 expected, deviation 25 */
        assert_in_range(top[i], 660, 940);
        assert_in_range(left[i], 660, 940);
    }
    assert_in_range(n_mirrored, 1820, 2180); /* 2000, deviation 32 */
    assert_in_range(n_same, 20, 140);        /* 80, deviation 9 */
    drove_augment other = a;
    other.seed = 4;
    size_t n_equal = 0;
    for (uint32_t i = 0; i < 500; i++)
        n_equal += drove__augment_draw(&a, 0, i).top == drove__augment_draw(&other, 0, i).top;
    assert_in_range(n_equal, 50, 150);
}

/* A row of a batch is the same image whatever stands beside it and wherever it stands. */
TEST(test_image_depends_on_batch_and_row)
{
    drove_data *d, *none;
    drove_gather g[2];
    drovek_table kernels;
    drove_input in[2];
    uint32_t forward[N_IMAGES], backward[N_IMAGES];
    open_data(BYTES, "crop=6&pad=1&mirror=1", NULL, &d, &none);
    for (size_t i = 0; i < N_IMAGES; i++) {
        forward[i] = (uint32_t)i;
        backward[N_IMAGES - 1 - i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 2; i++) begin(&g[i], d, NULL, &kernels);
    size_t n = g[0].n_features, n_different = 0;
    drove_batch batch = {.data = d, .row = forward, .n_rows = N_IMAGES, .number = 11};
    assert_int_equal(drove__gather_load(&g[0], &batch, true, NULL, &in[0]), DROVE_OK);
    batch.row = backward;
    batch.n_rows = N_IMAGES / 2;
    assert_int_equal(drove__gather_load(&g[1], &batch, true, NULL, &in[1]), DROVE_OK);
    for (size_t i = 0; i < N_IMAGES / 2; i++) {
        assert_memory_equal(in[1].dense + i * n, in[0].dense + backward[i] * n, n * sizeof(float));
    }
    batch.number = 12;
    assert_int_equal(drove__gather_load(&g[1], &batch, true, NULL, &in[1]), DROVE_OK);
    for (size_t i = 0; i < N_IMAGES / 2; i++) {
        n_different +=
            memcmp(in[1].dense + i * n, in[0].dense + backward[i] * n, n * sizeof(float)) != 0;
    }
    assert_true(n_different > N_IMAGES / 4);
    for (size_t i = 0; i < 2; i++) drove__gather_fini(&g[i]);
    drove_data_destroy(d);
}

/* ---- means ---- */

static double mean_of(const drove_data *d, size_t first, size_t n)
{
    double sum = 0;
    for (size_t f = first; f < first + n; f++)
        for (size_t i = 0; i < d->n_rows; i++) sum += raw_at(d, i, f);
    return sum / (double)(n * d->n_rows);
}

static double range_of(const drove_data *d, size_t first, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t f = first; f < first + n; f++) {
        for (size_t i = 0; i < d->n_rows; i++) {
            low = fmin(low, raw_at(d, i, f));
            high = fmax(high, raw_at(d, i, f));
        }
    }
    return high - low;
}

TEST(test_means)
{
    static const struct {
        const char *keys;
        bool is_of_channel, has_unit;
    } cases[] = {{"scale=mean", false, false},
                 {"scale=mean-channel", true, false},
                 {"scale=unit-mean", false, true},
                 {"scale=unit-mean-channel", true, true}};
    const size_t plane = HEIGHT * WIDTH;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        drove_data *d, *test;
        size_t c = k / 2;
        open_data(k % 2 ? floats : BYTES, cases[c].keys, "split", &d, &test);
        bool is_u8 = d->storage->x_kind == DROVE_X_U8;
        for (size_t f = 0; f < PIXELS; f++) {
            size_t first = cases[c].is_of_channel ? f / plane * plane : f;
            size_t n = cases[c].is_of_channel ? plane : 1;
            double unit = is_u8 ? 255.0 : range_of(d, first, n);
            assert_float_equal(d->shift[f], (float)mean_of(d, first, n), 1e-4f);
            double factor = cases[c].has_unit ? 1.0 / unit : 1.0;
            assert_float_equal(d->factor[f], (float)factor, 1e-6f);
        }
        assert_memory_equal(test->shift, d->shift, PIXELS * sizeof(float));
        assert_memory_equal(test->factor, d->factor, PIXELS * sizeof(float));
        drove_data_destroy(d);
        drove_data_destroy(test);
    }
}

/* ---- held-out data, and what is refused ---- */

TEST(test_held_out_takes_crop)
{
    drove_data *d, *test;
    open_data(BYTES, "crop=7x8&pad=1&mirror=1&split=0.25", "split", &d, &test);
    assert_int_equal(drove__data_n_inputs(d), 3 * 7 * 8);
    assert_int_equal(drove__data_n_inputs(test), 3 * 7 * 8);
    drove_data_facts facts;
    drove_data_describe(test, &facts);
    assert_int_equal(facts.n_features, PIXELS);
    assert_int_equal(facts.n_inputs, 3 * 7 * 8);
    assert_true(facts.crop_height == 7 && facts.crop_width == 8 && facts.pad == 1 && facts.mirror);
    drove_data_destroy(d);
    drove_data_destroy(test);
    open_data(BYTES, "crop=7x8", "synth:images?n=5&size=9x13&classes=3&seed=2", &d, &test);
    assert_int_equal(drove__data_n_inputs(test), 3 * 7 * 8);
    drove_data_destroy(d);
    drove_data_destroy(test);
    open_data(BYTES, "crop=9x13&pad=0&mirror=0", NULL, &d, &test);
    assert_false(drove__augment_is_on(&d->augment)); /* nothing is changed */
    drove_data_destroy(d);
}

static void expect_refusal(const char *spec, const char *test, const char *word)
{
    drove_data *d = NULL, *held_out = NULL;
    assert_int_equal(drove_data_open(spec, test, 1, &d, &held_out), DROVE_E_ARG);
    assert_null(d);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("%s: \"%s\" is not in: %s", spec, word, drove_error_text());
    assert_null(strchr(drove_error_text(), '\n'));
}

TEST(test_refusals)
{
    expect_refusal(BYTES "&crop=10", NULL, "at most 9x13");
    expect_refusal(BYTES "&crop=12x16&pad=1", NULL, "at most 11x15");
    expect_refusal(BYTES "&crop=0", NULL, "crop");
    expect_refusal(BYTES "&crop=3x", NULL, "crop");
    expect_refusal(BYTES "&crop=3x4x5", NULL, "crop");
    expect_refusal(BYTES "&crop=-3", NULL, "crop");
    expect_refusal(BYTES "&mirror=2", NULL, "mirror");
    expect_refusal(BYTES "&pad=-1", NULL, "pad");
    expect_refusal(BYTES "&crop=1048576&pad=1048576", NULL, "numbers");
    expect_refusal("synth:logistic?crop=3", NULL, "expected images");
    expect_refusal("synth:logistic?mirror=1", NULL, "expected images");
    expect_refusal("synth:logistic?pad=1", NULL, "expected images");
    expect_refusal("synth:logistic?density=0.1&mirror=1", NULL, "images of bytes or floats");
    expect_refusal("synth:logistic?density=0.1&scale=mean", NULL, "sparse");
    expect_refusal("synth:logistic?scale=mean-channel", NULL, "images");
    expect_refusal(BYTES "&crop=7", BYTES "&crop=6", "test data");
    expect_refusal(BYTES, BYTES "&crop=6", "test data");
    drove_data *d, *none;
    open_data(BYTES, "crop=7", NULL, &d, &none);
    assert_int_equal(drove_data_convert(d, "idx:never,never.labels"), DROVE_E_ARG);
    drove_data_destroy(d);
}

/* What a model file keeps. */
TEST(test_text)
{
    drove_augment a, back;
    char text[DROVE_AUGMENT_TEXT_SIZE];
    assert_int_equal(drove__augment_scan("3x32x24?crop=28x20&pad=4", &a), DROVE_OK);
    assert_true(a.channels == 3 && a.height == 32 && a.width == 24 && a.crop_height == 28 &&
                a.crop_width == 20 && a.pad == 4 && !a.mirror);
    drove__augment_print(&a, text);
    assert_int_equal(drove__augment_scan(text, &back), DROVE_OK);
    assert_true(drove__augment_equal(&a, &back));
    assert_int_equal(drove__augment_scan("1x28x20", &a), DROVE_OK);
    assert_true(a.channels == 1 && a.height == 28 && a.width == 20 && !drove__augment_is_on(&a));
    drove__augment_print(&a, text);
    assert_string_equal(text, "1x28x20");
    static const char *const bad[] = {"3x32?crop=3", "3x32x32x2",    "x3x32x32", "3x32x32?mirror=1",
                                      "0x3x3",       "3x3x3?crop=4", "3x3x3,4",  ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(drove__augment_scan(bad[i], &back), DROVE_E_ARG);
}
