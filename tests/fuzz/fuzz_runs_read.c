/* tests/fuzz/fuzz_runs_read.c - what a report reads: the input is the files of a run and of a
 * sweep, parted by bytes of zero: run.json, log.jsonl, summary.json, results.jsonl, the log and
 * the summary of the sweep's first run.  Tolerant and strict readers take the same lines.
 */
#include "study/records.h"
#include "study/runs_read.h"
#include "study/sweep_results.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

#include <string.h>

static unsigned n_said;

static void count(void *context, const char *line)
{
    (void)context;
    if (line[0] == '\0') abort();
    n_said++;
}

/* A run has all its parts, whatever its files hold. */
static void check_run(const json_t *run)
{
    static const char *const objects[] = {"options", "final", "figures"};
    for (size_t i = 0; i < 3; i++)
        if (!json_is_object(json_object_get(run, objects[i]))) abort();
    if (!json_is_array(json_object_get(run, "evaluations"))) abort();
    if (!json_is_string(json_object_get(run, "run"))) abort();
    const json_t *outcome = json_object_get(run, "outcome");
    if (!json_is_string(outcome) && !json_is_null(outcome)) abort();
}

/* Without logs and summaries of a sweep there are the same runs. */
static void check_ends(const drove_report_options *opt, size_t n_runs)
{
    json_t *ends;
    if (drove__runs_read_ends(opt, &ends) != DROVE_OK) abort();
    if (json_array_size(ends) != n_runs) abort();
    json_decref(ends);
}

static void read_folder(const char *folder)
{
    json_t *runs, *run;
    size_t i;
    const drove_report_options opt = {.folder = &folder, .n_folders = 1, .message = count};
    if (!fuzz_is_ok(drove__runs_read(&opt, &runs))) {
        if (runs != NULL) abort();
        return;
    }
    json_array_foreach(runs, i, run) check_run(run);
    json_t *varied = drove__runs_varied(runs);
    if (varied == NULL) abort();
    json_decref(varied);
    check_ends(&opt, json_array_size(runs));
    json_decref(runs);
}

static drove_status take(void *to, const json_t *record)
{
    return json_array_append(to, (json_t *)(uintptr_t)record) == 0 ? DROVE_OK : DROVE_E_NOMEM;
}

static drove_status take_result(void *to, const json_t *record)
{
    DROVE_TRY(drove__sweep_result_check(record, 8));
    return take(to, record);
}

/* What the strict reader takes, the tolerant one takes without a word. */
static void compare_readers(const char *path, bool is_results)
{
    json_t *strict = json_array(), *tolerant = json_array();
    drove_records in = {.path = path, .is_strict = true};
    drove_records_found found;
    drove_status (*visit)(void *to, const json_t *record) = is_results ? take_result : take;
    const bool is_whole = fuzz_is_ok(drove__records_each(&in, visit, strict, &found));
    in.is_strict = false;
    in.message = count;
    n_said = 0;
    const drove_status status = drove__records_each(&in, visit, tolerant, NULL);
    if (status != DROVE_OK) { /* no line at all: its first bytes are those of compressed ones */
        if (is_whole || status != DROVE_E_DATA) abort();
    } else if (is_whole) {
        if (n_said != found.has_half || !json_equal(strict, tolerant)) abort();
    } else if (n_said == 0) abort();
    json_decref(strict);
    json_decref(tolerant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const char *const names[] = {"run/run.json",
                                        "run/log.jsonl",
                                        "run/summary.json",
                                        "sweep/results.jsonl",
                                        "sweep/runs/0001/log.jsonl",
                                        "sweep/runs/0001/out.json"};
    static const char *const folders[] = {"run", "sweep", "sweep/runs", "sweep/runs/0001"};
    char path[FUZZ_PATH_SIZE];
    fuzz_folder();
    fuzz_folder_clear(fuzz_folder(), false);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), folders[i]);
        if (mkdir(path, 0777) != 0) abort();
    }
    for (size_t i = 0; i < 6 && size_bytes > 0; i++) {
        const uint8_t *stop = memchr(data, 0, size_bytes);
        const size_t n = stop != NULL ? (size_t)(stop - data) : size_bytes;
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), names[i]);
        fuzz_write(path, data, n);
        const bool is_lines = strstr(names[i], ".jsonl") != NULL;
        if (is_lines) compare_readers(path, strstr(names[i], "results") != NULL);
        data += stop != NULL ? n + 1 : n;
        size_bytes -= stop != NULL ? n + 1 : n;
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), folders[i]);
        read_folder(path);
    }
    return 0;
}
