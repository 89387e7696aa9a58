/* study/trial.c - see trial.h. */
#include "study/trial.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/common.h"
#include "study/journal.h"
#include "study/runner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096 };

const drove_metric_row drove__study_metrics[] = {{"log_loss", false},
                                                 {"accuracy", true},
                                                 {"balanced_accuracy", true},
                                                 {"auc", true},
                                                 {"average_precision", true},
                                                 {"f1_macro", true},
                                                 {"f1_micro", true},
                                                 {"rmse", false},
                                                 {"mae", false},
                                                 {"r2", true},
                                                 {"loss", false},
                                                 {NULL, false}};

struct drove_trials_bench {
    drove_trials_options opt;
    drove_jsonl *journal;
    json_t *done;       /* records of the journal */
    uint64_t n_folders; /* the next number */
    bool has_split;     /* the data say themselves which part is held out */
    double seconds;
};

/* ---- the journal ---- */

json_t *drove__study_settings(const drove_point *point)
{
    json_t *settings = json_object();
    for (unsigned i = 0; i < point->n_settings; i++)
        drove__json_set(&settings, point->setting[i].name,
                        json_string_nocheck(point->setting[i].value));
    return settings;
}

static void rank_it(const drove_trials_bench *b, drove_trial_end *end)
{
    end->rank =
        isfinite(end->score) ? b->opt.metric->more_is_better ? -end->score : end->score : INFINITY;
}

static bool find_record(const drove_trials_bench *b, const drove_trial_job *job,
                        drove_trial_end *end)
{
    size_t i;
    bool is_found = false;
    json_t *record, *settings = drove__study_settings(job->point);
    json_array_foreach(b->done, i, record)
    {
        const double epochs = json_number_value(json_object_get(record, "epochs"));
        if (!json_equal(json_object_get(record, "settings"), settings) ||
            !(fabs(epochs - job->epochs) <= 1e-9 * job->epochs) ||
            json_integer_value(json_object_get(record, "fold")) != (json_int_t)job->fold ||
            json_integer_value(json_object_get(record, "folds")) != (json_int_t)job->n_folds)
            continue;
        const json_t *score = json_object_get(record, "score");
        const char *error = json_string_value(json_object_get(record, "error"));
        *end = (drove_trial_end){.is_done = true,
                                 .score = json_is_number(score) ? json_number_value(score) : NAN,
                                 .epochs = json_number_value(json_object_get(record, "reached")),
                                 .seconds = json_number_value(json_object_get(record, "seconds")),
                                 .timed_out = json_is_true(json_object_get(record, "timed_out")),
                                 .folder = (uint64_t)json_integer_value(
                                     json_object_get(record, "trial"))};
        snprintf(end->error, sizeof end->error, "%s", error != NULL ? error : "");
        rank_it(b, end);
        is_found = true;
        break;
    }
    json_decref(settings);
    return is_found;
}

static drove_status keep_record(void *to, const json_t *record)
{
    drove_trials_bench *b = to;
    const json_t *number = json_object_get(record, "trial");
    if (!json_is_integer(number) || !json_is_object(json_object_get(record, "settings")))
        return drove__fail(DROVE_E_DATA, "expected a trial with its settings");
    uint64_t folder = (uint64_t)json_integer_value(number);
    if (folder >= b->n_folders) b->n_folders = folder + 1;
    b->seconds += json_number_value(json_object_get(record, "seconds"));
    return json_array_append(b->done, (json_t *)(uintptr_t)record) == 0
               ? DROVE_OK
               : drove__fail_nomem("journal", sizeof *record);
}

drove_status drove__trials_open(const drove_trials_options *opt, drove_trials_bench **out)
{
    bool had_half;
    char path[PATH_SIZE];
    drove_trials_bench *b = drove__alloc(1, sizeof *b);
    *out = b;
    if (b == NULL) return drove__fail_nomem("trials", sizeof *b);
    b->opt = *opt;
    b->n_folders = 1;
    b->done = json_array();
    if (b->done == NULL) return drove__fail_nomem("trials", sizeof *b);
    drove_spec spec;
    drove_common_options common;
    DROVE_TRY(drove__spec_parse(opt->data, &spec));
    const drove_status status = drove__common_read(&spec, &common);
    b->has_split = status == DROVE_OK && common.split_text != NULL;
    drove__spec_fini(&spec);
    DROVE_TRY(status);
    DROVE_TRY(drove__study_claim(opt->folder, opt->study, NULL,
                                 JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9)));
    snprintf(path, sizeof path, "%s/trials", opt->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);
    snprintf(path, sizeof path, "%s/trials.jsonl", opt->folder);
    return drove__journal_open(path, keep_record, b, &b->journal, &had_half);
}

void drove__trials_close(drove_trials_bench *b)
{
    if (b == NULL) return;
    drove__jsonl_close(b->journal);
    json_decref(b->done);
    drove__free(b);
}

uint64_t drove__trials_count(const drove_trials_bench *b)
{
    return json_array_size(b->done);
}

double drove__trials_seconds(const drove_trials_bench *b)
{
    return b->seconds;
}

/* ---- the end of a trial ---- */

static void say_end(const drove_trials_bench *b, const drove_trial_job *job,
                    const drove_trial_end *end)
{
    char line[1024], settings[512], fold[48] = "";
    if (b->opt.tune->message == NULL) return;
    drove__point_text(job->point, settings, sizeof settings);
    if (job->n_folds > 1) snprintf(fold, sizeof fold, ", fold %u/%u", job->fold, job->n_folds);
    if (isfinite(end->score))
        snprintf(line, sizeof line, "trial %llu: %.4g epochs%s: %s %.5g%s in %.1f s: %s",
                 (unsigned long long)end->folder, job->epochs, fold, b->opt.metric->key, end->score,
                 end->timed_out ? " (cut short)" : "", end->seconds, settings);
    else
        snprintf(line, sizeof line, "trial %llu: %.4g epochs%s: no score (%s) in %.1f s: %s",
                 (unsigned long long)end->folder, job->epochs, fold,
                 end->timed_out ? "time is up" : end->error, end->seconds, settings);
    b->opt.tune->message(b->opt.tune->context, line);
}

/* ---- running them ---- */

typedef struct work {
    drove_trials_bench *bench;
    const drove_trial_job *job;
    size_t n, next, n_running;
    uint64_t until_ns;
    drove_trial_end *end;
} work;

/* The command of a trial, whose folder gets the next number. */
static drove_status make_command(drove_trials_bench *b, const drove_trial_job *job,
                                 drove_command *command, uint64_t *number)
{
    char text[PATH_SIZE];
    const char *data = b->opt.data; /* with the part that is held out */
    const char between = strchr(data, '?') != NULL ? '&' : '?';
    drove__command_add(command, b->opt.tune->program);
    drove__command_add(command, "train");
    drove__command_add(command, b->opt.base);
    if (job->n_folds < 2 && b->has_split) snprintf(text, sizeof text, "%s", data);
    else if (job->n_folds < 2) snprintf(text, sizeof text, "%s%csplit=0.2", data, between);
    else snprintf(text, sizeof text, "%s%cfold=%u/%u", data, between, job->fold, job->n_folds);
    drove__command_set(command, "data", text);
    drove__command_set(command, "test", "split");
    snprintf(text, sizeof text, "epochs=%.9g", job->epochs);
    drove__command_set(command, "until", text);
    drove__command_set(command, "out", "none");
    drove__command_add(command, "--json");
    drove__command_add(command, "--quiet");
    for (unsigned i = 0; i < job->point->n_settings; i++)
        drove__command_set(command, job->point->setting[i].name, job->point->setting[i].value);

    *number = b->n_folders++;
    snprintf(text, sizeof text, "%s/trials/%llu", b->opt.folder, (unsigned long long)*number);
    return drove__command_folder(command, text);
}

static drove_status begin(void *context, drove_command *command, size_t *job, bool *is_begun)
{
    work *w = context;
    const drove_tune_options *opt = w->bench->opt.tune;
    while (w->next < w->n) {
        const size_t i = w->next++;
        const uint64_t now = drove__now_ns();
        if (find_record(w->bench, &w->job[i], &w->end[i])) continue;
        if (now >= w->until_ns) continue;
        if (opt->trials != 0 && drove__trials_count(w->bench) + w->n_running >= opt->trials)
            continue;

        /* How long it may last, in seconds: the smaller of the limit and the time left, if they
         * are set; 0: no limit. */
        const double left_s = w->until_ns == UINT64_MAX ? 0.0 : (double)(w->until_ns - now) * 1e-9;
        command->limit_s = opt->limit + left_s;
        if (opt->limit != 0.0 && left_s != 0.0) command->limit_s = fmin(opt->limit, left_s);
        DROVE_TRY(make_command(w->bench, &w->job[i], command, &w->end[i].folder));
        *job = i;
        *is_begun = true;
        w->n_running++;
        break;
    }
    return DROVE_OK;
}

static drove_status ended(void *context, size_t i, const drove_child *child)
{
    work *w = context;
    drove_trials_bench *b = w->bench;
    const drove_trial_job *job = &w->job[i];
    drove_trial_end *end = &w->end[i];
    const char *key = b->opt.metric->key;
    char path[PATH_SIZE];
    w->n_running--;
    *end = (drove_trial_end){.is_done = true,
                             .score = NAN,
                             .seconds = child->seconds,
                             .timed_out = child->timed_out,
                             .folder = end->folder};

    /* how it ended */
    if (child->status != 0 && !child->timed_out) {
        snprintf(path, sizeof path, "%s/trials/%llu/err.txt", b->opt.folder,
                 (unsigned long long)end->folder);
        drove__child_message(path, end->error, sizeof end->error);
        if (end->error[0] == '\0')
            snprintf(end->error, sizeof end->error, "ended with status %d", child->status);
    }

    /* its score, if it has a summary */
    json_t *summary;
    snprintf(path, sizeof path, "%s/trials/%llu/out.json", b->opt.folder,
             (unsigned long long)end->folder);
    DROVE_TRY(drove__child_summary(path, &summary));
    const char *outcome = json_string_value(json_object_get(summary, "outcome"));
    const bool has_crashed = outcome != NULL && strcmp(outcome, "crashed") == 0;
    const json_t *score = strcmp(key, "loss") == 0
                              ? json_object_get(summary, "test_loss")
                              : json_object_get(json_object_get(summary, "test_metrics"), key);
    if (json_is_number(score) && !has_crashed) end->score = json_number_value(score);
    if (outcome != NULL && isnan(end->score) && end->error[0] == '\0')
        snprintf(end->error, sizeof end->error, "%s%s",
                 has_crashed ? "the loss became infinite" : "no ", has_crashed ? "" : key);
    end->epochs = json_number_value(json_object_get(summary, "epochs"));
    json_decref(summary);
    rank_it(b, end);

    json_t *record =
        json_pack("{s:I s:I s:o s:f s:f s:i s:i s:o s:b s:i s:f s:I s:o}", "trial",
                  (json_int_t)end->folder, "point", (json_int_t)job->number, "settings",
                  drove__study_settings(job->point), "epochs", job->epochs, "reached", end->epochs,
                  "fold", (int)job->fold, "folds", (int)job->n_folds, "score",
                  isfinite(end->score) ? json_real(end->score) : json_null(), "timed_out",
                  end->timed_out, "status", child->status, "seconds", end->seconds,
                  "peak_rss_bytes", (json_int_t)child->peak_bytes, "error",
                  end->error[0] != '\0' ? json_string_nocheck(end->error) : json_null());
    drove_status status = drove__journal_add(b->journal, record);
    if (status == DROVE_OK) status = keep_record(b, record);
    json_decref(record);
    if (status == DROVE_OK) say_end(b, job, end);
    return status;
}

/* A trial that an interrupt cuts off is not in the journal. */
drove_status drove__trials_run_all(drove_trials_bench *b, const drove_trial_job *job, size_t n,
                                   uint64_t until_ns, drove_trial_end *end)
{
    work w = {.bench = b, .job = job, .n = n, .until_ns = until_ns, .end = end};
    const drove_runner runner = {.n_at_once = (size_t)b->opt.tune->jobs,
                                 .interrupts = b->opt.interrupts,
                                 .begin = begin,
                                 .ended = ended,
                                 .context = &w};
    for (size_t i = 0; i < n; i++) end[i] = (drove_trial_end){.score = NAN, .rank = INFINITY};
    return drove__runner_run(&runner);
}
