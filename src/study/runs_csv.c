/* study/runs_csv.c - see runs_csv.h. */
#include "study/runs_csv.h"

#include "study/runs_read.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

static const char *const measured[] = {"train_s",         "epochs",         "updates",
                                       "examples",        "examples_per_s", "loss",
                                       "accuracy",        "test_loss",      "test_accuracy",
                                       "validation_loss", "distance"};

/* ---- cells ---- */

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
    char text[DROVE_CELL_SIZE];
    fputc(',', stream);
    print_text(drove__cell_text(value, text), stream);
}

/* ---- columns ---- */

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

drove_status drove__runs_write_csv(const json_t *runs, const char *path)
{
    drove_writer *writer = NULL;
    json_t *varied = drove__runs_varied(runs), *final = find_final(runs);
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
