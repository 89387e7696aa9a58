/* data/arrays.c - data in the program's memory as a data set: see arrays.h. */
#include "data/arrays.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/mem.h"
#include "base/memfile.h"
#include "base/named.h"
#include "base/sort.h"
#include "data/data.h"
#include "data/matrix.h"
#include "data/origin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a pointer of `like` points into the caller's memory, the one in `own` is NULL; else both
 * are the same.  Targets are always our own. */
struct drove_arrays {
    drove_named_object named;
    char name[DROVE_NAMED_SIZE];
    drove_storage like; /* never a view: n_views is not used */
    float *x_f32;       /* drove__alloc */
    uint64_t *row_start;
    uint32_t *index;
    float *value;
    size_t copied_bytes;
};

static const char kind[] = "data";

/* ---- making ---- */

static void free_targets(drove_storage *s)
{
    drove__texts_free(s->class_name, drove__storage_n_names(s));
    free(s->y_class);
    free(s->y_value);
    free(s->label_start);
    free(s->label);
    free(s->y_origin);
    s->y_origin = NULL;
    s->class_name = NULL;
    s->y_class = NULL;
    s->y_value = NULL;
    s->label_start = NULL;
    s->label = NULL;
    s->n_classes = s->n_values = 0;
}

static void free_examples(drove_arrays *a)
{
    drove__free(a->x_f32);
    free(a->row_start);
    free(a->index);
    free(a->value);
    free(a->like.x_origin);
    a->like.x_origin = NULL;
    a->x_f32 = NULL;
    a->row_start = NULL;
    a->index = NULL;
    a->value = NULL;
    a->copied_bytes = 0;
}

static void destroy(drove_named_object *object)
{
    drove_arrays *a = (drove_arrays *)object;
    free_targets(&a->like);
    free_examples(a);
    free(a->like.weight);
    drove__alive_free(a, free);
}

drove_status drove_arrays_create(drove_arrays **out)
{
    DROVE_GIVEN(out);
    drove_arrays *a = calloc(1, sizeof *a);
    *out = NULL;
    if (a == NULL) return drove__fail_nomem("arrays", sizeof *a);
    a->like.index_base = -1;
    drove__named_add(&a->named, kind, destroy);
    drove__named_print(&a->named, a->name);
    *out = a;
    return DROVE_OK;
}

static void release(drove_arrays *arrays) /* NULL accepted */
{
    drove__named_release(arrays != NULL ? &arrays->named : NULL);
}

bool drove__arrays_have_targets(const drove_arrays *arrays)
{
    const drove_storage *s = &arrays->like;
    return s->y_class != NULL || s->y_value != NULL || s->label_start != NULL;
}

void drove_arrays_destroy(drove_arrays *arrays)
{
    DROVE_END(arrays, "arrays");
    release(arrays);
}

const char *drove_arrays_name(const drove_arrays *arrays)
{
    DROVE_ALIVE(arrays, "arrays");
    if (arrays == NULL) return NULL;
    return arrays->name;
}

size_t drove_arrays_copied_bytes(const drove_arrays *arrays)
{
    DROVE_ALIVE(arrays, "arrays");
    if (arrays == NULL) return 0;
    return arrays->copied_bytes;
}

/* ---- examples ---- */

static drove_status check_rows(size_t n_rows, size_t n_columns)
{
    if (n_rows == 0 || n_columns == 0)
        return drove__fail(DROVE_E_SHAPE, "arrays: expected rows and columns, found %zu x %zu",
                           n_rows, n_columns);
    if (n_rows < UINT32_MAX) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "arrays: expected fewer than 2^32 - 1 rows, found %zu", n_rows);
}

static bool is_in_rows(const drove_matrix *m)
{
    const ptrdiff_t size = (ptrdiff_t)drove_type_size(m->type);
    return (uintptr_t)m->values % (size_t)size == 0 &&
           (m->column_bytes == size || m->n_columns == 1) &&
           (m->row_bytes == size * (ptrdiff_t)m->n_columns || m->n_rows == 1);
}

/* New examples: the old ones and all that described them are gone. */
static void start_examples(drove_arrays *a, size_t n_rows, size_t n_columns, drove_x_kind x_kind)
{
    drove_storage *s = &a->like;
    free_examples(a);
    free_targets(s);
    free(s->weight);
    *s = (drove_storage){
        .n_rows = n_rows, .n_features = n_columns, .x_kind = x_kind, .index_base = -1};
}

/* After a failure there are no examples. */
static drove_status no_rows_unless(drove_arrays *a, drove_status status)
{
    if (status != DROVE_OK) start_examples(a, 0, 0, DROVE_X_F32);
    return status;
}

void drove__arrays_clear(drove_arrays *arrays)
{
    start_examples(arrays, 0, 0, DROVE_X_F32);
}

static drove_status copy_dense(drove_arrays *a, const drove_matrix *x)
{
    if (x->n_columns > SIZE_MAX / sizeof(float) / x->n_rows)
        return drove__fail_nomem("examples", SIZE_MAX);
    const size_t n = x->n_rows * x->n_columns;
    a->x_f32 = drove__alloc(n, sizeof *a->x_f32);
    if (a->x_f32 == NULL) return drove__fail_nomem("examples", n * sizeof *a->x_f32);
    DROVE_TRY(drove__origin_of(x, &a->like.x_origin));
    for (size_t i = 0; i < x->n_rows; i++)
        drove__origin_row(x, i, a->like.x_origin, a->x_f32 + i * x->n_columns);
    a->copied_bytes = n * sizeof *a->x_f32;
    a->like.x_f32 = a->x_f32;
    return DROVE_OK;
}

drove_status drove_arrays_set_dense(drove_arrays *a, const drove_matrix *x)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(x);
    DROVE_TRY(drove__matrix_check(x, "arrays"));
    DROVE_TRY(check_rows(x->n_rows, x->n_columns));
    const bool is_bytes = x->type == DROVE_TYPE_U8 && is_in_rows(x);
    start_examples(a, x->n_rows, x->n_columns, is_bytes ? DROVE_X_U8 : DROVE_X_F32);
    /* Nothing writes to the examples of a storage: not to those that are borrowed, either. */
    if (is_bytes) a->like.x_u8 = (uint8_t *)(uintptr_t)x->values;
    else if (x->type == DROVE_TYPE_F32 && is_in_rows(x))
        a->like.x_f32 = (float *)(uintptr_t)x->values;
    else return no_rows_unless(a, copy_dense(a, x));
    return DROVE_OK;
}

drove_status drove_arrays_set_images(drove_arrays *a, size_t channels, size_t height, size_t width)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    drove_storage *s = &a->like;
    const bool is_dense = s->x_kind != DROVE_X_CSR && s->n_features > 0;
    size_t n;
    if (!is_dense || channels == 0 || __builtin_mul_overflow(channels, height, &n) ||
        __builtin_mul_overflow(n, width, &n) || n != s->n_features)
        return drove__fail(DROVE_E_SHAPE,
                           "arrays: expected images of %zu numbers, as many as a row has, found "
                           "%zu x %zu x %zu",
                           s->n_features, channels, height, width);
    s->channels = channels;
    s->height = height;
    s->width = width;
    return DROVE_OK;
}

/* ---- sparse examples ---- */

static bool is_index_type(drove_type type)
{
    return type == DROVE_TYPE_I32 || type == DROVE_TYPE_I64 || type == DROVE_TYPE_U32 ||
           type == DROVE_TYPE_U64;
}

/* index[i]; a negative one becomes UINT64_MAX, which no check lets through. */
static uint64_t index_at(const void *index, drove_type type, size_t i)
{
    switch (type) {
    case DROVE_TYPE_I32: {
        const int32_t value = ((const int32_t *)index)[i];
        return value < 0 ? UINT64_MAX : (uint64_t)value;
    }
    case DROVE_TYPE_U32: return ((const uint32_t *)index)[i];
    case DROVE_TYPE_I64: {
        const int64_t value = ((const int64_t *)index)[i];
        return value < 0 ? UINT64_MAX : (uint64_t)value;
    }
    default: return ((const uint64_t *)index)[i];
    }
}

static drove_status check_sparse(const drove_sparse *x, size_t n_lines, size_t n_across)
{
    uint64_t before = 0;
    if (x->start == NULL || x->index == NULL)
        return drove__fail(DROVE_E_ARG, "arrays: expected starts and indices, found none");
    if (!is_index_type(x->start_type) || !is_index_type(x->index_type) ||
        (x->value != NULL && drove_type_size(x->value_type) == 0))
        return drove__fail(DROVE_E_ARG,
                           "arrays: expected starts and indices of 32 or 64 bits and values of a "
                           "type of drove_type");
    for (size_t i = 0; i <= n_lines; i++) {
        const uint64_t at = index_at(x->start, x->start_type, i);
        if ((i == 0 && at != 0) || at < before || at > SIZE_MAX / sizeof(uint64_t))
            return drove__fail(DROVE_E_DATA,
                               "arrays: start[%zu]: expected 0 first and then ascending numbers, "
                               "found %llu after %llu",
                               i, (unsigned long long)at, (unsigned long long)before);
        before = at;
    }
    for (size_t k = 0; k < before; k++) {
        const uint64_t at = index_at(x->index, x->index_type, k);
        if (at < n_across) continue;
        return drove__fail(DROVE_E_DATA,
                           "arrays: index[%zu]: expected a number below %zu, found %lld", k,
                           n_across, at == UINT64_MAX ? -1LL : (long long)at);
    }
    return DROVE_OK;
}

typedef struct entry {
    uint32_t column;
    float value;
} entry;

/* 0: they ascend; 1: they do not; 2: one is there twice in a row (once sorted). */
static int order_of(const uint64_t *row_start, const uint32_t *index, size_t i)
{
    for (uint64_t k = row_start[i] + 1; k < row_start[i + 1]; k++) {
        if (index[k] == index[k - 1]) return 2;
        if (index[k] < index[k - 1]) return 1;
    }
    return 0;
}

static drove_status fail_sparse_memory(size_t n)
{
    return drove__fail_nomem("sparse rows", n * (sizeof(uint32_t) + sizeof(float)));
}

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

static drove_matrix values_of(const drove_sparse *x, size_t n)
{
    return drove_matrix_dense(x->value, x->value_type, n, 1);
}

/* Of words in a text or of categories: rows then need no values, and steps are shorter. */
static bool are_ones(const drove_sparse *x, size_t n)
{
    const drove_matrix values = values_of(x, n);
    for (size_t k = 0; x->value != NULL && k < n; k++)
        if (drove__matrix_at(&values, k, 0) != 1.0) return false;
    return true;
}

/* Rows: what need not be copied is borrowed. */
static drove_status take_rows(drove_arrays *a, const drove_sparse *x, size_t n)
{
    drove_storage *s = &a->like;
    if (x->start_type == DROVE_TYPE_I64 || x->start_type == DROVE_TYPE_U64) {
        s->row_start = (uint64_t *)(uintptr_t)x->start;
    } else {
        s->row_start = a->row_start = drove__grow(NULL, x->n_rows + 1, sizeof *a->row_start);
        if (a->row_start == NULL) return fail_sparse_memory(x->n_rows + 1);
        for (size_t i = 0; i <= x->n_rows; i++)
            a->row_start[i] = index_at(x->start, x->start_type, i);
        a->copied_bytes += (x->n_rows + 1) * sizeof *a->row_start;
    }
    if (x->index_type == DROVE_TYPE_I32 || x->index_type == DROVE_TYPE_U32) {
        s->index = (uint32_t *)(uintptr_t)x->index;
    } else {
        s->index = a->index = drove__grow(NULL, at_least_one(n), sizeof *a->index);
        if (a->index == NULL) return fail_sparse_memory(n);
        for (size_t k = 0; k < n; k++) a->index[k] = (uint32_t)index_at(x->index, x->index_type, k);
        a->copied_bytes += n * sizeof *a->index;
    }
    if (are_ones(x, n)) return DROVE_OK;
    if (x->value_type == DROVE_TYPE_F32) {
        s->value = (float *)(uintptr_t)x->value;
        return DROVE_OK;
    }
    const drove_matrix values = values_of(x, n);
    s->value = a->value = drove__grow(NULL, at_least_one(n), sizeof *a->value);
    if (a->value == NULL) return fail_sparse_memory(n);
    for (size_t k = 0; k < n; k++) a->value[k] = (float)drove__matrix_at(&values, k, 0);
    a->copied_bytes += n * sizeof *a->value;
    return DROVE_OK;
}

/* Copies of all that is borrowed, so that rows can be sorted. */
static drove_status own_rows(drove_arrays *a, size_t n)
{
    drove_storage *s = &a->like;
    if (a->row_start == NULL) {
        a->row_start = drove__grow(NULL, s->n_rows + 1, sizeof *a->row_start);
        if (a->row_start == NULL) return fail_sparse_memory(s->n_rows + 1);
        memcpy(a->row_start, s->row_start, (s->n_rows + 1) * sizeof *a->row_start);
        a->copied_bytes += (s->n_rows + 1) * sizeof *a->row_start;
    }
    if (a->index == NULL) {
        a->index = drove__grow(NULL, at_least_one(n), sizeof *a->index);
        if (a->index == NULL) return fail_sparse_memory(n);
        memcpy(a->index, s->index, n * sizeof *a->index);
        a->copied_bytes += n * sizeof *a->index;
    }
    if (a->value == NULL && s->value != NULL) {
        a->value = drove__grow(NULL, at_least_one(n), sizeof *a->value);
        if (a->value == NULL) return fail_sparse_memory(n);
        memcpy(a->value, s->value, n * sizeof *a->value);
        a->copied_bytes += n * sizeof *a->value;
    }
    s->row_start = a->row_start;
    s->index = a->index;
    s->value = a->value;
    return DROVE_OK;
}

static drove_status order_rows(drove_arrays *a)
{
    const drove_storage *s = &a->like;
    const size_t n = (size_t)s->row_start[s->n_rows];
    for (size_t i = 0; i < s->n_rows; i++) {
        if (order_of(s->row_start, s->index, i) == 0) continue;
        DROVE_TRY(own_rows(a, n));
        const uint64_t first = a->row_start[i], n_row = a->row_start[i + 1] - first;
        entry *row = drove__grow(NULL, (size_t)n_row, sizeof *row);
        if (row == NULL) return drove__fail_nomem("a sparse row", (size_t)n_row * sizeof *row);
        for (uint64_t k = 0; k < n_row; k++)
            row[k] = (entry){a->index[first + k], a->value != NULL ? a->value[first + k] : 1.0f};
        qsort(row, (size_t)n_row, sizeof *row, drove__compare_u32); /* by column */
        for (uint64_t k = 0; k < n_row; k++) {
            a->index[first + k] = row[k].column;
            if (a->value != NULL) a->value[first + k] = row[k].value;
        }
        free(row);
        if (order_of(s->row_start, s->index, i) == 0) continue;
        return drove__fail(DROVE_E_DATA,
                           "arrays: row %zu: expected each column once, found one twice", i);
    }
    return DROVE_OK;
}

/* Columns into rows: counted, then placed in the order of the columns, so that rows ascend. */
static drove_status turn_columns(drove_arrays *a, const drove_sparse *x, size_t n)
{
    const drove_matrix values = values_of(x, n);
    drove_storage *s = &a->like;
    a->row_start = calloc(x->n_rows + 2, sizeof *a->row_start);
    a->index = drove__grow(NULL, at_least_one(n), sizeof *a->index);
    const bool has_values = !are_ones(x, n);
    if (has_values) a->value = drove__grow(NULL, at_least_one(n), sizeof *a->value);
    if (a->row_start == NULL || a->index == NULL || (has_values && a->value == NULL))
        return fail_sparse_memory(n);
    uint64_t *next = a->row_start + 1; /* moves each row's start to its end */
    for (size_t k = 0; k < n; k++) next[index_at(x->index, x->index_type, k) + 1]++;
    for (size_t i = 1; i <= x->n_rows; i++) next[i] += next[i - 1];
    for (size_t j = 0; j < x->n_columns; j++) {
        const uint64_t end = index_at(x->start, x->start_type, j + 1);
        for (uint64_t k = index_at(x->start, x->start_type, j); k < end; k++) {
            const uint64_t at = next[index_at(x->index, x->index_type, (size_t)k)]++;
            a->index[at] = (uint32_t)j;
            if (a->value != NULL) a->value[at] = (float)drove__matrix_at(&values, (size_t)k, 0);
        }
    }
    a->copied_bytes = (x->n_rows + 1) * sizeof *a->row_start + n * sizeof *a->index +
                      (a->value != NULL ? n * sizeof *a->value : 0);
    s->row_start = a->row_start;
    s->index = a->index;
    s->value = a->value;
    return DROVE_OK;
}

drove_status drove_arrays_set_sparse(drove_arrays *a, const drove_sparse *x)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(x);
    const size_t n_lines = x->is_by_columns ? x->n_columns : x->n_rows;
    DROVE_TRY(check_rows(x->n_rows, x->n_columns));
    if (x->n_columns > UINT32_MAX)
        return drove__fail(DROVE_E_ARG, "arrays: expected at most 2^32 - 1 columns, found %zu",
                           x->n_columns);
    DROVE_TRY(check_sparse(x, n_lines, x->is_by_columns ? x->n_rows : x->n_columns));
    const size_t n = (size_t)index_at(x->start, x->start_type, n_lines);
    start_examples(a, x->n_rows, x->n_columns, DROVE_X_CSR);
    DROVE_TRY(no_rows_unless(a, x->is_by_columns ? turn_columns(a, x, n) : take_rows(a, x, n)));
    return no_rows_unless(a, order_rows(a));
}

/* ---- targets ---- */

static drove_status check_target(const drove_arrays *a, const drove_matrix *m, const char *what,
                                 bool is_vector)
{
    DROVE_TRY(drove__matrix_check(m, "arrays"));
    if (a->like.n_rows == 0)
        return drove__fail(DROVE_E_SHAPE, "arrays: expected examples before %s, found none", what);
    if (m->values == NULL || m->n_columns >= UINT32_MAX ||
        m->n_columns > SIZE_MAX / sizeof(double) / a->like.n_rows)
        return drove__fail(DROVE_E_ARG,
                           "arrays: %s: expected numbers in fewer than 2^32 - 1 "
                           "columns, found %s",
                           what, m->values == NULL ? "none" : "more");
    if (m->n_rows == a->like.n_rows && (is_vector ? m->n_columns == 1 : m->n_columns > 0))
        return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "arrays: %s: expected %zu x %s, one for each example, found "
                       "%zu x %zu",
                       what, a->like.n_rows, is_vector ? "1" : "1 or more", m->n_rows,
                       m->n_columns);
}

static drove_status copy_names(drove_storage *s, size_t n, const char *const *name)
{
    if (name == NULL) return DROVE_OK;
    for (size_t i = 0; i < n; i++)
        if (name[i] == NULL)
            return drove__fail(DROVE_E_ARG, "arrays: expected a name for class %zu, found none", i);
    s->class_name = drove__texts_copy(name, n);
    return s->class_name != NULL ? DROVE_OK
                                 : drove__fail_nomem("class names", n * sizeof *s->class_name);
}

/* After a failure there are no targets. */
static drove_status name_targets(drove_storage *s, size_t n, const char *const *name)
{
    const drove_status status = copy_names(s, n, name);
    if (status != DROVE_OK) free_targets(s);
    return status;
}

drove_status drove_arrays_set_classes(drove_arrays *a, const drove_matrix *classes,
                                      size_t n_classes, const char *const *name)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(classes);
    drove_storage *s = &a->like;
    DROVE_TRY(check_target(a, classes, "classes", true));
    if (n_classes == 0 || n_classes > INT32_MAX)
        return drove__fail(DROVE_E_ARG, "arrays: expected 1 to 2^31 - 1 classes, found %zu",
                           n_classes);
    free_targets(s);
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = n_classes;
    s->y_class = drove__grow(NULL, s->n_rows, sizeof *s->y_class);
    if (s->y_class == NULL) return drove__fail_nomem("classes", s->n_rows * sizeof *s->y_class);
    for (size_t i = 0; i < s->n_rows; i++) {
        const double value = drove__matrix_at(classes, i, 0);
        if (!(value >= 0.0 && value < (double)n_classes && value == floor(value))) {
            free_targets(s);
            return drove__fail(DROVE_E_DATA,
                               "arrays: row %zu: expected a class from 0 to %zu, found %g", i,
                               n_classes - 1, value);
        }
        s->y_class[i] = (int32_t)value;
    }
    return name_targets(s, n_classes, name);
}

drove_status drove_arrays_set_values(drove_arrays *a, const drove_matrix *values)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(values);
    drove_storage *s = &a->like;
    DROVE_TRY(check_target(a, values, "values", false));
    free_targets(s);
    s->y_kind = DROVE_Y_VALUE;
    s->n_values = values->n_columns > 1 ? values->n_columns : 0;
    s->y_value = drove__grow(NULL, s->n_rows * values->n_columns, sizeof *s->y_value);
    if (s->y_value == NULL)
        return drove__fail_nomem("values", s->n_rows * values->n_columns * sizeof *s->y_value);
    DROVE_TRY(drove__origin_of(values, &s->y_origin));
    for (size_t i = 0; i < s->n_rows; i++)
        drove__origin_row(values, i, s->y_origin, s->y_value + i * values->n_columns);
    return DROVE_OK;
}

drove_status drove_arrays_set_labels(drove_arrays *a, const drove_matrix *labels,
                                     const char *const *name)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(labels);
    drove_storage *s = &a->like;
    uint64_t n = 0;
    DROVE_TRY(check_target(a, labels, "labels", false));
    free_targets(s);
    for (size_t i = 0; i < s->n_rows; i++)
        for (size_t j = 0; j < labels->n_columns; j++) n += drove__matrix_at(labels, i, j) != 0.0;
    s->y_kind = DROVE_Y_LABELS;
    s->n_classes = labels->n_columns;
    s->label_start = drove__grow(NULL, s->n_rows + 1, sizeof *s->label_start);
    s->label = drove__grow(NULL, at_least_one((size_t)n), sizeof *s->label);
    if (s->label_start == NULL || s->label == NULL)
        return drove__fail_nomem("labels", (size_t)n * sizeof *s->label);
    n = s->label_start[0] = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        for (size_t j = 0; j < labels->n_columns; j++)
            if (drove__matrix_at(labels, i, j) != 0.0) s->label[n++] = (uint32_t)j;
        s->label_start[i + 1] = n;
    }
    return name_targets(s, labels->n_columns, name);
}

drove_status drove_arrays_set_weights(drove_arrays *a, const drove_matrix *weights)
{
    DROVE_ALIVE(a, "arrays");
    DROVE_GIVEN_AS(a, "arrays");
    DROVE_GIVEN(weights);
    drove_storage *s = &a->like;
    DROVE_TRY(check_target(a, weights, "weights", true));
    float *weight = drove__grow(NULL, s->n_rows, sizeof *weight);
    if (weight == NULL) return drove__fail_nomem("weights", s->n_rows * sizeof *weight);
    for (size_t i = 0; i < s->n_rows; i++) {
        const double value = drove__matrix_at(weights, i, 0);
        weight[i] = (float)value;
        if (isfinite(weight[i]) && value >= 0.0) continue;
        free(weight);
        return drove__fail(DROVE_E_DATA,
                           "arrays: row %zu: expected a weight that is finite and not negative, "
                           "found %g",
                           i, value);
    }
    free(s->weight);
    s->weight = weight;
    return DROVE_OK;
}

/* ---- reading ---- */

/* A copy of n elements, of malloc; NULL stays NULL. */
static drove_status copy(void *to, const void *from, size_t n, size_t size)
{
    void **out = to;
    if (from == NULL) return DROVE_OK;
    *out = drove__grow(NULL, at_least_one(n), size);
    if (*out == NULL) return drove__fail_nomem("targets", n * size);
    memcpy(*out, from, n * size);
    return DROVE_OK;
}

static drove_status read_arrays(const drove_spec *spec, int part, const drove_shard *shard,
                                drove_storage **out)
{
    drove_storage *s;
    (void)part, (void)shard;
    drove_arrays *a = (drove_arrays *)drove__named_find(spec->arg[0], kind);
    if (a == NULL || a->like.n_rows == 0) {
        release(a);
        return drove__fail(DROVE_E_ARG,
                           "memory:%.40s: expected data that this program has in memory, found %s",
                           spec->arg[0], a == NULL ? "none" : "no rows");
    }
    drove_status status = drove__storage_create(&s);
    if (status != DROVE_OK) {
        release(a);
        return status;
    }
    s->arrays = &a->named;
    const drove_storage *like = &a->like;
    s->n_rows = like->n_rows;
    s->n_features = like->n_features;
    s->x_kind = like->x_kind;
    s->x_u8 = like->x_u8;
    s->x_f32 = like->x_f32;
    s->row_start = like->row_start;
    s->index = like->index;
    s->value = like->value;
    s->channels = like->channels;
    s->height = like->height;
    s->width = like->width;
    const size_t n = like->n_rows;
    s->y_kind = like->y_kind;
    s->n_values = like->n_values;
    if ((status = copy(&s->y_class, like->y_class, n, sizeof *s->y_class)) != DROVE_OK) goto end;
    if ((status = copy(&s->y_value, like->y_value, n * drove__storage_n_values(like),
                       sizeof *s->y_value)) != DROVE_OK)
        goto end;
    if ((status = copy(&s->label_start, like->label_start, n + 1, sizeof *s->label_start)) !=
        DROVE_OK)
        goto end;
    const size_t n_labels = like->label_start != NULL ? (size_t)like->label_start[n] : 0;
    if ((status = copy(&s->label, like->label, n_labels, sizeof *s->label)) != DROVE_OK) goto end;
    if ((status = copy(&s->weight, like->weight, n, sizeof *s->weight)) != DROVE_OK) goto end;
    s->n_classes = like->n_classes;
    if ((status = copy_names(s, drove__storage_n_names(like),
                             (const char *const *)like->class_name)) != DROVE_OK)
        goto end;
    if ((status = drove__origin_copy(like, s)) != DROVE_OK) goto end;
    if (!drove__arrays_have_targets(a) && (status = drove__storage_set_unlabelled(s)) != DROVE_OK)
        goto end;
    status = drove__storage_check(s, a->name);
end:
    if (status == DROVE_OK) *out = s;
    else drove__storage_release(s);
    return status;
}

const drove_format_ops drove__format_memory = {
    .name = "memory",
    .help = "data that a program has in memory (drove/arrays.h); not for the command line",
    .source = "NumPy arrays, SciPy's csr_matrix and csc_matrix",
    .arguments = "NUMBER",
    .least_args = 1,
    .most_args = 1,
    .read = read_arrays,
    .default_scaling = DROVE_SCALE_NONE,
};

/* ---- files ---- */

struct drove_memory_file {
    drove_memfile *file;
    char name[DROVE_NAMED_SIZE];
};

drove_status drove_memory_file_create(const void *bytes, size_t n_bytes, int copies,
                                      drove_memory_file **out)
{
    DROVE_GIVEN(out);
    if (n_bytes > 0) DROVE_GIVEN(bytes);
    drove_memory_file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (f == NULL) return drove__fail_nomem("a file in memory", sizeof *f);
    drove_status status = drove__memfile_create(bytes, n_bytes, copies != 0, &f->file);
    if (status != DROVE_OK) {
        free(f);
        return status;
    }
    drove__named_print(&f->file->named, f->name);
    *out = f;
    return DROVE_OK;
}

void drove_memory_file_destroy(drove_memory_file *file)
{
    if (file == NULL) return;
    DROVE_END(file, "a file in memory");
    drove__memfile_release(file->file);
    drove__alive_free(file, free);
}

const char *drove_memory_file_name(const drove_memory_file *file)
{
    DROVE_ALIVE(file, "a file in memory");
    if (file == NULL) return NULL;
    return file->name;
}
