/* data/read/cifar10.c - CIFAR-10's binary files (A. Krizhevsky, "Learning Multiple Layers of
 * Features from Tiny Images", 2009): records of one label byte and 3 x 32 x 32 bytes, red, green
 * and blue, each row by row.
 */
#include "base/file.h"
#include "data/data.h"
#include "data/read/text.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 10,
    CHANNELS = 3,
    SIDE = 32,
    PIXELS = CHANNELS * SIDE * SIDE,
    RECORD = 1 + PIXELS
};

static const char *const class_names[CLASSES] = {"airplane", "automobile", "bird", "cat",
                                                 "deer",     "dog",        "frog", "horse",
                                                 "ship",     "truck"};

typedef struct cifar_rows { /* the records read so far, as in the file */
    uint8_t *record;        /* [n_rows][RECORD], grows */
    size_t n_rows, capacity;
    size_t n_whole; /* records read, also those of other shards */
} cifar_rows;

/* Adds the records of a file that are the shard's. */
static drove_status read_file(const char *path, const drove_shard *shard, cifar_rows *rows)
{
    drove_reader *r;
    const size_t n_before = rows->n_whole;
    drove_status status;
    DROVE_TRY(drove__reader_open(path, &r));
    while (true) {
        const uint64_t offset = drove__reader_offset(r);
        size_t n = 0, n_more = 1;
        status = drove__reserve(&rows->record, &rows->capacity, rows->n_rows + 1, RECORD);
        if (status != DROVE_OK) goto end;
        uint8_t *record = rows->record + rows->n_rows * RECORD;
        while (n < RECORD && n_more > 0) {
            status = drove__reader_read_some(r, record + n, RECORD - n, &n_more);
            if (status != DROVE_OK) goto end;
            n += n_more;
        }
        if (n == 0) break;
        if (n < RECORD) {
            status = drove__fail(
                DROVE_E_DATA,
                "%s: expected records of %d bytes, found %zu bytes at byte %llu, the end",
                drove__reader_path(r), RECORD, n, (unsigned long long)offset);
            goto end;
        }
        if (record[0] >= CLASSES) {
            status =
                drove__fail(DROVE_E_DATA, "%s: byte %llu: expected a label from 0 to %d, found %u",
                            drove__reader_path(r), (unsigned long long)offset, CLASSES - 1,
                            record[0]);
            goto end;
        }
        if (drove__shard_has(shard, rows->n_whole++)) rows->n_rows++;
    }
    if (rows->n_whole == n_before)
        status = drove__fail(DROVE_E_DATA, "%s: expected records of %d bytes, found an empty file",
                             path, RECORD);
end:
    drove__reader_close(r);
    return status;
}

static drove_status read_cifar10(const drove_spec *spec, int part, const drove_shard *shard,
                                 drove_storage **out)
{
    cifar_rows rows = {0};
    drove_storage *s = NULL;
    (void)part;
    drove_status status = drove__storage_create(&s);
    if (status != DROVE_OK) goto end;
    for (unsigned i = 0; i < spec->n_args; i++)
        if ((status = read_file(spec->arg[i], shard, &rows)) != DROVE_OK) goto end;
    status = drove__storage_check_shard(shard, rows.n_whole, spec->arg[0]);
    if (status != DROVE_OK) goto end;

    const size_t n = drove__shard_size(shard, rows.n_whole);
    if (drove__shard_is_part(shard)) s->n_rows_whole = rows.n_whole;
    s->n_rows = n;
    s->n_features = PIXELS;
    s->channels = CHANNELS;
    s->height = s->width = SIDE;
    s->x_kind = DROVE_X_U8;
    s->y_kind = DROVE_Y_CLASS;
    s->x_u8 = drove__alloc(n, PIXELS);
    s->y_class = drove__grow(NULL, n, sizeof *s->y_class);
    s->n_classes = CLASSES;
    s->class_name = drove__texts_copy(class_names, CLASSES);
    if (s->x_u8 == NULL || s->y_class == NULL || s->class_name == NULL) {
        status = drove__fail_nomem("data set", n * RECORD);
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        s->y_class[i] = rows.record[i * RECORD];
        memcpy(s->x_u8 + i * PIXELS, rows.record + i * RECORD + 1, PIXELS);
    }
    status = drove__storage_check(s, spec->arg[0]);
end:
    free(rows.record);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

const drove_format_ops drove__format_cifar10 = {
    .name = "cifar10",
    .help = "CIFAR-10's binary files, one or several, read as one data set",
    .source = "Krizhevsky, 2009",
    .arguments = "FILE,...",
    .least_args = 1,
    .most_args = DROVE_SPEC_MAX_ARGS,
    .keys = NULL,
    .read = read_cifar10,
    .reads_shards = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
