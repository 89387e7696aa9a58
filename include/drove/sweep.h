/* drove/sweep.h - many runs with different options and seeds, and comparisons between them
 * (docs/use/sweep.md).  One thread for each folder; reports are not shared between threads. */
#ifndef DROVE_SWEEP_H
#define DROVE_SWEEP_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* State of a study. */
typedef struct drove_sweep_progress {
    size_t      n_done;    /* runs that have ended, in this call or before it */
    size_t      n_runs;    /* of the study */
    size_t      n_crashed; /* of those done: loss or parameters became non-finite */
    double      eta_s;     /* time left, seconds; NaN: unknown */
    const char *best;      /* "1.2 s: strategy=leashed lr=0.01"; "": none yet */
} drove_sweep_progress;

/* A study, and how to run it; texts are borrowed. */
typedef struct drove_sweep_options {
    const char *study;        /* YAML file */
    const char *folder;       /* of results.jsonl */
    const char *program;      /* path of the program "drove" that does the runs */
    uint64_t    jobs;         /* runs at a time; 0 = 1 */
    int         only_results; /* 1 = what a run printed is not kept */
    void (*message)(void *context, const char *line); /* may be NULL */
    /* A few times a second, and with each run that ends; may be NULL. */
    void (*progress)(void *context, const drove_sweep_progress *p);
    void *context; /* first argument of message and progress */
} drove_sweep_options;

/* Sets .jobs from text; name "jobs".  Errors: DROVE_E_ARG. */
drove_status drove_sweep_options_set(drove_sweep_options *options, const char *name,
                                     const char *value);

typedef struct drove_sweep_report drove_sweep_report; /* a result, as JSON and as text */

/* Makes all runs of the study, each a process of its own and a line of FOLDER/results.jsonl.
 * Called again with the same study and folder it goes on, and repeats no run that has a line.
 * drove_train_interrupt stops it: *out is set, and drove_sweep_interrupted gives the signal.
 * Errors: DROVE_E_ARG (the study), DROVE_E_UNSUPPORTED, DROVE_E_EXISTS (the folder holds another
 * study, or is in use), DROVE_E_DATA (a line of the results), DROVE_E_FILE, DROVE_E_IO,
 * DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove_sweep(const drove_sweep_options *options, drove_sweep_report **out);
/* The settings and runs of a study; runs nothing.  Errors: as above. */
drove_status drove_sweep_list(const char *study, drove_sweep_report **out);
/* The fastest setting of each group of settings with equal values of the options in `group`
 * (separated by commas), by the median of a figure of which less is better, among those with at
 * most 10 % crashed runs.  Runs nothing.  Errors: as above. */
drove_status drove_sweep_best(const char *study, const char *folder, const char *group,
                              const char *figure, drove_sweep_report **out);
/* The ratios of a figure of two settings, "A,B", for each seed for which both have it, and their
 * median with a bootstrap confidence interval.  A and B are numbers of drove_sweep_list, or options
 * and values that one setting alone has.  Runs nothing.  Errors: as above. */
drove_status drove_sweep_pair(const char *study, const char *folder, const char *pair,
                              const char *figure, drove_sweep_report **out);

void        drove_sweep_report_destroy(drove_sweep_report *report);    /* NULL accepted */
int         drove_sweep_interrupted(const drove_sweep_report *report); /* signal's number; 0 */
const char *drove_sweep_report_json(const drove_sweep_report *report); /* owned by report */
/* Writes the report as text for people.  Errors: DROVE_E_IO. */
drove_status drove_sweep_report_print(const drove_sweep_report *report, FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
