/* data/read/picture_png.c - PNG images by libspng. */
#include "data/read/picture.h"

#ifdef DROVE_HAVE_PNG

#include <spng.h>

/* Deflate reaches 1,032; a row of at least one pixel has a byte for its filter besides. */
#define MOST_RATIO 1100u

static const size_t CHUNK_MOST = (size_t)16 << 20; /* bytes of a chunk that is kept */

static drove_status fail(const char *where, int error)
{
    if (error == SPNG_EMEM) return drove__fail_nomem(where, 0);
    return drove__fail(DROVE_E_DATA, "%s: damaged PNG image: %s", where, spng_strerror(error));
}

drove_status drove__picture_decode_png(const uint8_t *bytes, size_t n_bytes, const char *where,
                                       drove_picture *out)
{
    *out = (drove_picture){0};
    spng_ctx *context = spng_ctx_new(0);
    if (context == NULL) return drove__fail_nomem(where, 0);
    drove_status status = DROVE_OK;
    struct spng_ihdr header;
    size_t size = 0;
    int error = spng_set_chunk_limits(context, CHUNK_MOST, 4 * CHUNK_MOST);
    if (error == 0) error = spng_set_png_buffer(context, bytes, n_bytes);
    if (error == 0) error = spng_get_ihdr(context, &header);
    if (error != 0) {
        status = fail(where, error);
        goto end;
    }
    /* Refuses a size that the compressed bytes cannot hold. */
    uint64_t n_bits = (uint64_t)header.width * header.height * header.bit_depth;
    if (n_bits / 8 / MOST_RATIO > n_bytes) {
        status = drove__fail(DROVE_E_DATA,
                             "%s: its header declares %u x %u pixels, more than %zu bytes can hold",
                             where, header.height, header.width, n_bytes);
        goto end;
    }
    if ((status = drove__picture_init(out, header.height, header.width, where)) != DROVE_OK)
        goto end;
    out->is_grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
                   header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
    error = spng_decoded_image_size(context, SPNG_FMT_RGB8, &size);
    if (error == 0 && size != 3 * out->height * out->width) error = SPNG_EINTERNAL;
    if (error == 0) error = spng_decode_image(context, out->rgb, size, SPNG_FMT_RGB8, 0);
    status = error == 0 ? DROVE_OK : fail(where, error);
end:
    spng_ctx_free(context);
    if (status != DROVE_OK) drove__picture_fini(out);
    return status;
}

#else /* such files are refused */

drove_status drove__picture_decode_png(const uint8_t *bytes, size_t n_bytes, const char *where,
                                       drove_picture *out)
{
    (void)bytes, (void)n_bytes;
    *out = (drove_picture){0};
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: is a PNG image, which this build cannot read (it was made without "
                       "libspng)",
                       where);
}

#endif
