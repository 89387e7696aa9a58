/* tests/unit/engine/test_retouch.c - changes of images in training: colours and rotations against
 * numbers of torchvision, an image through all of them against a plain transcription, mixed pairs
 * against equation (1) of the mixup paper, and the distribution of the shares.
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/gather.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 4, WIDTH = 5, CHANNELS = 3, PIXELS = HEIGHT * WIDTH, N = CHANNELS * PIXELS };

static const double BOUND = 1e-4; /* of numbers up to 255 in floats */

static const drove_augment shape = {.channels = CHANNELS,
                                    .height = HEIGHT,
                                    .width = WIDTH,
                                    .crop_height = HEIGHT,
                                    .crop_width = WIDTH};

static void make_image(float *image)
{
    for (int i = 0; i < N; i++) {
        const int c = i / PIXELS, y = i % PIXELS / WIDTH, x = i % WIDTH;
        image[i] = (float)((97 * c + 41 * y + 29 * x + 5 * x * y) % 256);
    }
}

static void expect(const char *what, const float *found, const float *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)found[i] - (double)wanted[i]) <= BOUND))
            fail_msg("%s, number %zu: %.6f, expected %.6f", what, i, (double)found[i],
                     (double)wanted[i]);
}

/* Every third number of torchvision 0.29's adjust_brightness 1.3, adjust_contrast 0.6 and
 * adjust_saturation 1.7 of the image / 255, times 255, and all of adjust_contrast 1.4 of its first
 * channel. */
TEST(colours_are_those_of_torchvision)
{
    static const float brighter[N / 3] = {0.000000f,   113.099998f, 97.500000f,  230.099991f,
                                          208.000000f, 159.899994f, 255.000000f, 163.800003f,
                                          255.000000f, 255.000000f, 232.699997f, 52.000000f,
                                          10.400001f,  182.000000f, 255.000000f, 255.000000f,
                                          105.300003f, 76.699997f,  228.800003f, 193.699997f};
    static const float flatter[N / 3] = {50.503857f,  102.703857f, 95.503860f,  156.703857f,
                                         146.503876f, 124.303864f, 203.503860f, 126.103867f,
                                         178.303848f, 174.103867f, 157.903870f, 74.503860f,
                                         55.303860f,  134.503876f, 201.703873f, 191.503860f,
                                         99.103867f,  85.903862f,  156.103867f, 139.903870f};
    static const float stronger[N / 3] = {0.000000f,   52.096397f,  40.095562f,  247.293106f,
                                          230.291916f, 88.098915f,  255.000000f, 138.563538f,
                                          245.998428f, 238.997940f, 211.996048f, 0.000000f,
                                          0.000000f,   152.564514f, 255.000000f, 255.000000f,
                                          2.700302f,   0.000000f,   202.897385f, 175.895477f};
    static const float grey[PIXELS] = {0.000000f,   0.000000f,   32.519997f,  73.119995f,
                                       113.719994f, 8.719996f,   56.319996f,  103.919983f,
                                       151.520004f, 199.119995f, 66.119995f,  120.719994f,
                                       175.319992f, 229.919983f, 255.000000f, 123.519989f,
                                       185.119995f, 246.720001f, 255.000000f, 11.519998f};
    const struct {
        const char *name;
        drove_augment a;
        drove_window w;
        const float *wanted;
    } cases[] = {{"brightness", {.brightness = 0.5f}, {.brightness = 1.3f}, brighter},
                 {"contrast", {.contrast = 0.5f}, {.contrast = 0.6f}, flatter},
                 {"saturation", {.saturation = 0.8f}, {.saturation = 1.7f}, stronger}};
    float image[N], third[N / 3];
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_augment a = cases[c].a;
        a.channels = CHANNELS, a.height = HEIGHT, a.width = WIDTH;
        make_image(image);
        drove__augment_colour(&a, &cases[c].w, image);
        for (size_t i = 0; i < N / 3; i++) third[i] = image[3 * i];
        expect(cases[c].name, third, cases[c].wanted, N / 3);
    }
    const drove_augment one = {.channels = 1, .height = HEIGHT, .width = WIDTH, .contrast = 0.5f};
    make_image(image);
    drove__augment_colour(&one, &(drove_window){.contrast = 1.4f}, image);
    expect("contrast of one channel", image, grey, PIXELS);
}

/* torchvision's rotate by 30 degrees, BILINEAR, of the first channel; and a quarter turn of a
 * square is exact. */
TEST(rotations_are_those_of_torchvision)
{
    static const float turned[PIXELS] = {5.932506f,   38.297241f,  90.752670f,  146.277664f,
                                         98.026367f,  17.940489f,  67.305229f,  121.000092f,
                                         179.025085f, 224.539261f, 38.857784f,  90.722519f,
                                         146.917389f, 207.442383f, 157.159088f, 38.204220f,
                                         109.809685f, 168.504547f, 151.481491f, 51.086613f};
    float image[N], to[N];
    make_image(image);
    drove__augment_rotate(&shape, &(drove_window){.degrees = 30.0f}, image, to);
    expect("30 degrees", to, turned, PIXELS);
    const drove_augment square = {.channels = 1, .height = 4, .width = 4};
    drove__augment_rotate(&square, &(drove_window){.degrees = 90.0f}, image, to);
    for (size_t y = 0; y < 4; y++) /* counter-clockwise: the right column comes to the top */
        for (size_t x = 0; x < 4; x++)
            expect("90 degrees", &to[y * 4 + x], &image[x * 4 + 3 - y], 1);
}

/* ---- an image through everything ---- */

enum { N_IMAGES = 12, SIDE = 8, AREA = SIDE * SIDE };

static void open_data(const char *keys, drove_data **out)
{
    char text[256];
    drove_data *none;
    snprintf(text, sizeof text, "synth:images?n=12&size=8&classes=3%s", keys);
    if (drove_data_open(text, NULL, 7, out, &none) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static double clamp(double x)
{
    return fmin(fmax(x, 0.0), 255.0);
}

/* The input of a stored image, from the definitions, in double. */
static void transcribe(const drove_data *d, size_t row, const drove_window *w, double *to)
{
    static const double grey_of[3] = {0.2989, 0.587, 0.114};
    const drove_augment *a = &d->augment;
    const size_t n = 3 * AREA;
    double image[3 * AREA], mean = 0.0;
    for (size_t i = 0; i < n; i++)
        image[i] = clamp((double)w->brightness * (double)d->storage->x_u8[row * n + i]);
    for (size_t i = 0; i < n; i++) mean += grey_of[i / AREA] * image[i] / AREA;
    for (size_t i = 0; i < n; i++)
        image[i] = clamp((double)w->contrast * image[i] + (1.0 - (double)w->contrast) * mean);
    for (size_t i = 0; i < AREA; i++) {
        double grey = 0.0;
        for (size_t c = 0; c < 3; c++) grey += grey_of[c] * image[c * AREA + i];
        for (size_t c = 0; c < 3; c++)
            image[c * AREA + i] = clamp((double)w->saturation * image[c * AREA + i] +
                                        (1.0 - (double)w->saturation) * grey);
    }
    for (size_t i = 0; i < n; i++)
        image[i] = (image[i] - (double)d->shift[i]) * (double)d->factor[i];
    const double angle = (double)w->degrees * acos(-1.0) / 180.0, middle = (SIDE - 1) / 2.0;
    for (size_t i = 0; i < 3 * a->crop_height * a->crop_width; i++) {
        const size_t c = i / (a->crop_height * a->crop_width);
        const size_t row_to = i / a->crop_width % a->crop_height, column_to = i % a->crop_width;
        const size_t column = w->is_mirrored ? a->crop_width - 1 - column_to : column_to;
        const double y = (double)(w->top + row_to) - (double)a->pad - middle,
                     x = (double)(w->left + column) - (double)a->pad - middle;
        const double from_y = sin(angle) * x + cos(angle) * y + middle,
                     from_x = cos(angle) * x - sin(angle) * y + middle;
        to[i] = 0.0;
        if (fabs(y) > middle || fabs(x) > middle) continue; /* padding */
        for (int corner = 0; corner < 4; corner++) {
            const double at_y = floor(from_y) + corner / 2, at_x = floor(from_x) + corner % 2;
            const double share = (1.0 - fabs(from_y - at_y)) * (1.0 - fabs(from_x - at_x));
            if (at_y < 0 || at_y >= SIDE || at_x < 0 || at_x >= SIDE) continue;
            to[i] += share * image[c * AREA + (size_t)at_y * SIDE + (size_t)at_x];
        }
    }
}

TEST(images_are_coloured_scaled_rotated_and_cut)
{
    drove_data *d;
    drovek_table kernels;
    drove_gather g;
    drove_input in;
    uint32_t row[N_IMAGES];
    open_data("&crop=7x8&pad=1&mirror=1&rotate=25&brightness=0.4&contrast=0.3&saturation=1&"
              "scale=unit-mean",
              &d);
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__gather_init(&g, &kernels, d, N_IMAGES, drove__data_n_inputs(d), true),
                     DROVE_OK);
    for (uint32_t i = 0; i < N_IMAGES; i++) row[i] = N_IMAGES - 1 - i;
    bool has_both[2] = {false, false};
    for (uint64_t number = 0; number < 4; number++) {
        const drove_batch batch = {.data = d, .row = row, .n_rows = N_IMAGES, .number = number};
        assert_int_equal(drove__gather_load(&g, &batch, true, NULL, &in), DROVE_OK);
        for (size_t i = 0; i < N_IMAGES; i++) {
            double wanted[3 * 9 * 10];
            const drove_window w = drove__augment_draw(&d->augment, number, row[i]);
            assert_true(fabsf(w.degrees) <= 25.0f && fabsf(w.brightness - 1.0f) <= 0.4f &&
                        fabsf(w.contrast - 1.0f) <= 0.3f && fabsf(w.saturation - 1.0f) <= 1.0f);
            has_both[w.degrees > 0.0f] = true;
            transcribe(d, row[i], &w, wanted);
            for (size_t k = 0; k < g.n_features; k++)
                if (!(fabs((double)in.dense[i * g.n_features + k] - wanted[k]) <= 2e-6))
                    fail_msg("image %zu, number %zu: %.8f, expected %.8f", i, k,
                             (double)in.dense[i * g.n_features + k], wanted[k]);
        }
    }
    assert_true(has_both[0] && has_both[1]);
    /* In evaluation the image is as it is. */
    const drove_batch batch = {.data = d, .row = row, .n_rows = 1};
    assert_int_equal(drove__gather_load(&g, &batch, false, NULL, &in), DROVE_OK);
    const drove_window middle = {
        .top = 1, .left = 1, .brightness = 1.0f, .contrast = 1.0f, .saturation = 1.0f};
    double wanted[3 * 9 * 10];
    transcribe(d, row[0], &middle, wanted);
    for (size_t k = 0; k < g.n_features; k++)
        assert_true(fabs((double)in.dense[k] - wanted[k]) <= 2e-6);
    drove__gather_fini(&g);
    drove_data_destroy(d);
}

/* ---- mixup ---- */

TEST(pairs_are_mixed_by_equation_1)
{
    for (size_t n_rows = 1; n_rows <= N_IMAGES; n_rows += 3) { /* odd and even */
        drove_data *d[2];
        drovek_table kernels;
        drove_gather g[2];
        drove_input in[2];
        drove_target target[2];
        uint32_t row[N_IMAGES];
        assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
        for (uint32_t i = 0; i < N_IMAGES; i++) row[i] = (5 * i + 1) % N_IMAGES;
        for (int k = 0; k < 2; k++) {
            open_data(k == 0 ? "&crop=6&mirror=1" : "&crop=6&mirror=1&mixup=0.7", &d[k]);
            assert_int_equal(drove__gather_init(&g[k], &kernels, d[k], N_IMAGES,
                                                drove__data_n_inputs(d[k]), true),
                             DROVE_OK);
            const drove_batch batch = {.data = d[k], .row = row, .n_rows = n_rows, .number = 9};
            assert_int_equal(drove__gather_load(&g[k], &batch, true, NULL, &in[k]), DROVE_OK);
            drove__targets_load(&g[k].targets, d[k], NULL, row, n_rows, &target[k]);
            drove__gather_mix(&g[k], &batch, &in[k], &target[k]);
        }
        const float share = drove__augment_share(&d[1]->augment, 9);
        assert_true(share > 0.0f && share < 1.0f);
        assert_null(target[0].y_other);
        assert_true(target[1].own_share == share);
        const size_t n = g[0].n_features;
        for (size_t i = 0; i < n_rows; i++) {
            const size_t j = n_rows - 1 - i;
            assert_int_equal(target[1].y_class[i], target[0].y_class[i]);
            assert_int_equal(target[1].y_other[i], target[0].y_class[j]);
            for (size_t f = 0; f < n; f++) {
                const double wanted = (double)share * (double)in[0].dense[i * n + f] +
                                      (1.0 - (double)share) * (double)in[0].dense[j * n + f];
                assert_true(fabs((double)in[1].dense[i * n + f] - wanted) <= 1e-6);
            }
        }
        for (int k = 0; k < 2; k++) {
            drove__gather_fini(&g[k]);
            drove_data_destroy(d[k]);
        }
    }
}

/* Beta(alpha, alpha): mean 1/2, variance 1 / (4 (2 alpha + 1)); fourth moment about the middle
 * 3 / (16 (2 alpha + 1) (2 alpha + 3)). */
TEST(shares_are_of_the_beta_distribution)
{
    enum { N_DRAWS = 40000 };
    static const float alpha[] = {0.01f, 0.2f, 1.0f, 4.0f, 100.0f};
    for (size_t k = 0; k < DROVE_COUNT(alpha); k++) {
        const drove_augment a = {.mixup = alpha[k], .seed = 5};
        const double twice = 2.0 * (double)alpha[k];
        double sum = 0.0, square = 0.0, fourth = 0.0;
        for (uint64_t i = 0; i < N_DRAWS; i++) {
            const double x = (double)drove__augment_share(&a, i) - 0.5;
            assert_true(x >= -0.5 && x <= 0.5);
            sum += x;
            square += x * x;
            fourth += x * x * x * x;
        }
        const double variance = 0.25 / (twice + 1.0),
                     moment = 3.0 / (16.0 * (twice + 1.0) * (twice + 3.0));
        const double errors = 4.5 / sqrt(N_DRAWS);
        assert_true(fabs(sum / N_DRAWS) <= errors * sqrt(variance));
        assert_true(fabs(square / N_DRAWS - variance) <=
                    errors * sqrt(moment - variance * variance) + 1e-9);
        assert_true(fabs(fourth / N_DRAWS - moment) <= 0.1 * moment);
    }
    const drove_augment a = {.mixup = 1.0f, .seed = 5}, b = {.mixup = 1.0f, .seed = 6};
    assert_true(drove__augment_share(&a, 3) == drove__augment_share(&a, 3));
    assert_true(drove__augment_share(&a, 3) != drove__augment_share(&a, 4));
    assert_true(drove__augment_share(&a, 3) != drove__augment_share(&b, 3));
}
