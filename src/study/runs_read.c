/* study/runs_read.c - see runs_read.h. */
#include "study/runs_read.h"

#include "study/records.h"
#include "study/sweep_results.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

static bool exists(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0;
}

/* Tolerant. */
static drove_records records_at(const drove_report_options *opt, const char *path)
{
    return (drove_records){.path = path, .message = opt->message, .context = opt->context};
}

typedef struct parts { /* of a run; owned */
    json_t *outcome, *message, *settings, *options, *evaluations, *log, *final, *figures, *summary;
    size_t n_lines, setting;
} parts;

/* A file that does not exist has none, and nor has one that cannot be read at all, as where
 * compressed bytes are damaged.  The table reads all lines again, and says what it leaves
 * out. */
static drove_status read_log(const drove_report_options *opt, const char *path, parts *p)
{
    drove_records in = records_at(opt, path);
    drove_records_found found = {0};
    if (opt->csv != NULL && opt->csv[0] != '\0') in.message = NULL;
    in.most = DROVE_RUNS_MOST_EVALUATIONS;
    p->log = exists(path) ? json_string(path) : NULL;
    p->evaluations = exists(path) ? NULL : json_array();
    if (p->evaluations != NULL) return DROVE_OK;
    const drove_status status = drove__records_read(&in, &p->evaluations, &found);
    p->n_lines = found.n_lines;
    if (status != DROVE_E_DATA) return status;
    json_decref(p->log);
    p->log = NULL;
    p->evaluations = json_array();
    char line[DROVE_ERROR_TEXT_SIZE + 16];
    snprintf(line, sizeof line, "%s: left out", drove_error_text());
    if (opt->message != NULL) opt->message(opt->context, line);
    return DROVE_OK;
}

/* A summary that cannot be read counts as none: the log has more than it. */
static drove_status read_summary(const drove_report_options *opt, const char *path, json_t **out)
{
    const drove_records in = records_at(opt, path);
    *out = NULL;
    if (!exists(path)) return DROVE_OK;
    const drove_status status = drove__record_load(path, out);
    if (status != DROVE_E_DATA) return status;
    drove__records_say(&in, 0, "no JSON object");
    return DROVE_OK;
}

/* ---- runs ---- */

static void free_parts(parts *p)
{
    json_t *const all[] = {p->outcome, p->message, p->settings, p->options, p->evaluations,
                           p->log,     p->final,   p->figures,  p->summary};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) json_decref(all[i]);
}

static json_t *word_or_null(const json_t *word)
{
    return json_is_string(word) ? json_incref((json_t *)(uintptr_t)word) : json_null();
}

/* Takes the parts. */
static drove_status add_run(json_t **runs, const char *name, const char *sweep, const parts *p)
{
    json_t *run = json_object(), *text = json_string(name);
    drove__json_set(&run, "run", text != NULL ? text : json_string("(not UTF-8)"));
    text = sweep != NULL ? json_string(sweep) : NULL;
    drove__json_set(&run, "sweep", text != NULL ? text : json_null());
    drove__json_set(&run, "outcome", p->outcome);
    drove__json_set(&run, "message", p->message);
    drove__json_set(&run, "setting",
                    p->setting > 0 ? json_integer((json_int_t)p->setting) : json_null());
    drove__json_set(&run, "settings", p->settings);
    drove__json_set(&run, "options", p->options);
    drove__json_set(&run, "evaluations", p->evaluations);
    drove__json_set(&run, "log", p->log != NULL ? p->log : json_null());
    drove__json_set(&run, "lines", json_integer((json_int_t)p->n_lines));
    drove__json_set(&run, "final", p->final);
    drove__json_set(&run, "figures", p->figures);
    drove__json_set(&run, "summary", p->summary != NULL ? p->summary : json_null());
    drove__json_add(runs, run);
    return *runs != NULL ? DROVE_OK : drove__fail_nomem("runs", 1);
}

static drove_status read_run(const drove_report_options *opt, const char *folder, json_t **runs)
{
    char path[PATH_SIZE];
    parts p = {.message = json_null(), .settings = json_null(), .final = json_object()};
    json_t *about;
    snprintf(path, sizeof path, "%s/run.json", folder);
    drove_status status = drove__record_load(path, &about);
    if (status != DROVE_OK) goto fail;
    p.options = json_incref(json_object_get(about, "options"));
    json_decref(about);
    if (!json_is_object(p.options)) {
        status =
            drove__fail(DROVE_E_DATA, "%s: expected an object with the options of a run", path);
        goto fail;
    }
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    if ((status = read_log(opt, path, &p)) != DROVE_OK) goto fail;
    snprintf(path, sizeof path, "%s/summary.json", folder);
    if ((status = read_summary(opt, path, &p.summary)) != DROVE_OK) goto fail;

    p.outcome = word_or_null(json_object_get(p.summary, "outcome"));
    const char *word = json_is_null(p.outcome) ? "" : json_string_value(p.outcome);
    p.figures = drove__summary_figures(p.summary, word);
    drove__summary_add_part(&p.final, p.summary, "metrics", false);
    drove__summary_add_part(&p.final, p.summary, "test_metrics", false);
    drove__summary_add_part(&p.final, p.summary, "staleness", false);
    return add_run(runs, folder, NULL, &p);

fail:
    free_parts(&p);
    return status;
}

/* ---- runs of a sweep ---- */

/* A run that left no summary has the options of its setting alone. */
static json_t *options_of(const json_t *record)
{
    const json_t *resolved = json_object_get(record, "resolved");
    if (json_object_size(resolved) > 0) return json_incref((json_t *)(uintptr_t)resolved);
    json_t *all = json_object(), *value;
    const char *name;
    json_object_foreach(json_object_get(record, "settings"), name, value)
        drove__json_set(&all, name, json_incref(value));
    value = json_object_get(record, "seed");
    if (value != NULL) drove__json_set(&all, "seed", json_incref(value));
    return all;
}

/* The numbers of a result that a run has at its end alone, or those of an evaluation. */
static json_t *numbers_of(const json_t *record, bool of_end)
{
    const char *key;
    json_t *value, *all = json_object();
    json_object_foreach(json_object_get(record, "figures"), key, value)
    {
        static const char *const ends[] = {"metrics.", "test_metrics.", "staleness."};
        bool is_final = false;
        for (size_t i = 0; i < DROVE_COUNT(ends); i++)
            is_final = is_final || strncmp(key, ends[i], strlen(ends[i])) == 0;
        if (json_is_number(value) && is_final == of_end)
            drove__json_set(&all, key, json_incref(value));
    }
    return all;
}

static drove_status add_result(const drove_report_options *opt, const char *folder,
                               const json_t *record, bool ends_only, json_t **runs)
{
    char name[PATH_SIZE], path[PATH_SIZE + 16];
    json_t *settings = json_object_get(record, "settings");
    parts p = {.outcome = word_or_null(json_object_get(record, "outcome")),
               .message = word_or_null(json_object_get(record, "message")),
               .setting = (size_t)json_integer_value(json_object_get(record, "setting")),
               .settings = json_is_object(settings) ? json_incref(settings) : json_null(),
               .options = options_of(record),
               .final = numbers_of(record, true),
               .figures = json_incref(json_object_get(record, "figures"))};
    snprintf(name, sizeof name, "%s/runs/%04lld", folder,
             (long long)json_integer_value(json_object_get(record, "run")));
    snprintf(path, sizeof path, "%s/log.jsonl", name);
    drove_status status = DROVE_OK;
    if (ends_only) p.evaluations = json_array();
    else status = read_log(opt, path, &p);
    if (status == DROVE_OK && json_array_size(p.evaluations) == 0)
        drove__json_add(&p.evaluations, numbers_of(record, false));
    snprintf(path, sizeof path, "%s/out.json", name);
    struct stat about;
    if (!ends_only && status == DROVE_OK && stat(path, &about) == 0 && about.st_size > 0)
        status = read_summary(opt, path, &p.summary);
    if (status == DROVE_OK) return add_run(runs, name, folder, &p);
    free_parts(&p);
    return status;
}

/* Keeps a result; of two of one run the first counts. */
static drove_status keep_result(void *to, const json_t *record)
{
    json_t **all = to, *other;
    size_t i;
    DROVE_TRY(drove__sweep_result_check(record, SIZE_MAX));
    json_array_foreach(*all, i, other)
    {
        if (json_equal(json_object_get(other, "run"), json_object_get(record, "run")))
            return DROVE_OK;
    }
    drove__json_add(all, json_incref((json_t *)(uintptr_t)record));
    return *all != NULL ? DROVE_OK : drove__fail_nomem("records", 1);
}

static drove_status read_folder(const drove_report_options *opt, const char *folder, bool ends_only,
                                json_t **runs)
{
    char run[PATH_SIZE], sweep[PATH_SIZE], study[PATH_SIZE];
    if (strlen(folder) > sizeof run - 64)
        return drove__fail(DROVE_E_ARG, "%.80s...: the path is too long", folder);
    snprintf(run, sizeof run, "%s/run.json", folder);
    snprintf(sweep, sizeof sweep, "%s/results.jsonl", folder);
    snprintf(study, sizeof study, "%s/study.json", folder);
    if (exists(run)) return read_run(opt, folder, runs);
    if (exists(sweep)) {
        size_t i;
        json_t *records = json_array();
        const json_t *record;
        const drove_records in = records_at(opt, sweep);
        drove_status status = records != NULL
                                  ? drove__records_each(&in, keep_result, &records, NULL)
                                  : drove__fail_nomem("records", 1);
        json_array_foreach(records, i, record)
        {
            if (status == DROVE_OK) status = add_result(opt, folder, record, ends_only, runs);
        }
        json_decref(records);
        return status;
    }
    if (exists(study)) { /* its first run goes on; a search has no such folder */
        snprintf(run, sizeof run, "%s/runs", folder);
        if (exists(run)) return DROVE_OK;
    }
    return drove__fail(DROVE_E_FILE,
                       "%s: expected the folder of a run (with run.json) or of a sweep (with "
                       "results.jsonl), found neither",
                       folder);
}

static drove_status read_all(const drove_report_options *options, bool ends_only, json_t **out)
{
    json_t *runs = json_array();
    drove_status status = runs != NULL ? DROVE_OK : drove__fail_nomem("runs", 1);
    *out = NULL;
    for (size_t i = 0; i < options->n_folders && status == DROVE_OK; i++)
        status = read_folder(options, options->folder[i], ends_only, &runs);
    if (status == DROVE_OK) *out = runs;
    else json_decref(runs);
    return status;
}

drove_status drove__runs_read(const drove_report_options *options, json_t **out)
{
    return read_all(options, false, out);
}

drove_status drove__runs_read_ends(const drove_report_options *options, json_t **out)
{
    return read_all(options, true, out);
}

/* ---- what differs ---- */

const char *drove__cell_text(const json_t *value, char text[DROVE_CELL_SIZE])
{
    text[0] = '\0';
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        snprintf(text, DROVE_CELL_SIZE, "%lld", (long long)json_integer_value(value));
    if (!json_is_real(value)) return text;
    snprintf(text, DROVE_CELL_SIZE, "%.15g", json_real_value(value));
    if (strtod(text, NULL) != json_real_value(value))
        snprintf(text, DROVE_CELL_SIZE, "%.17g", json_real_value(value));
    return text;
}

json_t *drove__runs_varied(const json_t *runs)
{
    json_t *first = json_object(), *varied = json_object(), *run, *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run)
        json_object_foreach(json_object_get(run, "options"), name, value)
    {
        char a[DROVE_CELL_SIZE], b[DROVE_CELL_SIZE];
        const json_t *other = json_object_get(first, name);
        if (strcmp(name, "out") == 0 || strcmp(name, "log") == 0) continue;
        if (other == NULL) drove__json_set(&first, name, json_incref(value));
        else if (strcmp(drove__cell_text(other, a), drove__cell_text(value, b)) != 0)
            drove__json_set(&varied, name, json_true());
    }
    if (first == NULL) drove__json_add(&varied, NULL);
    json_decref(first);
    return varied;
}
