/* drove/train.h - run and watch training, use saved models. */
#ifndef DROVE_TRAIN_H
#define DROVE_TRAIN_H

#include <drove/metrics.h>
#include <drove/options.h>
#include <drove/status.h>

#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* How a run ended. */
typedef enum drove_outcome {
    DROVE_REACHED,    /* the target was met */
    DROVE_FINISHED,   /* the budget was used and there was no target */
    DROVE_MISSED,     /* the target was not met within the budget */
    DROVE_CRASHED,    /* loss or parameters became non-finite */
    DROVE_INTERRUPTED /* drove_run_cancel, drove_train_interrupt */
} drove_outcome;
/* "reached", "finished", "missed", "crashed", "interrupted"; static. */
const char *drove_outcome_name(drove_outcome outcome);

/* State of a run at an evaluation, or between two for a display.  Missing numbers are NaN. */
typedef struct drove_progress {
    double   epochs;         /* done; NaN: a pack's networks are being trained (--model auto) */
    double   epochs_total;   /* of the budget; NaN: none; of a pack: networks planned, 0: not yet */
    double   fraction;       /* of the budget used, 0 .. 1; NaN when unknown */
    uint64_t examples;       /* gradients of examples computed */
    uint64_t updates;        /* steps added to the parameters; of a pack: networks trained */
    double   train_s;        /* training clock: no loading, evaluation, output */
    double   examples_per_s; /* recent */
    double   eta_s;          /* time left, seconds */
    double   loss;           /* of the last evaluation: mean over the training data it looked at */
    double   loss_initial;   /* of the first evaluation */
    double   accuracy;       /* 0 to 1, of the same examples as loss; micro-F1 of label sets */
    double   test_loss;      /* on the test data */
    double   test_accuracy;  /* on the test data */
    double   target_loss;    /* NaN: none */
    unsigned n_workers;      /* of this process */
    int      evaluated;      /* 1: the losses are current; 0: from the last evaluation */
    double   validation_loss, validation_accuracy; /* of examples held out of training; NaN: none */
} drove_progress;

/* Called on the thread that called drove_run_train or drove_train; any may be NULL.  To stop the
 * run, call drove_run_cancel in one of them. */
typedef struct drove_callbacks {
    void *context;                                            /* first argument of each */
    void (*progress)(void *context, const drove_progress *p); /* about 10 times a second */
    /* after each evaluation */
    void (*evaluated)(void *context, const drove_progress *p);
    /* notes and warnings, one line each; a warning, of a loss or damage, begins with "warning: " */
    void (*message)(void *context, const char *line);
} drove_callbacks;

/* What a run has come to; opaque, read-only. */
typedef struct drove_result drove_result;

/* Runs the training that options describe, on threads of its own, to the end.  options are copied;
 * callbacks may be NULL.  *out is set however the run ended, also after a crash or an interruption.
 * Errors: DROVE_E_ARG, DROVE_E_SHAPE, DROVE_E_DATA, DROVE_E_FILE (a file that cannot be opened or
 * made), DROVE_E_IO, DROVE_E_EXISTS (out holds another run), DROVE_E_UNSUPPORTED (a device, a
 * precision, MPI: not here), DROVE_E_NOMEM, DROVE_E_SYSTEM (threads, a lost worker, ranks); those
 * that a loss or layer of the program's own returns.  A process may have several runs at the same
 * time. */
drove_status drove_train(const drove_options *options, const drove_callbacks *callbacks,
                         drove_result **out);
void         drove_result_destroy(drove_result *result); /* NULL accepted */

/* Asks every running drove_train of this process to finish its step, save its state and return;
 * later runs are not affected.  Callable from any thread, and async-signal-safe.  The results are
 * DROVE_INTERRUPTED with exit status 128 + signal_number; a number that no signal has (0) counts as
 * SIGINT. */
void drove_train_interrupt(int signal_number);

/* ---- a run as an object: to cancel it, and to have its model in memory ----
 *
 * Runs in different threads of one process share nothing but the processors: each has the result
 * that it would have alone. */

/* A run; opaque.  It belongs to the thread that trains it.  In a child of fork a run that another
 * thread was training can only be destroyed; runs of the child's own are as any. */
typedef struct drove_run drove_run;

/* A run that has not begun; options are copied.  Errors: DROVE_E_NOMEM. */
drove_status drove_run_create(const drove_options *options, drove_run **out);
/* Before drove_run_train; callbacks are copied, NULL: none. */
void drove_run_set_callbacks(drove_run *run, const drove_callbacks *callbacks);
/* Before drove_run_train: the result has the trained model in memory, whether or not there is a
 * folder for it. */
void drove_run_keep_model(drove_run *run);
/* As drove_train, once.  Errors: also DROVE_E_ARG: it has been trained. */
drove_status drove_run_train(drove_run *run, drove_result **out);
/* Asks the run to finish its step, save its state and return; the result is DROVE_INTERRUPTED, with
 * exit status 130.  Before drove_run_train: it ends before the first step.  Callable from any
 * thread until the run is destroyed, and async-signal-safe. */
void drove_run_cancel(drove_run *run);
/* Not while drove_run_train runs.  NULL accepted. */
void drove_run_destroy(drove_run *run);

/* ---- ranks: processes of one job that mpirun, mpiexec or srun started ----
 *
 * Every rank calls drove_train with the same options.  Together they are one run, and each gets the
 * same outcome and summary.  Only rank 0 writes files and reports messages; progress callbacks run
 * on every rank.  After a failure known to all ranks, rank 0 has the text, and drove_error_text()
 * is "" on the others. */

/* Inside another MPI program: the ranks of this communicator train together, instead of those of
 * the launcher.  communicator: MPI_Comm_c2f(comm), which is a number in every library of MPI.
 * library: "openmpi" or "mpich", whose module is opened; NULL: the one that the program is linked
 * with.  Before drove_run_train, which all ranks of the communicator call with the same options; a
 * communicator of one rank (MPI_COMM_SELF) is a run of its own.
 *
 * The program has called MPI_Init_thread with MPI_THREAD_MULTIPLE, or with MPI_THREAD_SERIALIZED if
 * no other thread of it uses MPI during the run: drove calls MPI in threads of its own.  It
 * duplicates the communicator, frees the duplicate at the end, and sends nothing over the one that
 * was given; MPI_Finalize is the program's.  After a failure while ranks exchange messages the
 * duplicate stays, as messages to it may be under way.  Runs of several communicators may be in one
 * job.
 *
 * Errors: DROVE_E_ARG (library, the run has been trained), DROVE_E_UNSUPPORTED (no library is
 * found).  The communicator and the thread level are seen to by drove_run_train:
 * DROVE_E_UNSUPPORTED, DROVE_E_SYSTEM. */
drove_status drove_run_set_communicator(drove_run *run, int communicator, const char *library);

/* This process's rank; 0 without a launcher or with one process. */
unsigned drove_launched_rank(void);
/* Call it instead of drove_train if the options cannot be read: the other ranks learn of it and
 * end too.  why: the error; NULL: the text of the last failure.  Returns what drove_train would;
 * without ranks, `status` with that text. */
drove_status drove_train_decline(drove_status status, const char *why);
/* tell is called where a rank has died: once, at one of the others, on a thread of drove's own, and
 * at once, since the launcher may be about to kill this process too.  line names the rank and says
 * how to go on; write it with write(2).  drove_train then fails at all ranks, with the text "".
 * NULL, the default: the text of drove_train says it, if there is time.  Runs over a communicator
 * of the program's own are not watched. */
void drove_ranks_on_death(void (*tell)(const char *line));
/* Call it after drove_train has failed while ranks joined or ran, on the same thread, once its text
 * was shown: ends all ranks with this exit status, since they would wait for this one.  Under
 * MPICH's launcher a process whose MPI_Init has failed ends by SIGTERM, which makes the launcher
 * end the others.  Does nothing in all other cases. */
void drove_ranks_abandon(int exit_status);

/* ---- results ---- */

/* The trained model in memory, "memory:7.safetensors", owned by result: a name for --model,
 * drove_use_options and drove_predictor_open; NULL: it was not kept, or the run crashed. */
const char *drove_result_model(const drove_result *result);
/* How the run ended. */
drove_outcome drove_result_outcome(const drove_result *result);
int           drove_result_exit(const drove_result *result); /* 0, 3, 4 or 128 + signal */
/* State of the run at its end. */
void drove_result_final(const drove_result *result, drove_progress *out);
/* the summary, one JSON object; owned by result */
const char *drove_result_json(const drove_result *result);
/* Prints a summary for people: the result, the speed, the files.  Errors: DROVE_E_IO. */
drove_status drove_result_print(const drove_result *result, FILE *stream);

/* ---- a saved model ---- */

/* What drove_predict writes.  The columns of an example: its class's name under `label` and p_NAME,
 * the probability of each class (score_NAME where the loss gives no probabilities, `score` where
 * there is one for two classes); p_NAME for each label of multi-label data; `value` of regression.
 */
typedef enum drove_predict_format {
    DROVE_PREDICT_LINES, /* a line each: the label's name (all above 1/2, with commas) or value */
    DROVE_PREDICT_CSV,   /* a header, then a line each with all columns */
    DROVE_PREDICT_NPY /* NumPy array of little-endian floats: [n_rows][columns] without the label,
                            of regression [n_rows] */
} drove_predict_format;

/* The file of a saved model that a path means, into[size]: the path itself, or in a run's folder
 * model.safetensors, and best.safetensors where there is no other.  Errors: DROVE_E_FILE (a folder
 * without either), DROVE_E_ARG (size too small). */
drove_status drove_model_find(const char *path, char *into, size_t size);

/* How to use a saved model on data; texts are borrowed.  Zeroed fields have their defaults. */
typedef struct drove_use_options {
    const char *model; /* file, or the folder of a run */
    const char *data;  /* spec; labels are used where present */
    const char *isa;   /* NULL or "" = best */
    uint64_t    batch; /* 0 = 512; for networks other than an mlp, about 64 MB worth */
    int         proba; /* predict, lines: all outputs, separated by commas, instead of the label */
    uint64_t    threads;         /* 0 = as many as processors; results do not depend on it */
    drove_predict_format format; /* predict */
    const char *out; /* predict: a file, which appears whole or not at all; NULL = the stream */
    /* One remark about the data: columns left out, cells that count as missing ...; may be NULL. */
    void (*message)(void *context, const char *text);
    void *context; /* first argument of message */
    /* Two classes by probabilities: an example has the second one from this probability on, a
     * number from 0 to 1; of drove_eval also "f1", the number with the largest F1 of this class, or
     * "cost:fp=1,fn=5", that with the least cost of false positives and negatives.  NULL or "":
     * above 1/2. */
    const char *threshold;
} drove_use_options;

/* What drove_eval finds. */
typedef struct drove_score_report {
    uint64_t n_rows;                 /* examples */
    double   loss;                   /* mean over the examples */
    double   accuracy;               /* 0 to 1; NaN for regression, micro-F1 for multi-label */
    char     model[DROVE_TEXT_SIZE]; /* as --model: "mlp:16" */
    char     loss_name[32];          /* as --loss */
    int      is_multi_label;         /* 1: accuracy is micro-F1 */
} drove_score_report;

/* ---- evaluation and predictions ----
 *
 * These run on threads of their own and may be called by several threads at once.  Errors:
 * DROVE_E_ARG (isa, spec), DROVE_E_FILE, DROVE_E_IO, DROVE_E_DATA (files), DROVE_E_SHAPE (the data
 * do not fit the model), DROVE_E_UNSUPPORTED (a layer of a program's own; of drove_eval also a
 * loss), DROVE_E_NOMEM, DROVE_E_SYSTEM.  On failure *out is unchanged. */

/* Mean loss and accuracy; needs labels. */
drove_status drove_eval(const drove_use_options *use, drove_score_report *out);
/* The same with the metrics of the same predictions (drove/metrics.h), which the caller gives to
 * drove_metrics_destroy.  *metrics is NULL on failure. */
drove_status drove_eval_metrics(const drove_use_options *use, drove_score_report *out,
                                drove_metrics **metrics);
/* Writes a prediction for every example, in order, to use->out or to stream, and flushes it.
 * stream may be NULL where use->out is given.  If the reader of a pipe has gone (EPIPE), the rest
 * is left out and that is no error; the caller sees to SIGPIPE.  Errors: also those of writing. */
drove_status drove_predict(const drove_use_options *use, FILE *stream);

/* ---- registries, machine, models ---- */

/* Prints a registry (strategies, sources, hosts, transports, rules, schedules, models, layers,
 * activations, inits, losses, data, features, backoffs, engines, devices, roundings, tiers; in the
 * program drove also benches): name, help and source of each entry; with as_json a JSON array of
 * {name, help, source, keys}.  kind NULL: the registries' names.  kind "rules:adam": the arguments
 * and keys of a spec of this name, a line each, with values and [defaults].
 * Errors: DROVE_E_ARG (unknown kind or name, with the nearest), DROVE_E_IO (stream),
 * DROVE_E_NOMEM. */
drove_status drove_list(const char *kind, int as_json, FILE *stream);
/* Prints cores, NUMA nodes, caches, ISA tier, BLAS, memory, devices, and where the workers of these
 * options would run.  With measure also the gradients (examples) per second that each device and
 * one processor thread compute for the options' model and data; each takes some seconds.
 * options NULL: defaults.  Errors: DROVE_E_ARG, DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_SYSTEM; with
 * measure also those of data and model, DROVE_E_UNSUPPORTED (low precision, feature maps). */
drove_status drove_info(const drove_options *options, int as_json, int measure, FILE *stream);

/* Input shape in place of data: the shape of an example (a vector of n numbers: n, 1, 1) and the
 * number of classes (0: values). */
typedef struct drove_input_shape {
    uint64_t channels, height, width; /* a vector of n numbers: n, 1, 1 */
    uint64_t n_classes;               /* 0: values */
} drove_input_shape;
/* input: "3x227x227" or "784"; classes: "1000".  Errors: DROVE_E_ARG. */
drove_status drove_input_shape_set(drove_input_shape *out, const char *input, const char *classes);
/* Prints the model of these options (model, activation, loss, batch; data unless shape gives
 * enough): its layers, shapes, parameters, multiply-adds, and the memory of a batch's outputs and
 * derivatives, forward and in training.  Trains nothing and allocates no parameters.  A saved model
 * needs neither data nor shape.  shape NULL: taken from the data.  Errors: those of data and model,
 * DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove_describe(const drove_options *options, const drove_input_shape *shape,
                            int as_json, FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
