/* data/read/idx.c - reads and writes IDX files, and MNIST's folder of four of them.
 *
 * Format (Y. LeCun, "The MNIST database of handwritten digits"): two zero bytes, a type byte,
 * the number of dimensions, each dimension as a big-endian 32-bit number, then the elements in C
 * order.  The first dimension counts examples; [n][height][width] and
 * [n][channels][height][width] are images.
 */
#include "data/read/elements.h"
#include "data/export.h"

#include "base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANK_MOST = 4, MNIST_CLASSES = 10, CLASSES_MOST = 65536 };

typedef struct idx_file {
    drove_reader *reader;
    drove_elements elements;
    unsigned rank;
    uint32_t shape[RANK_MOST];
} idx_file;

static drove_status fail_header(const idx_file *f, unsigned byte, const char *expected,
                                unsigned found)
{
    return drove__fail(DROVE_E_DATA,
                       "%s: not an IDX file of this kind: byte %u: expected %s, found 0x%02x",
                       drove__reader_path(f->reader), byte, expected, found);
}

/* Opens the file and reads its header; the file must have from least_rank to most_rank
 * dimensions, none of them 0. */
static drove_status open_idx(const char *path, unsigned least_rank, unsigned most_rank, idx_file *f)
{
    static const struct {
        uint8_t code;
        drove_element_type type;
    } types[] = {
        {0x08, DROVE_ELEMENT_U8},  {0x09, DROVE_ELEMENT_I8},  {0x0b, DROVE_ELEMENT_I16},
        {0x0c, DROVE_ELEMENT_I32}, {0x0d, DROVE_ELEMENT_F32}, {0x0e, DROVE_ELEMENT_F64},
    };
    uint8_t magic[4], dimension[4];
    char expected[48];
    DROVE_TRY(drove__reader_open(path, &f->reader));
    DROVE_TRY(drove__reader_read(f->reader, magic, sizeof magic));
    for (unsigned i = 0; i < 2; i++) {
        if (magic[i] != 0) return fail_header(f, i, "0x00", magic[i]);
    }
    size_t type = 0;
    while (type < DROVE_COUNT(types) && types[type].code != magic[2]) type++;
    if (type == DROVE_COUNT(types))
        return fail_header(f, 2, "an element type (0x08, 0x09, 0x0b to 0x0e)", magic[2]);
    f->elements.type = types[type].type;
    f->elements.big_endian = true;
    f->rank = magic[3];
    if (f->rank < least_rank || f->rank > most_rank) {
        if (least_rank == most_rank)
            snprintf(expected, sizeof expected, "%u dimension", least_rank);
        else snprintf(expected, sizeof expected, "%u to %u dimensions", least_rank, most_rank);
        return fail_header(f, 3, expected, f->rank);
    }
    for (unsigned i = 0; i < f->rank; i++) {
        DROVE_TRY(drove__reader_read(f->reader, dimension, sizeof dimension));
        f->shape[i] = (uint32_t)dimension[0] << 24 | (uint32_t)dimension[1] << 16 |
                      (uint32_t)dimension[2] << 8 | dimension[3];
        if (f->shape[i] > 0) continue;
        return drove__fail(DROVE_E_DATA, "%s: dimension %u: expected at least 1, found 0", path,
                           i + 1);
    }
    return DROVE_OK;
}

/* Of the labels of n_rows examples, before any of these is read. */
static drove_status check_labels(const idx_file *f, uint32_t n_rows)
{
    size_t n;
    if (f->elements.type == DROVE_ELEMENT_F32 || f->elements.type == DROVE_ELEMENT_F64) {
        return fail_header(f, 2, "whole numbers as labels",
                           f->elements.type == DROVE_ELEMENT_F32 ? 0x0d : 0x0e);
    }
    if (f->shape[0] != n_rows) {
        return drove__fail(DROVE_E_DATA, "%s: expected %u labels, one for each example, found %u",
                           drove__reader_path(f->reader), n_rows, f->shape[0]);
    }
    return drove__elements_check(f->reader, f->elements, n_rows, 1, &n);
}

/* Labels are whole numbers from 0; n_classes 0: the largest label plus 1. */
static drove_status read_labels(idx_file *f, uint64_t n_classes, drove_storage *s)
{
    const char *path = drove__reader_path(f->reader);
    size_t n = s->n_rows, largest = 0, most = n_classes > 0 ? (size_t)n_classes : CLASSES_MOST;
    uint64_t first = drove__reader_offset(f->reader);
    double *label = drove__grow(NULL, n, sizeof *label);
    s->y_class = drove__grow(NULL, n, sizeof *s->y_class);
    drove_status status = DROVE_OK;
    if (label == NULL || s->y_class == NULL)
        status = drove__fail_nomem("labels", n * sizeof *label);
    if (status == DROVE_OK) status = drove__elements_read_double(f->reader, f->elements, n, label);
    for (size_t i = 0; i < n && status == DROVE_OK; i++) {
        if (label[i] < 0 || label[i] >= (double)most) {
            status = drove__fail(
                DROVE_E_DATA, "%s: byte %llu: expected a label from 0 to %zu, found %.0f", path,
                (unsigned long long)(first + i * drove__element_bytes(f->elements.type)), most - 1,
                label[i]);
            break;
        }
        s->y_class[i] = (int32_t)label[i];
        if ((size_t)label[i] > largest) largest = (size_t)label[i];
    }
    free(label);
    s->n_classes = n_classes > 0 ? (size_t)n_classes : largest + 1;
    return status == DROVE_OK ? drove__elements_end(f->reader) : status;
}

static drove_status read_pair(const char *x_path, const char *y_path, uint64_t n_classes,
                              const drove_shard *shard, drove_storage **out)
{
    idx_file x = {0}, y = {0};
    drove_storage *s = NULL;
    drove_status status = drove__storage_create(&s);
    if (status != DROVE_OK) goto end;
    if ((status = open_idx(x_path, 2, RANK_MOST, &x)) != DROVE_OK) goto end;
    if ((status = open_idx(y_path, 1, 1, &y)) != DROVE_OK) goto end;
    uint64_t n_features = 1;
    for (unsigned i = 1; i < x.rank; i++) {
        if (!__builtin_mul_overflow(n_features, (uint64_t)x.shape[i], &n_features)) continue;
        status =
            drove__fail(DROVE_E_DATA, "%s: its dimensions overflow", drove__reader_path(x.reader));
        goto end;
    }
    size_t n;
    if ((status = drove__elements_check(x.reader, x.elements, x.shape[0], n_features, &n)) !=
        DROVE_OK)
        goto end;
    if ((status = check_labels(&y, x.shape[0])) != DROVE_OK) goto end;
    if (x.rank >= 3) {
        s->channels = x.rank == 4 ? x.shape[1] : 1;
        s->height = x.shape[x.rank - 2];
        s->width = x.shape[x.rank - 1];
    }
    if ((status = drove__elements_read_examples(x.reader, x.elements, x.shape[0], n_features, shard,
                                                s)) != DROVE_OK)
        goto end;
    status = read_labels(&y, n_classes, s);
end:
    if (status == DROVE_OK) drove__storage_keep_targets(s, shard);
    if (status == DROVE_OK) status = drove__storage_check(s, x_path);
    drove__reader_close(x.reader);
    drove__reader_close(y.reader);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

typedef struct settings {
    uint64_t n_classes; /* 0: not given */
    drove_export_options written;
} settings;

static const drove_spec_key idx_keys[] = {
    {"classes", NULL, DROVE_AS_COUNT(settings, n_classes, 2, CLASSES_MOST),
     .help = "their number; without it the largest label, plus 1"},
    DROVE_SPEC_KEYS_OF(settings, written, drove_export_options, drove__export_keys),
    DROVE_SPEC_END,
};

static drove_status read_idx(const drove_spec *spec, int part, const drove_shard *shard,
                             drove_storage **out)
{
    settings set = {.n_classes = 0};
    (void)part;
    DROVE_TRY(drove__spec_take(spec, idx_keys, &set));
    return read_pair(spec->arg[0], spec->arg[1], set.n_classes, shard, out);
}

/* ---- MNIST ---- */

/* FOLDER/NAME, or FOLDER/NAME.gz if only that exists. */
static drove_status name_file(const char *folder, const char *name, char into[PATH_MAX])
{
    int n = snprintf(into, PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n + 4 > PATH_MAX)
        return drove__fail(DROVE_E_ARG, "%s: the path is too long", folder);
    if (access(into, F_OK) == 0) return DROVE_OK;
    memcpy(into + n, ".gz", 4);
    if (access(into, F_OK) == 0) return DROVE_OK;
    into[n] = '\0';
    return drove__fail(DROVE_E_FILE, "%s: no such file, nor %s.gz", into, name);
}

static drove_status read_mnist(const drove_spec *spec, int part, const drove_shard *shard,
                               drove_storage **out)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    char x_path[PATH_MAX], y_path[PATH_MAX];
    DROVE_TRY(name_file(spec->arg[0], names[part][0], x_path));
    DROVE_TRY(name_file(spec->arg[0], names[part][1], y_path));
    return read_pair(x_path, y_path, MNIST_CLASSES, shard, out);
}

/* ---- writing ---- */

static drove_status write_big_endian(drove_writer *w, uint64_t number)
{
    uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                        (uint8_t)number};
    return drove__writer_write(w, bytes, sizeof bytes);
}

static drove_status write_header(drove_writer *w, uint8_t type, unsigned rank, const size_t *shape)
{
    DROVE_TRY(write_big_endian(w, (uint64_t)type << 8 | rank));
    for (unsigned i = 0; i < rank; i++) DROVE_TRY(write_big_endian(w, shape[i]));
    return DROVE_OK;
}

static drove_status write_examples(drove_writer *w, const drove_data *data, bool scaled)
{
    const drove_storage *s = data->storage;
    bool bytes = s->x_kind == DROVE_X_U8 && !(scaled && data->factor != NULL);
    size_t n = s->n_features;
    size_t shape[RANK_MOST] = {data->n_rows, n};
    unsigned rank = 2;
    if (s->channels == 1) {
        rank = 3;
        shape[1] = s->height;
        shape[2] = s->width;
    } else if (s->channels > 1) {
        rank = 4;
        shape[1] = s->channels;
        shape[2] = s->height;
        shape[3] = s->width;
    }
    DROVE_TRY(write_header(w, bytes ? 0x08 : 0x0d, rank, shape));
    if (bytes) return drove__export_bytes(data, n, w);
    float *row = drove__grow(NULL, n, sizeof *row);
    if (row == NULL) return drove__fail_nomem("a row", n * sizeof *row);
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < data->n_rows && status == DROVE_OK; i++) {
        drove__export_row(data, i, scaled, row);
        for (size_t j = 0; j < n && status == DROVE_OK; j++) {
            uint32_t bits;
            memcpy(&bits, &row[j], sizeof bits);
            status = write_big_endian(w, bits);
        }
    }
    free(row);
    return status;
}

static drove_status write_labels(drove_writer *w, const drove_data *data)
{
    const drove_storage *s = data->storage;
    bool bytes = s->n_classes <= 256;
    DROVE_TRY(write_header(w, bytes ? 0x08 : 0x0c, 1, &data->n_rows));
    for (size_t i = 0; i < data->n_rows; i++) {
        int32_t class = s->y_class[drove__data_row(data, i)];
        uint8_t byte = (uint8_t) class;
        DROVE_TRY(bytes ? drove__writer_write(w, &byte, 1) : write_big_endian(w, (uint32_t) class));
    }
    return DROVE_OK;
}

static drove_status write_idx(const drove_data *data, const drove_spec *to)
{
    bool scaled;
    drove_writer *x = NULL, *y = NULL;
    if (data->storage->y_kind != DROVE_Y_CLASS) {
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "idx: holds classes only; these data have %s (npy and libsvm hold them)",
                           data->storage->y_kind == DROVE_Y_VALUE ? "values"
                                                                  : "several labels per row");
    }
    if (data->storage->n_features > UINT32_MAX) {
        return drove__fail(DROVE_E_UNSUPPORTED, "idx: holds at most %u features", UINT32_MAX);
    }
    DROVE_TRY(drove__export_begin(to, &scaled));
    drove_status status = drove__writer_create(to->arg[0], &x);
    if (status != DROVE_OK) goto end;
    if ((status = drove__writer_create(to->arg[1], &y)) != DROVE_OK) goto end;
    if ((status = write_examples(x, data, scaled)) != DROVE_OK) goto end;
    status = write_labels(y, data);
end:
    if (status == DROVE_OK) return drove__writer_commit_both(x, y);
    drove__writer_abort(x);
    drove__writer_abort(y);
    return status;
}

const drove_format_ops drove__format_idx = {
    .name = "idx",
    .help = "IDX files of examples and of labels; bytes stay bytes",
    .source = "LeCun, MNIST",
    .arguments = "IMAGES,LABELS",
    .least_args = 2,
    .most_args = 2,
    .keys = idx_keys,
    .read = read_idx,
    .write = write_idx,
    .reads_shards = true,
    .default_scaling = DROVE_SCALE_UNIT,
};

const drove_format_ops drove__format_mnist = {
    .name = "mnist",
    .help = "a folder with MNIST's four IDX files (or files like them)",
    .source = "LeCun, MNIST",
    .arguments = "DIR",
    .least_args = 1,
    .most_args = 1,
    .keys = NULL,
    .read = read_mnist,
    .has_test = true,
    .reads_shards = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
