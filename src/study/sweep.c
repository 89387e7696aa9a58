/* study/sweep.c - drove_sweep: the runs of a study as child processes, each a line of results. */
#include "base/clock.h"
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "base/topo.h"
#include "files/folder.h"
#include "values/interrupt.h"
#include "study/journal.h"
#include "study/runner.h"
#include "study/sweep_results.h"
#include "study/sweep_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, TEXT_SIZE = 512 };
enum { MOST_FOLDER = DROVE_TEXT_SIZE - 32 }; /* with runs/NNNN/log.jsonl it is an option */

static const uint64_t WATCH_NS = 200000000;

typedef struct sweep {
    const drove_sweep_options *opt;
    drove_sweep_state s;
    drove_jsonl *journal;
    drove_sweep_row *row; /* [n_settings], by the time to the target */
    size_t next, n_before, n_done, n_crashed;
    uint64_t begin_ns, ended_ns, shown_ns, interrupts; /* ended: the last run */
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

static void add_all(drove_command *command, const json_t *settings)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)settings, name, value)
        drove__command_set(command, name, json_string_value(value));
}

/* The next run: drove train, with the options of the study, of the setting, and those that every
 * run of a sweep gets. */
static drove_status begin(void *context, drove_command *command, size_t *job, bool *is_begun)
{
    sweep *w = context;
    size_t setting;
    uint64_t seed;
    char folder[PATH_SIZE], text[PATH_SIZE];
    while (w->next < drove__sweep_count(&w->s.runs) &&
           !json_is_null(json_array_get(w->s.results, w->next)))
        w->next++;
    if (w->next == drove__sweep_count(&w->s.runs)) return DROVE_OK;
    *job = w->next++;
    *is_begun = true;
    drove__sweep_run_at(&w->s.runs, *job, &setting, &seed);
    drove__command_add(command, w->opt->program);
    drove__command_add(command, "train");
    add_all(command, json_object_get(w->s.study.document, "options"));
    add_all(command, drove__sweep_setting(&w->s, setting));
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    drove__command_set(command, "seed", text);
    drove__command_set(command, "out", "none");
    name_folder(w, *job, "log.jsonl", text);
    if (!w->opt->only_results) drove__command_set(command, "log", text);
    drove__command_add(command, "--json");
    drove__command_add(command, "--quiet");
    command->limit_s = json_number_value(json_object_get(w->s.study.document, "limit"));
    name_folder(w, *job, "", folder);
    return drove__command_folder(command, folder);
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

static void show(sweep *w)
{
    const uint64_t now_ns = w->shown_ns = drove__now_ns();
    const size_t n_new = w->n_done - w->n_before;
    const size_t n_left = drove__sweep_count(&w->s.runs) - w->n_done;
    double left_s = NAN; /* by the mean time of the runs so far, if one has ended */
    if (n_new > 0) {
        const double mean_s = (double)(w->ended_ns - w->begin_ns) * 1e-9 / (double)n_new;
        const double since_s = fmin((double)(now_ns - w->ended_ns) * 1e-9, mean_s);
        left_s = fmax(mean_s * (double)n_left - since_s, 0.0);
    }
    const drove_sweep_progress p = {.n_done = w->n_done,
                                    .n_runs = drove__sweep_count(&w->s.runs),
                                    .n_crashed = w->n_crashed,
                                    .eta_s = left_s,
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

static void count_record(sweep *w, const json_t *record)
{
    w->n_done++;
    w->n_crashed += drove__sweep_has_crashed(record);
}

static drove_status ended(void *context, size_t run, const drove_child *child)
{
    static const char *const files[] = {"out.json", "err.txt", "log.jsonl"};
    sweep *w = context;
    size_t setting;
    uint64_t seed;
    json_t *summary, *record;
    char path[PATH_SIZE], message[256] = "";
    if (child->status == 127 && child->signal == 0) /* it has become no program */
        return drove__fail(DROVE_E_SYSTEM,
                           "run %zu/%zu: expected to start %s, which cannot be done any more",
                           run + 1, drove__sweep_count(&w->s.runs), w->opt->program);
    if (child->is_lost)
        return drove__fail(DROVE_E_SYSTEM,
                           "run %zu/%zu: its exit status is lost: this process has waited for it "
                           "elsewhere",
                           run + 1, drove__sweep_count(&w->s.runs));
    name_folder(w, run, "out.json", path);
    DROVE_TRY(drove__child_summary(path, &summary));
    const char *outcome = drove__sweep_outcome(child, summary);
    if (outcome == NULL) {
        json_decref(summary);
        return DROVE_OK;
    }

    /* its record */
    name_folder(w, run, "err.txt", path);
    if (child->status != 0) drove__child_message(path, message, sizeof message);
    drove__sweep_run_at(&w->s.runs, run, &setting, &seed);
    record = json_object();
    drove__json_set(&record, "run", json_integer((json_int_t)run + 1));
    drove__json_set(&record, "setting", json_integer((json_int_t)setting + 1));
    drove__json_set(&record, "settings", json_deep_copy(drove__sweep_setting(&w->s, setting)));
    drove__json_set(&record, "seed", json_integer((json_int_t)seed));
    drove__sweep_record(child, summary, outcome, message, w->n_cores, &record);
    json_decref(summary);
    drove_status status = drove__journal_add(w->journal, record);
    if (status != DROVE_OK) goto fail;
    if (json_array_set(w->s.results, run, record) != 0) {
        status = drove__fail_nomem("results", sizeof *w);
        goto fail;
    }

    /* how the sweep stands now */
    count_record(w, record);
    status = drove__sweep_row(&w->s, setting, "target_s", &w->row[setting]);
    if (status != DROVE_OK) goto fail;
    w->ended_ns = drove__now_ns();
    find_best(w);
    say_end(w, run, record);
    show(w);

    if (w->opt->only_results) {
        for (size_t i = 0; i < DROVE_COUNT(files); i++) {
            name_folder(w, run, files[i], path);
            (void)unlink(path);
        }
        name_folder(w, run, "", path);
        (void)rmdir(path);
    }

fail:
    json_decref(record);
    return status;
}

/* ---- the whole ---- */

static drove_status prepare(sweep *w)
{
    int error;
    bool had_half;
    size_t i, n_other = 0;
    drove_topo *topo;
    drove_topo_facts facts;
    const json_t *record;
    char path[PATH_SIZE], line[PATH_SIZE + 128];
    DROVE_TRY(drove__sweep_open(w->opt->study, &w->s));
    const size_t n = w->s.runs.n_settings;
    w->row = drove__alloc(n, sizeof *w->row);
    if (w->row == NULL) return drove__fail_nomem("settings", n * sizeof *w->row);

    /* the folder, which is this study's alone */
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
    snprintf(path, sizeof path, "%s/runs", w->opt->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);

    DROVE_TRY(drove__topo_create(NULL, &topo));
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    w->n_cores = facts.n_cores;

    /* the runs that have ended */
    DROVE_TRY(drove__sweep_read(&w->s, w->opt->folder, &w->journal, &had_half));
    snprintf(path, sizeof path, "%s/results.jsonl", w->opt->folder);
    snprintf(line, sizeof line, "%s: half a line at its end is dropped", path);
    if (had_half) say(w, line);
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
    for (i = 0; i < n; i++) DROVE_TRY(drove__sweep_row(&w->s, i, "target_s", &w->row[i]));
    w->n_before = w->n_done;
    find_best(w);
    snprintf(line, sizeof line, "settings: %zu, seeds: %zu, runs: %zu, of which %zu are done", n,
             w->s.runs.n_seeds, drove__sweep_count(&w->s.runs), w->n_done);
    say(w, line);
    return DROVE_OK;
}

drove_status drove_sweep_options_set(drove_sweep_options *options, const char *name,
                                     const char *value)
{
    DROVE_GIVEN(options);
    DROVE_GIVEN(name);
    DROVE_GIVEN(value);
    static const char *const names[] = {"jobs"};
    if (strcmp(name, "jobs") == 0)
        return drove__parse_u64("--jobs", value, 1, 1024, &options->jobs);
    return drove__fail_unknown("option", name, names, DROVE_COUNT(names));
}

drove_status drove_sweep(const drove_sweep_options *options, drove_sweep_report **out)
{
    DROVE_GIVEN(options);
    DROVE_GIVEN_AS(options->study, "options->study");
    DROVE_GIVEN_AS(options->folder, "options->folder");
    DROVE_GIVEN_AS(options->program, "options->program");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    sweep w = {.opt = options, .interrupts = drove__run_interrupts()};
    *out = NULL;
    if (strlen(options->folder) > MOST_FOLDER)
        return drove__fail(DROVE_E_ARG, "--out: expected at most %d bytes", MOST_FOLDER);
    drove_status status = prepare(&w);
    if (status != DROVE_OK) goto fail;

    w.begin_ns = w.ended_ns = w.shown_ns = drove__now_ns();
    /* Again for runs that somebody told to end. */
    const drove_runner runner = {.n_at_once = (size_t)options->jobs,
                                 .interrupts = w.interrupts,
                                 .begin = begin,
                                 .ended = ended,
                                 .watch = watch,
                                 .context = &w};
    while (w.n_done < drove__sweep_count(&w.s.runs) && drove__run_signal_since(w.interrupts) == 0) {
        w.next = 0;
        status = drove__runner_run(&runner);
        if (status != DROVE_OK) goto fail;
    }
    status =
        drove__sweep_summarise(&w.s, options->folder, drove__run_signal_since(w.interrupts), out);

fail:
    drove__jsonl_close(w.journal);
    if (w.lock != 0) close(w.lock - 1);
    drove__free(w.row);
    drove__sweep_close(&w.s);
    return status;
}
