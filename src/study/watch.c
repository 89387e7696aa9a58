/* study/watch.c - drove_watch_print: how a run or a sweep stands, as text.
 *
 * Only reads: whether a process owns the folder is seen in /proc/locks, without touching the lock.
 */
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "study/chart.h"
#include "study/page/html.h"
#include "study/page/settings.h"
#include "study/records.h"
#include "study/runs_read.h"

#include <drove/watch.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 1024, CHART_ROWS = 12, LEAST_COLUMNS = 40, NAME_SIZE = 40 };
enum { QUIET_S = 60 }; /* a folder without a process and without news for so long is left */

typedef struct watch {
    const char *folder;
    const drove_watch_style *style;
    drove_watch_state *state;
    FILE *stream;
    json_t *runs;
    unsigned columns;
    bool is_left; /* no process is at work */
} watch;

/* ---- lines ---- */

/* One line: without control characters, and cut to the width. */
static void print_line(watch *w, const char *text)
{
    unsigned column = 0;
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c, next = (unsigned char)c[1];
        const bool is_inner = (byte & 0xc0) == 0x80;
        if (!is_inner && ++column > w->columns) break;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) { /* U+0080 to U+009F */
            fputc('?', w->stream);
            c++;
        } else fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, w->stream);
    }
    fputc('\n', w->stream);
    w->state->n_lines++;
}

/* "FOLDER: STANDING" */
static void print_head(watch *w, const char *standing)
{
    char line[LINE_SIZE];
    const char *name = w->folder;
    const size_t n = strlen(name);
    const bool is_long = n >= NAME_SIZE; /* the end of a path says more than its beginning */
    if (is_long) {
        name += n - (NAME_SIZE - 4);
        while (((unsigned char)*name & 0xc0) == 0x80) name++;
    }
    snprintf(line, sizeof line, "%s%.100s: %.200s", is_long ? "..." : "", name, standing);
    print_line(w, line);
}

static void add_word(char *line, const json_t *object, const char *key)
{
    const char *word = drove__html_word(object, key);
    const size_t used = strlen(line);
    if (word[0] == '\0') return;
    snprintf(line + used, LINE_SIZE - used, "%s%.200s", used > 2 ? ", " : "", word);
}

static void print_duration(double seconds, char *into, size_t size)
{
    const double s = floor(seconds + 0.5);
    if (!isfinite(s) || s > 1e7) snprintf(into, size, "long");
    else if (s >= 3600.0)
        snprintf(into, size, "%.0f:%02.0f:%02.0f", floor(s / 3600.0), floor(fmod(s, 3600.0) / 60.0),
                 fmod(s, 60.0));
    else if (s >= 60.0) snprintf(into, size, "%.0f:%02.0f", floor(s / 60.0), fmod(s, 60.0));
    else snprintf(into, size, "%.0f s", s);
}

/* ", NAME VALUE" where there is a value. */
static void add_number(char *line, const char *name, double value, const char *unit)
{
    const size_t used = strlen(line);
    if (!isfinite(value)) return;
    snprintf(line + used, LINE_SIZE - used, "%s%s %.4g%s", used > 0 ? ", " : "", name, value, unit);
}

/* ---- the folder ---- */

/* True if a process has locked this folder, as a run or a sweep does. */
static bool is_locked(const char *folder)
{
    struct stat about;
    char line[256];
    bool found = false;
    FILE *locks = stat(folder, &about) == 0 ? fopen("/proc/locks", "re") : NULL;
    if (locks == NULL) return false;
    while (!found && fgets(line, sizeof line, locks) != NULL) {
        unsigned long long inode;
        const char *colon = strrchr(line, ':');
        found = strstr(line, " FLOCK ") != NULL && colon != NULL &&
                sscanf(colon + 1, "%llu", &inode) == 1 && inode == (unsigned long long)about.st_ino;
    }
    fclose(locks);
    return found;
}

/* Seconds since a file was changed; NaN: it does not exist. */
static double age_of(const char *folder, const char *name)
{
    struct stat about;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.3800s/%.200s", folder, name);
    return stat(path, &about) == 0 ? difftime(time(NULL), about.st_mtime) : NAN;
}

/* Nobody is at work: a process that was there has gone, or there has been no news for long.  Asked
 * before the files are read: what a process wrote before it went is then seen. */
static bool is_left(const watch *w)
{
    static const char *const names[] = {"run.json", "log.jsonl", "results.jsonl", "runs"};
    double age_s = NAN;
    if (is_locked(w->folder)) {
        w->state->was_alive = 1;
        return false;
    }
    for (size_t i = 0; i < DROVE_COUNT(names); i++)
        age_s = fmin(age_s, age_of(w->folder, names[i]));
    return w->state->was_alive || !(age_s < QUIET_S);
}

/* ---- a run ---- */

static drove_status print_curve(watch *w, const json_t *evaluations)
{
    size_t i, n_lines = 0;
    const json_t *record;
    const size_t n = json_array_size(evaluations);
    double *x = drove__alloc(n, sizeof *x), *y = drove__alloc(n, sizeof *y);
    drove_status status =
        x != NULL && y != NULL ? DROVE_OK : drove__fail_nomem("curve", n * sizeof *x);
    if (status == DROVE_OK) {
        json_array_foreach(evaluations, i, record)
        {
            x[i] = drove__html_get(record, "epochs");
            y[i] = drove__html_get(record, "loss");
        }
        const drove_chart chart = {.x = x,
                                   .y = y,
                                   .n = n,
                                   .columns = w->columns,
                                   .rows = CHART_ROWS,
                                   .is_ascii = w->style->is_ascii != 0,
                                   .x_name = "epochs"};
        status = drove__chart_print(&chart, w->stream, &n_lines);
    }
    w->state->n_lines += n_lines;
    drove__free(x);
    drove__free(y);
    return status;
}

/* A budget of --until, such as epochs=10; NaN: it has none of this kind. */
static double budget_of(const json_t *run, const char *name)
{
    const char *until = drove__html_word(json_object_get(run, "options"), "until");
    const size_t n = strlen(name);
    for (const char *at = until; at != NULL && *at != '\0';) {
        if (strncmp(at, name, n) == 0 && at[n] == '=') return strtod(at + n + 1, NULL);
        at = strchr(at, ',');
        if (at != NULL) at++;
    }
    return NAN;
}

static void print_standing(watch *w, const json_t *run, const json_t *evaluations, bool is_over)
{
    char line[LINE_SIZE] = "", text[64];
    const json_t *last = json_array_get(evaluations, json_array_size(evaluations) - 1);
    /* the loss by which the run is judged */
    const char *key = isfinite(drove__html_get(last, "validation_loss")) ? "validation_loss"
                      : isfinite(drove__html_get(last, "test_loss"))     ? "test_loss"
                                                                         : "loss";

    /* seconds of training left by the budget; NaN: the budget does not say */
    const double trained = drove__html_get(last, "train_s"), done = drove__html_get(last, "epochs");
    const double left_s = budget_of(run, "seconds") - trained;
    const double left_epochs_s = trained * (budget_of(run, "epochs") - done) / done;
    const double least_s = fmin(left_s, left_epochs_s); /* of NaN and a number the number */
    const double left = is_over || isnan(least_s) ? NAN : fmax(least_s, 0.0);

    /* the best evaluation, and its epoch */
    double best = NAN, at = NAN;
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        const json_t *record = json_array_get(evaluations, i);
        const double value = drove__html_get(record, key);
        if (!isfinite(value) || value >= best) continue;
        best = value;
        at = drove__html_get(record, "epochs");
    }

    add_number(line, "  epochs", drove__html_get(last, "epochs"), "");
    add_number(line, "updates", drove__html_get(last, "updates"), "");
    add_number(line, "training", drove__html_get(last, "train_s"), " s");
    if (isfinite(left)) {
        print_duration(left, text, sizeof text);
        snprintf(line + strlen(line), sizeof line - strlen(line), ", about %.60s left", text);
    }
    print_line(w, line);
    line[0] = '\0';
    add_number(line, "  loss", drove__html_get(last, "loss"), "");
    add_number(line, "validation", drove__html_get(last, "validation_loss"), "");
    add_number(line, "held-out", drove__html_get(last, "test_loss"), "");
    add_number(line, "accuracy", drove__html_get(last, "accuracy"), "");
    add_number(line, "held-out accuracy", drove__html_get(last, "test_accuracy"), "");
    print_line(w, line[0] != '\0' ? line : "  no loss that is a number");
    line[0] = '\0';
    add_number(line, "  rate", drove__html_get(last, "examples_per_s"), " examples/s");
    if (isfinite(best)) add_number(line, line[0] != '\0' ? "best" : "  best", best, "");
    if (isfinite(best))
        snprintf(line + strlen(line), sizeof line - strlen(line), " (%s) at epoch %.4g", key, at);
    print_line(w, line);
}

static drove_status print_evaluation(void *to, const json_t *record)
{
    static const char *const keys[] = {"epochs",          "train_s",   "loss",
                                       "validation_loss", "test_loss", "test_accuracy",
                                       "examples_per_s"};
    char line[LINE_SIZE] = "";
    for (size_t i = 0; i < DROVE_COUNT(keys); i++)
        add_number(line, keys[i], drove__html_get(record, keys[i]), "");
    print_line(to, line);
    return DROVE_OK;
}

static drove_status print_run(watch *w)
{
    char line[LINE_SIZE] = "  ";
    const json_t *run = json_array_get(w->runs, 0);
    const json_t *options = json_object_get(run, "options");
    const json_t *evaluations = json_object_get(run, "evaluations");
    const char *standing = drove__html_word(run, "outcome");
    if (standing[0] != '\0') w->state->is_over = 1;
    else if (!w->is_left) standing = "running";
    else {
        w->state->is_over = 1;
        standing = "no process is at work on it, and it has no summary: it was killed";
    }

    /* The evaluations since the last call, a line each. */
    if (w->style->is_lines) {
        drove_records_found found;
        const drove_records in = {.path = json_string_value(json_object_get(run, "log")),
                                  .first = w->state->n_seen};
        if (in.path != NULL) {
            DROVE_TRY(drove__records_each(&in, print_evaluation, w, &found));
            w->state->n_seen = found.n_lines;
        }
        if (w->state->is_over) print_head(w, standing);
        return DROVE_OK;
    }

    /* All of it: the options, the curve and the last evaluation. */
    w->state->n_seen = (size_t)json_integer_value(json_object_get(run, "lines"));
    print_head(w, standing);
    add_word(line, options, "model");
    add_word(line, options, "strategy");
    add_word(line, options, "data");
    if (drove__run_is_virtual(run))
        snprintf(line + strlen(line), sizeof line - strlen(line), ", virtual time");
    print_line(w, line);
    if (json_array_size(evaluations) == 0) {
        print_line(w, "  no evaluation yet");
        return DROVE_OK;
    }
    DROVE_TRY(print_curve(w, evaluations));
    print_standing(w, run, evaluations, w->state->is_over != 0);
    return DROVE_OK;
}

/* ---- a sweep ---- */

static void print_progress(watch *w, size_t n_all, const char *standing)
{
    static const char *const words[] = {"reached",   "finished", "missed",
                                        "timed_out", "crashed",  "refused"};
    char line[LINE_SIZE], text[64];
    const size_t n = json_array_size(w->runs);
    size_t i;
    const json_t *run;
    print_head(w, standing);
    if (n_all > 0) snprintf(line, sizeof line, "  %zu of %zu runs", n, n_all);
    else snprintf(line, sizeof line, "  %zu runs", n);
    for (size_t k = 0; k < DROVE_COUNT(words); k++) {
        size_t count = 0;
        json_array_foreach(w->runs, i, run) count += drove__run_is(run, words[k]);
        if (count > 0)
            snprintf(line + strlen(line), sizeof line - strlen(line), ", %zu %s", count, words[k]);
    }

    /* One run after the other, each of the mean time so far. */
    double sum_s = 0.0;
    json_array_foreach(w->runs, i, run)
    {
        const double seconds = drove__run_figure(run, "process_s");
        sum_s += isfinite(seconds) ? seconds : 0.0;
    }
    if (n > 0 && n_all > n && !w->state->is_over) {
        print_duration(sum_s / (double)n * (double)(n_all - n), text, sizeof text);
        snprintf(line + strlen(line), sizeof line - strlen(line), ", about %.60s left", text);
    }
    print_line(w, line);
}

/* The settings that are best so far, one a line. */
static drove_status print_best(watch *w)
{
    drove_page_settings s;
    char line[LINE_SIZE];
    drove_status status = drove__settings_init(&s, w->runs);
    if (status == DROVE_OK && s.n > 0)
        print_line(w, s.has_target ? "  best so far, by the median time to the target:"
                                   : "  best so far, by the median loss:");
    for (size_t i = 0; status == DROVE_OK && i < s.n_best; i++) {
        const drove_page_setting *x = &s.setting[s.best[i]];
        if (!isfinite(s.has_target ? x->target_s : x->loss)) break;
        snprintf(line, sizeof line, "  %10.4g%s  %s (%zu run%s)",
                 s.has_target ? x->target_s : x->loss, s.has_target ? " s" : "", x->name, x->n_runs,
                 x->n_runs == 1 ? "" : "s");
        print_line(w, line);
    }
    drove__settings_fini(&s);
    return status;
}

/* The curve of the run that goes on: the first without a result whose log is there. */
static drove_status print_running(watch *w, size_t n_all)
{
    char path[PATH_SIZE], line[LINE_SIZE], name[64];
    const size_t n_done = json_array_size(w->runs);
    for (size_t run = n_done + 1; run <= n_done + 64 && (n_all == 0 || run <= n_all); run++) {
        json_t *evaluations;
        const drove_records in = {.path = path,
                                  .is_strict = true,
                                  .most = DROVE_RUNS_MOST_EVALUATIONS};
        snprintf(name, sizeof name, "runs/%04zu/log.jsonl", run);
        snprintf(path, sizeof path, "%.3800s/%s", w->folder, name);
        if (isnan(age_of(w->folder, name))) continue;
        if (drove__records_read(&in, &evaluations, NULL) != DROVE_OK) continue;
        snprintf(line, sizeof line, "  run %zu:", run);
        print_line(w, line);
        const drove_status status =
            json_array_size(evaluations) > 0 ? print_curve(w, evaluations) : DROVE_OK;
        json_decref(evaluations);
        return status;
    }
    return DROVE_OK;
}

static drove_status print_sweep(watch *w)
{
    char path[PATH_SIZE];
    json_t *study;
    const char *standing = "running";
    const size_t n = json_array_size(w->runs);
    size_t n_all = 0; /* runs of its study; 0: unknown */
    snprintf(path, sizeof path, "%.3800s/study.json", w->folder);
    if (drove__record_load(path, &study) == DROVE_OK) {
        const json_int_t n_runs = json_integer_value(json_object_get(study, "runs"));
        n_all = n_runs > 0 ? (size_t)n_runs : 0;
        json_decref(study);
    }
    if (n_all > 0 && n >= n_all) {
        w->state->is_over = 1;
        standing = "all runs are done";
    } else if (w->is_left) {
        w->state->is_over = 1;
        standing = "stopped; the same drove sweep command goes on";
    }
    if (w->style->is_lines) {
        for (; w->state->n_seen < json_array_size(w->runs); w->state->n_seen++) {
            char line[LINE_SIZE];
            const json_t *run = json_array_get(w->runs, w->state->n_seen);
            snprintf(line, sizeof line, "%.300s: %.40s", drove__html_word(run, "run"),
                     drove__html_word(run, "outcome"));
            add_number(line, "target_s", drove__run_figure(run, "target_s"), "");
            add_number(line, "loss", drove__run_figure(run, "loss"), "");
            print_line(w, line);
        }
        if (w->state->is_over) print_progress(w, n_all, standing);
        return DROVE_OK;
    }
    w->state->n_seen = n;
    print_progress(w, n_all, standing);
    if (!w->state->is_over) DROVE_TRY(print_running(w, n_all));
    return n > 0 ? print_best(w) : DROVE_OK;
}

/* ---- both ---- */

drove_status drove_watch_print(const char *folder, const drove_watch_style *style,
                               drove_watch_state *state, FILE *stream)
{
    DROVE_GIVEN(folder);
    DROVE_GIVEN(style);
    DROVE_GIVEN(state);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    struct stat about;
    char path[PATH_SIZE];
    const drove_report_options opt = {.folder = &folder, .n_folders = 1};
    watch w = {.folder = folder,
               .style = style,
               .state = state,
               .stream = stream,
               .columns = style->columns > LEAST_COLUMNS ? style->columns : LEAST_COLUMNS};
    state->n_lines = 0;
    w.is_left = is_left(&w);
    DROVE_TRY(drove__runs_read_ends(&opt, &w.runs));
    snprintf(path, sizeof path, "%.3800s/run.json", folder);
    const drove_status status = stat(path, &about) == 0 ? print_run(&w) : print_sweep(&w);
    json_decref(w.runs);
    return status;
}
