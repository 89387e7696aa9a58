/* run/output.c - the files of --out: run.json, log.jsonl, summary.json, model, best model,
 * state, events.
 *
 * Files other than the append-only ones appear whole or not at all.  Called with the workers
 * parked and the training clock stopped.  Without --out everything here does nothing.
 */
#include "run/output.h"

#include "run/folder.h"
#include "run/progress.h"
#include "run/stopping.h"
#include "run/targets.h"

#include "base/alive.h"
#include "base/file.h"
#include "base/json.h"
#include "base/locale.h"
#include "report/report.h"
#include "run/facts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A folder that is taken away on the way is no mistake in the options: the write failed. */
static drove_status on_the_way(drove_status status)
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

static drove_status write_run_json(const drove_run *run)
{
    const drove_progress before = {0};
    drove_facts facts;
    char *text = NULL;
    DROVE_TRY(drove__facts_evaluation(run, &before, &facts));
    drove_status status = drove__report_run(&facts, &text);
    if (status == DROVE_OK) status = write_text(run->opt.out, "run.json", text);
    free(text);
    drove__facts_fini(&facts);
    return status;
}

/* Records that are younger than the state which a run continues from are taken out again. */
static drove_status trim_log(drove_run *run, const char *path)
{
    uint64_t examples = 0;
    char *text;
    size_t size;
    for (unsigned i = 0; i < run->plan.n_workers; i++)
        examples += atomic_load(&run->loop->worker[i].trace.examples);
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
            run->logged_examples = (uint64_t)json_integer_value(at);
            run->has_logged = true;
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

/* --log: a new file, unless the run goes on. */
static drove_status open_own_log(drove_run *run)
{
    const bool goes_on = run->opt.resume[0] != '\0';
    if (run->opt.log[0] == '\0' || run->ranks.rank != 0) return DROVE_OK;
    drove_status status = goes_on ? trim_log(run, run->opt.log) : DROVE_OK;
    if (status == DROVE_OK && !goes_on && truncate(run->opt.log, 0) != 0 && errno != ENOENT)
        status = drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be emptied",
                                   run->opt.log);
    if (status == DROVE_OK) status = drove__jsonl_open(run->opt.log, &run->own_log);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--log");
}

drove_status drove__output_open(drove_run *run)
{
    DROVE_TRY(open_own_log(run));
    if (run->opt.out[0] == '\0' || run->ranks.rank != 0) return DROVE_OK;
    DROVE_TRY(drove__folder_open(run));
    DROVE_TRY(write_run_json(run));
    char *path = drove__path_join(run->opt.out, "log.jsonl");
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.out);
    drove_status status = run->opt.resume[0] != '\0' ? trim_log(run, path) : DROVE_OK;
    if (status == DROVE_OK) status = drove__jsonl_open(path, &run->log);
    free(path);
    DROVE_TRY(status);
    return drove__events_open(run->opt.out, &run->events);
}

/* ---- during the run ---- */

static drove_status append_record(drove_jsonl *log, const drove_facts *facts)
{
    char *text;
    DROVE_TRY(drove__report_evaluation(facts, &text));
    drove_status status = drove__jsonl_append(log, text);
    free(text);
    return status;
}

drove_status drove__output_evaluation(drove_run *run, const drove_progress *p)
{
    drove_facts facts;
    if (run->log == NULL && run->own_log == NULL) return DROVE_OK;
    /* A signal that comes before the first batch behind an evaluation: that one was the end. */
    if (run->has_logged && run->logged_examples == p->examples) return DROVE_OK;
    DROVE_TRY(drove__facts_evaluation(run, p, &facts));
    drove_status status = DROVE_OK;
    if (run->own_log != NULL) status = append_record(run->own_log, &facts);
    if (status == DROVE_OK && run->log != NULL) status = append_record(run->log, &facts);
    if (status == DROVE_OK && run->events != NULL)
        status = drove__report_events(&facts, run->events);
    drove__facts_fini(&facts);
    drove__facts_logged(run);
    run->logged_examples = p->examples;
    run->has_logged = true;
    return status;
}

static drove_status write_model(const drove_run *run, const char *path, const float *theta)
{
    const drove_data *data = run->input != NULL ? run->input : run->train;
    float *folded = NULL;
    drove_status status = drove__targets_fold(run, theta, &folded);
    if (status == DROVE_OK)
        status =
            drove__modelfile_save(path, run->model, data, &run->features, run->target_mean, folded);
    drove__free(folded);
    return status;
}

static drove_status save_model(const drove_run *run, const char *name, const float *theta)
{
    char *path = drove__path_join(run->opt.out, name);
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.out);
    drove_status status = write_model(run, path, theta);
    free(path);
    return status;
}

/* The parameters of the best validation loss where there are such, else the last ones. */
static drove_status find_theta(drove_run *run, const float **theta)
{
    *theta = run->best;
    return drove__stopping_has_best(run) ? DROVE_OK : drove__run_theta(run, theta);
}

drove_status drove__output_model(drove_run *run, const char *path)
{
    const float *theta;
    DROVE_TRY(find_theta(run, &theta));
    return write_model(run, path, theta);
}

drove_status drove__output_best(drove_run *run)
{
    if (run->log == NULL) return DROVE_OK;
    return on_the_way(save_model(run, "best.safetensors", run->best));
}

static drove_status save_all(drove_run *run)
{
    if (run->ranks.rank != 0) return drove__state_save(run, NULL); /* its part, to rank 0 */
    const float *theta;
    DROVE_TRY(find_theta(run, &theta));
    DROVE_TRY(save_model(run, "model.safetensors", theta));
    char *path = drove__path_join(run->opt.out, DROVE_STATE_NAME);
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.out);
    drove_status status = drove__folder_keep_state(run);
    if (status == DROVE_OK) status = drove__state_save(run, path);
    free(path);
    return status;
}

drove_status drove__output_save(drove_run *run)
{
    return run->opt.out[0] == '\0' ? DROVE_OK : on_the_way(save_all(run));
}

drove_status drove__output_summary(drove_run *run, const char *json)
{
    if (run->log == NULL) return DROVE_OK;
    return on_the_way(write_text(run->opt.out, "summary.json", json));
}

drove_status drove__output_timeline(const drove_run *run, const drove_facts *facts)
{
    if (facts->spans == NULL) return DROVE_OK;
    if (run->opt.timeline[0] != '\0') {
        drove_status status = drove__report_timeline(facts, run->opt.timeline);
        return status == DROVE_OK ? DROVE_OK : drove__fail_in(on_the_way(status), "--timeline");
    }
    char *path = drove__path_join(run->opt.out, "timeline.json");
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.out);
    drove_status status = drove__report_timeline(facts, path);
    free(path);
    return on_the_way(status);
}

void drove__output_close(drove_run *run)
{
    drove__jsonl_close(run->log);
    drove__jsonl_close(run->own_log);
    drove__events_close(run->events);
    run->log = run->own_log = NULL;
    run->events = NULL;
    drove__folder_close(run);
}

drove_status drove__options_unpack(const json_t *saved, drove_options *options)
{
    drove_status status = DROVE_OK;
    const char *key;
    json_t *value;
    if (!json_is_object(saved))
        return drove__fail(DROVE_E_DATA, "expected an object with \"options\", found none");
    json_object_foreach((json_t *)(uintptr_t)saved, key, value)
    {
        char number[64] = "";
        const char *word = json_string_value(value);
        if (json_is_integer(value))
            snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_real(value)) snprintf(number, sizeof number, "%.17g", json_real_value(value));
        if (status == DROVE_OK)
            status = drove_options_set(options, key, word != NULL ? word : number);
    }
    return status;
}

drove_status drove_options_resume(drove_options *options, const char *folder)
{
    DROVE_IN_C_LOCALE;
    DROVE_ALIVE(options, "options");
    char *path = drove__path_join(folder, "run.json"), *text;
    size_t size;
    if (path == NULL) return drove__fail_nomem("a path", strlen(folder));
    drove_status status = drove__file_load(path, (size_t)1 << 20, &text, &size);
    if (status != DROVE_OK) {
        free(path);
        return drove__fail_in(status, "--resume");
    }
    json_error_t error;
    json_t *object;
    const drove_status parsed = drove__json_parse(text, size, 0, &error, &object);
    json_t *saved = json_object_get(object, "options");
    drove_options result = *options;
    if (parsed == DROVE_E_NOMEM) {
        status = drove__fail_nomem(path, size);
    } else if (!json_is_object(saved)) {
        status =
            drove__fail(DROVE_E_DATA, "--resume: %s: expected an object with \"options\", found %s",
                        path, object == NULL ? error.text : "none");
    }
    if (status == DROVE_OK) status = drove__options_unpack(saved, &result);
    json_decref(object);
    free(text);
    free(path);
    if (status != DROVE_OK) return status;
    snprintf(result.resume, sizeof result.resume, "%s", folder);
    snprintf(result.out, sizeof result.out, "%s", folder);
    static const char *const none[] = {"record", "replay", "replay_steps"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++)
        (void)drove_options_set(&result, none[i], "none");
    drove_options_set(&result, "data_changed", "no"); /* of that resumption alone */
    /* What the run began with is in its own folder, too. */
    if (drove__modelpath_is_run(folder) && drove__model_is_gone(&result))
        snprintf(result.model, sizeof result.model, "%s", folder);
    *options = result;
    return DROVE_OK;
}
