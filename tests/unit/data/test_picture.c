/* tests/unit/data/test_picture.c - images that another program wrote (tests/fuzz/corpus/picture),
 * against the formula of their pixels; orientations against their definition; resizing against the
 * two-dimensional sum it stands for, in doubles.  tests/hostile/test_images.sh compares with
 * Pillow.
 */
#include "support.h"

#include "data/read/picture.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS DROVE_SOURCE_DIR "/tests/fuzz/corpus/picture"

typedef struct broken {
    const char *name, *words;
} broken;

static const broken files[] = {
    {"empty", "found an empty one"},
    {"text", "first byte 0x6e"},
    {"truncated.png", "damaged PNG image"},
    {"header-only.png", "damaged PNG image"},
    {"wrong-crc.png", "damaged PNG image"},
    {"huge.png", "60000 x 60000 pixels, more than 81 bytes can hold"},
    {"wide.png", "damaged PNG image"},
    {"large.png", "70000 x 70000 pixels, more than"},
    {"no-pixel.png", "damaged PNG image"},
    {"taller.png", "damaged PNG image"},
    {"bad-depth.png", "invalid bit depth"},
    {"truncated.jpg", "Premature end"},
    {"header-only.jpg", "Premature end"},
    {"huge.jpg", "65000 x 65000 pixels, more than"},
    {"no-row.jpg", "Empty JPEG image"},
    {"components.jpg", "damaged JPEG image"},
};

/* false: this build cannot read such images. */
static bool read_picture(const char *name, drove_picture *out, drove_status *status)
{
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", CORPUS, name);
    char *bytes = read_bytes(path, &n);
    *status = drove__picture_decode((const uint8_t *)bytes, n, name, out);
    free(bytes);
    if (*status != DROVE_E_UNSUPPORTED) return true;
    print_message("skipped: %s\n", drove_error_text());
    return false;
}

static bool open_picture(const char *name, drove_picture *out)
{
    drove_status status;
    if (!read_picture(name, out, &status)) return false;
    if (status != DROVE_OK) fail_msg("%s", drove_error_text());
    return true;
}

TEST(test_broken)
{
    drove_picture p;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        drove_status status;
        if (!read_picture(files[i].name, &p, &status)) continue;
        assert_int_equal(status, DROVE_E_DATA);
        assert_null(p.rgb);
        if (strstr(drove_error_text(), files[i].words) == NULL ||
            strstr(drove_error_text(), files[i].name) == NULL)
            fail_msg("%s: %s", files[i].name, drove_error_text());
    }
}

/* Files called good* decode, all others are listed above. */
TEST(test_every_file_is_known)
{
    DIR *stream = opendir(CORPUS);
    assert_non_null(stream);
    for (struct dirent *e; (e = readdir(stream)) != NULL;) {
        drove_picture p;
        bool is_listed = e->d_name[0] == '.' || strncmp(e->d_name, "found-", 6) == 0;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            is_listed |= strcmp(files[i].name, e->d_name) == 0;
        if (is_listed) continue;
        if (strncmp(e->d_name, "good", 4) != 0) fail_msg("%s is not in the table", e->d_name);
        if (open_picture(e->d_name, &p)) drove__picture_fini(&p);
    }
    closedir(stream);
}

/* 6 x 8 pixels: red 10 x, green 20 y, blue 100; grey 10 x + 20 y */
TEST(test_png)
{
    static const struct {
        const char *name;
        bool is_grey;
    } images[] = {{"good-rgb.png", false}, {"good-alpha.png", false}, {"good-grey.png", true},
                  {"good-16.png", true},   {"good-one.png", true},    {"good-palette.png", false}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        drove_picture p;
        if (!open_picture(images[i].name, &p)) continue;
        assert_int_equal(p.height, 6);
        assert_int_equal(p.width, 8);
        assert_int_equal(p.is_grey, images[i].is_grey);
        for (unsigned y = 0; y < 6; y++) {
            for (unsigned x = 0; x < 8; x++) {
                const uint8_t *rgb = p.rgb + 3 * (8 * y + x);
                unsigned grey = 10 * x + 20 * y;
                if (i < 2) assert_true(rgb[0] == 10 * x && rgb[1] == 20 * y && rgb[2] == 100);
                if (i == 4) grey = (x + y) % 2 * 255;
                if (i == 5) grey = grey / 16 * 16;
                if (i >= 2) assert_true(rgb[0] == grey && rgb[1] == grey && rgb[2] == grey);
            }
        }
        drove__picture_fini(&p);
    }
}

/* Red beside blue, 16 x 32 pixels; turned by Exif: red above blue. */
TEST(test_jpeg)
{
    static const char *const names[] = {"good.jpg",      "good-progressive.jpg",
                                        "good-cmyk.jpg", "good-turned.jpg",
                                        "good-grey.jpg", "good-exif-beyond.jpg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        drove_picture p;
        if (!open_picture(names[i], &p)) continue;
        bool is_turned = i == 3, is_grey = i == 4;
        assert_int_equal(p.height, is_turned ? 32 : 16);
        assert_int_equal(p.width, is_turned ? 16 : 32);
        assert_int_equal(p.is_grey, is_grey);
        for (size_t k = 0; k < 512; k++) {
            bool is_first = is_turned ? k < 256 : k % 32 < 16;
            int wanted[3] = {is_first ? 255 : 0, is_grey && is_first ? 255 : 0,
                             is_grey == is_first ? 255 : 0};
            for (int c = 0; c < 3; c++) assert_true(abs(p.rgb[3 * k + c] - wanted[c]) <= 4);
        }
        drove__picture_fini(&p);
    }
}

/* Pixels of 2 x 3 numbered a to f, as each of Exif's orientations shows them. */
TEST(test_orientations)
{
    static const char *const wanted[] = {"abcdef", "cbafed", "fedcba", "defabc",
                                         "adbecf", "daebfc", "fcebda", "cfbead"};
    for (unsigned o = 0; o <= 9; o++) {
        drove_picture p;
        const char *text = o >= 1 && o <= 8 ? wanted[o - 1] : wanted[0];
        assert_int_equal(drove__picture_init(&p, 2, 3, "test"), DROVE_OK);
        for (int i = 0; i < 18; i++) p.rgb[i] = (uint8_t)("abcdef"[i / 3] + i % 3);
        assert_int_equal(drove__picture_turn(&p, o), DROVE_OK);
        assert_int_equal(p.height, o >= 5 && o <= 8 ? 3 : 2);
        for (int i = 0; i < 18; i++) assert_int_equal(p.rgb[i], text[i / 3] + i % 3);
        drove__picture_fini(&p);
    }
}

/* ---- size ---- */

static double triangle(double distance, double reach)
{
    double w = 1 - fabs(distance) / reach;
    return w > 0 ? w : 0;
}

/* One output pixel of a channel: the weighted mean over all source pixels. */
static double expect_pixel(const drove_picture *p, size_t channels, size_t c, size_t height,
                           size_t width, size_t y, size_t x)
{
    double step = fmin((double)p->height / (double)height, (double)p->width / (double)width);
    double reach = fmax(step, 1), sum = 0, weights = 0;
    double top = ((double)p->height - (double)height * step) / 2 + ((double)y + 0.5) * step;
    double left = ((double)p->width - (double)width * step) / 2 + ((double)x + 0.5) * step;
    for (size_t i = 0; i < p->height; i++) {
        for (size_t j = 0; j < p->width; j++) {
            const uint8_t *rgb = p->rgb + 3 * (i * p->width + j);
            double value =
                channels == 3 ? rgb[c] : 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
            double w =
                triangle((double)i + 0.5 - top, reach) * triangle((double)j + 0.5 - left, reach);
            sum += w * value;
            weights += w;
        }
    }
    return sum / weights;
}

static void make_noise(drove_picture *p, size_t height, size_t width)
{
    uint32_t seed = 7;
    assert_int_equal(drove__picture_init(p, height, width, "test"), DROVE_OK);
    for (size_t i = 0; i < 3 * height * width; i++) {
        seed = seed * 1664525u + 1013904223u;
        p->rgb[i] = (uint8_t)(seed >> 24);
    }
}

TEST(test_fit)
{
    static const size_t sizes[][4] = {
        {20, 30, 10, 15}, {20, 30, 7, 7}, {5, 9, 16, 16}, {13, 13, 13, 13}, {1, 1, 4, 3},
        {40, 3, 8, 8},    {11, 17, 1, 1}, {6, 8, 6, 4},   {33, 47, 12, 40},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        drove_picture p;
        const size_t height = sizes[i][2], width = sizes[i][3];
        uint8_t into[3 * 40 * 16];
        make_noise(&p, sizes[i][0], sizes[i][1]);
        for (size_t channels = 1; channels <= 3; channels += 2) {
            assert_int_equal(drove__picture_fit(&p, channels, height, width, into), DROVE_OK);
            for (size_t k = 0; k < channels * height * width; k++) {
                double wanted = expect_pixel(&p, channels, k / (height * width), height, width,
                                             k % (height * width) / width, k % width);
                if (fabs(into[k] - wanted) > (channels == 1 ? 1.01 : 0.51))
                    fail_msg("%zu: value %zu: expected %g, found %u", i, k, wanted, into[k]);
            }
        }
        drove__picture_fini(&p);
    }
}

/* Only one side is too long: the middle is cut out, unchanged. */
TEST(test_fit_cuts_the_middle)
{
    drove_picture p;
    uint8_t into[3 * 6 * 4];
    make_noise(&p, 6, 8);
    assert_int_equal(drove__picture_fit(&p, 3, 6, 4, into), DROVE_OK);
    for (size_t c = 0; c < 3; c++) {
        for (size_t k = 0; k < 24; k++)
            assert_int_equal(into[24 * c + k], p.rgb[3 * (8 * (k / 4) + 2 + k % 4) + c]);
    }
    drove__picture_fini(&p);
}
