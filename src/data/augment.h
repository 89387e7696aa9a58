/* data/augment.h - augmentation of an image when it is loaded: zero padding, crop, mirror image.
 *
 * Source: Krizhevsky, Sutskever, Hinton, NIPS 2012, section 4.1 (random crop and reflection in
 * training, the middle in evaluation); He, Zhang, Ren, Sun, CVPR 2016, section 4.2 (zero padding of
 * CIFAR's images).  An image is scaled first, with the shift and factor of each stored pixel, so
 * the zeros of the padding are zeros of the model's input.
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
    size_t   channels, height, width; /* of a stored image */
    size_t   crop_height, crop_width; /* of the model's input; 0: images are not cropped        */
    size_t   pad;                     /* pixels of zeros on each side, before the crop */
    bool     mirror;                  /* half of the training images      */
    uint64_t seed;
} drove_augment;

/* Start of the crop in the padded image, and whether it is mirrored afterwards. */
typedef struct drove_window {
    size_t top, left;
    bool   is_mirrored;
} drove_window;

typedef struct drove_augment_options {
    drove_sides crop; /* 0 x 0: not given */
    uint64_t    pad;
    bool        mirror;
} drove_augment_options;
extern const drove_spec_key drove__augment_keys[];

static inline bool drove__augment_is_asked(const drove_augment_options *options)
{
    return options->crop.height != 0 || options->pad != 0 || options->mirror;
}

/* What is asked for, of images of this shape (channels 0: not images); name: of the spec, for
 * errors.  *out is all zeros if nothing is, or only what has no effect.
 * Errors: DROVE_E_ARG (not images, a crop larger than the padded image). */
drove_status drove__augment_make(const drove_augment_options *options, const char *name,
                                 size_t channels, size_t height, size_t width, uint64_t seed,
                                 drove_augment *out);

/* The part that evaluation needs, as text and back: "3x32x32?crop=28x28&pad=4", or "3x32x32" if
 * augmentation is off.  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
enum { DROVE_AUGMENT_TEXT_SIZE = 160 };
void         drove__augment_print(const drove_augment *a, char into[DROVE_AUGMENT_TEXT_SIZE]);
drove_status drove__augment_scan(const char *text, drove_augment *out);

/* Whether both give the same inputs in evaluation and the same choices in training. */
bool drove__augment_equal(const drove_augment *a, const drove_augment *b);

static inline bool drove__augment_is_on(const drove_augment *a)
{
    return a->crop_height != 0;
}

drove_window drove__augment_centre(const drove_augment *a);
drove_window drove__augment_draw(const drove_augment *a, uint64_t batch, uint32_t row);

#endif
