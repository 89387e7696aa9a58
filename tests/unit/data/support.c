/* tests/unit/data/support.c - small files and the usual questions about data sets. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

void write_gzip(const char *path, const void *bytes, size_t size_bytes)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    if (size_bytes > 0)
        assert_int_equal(gzwrite(file, bytes, (unsigned)size_bytes), (int)size_bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

void write_idx_file(const char *path, unsigned rank, const uint32_t *shape, unsigned modulus,
                    unsigned step)
{
    uint8_t bytes[4096] = {0, 0, 0x08, (uint8_t)rank};
    size_t n = 4, content = 1;
    for (unsigned i = 0; i < rank; i++) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes[n++] = (uint8_t)(shape[i] >> shift);
        content *= shape[i];
    }
    assert_true(n + content <= sizeof bytes);
    for (size_t i = 0; i < content; i++) bytes[n++] = (uint8_t)(i % modulus * step);
    write_bytes(path, bytes, n);
}

void write_npy_file(const char *path, const char *dictionary, const void *content,
                    size_t size_bytes)
{
    uint8_t bytes[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t n = strlen(dictionary);
    assert_true(n + size_bytes + 11 <= sizeof bytes);
    bytes[8] = (uint8_t)(n + 1);
    bytes[9] = (uint8_t)((n + 1) >> 8);
    memcpy(bytes + 10, dictionary, n);
    bytes[10 + n] = '\n';
    memcpy(bytes + 11 + n, content, size_bytes);
    write_bytes(path, bytes, 11 + n + size_bytes);
}

void open_both(const char *spec, const char *test, uint64_t seed, drove_data **train,
               drove_data **held_out)
{
    drove_status status = drove_data_open(spec, test, seed, train, held_out);
    if (status != DROVE_OK) {
        fail_msg("%s (test %s): %s: %s", spec, test != NULL ? test : "none",
                 drove_status_name(status), drove_error_text());
    }
}

drove_data *open_data(const char *spec)
{
    drove_data *data, *none;
    open_both(spec, NULL, 1, &data, &none);
    assert_null(none);
    return data;
}

void expect_refusal(const char *spec, const char *test, drove_status status, ...)
{
    int marker; /* outputs must be NULL afterwards, so they start as something else */
    drove_data *train = (drove_data *)&marker, *held_out = (drove_data *)&marker;
    drove_status got = drove_data_open(spec, test, 1, &train, &held_out);
    if (got != status) {
        fail_msg("%s: expected %s, got %s: %s", spec, drove_status_name(status),
                 drove_status_name(got), drove_error_text());
    }
    assert_null(train);
    assert_null(held_out);
    va_list words;
    va_start(words, status);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;) assert_error_has(word);
    va_end(words);
    assert_null(strchr(drove_error_text(), '\n'));
}

float value_at(const drove_data *data, size_t i, size_t feature)
{
    const drove_storage *s = data->storage;
    size_t row = drove__data_row(data, i);
    if (s->x_kind == DROVE_X_U8) return (float)s->x_u8[row * s->n_features + feature];
    if (s->x_kind == DROVE_X_F32) return s->x_f32[row * s->n_features + feature];
    for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
        if (s->index[k] == feature) return s->value != NULL ? s->value[k] : 1.0f;
    }
    return 0;
}

float scaled_at(const drove_data *data, size_t i, size_t feature)
{
    float value = value_at(data, i, feature);
    return data->factor == NULL ? value : (value - data->shift[feature]) * data->factor[feature];
}

const char *class_of(const drove_data *data, size_t i)
{
    static char number[DROVE_CLASS_TEXT_SIZE];
    assert_int_equal(data->storage->y_kind, DROVE_Y_CLASS);
    return drove__class_text(data->storage,
                             (size_t)data->storage->y_class[drove__data_row(data, i)], number);
}

float target_of(const drove_data *data, size_t i)
{
    assert_int_equal(data->storage->y_kind, DROVE_Y_VALUE);
    return data->storage
        ->y_value[drove__data_row(data, i) * drove__storage_n_values(data->storage)];
}

static void expect_same_target(const drove_data *a, const drove_data *b, size_t i)
{
    const drove_storage *s = a->storage, *t = b->storage;
    size_t row = drove__data_row(a, i), other = drove__data_row(b, i);
    char name[64];
    if (s->y_kind == DROVE_Y_VALUE) {
        assert_true(target_of(a, i) == target_of(b, i));
    } else if (s->y_kind == DROVE_Y_CLASS) {
        snprintf(name, sizeof name, "%s", class_of(a, i));
        assert_string_equal(name, class_of(b, i));
    } else {
        size_t n = (size_t)(s->label_start[row + 1] - s->label_start[row]);
        assert_int_equal(t->label_start[other + 1] - t->label_start[other], n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(s->label[s->label_start[row] + k],
                             t->label[t->label_start[other] + k]);
        }
    }
}

void expect_same(const drove_data *a, const drove_data *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->storage->n_features, b->storage->n_features);
    assert_int_equal(a->storage->n_classes, b->storage->n_classes);
    assert_int_equal(a->storage->y_kind, b->storage->y_kind);
    for (size_t i = 0; i < a->n_rows; i++) {
        for (size_t f = 0; f < a->storage->n_features; f++) {
            if (value_at(a, i, f) != value_at(b, i, f)) {
                fail_msg("row %zu, feature %zu: %.9g and %.9g", i, f, (double)value_at(a, i, f),
                         (double)value_at(b, i, f));
            }
        }
        expect_same_target(a, b, i);
    }
}

const char *real_file(const char *name)
{
    static char path[4096];
    const char *folder = getenv("DROVE_TEST_DATA");
    if (folder == NULL) folder = DROVE_SOURCE_DIR "/../shared/data";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) == 0) return path;
    print_message("skipped: %s is not there (DROVE_TEST_DATA names the folder)\n", path);
    return NULL;
}
