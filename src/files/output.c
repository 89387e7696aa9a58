/* files/output.c - the files of --out: run.json, log.jsonl, summary.json, model, best model,
 * state, events.
 *
 * Files other than the append-only ones appear whole or not at all.  Called with the workers
 * parked and the training clock stopped.  Without --out everything here does nothing.
 */
#include "files/output.h"

#include "base/alive.h"
#include "base/file.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "report/report.h"
#include "files/facts.h"
#include "files/folder.h"
#include "values/progress.h"
#include "values/say.h"
#include "problem/targets.h"
#include "problem/tuned.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool drove__output_has_best(const drove_problem *problem, const drove_state *state)
{
    return problem->validation != NULL && isfinite(state->standing.best_loss);
}

drove_status drove__output_status(drove_status status)
{
    return status == DROVE_E_FILE ? DROVE_E_IO : status;
}

/* folder/name with text and a final newline, whole or not at all. */
static drove_status write_text(const char *folder, const char *name, const char *text)
{
    drove_writer *w;
    char *path = drove__path_join(folder, name);
    if (path == NULL) return drove__fail_nomem("a path", strlen(folder));
    drove_status status = drove__writer_create(path, &w);
    free(path);
    if (status != DROVE_OK) return status;
    status = drove__writer_write(w, text, strlen(text));
    if (status == DROVE_OK) status = drove__writer_write(w, "\n", 1);
    if (status == DROVE_OK) return drove__writer_commit(w);
    drove__writer_abort(w);
    return status;
}

/* ---- opening ---- */

/* Records that are younger than the state which a run continues from, of so many examples, are
 * taken out again. */
static drove_status trim_log(uint64_t examples, drove_state *state, const char *path)
{
    char *text;
    size_t size;
    if (access(path, F_OK) != 0) return DROVE_OK;
    DROVE_TRY(drove__file_load(path, (size_t)1 << 30, &text, &size));
    drove_writer *w;
    drove_status status = drove__writer_create(path, &w);
    if (status != DROVE_OK) {
        free(text);
        return status;
    }
    for (char *line = text; line < text + size && status == DROVE_OK;) {
        char *end = memchr(line, '\n', (size_t)(text + size - line));
        if (end == NULL) break; /* a line that was being written when the run was killed */
        json_t *record;
        json_error_t error;
        status = drove__json_parse(line, (size_t)(end - line), 0, &error, &record);
        if (status == DROVE_E_NOMEM) break;
        status = DROVE_OK; /* a line that is no record is left out */
        json_t *at = json_object_get(record, "examples");
        if (json_is_integer(at) && (uint64_t)json_integer_value(at) <= examples) {
            state->logged_examples = (uint64_t)json_integer_value(at);
            state->has_logged = true;
            status = drove__writer_write(w, line, (size_t)(end + 1 - line));
        }
        json_decref(record);
        line = end + 1;
    }
    free(text);
    if (status == DROVE_OK) return drove__writer_commit(w);
    drove__writer_abort(w);
    return status;
}

/* Files outside the folder that the former run wrote, and this one does not, as nobody has named
 * them.  What cannot be read says nothing. */
static void say_unwritten(const drove_config *config, const drove_output *output)
{
    const struct {
        const char *name, *now;
    } files[] = {{"log", config->files.log},
                 {"timeline", config->files.timeline},
                 {"record", config->files.record}};
    json_error_t error;
    json_t *run = NULL;
    size_t n;
    char *path = drove__path_join(config->files.resume, "run.json"), *text = NULL;
    if (path != NULL && drove__file_load(path, (size_t)1 << 20, &text, &n) == DROVE_OK)
        (void)drove__json_parse(text, n, 0, &error, &run);
    for (size_t i = 0; i < DROVE_COUNT(files); i++) {
        const char *then =
            json_string_value(json_object_get(json_object_get(run, "options"), files[i].name));
        if (then == NULL || then[0] == '\0' || strcmp(then, "none") == 0 || files[i].now != NULL)
            continue;
        drove__run_say(&output->cb, "--resume: %.200s is not written on: --%s names it again", then,
                       files[i].name);
    }
    json_decref(run);
    free(text);
    free(path);
}

drove_status drove__output_open_log(const drove_config *config, uint64_t examples,
                                    drove_state *state, drove_output *output)
{
    const char *own = config->files.log;
    drove_status status = DROVE_OK;
    if (own == NULL) return DROVE_OK;
    if (config->files.resume != NULL) status = trim_log(examples, state, own);
    else if (truncate(own, 0) != 0 && errno != ENOENT)
        status = drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be emptied", own);
    if (status == DROVE_OK) status = drove__jsonl_open(own, &output->own_log);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--log");
}

drove_status drove__output_open(const drove_config *config, const drove_start_facts *facts,
                                uint64_t examples, drove_state *state, drove_output *output)
{
    const char *out = config->files.out;
    char *text = NULL;
    DROVE_TRY(drove__folder_open(config, output));
    if (config->files.resume != NULL) say_unwritten(config, output);
    drove_status status = drove__report_run(facts, &text);
    if (status == DROVE_OK) status = write_text(out, "run.json", text);
    free(text);
    DROVE_TRY(status);
    char *path = drove__path_join(out, "log.jsonl");
    if (path == NULL) return drove__fail_nomem("a path", strlen(out));
    if (config->files.resume != NULL) status = trim_log(examples, state, path);
    if (status == DROVE_OK) status = drove__jsonl_open(path, &output->log);
    free(path);
    DROVE_TRY(status);
    return drove__events_open(out, &output->events);
}

/* ---- during the run ---- */

static drove_status append_record(drove_jsonl *log, const drove_present_facts *facts)
{
    char *text;
    DROVE_TRY(drove__report_evaluation(facts, &text));
    drove_status status = drove__jsonl_append(log, text);
    free(text);
    return status;
}

drove_status drove__output_evaluation(const drove_workers *workers, drove_state *state,
                                      const drove_output *output, const drove_progress *p)
{
    drove_present_facts facts;
    if (output->log == NULL && output->own_log == NULL) return DROVE_OK;
    /* A signal that comes before the first batch behind an evaluation: that one was the end. */
    if (state->has_logged && state->logged_examples == p->examples) return DROVE_OK;
    DROVE_TRY(drove__facts_present(workers, state, p, &facts));
    drove_status status = DROVE_OK;
    if (output->own_log != NULL) status = append_record(output->own_log, &facts);
    if (status == DROVE_OK && output->log != NULL) status = append_record(output->log, &facts);
    if (status == DROVE_OK && output->events != NULL)
        status = drove__report_events(&facts, output->events);
    drove__facts_present_fini(&facts);
    drove__facts_logged(workers, state);
    state->logged_examples = p->examples;
    state->has_logged = true;
    return status;
}

static drove_status write_model(const drove_problem *problem, const char *path, const float *theta)
{
    const drove_data *data = problem->input != NULL ? problem->input : problem->train;
    const drove_model *model;
    float *folded = NULL, *whole = NULL;
    drove_status status = drove__targets_fold(problem, theta, &folded);
    if (status == DROVE_OK) status = drove__tuned_whole(problem, folded, &model, &whole);
    if (status == DROVE_OK)
        status = drove__modelfile_save(path, model, data, &problem->features, problem->target_mean,
                                       whole);
    drove__free(folded);
    drove__free(whole);
    return status;
}

/* The parameters of the best validation loss where there are such, else the last ones. */
drove_status drove__output_model(const drove_problem *problem, const drove_workers *workers,
                                 drove_state *state, const char *path)
{
    const float *theta = state->best;
    if (!drove__output_has_best(problem, state))
        DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    return write_model(problem, path, theta);
}

drove_status drove__output_best(const drove_config *config, const drove_problem *problem,
                                const float *theta)
{
    char *path = drove__path_join(config->files.out, "best.safetensors");
    if (path == NULL) return drove__fail_nomem("a path", strlen(config->files.out));
    drove_status status = write_model(problem, path, theta);
    free(path);
    return drove__output_status(status);
}

drove_status drove__output_summary(const drove_config *config, const drove_output *output,
                                   const char *json)
{
    if (output->log == NULL) return DROVE_OK;
    return drove__output_status(write_text(config->files.out, "summary.json", json));
}

drove_status drove__output_timeline(const drove_config *config, const drove_facts *facts)
{
    if (facts->spans == NULL) return DROVE_OK;
    if (config->files.timeline != NULL) {
        drove_status status = drove__report_timeline(facts, config->files.timeline);
        return status == DROVE_OK ? DROVE_OK
                                  : drove__fail_in(drove__output_status(status), "--timeline");
    }
    char *path = drove__path_join(config->files.out, "timeline.json");
    if (path == NULL) return drove__fail_nomem("a path", strlen(config->files.out));
    drove_status status = drove__report_timeline(facts, path);
    free(path);
    return drove__output_status(status);
}

void drove__output_close(drove_output *output)
{
    (void)drove__jsonl_sync(output->own_log); /* a record of a sweep says that the run is done */
    drove__jsonl_close(output->log);
    drove__jsonl_close(output->own_log);
    drove__events_close(output->events);
    output->log = output->own_log = NULL;
    output->events = NULL;
    drove__folder_close(output);
}
