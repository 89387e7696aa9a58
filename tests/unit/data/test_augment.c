/* How crops, padding and mirror images are asked for: what fits is taken as it is written, one
 * pixel more is refused. */
#include "data/augment.h"
#include "support/test.h"

#include <string.h>

static drove_status parse(const char *text, size_t channels, drove_augment *out)
{
    drove_spec spec;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    drove_augment_options options = {.pad = 0};
    drove_status status = drove__spec_take(&spec, drove__augment_keys, &options);
    if (status == DROVE_OK)
        status = drove__augment_make(&options, spec.name, channels, 20, 30, 77, out);
    drove__spec_fini(&spec);
    return status;
}

static void accept(const char *text, size_t height, size_t width, size_t pad, bool mirror)
{
    drove_augment a;
    if (parse(text, 3, &a) != DROVE_OK) fail_msg("%s: %s", text, drove_error_text());
    if (a.channels != 3 || a.height != 20 || a.width != 30 || a.crop_height != height ||
        a.crop_width != width || a.pad != pad || a.mirror != mirror || a.seed != 77)
        fail_msg("%s: found %zux%zu of %zux%zux%zu, pad %zu", text, a.crop_height, a.crop_width,
                 a.channels, a.height, a.width, a.pad);
}

static void refuse(const char *text, size_t channels, const char *part)
{
    drove_augment a;
    assert_int_equal(parse(text, channels, &a), DROVE_E_ARG);
    if (strstr(drove_error_text(), part) == NULL)
        fail_msg("%s: expected \"%s\", found \"%s\"", text, part, drove_error_text());
}

TEST(what_fits_is_taken)
{
    accept("images?crop=1x1", 1, 1, 0, false);
    accept("images?crop=20x29", 20, 29, 0, false);
    accept("images?crop=19x30", 19, 30, 0, false);
    accept("images?mirror=1", 20, 30, 0, true);
    accept("images?pad=4", 20, 30, 4, false);
    accept("images?pad=4&crop=28x38", 28, 38, 4, false); /* all of the padding */
    accept("images?pad=1&crop=22x1&mirror=1", 22, 1, 1, true);
}

TEST(what_does_not_fit_is_refused)
{
    refuse("images?crop=21x30", 3, "expected at most 20x30, the size of the images, found 21x30");
    refuse("images?crop=20x31", 3, "expected at most 20x30, the size of the images, found 20x31");
    refuse("images?crop=29x38&pad=4", 3, "28x38, the size of the images and their padding");
    refuse("images?crop=28x39&pad=4", 3, "28x38, the size of the images and their padding");
    refuse("images?crop=0x5", 3, "crop");
    refuse("images?mirror=2", 3, "mirror");
    refuse("table?crop=1x1", 0, "expected images, found examples without a shape");
    refuse("table?pad=1", 0, "expected images, found examples without a shape");
    refuse("table?mirror=1", 0, "expected images, found examples without a shape");
    refuse("table?rotate=5", 0, "table?rotate: expected images, found examples without a shape");
    refuse("table?mixup=1", 0, "table?mixup: expected images, found examples without a shape");
    refuse("images?rotate=181", 3, "images?rotate");
    refuse("images?brightness=1.1", 3, "images?brightness");
    refuse("images?contrast=-0.1", 3, "images?contrast");
    refuse("images?contrast=0.1", 4, "contrast: expected images of 1 or 3 channels, found 4");
    refuse("images?saturation=0.1", 1, "saturation: expected images of 3 channels, found 1");
    refuse("images?mixup=0.001", 3, "expected 0, or a number from 0.01 to 100, found 0.001");
    refuse("images?mixup=101", 3, "images?mixup");
}

/* What changes images in training alone leaves their parts, and so evaluation, as they are. */
TEST(training_alone_is_changed)
{
    static const char *const texts[] = {"images?rotate=5", "images?brightness=0.1",
                                        "images?contrast=0.1", "images?saturation=0.1",
                                        "images?mixup=0.2"};
    drove_augment plain;
    assert_int_equal(parse("images?mirror=1", 3, &plain), DROVE_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        drove_augment a;
        if (parse(texts[i], 3, &a) != DROVE_OK) fail_msg("%s: %s", texts[i], drove_error_text());
        assert_true(drove__augment_is_on(&a) && drove__augment_same_parts(&a, &plain));
        a.mirror = true;
        assert_false(drove__augment_equal(&a, &plain));
        const drove_window w = drove__augment_centre(&a);
        assert_false(w.is_rotated || w.is_coloured || w.is_mirrored);
    }
}

/* Nothing asked, or what changes nothing: images are loaded as they are stored. */
TEST(nothing_is_no_augmentation)
{
    static const char *const texts[] = {"images", "images?crop=20x30", "images?pad=0&mirror=0"};
    static const drove_augment none;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        drove_augment a;
        memset(&a, 1, sizeof a);
        assert_int_equal(parse(texts[i], 3, &a), DROVE_OK);
        assert_memory_equal(&a, &none, sizeof a);
        memset(&a, 1, sizeof a);
        assert_int_equal(parse("table", 0, &a), DROVE_OK);
        assert_memory_equal(&a, &none, sizeof a);
    }
}
