/* study/tune.c - drove_tune: successive halving over settings.
 *
 * Source: Jamieson, Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
 * Optimization, AISTATS 2016, Figure 1, with eta = 3 as in Hyperband (Li et al., JMLR 2018): nine
 * settings for R/9 epochs, the best three for R/3, the best one for R.  Such brackets follow each
 * other, each with new settings, until the budget is used up.  Settings follow from the seed and
 * scores from the journal, so going on is doing all again with the journal's answers.
 */
#include "study/trial.h"

#include "base/alive.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "data/data.h"
#include "engine/fixed/format.h"
#include "model/model.h"
#include "report/json.h"
#include "config/config.h"
#include "config/words.h"
#include "study/journal.h"
#include "study/runner.h"
#include "values/interrupt.h"

#include <drove/data.h>
#include <drove/train.h>
#include <drove/tune.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ETA = 3, RUNGS = 3, BRACKET = 9, MOST_CANDIDATES = 4096, MOST_DRAWS = 200 };
enum { PATH_SIZE = 4096, SHOWN = 5, WIDE = 4096 };
enum { MOST_FOLDER = DROVE_TEXT_SIZE - 32 }; /* with best-NNNN it is an option */

static const double USUAL_EPOCHS = 27.0, USUAL_SECONDS = 300.0;

typedef struct candidate {
    drove_point point;
    uint64_t number;
    double epochs; /* of the longest trial; 0: none has ended */
    double rank, score, seconds;
} candidate;

struct drove_tune_result {
    char *json, *text;
    int signal;
};

typedef struct tuner {
    drove_config config; /* of opt->run */
    const drove_tune_options *opt;
    drove_space space;
    const drove_metric_row *metric;
    drove_trials_bench *bench;
    double epochs, seconds;
    unsigned n_folds;
    uint64_t interrupts, until_ns, n_drawn;
    candidate *candidate; /* [n]; the first has the defaults */
    size_t n;
    bool is_over; /* the budget, or the space */
    char folder[DROVE_TEXT_SIZE], base[DROVE_TEXT_SIZE + 16];
    bool is_of_table;
} tuner;

static bool is_given(const drove_tune_options *opt, const char *name)
{
    return drove__names_option(name, opt->given, opt->n_given);
}

/* ---- options ---- */

static drove_status set_budget(drove_tune_options *opt, const char *value)
{
    char text[128];
    double seconds = 0.0;
    uint64_t trials = 0;
    const size_t n = strlen(value);
    bool is_good = n < sizeof text && n > 0;
    memcpy(text, value, is_good ? n + 1 : 0);
    for (char *rest = text, *part; is_good && (part = strsep(&rest, ",")) != NULL;) {
        if (strncmp(part, "seconds=", 8) == 0)
            DROVE_TRY(drove__parse_real("--budget seconds", part + 8, DBL_MIN, 1e9, &seconds));
        else if (strncmp(part, "trials=", 7) == 0)
            DROVE_TRY(drove__parse_u64("--budget trials", part + 7, 1, 1000000, &trials));
        else is_good = false;
    }
    if (!is_good)
        return drove__fail(DROVE_E_ARG,
                           "--budget: expected seconds=N, trials=N or both with a comma, found "
                           "\"%.80s\"",
                           value);
    opt->seconds = seconds;
    opt->trials = trials;
    return DROVE_OK;
}

drove_status drove_tune_options_set(drove_tune_options *opt, const char *name, const char *value)
{
    DROVE_GIVEN_AS(opt, "options");
    DROVE_GIVEN(name);
    DROVE_GIVEN(value);
    DROVE_IN_C_LOCALE;
    static const char *const names[] = {"budget", "epochs", "folds", "metric",
                                        "space",  "jobs",   "limit"};
    if (strcmp(name, "budget") == 0) return set_budget(opt, value);
    if (strcmp(name, "epochs") == 0)
        return drove__parse_real("--epochs", value, 1e-3, 1e6, &opt->epochs);
    if (strcmp(name, "limit") == 0)
        return drove__parse_real("--limit", value, 1e-3, 1e9, &opt->limit);
    if (strcmp(name, "folds") == 0) return drove__parse_u64("--folds", value, 1, 100, &opt->folds);
    if (strcmp(name, "jobs") == 0) return drove__parse_u64("--jobs", value, 1, 1024, &opt->jobs);
    if (strcmp(name, "metric") == 0) opt->metric = value;
    else if (strcmp(name, "space") == 0) opt->space = value;
    else return drove__fail_unknown("option", name, names, DROVE_COUNT(names));
    return DROVE_OK;
}

/* ---- the folder ---- */

/* Options that do not belong to a trial. */
static bool is_of_trials(const char *name)
{
    static const char *const other[] = {"data",     "test",       "out",     "until", "resume",
                                        "timeline", "save_every", "metrics", "log"};
    for (size_t i = 0; i < DROVE_COUNT(other); i++)
        if (strcmp(name, other[i]) == 0) return false;
    return true;
}

/* The option's value where it is not the default. */
static bool differs(const drove_config *run, const drove_option_info *info,
                    char value[DROVE_TEXT_SIZE])
{
    return strcmp(drove__config_text(run, info->name, value), info->default_text) != 0;
}

/* The value is in double quotes: a string of JSON is one of YAML. */
static void write_option(const char *name, const char *value, FILE *stream)
{
    json_t *string = json_stringn_nocheck(value, strlen(value));
    char *quoted = drove__json_dump(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    if (quoted != NULL) fprintf(stream, "%s: %s\n", name, quoted);
    free(quoted);
    json_decref(string);
}

static bool is_set(const drove_point *point, const char *name)
{
    for (unsigned i = 0; i < point->n_settings; i++)
        if (drove__option_is(point->setting[i].name, name)) return true;
    return false;
}

/* The run file of all trials, or with `best` that of the run with these settings. */
static drove_status write_run_file(const tuner *t, const candidate *best, const char *path)
{
    size_t n;
    char value[DROVE_TEXT_SIZE], until[64];
    drove_writer *w;
    const drove_option_info *info = drove_options_table(&n);
    DROVE_TRY(drove__writer_create(path, &w));
    FILE *stream = drove__writer_stream(w);
    fprintf(stream, "# %s\n",
            best != NULL ? "the best settings of drove tune"
                         : "what all trials of drove tune share");
    if (best != NULL) {
        write_option("data", t->config.problem.data, stream);
        /* Test data are for the last run, and by default that has all rows for training. */
        const drove_test_kind kind = t->config.problem.test;
        const bool has_test =
            kind == DROVE_TEST_SPEC || (kind == DROVE_TEST_SPLIT && is_given(t->opt, "test"));
        write_option("test", has_test ? drove__config_text(&t->config, "test", value) : "none",
                     stream);
    }
    for (size_t i = 0; i < n; i++)
        if (is_of_trials(info[i].name) && differs(&t->config, &info[i], value) &&
            (best == NULL || !is_set(&best->point, info[i].name)))
            write_option(info[i].name, value, stream);
    for (unsigned i = 0; best != NULL && i < best->point.n_settings; i++)
        write_option(best->point.setting[i].name, best->point.setting[i].value, stream);
    snprintf(until, sizeof until, "epochs=%.9g", t->epochs);
    if (best != NULL) write_option("until", until, stream);
    return drove__writer_commit(w);
}

/* What makes trials comparable; NULL: no memory. */
static json_t *identify(const tuner *t)
{
    size_t n;
    char value[DROVE_TEXT_SIZE];
    const drove_option_info *info = drove_options_table(&n);
    json_t *options = json_object(), *space = json_object(), *all = json_object();
    for (size_t i = 0; i < n; i++)
        if (is_of_trials(info[i].name) && differs(&t->config, &info[i], value))
            drove__json_set(&options, info[i].name, json_string_nocheck(value));
    for (unsigned i = 0; i < t->space.n_dimensions; i++) {
        const drove_dimension *d = &t->space.dimension[i];
        json_t *list = json_array();
        for (unsigned k = 0; k < d->n_choices; k++)
            drove__json_add(&list, json_string_nocheck(d->choice[k]));
        if (d->n_choices == 0) {
            drove__json_add(&list, json_string(d->is_log ? "log" : "uniform"));
            drove__json_add(&list, json_real(d->least));
            drove__json_add(&list, json_real(d->most));
        }
        drove__json_set(&space, d->name, list);
    }
    drove__json_set(&all, "version", json_integer(1));
    drove__json_set(&all, "data", json_string_nocheck(t->config.problem.data));
    drove__json_set(&all, "options", options);
    drove__json_set(&all, "metric", json_string(t->metric->key));
    drove__json_set(&all, "epochs", json_real(t->epochs));
    drove__json_set(&all, "folds", json_integer((json_int_t)t->n_folds));
    drove__json_set(&all, "space", space);
    return all;
}

/* ---- what is searched ---- */

/* Reads the data once, so that what is wrong with them is said before any trial. */
static drove_status look_at_data(tuner *t)
{
    char spec[DROVE_TEXT_SIZE];
    drove_data *data, *test;
    const drove_config *c = &t->config;
    const drove_config_problem *p = &c->problem;
    DROVE_TRY(drove__data_set_columns(p->data, p->label, p->weights, spec, sizeof spec));
    if (strcmp(spec, "-") == 0 || strncmp(spec, "-?", 2) == 0)
        return drove__fail(DROVE_E_ARG, "--data: expected a file, which every trial reads anew, "
                                        "found standard input");
    DROVE_TRY(drove_data_open(spec, "", c->seed, &data, &test));
    const drove_y_kind kind = data->storage->y_kind;
    const bool is_wide = data->storage->x_kind == DROVE_X_CSR && data->storage->n_features >= WIDE;
    t->is_of_table = data->storage->schema != NULL;
    drove_data_destroy(data);

    /* the metric: as given, or the usual one of such targets */
    static const char *const usual[] = {
        [DROVE_Y_CLASS] = "log_loss", [DROVE_Y_VALUE] = "rmse", [DROVE_Y_LABELS] = "loss"};
    const char *key = t->opt->metric != NULL ? t->opt->metric : usual[kind], *known[16];
    size_t n = 0;
    for (; drove__study_metrics[n].key != NULL; n++) {
        known[n] = drove__study_metrics[n].key;
        if (strcmp(key, known[n]) == 0) t->metric = &drove__study_metrics[n];
    }
    if (t->metric == NULL)
        return drove__fail_in(drove__fail_unknown("metric", key, known, n), "--metric");
    if (t->opt->space != NULL) return DROVE_OK;

    /* the space; low-precision linear models have plain SGD alone (engine/linear) */
    drove_space_rules rules = DROVE_SPACE_ANY_RULE;
    if (c->low.is_low && !drove__fixed_is_own(c->low.precision)) {
        const bool is_linear = p->model != NULL && drove__space_is_linear(p->model);
        if (!is_given(t->opt, "model")) rules = DROVE_SPACE_PLAIN_IF_LINEAR;
        else if (is_linear) rules = DROVE_SPACE_PLAIN;
    }
    drove__space_usual(kind == DROVE_Y_VALUE, is_wide, rules, t->opt->given, t->opt->n_given,
                       &t->space);
    return DROVE_OK;
}

/* ---- brackets ---- */

/* A point that is no candidate yet. */
static bool draw_new(tuner *t)
{
    candidate *c = &t->candidate[t->n];
    if (t->n == MOST_CANDIDATES) return false;
    for (unsigned tries = 0; tries < MOST_DRAWS; tries++) {
        bool is_new = true;
        *c = (candidate){.rank = INFINITY, .score = NAN, .number = ++t->n_drawn};
        drove__space_draw(&t->space, t->config.seed, c->number, &c->point);
        for (size_t i = 0; i < t->n && is_new; i++)
            is_new = !drove__point_equal(&c->point, &t->candidate[i].point);
        if (!is_new) continue;
        t->n++;
        return true;
    }
    return false;
}

/* The mean over the folds.  If time was up too early, its earlier scores stand. */
static void take_scores(candidate *c, double epochs, const drove_trial_end *end, unsigned n)
{
    double rank = 0.0, score = 0.0, seconds = 0.0;
    for (unsigned i = 0; i < n; i++) {
        if (!end[i].is_done) return;
        if (end[i].timed_out) epochs = fmin(epochs, end[i].epochs);
        rank += end[i].rank / n;
        score += end[i].score / n;
        seconds += end[i].seconds;
    }
    if (epochs <= c->epochs) return;
    c->epochs = epochs;
    c->rank = rank;
    c->score = score;
    c->seconds = seconds;
}

/* Trials of these candidates for so many epochs. */
static drove_status run_rung(tuner *t, candidate *const *chosen, size_t n, unsigned rung)
{
    const double epochs = t->epochs / pow(ETA, RUNGS - 1 - (double)rung);
    const unsigned n_folds = rung == RUNGS - 1 ? t->n_folds : 1;
    drove_trial_job *job = drove__alloc(n * n_folds, sizeof *job);
    drove_trial_end *end = drove__alloc(n * n_folds, sizeof *end);
    drove_status status;
    if (job == NULL || end == NULL) {
        status = drove__fail_nomem("trials", n * n_folds * sizeof *job);
        goto fail;
    }
    for (size_t i = 0; i < n * n_folds; i++)
        job[i] = (drove_trial_job){.point = &chosen[i / n_folds]->point,
                                   .number = chosen[i / n_folds]->number,
                                   .epochs = epochs,
                                   .fold = 1 + (unsigned)(i % n_folds),
                                   .n_folds = t->n_folds};
    status = drove__trials_run_all(t->bench, job, n * n_folds, t->until_ns, end);
    if (status != DROVE_OK) goto fail;
    for (size_t i = 0; i < n; i++) take_scores(chosen[i], epochs, end + i * n_folds, n_folds);
    for (size_t i = 0; i < n * n_folds; i++) t->is_over |= !end[i].is_done;
fail:
    drove__free(job);
    drove__free(end);
    return status;
}

/* Candidates with a score come first.  A longer trial says more; at equal length the better score
 * wins. */
static int compare_for_sort(const void *one, const void *other)
{
    const candidate *a = *(candidate *const *)one, *b = *(candidate *const *)other;
    if (isfinite(a->rank) != isfinite(b->rank)) return isfinite(a->rank) ? -1 : 1;
    if (a->epochs != b->epochs) return a->epochs > b->epochs ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static drove_status search(tuner *t)
{
    t->candidate = drove__alloc(MOST_CANDIDATES + 1, sizeof *t->candidate);
    if (t->candidate == NULL)
        return drove__fail_nomem("settings", MOST_CANDIDATES * sizeof *t->candidate);
    t->candidate[0] = (candidate){.rank = INFINITY, .score = NAN};
    t->n = 1;
    for (size_t first = 0; !t->is_over && drove__run_signal_since(t->interrupts) == 0;
         first = t->n) {
        while (t->n - first < BRACKET && draw_new(t)) continue;
        if (t->n == first) break; /* the space has no others */
        /* The defaults stay to the end of their bracket, for comparison. */
        candidate *chosen[BRACKET + 1];
        size_t n = t->n - first;
        for (size_t i = 0; i < n; i++) chosen[i] = &t->candidate[first + i];
        for (unsigned rung = 0; rung < RUNGS && !t->is_over && n > 0; rung++) {
            DROVE_TRY(run_rung(t, chosen, n, rung));
            qsort(chosen, n, sizeof *chosen, compare_for_sort);
            n = (n + ETA - 1) / ETA;
            while (n > 0 && !isfinite(chosen[n - 1]->rank)) n--;
            if (first != 0) continue;
            bool has_defaults = false;
            for (size_t i = 0; i < n; i++) has_defaults |= chosen[i] == &t->candidate[0];
            if (!has_defaults) chosen[n++] = &t->candidate[0];
        }
    }
    return DROVE_OK;
}

/* ---- the best ---- */

/* Trains on all training data; *summary_out is the run's. */
static drove_status train_best(const tuner *t, const candidate *best, char *folder, size_t size,
                               json_t **summary_out)
{
    char file[PATH_SIZE], why[DROVE_ERROR_TEXT_SIZE / 2];
    drove_child child;
    drove_command command = {0};

    /* A folder that does not exist yet: best, best-2 ... */
    snprintf(folder, size, "%s/best", t->folder);
    for (unsigned i = 2; access(folder, F_OK) == 0 && i < 10000; i++)
        snprintf(folder, size, "%s/best-%u", t->folder, i);
    snprintf(file, sizeof file, "%s.yaml", folder);
    DROVE_TRY(write_run_file(t, best, file));
    drove__command_add(&command, t->opt->program);
    drove__command_add(&command, "train");
    drove__command_add(&command, file);
    drove__command_set(&command, "out", folder);
    drove__command_add(&command, "--json");
    drove__command_add(&command, "--quiet");
    snprintf(command.out, sizeof command.out, "%s.json", folder);
    snprintf(command.err, sizeof command.err, "%s.txt", folder);
    const drove_status status = drove__command_run(&command, t->interrupts, &child);
    drove__command_fini(&command);
    DROVE_TRY(status);
    if (drove__run_signal_since(t->interrupts) != 0) return DROVE_OK;

    /* A child that was refused says why; one that failed on the way makes this one fail, too. */
    if (child.status != 0) {
        snprintf(file, sizeof file, "%s.txt", folder);
        drove__child_message(file, why, sizeof why);
        return drove__fail(child.status == 2 ? DROVE_E_DATA : DROVE_E_SYSTEM,
                           "%s.yaml: the run with the best settings ended with status %d: %s (%s)",
                           folder, child.status, why[0] != '\0' ? why : "no message", file);
    }

    snprintf(file, sizeof file, "%s.json", folder);
    DROVE_TRY(drove__child_summary(file, summary_out));
    if (*summary_out != NULL) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected the summary of a run", file);
}

/* ---- the result ---- */

static json_t *describe(const candidate *c)
{
    return json_pack("{s:o s:o s:f s:f}", "settings", drove__study_settings(&c->point), "score",
                     drove__json_real(c->score), "epochs", c->epochs, "seconds", c->seconds);
}

static drove_status make_text(const tuner *t, candidate *const *order, const char *folder,
                              const json_t *summary, char **out)
{
    size_t size;
    FILE *stream = open_memstream(out, &size);
    if (stream == NULL) return drove__fail_nomem("report", SHOWN * sizeof(candidate));
    if (order[0]->epochs > 0.0) {
        char text[512];
        drove__point_text(&order[0]->point, text, sizeof text);
        fprintf(stream, "Best of %llu trials in %.1f s: %s %.6g, of the defaults %.6g: %s\n",
                (unsigned long long)drove__trials_count(t->bench), drove__trials_seconds(t->bench),
                t->metric->key, order[0]->score, t->candidate[0].score, text);
        fprintf(stream, "\n  %-18s %8s %9s  %s\n", t->metric->key, "epochs", "seconds", "settings");
        for (size_t i = 0; i < t->n && i < SHOWN && order[i]->epochs > 0.0; i++) {
            drove__point_text(&order[i]->point, text, sizeof text);
            fprintf(stream, "  %-18.6g %8.4g %9.1f  %s\n", order[i]->score, order[i]->epochs,
                    order[i]->seconds, text);
        }
    } else fputs("No trial has finished.\n", stream);

    if (summary != NULL) {
        const json_t *loss = json_object_get(summary, "test_loss");
        const json_t *accuracy = json_object_get(summary, "test_accuracy");
        fprintf(stream, "\n  model       %s/model.safetensors\n  run file    %s.yaml\n", folder,
                folder);
        if (json_is_number(loss)) {
            fprintf(stream, "  test data   loss %.6g", json_number_value(loss));
            if (json_is_number(accuracy))
                fprintf(stream, ", accuracy %.2f %%", 100.0 * json_number_value(accuracy));
            fputc('\n', stream);
        }
    }

    fprintf(stream, "  trials      %s/trials.jsonl\n", t->folder);
    if (drove__run_signal_since(t->interrupts) != 0)
        fprintf(stream, "  interrupted: the same command with --out %s goes on\n", t->folder);
    const bool is_cut = ferror(stream) != 0;
    return fclose(stream) == 0 && !is_cut ? DROVE_OK : drove__fail_nomem("report", size);
}

static drove_status conclude(const tuner *t, drove_tune_result *result)
{
    char folder[DROVE_TEXT_SIZE + 32] = "";
    json_t *summary = NULL;
    candidate **order = drove__alloc(t->n, sizeof *order);
    if (order == NULL) return drove__fail_nomem("report", t->n * sizeof *order);
    for (size_t i = 0; i < t->n; i++) order[i] = &t->candidate[i];
    qsort(order, t->n, sizeof *order, compare_for_sort);

    drove_status status = DROVE_OK;
    result->signal = drove__run_signal_since(t->interrupts);
    if (result->signal == 0) {
        if (!isfinite(order[0]->rank)) {
            status = drove__fail(DROVE_E_DATA,
                                 "no trial gave %s: expected at least one in %s/trials.jsonl",
                                 t->metric->key, t->folder);
            goto fail;
        }
        status = train_best(t, order[0], folder, sizeof folder, &summary);
        result->signal = drove__run_signal_since(t->interrupts);
        if (status != DROVE_OK) goto fail;
    }
    json_t *all = json_object(), *best = json_array();
    for (size_t i = 0; i < t->n && i < SHOWN && order[i]->epochs > 0.0; i++)
        drove__json_add(&best, describe(order[i]));
    drove__json_set(&all, "metric", json_string(t->metric->key));
    drove__json_set(&all, "best", best);
    drove__json_set(&all, "defaults", describe(&t->candidate[0]));
    drove__json_set(&all, "trials", json_integer((json_int_t)drove__trials_count(t->bench)));
    drove__json_set(&all, "seconds", json_real(drove__trials_seconds(t->bench)));
    drove__json_set(&all, "out", json_string_nocheck(t->folder));
    drove__json_set(&all, "run", summary != NULL ? json_string_nocheck(folder) : json_null());
    drove__json_set(&all, "summary", summary != NULL ? json_deep_copy(summary) : json_null());
    status = drove__json_text(all, 9, &result->json);
    if (status == DROVE_OK) status = make_text(t, order, folder, summary, &result->text);

fail:
    json_decref(summary);
    drove__free(order);
    return status;
}

static drove_status prepare(tuner *t)
{
    static const char *const refused[] = {"until", "resume"};
    const drove_tune_options *opt = t->opt;
    for (size_t i = 0; i < DROVE_COUNT(refused); i++)
        if (is_given(opt, refused[i]))
            return drove__fail(DROVE_E_ARG,
                               "--%s: trials have lengths of their own: expected --epochs, of the "
                               "longest, and --budget",
                               refused[i]);
    if (opt->program == NULL)
        return drove__fail(DROVE_E_ARG, "program: expected the path of drove, found none");

    t->epochs = opt->epochs > 0.0 ? opt->epochs : USUAL_EPOCHS;
    t->seconds = opt->seconds == 0.0 && opt->trials == 0 ? USUAL_SECONDS : opt->seconds;
    t->n_folds = opt->folds > 1 ? (unsigned)opt->folds : 1;
    if (opt->space != NULL)
        DROVE_TRY(drove__space_load(opt->space, opt->given, opt->n_given, &t->space));
    DROVE_TRY(look_at_data(t));

    /* the folder, with the run file that the trials share */
    const char *out = t->config.files.out;
    if (out == NULL)
        return drove__fail(DROVE_E_ARG, "--out: expected a folder for the trials, found none");
    if (strlen(out) > MOST_FOLDER)
        return drove__fail(DROVE_E_ARG, "--out: expected at most %d bytes", MOST_FOLDER);
    snprintf(t->folder, sizeof t->folder, "%s", out);
    DROVE_TRY(drove__study_folder_make(t->folder, "a search"));
    json_t *study = identify(t);
    snprintf(t->base, sizeof t->base, "%s/base.yaml", t->folder);
    const drove_trials_options trials = {.tune = opt,
                                         .data = t->config.problem.data,
                                         .folder = t->folder,
                                         .study = study,
                                         .base = t->base,
                                         .metric = t->metric,
                                         .interrupts = t->interrupts};
    drove_status status = drove__trials_open(&trials, &t->bench);
    json_decref(study);
    DROVE_TRY(status);
    DROVE_TRY(write_run_file(t, NULL, t->base));
    if (t->is_of_table && opt->space == NULL && !is_given(opt, "model") && opt->message != NULL)
        opt->message(opt->context,
                     "model: drove train makes a pack of models of a table; a search is for the "
                     "best single network");

    t->until_ns = UINT64_MAX;
    if (t->seconds == 0.0) return DROVE_OK;
    const double jobs = opt->jobs > 0 ? (double)opt->jobs : 1.0;
    double left = t->seconds - drove__trials_seconds(t->bench) / jobs;
    t->until_ns = drove__now_ns() + (left > 0.0 ? (uint64_t)(left * 1e9) : 0);
    return DROVE_OK;
}

drove_status drove_tune(const drove_tune_options *options, drove_tune_result **out)
{
    DROVE_GIVEN(options);
    DROVE_ALIVE(options->run, "options");
    DROVE_GIVEN_AS(options->run, "options->run");
    DROVE_GIVEN_AS(options->program, "options->program");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    tuner *t = drove__alloc(1, sizeof *t);
    drove_tune_result *result = drove__alloc(1, sizeof *result);
    *out = NULL;
    drove_status status =
        t != NULL && result != NULL ? DROVE_OK : drove__fail_nomem("search", sizeof *t);
    if (status != DROVE_OK) goto fail;
    t->opt = options;
    t->interrupts = drove__run_interrupts();
    if ((status = drove__config_init(options->run, &t->config)) != DROVE_OK) goto fail;

    /* A search compares models itself: its trials make no packs of them, as --model auto does. */
    drove_choice choice = {0};
    if (t->config.problem.model == NULL && !t->config.problem.compares_model)
        drove__choice_add(&choice, "model", DROVE_BY_KIND, "%s", DROVE_MODEL_USUAL);
    if ((status = drove__config_choose(&t->config, &choice)) != DROVE_OK) goto fail;

    if ((status = prepare(t)) != DROVE_OK) goto fail;
    if ((status = search(t)) != DROVE_OK) goto fail;
    status = conclude(t, result);

fail:
    if (t != NULL) {
        drove__trials_close(t->bench);
        drove__free(t->candidate);
        drove__config_fini(&t->config);
    }
    drove__free(t);
    if (status == DROVE_OK) *out = result;
    else drove_tune_result_destroy(result);
    return status;
}

void drove_tune_result_destroy(drove_tune_result *result)
{
    if (result == NULL) return;
    DROVE_END(result, "a result of a search");
    free(result->json);
    free(result->text);
    drove__alive_free(result, drove__free);
}

int drove_tune_interrupted(const drove_tune_result *result)
{
    DROVE_ALIVE(result, "a result of a search");
    if (result == NULL) return 0;
    return result->signal;
}

const char *drove_tune_result_json(const drove_tune_result *result)
{
    DROVE_ALIVE(result, "a result of a search");
    if (result == NULL) return NULL;
    return result->json;
}

drove_status drove_tune_result_print(const drove_tune_result *result, FILE *stream)
{
    DROVE_ALIVE(result, "a result of a search");
    DROVE_GIVEN(result);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    if (fputs(result->text, stream) >= 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "cannot write the report");
}
