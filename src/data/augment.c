/* data/augment.c - parses crop, pad and mirror, and draws the windows they give. */
#include "data/augment.h"

#include "base/rng.h"

#include <stdio.h>
#include <string.h>

enum { SIDE_MOST = 1 << 20 };

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
    DROVE_SPEC_END,
};

drove_status drove__augment_make(const drove_augment_options *options, const char *name,
                                 size_t channels, size_t height, size_t width, uint64_t seed,
                                 drove_augment *out)
{
    const uint64_t pad = options->pad;
    const bool is_cropped = options->crop.height != 0;
    const size_t crop_height = is_cropped ? options->crop.height : height,
                 crop_width = is_cropped ? options->crop.width : width;
    memset(out, 0, sizeof *out);
    if (channels == 0 && drove__augment_is_asked(options)) {
        return drove__fail(DROVE_E_ARG, "%s?%s: expected images, found examples without a shape",
                           name,
                           is_cropped ? "crop"
                           : pad > 0  ? "pad"
                                      : "mirror");
    }
    if (channels == 0) return DROVE_OK;
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
    if (crop_height == height && crop_width == width && pad == 0 && !options->mirror)
        return DROVE_OK;
    *out = (drove_augment){.channels = channels,
                           .height = height,
                           .width = width,
                           .crop_height = crop_height,
                           .crop_width = crop_width,
                           .pad = (size_t)pad,
                           .mirror = options->mirror,
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

bool drove__augment_equal(const drove_augment *a, const drove_augment *b)
{
    return a->channels == b->channels && a->height == b->height && a->width == b->width &&
           a->crop_height == b->crop_height && a->crop_width == b->crop_width && a->pad == b->pad &&
           a->mirror == b->mirror;
}

drove_window drove__augment_centre(const drove_augment *a)
{
    return (drove_window){.top = (a->height + 2 * a->pad - a->crop_height) / 2,
                          .left = (a->width + 2 * a->pad - a->crop_width) / 2};
}

/* Streams of neighbouring numbers are independent, so batch and row are simply joined: rows are
 * below 2^32, and a run has fewer than 2^32 batches, or repeats a choice after that many. */
drove_window drove__augment_draw(const drove_augment *a, uint64_t batch, uint32_t row)
{
    drove_rng rng;
    drove_window w;
    drove__rng_seed(&rng, a->seed, DROVE_RNG_AUGMENT, batch << 32 | row);
    w.top = (size_t)drove__rng_below(&rng, a->height + 2 * a->pad - a->crop_height + 1);
    w.left = (size_t)drove__rng_below(&rng, a->width + 2 * a->pad - a->crop_width + 1);
    w.is_mirrored = a->mirror && drove__rng_below(&rng, 2) == 1;
    return w;
}
