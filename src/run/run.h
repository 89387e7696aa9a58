/* run/run.h - one run: everything it is made of, and the parts that run/ splits it into.
 *
 *   run.c      options -> objects -> control loop -> result        (the caller's thread)
 *   features.c the feature map of the data
 *   gang.c     the workers' threads: go, park, and what they do meanwhile
 *   procs.c    the same for workers that are processes
 *   ranks.h    one worker in each of several processes of an MPI job
 *   worker.c   the one loop of every worker
 *   devices.h  workers that are devices with parameters of their own
 *   crew.h     workers that a coordinator gives batches to
 *   loading.c  batches that are loaded ahead       loader.h   the threads that do it
 *   output.c   the files of --out                         state.c   saving and resuming
 *   size.c     memory, before it is asked for   population.c  batch normalisation's statistics
 *   prefetch.c the processor's prefetchers during the run
 *   facts.c    what report/ is made from              modelfile.c, use.c   saved models
 *
 * Threads (or processes, procs.h): the caller's thread owns a drove_run; workers touch their own
 * drove_worker, the batcher, the strategy, and what is immutable after setup.  Everything else is
 * read or written by the caller's thread while they are parked.
 */
#ifndef DROVE_RUN_RUN_H
#define DROVE_RUN_RUN_H

#include <drove/train.h>

#include "base/prefetch.h"
#include "base/topo.h"
#include "cluster/transport.h"
#include "data/data.h"
#include "engine/engine.h"
#include "engine/features.h"
#include "model/model.h"
#include "optim/optim.h"
#include "strategy/strategy.h"
#include "trace/trace.h"
#include "run/batcher.h"
#include "run/crew.h"
#include "run/devices.h"
#include "run/loader.h"
#include "run/partition.h"
#include "run/ranks.h"
#include "run/resolve.h"
#include "run/until.h"

#include <semaphore.h>

enum {
    /* examples of one evaluation chunk of a chain of layers: fixed, so that sums do not depend on
     * the workers */
    DROVE_SCORE_ROWS = 512,
    DROVE_N_MARKS = 3 /* time to 10 %, 5 % and 2 % of the initial loss */
};
extern const double drove__mark_percent[DROVE_N_MARKS];

struct drove_worker {
    drove_run              *run;
    unsigned                index;
    pthread_t               thread;
    bool                    thread_started;
    const drove_data       *data; /* that it trains on: the run's, or a copy near it */
    const drove_engine_ops *engine_ops;
    drove_engine           *engine; /* made by the worker's own thread, near its memory */
    float                  *grad;   /* [n_params] */
    uint32_t               *row;    /* [max rows of a batch or an evaluation chunk] */
    drove_optim_worker      optim;
    drove_batch_cursor      cursor;
    drove_trace_worker      trace;
    drove_traffic           traffic;
    bool                    has_params; /* a device that keeps them was given them */
    _Atomic uint64_t        beats;  /* grows wherever it gets on; relaxed: nothing hangs on it */
    drove_status            status; /* first failure, with its text */
    char                    error[DROVE_ERROR_TEXT_SIZE];
    /* one of a group that a coordinator gives batches to */
    drove_group *group;      /* NULL: none */
    drove_queue *jobs;       /* of drove_lane_job; NULL for a leader */
    float        lane_share; /* of the group's gradient; written by the leader between two jobs */
    sem_t        answered;   /* the coordinator's thread has applied the step */
    drove_status answer;
} DROVE_ALIGNED_CACHE_LINE;

typedef enum drove_command {
    DROVE_DO_TRAIN,
    DROVE_DO_SCORE,
    DROVE_DO_STATISTICS, /* the first worker: batch normalisation's population */
    DROVE_DO_PROBE,      /* groups: measure */
    DROVE_DO_QUIT
} drove_command;

typedef struct drove_gang {
    pthread_mutex_t lock; /* protects the five fields below */
    pthread_cond_t  go, parked;
    uint64_t        generation; /* of the last command */
    drove_command   command;
    unsigned        n_busy;
    unsigned        n_silent; /* threads that will never park again */
    bool            ready;
} drove_gang;

typedef struct drove_scoring { /* one evaluation in parts */
    const drove_data *data;
    const float      *theta;
    size_t            n_rows, n_chunks;
    size_t            chunk_rows; /* examples of a chunk */
    bool              is_own;     /* of each rank its own data, else parts of the same */
    drove_score      *chunk;      /* of all chunks of the largest evaluation */
    _Atomic size_t    next;
} drove_scoring;

typedef struct drove_mark {
    double   train_s, epochs;
    uint64_t updates;
    bool     met;
} drove_mark;

typedef struct drove_standing { /* what is known of the run so far; part of the saved state */
    uint64_t   train_ns, n_evaluations, since_best;
    uint64_t   evaluation_slot; /* the next evaluation stands at slot x --eval-every epochs */
    double     loss_initial, loss, accuracy, test_loss, test_accuracy;
    double     best_loss;     /* test loss, or training loss without test data */
    double     patience_loss; /* the same over the planned evaluations alone */
    drove_mark mark[DROVE_N_MARKS];
} drove_standing;

typedef struct drove_beginning {
    uint64_t data_ns;  /* reading or making the data */
    uint64_t start_ns; /* all else until the workers could train */
} drove_beginning;

typedef struct drove_procs drove_procs; /* procs.h */

typedef struct drove_saving { /* --save-every */
    drove_save_every every;
    bool             is_there;                            /* something is saved */
    uint64_t         done_batches, done_updates, done_ns; /* when the last save was made */
} drove_saving;

struct drove_run {
    drove_options           opt;
    drove_callbacks         cb;
    drove_until             until;
    drovek_table            kernels;
    drove_topo             *topo;
    drove_place            *place; /* [n_workers] */
    unsigned                n_workers;
    drove_prefetch_state    prefetch_hardware; /* while the workers train */
    bool                    holds_prefetch;    /* drove__prefetch_release is due */
    drove_data             *train, *test;      /* test may be NULL */
    size_t                  n_train_whole;     /* rows of train, of all ranks together */
    drove_features_options  features;          /* as settled; ops NULL: the model sees the data */
    drove_data             *input; /* outline of the data before the features; NULL without */
    drove_model            *model;
    drove_optim            *optim;
    drove_transport        *transport; /* of a strategy whose workers exchange; else NULL */
    drove_ranks             ranks;
    drove_beginning         beginning;
    drove_sync             *sync;
    drove_workers           plan;      /* strategy, number of workers, binding */
    drove_partition         partition; /* of --partition; else no groups */
    drove_devices           devices;   /* of a strategy whose workers are devices; else none */
    drove_crew              crew; /* of a strategy whose batches are assigned; else no groups */
    const drove_engine_ops *engine_ops;
    /* of an engine whose parameters are words of its own; else NULL */
    drove_engine_shared *shared;
    /* [n_params] those parameters as floats, or the parameters with batch normalisation's
     * statistics: drove__run_theta; else NULL */
    float         *theta;
    bool           theta_is_current; /* no step since they were made */
    drove_batcher  batcher;          /* its batches are a worker's turns: one or more updates */
    size_t         update_rows;      /* examples of an update */
    drove_loader  *loader;           /* NULL: engines load their batches themselves */
    unsigned       n_loaders;        /* its threads */
    bool           use_live;         /* fused steps straight into the shared parameters */
    bool           spans_wanted;
    drove_worker  *worker; /* [n_workers] */
    drove_gang     gang;
    drove_procs   *procs; /* NULL: workers are threads */
    drove_scoring  scoring;
    _Atomic int    halted; /* a worker failed or met a non-finite loss */
    _Atomic int    nonfinite;
    drove_standing standing;
    /* [n_params] parameters of the best evaluation; NULL before */
    float         *best;
    drove_outcome  outcome;
    drove_progress final;             /* at the end */
    uint64_t       interrupts_before; /* drove__run_interrupts when the run began */
    int            signal_number;     /* that interrupted the run */
    bool           is_abandoned;      /* a silent thread may still use it: never freed */
    /* outputs; NULL without --out */
    drove_jsonl  *log;
    drove_events *events;
    /* the display's rate */
    uint64_t     rate_examples, rate_ns;
    double       rate;
    drove_saving save;
};

/* Does the worker compute in this process, or in one of its children? */
static inline bool drove__run_is_here(const drove_run *run, unsigned worker)
{
    return run->ranks.n <= 1 || worker == run->ranks.rank;
}

/* features.c; after the data were opened, before the model is made: what --features and a model
 * file to go on from say, and train and test as the model will see them. */
drove_status drove__run_features(drove_run *run);

/* gang.c; all on the caller's thread */
/* Room for the sums of all chunks of the largest evaluation.  Errors: DROVE_E_NOMEM. */
drove_status drove__gang_prepare(drove_run *run);
drove_status drove__gang_start(drove_run *run);
void         drove__gang_stop(drove_run *run);
void         drove__gang_go(drove_run *run, drove_command command);
/* Waits until all workers are parked or `until_ns` has come; true: parked. */
bool drove__gang_wait(drove_run *run, uint64_t until_ns);
/* One thread will never park again; by any thread. */
void drove__gang_silence(drove_run *run);
/* First failure of any worker, moved into the caller's error text. */
drove_status drove__gang_status(drove_run *run);
/* Loss of theta on data, by all workers; n_rows 0 = all rows, else that many, evenly spread. */
drove_status drove__gang_score(drove_run *run, const drove_data *data, size_t n_rows,
                               drove_score *out);

/* gang.c; on the worker's thread: carries it out; false: the worker is to end. */
bool drove__worker_obey(drove_worker *w, drove_command command);

/* worker.c; on the worker's thread */
drove_status drove__worker_setup(drove_worker *w);
/* Of setup: what others read too.  For processes by the caller's thread, before they are forked. */
drove_status drove__worker_alloc(drove_worker *w);
void         drove__worker_fini(drove_worker *w);
void         drove__worker_train(drove_worker *w);
void         drove__worker_score(drove_worker *w);
/* One step on the worker's own thread, by whatever way its run goes. */
drove_status drove__worker_step(drove_worker *w, const drove_batch *batch, float eta);
/* The mean gradient of a batch into w->grad; one in w->grad, of n_rows examples, published. */
drove_status drove__worker_gradient(drove_worker *w, const drove_batch *batch);
drove_status drove__worker_publish_gradient(drove_worker *w, size_t n_rows, float eta);
void         drove__worker_count(drove_worker *w, size_t n_rows, uint64_t n_steps,
                                 const drove_publish_info *info);
/* A batch whose loss is not finite ends the run: the thesis's "crashed". */
void drove__worker_check_finite(drove_worker *w, double loss);
/* The status with its text, for the caller; _fail also ends the run. */
void drove__worker_keep_error(drove_worker *w, drove_status status);
void drove__worker_fail(drove_worker *w, drove_status status);
/* No further batch is begun, or, among ranks, none after the next exchange; by any thread. */
void drove__run_halt(drove_run *run);

/* The parameters as floats [n_params], workers parked; valid until they go on. */
const float *drove__run_theta(drove_run *run);

/* size.c; the model is there, the workers are not. */
/* Examples of one evaluation chunk: a function of model and batch, so that sums do not depend on
 * the workers; of a network with images, whole batches, for which its convolutions are prepared. */
size_t drove__score_rows(const drove_model *model, size_t batch);
size_t drove__run_score_rows(const drove_run *run);
/* Errors: DROVE_E_ARG: more memory than there is, with the need and what there is. */
drove_status drove__run_check_memory(const drove_run *run);

/* population.c */
drove_status drove__run_prepare_population(drove_run *run);
void         drove__run_population(drove_run *run, const float *vector);
void         drove__worker_statistics(drove_worker *w); /* on the worker's thread */

/* loading.c */
/* After the batcher is there, before the workers are: run->loader, if the run has one.  Errors:
 * DROVE_E_ARG (--loaders), those of drove__loader_create. */
drove_status drove__run_loading(drove_run *run);
/* On the worker's thread: its next batch; false: none until the next open.  One that could not be
 * loaded is *status. */
bool drove__worker_next(drove_worker *w, drove_batch *batch, drove_status *status);

/* Accuracy of a score: correct / rows, micro-F1 for multi-label, NaN for values. */
double drove__score_accuracy(const drove_data *data, const drove_score *score);

/* run.c; what these data demand of a model */
drove_model_io drove__run_io(const drove_data *data);

/* run.c; a message for people, one line */
void drove__run_say(const drove_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* prefetch.c */

/* Switches the prefetchers of the workers' processors off if --prefetch says so; where that cannot
 * be done, a message says why, and they stay as they are.  Sets run->prefetch_hardware. */
void drove__run_prefetch_begin(drove_run *run);
/* Puts them back as they were. */
void drove__run_prefetch_end(drove_run *run);

/* state.c */
drove_status drove__state_save(const drove_run *run, const char *path);
drove_status drove__state_load(drove_run *run, const char *path);

/* modelfile.c */
/* data: as they were opened, before the features; only the descriptive part is used. */
drove_status drove__modelfile_save(const char *path, const drove_model *model,
                                   const drove_data *data, const drove_features_options *features,
                                   const float *theta);
/* *theta_out from drove__alloc.  shift, factor, names as they stand in the file. */
typedef struct drove_modelfile {
    drove_model           *model;
    float                 *theta;    /* [n_params] */
    drove_model_io         io;       /* as the model sees it */
    size_t                 n_inputs; /* features of the data; io.n_features where there is no map */
    drove_features_options features;
    drove_augment          augment; /* images, and what is cut out of them; channels 0: none */
    drove_scaling          scaling;
    /* of the training data, with index_base: how to read further data */
    drove_x_kind x_kind;
    int          index_base;
    float       *shift, *factor; /* [n_inputs], or NULL */
    char       **class_name;     /* [n_classes], or NULL */
} drove_modelfile;
drove_status drove__modelfile_load(const char *path, drove_modelfile *out);
void         drove__modelfile_fini(drove_modelfile *file);
/* The features alone. */
drove_status drove__modelfile_features(const char *path, drove_features_options *out);

#endif
