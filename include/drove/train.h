/* drove/train.h - running, watching and using a training run. */
#ifndef DROVE_TRAIN_H
#define DROVE_TRAIN_H

#include <drove/options.h>
#include <drove/status.h>

#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* what a shared library exports */
#ifdef __cplusplus
extern "C" {
#endif

typedef enum drove_outcome {
    DROVE_REACHED,    /* the target was met */
    DROVE_FINISHED,   /* the budget was used and there was no target */
    DROVE_MISSED,     /* the target was not met within the budget */
    DROVE_CRASHED,    /* loss or parameters became non-finite */
    DROVE_INTERRUPTED /* drove_train_interrupt */
} drove_outcome;
const char *drove_outcome_name(drove_outcome outcome);

/* One evaluation; also what a display shows between two of them. Numbers that do not exist are
 * NaN. */
typedef struct drove_progress {
    double   epochs;       /* done */
    double   epochs_total; /* of the budget; NaN without an epoch budget */
    double   fraction;     /* of the budget used, 0 .. 1; NaN when unknown */
    uint64_t examples, updates;
    double   train_s;        /* training clock: no loading, evaluation, output */
    double   examples_per_s; /* over the last stretch */
    double   eta_s;          /* time left, seconds */
    double   loss, loss_initial, accuracy, test_loss, test_accuracy;
    double   target_loss; /* NaN: none */
    unsigned n_workers;
    int      evaluated; /* 1: the losses are of now; 0: of the last evaluation */
} drove_progress;

/* called on the thread that called drove_train; any may be NULL */
typedef struct drove_callbacks {
    void *context;
    void (*progress)(void *context, const drove_progress *p); /* about 10 times a second */
    void (*evaluated)(void *context, const drove_progress *p);
    /* notes and warnings, one line each */
    void (*message)(void *context, const char *line);
} drove_callbacks;

typedef struct drove_result drove_result;

/* Runs what options say, on threads of its own, until done.  options are copied; callbacks may be
 * NULL. *out is the result of a run that ended, however it ended (also crashed or interrupted).
 * Errors: DROVE_E_ARG, DROVE_E_SHAPE, DROVE_E_DATA, DROVE_E_IO, DROVE_E_EXISTS (out holds another
 * run), DROVE_E_NOMEM, DROVE_E_SYSTEM.  Several runs may go on at once in one process. */
drove_status drove_train(const drove_options *options, const drove_callbacks *callbacks,
                         drove_result **out);
void         drove_result_destroy(drove_result *result); /* NULL accepted */

/* Asks every run that is going on in this process to finish its step, write its state and return;
 * runs that begin later are not concerned.  Any thread, and async-signal-safe.  Their results say
 * DROVE_INTERRUPTED, and exit with 128 + signal_number; a number that no signal has (0) counts as
 * SIGINT. */
void drove_train_interrupt(int signal_number);

/* ---- ranks: processes of one job that mpirun, mpiexec or srun started ----
 *
 * drove_train is called by all of them with the same options, is one run, and returns at each with
 * the same outcome and summary.  Rank 0 alone writes files and has messages; callbacks of progress
 * come at all.  Of a failure that all know rank 0 has the text, and drove_error_text() is "" at the
 * others. */

/* This process's number among them; 0 where there is no launcher, or one process. */
unsigned drove_launched_rank(void);
/* Instead of drove_train, where the options could not even be read: the other ranks learn of it
 * and end too.  why: what is wrong, NULL: the text of the failure that came last.  Returns what
 * drove_train would, which is `status` with that text where there are no ranks. */
drove_status drove_train_decline(drove_status status, const char *why);
/* After a drove_train of the same thread that failed on the way, when its text has been shown: ends
 * all ranks with this exit status, as they would wait for this one.  Does nothing in all other
 * cases. */
void drove_ranks_abandon(int exit_status);

drove_outcome drove_result_outcome(const drove_result *result);
int           drove_result_exit(const drove_result *result); /* 0, 3, 4 or 128 + signal */
void          drove_result_final(const drove_result *result, drove_progress *out);
/* the summary, one JSON object; owned by result */
const char *drove_result_json(const drove_result *result);
/* A summary for people; what was reached, how fast, where the files are. */
drove_status drove_result_print(const drove_result *result, FILE *stream);

/* ---- a saved model ---- */

typedef struct drove_use_options {
    const char *model; /* file */
    const char *data;  /* spec; labels are used where present */
    const char *isa;   /* NULL or "" = best */
    uint64_t    batch; /* 0 = 512, of networks that are no mlp as many as take some 64 MB */
    int         proba; /* predict: all probabilities instead of the label */
} drove_use_options;

typedef struct drove_score_report {
    uint64_t n_rows;
    double   loss, accuracy; /* accuracy: NaN for regression, micro-F1 for multi-label */
    char     model[DROVE_TEXT_SIZE], loss_name[32];
    int      is_multi_label; /* 1: accuracy is micro-F1 */
} drove_score_report;

drove_status drove_eval(const drove_use_options *use, drove_score_report *out);
/* One prediction a line to stream: the label's name, or the value; with proba the probabilities,
 * comma separated. */
drove_status drove_predict(const drove_use_options *use, FILE *stream);

/* ---- what there is ---- */

/* Registry `kind` (strategies, transports, rules, schedules, models, layers, activations, inits,
 * losses, data, features, backoffs, engines, devices, roundings, benches): name, help and source of
 * each entry; as a JSON array of {name, help, source} with as_json.  kind NULL: the kinds.
 * Errors: DROVE_E_ARG (unknown kind, with the nearest). */
drove_status drove_list(const char *kind, int as_json, FILE *stream);
/* Cores, NUMA nodes, caches, ISA tier, BLAS, memory, devices, and where the workers of these
 * options would run; with measure also how many examples a second of the options' model and data
 * each device and a thread of the processor compute gradients of, which takes some seconds each.
 * options NULL: defaults.  Errors: DROVE_E_ARG, DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_SYSTEM; with
 * measure those of data and model, DROVE_E_UNSUPPORTED (low precision, feature maps). */
drove_status drove_info(const drove_options *options, int as_json, int measure, FILE *stream);

/* An input that stands for data: an example's shape (a vector of n numbers: n, 1, 1) and the number
 * of classes (0: values). */
typedef struct drove_input_shape {
    uint64_t channels, height, width, n_classes;
} drove_input_shape;
/* input: "3x227x227" or "784"; classes: "1000".  Errors: DROVE_E_ARG. */
drove_status drove_input_shape_set(drove_input_shape *out, const char *input, const char *classes);
/* The model of these options (model, activation, loss, batch; data unless shape says enough): its
 * layers, shapes, parameters, multiply-adds and the memory of a batch's outputs and derivatives,
 * forward and in training.  Nothing is trained and no parameter is made.  A saved model needs
 * neither data nor shape.  shape NULL: by the data.  Errors: those of data and model, DROVE_E_IO,
 * DROVE_E_NOMEM. */
drove_status drove_describe(const drove_options *options, const drove_input_shape *shape,
                            int as_json, FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
