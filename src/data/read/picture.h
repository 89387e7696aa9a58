/* data/read/picture.h - decodes PNG and JPEG images, and makes them all as large as a model wants
 * them.
 *
 * What a file may hold, and what becomes of it: 8 bits a colour (of 16 the high byte), palettes as
 * their colours, alpha dropped, CMYK and YCCK as red, green and blue, and the orientation that a
 * camera noted in a JPEG's Exif data applied.  Colour profiles and gamma are not applied.
 */
#ifndef DROVE_DATA_READ_PICTURE_H
#define DROVE_DATA_READ_PICTURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_picture {
    uint8_t *rgb; /* [height][width][3], from malloc */
    size_t   height, width;
    bool     is_grey; /* the file has one channel; red, green and blue are equal */
} drove_picture;

enum { DROVE_PICTURE_SIDE_MOST = 65500, DROVE_PICTURE_PIXELS_MOST = 1 << 27 };

/* Whether a file's name ends in .png, .jpg or .jpeg, in upper or lower case. */
bool drove__picture_is_named(const char *name);

/* Decodes a PNG or JPEG file by its first bytes.  where: names it in errors.  Errors: DROVE_E_DATA
 * (neither, damaged, truncated, too large), DROVE_E_UNSUPPORTED (this build lacks the library),
 * DROVE_E_NOMEM. */
drove_status drove__picture_decode(const uint8_t *bytes, size_t n_bytes, const char *where,
                                   drove_picture *out);
void         drove__picture_fini(drove_picture *picture);

/* The decoders of the two formats, as above; the bytes begin as such files do. */
drove_status drove__picture_decode_png(const uint8_t *bytes, size_t n_bytes, const char *where,
                                       drove_picture *out);
drove_status drove__picture_decode_jpeg(const uint8_t *bytes, size_t n_bytes, const char *where,
                                        drove_picture *out);

/* Memory for a picture of this size.  Errors: DROVE_E_DATA (too large), DROVE_E_NOMEM. */
drove_status drove__picture_init(drove_picture *out, size_t height, size_t width,
                                 const char *where);

/* Turns a picture by an Exif orientation, 1 to 8 (1: as it is).  Errors: DROVE_E_NOMEM. */
drove_status drove__picture_turn(drove_picture *picture, unsigned orientation);

/* Resizes, by one factor for both sides, until the picture just covers height x width, cuts out the
 * middle, and writes channels (1: luma, or 3) planes: into[channels][height][width].
 * The filter is a triangle as wide as the distance of two output pixels, at least of two source
 * pixels: a mean over the area in shrinking, linear between pixels in growing.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__picture_fit(const drove_picture *picture, size_t channels, size_t height,
                                size_t width, uint8_t *into);

#endif
