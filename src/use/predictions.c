/* use/predictions.c - formats of predictions: CSV with a header, bare lines, an NPY array.
 *
 * The columns of a row, beside the label and, of rows that are files, their name (`file`), or the
 * columns that are kept of a table:
 *   classes, probabilities   p_NAME for each class; one output for two classes gives both
 *   classes, other scores    score_NAME for each class, or `score` of the second class
 *   labels                   p_NAME for each label
 *   values                   `value`
 *
 * Threads: rows become text on the threads that predict them, which only read a `writer`; the
 * stream is written in order, by one thread at a time.
 */
#include "use/predictions.h"

#include "base/mem.h"
#include "base/print.h"
#include "data/read/npy.h"
#include "model/loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const drove_predictions *what;
    const drove_model *model;
    size_t n_columns; /* of a row, without the label */
    bool has_label;   /* of classes: the label stands before the columns */
    bool is_pair;     /* one probability for two classes: both are written */
    char **name;      /* [n_classes] as the format writes it; NULL for values */
    bool is_left;     /* the reader of the pipe has gone */
} writer;

/* ---- names ---- */

/* In memory of malloc; NULL: there is none. */
static char *field(const char *prefix, const char *text)
{
    char *out =
        drove__grow(NULL, DROVE_PRINT_CELL_SIZE(strlen(prefix) + strlen(text)), sizeof *out);
    return out != NULL ? drove__print_cell(prefix, text, out) : NULL;
}

/* The field of a class or label, or its name in one line.  In memory of malloc; NULL: none left. */
static char *class_field(const writer *w, const char *prefix, size_t class)
{
    const bool is_csv = w->what->format == DROVE_PREDICT_CSV;
    char number[32];
    snprintf(number, sizeof number, "%zu", class);
    const char *name = w->what->class_name != NULL ? w->what->class_name[class] : number;
    if (is_csv) return field(prefix, name);
    enum { ESCAPE = 4 }; /* bytes of \xNN */
    const size_t size = ESCAPE * strlen(name) + 1;
    char *out = drove__grow(NULL, size, 1);
    return out != NULL ? drove__print_plain(name, out, size) : NULL;
}

/* ---- rows as text ---- */

static drove_status put_text(drove_infer_text *to, const char *text)
{
    size_t n = strlen(text);
    if (n == 0) return DROVE_OK;
    DROVE_TRY(drove__infer_reserve(to, n));
    memcpy(to->bytes + to->n_bytes, text, n);
    to->n_bytes += n;
    return DROVE_OK;
}

/* Numbers with commas between them; with an origin they need more digits than a float's. */
static drove_status put_values(drove_infer_text *to, const writer *w, const float *value, size_t n)
{
    const double *origin = w->what->y_origin;
    if (origin == NULL) {
        DROVE_TRY(drove__infer_reserve(to, n * (DROVE_PRINT_FLOAT_SIZE + 1)));
        for (size_t i = 0; i < n; i++) {
            if (i > 0) to->bytes[to->n_bytes++] = ',';
            to->n_bytes += drove__print_float(value[i], to->bytes + to->n_bytes);
        }
        return DROVE_OK;
    }
    DROVE_TRY(drove__infer_reserve(to, n * DROVE_PRINT_FAR_SIZE));
    for (size_t i = 0; i < n; i++) {
        if (i > 0) to->bytes[to->n_bytes++] = ',';
        to->n_bytes += drove__print_far(value[i], origin[i], to->bytes + to->n_bytes);
    }
    return DROVE_OK;
}

/* Class of an example: the largest output, or, of the losses with one output for two classes, its
 * side.  A margin's sides meet at 0, a probability's at one half. */
static size_t class_of(const writer *w, const float *prob)
{
    if (w->what->threshold.by == DROVE_THRESHOLD_NUMBER)
        return prob[w->model->n_outputs - 1] >= (float)w->what->threshold.number ? 1 : 0;
    if (w->model->n_outputs > 1) {
        size_t best = 0;
        for (size_t i = 1; i < w->model->n_outputs; i++) {
            if (prob[i] > prob[best]) best = i;
        }
        return best;
    }
    return prob[0] > (w->model->loss->gives_probability ? 0.5f : 0.0f) ? 1 : 0;
}

static drove_status put_line(drove_infer_text *to, const writer *w, const float *prob)
{
    if (w->what->all_outputs || w->what->io.n_classes == 0)
        return put_values(to, w, prob, w->model->n_outputs);
    if (w->what->io.is_multi_label) {
        /* The names of the labels that are more probable than not. */
        const char *comma = "";
        for (size_t i = 0; i < w->model->n_outputs; i++) {
            if (!(prob[i] > 0.5f)) continue;
            DROVE_TRY(put_text(to, comma));
            DROVE_TRY(put_text(to, w->name[i]));
            comma = ",";
        }
        return DROVE_OK;
    }
    return put_text(to, w->name[class_of(w, prob)]);
}

static drove_status put_csv(drove_infer_text *to, const writer *w, size_t i, const float *prob)
{
    const float both[2] = {1.0f - prob[0], prob[0]};
    if (w->what->files != NULL) {
        /* The name of the file that the row is, or the cells that are kept of it, each with a
         * comma. */
        const drove_storage *s = w->what->files->storage;
        const size_t n = s->n_kept > 0 ? s->n_kept : 1;
        for (size_t k = 0; k < n; k++) {
            const char *text =
                s->row_names + s->row_name_at[drove__data_row(w->what->files, i) * n + k];
            char *name = *text != '\0' ? field("", text) : strdup("");
            if (name == NULL) return drove__fail_nomem("names of rows", 1);
            drove_status status = put_text(to, name);
            free(name);
            if (status == DROVE_OK) status = put_text(to, ",");
            DROVE_TRY(status);
        }
    }
    if (w->has_label) {
        DROVE_TRY(put_text(to, w->name[class_of(w, prob)]));
        DROVE_TRY(put_text(to, ","));
    }
    return put_values(to, w, w->is_pair ? both : prob, w->n_columns);
}

static drove_status put_npy(drove_infer_text *to, const writer *w, const float *prob)
{
    const float both[2] = {1.0f - prob[0], prob[0]};
    if (w->what->io.n_classes == 0) {
        /* Little-endian doubles. */
        DROVE_TRY(drove__infer_reserve(to, w->n_columns * sizeof(double)));
        for (size_t i = 0; i < w->n_columns; i++) {
            const double whole =
                (double)prob[i] + (w->what->y_origin != NULL ? w->what->y_origin[i] : 0.0);
            uint64_t bits;
            memcpy(&bits, &whole, sizeof bits);
            for (unsigned shift = 0; shift < 64; shift += 8)
                to->bytes[to->n_bytes++] = (char)(bits >> shift);
        }
        return DROVE_OK;
    }
    const float *value = w->is_pair ? both : prob;
    /* Little-endian floats. */
    DROVE_TRY(drove__infer_reserve(to, w->n_columns * sizeof *value));
    for (size_t i = 0; i < w->n_columns; i++) {
        uint32_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        for (unsigned shift = 0; shift < 32; shift += 8)
            to->bytes[to->n_bytes++] = (char)(bits >> shift);
    }
    return DROVE_OK;
}

static drove_status prepare(void *context, drove_infer_chunk *chunk)
{
    const writer *w = context;
    for (size_t i = 0; i < chunk->n_rows; i++) {
        const float *prob = chunk->prob + i * w->model->n_outputs;
        switch (w->what->format) {
        case DROVE_PREDICT_NPY: DROVE_TRY(put_npy(&chunk->text, w, prob)); continue;
        case DROVE_PREDICT_CSV: DROVE_TRY(put_csv(&chunk->text, w, chunk->first + i, prob)); break;
        case DROVE_PREDICT_LINES: DROVE_TRY(put_line(&chunk->text, w, prob)); break;
        }
        DROVE_TRY(put_text(&chunk->text, "\n"));
    }
    return DROVE_OK;
}

/* ---- writing ---- */

static drove_status fail_writing(writer *w, int error)
{
    w->is_left = error == EPIPE;
    return drove__fail_errno(DROVE_E_IO, error, "cannot write the predictions");
}

static drove_status write_bytes(writer *w, const void *bytes, size_t n)
{
    errno = 0;
    return fwrite(bytes, 1, n, w->what->stream) == n ? DROVE_OK : fail_writing(w, errno);
}

static drove_status take(void *context, const drove_infer_chunk *chunk)
{
    return write_bytes(context, chunk->text.bytes, chunk->text.n_bytes);
}

static drove_status header_columns(const writer *w, drove_infer_text *to)
{
    const char *prefix = w->model->loss->gives_probability ? "p_" : "score_";
    const drove_storage *names = w->what->files != NULL ? w->what->files->storage : NULL;
    if (names != NULL && names->n_kept == 0) DROVE_TRY(put_text(to, "file,"));
    for (size_t k = 0; names != NULL && k < names->n_kept; k++) {
        char *name = field("", names->kept_name[k]);
        if (name == NULL) return drove__fail_nomem("names of columns", names->n_kept);
        drove_status status = put_text(to, name);
        free(name);
        if (status == DROVE_OK) status = put_text(to, ",");
        DROVE_TRY(status);
    }
    if (w->what->io.n_classes == 0 && w->n_columns == 1) return put_text(to, "value");
    if (w->what->io.n_classes == 0) prefix = "";
    if (w->has_label) DROVE_TRY(put_text(to, "label,"));
    if (w->n_columns == 1 && !w->what->io.is_multi_label) return put_text(to, "score");
    for (size_t k = 0; k < w->n_columns; k++) {
        char *name = class_field(w, prefix, k);
        if (name == NULL) return drove__fail_nomem("class names", w->n_columns);
        drove_status status = k > 0 ? put_text(to, ",") : DROVE_OK;
        if (status == DROVE_OK) status = put_text(to, name);
        free(name);
        DROVE_TRY(status);
    }
    return DROVE_OK;
}

/* Of the formats that have one. */
static drove_status write_header(writer *w)
{
    if (w->what->format == DROVE_PREDICT_CSV) {
        drove_infer_text text = {0};
        drove_status status = header_columns(w, &text);
        if (status == DROVE_OK) status = put_text(&text, "\n");
        if (status == DROVE_OK) status = write_bytes(w, text.bytes, text.n_bytes);
        free(text.bytes);
        return status;
    }
    if (w->what->format == DROVE_PREDICT_NPY) {
        const size_t shape[2] = {w->what->infer.data->n_rows, w->n_columns};
        char header[DROVE_NPY_HEADER_SIZE];
        const bool are_values = w->what->io.n_classes == 0;
        const unsigned rank = are_values && w->n_columns == 1 ? 1 : 2;
        return write_bytes(w, header,
                           drove__npy_header(are_values ? "<f8" : "<f4", rank, shape, header));
    }
    return DROVE_OK;
}

drove_status drove__predictions_write(const drove_predictions *what)
{
    const drove_model *model = what->infer.model;
    bool has_classes = what->io.n_classes > 0 && !what->io.is_multi_label;
    bool is_pair = has_classes && model->n_outputs == 1 && model->loss->gives_probability;
    writer w = {.what = what,
                .model = model,
                .n_columns = is_pair ? 2 : model->n_outputs,
                .has_label = has_classes,
                .is_pair = is_pair};
    drove_infer infer = what->infer;
    infer.with_score = false;
    infer.prepare = prepare;
    infer.take = take;
    infer.context = &w;
    drove_status status = DROVE_OK;
    const size_t n = what->io.n_classes;
    if (n > 0) w.name = calloc(n, sizeof *w.name);
    bool has_names = n == 0 || w.name != NULL;
    for (size_t k = 0; has_names && k < n; k++) {
        w.name[k] = class_field(&w, "", k);
        has_names = w.name[k] != NULL;
    }
    if (!has_names) status = drove__fail_nomem("class names", n * sizeof *w.name);
    if (status != DROVE_OK || (status = write_header(&w)) != DROVE_OK) goto end;
    if ((status = drove__infer_run(&infer)) != DROVE_OK) goto end;
    errno = 0;
    if (fflush(what->stream) != 0) status = fail_writing(&w, errno);
end:
    drove__texts_free(w.name, n);
    return w.is_left ? DROVE_OK : status;
}
