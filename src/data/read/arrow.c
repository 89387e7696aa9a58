/* data/read/arrow.c - <drove/arrow.h>: record batches of the Arrow C data interface become a
 * frame. */
#include <drove/arrow.h>

#include "base/alive.h"
#include "base/given.h"
#include "base/mem.h"
#include "base/sort.h"
#include "data/matrix.h"
#include "data/read/arrow_cells.h"
#include "table/content.h"
#include "table/raw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct drove_arrow_table {
    drove_frame *frame; /* one reference */
};

typedef struct import {
    drove_frame *frame;
    drove_arrow_field *field; /* [n_fields] */
    size_t n_fields;
} import;

/* ---- releasing ---- */

static void release_schema(struct ArrowSchema *schema)
{
    if (schema->release != NULL) schema->release(schema);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    if (array->release != NULL) array->release(array);
    array->release = NULL;
}

static void free_import(import *m)
{
    for (size_t i = 0; m->field != NULL && i < m->n_fields; i++) free(m->field[i].name);
    free(m->field);
    drove__frame_release(m->frame);
}

/* ---- the schema ---- */

/* The caller calls free_import even after a failure. */
static drove_status begin(const struct ArrowSchema *schema, import *m)
{
    *m = (import){.frame = NULL};
    if (schema->release == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: expected a schema, found one that was released");
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return drove__fail(DROVE_E_DATA,
                           "arrow: expected the schema of a table, \"+s\", found \"%.40s\"",
                           schema->format != NULL ? schema->format : "none");
    if (schema->n_children < 1 || schema->n_children > DROVE_FRAME_COLUMNS_MOST)
        return drove__fail(DROVE_E_DATA, "arrow: expected 1 to %d columns, found %lld",
                           DROVE_FRAME_COLUMNS_MOST, (long long)schema->n_children);
    m->n_fields = (size_t)schema->n_children;
    m->field = calloc(m->n_fields, sizeof *m->field);
    if (m->field == NULL) return drove__fail_nomem("columns", m->n_fields * sizeof *m->field);
    for (size_t i = 0; i < m->n_fields; i++) DROVE_TRY(drove__arrow_field(schema, i, &m->field[i]));
    char **name = drove__grow(NULL, m->n_fields, sizeof *name);
    drove_status status = DROVE_OK;
    if (name == NULL) return drove__fail_nomem("names of columns", m->n_fields * sizeof *name);
    for (size_t i = 0; i < m->n_fields; i++) name[i] = m->field[i].name;
    qsort(name, m->n_fields, sizeof *name, drove__compare_texts);
    for (size_t i = 1; i < m->n_fields && status == DROVE_OK; i++) {
        if (strcmp(name[i - 1], name[i]) == 0)
            status = drove__fail(DROVE_E_DATA,
                                 "arrow: expected columns with different names, found two called "
                                 "\"%.80s\"",
                                 name[i]);
    }
    free(name);
    DROVE_TRY(status);
    DROVE_TRY(drove__frame_create(m->n_fields, &m->frame));
    for (size_t i = 0; i < m->n_fields; i++) {
        const drove_arrow_field *field = &m->field[i];
        drove_frame_column *column = &m->frame->column[i];
        column->type =
            field->is_dictionary ? DROVE_FRAME_CATEGORY : drove__arrow_frame_type(&field->type);
        column->is_unsigned = field->type.is_unsigned;
        column->is_wide = !field->is_dictionary && drove__arrow_is_wide(&field->type);
        column->name = strdup(field->name);
        if (column->name == NULL) return drove__fail_nomem("columns", strlen(field->name));
    }
    return DROVE_OK;
}

/* ---- batches ---- */

static drove_status add_batch(import *m, const struct ArrowArray *batch)
{
    const uint8_t *valid = NULL;
    if (batch->n_children != (int64_t)m->n_fields || batch->children == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: expected %zu columns in a batch, found %lld",
                           m->n_fields, (long long)batch->n_children);
    if (batch->length < 0 || batch->offset < 0 || batch->length > UINT32_MAX ||
        batch->offset > INT64_MAX - batch->length)
        return drove__fail(DROVE_E_DATA,
                           "arrow: expected a batch of 0 to %u rows, found %lld from %lld on",
                           UINT32_MAX, (long long)batch->length, (long long)batch->offset);
    if (m->frame->n_rows + (size_t)batch->length > UINT32_MAX)
        return drove__fail(DROVE_E_DATA, "arrow: expected at most %u rows, found more", UINT32_MAX);
    if (batch->n_buffers != 1 || batch->buffers == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: expected one buffer of a batch, found %lld",
                           batch->buffers != NULL ? (long long)batch->n_buffers : 0);
    valid = batch->buffers[0];
    for (int64_t i = batch->offset; valid != NULL && i < batch->offset + batch->length; i++) {
        if ((valid[i / 8] >> (i % 8) & 1) != 0) continue;
        return drove__fail(DROVE_E_DATA,
                           "arrow: row %zu: expected a row of a record batch, found null",
                           m->frame->n_rows + (size_t)(i - batch->offset) + 1);
    }
    const size_t n = (size_t)batch->length, n_rows = m->frame->n_rows;
    for (size_t i = 0; i < m->n_fields; i++)
        DROVE_TRY(drove__arrow_read(&m->field[i], batch->children[i], (size_t)batch->offset, n,
                                    &m->frame->column[i], n_rows));
    m->frame->n_rows += n;
    return DROVE_OK;
}

/* Takes the frame over. */
static drove_status finish(import *m, drove_arrow_table **out)
{
    for (size_t i = 0; i < m->n_fields; i++)
        DROVE_TRY(drove__frame_settle(&m->frame->column[i], m->frame->n_rows));
    drove_arrow_table *table = malloc(sizeof *table);
    if (table == NULL) return drove__fail_nomem("a table", sizeof *table);
    table->frame = m->frame;
    m->frame = NULL;
    *out = table;
    return DROVE_OK;
}

drove_status drove_arrow_table_create(struct ArrowSchema *schema, struct ArrowArray *batch,
                                      drove_arrow_table **out)
{
    DROVE_GIVEN(schema);
    DROVE_GIVEN(batch);
    DROVE_GIVEN(out);
import m;
    *out = NULL;
    drove_status status = begin(schema, &m);
    if (status != DROVE_OK) goto end;
    if (batch->release == NULL) {
        status = drove__fail(DROVE_E_DATA, "arrow: expected a batch, found one that was released");
        goto end;
    }
    if ((status = add_batch(&m, batch)) != DROVE_OK) goto end;
    status = finish(&m, out);
end:
    free_import(&m);
    release_array(batch);
    release_schema(schema);
    return status;
}

/* ---- streams ---- */

static drove_status fail_stream(struct ArrowArrayStream *stream, const char *what, int code)
{
    const char *text = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
    return drove__fail(DROVE_E_DATA, "arrow: the stream gave no %s: %.300s (error %d)", what,
                       text != NULL ? text : "it does not say why", code);
}

static drove_status read_stream(struct ArrowArrayStream *stream, import *m)
{
    struct ArrowSchema schema = {.release = NULL};
    *m = (import){.frame = NULL};
    if (stream->release == NULL || stream->get_schema == NULL || stream->get_next == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: expected a stream, found one that was released");
    const int code = stream->get_schema(stream, &schema);
    if (code != 0) return fail_stream(stream, "schema", code);
    drove_status status = begin(&schema, m);
    release_schema(&schema);
    DROVE_TRY(status);
    while (true) {
        struct ArrowArray batch = {.release = NULL};
        const int error = stream->get_next(stream, &batch);
        if (error != 0) return fail_stream(stream, "batch", error);
        if (batch.release == NULL) return DROVE_OK;
        status = add_batch(m, &batch);
        release_array(&batch);
        DROVE_TRY(status);
    }
}

drove_status drove_arrow_table_from_stream(struct ArrowArrayStream *stream, drove_arrow_table **out)
{
    DROVE_GIVEN(stream);
    DROVE_GIVEN(out);
import m;
    *out = NULL;
    drove_status status = read_stream(stream, &m);
    if (status == DROVE_OK) status = finish(&m, out);
    free_import(&m);
    if (stream->release != NULL) stream->release(stream);
    stream->release = NULL;
    return status;
}

void drove_arrow_table_destroy(drove_arrow_table *table)
{
    if (table == NULL) return;
    DROVE_END(table, "a table");
    drove__frame_release(table->frame);
    drove__alive_free(table, free);
}

/* ---- the table ---- */

const char *drove_arrow_table_name(const drove_arrow_table *table)
{
    DROVE_ALIVE(table, "a table");
    if (table == NULL) return NULL;
    return table->frame->name;
}

size_t drove_arrow_table_n_rows(const drove_arrow_table *table)
{
    DROVE_ALIVE(table, "a table");
    if (table == NULL) return 0;
    return table->frame->n_rows;
}

size_t drove_arrow_table_bytes(const drove_arrow_table *table)
{
    DROVE_ALIVE(table, "a table");
    if (table == NULL) return 0;
    return drove__frame_bytes(table->frame);
}

static drove_status add_category(const drove_matrix *values, const char *const *text,
                                 size_t n_texts, drove_frame_column *column)
{
    uint32_t *word = drove__grow(NULL, n_texts > 0 ? n_texts : 1, sizeof *word);
    drove_status status =
        word != NULL ? DROVE_OK : drove__fail_nomem("texts", n_texts * sizeof *word);
    for (size_t k = 0; k < n_texts && status == DROVE_OK; k++)
        status = drove__frame_intern(column, text[k], strlen(text[k]), &word[k]);
    /* word[n_texts]: what stands for each text in the column. */
    if (status != DROVE_OK) goto end;
    for (size_t i = 0; i < values->n_rows; i++) {
        const double value = drove__matrix_at(values, i, 0);
        column->raw[i] = 0;
        if (isnan(value)) continue;
        if (!(value >= 0 && value < (double)n_texts && value == floor(value))) {
            status =
                drove__fail(DROVE_E_DATA,
                            "arrow: column \"%.80s\": row %zu: expected a number of one of %zu "
                            "texts, found %g",
                            column->name, i + 1, n_texts, value);
            goto end;
        }
        column->raw[i] = word[(size_t)value];
    }
end:
    free(word);
    return status;
}

drove_status drove_arrow_table_add(drove_arrow_table *table, const char *name,
                                   const drove_matrix *values, const char *const *text,
                                   size_t n_texts)
{
    DROVE_ALIVE(table, "a table");
    DROVE_GIVEN(table);
    DROVE_GIVEN(name);
    DROVE_GIVEN(values);
    drove_frame *frame = table->frame;
    DROVE_TRY(drove__matrix_check(values, "arrow"));
    if (values->n_rows != frame->n_rows || values->n_columns != 1)
        return drove__fail(DROVE_E_SHAPE,
                           "arrow: column \"%.80s\": expected %zu x 1 numbers, one for each row, "
                           "found %zu x %zu",
                           name, frame->n_rows, values->n_rows, values->n_columns);
    for (size_t i = 0; i < frame->n_columns; i++) {
        if (strcmp(frame->column[i].name, name) == 0)
            return drove__fail(DROVE_E_ARG,
                               "arrow: expected a name that no column has, found \"%.80s\"", name);
    }
    if (*name == '\0' || !drove__is_utf8(name, strlen(name)))
        return drove__fail(DROVE_E_ARG, "arrow: expected a name in UTF-8, found \"%.80s\"", name);
    drove_frame_column column = {.type = text != NULL ? DROVE_FRAME_CATEGORY : DROVE_FRAME_NUMBER,
                                 .is_wide = text == NULL,
                                 .name = strdup(name)};
    drove_status status =
        column.name != NULL ? DROVE_OK : drove__fail_nomem("a column", strlen(name));
    if (status != DROVE_OK) goto fail;
    if ((status = drove__frame_reserve(&column, frame->n_rows)) != DROVE_OK) goto fail;
    if (text == NULL) {
        for (size_t i = 0; i < values->n_rows; i++)
            column.number[i] = drove__matrix_at(values, i, 0);
        status = drove__frame_settle(&column, frame->n_rows);
    } else status = add_category(values, text, n_texts, &column);
    if (status != DROVE_OK) goto fail;
    drove_frame_column *grown = drove__grow(frame->column, frame->n_columns + 1, sizeof *grown);
    if (grown == NULL) {
        status = drove__fail_nomem("a column", sizeof *grown);
        goto fail;
    }
    frame->column = grown;
    frame->column[frame->n_columns++] = column;
    return DROVE_OK;
fail:
    drove__frame_column_fini(&column);
    return status;
}
