/* study/trial.c - see trial.h. */
#include "study/trial.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "values/progress.h"
#include "study/pool.h"
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_ARGUMENTS = 24 + 2 * DROVE_MOST_DIMENSIONS };
enum { MOST_SUMMARY = 64 << 20, MOST_JOURNAL = 256 << 20 };

const drove_metric_row drove__study_metrics[] = {
    {"log_loss", false}, {"accuracy", true}, {"balanced_accuracy", true},
    {"auc", true},       {"f1_macro", true}, {"f1_micro", true},
    {"rmse", false},     {"mae", false},     {"r2", true},
    {"loss", false},     {NULL, false}};

struct drove_trials_bench {
    drove_trials_options opt;
    drove_jsonl *journal;
    json_t *done; /* array of the journal's records */
    uint64_t n_folders, interrupts_before;
    double seconds;
};

void drove__study_quote(const char *text, FILE *stream)
{
    json_t *string = json_stringn_nocheck(text, strlen(text));
    char *quoted =
        string != NULL ? drove__json_dump(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    if (quoted != NULL) fputs(quoted, stream);
    free(quoted);
    json_decref(string);
}

/* ---- the folder ---- */

/* A study may go on in its own folder, but begins in no folder with other files. */
drove_status drove__study_folder_make(const char *folder, const char *what)
{
    char path[PATH_SIZE], found[256] = "";
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", folder);
    snprintf(path, sizeof path, "%s/study.json", folder);
    DIR *dir = access(path, F_OK) != 0 ? opendir(folder) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            snprintf(found, sizeof found, "%s", e->d_name);
    if (dir != NULL) closedir(dir);
    if (found[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "--out: expected a new or empty folder, or that of %s, found %s with %s in "
                       "it",
                       what, folder, found);
}

/* ---- the journal ---- */

json_t *drove__study_settings(const drove_point *point)
{
    json_t *settings = json_object();
    for (unsigned i = 0; i < point->n_settings; i++)
        drove__json_set(&settings, point->setting[i].name,
                        json_string_nocheck(point->setting[i].value));
    return settings;
}

static bool is_record_of(const json_t *record, const drove_trial_job *job)
{
    json_t *settings = drove__study_settings(job->point);
    bool is_equal = json_equal(json_object_get(record, "settings"), settings) != 0;
    json_decref(settings);
    return is_equal &&
           fabs(json_number_value(json_object_get(record, "epochs")) - job->epochs) <=
               1e-9 * job->epochs &&
           json_integer_value(json_object_get(record, "fold")) == (json_int_t)job->fold &&
           json_integer_value(json_object_get(record, "folds")) == (json_int_t)job->n_folds;
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
    json_t *record;
    json_array_foreach(b->done, i, record)
    {
        if (!is_record_of(record, job)) continue;
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
        return true;
    }
    return false;
}

static drove_status keep_record(drove_trials_bench *b, json_t *record)
{
    json_t *number = json_object_get(record, "trial");
    if (!json_is_object(record) || !json_is_integer(number) ||
        !json_is_object(json_object_get(record, "settings")))
        return drove__fail(DROVE_E_DATA, "expected a trial with its settings");
    uint64_t folder = (uint64_t)json_integer_value(number);
    if (folder >= b->n_folders) b->n_folders = folder + 1;
    b->seconds += json_number_value(json_object_get(record, "seconds"));
    return json_array_append(b->done, record) == 0 ? DROVE_OK
                                                   : drove__fail_nomem("journal", sizeof *record);
}

static drove_status read_journal(drove_trials_bench *b, const char *path)
{
    char *text = NULL, *rest;
    size_t size_bytes, n_lines = 0;
    DROVE_TRY(drove__file_load(path, MOST_JOURNAL, &text, &size_bytes));
    drove_status status = DROVE_OK;
    rest = text;
    for (char *line; status == DROVE_OK && (line = strsep(&rest, "\n")) != NULL;) {
        n_lines++;
        if (line[0] == '\0') continue;
        json_error_t why;
        json_t *record;
        status = drove__json_parse(line, strlen(line), JSON_REJECT_DUPLICATES, &why, &record);
        if (status == DROVE_OK) status = keep_record(b, record);
        if (status != DROVE_OK) status = drove__fail_in(status, "%s:%zu", path, n_lines);
        json_decref(record);
    }
    free(text);
    return status;
}

/* A folder belongs to one study. */
static drove_status check_identity(const drove_trials_bench *b, const char *path)
{
    char *text = NULL;
    size_t size_bytes;
    struct stat found;
    drove_writer *w;
    if (stat(path, &found) != 0) {
        DROVE_TRY(drove__writer_create(path, &w));
        fprintf(drove__writer_stream(w), "%s\n", b->opt.identity);
        return drove__writer_commit(w);
    }
    DROVE_TRY(drove__file_load(path, MOST_JOURNAL, &text, &size_bytes));
    text[strcspn(text, "\n")] = '\0';
    bool is_same = strcmp(text, b->opt.identity) == 0;
    free(text);
    if (is_same) return DROVE_OK;
    return drove__fail(DROVE_E_EXISTS,
                       "%s: expected no search, or the same one to go on with, found one with "
                       "other options (%s)",
                       b->opt.folder, path);
}

drove_status drove__trials_open(const drove_trials_options *opt, drove_trials_bench **out)
{
    char path[PATH_SIZE];
    drove_trials_bench *b = drove__alloc(1, sizeof *b);
    *out = b;
    if (b == NULL) return drove__fail_nomem("trials", sizeof *b);
    b->opt = *opt;
    b->n_folders = 1;
    b->interrupts_before = drove__run_interrupts();
    b->done = json_array();
    if (b->done == NULL) return drove__fail_nomem("trials", sizeof *b);
    snprintf(path, sizeof path, "%s/study.json", opt->folder);
    DROVE_TRY(check_identity(b, path));
    snprintf(path, sizeof path, "%s/trials", opt->folder);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);
    snprintf(path, sizeof path, "%s/trials.jsonl", opt->folder);
    DROVE_TRY(drove__jsonl_open(path, &b->journal)); /* without half a line at its end */
    return read_journal(b, path);
}

void drove__trials_close(drove_trials_bench *b)
{
    if (b == NULL) return;
    drove__jsonl_close(b->journal);
    json_decref(b->done);
    drove__free(b);
}

int drove__trials_signal(const drove_trials_bench *b)
{
    return drove__run_signal_since(b->interrupts_before);
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

/* The last line of its messages, without "drove: ". */
void drove__study_last_message(const char *path, char *into, size_t size)
{
    char end[1024]; /* not drove__file_load: it may be memory that ran out */
    into[0] = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const off_t n_bytes = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    const off_t from = n_bytes > (off_t)sizeof end - 1 ? n_bytes - (off_t)sizeof end + 1 : 0;
    ssize_t n = n_bytes > 0 ? pread(fd, end, sizeof end - 1, from) : 0;
    if (fd >= 0) close(fd);
    while (n > 0 && end[n - 1] == '\n') n--;
    if (n <= 0) return;
    end[n] = '\0';
    const char *last = strrchr(end, '\n');
    last = last != NULL ? last + 1 : end;
    if (strncmp(last, "drove: ", 7) == 0) last += 7;
    snprintf(into, size, "%s", last);
}

/* Errors: DROVE_E_NOMEM; a trial without a summary has no score. */
static drove_status read_summary(const drove_trials_bench *b, const char *path,
                                 drove_trial_end *end)
{
    char *text = NULL;
    size_t n;
    end->score = NAN;
    json_t *summary = NULL;
    json_error_t error;
    drove_status status = drove__file_load(path, MOST_SUMMARY, &text, &n);
    if (status == DROVE_OK) status = drove__json_parse(text, n, 0, &error, &summary);
    const char *outcome = json_string_value(json_object_get(summary, "outcome"));
    if (outcome != NULL && strcmp(outcome, "crashed") != 0) {
        const char *key = b->opt.metric->key;
        const json_t *score = strcmp(key, "loss") == 0
                                  ? json_object_get(summary, "test_loss")
                                  : json_object_get(json_object_get(summary, "test_metrics"), key);
        if (json_is_number(score)) end->score = json_number_value(score);
    }
    end->epochs = json_number_value(json_object_get(summary, "epochs"));
    if (outcome != NULL && isnan(end->score) && end->error[0] == '\0')
        snprintf(end->error, sizeof end->error,
                 strcmp(outcome, "crashed") == 0 ? "the loss became infinite" : "no %s",
                 b->opt.metric->key);
    json_decref(summary);
    free(text);
    return status == DROVE_E_NOMEM ? drove__fail_in(status, "%s", path) : DROVE_OK;
}

static drove_status write_record(drove_trials_bench *b, const drove_trial_job *job,
                                 const drove_child *child, const drove_trial_end *end)
{
    json_t *record =
        json_pack("{s:I s:I s:o s:f s:f s:i s:i s:o s:b s:i s:f s:I s:o}", "trial",
                  (json_int_t)end->folder, "point", (json_int_t)job->number, "settings",
                  drove__study_settings(job->point), "epochs", job->epochs, "reached", end->epochs,
                  "fold", (int)job->fold, "folds", (int)job->n_folds, "score",
                  isfinite(end->score) ? json_real(end->score) : json_null(), "timed_out",
                  end->timed_out, "status", child->status, "seconds", end->seconds,
                  "peak_rss_bytes", (json_int_t)child->peak_bytes, "error",
                  end->error[0] != '\0' ? json_string_nocheck(end->error) : json_null());
    char *line =
        record != NULL ? drove__json_dump(record, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    drove_status status = line != NULL ? drove__jsonl_append(b->journal, line)
                                       : drove__fail_nomem("a trial's record", sizeof *end);
    if (status == DROVE_OK) status = keep_record(b, record);
    free(line);
    json_decref(record);
    return status;
}

/* end->folder is known. */
static drove_status take_end(drove_trials_bench *b, const drove_trial_job *job,
                             const drove_child *child, drove_trial_end *end)
{
    char path[PATH_SIZE];
    const unsigned long long folder = end->folder;
    *end = (drove_trial_end){.is_done = true,
                             .seconds = child->seconds,
                             .timed_out = child->timed_out,
                             .folder = folder};
    if (child->status != 0) {
        snprintf(path, sizeof path, "%s/trials/%llu/err.txt", b->opt.folder, folder);
        if (!child->timed_out) drove__study_last_message(path, end->error, sizeof end->error);
        if (!child->timed_out && end->error[0] == '\0')
            snprintf(end->error, sizeof end->error, "ended with status %d", child->status);
    }
    snprintf(path, sizeof path, "%s/trials/%llu/out.json", b->opt.folder, folder);
    DROVE_TRY(read_summary(b, path, end));
    rank_it(b, end);
    return write_record(b, job, child, end);
}

/* ---- running them ---- */

typedef struct arguments {
    const char *word[MOST_ARGUMENTS];
    unsigned n;
    char flag[DROVE_MOST_DIMENSIONS][DROVE_FLAG_SIZE];
    char data[2 * DROVE_TEXT_SIZE], until[64];
} arguments;

static void add(arguments *a, const char *flag, const char *value)
{
    a->word[a->n++] = flag;
    if (value != NULL) a->word[a->n++] = value;
}

static drove_status begin(drove_trials_bench *b, const drove_trial_job *job, double limit_s,
                          drove_child *child, uint64_t *number)
{
    char folder[PATH_SIZE], out[PATH_SIZE + 16], err[PATH_SIZE + 16];
    arguments a = {.n = 0};
    const char *data = b->opt.tune->run->data; /* with the part that is held out */
    const char between = strchr(data, '?') != NULL ? '&' : '?';
    if (job->n_folds < 2) snprintf(a.data, sizeof a.data, "%s%csplit=0.2", data, between);
    else snprintf(a.data, sizeof a.data, "%s%cfold=%u/%u", data, between, job->fold, job->n_folds);
    snprintf(a.until, sizeof a.until, "epochs=%.9g", job->epochs);
    add(&a, b->opt.tune->program, "train");
    add(&a, b->opt.base, NULL);
    add(&a, "--data", a.data);
    add(&a, "--test", "split");
    add(&a, "--until", a.until);
    add(&a, "--out", "none");
    add(&a, "--json", NULL);
    add(&a, "--quiet", NULL);
    for (unsigned i = 0; i < job->point->n_settings; i++)
        add(&a, drove_flag_text(job->point->setting[i].name, a.flag[i]),
            job->point->setting[i].value);

    *number = b->n_folders++;
    snprintf(folder, sizeof folder, "%s/trials/%llu", b->opt.folder, (unsigned long long)*number);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", folder);
    snprintf(out, sizeof out, "%s/out.json", folder);
    snprintf(err, sizeof err, "%s/err.txt", folder);
    return drove__child_start(child, (char *const *)(void *)a.word, out, err, limit_s);
}

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

typedef struct work {
    drove_trials_bench *bench;
    const drove_trial_job *job;
    size_t n, next, n_running;
    uint64_t until_ns;
    drove_trial_end *end;
} work;

static drove_status begin_next(void *context, drove_child *child, size_t *job, bool *is_begun)
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
        double limit_s = opt->limit + left_s;
        if (opt->limit != 0.0 && left_s != 0.0) limit_s = opt->limit < left_s ? opt->limit : left_s;
        DROVE_TRY(begin(w->bench, &w->job[i], limit_s, child, &w->end[i].folder));
        *job = i;
        *is_begun = true;
        w->n_running++;
        break;
    }
    return DROVE_OK;
}

static drove_status take(void *context, size_t i, const drove_child *child)
{
    work *w = context;
    w->n_running--;
    DROVE_TRY(take_end(w->bench, &w->job[i], child, &w->end[i]));
    say_end(w->bench, &w->job[i], &w->end[i]);
    return DROVE_OK;
}

static bool is_stopped(void *context)
{
    const work *w = context;
    return drove__trials_signal(w->bench) != 0;
}

static const drove_pool_ops trial_ops = {.begin = begin_next,
                                         .ended = take,
                                         .is_stopped = is_stopped};

/* A trial that an interrupt cuts off is not in the journal. */
drove_status drove__trials_run_all(drove_trials_bench *b, const drove_trial_job *job, size_t n,
                                   uint64_t until_ns, drove_trial_end *end)
{
    work w = {.bench = b, .job = job, .n = n, .until_ns = until_ns, .end = end};
    for (size_t i = 0; i < n; i++) end[i] = (drove_trial_end){.score = NAN, .rank = INFINITY};
    return drove__pool_run(&trial_ops, &w, (size_t)b->opt.tune->jobs);
}
