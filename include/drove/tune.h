/* drove/tune.h - search for better settings: many short runs, the best made anew and kept. */
#ifndef DROVE_TUNE_H
#define DROVE_TUNE_H

#include <drove/options.h>
#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What to search, and for how long. */
typedef struct drove_tune_options {
    /* Of every trial, but for out, test, until and what is searched; borrowed.  Its test is for the
     * run with the best settings alone; its out is the folder of the search, none is impossible. */
    const drove_options *run;
    /* [n_given] names of the options that were given: they are not searched */
    const char *const *given;
    size_t             n_given; /* 0: everything may be searched */
    const char        *program; /* path of the program "drove" that runs the trials */
    const char *space;   /* YAML file of what to search; NULL = model, rule, step, decay, batch */
    const char *metric;  /* NULL = log_loss of classes, rmse of values, loss of label sets */
    double      seconds; /* budget; 0 = none */
    uint64_t    trials;  /* budget; 0 = none */
    double      epochs;  /* of the longest trials; 0 = 27 */
    /* 0 or 1 = a fifth for validation; else the longest trials are scored by cross-validation
     * with so many parts */
    uint64_t folds;
    uint64_t jobs;                                    /* trials at a time; 0 = 1 */
    double   limit;                                   /* seconds of one trial; 0 = none */
    void (*message)(void *context, const char *line); /* one line a trial; may be NULL */
    void *context;                                    /* first argument of message */
} drove_tune_options;

/* Sets a field by its command-line name: "budget" (seconds=N, trials=N or both with a comma),
 * "epochs", "folds", "jobs", "limit"; "metric" and "space" (borrowed).  Errors: DROVE_E_ARG
 * (unknown name, not a number, out of range).  On failure *options is unchanged. */
drove_status drove_tune_options_set(drove_tune_options *options, const char *name,
                                    const char *value);

/* What a search has found; opaque, read-only. */
typedef struct drove_tune_result drove_tune_result;

/* Searches by successive halving (Jamieson, Talwalkar, AISTATS 2016) in brackets of nine drawn
 * settings: nine runs of a ninth of .epochs, the best three for a third, the best one to the end.
 * The defaults take part, so the result is not worse than they are on the validation part.  Then
 * trains with the best settings on all training data, into OUT/best.
 *
 * Every trial is a process of its own and a line of OUT/trials.jsonl.  Called again with the same
 * options and folder it goes on: no trial is run twice.  drove_train_interrupt stops it: *out is
 * set, drove_tune_interrupted tells, and what was done is kept.  Errors: DROVE_E_ARG,
 * DROVE_E_EXISTS (the folder holds another search), DROVE_E_DATA (no trial gave a figure), those of
 * opening data, DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove_tune(const drove_tune_options *options, drove_tune_result **out);
void         drove_tune_result_destroy(drove_tune_result *result); /* NULL accepted */
int drove_tune_interrupted(const drove_tune_result *result);       /* the signal's number; 0: no */
/* {best, score, metric, defaults, trials, seconds, files}; owned by result */
const char *drove_tune_result_json(const drove_tune_result *result);
/* A table of the best settings for people, and the files. */
drove_status drove_tune_result_print(const drove_tune_result *result, FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
