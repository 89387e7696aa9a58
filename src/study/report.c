/* study/report.c - drove_report: reads runs once, and writes what is asked for: the table of their
 * evaluations, the page, pictures.
 */
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/print.h"
#include "study/page/page.h"
#include "study/records.h"
#include "study/runs_read.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static const char *const measured[] = {"train_s",         "epochs",         "updates",
                                       "examples",        "examples_per_s", "loss",
                                       "accuracy",        "test_loss",      "test_accuracy",
                                       "validation_loss", "distance",       "attempts",
                                       "dropped"};

static void print_text(const char *text, FILE *stream)
{
    char cut[PATH_MAX], cell[DROVE_PRINT_CELL_SIZE(PATH_MAX)];
    snprintf(cut, sizeof cut, "%s", text);
    if (cut[0] != '\0') fputs(drove__print_cell("", cut, cell), stream);
}

static void print_cell(const json_t *value, FILE *stream)
{
    char text[DROVE_CELL_SIZE];
    fputc(',', stream);
    print_text(drove__cell_text(value, text), stream);
}

typedef struct table {
    const json_t *run;
    json_t *varied, *final;
    FILE *stream;
    size_t n_rows;            /* of this run */
    char *beginning, *ending; /* of each of its rows, made once: it may have a million */
} table;

static void print_beginning(const table *t, FILE *stream)
{
    const char *name;
    json_t *value;
    print_text(json_string_value(json_object_get(t->run, "run")), stream);
    print_cell(json_object_get(t->run, "outcome"), stream);
    json_object_foreach(t->varied, name, value)
        print_cell(json_object_get(json_object_get(t->run, "options"), name), stream);
}

static void print_ending(const table *t, FILE *stream)
{
    const char *name;
    json_t *value;
    json_object_foreach(t->final, name, value)
        print_cell(json_object_get(json_object_get(t->run, "final"), name), stream);
    fputc('\n', stream);
}

static drove_status make_text(const table *t, void (*print)(const table *t, FILE *stream),
                              char **out)
{
    size_t n_bytes;
    FILE *stream = open_memstream(out, &n_bytes);
    if (stream == NULL) return drove__fail_nomem("a row", 1);
    print(t, stream);
    bool is_whole = ferror(stream) == 0;
    is_whole = fclose(stream) == 0 && is_whole;
    return is_whole ? DROVE_OK : drove__fail_nomem("a row", n_bytes);
}

/* record NULL: the run has no evaluation. */
static void print_row(const table *t, const json_t *record)
{
    fputs(t->beginning, t->stream);
    if (record != NULL) fprintf(t->stream, ",%zu", t->n_rows);
    else fputc(',', t->stream);
    for (size_t i = 0; i < DROVE_COUNT(measured); i++)
        print_cell(json_object_get(record, measured[i]), t->stream);
    fputs(t->ending, t->stream);
}

static drove_status add_row(void *to, const json_t *record)
{
    table *t = to;
    t->n_rows++;
    print_row(t, record);
    return DROVE_OK;
}

static drove_status print_run(table *t, const drove_report_options *opt)
{
    const drove_records in = {.path = json_string_value(json_object_get(t->run, "log")),
                              .message = opt->message,
                              .context = opt->context};
    drove_status status = make_text(t, print_beginning, &t->beginning);
    if (status == DROVE_OK) status = make_text(t, print_ending, &t->ending);
    if (status != DROVE_OK) goto fail;

    t->n_rows = 0;
    if (in.path != NULL) status = drove__records_each(&in, add_row, t, NULL);
    if (status == DROVE_OK && t->n_rows == 0) { /* of a run without a log its end, if it has one */
        t->n_rows = 1;
        print_row(t, json_array_get(json_object_get(t->run, "evaluations"), 0));
    }

fail:
    free(t->beginning);
    free(t->ending);
    t->beginning = t->ending = NULL;
    return status;
}

/* Writes a row for each evaluation of each run, with all lines of its log, which is read again. */
static drove_status write_csv(const json_t *runs, const drove_report_options *opt)
{
    drove_writer *writer = NULL;
    table t = {.varied = drove__runs_varied(runs), .final = json_object()};
    json_t *run, *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run) json_object_foreach(json_object_get(run, "final"), name, value)
        drove__json_set(&t.final, name, json_true());
    drove_status status = DROVE_OK;
    if (t.varied == NULL || t.final == NULL) {
        status = drove__fail_nomem("columns", 1);
        goto fail;
    }
    if ((status = drove__writer_create(opt->csv, &writer)) != DROVE_OK) goto fail;
    t.stream = drove__writer_stream(writer);

    fputs("run,outcome", t.stream);
    json_object_foreach(t.varied, name, value)
    {
        fputs(",option.", t.stream);
        print_text(name, t.stream);
    }
    fputs(",evaluation", t.stream);
    for (size_t k = 0; k < DROVE_COUNT(measured); k++) fprintf(t.stream, ",%s", measured[k]);
    json_object_foreach(t.final, name, value)
    {
        fputc(',', t.stream);
        print_text(name, t.stream);
    }
    fputc('\n', t.stream);

    for (i = 0; i < json_array_size(runs) && status == DROVE_OK; i++) {
        t.run = json_array_get(runs, i);
        status = print_run(&t, opt);
    }
    if (status == DROVE_OK) status = drove__writer_commit(writer);
    else drove__writer_abort(writer);
fail:
    json_decref(t.varied);
    json_decref(t.final);
    return status;
}

/* ---- the whole ---- */

static bool is_given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

drove_status drove_report(const drove_report_options *options)
{
    DROVE_GIVEN(options);
    DROVE_GIVEN_AS(options->folder, "options->folder");
    for (size_t i = 0; i < options->n_folders; i++)
        DROVE_GIVEN_AS(options->folder[i], "options->folder");
    DROVE_IN_C_LOCALE;
    json_t *runs;
    const drove_report_options *o = options;
    if (o->n_folders == 0)
        return drove__fail(DROVE_E_ARG, "report: expected folders of runs, found none");
    if (!is_given(o->csv) && !is_given(o->html) && !is_given(o->svg) && !is_given(o->pdf))
        return drove__fail(DROVE_E_ARG, "report: expected a file to write, found none");
    DROVE_TRY(drove__runs_read(o, &runs));
    drove_status status = DROVE_OK;
    if (is_given(o->csv)) status = write_csv(runs, o);
    if (status == DROVE_OK && is_given(o->svg)) status = drove__page_figures(runs, false, o->svg);
    if (status == DROVE_OK && is_given(o->pdf)) status = drove__page_figures(runs, true, o->pdf);
    if (status == DROVE_OK && is_given(o->html))
        status = drove__page_write(runs, o->html, o->message, o->context);
    json_decref(runs);
    return status;
}
