/* use/arrow.c - predictions as a record batch of the Arrow C data interface.
 *
 * A consumer may move columns out of a batch, so each has memory of its own; what is left in the
 * batch goes with it.
 */
#include "use/arrow.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/mem.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- schemas ---- */

static void release_field(struct ArrowSchema *field)
{
    free((char *)(uintptr_t)field->name);
    field->release = NULL;
}

typedef struct fields {        /* private data of a schema */
    struct ArrowSchema *field; /* [n] */
    struct ArrowSchema **pointer;
} fields;

static void free_fields(fields *f)
{
    free(f->field);
    free(f->pointer);
    free(f);
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *field = schema->children[i];
        if (field->release != NULL) field->release(field);
    }
    free_fields(schema->private_data);
    schema->release = NULL;
}

/* "Oslo", "2" or "value"; a single output of two classes is that of class 1. */
static char *name_output(const drove_predictor *predictor, size_t i)
{
    const drove_predictor_facts *facts = drove__predictor_facts(predictor);
    const bool is_pair = facts->n_classes == 2 && facts->n_outputs == 1;
    const size_t at = is_pair ? 1 : i;
    const char *name = drove__predictor_class(predictor, at);
    char number[24];
    if (name != NULL) return strdup(name);
    if (facts->n_classes == 0 && facts->n_outputs == 1) return strdup("value");
    snprintf(number, sizeof number, "%zu", at);
    return strdup(number);
}

static bool has_doubles(const drove_predictor *predictor)
{
    return drove__predictor_facts(predictor)->n_classes == 0;
}

drove_status drove__arrow_schema(const drove_predictor *predictor, struct ArrowSchema *out)
{
    const size_t n = drove__predictor_facts(predictor)->n_outputs;
    fields *f = calloc(1, sizeof *f);
    if (f == NULL) return drove__fail_nomem("a schema", sizeof *f);
    f->field = calloc(n, sizeof *f->field);
    f->pointer = calloc(n, sizeof *f->pointer);
    if (f->field == NULL || f->pointer == NULL) {
        free_fields(f);
        return drove__fail_nomem("a schema", n * sizeof *f->field);
    }
    *out = (struct ArrowSchema){.format = "+s",
                                .n_children = (int64_t)n,
                                .children = f->pointer,
                                .release = release_schema,
                                .private_data = f};
    for (size_t i = 0; i < n; i++) f->pointer[i] = &f->field[i];
    for (size_t i = 0; i < n; i++) {
        f->field[i] = (struct ArrowSchema){.format = has_doubles(predictor) ? "g" : "f",
                                           .name = name_output(predictor, i),
                                           .release = release_field};
        if (f->field[i].name != NULL) continue;
        out->release(out);
        return drove__fail_nomem("a schema", n);
    }
    return DROVE_OK;
}

/* ---- batches ---- */

typedef struct column { /* private data of a column */
    const void *buffer[2];
    double value[]; /* [n_rows] doubles, or as many floats */
} column;

static void release_column(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

typedef struct columns { /* private data of a batch */
    const void *no_bitmap;
    struct ArrowArray *column; /* [n] */
    struct ArrowArray **pointer;
} columns;

static void free_columns(columns *c)
{
    free(c->column);
    free(c->pointer);
    free(c);
}

static void release_batch(struct ArrowArray *batch)
{
    for (int64_t i = 0; i < batch->n_children; i++) {
        struct ArrowArray *array = batch->children[i];
        if (array->release != NULL) array->release(array);
    }
    free_columns(batch->private_data);
    batch->release = NULL;
}

drove_status drove__arrow_batch(const drove_predictor *predictor, const double *value,
                                size_t n_rows, size_t n, struct ArrowArray *out)
{
    columns *c = calloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("predictions", sizeof *c);
    c->column = calloc(n, sizeof *c->column);
    c->pointer = calloc(n, sizeof *c->pointer);
    if (c->column == NULL || c->pointer == NULL) {
        free_columns(c);
        return drove__fail_nomem("predictions", n * sizeof *c->column);
    }
    *out = (struct ArrowArray){.length = (int64_t)n_rows,
                               .n_buffers = 1,
                               .n_children = (int64_t)n,
                               .buffers = &c->no_bitmap,
                               .children = c->pointer,
                               .release = release_batch,
                               .private_data = c};
    for (size_t i = 0; i < n; i++) c->pointer[i] = &c->column[i];
    const bool is_double = has_doubles(predictor);
    for (size_t i = 0; i < n; i++) { /* column i of value[n_rows][n] */
        column *one = malloc(sizeof *one + n_rows * sizeof *one->value);
        if (one == NULL) {
            out->release(out);
            return drove__fail_nomem("predictions", n_rows * sizeof *one->value);
        }
        for (size_t row = 0; row < n_rows; row++) {
            const float narrow = (float)value[row * n + i];
            if (is_double) one->value[row] = value[row * n + i];
            else memcpy((char *)one->value + row * sizeof narrow, &narrow, sizeof narrow);
        }
        one->buffer[0] = NULL;
        one->buffer[1] = one->value;
        c->column[i] = (struct ArrowArray){.length = (int64_t)n_rows,
                                           .n_buffers = 2,
                                           .buffers = one->buffer,
                                           .release = release_column,
                                           .private_data = one};
    }
    return DROVE_OK;
}

drove_status drove_predictor_arrow(drove_predictor *predictor, const char *data, unsigned threads,
                                   struct ArrowSchema *schema, struct ArrowArray *batch)
{
    DROVE_ALIVE(predictor, "a predictor");
    DROVE_GIVEN(predictor);
    DROVE_GIVEN(data);
    DROVE_GIVEN(schema);
    DROVE_GIVEN(batch);
    const size_t n = drove__predictor_facts(predictor)->n_outputs;
    double *value;
    size_t n_rows;
    schema->release = NULL;
    batch->release = NULL;
    DROVE_TRY(drove__predictor_apply(predictor, data, threads, &value, &n_rows));
    drove_status status = drove__arrow_schema(predictor, schema);
    if (status == DROVE_OK) status = drove__arrow_batch(predictor, value, n_rows, n, batch);
    if (status != DROVE_OK && schema->release != NULL) schema->release(schema);
    free(value);
    return status;
}
