/* study/sweep.c - drove_sweep: the runs of a study as child processes, each a line of results. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include "base/clock.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "base/topo.h"
#include "files/folder.h"
#include "values/progress.h"
#include "study/pool.h"
#include "study/sweep_results.h"
#include "study/sweep_state.h"
#include "study/trial.h"
#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, TEXT_SIZE = 512, MOST_SUMMARY = 64 << 20 };
enum { MOST_FOLDER = DROVE_TEXT_SIZE - 32 }; /* with runs/NNNN/log.jsonl it is an option */

static const uint64_t WATCH_NS = 200000000;

typedef struct sweep {
    const drove_sweep_options *opt;
    drove_sweep_state s;
    drove_jsonl *results;
    drove_sweep_row *row; /* [n_settings], by the time to the target */
    size_t next, n_before, n_done, n_crashed;
    uint64_t begin_ns, ended_ns, shown_ns, interrupts_before; /* ended: the last run */
    unsigned n_cores;
    int lock; /* folder.h */
    char best[TEXT_SIZE];
} sweep;

static void say(const sweep *w, const char *line)
{
    if (w->opt->message != NULL) w->opt->message(w->opt->context, line);
}

/* ---- a run as a process ---- */

static void name_folder(const sweep *w, size_t run, const char *file, char into[PATH_SIZE])
{
    snprintf(into, PATH_SIZE, "%s/runs/%04zu%s%s", w->opt->folder, run + 1,
             file[0] != '\0' ? "/" : "", file);
}

typedef struct arguments {
    char **word; /* [n], each from malloc; then NULL */
    size_t n, n_most;
    bool is_cut; /* no memory */
} arguments;

static void add(arguments *a, const char *name, const char *value)
{
    char flag[DROVE_FLAG_SIZE], *word = NULL;
    if (a->n + 1 >= a->n_most) a->is_cut = true;
    else if (value == NULL) word = strdup(name);
    else if (asprintf(&word, "%s=%s", drove_flag_text(name, flag), value) < 0) word = NULL;
    if (word == NULL) a->is_cut = true;
    else a->word[a->n++] = word;
}

static void add_all(arguments *a, const json_t *settings)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)settings, name, value) add(a, name, json_string_value(value));
}

static drove_status start(const sweep *w, size_t run, drove_child *child)
{
    size_t setting;
    uint64_t seed;
    char folder[PATH_SIZE], out[PATH_SIZE], err[PATH_SIZE], log[PATH_SIZE], text[32];
    name_folder(w, run, "", folder);
    name_folder(w, run, "out.json", out);
    name_folder(w, run, "err.txt", err);
    name_folder(w, run, "log.jsonl", log);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", folder);
    drove__sweep_run_at(&w->s.runs, run, &setting, &seed);

    /* drove train, with the options of the study, of the setting, and those that every run of a
     * sweep gets */
    const json_t *fixed = json_object_get(w->s.study.document, "options");
    const json_t *own = drove__sweep_setting(&w->s, setting);
    arguments a = {.n_most = json_object_size(fixed) + json_object_size(own) + 8};
    a.word = drove__alloc(a.n_most, sizeof *a.word);
    if (a.word == NULL) return drove__fail_nomem("arguments", a.n_most * sizeof *a.word);
    add(&a, w->opt->program, NULL);
    add(&a, "train", NULL);
    add_all(&a, fixed);
    add_all(&a, own);
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    add(&a, "seed", text);
    add(&a, "out", "none");
    if (!w->opt->only_results) add(&a, "log", log);
    add(&a, "--json", NULL);
    add(&a, "--quiet", NULL);

    const double limit = json_number_value(json_object_get(w->s.study.document, "limit"));
    drove_status status = a.is_cut ? drove__fail_nomem("arguments", a.n_most * sizeof *a.word)
                                   : drove__child_start(child, a.word, out, err, limit);
    for (size_t i = 0; i < a.n; i++) free(a.word[i]);
    drove__free(a.word);
    return status;
}

static drove_status begin(void *context, drove_child *child, size_t *job, bool *is_begun)
{
    sweep *w = context;
    while (w->next < drove__sweep_count(&w->s.runs) &&
           !json_is_null(json_array_get(w->s.results, w->next)))
        w->next++;
    if (w->next == drove__sweep_count(&w->s.runs)) return DROVE_OK;
    *job = w->next++;
    DROVE_TRY(start(w, *job, child));
    *is_begun = true;
    return DROVE_OK;
}

/* ---- the display ---- */

static void find_best(sweep *w)
{
    drove_sweep_fastest best;
    char text[TEXT_SIZE - 32];
    drove__sweep_find_best(w->row, w->s.runs.n_settings, 0, &best);
    if (best.best == SIZE_MAX) return;
    drove__sweep_text(drove__sweep_setting(&w->s, best.best), text, sizeof text);
    snprintf(w->best, sizeof w->best, "%.4g s: %s", w->row[best.best].median_s, text);
}

/* Seconds, by the mean time of the runs so far; NaN: none has ended. */
static double time_left(const sweep *w, uint64_t now_ns)
{
    const size_t n_new = w->n_done - w->n_before;
    if (n_new == 0) return NAN;
    const double mean_s = (double)(w->ended_ns - w->begin_ns) * 1e-9 / (double)n_new;
    const double since_s = fmin((double)(now_ns - w->ended_ns) * 1e-9, mean_s);
    return fmax(mean_s * (double)(drove__sweep_count(&w->s.runs) - w->n_done) - since_s, 0.0);
}

static void show(sweep *w)
{
    w->shown_ns = drove__now_ns();
    const drove_sweep_progress p = {.n_done = w->n_done,
                                    .n_runs = drove__sweep_count(&w->s.runs),
                                    .n_crashed = w->n_crashed,
                                    .eta_s = time_left(w, w->shown_ns),
                                    .best = w->best};
    if (w->opt->progress != NULL) w->opt->progress(w->opt->context, &p);
}

static void watch(void *context)
{
    sweep *w = context;
    if (drove__now_ns() - w->shown_ns >= WATCH_NS) show(w);
}

static void say_end(const sweep *w, size_t run, const json_t *record)
{
    char line[2 * TEXT_SIZE], text[TEXT_SIZE], figure[64] = "";
    const char *message = json_string_value(json_object_get(record, "message"));
    const char *outcome = json_string_value(json_object_get(record, "outcome"));
    const double target = drove__sweep_figure(record, "target_s");
    if (isfinite(target)) snprintf(figure, sizeof figure, " in %.4g s", target);
    drove__sweep_text(json_object_get(record, "settings"), text, sizeof text);
    snprintf(line, sizeof line, "run %zu/%zu: %s%s%s%.200s%s: %s, seed %lld", run + 1,
             drove__sweep_count(&w->s.runs), outcome, figure, message != NULL ? " (" : "",
             message != NULL ? message : "", message != NULL ? ")" : "", text,
             (long long)json_integer_value(json_object_get(record, "seed")));
    say(w, line);
}

/* ---- the end of a run ---- */

/* NULL in *out: it left none, or half of one. */
static drove_status load_summary(const char *path, json_t **out)
{
    char *text = NULL;
    size_t n;
    json_error_t error;
    *out = NULL;
    drove_status status = drove__file_load(path, MOST_SUMMARY, &text, &n);
    if (status == DROVE_OK) status = drove__json_parse(text, n, 0, &error, out);
    free(text);
    if (status == DROVE_E_NOMEM) return drove__fail_in(status, "%s", path);
    if (json_is_string(json_object_get(*out, "outcome"))) return DROVE_OK;
    json_decref(*out);
    *out = NULL;
    return DROVE_OK;
}

static json_t *make_record(const sweep *w, size_t run, const drove_child *child,
                           const json_t *summary, const char *outcome)
{
    size_t setting;
    uint64_t seed;
    char path[PATH_SIZE], message[256] = "";
    name_folder(w, run, "err.txt", path);
    if (child->status != 0) drove__study_last_message(path, message, sizeof message);
    drove__sweep_run_at(&w->s.runs, run, &setting, &seed);
    json_t *all = json_object(),
           *end = drove__sweep_record(child, summary, outcome, message, w->n_cores);
    drove__json_set(&all, "run", json_integer((json_int_t)run + 1));
    drove__json_set(&all, "setting", json_integer((json_int_t)setting + 1));
    drove__json_set(&all, "settings", json_deep_copy(drove__sweep_setting(&w->s, setting)));
    drove__json_set(&all, "seed", json_integer((json_int_t)seed));
    if (all == NULL || end == NULL || json_object_update(all, end) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(end);
    return all;
}

static void count_record(sweep *w, const json_t *record)
{
    w->n_done++;
    w->n_crashed += drove__sweep_has_crashed(record);
}

static drove_status take_record(sweep *w, size_t run, json_t *record)
{
    static const char *const files[] = {"out.json", "err.txt", "log.jsonl"};
    size_t setting;
    uint64_t seed;
    char path[PATH_SIZE];
    char *line = drove__json_dump(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
    drove_status status = line != NULL ? drove__jsonl_append(w->results, line)
                                       : drove__fail_nomem("a run's record", sizeof *w);
    free(line);
    DROVE_TRY(status);
    if (json_array_set(w->s.results, run, record) != 0)
        return drove__fail_nomem("results", sizeof *w);
    count_record(w, record);

    drove__sweep_run_at(&w->s.runs, run, &setting, &seed);
    DROVE_TRY(drove__sweep_row(&w->s, setting, "target_s", &w->row[setting]));
    w->ended_ns = drove__now_ns();
    find_best(w);
    say_end(w, run, record);
    show(w);
    if (!w->opt->only_results) return DROVE_OK;

    for (size_t i = 0; i < DROVE_COUNT(files); i++) {
        name_folder(w, run, files[i], path);
        (void)unlink(path);
    }
    name_folder(w, run, "", path);
    (void)rmdir(path);
    return DROVE_OK;
}

static drove_status ended(void *context, size_t run, const drove_child *child)
{
    sweep *w = context;
    json_t *summary;
    char path[PATH_SIZE];
    if (child->status == 127 && child->signal == 0) /* of child.c: it has become no program */
        return drove__fail(DROVE_E_SYSTEM,
                           "run %zu/%zu: expected to start %s, which cannot be done any more",
                           run + 1, drove__sweep_count(&w->s.runs), w->opt->program);
    name_folder(w, run, "out.json", path);
    DROVE_TRY(load_summary(path, &summary));
    drove_status status = DROVE_OK;
    const char *outcome = drove__sweep_outcome(child, summary);
    if (outcome != NULL) {
        json_t *record = make_record(w, run, child, summary, outcome);
        status = record != NULL ? take_record(w, run, record)
                                : drove__fail_nomem("a run's record", sizeof *w);
        json_decref(record);
    }
    json_decref(summary);
    return status;
}

static bool is_stopped(void *context)
{
    const sweep *w = context;
    return drove__run_signal_since(w->interrupts_before) != 0;
}

/* ---- the whole ---- */

static drove_status open_results(sweep *w)
{
    bool has_half;
    size_t i, n_other = 0;
    const json_t *record;
    char path[PATH_SIZE], line[PATH_SIZE + 128];
    snprintf(path, sizeof path, "%s/runs", w->opt->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);
    DROVE_TRY(drove__sweep_read(&w->s, w->opt->folder, &has_half));
    snprintf(path, sizeof path, "%s/results.jsonl", w->opt->folder);
    DROVE_TRY(drove__jsonl_open(path, &w->results)); /* without half a line at its end */
    snprintf(line, sizeof line, "%s: half a line at its end is dropped", path);
    if (has_half) say(w, line);
    json_array_foreach(w->s.results, i, record)
    {
        if (!json_is_object(record)) continue;
        count_record(w, record);
        n_other += !drove__sweep_is_from(record, w->n_cores);
    }
    snprintf(line, sizeof line,
             "%s: %zu runs are of another machine or version: their times do not compare", path,
             n_other);
    if (n_other > 0) say(w, line);
    for (i = 0; i < w->s.runs.n_settings; i++)
        DROVE_TRY(drove__sweep_row(&w->s, i, "target_s", &w->row[i]));
    w->n_before = w->n_done;
    find_best(w);
    return DROVE_OK;
}

static const drove_pool_ops ops = {
    .begin = begin, .ended = ended, .is_stopped = is_stopped, .watch = watch};

static drove_status prepare(sweep *w)
{
    int error;
    drove_topo *topo;
    drove_topo_facts facts;
    char line[PATH_SIZE];
    DROVE_TRY(drove__sweep_open(w->opt->study, &w->s));
    const size_t n = w->s.runs.n_settings;
    w->row = drove__alloc(n, sizeof *w->row);
    if (w->row == NULL) return drove__fail_nomem("settings", n * sizeof *w->row);
    DROVE_TRY(drove__study_folder_make(w->opt->folder, "a sweep"));

    DROVE_TRY(drove__folder_lock("out", w->opt->folder, &w->lock, &error));
    if (w->lock == 0) {
        snprintf(line, sizeof line,
                 "--out: %.1000s: no locks in this file system (%s): use it for one sweep at a "
                 "time",
                 w->opt->folder, strerror(error));
        say(w, line);
    }
    DROVE_TRY(drove__sweep_claim(&w->s, w->opt->folder, true));

    DROVE_TRY(drove__topo_create(NULL, &topo));
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    w->n_cores = facts.n_cores;

    DROVE_TRY(open_results(w));
    snprintf(line, sizeof line, "settings: %zu, seeds: %zu, runs: %zu, of which %zu are done", n,
             w->s.runs.n_seeds, drove__sweep_count(&w->s.runs), w->n_done);
    say(w, line);
    return DROVE_OK;
}

drove_status drove_sweep_options_set(drove_sweep_options *options, const char *name,
                                     const char *value)
{
    static const char *const names[] = {"jobs"};
    if (strcmp(name, "jobs") == 0)
        return drove__parse_u64("--jobs", value, 1, 1024, &options->jobs);
    return drove__fail_unknown("option", name, names, DROVE_COUNT(names));
}

drove_status drove_sweep(const drove_sweep_options *options, drove_sweep_report **out)
{
    DROVE_IN_C_LOCALE;
    sweep w = {.opt = options, .interrupts_before = drove__run_interrupts()};
    *out = NULL;
    if (strlen(options->folder) > MOST_FOLDER)
        return drove__fail(DROVE_E_ARG, "--out: expected at most %d bytes", MOST_FOLDER);
    drove_status status = prepare(&w);
    if (status != DROVE_OK) goto fail;

    w.begin_ns = w.ended_ns = w.shown_ns = drove__now_ns();
    /* Again for runs that somebody told to end. */
    while (w.n_done < drove__sweep_count(&w.s.runs) && !is_stopped(&w)) {
        w.next = 0;
        status = drove__pool_run(&ops, &w, (size_t)options->jobs);
        if (status != DROVE_OK) goto fail;
    }
    status = drove__sweep_summarise(&w.s, options->folder,
                                    drove__run_signal_since(w.interrupts_before), out);

fail:
    drove__jsonl_close(w.results);
    if (w.lock != 0) close(w.lock - 1);
    drove__free(w.row);
    drove__sweep_close(&w.s);
    return status;
}
