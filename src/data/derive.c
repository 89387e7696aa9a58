/* data/derive.c - data sets made from others: the same rows and targets with new features, and
 * outlines. */
#include "data/data.h"

#include "base/mem.h"
#include "data/scale.h"
#include "data/origin.h"
#include "data/parting.h"
#include "data/weights.h"
#include "table/schema.h"

#include <stdlib.h>
#include <string.h>

drove_status drove__storage_describe(const drove_storage *from, drove_storage *to)
{
    to->n_features = from->n_features;
    to->x_kind = from->x_kind;
    to->y_kind = from->y_kind;
    to->n_classes = from->n_classes;
    to->n_values = from->n_values;
    to->channels = from->channels;
    to->height = from->height;
    to->width = from->width;
    to->index_base = from->index_base;
    to->schema = drove__schema_retain(from->schema);
    memcpy(to->notes, from->notes, sizeof to->notes);
    DROVE_TRY(drove__origin_copy(from, to));
    const size_t n = drove__storage_n_names(from);
    if (from->class_name == NULL) return DROVE_OK;
    to->class_name = drove__texts_copy((const char *const *)from->class_name, n);
    return to->class_name != NULL ? DROVE_OK : drove__fail_nomem("class names", n * sizeof(char *));
}

/* A view of a storage without rows, with the description of `from`. */
static drove_status create_empty(const drove_data *from, drove_data **out)
{
    const drove_storage *s = from->storage;
    drove_data *data = calloc(1, sizeof *data);
    if (data == NULL) return drove__fail_nomem("data set", sizeof *data);
    drove_status status = drove__storage_create(&data->storage);
    if (status == DROVE_OK) {
        drove_storage *to = data->storage;
        status = drove__storage_describe(s, to);
        if (s->x_kind == DROVE_X_QUANT)
            to->x_kind = drove__storage_is_sparse(s) ? DROVE_X_CSR : DROVE_X_F32;
        if (status == DROVE_OK) status = drove__weights_copy(from, data);
    }
    if (status != DROVE_OK) {
        drove_data_destroy(data);
        return status;
    }
    *out = data;
    return DROVE_OK;
}

/* Targets, weights and groups. */
static drove_status copy_targets(const drove_data *from, drove_storage *to)
{
    const drove_storage *s = from->storage;
    size_t n = from->n_rows;
    DROVE_TRY(drove__parting_copy(from, &to->parting));
    if (from->storage->weight != NULL) {
        to->weight = drove__grow(NULL, n, sizeof *to->weight);
        if (to->weight == NULL) return drove__fail_nomem("weights", n * sizeof *to->weight);
        for (size_t i = 0; i < n; i++)
            to->weight[i] = from->storage->weight[drove__data_row(from, i)];
    }
    if (s->y_kind == DROVE_Y_LABELS) {
        size_t n_labels = 0;
        for (size_t i = 0; i < n; i++) {
            size_t row = drove__data_row(from, i);
            n_labels += (size_t)(s->label_start[row + 1] - s->label_start[row]);
        }
        to->label_start = drove__grow(NULL, n + 1, sizeof *to->label_start);
        to->label = drove__grow(NULL, n_labels, sizeof *to->label);
        if (to->label_start == NULL || to->label == NULL)
            return drove__fail_nomem("labels", n_labels * sizeof *to->label);
        uint64_t at = 0;
        for (size_t i = 0; i < n; i++) {
            size_t row = drove__data_row(from, i);
            size_t n_here = (size_t)(s->label_start[row + 1] - s->label_start[row]);
            to->label_start[i] = at;
            if (n_here > 0)
                memcpy(to->label + at, s->label + s->label_start[row], n_here * sizeof *to->label);
            at += n_here;
        }
        to->label_start[n] = at;
        return DROVE_OK;
    }
    if (s->y_kind == DROVE_Y_CLASS) {
        to->y_class = drove__grow(NULL, n, sizeof *to->y_class);
        if (to->y_class == NULL) return drove__fail_nomem("classes", n * sizeof *to->y_class);
        for (size_t i = 0; i < n; i++) to->y_class[i] = s->y_class[drove__data_row(from, i)];
    } else {
        const size_t each = drove__storage_n_values(s);
        to->y_value = drove__grow(NULL, n * each, sizeof *to->y_value);
        if (to->y_value == NULL) return drove__fail_nomem("values", n * each * sizeof *to->y_value);
        for (size_t i = 0; i < n; i++)
            memcpy(to->y_value + i * each, s->y_value + drove__data_row(from, i) * each,
                   each * sizeof *to->y_value);
    }
    return DROVE_OK;
}

drove_status drove__data_outline(const drove_data *data, drove_data **out)
{
    drove_data *outline;
    *out = NULL;
    DROVE_TRY(create_empty(data, &outline));
    drove_status status = drove__scale_copy(data, outline);
    outline->augment = data->augment;
    if (status != DROVE_OK) {
        drove_data_destroy(outline);
        return status;
    }
    *out = outline;
    return DROVE_OK;
}

/* Indices and values of sparse examples. */
static drove_status copy_sparse(const drove_data *from, drove_storage *to)
{
    const drove_storage *s = from->storage;
    size_t n = 0;
    for (size_t i = 0; i < from->n_rows; i++) {
        size_t row = drove__data_row(from, i);
        n += (size_t)(s->row_start[row + 1] - s->row_start[row]);
    }
    to->row_start = drove__grow(NULL, from->n_rows + 1, sizeof *to->row_start);
    to->index = drove__grow(NULL, n, sizeof *to->index);
    if (s->value != NULL) to->value = drove__grow(NULL, n, sizeof *to->value);
    if (to->row_start == NULL || to->index == NULL || (s->value != NULL && to->value == NULL))
        return drove__fail_nomem("sparse examples", n * sizeof *to->index);
    uint64_t at = 0;
    for (size_t i = 0; i < from->n_rows; i++) {
        size_t row = drove__data_row(from, i), first = (size_t)s->row_start[row];
        size_t n_here = (size_t)s->row_start[row + 1] - first;
        to->row_start[i] = at;
        memcpy(to->index + at, s->index + first, n_here * sizeof *to->index);
        if (s->value != NULL) memcpy(to->value + at, s->value + first, n_here * sizeof *to->value);
        at += n_here;
    }
    to->row_start[from->n_rows] = at;
    return DROVE_OK;
}

drove_status drove__data_copy(const drove_data *data, drove_data **out)
{
    drove_data *copy;
    *out = NULL;
    if (data->storage->x_kind == DROVE_X_QUANT)
        return drove__fail(DROVE_E_UNSUPPORTED, "quantised data cannot be copied");
    DROVE_TRY(drove__data_outline(data, &copy));
    copy->n_rows = copy->storage->n_rows = data->n_rows;
    drove_status status = copy_targets(data, copy->storage);
    if (status != DROVE_OK) goto end;
    const drove_storage *s = data->storage;
    size_t n = s->n_features, count;
    if (s->x_kind == DROVE_X_CSR) {
        status = copy_sparse(data, copy->storage);
        goto end;
    }
    if (__builtin_mul_overflow(data->n_rows, n, &count)) count = SIZE_MAX;
    if (s->x_kind == DROVE_X_U8)
        copy->storage->x_u8 = drove__alloc(count, sizeof *copy->storage->x_u8);
    else copy->storage->x_f32 = drove__alloc(count, sizeof *copy->storage->x_f32);
    if (copy->storage->x_u8 == NULL && copy->storage->x_f32 == NULL) {
        status = drove__fail_nomem("examples", count);
        goto end;
    }
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        if (s->x_kind == DROVE_X_U8) memcpy(copy->storage->x_u8 + i * n, s->x_u8 + row * n, n);
        else
            memcpy(copy->storage->x_f32 + i * n, s->x_f32 + row * n,
                   n * sizeof *copy->storage->x_f32);
    }
end:
    if (status != DROVE_OK) {
        drove_data_destroy(copy);
        return status;
    }
    *out = copy;
    return DROVE_OK;
}

drove_status drove__data_derive(const drove_data *data, size_t n_features, drove_data **out)
{
    drove_data *derived;
    size_t count;
    *out = NULL;
    if (__builtin_mul_overflow(data->n_rows, n_features, &count)) count = SIZE_MAX;
    DROVE_TRY(create_empty(data, &derived));
    drove_storage *s = derived->storage;
    derived->n_rows = s->n_rows = data->n_rows;
    s->n_features = n_features;
    s->x_kind = DROVE_X_F32;
    s->channels = s->height = s->width = 0;
    drove__schema_release(s->schema); /* the new features are no columns */
    s->schema = NULL;
    free(s->x_origin);
    s->x_origin = NULL;
    s->x_f32 = drove__alloc(count, sizeof *s->x_f32);
    drove_status status =
        s->x_f32 != NULL ? copy_targets(data, s) : drove__fail_nomem("features", count);
    if (status != DROVE_OK) {
        drove_data_destroy(derived);
        return status;
    }
    *out = derived;
    return DROVE_OK;
}
