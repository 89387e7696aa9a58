/* study/runs_csv.c - the evaluations of runs as a table. */
#include "study/runs_read.h"

#include "base/file.h"
#include "base/locale.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CELL_SIZE = 64 };

static const char *const measured[] = {"train_s",         "epochs",         "updates",
                                       "examples",        "examples_per_s", "loss",
                                       "accuracy",        "test_loss",      "test_accuracy",
                                       "validation_loss", "distance"};

/* ---- cells ---- */

/* The shortest text that reads back as the value; borrowed, or in text[CELL_SIZE]. */
static const char *cell_text(const json_t *value, char *text)
{
    text[0] = '\0';
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        snprintf(text, CELL_SIZE, "%lld", (long long)json_integer_value(value));
    if (!json_is_real(value)) return text;
    snprintf(text, CELL_SIZE, "%.15g", json_real_value(value));
    if (strtod(text, NULL) != json_real_value(value))
        snprintf(text, CELL_SIZE, "%.17g", json_real_value(value));
    return text;
}

static void print_text(const char *text, FILE *stream)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void print_cell(const json_t *value, FILE *stream)
{
    char text[CELL_SIZE];
    fputc(',', stream);
    print_text(cell_text(value, text), stream);
}

/* ---- columns ---- */

/* The options that differ: {name: true}.  A run that does not know an option differs in none. */
static json_t *find_varied(const json_t *runs)
{
    json_t *first = json_object(), *varied = json_object(), *run, *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run)
        json_object_foreach(json_object_get(run, "options"), name, value)
    {
        char a[CELL_SIZE], b[CELL_SIZE];
        const json_t *other = json_object_get(first, name);
        if (strcmp(name, "out") == 0) continue;
        if (other == NULL) drove__json_set(&first, name, json_incref(value));
        else if (strcmp(cell_text(other, a), cell_text(value, b)) != 0)
            drove__json_set(&varied, name, json_true());
    }
    if (first == NULL) drove__json_add(&varied, NULL);
    json_decref(first);
    return varied;
}

static json_t *find_final(const json_t *runs)
{
    json_t *all = json_object(), *run, *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run) json_object_foreach(json_object_get(run, "final"), name, value)
        drove__json_set(&all, name, json_true());
    return all;
}

/* ---- rows ---- */

static void print_header(json_t *varied, json_t *final, FILE *stream)
{
    const char *name;
    json_t *value;
    fputs("run,outcome", stream);
    json_object_foreach(varied, name, value)
    {
        fputs(",option.", stream);
        print_text(name, stream);
    }
    fputs(",evaluation", stream);
    for (size_t i = 0; i < DROVE_COUNT(measured); i++) fprintf(stream, ",%s", measured[i]);
    json_object_foreach(final, name, value)
    {
        fputc(',', stream);
        print_text(name, stream);
    }
    fputc('\n', stream);
}

static void print_row(const json_t *run, size_t evaluation, json_t *varied, json_t *final,
                      FILE *stream)
{
    const json_t *evaluations = json_object_get(run, "evaluations");
    const json_t *record = json_array_get(evaluations, evaluation);
    const char *name;
    json_t *value;
    print_text(json_string_value(json_object_get(run, "run")), stream);
    print_cell(json_object_get(run, "outcome"), stream);
    json_object_foreach(varied, name, value)
        print_cell(json_object_get(json_object_get(run, "options"), name), stream);
    if (record != NULL) fprintf(stream, ",%zu", evaluation + 1);
    else fputc(',', stream);
    for (size_t i = 0; i < DROVE_COUNT(measured); i++)
        print_cell(json_object_get(record, measured[i]), stream);
    json_object_foreach(final, name, value)
        print_cell(json_object_get(json_object_get(run, "final"), name), stream);
    fputc('\n', stream);
}

static drove_status write_table(const json_t *runs, const char *path)
{
    drove_writer *writer = NULL;
    json_t *varied = find_varied(runs), *final = find_final(runs);
    drove_status status =
        varied != NULL && final != NULL ? DROVE_OK : drove__fail_nomem("columns", 1);
    if (status == DROVE_OK) status = drove__writer_create(path, &writer);
    if (status == DROVE_OK) {
        FILE *stream = drove__writer_stream(writer);
        print_header(varied, final, stream);
        for (size_t i = 0; i < json_array_size(runs); i++) {
            const json_t *run = json_array_get(runs, i);
            const size_t n = json_array_size(json_object_get(run, "evaluations"));
            for (size_t k = 0; k < (n > 0 ? n : 1); k++) print_row(run, k, varied, final, stream);
        }
        status = drove__writer_commit(writer);
    }
    json_decref(varied);
    json_decref(final);
    return status;
}

drove_status drove_report(const drove_report_options *options)
{
    DROVE_IN_C_LOCALE;
    json_t *runs;
    if (options->n_folders == 0)
        return drove__fail(DROVE_E_ARG, "report: expected folders of runs, found none");
    if (options->csv == NULL || options->csv[0] == '\0')
        return drove__fail(DROVE_E_ARG, "report: expected a file to write, found none");
    DROVE_TRY(drove__runs_read(options, &runs));
    const drove_status status = write_table(runs, options->csv);
    json_decref(runs);
    return status;
}
