/* study/sweep_results.c - see sweep_results.h. */
#include "study/sweep_results.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "study/journal.h"

#include <drove/version.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

drove_status drove__sweep_result_check(const json_t *record, size_t n_runs)
{
    const json_t *run = json_object_get(record, "run");
    if (!json_is_integer(run) || !json_is_string(json_object_get(record, "outcome")) ||
        !json_is_object(json_object_get(record, "figures")))
        return drove__fail(DROVE_E_DATA, "expected a run with its outcome and figures");
    if (json_integer_value(run) >= 1 && (uint64_t)json_integer_value(run) <= n_runs)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected a run from 1 to %zu, found %lld", n_runs,
                       (long long)json_integer_value(run));
}

static drove_status take(void *to, const json_t *record)
{
    json_t *all = to;
    DROVE_TRY(drove__sweep_result_check(record, json_array_size(all)));
    const size_t run = (size_t)json_integer_value(json_object_get(record, "run")) - 1;
    if (!json_is_null(json_array_get(all, run))) return DROVE_OK;
    return json_array_set(all, run, (json_t *)(uintptr_t)record) == 0
               ? DROVE_OK
               : drove__fail_nomem("results", sizeof *record);
}

drove_status drove__sweep_results_read(const char *path, size_t n_runs, json_t **out,
                                       drove_jsonl **journal, bool *had_half)
{
    json_t *all = json_array();
    *out = NULL;
    for (size_t i = 0; i < n_runs; i++) drove__json_add(&all, json_null());
    if (all == NULL) return drove__fail_nomem("results", n_runs * sizeof(json_t *));
    const drove_status status = drove__journal_open(path, take, all, journal, had_half);
    if (status == DROVE_OK) *out = all;
    else json_decref(all);
    return status;
}

double drove__sweep_figure(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(json_object_get(record, "figures"), name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool drove__sweep_has_crashed(const json_t *record)
{
    const char *outcome = json_string_value(json_object_get(record, "outcome"));
    return outcome != NULL && strcmp(outcome, "crashed") == 0;
}

bool drove__sweep_is_from(const json_t *record, unsigned n_cores)
{
    const char *version = json_string_value(json_object_get(record, "version"));
    const char *processor = json_string_value(json_object_get(record, "processor"));
    return version != NULL && strcmp(version, DROVE_VERSION) == 0 && processor != NULL &&
           strcmp(processor, drove__cpu_model()) == 0 &&
           json_integer_value(json_object_get(record, "cores")) == (json_int_t)n_cores;
}

/* ---- writing ---- */

/* A time limit ends a run in order, so that it leaves a summary. */
const char *drove__sweep_outcome(const drove_child *child, const json_t *summary)
{
    static const char *const own[] = {"reached", "finished", "missed", "crashed"};
    const char *said = json_string_value(json_object_get(summary, "outcome"));
    for (size_t i = 0; said != NULL && i < DROVE_COUNT(own); i++)
        if (strcmp(said, own[i]) == 0) return own[i];
    if (child->timed_out) return "timed_out";
    if (child->status == 128 + SIGINT || child->status == 128 + SIGTERM) return NULL;
    return child->status == 2 && child->signal == 0 ? "refused" : "crashed";
}

static void add_figure(json_t **all, const char *name, double value)
{
    drove__json_set(all, name, isfinite(value) ? json_real(value) : json_null());
}

void drove__summary_add_part(json_t **all, const json_t *summary, const char *part, bool with_null)
{
    const char *key;
    json_t *value;
    char name[128];
    json_object_foreach(json_object_get(summary, part), key, value)
    {
        static const char *const lists[] = {"curve", "sample", "threshold"};
        bool is_list = strncmp(key, "per_", 4) == 0; /* also where it is null */
        for (size_t i = 0; i < DROVE_COUNT(lists); i++)
            is_list = is_list || strcmp(key, lists[i]) == 0;
        if (is_list || !(json_is_number(value) || (with_null && json_is_null(value)))) continue;
        snprintf(name, sizeof name, "%s.%s", part, key);
        drove__json_set(all, name, json_incref(value));
    }
}

json_t *drove__summary_figures(const json_t *summary, const char *outcome)
{
    static const char *const kept[] = {"train_s",        "epochs",         "examples",
                                       "updates",        "attempts",       "dropped",
                                       "loss",           "loss_initial",   "test_loss",
                                       "examples_per_s", "accuracy",       "gnps",
                                       "test_accuracy",  "peak_rss_bytes", "updates_per_s"};
    static const char *const parts[] = {"time_to", "updates_to",   "epochs_to",
                                        "metrics", "test_metrics", "staleness"};
    json_t *all = json_object();
    const json_t *train = json_object_get(summary, "train_s");
    const bool is_reached = strcmp(outcome, "reached") == 0 && json_is_number(train);
    add_figure(&all, "target_s", is_reached ? json_number_value(train) : NAN);
    for (size_t i = 0; summary != NULL && i < DROVE_COUNT(kept); i++) {
        json_t *value = json_object_get(summary, kept[i]);
        if (json_is_number(value) || json_is_null(value))
            drove__json_set(&all, kept[i], json_incref(value));
    }
    for (size_t i = 0; summary != NULL && i < DROVE_COUNT(parts); i++)
        drove__summary_add_part(&all, summary, parts[i], true);
    return all;
}

void drove__sweep_record(const drove_child *child, const json_t *summary, const char *outcome,
                         const char *message, unsigned n_cores, json_t **all)
{
    json_t *said = message[0] != '\0' ? json_string(message) : json_null(); /* NULL: not UTF-8 */
    json_t *figures = drove__summary_figures(summary, outcome);
    if (figures != NULL) add_figure(&figures, "process_s", child->seconds);
    drove__json_set(all, "outcome", json_string(outcome));
    drove__json_set(all, "status", json_integer(child->status));
    drove__json_set(all, "signal", child->signal != 0 ? json_integer(child->signal) : json_null());
    drove__json_set(all, "message", said != NULL ? said : json_string("(not UTF-8)"));

    /* The options of the run, with the model and the tier by the names that it found. */
    static const char *const names[] = {"model", "strategy", "isa"};
    const json_t *workers = json_object_get(summary, "workers");
    json_t *resolved = json_object(), *option;
    const char *name;
    json_object_foreach(json_object_get(summary, "options"), name, option)
    {
        const bool is_own_file = strcmp(name, "log") == 0;
        if (!is_own_file) drove__json_set(&resolved, name, json_incref(option));
    }
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        json_t *value = json_object_get(summary, names[i]);
        if (value != NULL) drove__json_set(&resolved, names[i], json_incref(value));
    }
    if (summary != NULL)
        drove__json_set(&resolved, "n_workers", json_integer((json_int_t)json_array_size(workers)));
    drove__json_set(all, "resolved", resolved);
    drove__json_set(all, "figures", figures);
    drove__json_set(all, "version", json_string(DROVE_VERSION));
    drove__json_set(all, "processor", json_string(drove__cpu_model()));
    drove__json_set(all, "cores", json_integer(n_cores));
}
