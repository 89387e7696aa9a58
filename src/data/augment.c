/* data/augment.c - parses the keys of augmentation, and draws what they ask for. */
#include "data/augment.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE_MOST = 1 << 20 };
/* Smaller alphas give shares that are 0 or 1 in floats; with larger ones all are 1/2. */
#define ALPHA_LEAST 0.01
#define ALPHA_MOST  100.0

static const drove_spec_key window_keys[] = {
    {"crop", NULL, DROVE_AS_SIDES(drove_augment_options, crop, 1, SIDE_MOST),
     .help = "of images: a window of this size, anywhere in training, else the middle"},
    {"pad", "0", DROVE_AS_COUNT(drove_augment_options, pad, 0, SIDE_MOST),
     .help = "of images: zeros on each side, before the crop"},
    DROVE_SPEC_END,
};
const drove_spec_key drove__augment_keys[] = {
    DROVE_SPEC_KEYS_TOO(window_keys),
    {"mirror", "0", DROVE_AS_BIT(drove_augment_options, mirror),
     .help = "of images: half of them mirrored in training"},
    {"rotate", "0", DROVE_AS_FLOAT(drove_augment_options, rotate, 0.0, 180.0),
     .help = "of images: degrees that they are rotated by in training at most, either way"},
    {"brightness", "0", DROVE_AS_FLOAT(drove_augment_options, brightness, 0.0, 1.0),
     .help = "of images of bytes: in training times a factor from 1 - it to 1 + it"},
    {"contrast", "0", DROVE_AS_FLOAT(drove_augment_options, contrast, 0.0, 1.0),
     .help = "of images of bytes: distance to their mean grey, times such a factor"},
    {"saturation", "0", DROVE_AS_FLOAT(drove_augment_options, saturation, 0.0, 1.0),
     .help = "of images of bytes: distance of each pixel to its grey, times such a factor"},
    {"mixup", "0", DROVE_AS_FLOAT(drove_augment_options, mixup, 0.0, ALPHA_MOST),
     .help = "of images: alpha of the shares that pairs of them are mixed by in training"},
    DROVE_SPEC_END,
};

const char *drove__augment_asked(const drove_augment_options *o)
{
    const struct {
        bool is_asked;
        const char *key;
    } all[] = {{o->crop.height != 0, "crop"},
               {o->pad != 0, "pad"},
               {o->mirror, "mirror"},
               {o->rotate > 0.0f, "rotate"},
               {o->brightness > 0.0f, "brightness"},
               {o->contrast > 0.0f, "contrast"},
               {o->saturation > 0.0f, "saturation"},
               {o->mixup > 0.0f, "mixup"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_asked) return all[i].key;
    return NULL;
}

drove_status drove__augment_make(const drove_augment_options *options, const char *name,
                                 size_t channels, size_t height, size_t width, uint64_t seed,
                                 drove_augment *out)
{
    const uint64_t pad = options->pad;
    const bool is_cropped = options->crop.height != 0;
    const size_t crop_height = is_cropped ? options->crop.height : height,
                 crop_width = is_cropped ? options->crop.width : width;
    memset(out, 0, sizeof *out);
    const char *asked = drove__augment_asked(options);
    if (channels == 0 && asked != NULL) {
        return drove__fail(DROVE_E_ARG, "%s?%s: expected images, found examples without a shape",
                           name, asked);
    }
    if (channels == 0) return DROVE_OK;
    if (options->mixup > 0.0f && (double)options->mixup < ALPHA_LEAST) {
        return drove__fail(DROVE_E_ARG, "%s?mixup: expected 0, or a number from %g to %g, found %g",
                           name, ALPHA_LEAST, ALPHA_MOST, (double)options->mixup);
    }
    if ((options->saturation > 0.0f && channels != 3) ||
        (options->contrast > 0.0f && channels != 3 && channels != 1)) {
        return drove__fail(DROVE_E_ARG, "%s?%s: expected images of %s, found %zu", name,
                           options->saturation > 0.0f ? "saturation" : "contrast",
                           options->saturation > 0.0f ? "3 channels" : "1 or 3 channels", channels);
    }
    if (crop_height > height + 2 * pad || crop_width > width + 2 * pad) {
        return drove__fail(DROVE_E_ARG,
                           "%s?crop: expected at most %llux%llu, the size of the images%s, found "
                           "%zux%zu",
                           name, (unsigned long long)(height + 2 * pad),
                           (unsigned long long)(width + 2 * pad),
                           pad > 0 ? " and their padding" : "", crop_height, crop_width);
    }
    if (channels * crop_height * crop_width > UINT32_MAX) {
        return drove__fail(DROVE_E_ARG, "%s?crop: expected at most %u numbers, found %zux%zux%zu",
                           name, UINT32_MAX, channels, crop_height, crop_width);
    }
    drove_augment_options rest = *options;
    rest.crop = (drove_sides){0};
    if (crop_height == height && crop_width == width && !drove__augment_is_asked(&rest))
        return DROVE_OK;
    *out = (drove_augment){.channels = channels,
                           .height = height,
                           .width = width,
                           .crop_height = crop_height,
                           .crop_width = crop_width,
                           .pad = (size_t)pad,
                           .mirror = options->mirror,
                           .rotate = options->rotate,
                           .brightness = options->brightness,
                           .contrast = options->contrast,
                           .saturation = options->saturation,
                           .mixup = options->mixup,
                           .seed = seed};
    return DROVE_OK;
}

void drove__augment_print(const drove_augment *a, char into[DROVE_AUGMENT_TEXT_SIZE])
{
    int n =
        snprintf(into, DROVE_AUGMENT_TEXT_SIZE, "%zux%zux%zu", a->channels, a->height, a->width);
    if (!drove__augment_is_on(a)) return;
    snprintf(into + n, DROVE_AUGMENT_TEXT_SIZE - (size_t)n, "?crop=%zux%zu&pad=%zu", a->crop_height,
             a->crop_width, a->pad);
}

/* "3x32x32" */
static drove_status scan_shape(const char *text, uint64_t shape[3])
{
    const char *end = text + strlen(text), *at = text;
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && *at++ != 'x') break;
        if (!drove__scan_u64(at, end, &at, &shape[i]) || shape[i] < 1 || shape[i] > SIDE_MOST)
            break;
        if (i == 2 && at == end) return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "expected CHANNELSxHEIGHTxWIDTH, each from 1 to %d, found \"%.40s\"",
                       SIDE_MOST, text);
}

drove_status drove__augment_scan(const char *text, drove_augment *out)
{
    drove_spec spec;
    drove_augment_options options = {.pad = 0};
    uint64_t shape[3] = {0};
    drove_augment a = {0};
    DROVE_TRY(drove__spec_parse(text, &spec));
    drove_status status = drove__spec_read(&spec, window_keys, &options);
    if (status == DROVE_OK) status = scan_shape(spec.name, shape);
    if (status == DROVE_OK) {
        status = drove__augment_make(&options, spec.name, (size_t)shape[0], (size_t)shape[1],
                                     (size_t)shape[2], 0, &a);
    }
    drove__spec_fini(&spec);
    DROVE_TRY(status);
    a.channels = (size_t)shape[0];
    a.height = (size_t)shape[1];
    a.width = (size_t)shape[2];
    *out = a;
    return DROVE_OK;
}

bool drove__augment_same_parts(const drove_augment *a, const drove_augment *b)
{
    return a->channels == b->channels && a->height == b->height && a->width == b->width &&
           a->crop_height == b->crop_height && a->crop_width == b->crop_width && a->pad == b->pad;
}

bool drove__augment_equal(const drove_augment *a, const drove_augment *b)
{
    return drove__augment_same_parts(a, b) && a->mirror == b->mirror && a->rotate == b->rotate &&
           a->brightness == b->brightness && a->contrast == b->contrast &&
           a->saturation == b->saturation && a->mixup == b->mixup;
}

drove_window drove__augment_centre(const drove_augment *a)
{
    return (drove_window){.top = (a->height + 2 * a->pad - a->crop_height) / 2,
                          .left = (a->width + 2 * a->pad - a->crop_width) / 2};
}

/* Uniform from -1 to 1. */
static double either_way(drove_rng *rng)
{
    return 2.0 * drove__rng_uniform(rng) - 1.0;
}

/* Streams of neighbouring numbers are independent, so batch and row are simply joined: rows are
 * below 2^32, and a run has fewer than 2^32 batches, or repeats a choice after that many. */
drove_window drove__augment_draw(const drove_augment *a, uint64_t batch, uint32_t row)
{
    drove_rng rng;
    drove_window w = {0};
    drove__rng_seed(&rng, a->seed, DROVE_RNG_AUGMENT, batch << 32 | row);
    w.top = (size_t)drove__rng_below(&rng, a->height + 2 * a->pad - a->crop_height + 1);
    w.left = (size_t)drove__rng_below(&rng, a->width + 2 * a->pad - a->crop_width + 1);
    w.is_mirrored = a->mirror && drove__rng_below(&rng, 2) == 1;
    if (a->rotate > 0.0f) {
        w.is_rotated = true;
        w.degrees = (float)((double)a->rotate * either_way(&rng));
    }
    if (drove__augment_colours(a)) {
        w.is_coloured = true;
        w.brightness = (float)(1.0 + (double)a->brightness * either_way(&rng));
        w.contrast = (float)(1.0 + (double)a->contrast * either_way(&rng));
        w.saturation = (float)(1.0 + (double)a->saturation * either_way(&rng));
    }
    return w;
}

/* The logarithm of a gamma variate of shape alpha: Marsaglia and Tsang, ACM TOMS 2000, for shape
 * alpha + 1, and times U^(1/alpha).  In logarithms, as such powers underflow. */
static double log_gamma_variate(drove_rng *rng, double alpha)
{
    const double d = alpha + 1.0 - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    const double power = log(1.0 - drove__rng_uniform(rng)) / alpha;
    for (;;) {
        const double x = drove__rng_normal(rng), root = 1.0 + c * x, v = root * root * root;
        const double u = 1.0 - drove__rng_uniform(rng);
        if (root > 0.0 && log(u) < 0.5 * x * x + d - d * v + d * log(v)) return log(d * v) + power;
    }
}

float drove__augment_share(const drove_augment *a, uint64_t batch)
{
    drove_rng rng;
    drove__rng_seed(&rng, a->seed, DROVE_RNG_MIXUP, batch);
    const double x = log_gamma_variate(&rng, (double)a->mixup);
    const double y = log_gamma_variate(&rng, (double)a->mixup);
    return (float)(1.0 / (1.0 + exp(y - x))); /* e^x / (e^x + e^y) */
}
