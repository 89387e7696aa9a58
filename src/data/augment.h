/* data/augment.h - augmentation of an image when it is loaded: zero padding, crop, mirror image; in
 * training also changes of colour, small rotations, and mixing with another example.
 *
 * Source: Krizhevsky, Sutskever, Hinton, NIPS 2012, section 4.1 (random crop and reflection in
 * training, the middle in evaluation); He, Zhang, Ren, Sun, CVPR 2016, section 4.2 (zero padding of
 * CIFAR's images); Zhang, Cisse, Dauphin, Lopez-Paz, ICLR 2018, equation (1) (mixup).  Colours
 * change first, in the bytes that are stored.  Then the image is scaled, with the shift and factor
 * of each stored pixel, so the zeros of the padding, and round a rotated image, are zeros of the
 * model's input.  Then it is rotated, padded, cut, mirrored and mixed.
 *
 * Random choices depend only on (seed, number of the batch, row of the view): any thread, in any
 * order, loads the same images.
 */
#ifndef DROVE_DATA_AUGMENT_H
#define DROVE_DATA_AUGMENT_H

#include "base/spec_keys.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_augment {
    size_t channels, height, width; /* of a stored image */
    size_t crop_height, crop_width; /* of the model's input; 0: images are not cropped        */
    size_t pad;                     /* pixels of zeros on each side, before the crop */
    /* ---- in training ---- */
    bool     mirror;                           /* half of the images */
    float    rotate;                           /* up to so many degrees, either way */
    float    brightness, contrast, saturation; /* by factors from 1 - it to 1 + it */
    float    mixup;                            /* alpha of the shares; 0: none */
    uint64_t seed;
} drove_augment;

/* Start of the crop in the padded image, whether it is mirrored afterwards, and what is done to the
 * stored image before. */
typedef struct drove_window {
    size_t top, left;
    bool   is_mirrored, is_rotated, is_coloured;
    float  degrees;                          /* counter-clockwise */
    float  brightness, contrast, saturation; /* factors */
} drove_window;

typedef struct drove_augment_options {
    drove_sides crop; /* 0 x 0: not given */
    uint64_t    pad;
    bool        mirror;
    float       rotate, brightness, contrast, saturation, mixup;
} drove_augment_options;
extern const drove_spec_key drove__augment_keys[];

/* The first key that asks for something; NULL: none does. */
const char        *drove__augment_asked(const drove_augment_options *options);
static inline bool drove__augment_is_asked(const drove_augment_options *options)
{
    return drove__augment_asked(options) != NULL;
}
/* Whether images of bytes are asked for. */
static inline bool drove__augment_colours(const drove_augment *a)
{
    return a->brightness > 0.0f || a->contrast > 0.0f || a->saturation > 0.0f;
}

/* What is asked for, of images of this shape (channels 0: not images); name: of the spec, for
 * errors.  *out is all zeros if nothing is, or only what has no effect.
 * Errors: DROVE_E_ARG (not images, a crop larger than the padded image, colours that these channels
 * do not have). */
drove_status drove__augment_make(const drove_augment_options *options, const char *name,
                                 size_t channels, size_t height, size_t width, uint64_t seed,
                                 drove_augment *out);

/* The part that evaluation needs, as text and back: "3x32x32?crop=28x28&pad=4", or "3x32x32" if
 * augmentation is off.  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
enum { DROVE_AUGMENT_TEXT_SIZE = 160 };
void         drove__augment_print(const drove_augment *a, char into[DROVE_AUGMENT_TEXT_SIZE]);
drove_status drove__augment_scan(const char *text, drove_augment *out);

/* Whether both give the same inputs in evaluation; and the same choices in training, too. */
bool drove__augment_same_parts(const drove_augment *a, const drove_augment *b);
bool drove__augment_equal(const drove_augment *a, const drove_augment *b);

static inline bool drove__augment_is_on(const drove_augment *a)
{
    return a->crop_height != 0;
}

drove_window drove__augment_centre(const drove_augment *a);
drove_window drove__augment_draw(const drove_augment *a, uint64_t batch, uint32_t row);
/* mixup: the share of each example of the batch that is its own, of Beta(alpha, alpha). */
float drove__augment_share(const drove_augment *a, uint64_t batch);

/* retouch.c: a stored image [channels][height][width].  Colours: numbers of 0 to 255, in place. */
void drove__augment_colour(const drove_augment *a, const drove_window *w, float *image);
/* from to `to`, about the middle, bilinear, with zeros outside. */
void drove__augment_rotate(const drove_augment *a, const drove_window *w, const float *from,
                           float *to);

#endif
