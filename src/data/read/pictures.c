/* data/read/pictures.c - see pictures.h.
 *
 * Images are read in batches, each by several threads; which image fails first is found by its
 * number, not by time, so a run fails with the same text whatever the number of threads.
 */
#include "data/read/pictures.h"

#include "base/mem.h"
#include "data/augment.h"
#include "data/read/picture.h"
#include "table/parallel.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH_MOST = 1024, /* images */
    SIDE_MOST = 8192   /* of ?size= */
};

static const size_t BATCH_BYTES = (size_t)64 << 20; /* of files that are loaded in order */

typedef struct reading { /* one call of drove__pictures_read */
    bool skips;
    size_t channels, height, width; /* 0: not known yet */
    const drove_pictures_source *from;
    drove_storage *storage;
    bool is_sized; /* as the first image, whose size others must have */
    bool is_grey;  /* the channels of the first image were 1, and were not asked for */
    const char *first_where;
    size_t begin;       /* first image of the batch */
    uint8_t **bytes;    /* [BATCH_MOST] loaded in order; else NULL */
    size_t *n_bytes;    /* [BATCH_MOST] */
    drove_status *done; /* [n] */
} reading;

static const char *const channels[] = {
    [DROVE_PICTURES_GREY] = "1", [DROVE_PICTURES_COLOUR] = "3", NULL};
const drove_spec_key drove__pictures_keys[] = {
    {"size", NULL, DROVE_AS_SIDES(drove_pictures_options, size, 1, SIDE_MOST),
     .help = "of every image; without it that of the first one, which others must have"},
    {"channels", NULL, DROVE_AS_WORD(drove_pictures_options, channels, channels),
     .help = "grey or colour; without it as the first image, where grey ones become colour"},
    {"skip", "0", DROVE_AS_BIT(drove_pictures_options, skips),
     .help = "images that cannot be read are left out"},
    DROVE_SPEC_END,
};

/* ---- one image ---- */

/* Whether an image may be left out: its file is at fault, not this machine or the options. */
static bool may_skip(const reading *r, drove_status status)
{
    return r->skips && (status == DROVE_E_DATA || status == DROVE_E_FILE);
}

static drove_status decode(const reading *r, size_t i, drove_picture *out)
{
    const char *where = r->from->where[i];
    uint8_t *bytes = r->bytes != NULL ? r->bytes[i - r->begin] : NULL, *own = NULL;
    size_t n_bytes = bytes != NULL ? r->n_bytes[i - r->begin] : 0;
    *out = (drove_picture){0};
    if (bytes == NULL) DROVE_TRY(r->from->load(r->from->context, i, &own, &n_bytes));
    drove_status status = drove__picture_decode(own != NULL ? own : bytes, n_bytes, where, out);
    free(own);
    return status;
}

static drove_status read_one(const reading *r, size_t i)
{
    drove_picture picture;
    DROVE_TRY(decode(r, i, &picture));
    const char *where = r->from->where[i];
    drove_status status;
    if (r->is_sized && (picture.height != r->height || picture.width != r->width))
        status =
            drove__fail(DROVE_E_SHAPE,
                        "%s: expected %zux%zu pixels like the first image, %s, found %zux%zu "
                        "(?size=HEIGHTxWIDTH makes all alike)",
                        where, r->height, r->width, r->first_where, picture.height, picture.width);
    else if (r->is_grey && !picture.is_grey)
        status = drove__fail(DROVE_E_SHAPE,
                             "%s: expected a grey image like the first one, %s, found colour "
                             "(?channels=1 or 3 makes all alike)",
                             where, r->first_where);
    else
        status = drove__picture_fit(&picture, r->channels, r->height, r->width,
                                    r->storage->x_u8 + i * r->storage->n_features);
    drove__picture_fini(&picture);
    return status;
}

static void work(void *context, size_t item, unsigned thread)
{
    const reading *r = context;
    (void)thread;
    r->done[r->begin + item] = read_one(r, r->begin + item);
}

/* ---- batches ---- */

/* Takes what the options leave open from the first image of the batch that can be read.  Where all
 * are skipped, nothing is allocated. */
static drove_status settle_shape(reading *r, size_t n)
{
    drove_picture picture;
    if (r->storage->x_u8 != NULL) return DROVE_OK;
    for (size_t i = r->begin; i < r->begin + n; i++) {
        drove_status status = decode(r, i, &picture);
        if (status != DROVE_OK && may_skip(r, status)) continue;
        DROVE_TRY(status);
        drove__picture_fini(&picture);
        r->first_where = r->from->where[i];
        r->is_sized = r->height == 0;
        r->is_grey = r->channels == 0 && picture.is_grey;
        if (r->height == 0) r->height = picture.height;
        if (r->width == 0) r->width = picture.width;
        if (r->channels == 0) r->channels = picture.is_grey ? 1 : 3;
        drove_storage *s = r->storage;
        s->x_kind = DROVE_X_U8;
        s->channels = r->channels;
        s->height = r->height;
        s->width = r->width;
        s->n_features = r->channels * r->height * r->width;
        s->x_u8 = drove__alloc(r->from->n, s->n_features);
        return s->x_u8 != NULL ? DROVE_OK
                               : drove__fail_nomem("data set", r->from->n * s->n_features);
    }
    for (size_t i = r->begin; i < r->begin + n; i++) r->done[i] = DROVE_E_DATA;
    return DROVE_OK;
}

static drove_status read_batch(reading *r, unsigned n_threads, size_t *n)
{
    if (r->bytes != NULL) {
        /* Loads images in order from begin on; *n: how many. */
        size_t n_bytes = 0, i = 0;
        for (; i < *n && n_bytes < BATCH_BYTES; i++) {
            DROVE_TRY(r->from->load(r->from->context, r->begin + i, &r->bytes[i], &r->n_bytes[i]));
            n_bytes += r->n_bytes[i];
        }
        *n = i;
    }
    DROVE_TRY(settle_shape(r, *n));
    if (r->storage->x_u8 == NULL) return DROVE_OK;
    drove__table_run(n_threads, *n, work, r);
    /* The first image of the batch that failed and is not skipped is read again, for its text. */
    for (size_t i = r->begin; i < r->begin + *n; i++) {
        if (r->done[i] == DROVE_OK || may_skip(r, r->done[i])) continue;
        DROVE_TRY(read_one(r, i));
        r->done[i] = DROVE_OK;
    }
    return DROVE_OK;
}

/* ---- all of them ---- */

drove_status drove__pictures_read(const drove_pictures_options *options,
                                  const drove_pictures_source *source, drove_storage *storage)
{
    static const size_t n_channels[] = {
        [DROVE_PICTURES_GREY] = 1, [DROVE_PICTURES_COLOUR] = 3, [DROVE_PICTURES_AS_FIRST] = 0};
    reading r = {.skips = options->skips,
                 .channels = n_channels[options->channels],
                 .height = options->size.height,
                 .width = options->size.width,
                 .from = source,
                 .storage = storage};
    drove_status status = DROVE_OK;
    r.done = drove__grow(NULL, source->n, sizeof *r.done);
    if (source->is_ordered) {
        r.bytes = calloc(BATCH_MOST, sizeof *r.bytes);
        r.n_bytes = calloc(BATCH_MOST, sizeof *r.n_bytes);
    }
    if (r.done == NULL || (source->is_ordered && (r.bytes == NULL || r.n_bytes == NULL)))
        status = drove__fail_nomem("images", source->n * sizeof *r.done);
    if (status != DROVE_OK) goto end;
    const unsigned n_threads = drove__table_threads();
    for (size_t n_batch; r.begin < source->n; r.begin += n_batch) {
        n_batch = source->n - r.begin < BATCH_MOST ? source->n - r.begin : BATCH_MOST;
        status = read_batch(&r, n_threads, &n_batch);
        for (size_t i = 0; r.bytes != NULL && i < BATCH_MOST; i++) {
            free(r.bytes[i]);
            r.bytes[i] = NULL;
        }
        if (status != DROVE_OK) goto end;
    }
    /* Takes away the rows of images that were skipped. */
    drove_storage *s = r.storage;
    const size_t n = r.from->n;
    size_t kept = 0;
    for (size_t i = 0; i < n && s->x_u8 != NULL; i++) {
        if (r.done[i] != DROVE_OK) continue;
        if (kept < i) {
            memmove(s->x_u8 + kept * s->n_features, s->x_u8 + i * s->n_features, s->n_features);
            s->y_class[kept] = s->y_class[i];
            if (s->row_name_at != NULL) s->row_name_at[kept] = s->row_name_at[i];
        }
        kept++;
    }
    s->n_rows = kept;
    if (kept == 0) {
        status = drove__fail(DROVE_E_DATA, "%s: none of the %zu images can be read",
                             r.from->where[0], n);
        goto end;
    }
    if (kept < n) drove__storage_note(s, "skipped %zu of %zu images, unreadable", n - kept, n);
end:
    free(r.done);
    free(r.bytes);
    free(r.n_bytes);
    return status;
}
