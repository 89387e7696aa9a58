/* use/arrow_stream.c - predictions for a stream of record batches, as another stream.
 *
 * A batch of rows is pulled, predicted and released when its predictions are asked for.  A stream
 * belongs to one thread at a time, which the interface demands.
 */
#include "use/arrow.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/mem.h"
#include "base/status.h"
#include "table/frame.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct prediction_stream { /* private data */
    drove_predictor *predictor;    /* one reference */
    unsigned threads;
    struct ArrowArrayStream rows; /* ours */
    struct ArrowSchema schema;    /* of rows; ours */
    char error[DROVE_ERROR_TEXT_SIZE];
} prediction_stream;

static void free_stream(prediction_stream *s)
{
    if (s->schema.release != NULL) s->schema.release(&s->schema);
    if (s->rows.release != NULL) s->rows.release(&s->rows);
    if (s->predictor != NULL) drove__predictor_release(s->predictor);
    free(s);
}

/* ---- rows ---- */

static void keep_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static drove_status fail_cell(const drove_frame_column *column, size_t row, const char *found)
{
    return drove__fail(DROVE_E_DATA,
                       "predictions: column \"%.80s\": row %zu: expected a number, found %s",
                       column->name, row + 1, found);
}

/* A model of rows of numbers: the columns are its features, in their order. */
static drove_status predict_numbers(const prediction_stream *s, const drove_frame *frame,
                                    double **into, size_t *n_rows)
{
    const size_t n = drove__predictor_facts(s->predictor)->n_features;
    drove_arrays *arrays = NULL;
    if (frame->n_columns != n)
        return drove__fail(DROVE_E_SHAPE,
                           "predictions: expected %zu columns, as in the training data, found %zu",
                           n, frame->n_columns);
    double *x = drove__grow(NULL, frame->n_rows, n * sizeof *x);
    if (x == NULL) return drove__fail_nomem("rows", frame->n_rows * n * sizeof *x);
    const drove_matrix matrix = drove_matrix_dense(x, DROVE_TYPE_F64, frame->n_rows, n);
    drove_status status;
    for (size_t k = 0; k < n; k++) {
        const drove_frame_column *column = &frame->column[k];
        const bool is_text = drove__frame_is_text(column);
        if (is_text || column->type == DROVE_FRAME_DATE) {
            status = fail_cell(column, 0, is_text ? "a column of texts" : "a column of dates");
            goto fail;
        }
        for (size_t row = 0; row < frame->n_rows; row++) {
            x[row * n + k] = drove__frame_number(column, row);
            if (!isnan(x[row * n + k])) continue;
            status = fail_cell(column, row, "a missing cell");
            goto fail;
        }
    }
    if ((status = drove_arrays_create(&arrays)) != DROVE_OK) goto fail;
    if ((status = drove_arrays_set_dense(arrays, &matrix)) != DROVE_OK) goto fail;
    status =
        drove__predictor_apply(s->predictor, drove_arrays_name(arrays), s->threads, into, n_rows);
fail:
    drove_arrays_destroy(arrays);
    free(x);
    return status;
}

/* The library's own name of a batch says nothing to those who read the stream. */
static int fail_with(prediction_stream *s, drove_status status, const char *name)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    const size_t n = strlen(name);
    drove__error_copy(text);
    const bool has_name = n > 0 && strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0;
    snprintf(s->error, sizeof s->error, "%s", has_name ? text + n + 2 : text);
    return status == DROVE_E_NOMEM ? ENOMEM : EINVAL;
}

/* batch: released whatever comes out. */
static int predict_batch(prediction_stream *s, struct ArrowArray *batch, struct ArrowArray *out)
{
    const size_t n = drove__predictor_facts(s->predictor)->n_outputs;
    const bool is_empty = batch->length == 0;
    int code = 0;
    drove_arrow_table *table = NULL;
    char name[DROVE_NAMED_SIZE] = "";
    double *value = NULL;
    size_t n_rows = 0;
    drove_status status;
    /* The schema stays ours, for the next batch. */
    struct ArrowSchema lent = s->schema;
    lent.release = keep_schema;
    if ((status = drove_arrow_table_create(&lent, batch, &table)) != DROVE_OK) goto fail;
    snprintf(name, sizeof name, "%s", drove_arrow_table_name(table));
    if (!is_empty && drove__predictor_facts(s->predictor)->is_table) {
        char spec[DROVE_NAMED_SIZE + 16];
        snprintf(spec, sizeof spec, "table:%s", name);
        status = drove__predictor_apply(s->predictor, spec, s->threads, &value, &n_rows);
    } else if (!is_empty) {
        drove_frame *frame = drove__frame_find(name);
        status = predict_numbers(s, frame, &value, &n_rows);
        drove__frame_release(frame);
    }
    if (status != DROVE_OK) goto fail;
    status = drove__arrow_batch(s->predictor, value, n_rows, n, out);
fail:
    if (status != DROVE_OK) code = fail_with(s, status, name);
    drove_arrow_table_destroy(table);
    free(value);
    return code;
}

/* ---- the stream ---- */

static void keep_error_of_rows(prediction_stream *s, int code)
{
    const char *text = s->rows.get_last_error != NULL ? s->rows.get_last_error(&s->rows) : NULL;
    if (text != NULL) /* its first line: the others may be a trace of calls */
        snprintf(s->error, sizeof s->error, "%.*s", (int)strcspn(text, "\r\n"), text);
    else snprintf(s->error, sizeof s->error, "the stream of rows gave no batch (error %d)", code);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    prediction_stream *s = stream->private_data;
    const drove_status status = drove__arrow_schema(s->predictor, out);
    return status == DROVE_OK ? 0 : fail_with(s, status, "");
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    prediction_stream *s = stream->private_data;
    struct ArrowArray batch = {.release = NULL};
    out->release = NULL;
    const int code = s->rows.get_next(&s->rows, &batch);
    if (code != 0) {
        keep_error_of_rows(s, code);
        return code;
    }
    return batch.release == NULL ? 0 : predict_batch(s, &batch, out);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const prediction_stream *s = stream->private_data;
    return s->error[0] != '\0' ? s->error : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    free_stream(stream->private_data);
    stream->release = NULL;
}

drove_status drove_predictor_stream(drove_predictor *predictor, struct ArrowArrayStream *rows,
                                    unsigned threads, struct ArrowArrayStream *out)
{
    DROVE_ALIVE(predictor, "a predictor");
    DROVE_GIVEN(predictor);
    DROVE_GIVEN(rows);
    DROVE_GIVEN(out);
    out->release = NULL;
    const drove_predictor_facts *facts = drove__predictor_facts(predictor);
    drove_status status;
    int code;
    prediction_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        status = drove__fail_nomem("a stream", sizeof *s);
        goto fail;
    }
    if (rows->release == NULL || rows->get_schema == NULL || rows->get_next == NULL) {
        status = drove__fail(DROVE_E_DATA, "arrow: expected a stream, found one that was released");
        goto fail;
    }
    s->rows = *rows; /* moved */
    rows->release = NULL;
    if ((code = s->rows.get_schema(&s->rows, &s->schema)) != 0) {
        keep_error_of_rows(s, code);
        status = drove__fail(DROVE_E_DATA, "arrow: %s", s->error);
        goto fail;
    }
    if (facts->is_sparse && !facts->is_table) {
        status = drove__fail(DROVE_E_UNSUPPORTED,
                             "predictions: expected a model of a table or of dense rows, found one "
                             "of sparse rows");
        goto fail;
    }
    drove__predictor_retain(predictor);
    s->predictor = predictor;
    s->threads = threads;
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_stream,
                                     .private_data = s};
    return DROVE_OK;
fail:
    if (rows->release != NULL) rows->release(rows);
    rows->release = NULL;
    if (s != NULL) free_stream(s);
    return status;
}
