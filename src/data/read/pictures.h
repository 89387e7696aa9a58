/* data/read/pictures.h - reads many images, by all processors, into the rows of a data set.
 */
#ifndef DROVE_DATA_READ_PICTURES_H
#define DROVE_DATA_READ_PICTURES_H

#include "base/spec_keys.h"
#include "data/data.h"

typedef struct drove_pictures_options {
    drove_sides size; /* 0 x 0: as the first image */
    enum { DROVE_PICTURES_GREY, DROVE_PICTURES_COLOUR, DROVE_PICTURES_AS_FIRST } channels;
    bool skips; /* images that cannot be read are left out, and counted in a note */
} drove_pictures_options;
extern const drove_spec_key drove__pictures_keys[];

/* Where the bytes of image i come from; where[i] names it in errors. */
typedef struct drove_pictures_source {
    size_t             n;
    const char *const *where; /* [n] */
    /* Bytes from malloc.  is_ordered: called for i = 0, 1 ... by the caller's thread alone, else
     * by several threads.  Errors: DROVE_E_FILE and DROVE_E_DATA may be skipped. */
    drove_status (*load)(void *context, size_t i, uint8_t **bytes, size_t *n_bytes);
    void *context;
    bool  is_ordered;
} drove_pictures_source;

enum { DROVE_PICTURE_FILE_MOST = 1 << 28 }; /* bytes of a file */

/* Fills x_u8 and the shape of a storage whose targets (y_class [n]) and names of rows are those of
 * all n images, and takes away the rows of images that were skipped.  Errors: DROVE_E_DATA,
 * DROVE_E_FILE, DROVE_E_IO, DROVE_E_SHAPE (another size), DROVE_E_UNSUPPORTED, DROVE_E_NOMEM. */
drove_status drove__pictures_read(const drove_pictures_options *options,
                                  const drove_pictures_source *source, drove_storage *storage);

#endif
