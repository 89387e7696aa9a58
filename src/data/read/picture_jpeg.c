/* data/read/picture_jpeg.c - JPEG images by libjpeg-turbo, with the orientation of their Exif data
 * (CIPA DC-008: a TIFF structure in the marker APP1).
 *
 * libjpeg reports an error by a call that must not return: it jumps back into decode().
 */
#include "data/read/picture.h"

#ifdef DROVE_HAVE_JPEG

#include "base/mem.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum {
    SCANS_MOST = 200,  /* of a progressive image; each costs as much as all pixels   */
    MOST_RATIO = 2048, /* pixels of a byte: 64 pixels of a plane need two bits each, */
                       /* and there may be 4 planes of which 3 are small             */
    EXIF_MOST = 65533,
    TAG_ORIENTATION = 0x0112,
    TYPE_SHORT = 3
};

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const char *where;
    drove_status status; /* raised by fail_jpeg, whose text is set */
    drove_picture picture;
    uint8_t *row; /* of a CMYK image, [width][4] */
} decoder;

/* ---- errors ---- */

static void fail_jpeg(j_common_ptr common)
{
    decoder *d = common->client_data;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    d->status = common->err->msg_code == JERR_OUT_OF_MEMORY
                    ? drove__fail_nomem(d->where, 0)
                    : drove__fail(DROVE_E_DATA, "%s: damaged JPEG image: %s", d->where, text);
    longjmp(d->back, 1);
}

/* Warnings: what is missing makes an image damaged; odd bytes between markers are common. */
static void see_message(j_common_ptr common, int level)
{
    int code = common->err->msg_code;
    if (level >= 0) return;
    if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)
        fail_jpeg(common);
}

static void see_progress(j_common_ptr common)
{
    decoder *d = common->client_data;
    if (d->jpeg.input_scan_number <= SCANS_MOST) return;
    d->status = drove__fail(DROVE_E_DATA, "%s: expected a JPEG image of at most %d scans, found %d",
                            d->where, SCANS_MOST, d->jpeg.input_scan_number);
    longjmp(d->back, 1);
}

/* ---- Exif ---- */

static uint32_t exif_number(const uint8_t *at, unsigned n_bytes, bool big_endian)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint32_t)at[i] << 8 * (big_endian ? n_bytes - 1 - i : i);
    return value;
}

static unsigned orientation_of(const decoder *d)
{
    for (jpeg_saved_marker_ptr m = d->jpeg.marker_list; m != NULL; m = m->next) {
        if (m->marker != JPEG_APP0 + 1 || m->data_length < 6) continue;
        if (memcmp(m->data, "Exif\0\0", 6) == 0) {
            /* The orientation in the TIFF structure [n], 1 where there is none. */
            const uint8_t *tiff = m->data + 6;
            size_t n = m->data_length - 6;
            if (n < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)) return 1;
            bool big = tiff[0] == 'M';
            size_t at = exif_number(tiff + 4, 4, big);
            if (at > n - 2) return 1;
            size_t n_entries = exif_number(tiff + at, 2, big);
            for (at += 2; n_entries > 0 && n - at >= 12; at += 12, n_entries--) {
                const uint8_t *entry = tiff + at;
                if (exif_number(entry, 2, big) != TAG_ORIENTATION) continue;
                if (exif_number(entry + 2, 2, big) != TYPE_SHORT) return 1;
                return exif_number(entry + 8, 2, big);
            }
            return 1;
        }
    }
    return 1;
}

/* ---- pixels ---- */

/* Adobe's files hold the ink that is not there. */
static void put_cmyk(const uint8_t *cmyk, size_t n, bool is_inverted, uint8_t *rgb)
{
    for (size_t i = 0; i < n; i++, cmyk += 4) {
        unsigned black = is_inverted ? cmyk[3] : 255u - cmyk[3];
        for (unsigned c = 0; c < 3; c++) {
            unsigned ink = is_inverted ? cmyk[c] : 255u - cmyk[c];
            *rgb++ = (uint8_t)((ink * black + 127) / 255);
        }
    }
}

/* Raises by a jump: what is allocated is in *d. */
static void read_rows(decoder *d)
{
    struct jpeg_decompress_struct *j = &d->jpeg;
    size_t width = d->picture.width;
    while (j->output_scanline < j->output_height) {
        uint8_t *to = d->picture.rgb + 3 * (size_t)j->output_scanline * width;
        JSAMPROW row = d->row != NULL ? d->row : to;
        if (jpeg_read_scanlines(j, &row, 1) == 0) break;
        if (d->row != NULL) put_cmyk(d->row, width, j->saw_Adobe_marker, to);
    }
}

/* Everything lies in *d, so that a jump loses nothing. */
static drove_status decode(decoder *d, const uint8_t *bytes, size_t n_bytes)
{
    if (setjmp(d->back) != 0) return d->status;
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.progress = &d->progress;
    jpeg_mem_src(&d->jpeg, bytes, n_bytes);
    jpeg_save_markers(&d->jpeg, JPEG_APP0 + 1, EXIF_MOST);
    jpeg_read_header(&d->jpeg, TRUE);
    struct jpeg_decompress_struct *j = &d->jpeg;
    if ((uint64_t)j->image_width * j->image_height / MOST_RATIO > n_bytes) {
        return drove__fail(DROVE_E_DATA,
                           "%s: its header declares %u x %u pixels, more than %zu bytes can hold",
                           d->where, j->image_height, j->image_width, n_bytes);
    }
    DROVE_TRY(drove__picture_init(&d->picture, j->image_height, j->image_width, d->where));
    d->picture.is_grey = j->jpeg_color_space == JCS_GRAYSCALE;
    bool is_cmyk = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    j->out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    if (is_cmyk) {
        d->row = drove__grow(NULL, d->picture.width, 4);
        if (d->row == NULL) return drove__fail_nomem(d->where, 4 * d->picture.width);
    }
    jpeg_start_decompress(&d->jpeg);
    read_rows(d);
    unsigned orientation = orientation_of(d);
    jpeg_finish_decompress(&d->jpeg);
    return drove__picture_turn(&d->picture, orientation);
}

drove_status drove__picture_decode_jpeg(const uint8_t *bytes, size_t n_bytes, const char *where,
                                        drove_picture *out)
{
    *out = (drove_picture){0};
    decoder *d = calloc(1, sizeof *d);
    if (d == NULL) return drove__fail_nomem(where, sizeof *d);
    d->where = where;
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->jpeg.client_data = d;
    d->errors.error_exit = fail_jpeg;
    d->errors.emit_message = see_message;
    d->progress.progress_monitor = see_progress;
    drove_status status = decode(d, bytes, n_bytes);
    jpeg_destroy_decompress(&d->jpeg);
    free(d->row);
    if (status != DROVE_OK) drove__picture_fini(&d->picture);
    else *out = d->picture;
    free(d);
    return status;
}

#else /* such files are refused */

drove_status drove__picture_decode_jpeg(const uint8_t *bytes, size_t n_bytes, const char *where,
                                        drove_picture *out)
{
    (void)bytes, (void)n_bytes;
    *out = (drove_picture){0};
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: is a JPEG image, which this build cannot read (it was made without "
                       "libjpeg-turbo)",
                       where);
}

#endif
