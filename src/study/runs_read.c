/* study/runs_read.c - see runs_read.h. */
#include "study/runs_read.h"

#include "base/file.h"
#include "study/sweep_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LINES_BYTES = 1 << 30, MOST_OBJECT_BYTES = 64 << 20, LINE_SIZE = 8192 };

/* ---- files ---- */

static void say(const drove_report_options *opt, const char *path, size_t line, const char *why)
{
    char text[LINE_SIZE];
    if (opt->message == NULL) return;
    if (line > 0) snprintf(text, sizeof text, "%s:%zu: left out: %s", path, line, why);
    else snprintf(text, sizeof text, "%s: left out: %s", path, why);
    opt->message(opt->context, text);
}

static bool exists(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0;
}

static drove_status parse_object(const char *text, size_t n_bytes, json_t **out)
{
    json_error_t why;
    DROVE_TRY(drove__json_parse(text, n_bytes, JSON_REJECT_DUPLICATES, &why, out));
    if (json_is_object(*out)) return DROVE_OK;
    json_decref(*out);
    *out = NULL;
    return drove__fail(DROVE_E_DATA, "expected a JSON object");
}

static drove_status load_object(const char *path, json_t **out)
{
    char *text = NULL;
    size_t n_bytes;
    *out = NULL;
    DROVE_TRY(drove__file_load(path, MOST_OBJECT_BYTES, &text, &n_bytes));
    const drove_status status = parse_object(text, n_bytes, out);
    free(text);
    return status == DROVE_OK ? status : drove__fail_in(status, "%s", path);
}

/* Appends the objects of a file with one a line.  A line that is none is left out, and so is text
 * behind the last line end: a program is writing it, or was killed while it did. */
static drove_status load_lines(const drove_report_options *opt, const char *path, json_t **all)
{
    char *text = NULL;
    size_t n_bytes, n_lines = 0;
    DROVE_TRY(drove__file_load(path, MOST_LINES_BYTES, &text, &n_bytes));
    const char *at = text, *end = text + n_bytes;
    drove_status status = DROVE_OK;
    while (at < end && status == DROVE_OK) {
        json_t *record = NULL;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        n_lines++;
        if (stop == NULL) {
            say(opt, path, n_lines, "a line without an end");
            break;
        }
        if (stop > at) status = parse_object(at, (size_t)(stop - at), &record);
        if (status == DROVE_E_DATA) {
            say(opt, path, n_lines, drove_error_text());
            status = DROVE_OK;
        }
        if (record != NULL) drove__json_add(all, record);
        at = stop + 1;
    }
    free(text);
    return status == DROVE_OK && *all == NULL ? drove__fail_nomem("records", n_bytes) : status;
}

/* ---- runs ---- */

static json_t *word_or_null(const json_t *word)
{
    return json_is_string(word) ? json_incref((json_t *)word) : json_null();
}

static drove_status add_run(json_t **runs, const char *name, json_t *outcome, json_t *options,
                            json_t *evaluations, json_t *final)
{
    json_t *run = json_object();
    drove__json_set(&run, "run", json_string_nocheck(name));
    drove__json_set(&run, "outcome", outcome);
    drove__json_set(&run, "options", options);
    drove__json_set(&run, "evaluations", evaluations);
    drove__json_set(&run, "final", final);
    drove__json_add(runs, run);
    return *runs != NULL ? DROVE_OK : drove__fail_nomem("runs", 1);
}

/* A summary that cannot be read counts as none: the log has more than it. */
static drove_status read_run(const drove_report_options *opt, const char *folder, json_t **runs)
{
    char path[4096];
    json_t *about = NULL, *summary = NULL, *evaluations = json_array(), *final = json_object();
    snprintf(path, sizeof path, "%s/run.json", folder);
    drove_status status = load_object(path, &about);
    const json_t *options = json_object_get(about, "options");
    if (status == DROVE_OK && !json_is_object(options))
        status =
            drove__fail(DROVE_E_DATA, "%s: expected an object with the options of a run", path);
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    if (status == DROVE_OK && exists(path)) status = load_lines(opt, path, &evaluations);
    snprintf(path, sizeof path, "%s/summary.json", folder);
    if (status == DROVE_OK && exists(path)) {
        status = load_object(path, &summary);
        if (status == DROVE_E_DATA) {
            say(opt, path, 0, "no JSON object");
            status = DROVE_OK;
        }
    }
    drove__summary_add_part(&final, summary, "metrics", false);
    drove__summary_add_part(&final, summary, "test_metrics", false);
    if (status == DROVE_OK)
        status = add_run(runs, folder, word_or_null(json_object_get(summary, "outcome")),
                         json_incref((json_t *)options), evaluations, final);
    else {
        json_decref(evaluations);
        json_decref(final);
    }
    json_decref(summary);
    json_decref(about);
    return status;
}

/* A run that left no summary has the options of its setting alone. */
static json_t *options_of(const json_t *record)
{
    const json_t *resolved = json_object_get(record, "resolved");
    if (json_object_size(resolved) > 0) return json_incref((json_t *)resolved);
    json_t *all = json_object(), *value;
    const char *name;
    json_object_foreach(json_object_get(record, "settings"), name, value)
        drove__json_set(&all, name, json_incref(value));
    value = json_object_get(record, "seed");
    if (value != NULL) drove__json_set(&all, "seed", json_incref(value));
    return all;
}

static drove_status add_result(const char *folder, const json_t *record, json_t **runs)
{
    char name[4096];
    const char *key;
    json_t *value, *evaluations = json_array(), *last = json_object(), *final = json_object();
    json_object_foreach(json_object_get(record, "figures"), key, value)
    {
        const bool is_metric =
            strncmp(key, "metrics.", 8) == 0 || strncmp(key, "test_metrics.", 13) == 0;
        if (json_is_number(value))
            drove__json_set(is_metric ? &final : &last, key, json_incref(value));
    }
    drove__json_add(&evaluations, last);
    snprintf(name, sizeof name, "%s/runs/%04lld", folder,
             (long long)json_integer_value(json_object_get(record, "run")));
    return add_run(runs, name, word_or_null(json_object_get(record, "outcome")), options_of(record),
                   evaluations, final);
}

static drove_status read_sweep(const drove_report_options *opt, const char *folder, json_t **runs)
{
    char path[4096];
    json_t *records = json_array();
    snprintf(path, sizeof path, "%s/results.jsonl", folder);
    drove_status status = load_lines(opt, path, &records);
    for (size_t i = 0; i < json_array_size(records) && status == DROVE_OK; i++) {
        const json_t *record = json_array_get(records, i);
        if (json_is_integer(json_object_get(record, "run")))
            status = add_result(folder, record, runs);
        else say(opt, path, i + 1, "expected a run with its figures");
    }
    json_decref(records);
    return status;
}

static drove_status read_folder(const drove_report_options *opt, const char *folder, json_t **runs)
{
    char run[4096], sweep[4096];
    if (strlen(folder) > sizeof run - 32)
        return drove__fail(DROVE_E_ARG, "%.80s...: the path is too long", folder);
    snprintf(run, sizeof run, "%s/run.json", folder);
    snprintf(sweep, sizeof sweep, "%s/results.jsonl", folder);
    if (exists(run)) return read_run(opt, folder, runs);
    if (exists(sweep)) return read_sweep(opt, folder, runs);
    return drove__fail(DROVE_E_FILE,
                       "%s: expected the folder of a run (with run.json) or of a sweep (with "
                       "results.jsonl), found neither",
                       folder);
}

drove_status drove__runs_read(const drove_report_options *options, json_t **out)
{
    json_t *runs = json_array();
    drove_status status = runs != NULL ? DROVE_OK : drove__fail_nomem("runs", 1);
    *out = NULL;
    for (size_t i = 0; i < options->n_folders && status == DROVE_OK; i++)
        status = read_folder(options, options->folder[i], &runs);
    if (status == DROVE_OK) *out = runs;
    else json_decref(runs);
    return status;
}
