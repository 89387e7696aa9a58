/* study/trial.h - trials: runs of `drove train` as child processes, each a line of a journal.
 *
 * A bench of trials has a folder:
 *   study.json           what all trials share; another study is refused
 *   trials.jsonl         a line for each trial that has ended
 *   trials/N/            out.json (the run's summary), err.txt (its messages)
 * A trial that the journal has is not run again, so an interrupted study goes on where it was.
 * One thread.
 */
#ifndef DROVE_STUDY_TRIAL_H
#define DROVE_STUDY_TRIAL_H

#include "base/json.h"
#include "base/status.h"
#include "study/space.h"

#include <drove/tune.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_metric_row {
    const char *key; /* in test_metrics of a run's summary; "loss": its test_loss */
    bool        more_is_better;
} drove_metric_row;

/* All metrics that a study can be scored by; ends with a row without key. */
extern const drove_metric_row drove__study_metrics[];

typedef struct drove_trial_job {
    const drove_point *point;
    uint64_t           number; /* of the point */
    double             epochs;
    unsigned           fold, n_folds; /* fold from 1; n_folds 1: one part of a fifth */
} drove_trial_job;

typedef struct drove_trial_end {
    bool     is_done;   /* it is in the journal */
    double   score;     /* of the metric; NaN: it gave none */
    double   rank;      /* by it trials compare: less is better; infinity without a score */
    double   epochs;    /* reached: fewer than asked for where time was up */
    double   seconds;   /* of the process */
    bool     timed_out; /* scored by what it had reached */
    uint64_t folder;    /* trials/N */
    char     error[256];
} drove_trial_end;

typedef struct drove_trials_bench drove_trials_bench;

typedef struct drove_trials_options {
    const drove_tune_options *tune;   /* borrowed */
    const char               *data;   /* spec */
    const char               *folder; /* exists */
    const json_t             *study;  /* what makes trials comparable: study.json */
    const char               *base;   /* run file that all trials share */
    const drove_metric_row   *metric;
    uint64_t                  interrupts; /* as of drove__run_interrupts: a later one ends trials */
} drove_trials_options;

/* Reads the journal, or begins one.  Errors: DROVE_E_EXISTS (another study), DROVE_E_DATA,
 * DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__trials_open(const drove_trials_options *opt, drove_trials_bench **out);
void         drove__trials_close(drove_trials_bench *b); /* NULL accepted */
/* Runs job[n], tune->jobs at a time; end[i].is_done is false where none was begun or finished:
 * after an interrupt, when `until_ns` has come, or when tune->trials are in the journal.  Errors:
 * those of starting processes and of writing files. */
drove_status drove__trials_run_all(drove_trials_bench *b, const drove_trial_job *job, size_t n,
                                   uint64_t until_ns, drove_trial_end *end);
uint64_t     drove__trials_count(const drove_trials_bench *b);   /* in the journal */
double       drove__trials_seconds(const drove_trials_bench *b); /* of all of them */

/* A new object with the settings; NULL: no memory. */
json_t *drove__study_settings(const drove_point *point);

#endif
