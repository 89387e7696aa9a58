/* run/run.h - one run: the objects that options name, and what is known of it so far.
 *
 *   train.c      drove_train: setup -> control -> result
 *   setup.c      options -> objects       problem.c  data and model       features.c  feature map
 *   workers.c    the plan's workers: engines, source of batches, host
 *   search.h     --model auto: trial runs of several models
 *   strategy_probe.h  --strategy auto: pieces of training by several strategies
 *   choose.h     what auto means, once data and model are there      trials.h  step sizes
 *   control.c    stretches of training between evaluations and saves
 *   stopping.h   validation, cuts of the step size, stepping back, the best parameters
 *   ranks.h      the ranks of a job: joining, agreeing, parking, state
 *   state.c      saving and resuming      output.c   the files of --out      outname.h  its name
 *   size.c       memory, before it is asked for      prefetch.c  the processor's prefetchers
 *   disk.h       training data larger than memory
 *   virtual.h    --machine: the virtual clock of a modelled machine
 *   recording.h  --record and --replay
 *   facts.h      what the report is told
 *   infer.h      predictions by threads   measure.h  metrics of them    final_metrics.h
 *   use.c        saved models             predictions.h  their formats
 *   predictor.c, trainer.c  a model in memory that predicts, or learns
 *
 * Threads: the caller's thread owns a drove_run; workers see run->loop alone (loop/loop.h).
 */
#ifndef DROVE_RUN_RUN_H
#define DROVE_RUN_RUN_H

#include <drove/train.h>

#include "base/options.h"
#include "base/prefetch.h"
#include "cluster/transport.h"
#include "engine/features.h"
#include "loop/loop.h"
#include "plan/modelled.h"
#include "run/modelfile.h"
#include "run/search.h"
#include "run/strategy_probe.h"
#include "run/trials.h"
#include "run/resolve.h"
#include "run/until.h"

enum { DROVE_N_MARKS = 3 /* time to 10 %, 5 % and 2 % of the initial loss */ };
extern const double drove__mark_percent[DROVE_N_MARKS];

typedef struct drove_repeating drove_repeating; /* recording.c */

typedef enum drove_repeat {                     /* how a recorded run can be repeated */
                            DROVE_REPEAT_NOT,   /* nobody asks */
                            DROVE_REPEAT_AGAIN, /* run again: the strategy is REPEATABLE */
                            DROVE_REPEAT_ORDER  /* step by step, in order: it is ORDERED */
} drove_repeat;

typedef struct drove_mark {
    double   train_s, epochs;
    uint64_t updates;
    bool     met;
} drove_mark;

typedef struct drove_standing { /* what is known of the run so far; part of the saved state */
    uint64_t train_ns, n_evaluations, since_best;
    uint64_t evaluation_slot; /* the next evaluation stands at slot x --eval-every epochs */
    double   loss_initial, loss, accuracy, test_loss, test_accuracy;
    double   best_loss;     /* test loss, or training loss without test data */
    double   patience_loss; /* the same over the planned evaluations alone */
    /* run/stopping.h */
    double     validation_loss, validation_accuracy; /* NaN: no validation examples */
    double     stall_loss;                           /* that the next evaluations have to better */
    double     back_loss, back_epochs;               /* of the parameters to step back to */
    double     back_off;                             /* factor of the step size */
    uint64_t   n_stalled;                            /* evaluations without a better one */
    uint64_t   n_cuts, n_recoveries;
    bool       recovers; /* a loss that is not finite does not end the run */
    drove_mark mark[DROVE_N_MARKS];
} drove_standing;

typedef struct drove_saving { /* --save-every */
    drove_save_every every;
    bool             is_there;                            /* something is saved */
    uint64_t         done_batches, done_updates, done_ns; /* when the last save was made */
} drove_saving;

typedef struct drove_ranks {
    unsigned n, rank;             /* 1 and 0: one process */
    unsigned n_local, local_rank; /* ranks of this host */
    bool     is_together;         /* all have agreed: exchanges are under way */
    int      signal_number;       /* that some rank got, known to all; 0: none */
    uint64_t own_examples;        /* of the workers here, when they were parked last */
} drove_ranks;

typedef struct drove_beginning { /* of a run */
    uint64_t data_ns;            /* reading or making the data */
    uint64_t start_ns;           /* all else until the workers could train */
} drove_beginning;

struct drove_run {
    drove_options    opt;
    drove_callbacks  cb;
    drove_until      until;
    drovek_table     kernels;
    drove_topo      *topo;
    drove_machine    machine;
    drove_plan       plan;
    bool             lr_is_auto;    /* --lr was not given */
    int              out_lock;      /* folder.h: the descriptor that holds it, and 1; 0: none */
    bool             out_is_auto;   /* opt.out was "auto": a folder with a number (outname.h) */
    bool             state_is_auto; /* --rule-state was not given */
    bool             model_is_auto; /* --model was not given, and no models are compared */
    bool             is_tuned;      /* what was not given is chosen: choose.h */
    bool             finds_lr;      /* of the words of a network: rule, lr and schedule alone */
    double           lr_base;       /* of --lr auto: one worker's step size; 0: not known */
    drove_trials     trials;        /* of step sizes */
    drove_search     search;        /* of --model auto */
    double          *target_shift, *target_scale; /* [n_values] while they train; NULL: targets.h */
    double           loss_scale;         /* from the loss that trains to the reported one */
    drove_place     *place;              /* [plan.n_workers] */
    drove_modelled  *modelled;           /* of --machine (virtual.h); NULL: real time */
    drove_topo_facts here;               /* of this machine, where there is a modelled one */
    bool             has_measured_costs; /* of the modelled machine */
    drove_spec      *device_spec;        /* [plan.n_workers] of its devices; NULL: real time */
    drove_repeat     repeat;             /* of --record and --replay */
    drove_repeating *repeating;          /* of --replay; NULL: none */
    const char      *resumed_name; /* the state in --resume that it goes on from; NULL: none */
    char             record_failure[DROVE_ERROR_TEXT_SIZE]; /* "": --record goes well */
    drove_strategy_probe   strategy_probe;                  /* of --strategy auto */
    drove_prefetch_state   prefetch_hardware;               /* while the workers train */
    bool                   holds_prefetch;                  /* drove__prefetch_release is due */
    const drove_data      *given;          /* of a trial run: its data; else NULL */
    bool                   borrows_shared; /* loop->shared is that of another run */
    drove_data            *train, *test;   /* test may be NULL */
    drove_data            *validation;     /* taken from train; NULL: none */
    drove_stream          *stream;        /* disk.h; train is then a sample.  NULL: all in memory */
    uint64_t               window_bytes;  /* ?window= of it; 0: by --memory */
    drove_data            *kept;          /* of it, neither trained on nor used yet; NULL: none */
    size_t                 n_train_whole; /* rows of train, of all ranks together */
    double                *target_mean;   /* of train (measure.h); NULL: with --shard own */
    drove_features_options features;      /* as settled; ops NULL: the model sees the data */
    drove_data            *input; /* outline of the data before the features; NULL without */
    drove_model           *model;
    drove_optim           *optim;
    drove_transport       *transport; /* of a strategy whose workers exchange; else NULL */
    drove_ranks            ranks;
    drove_beginning        beginning;
    drove_loop            *loop; /* in memory that worker processes share */
    /* [n_params] the parameters of a TYPED engine as floats, or the parameters with batch
     * normalisation's statistics: drove__run_theta; else NULL */
    float         *theta;
    bool           theta_is_current; /* no step since they were made */
    bool           is_given; /* the first parameters are those of a file, statistics among them */
    drove_standing standing;
    uint64_t       since_ns;        /* training time when these workers began; before: others */
    uint64_t       logged_examples; /* of the last record of the log */
    bool           has_logged;      /* there is one, of these parameters */
    uint64_t       logged_ns;       /* training time at the last record of the log ... */
    uint64_t      *logged_busy_ns;  /* [plan.n_groups] ... and each group's busy time; NULL: 0 */
    /* [n_params] parameters of the best evaluation; NULL before */
    float         *best;
    float         *back;       /* [sync->n_vector] where the run steps back to; NULL before */
    bool           gives_best; /* at the end: drove__run_theta is best */
    drove_outcome  outcome;
    drove_progress final;             /* at the end */
    uint64_t       interrupts_before; /* drove__run_interrupts when the run began */
    int            signal_number;     /* that interrupted the run */
    /* Relaxed: only a request, which the thread that controls the run looks at. */
    atomic_bool      is_cancelled;
    const drove_run *parent;       /* of a trial run: the run that it is part of; else NULL */
    const char      *comm_library; /* of the program's own communicator; NULL: there is none */
    int              comm;         /* as MPI_Comm_c2f gives it */
    bool             is_over;      /* it has been trained, and its objects are gone */
    bool             keeps_model;  /* in memory, for the result */
    bool             is_abandoned; /* a silent thread may still use it: never freed */
    /* outputs; NULL without --out */
    drove_jsonl  *log;     /* in --out; NULL: none */
    drove_jsonl  *own_log; /* of --log; NULL: none */
    drove_events *events;
    /* the display: what its rate counts from, and when it was shown */
    uint64_t     rate_examples, rate_ns, shown_ns;
    double       rate;
    drove_saving save;
};

/* --data with --label and --weights as keys. */
enum { DROVE_SPEC_WITH_LABEL_SIZE = 7 * DROVE_TEXT_SIZE + 32 };
enum { DROVE_SPEC_SIZE = DROVE_SPEC_WITH_LABEL_SIZE + 16 }; /* and with &scale=auto */

/* ---- setup.c ---- */

/* Everything between the options and the first evaluation; of ranks all come to the same status.
 * The run has its options and callbacks, and has joined its ranks.  Errors: of every part. */
drove_status drove__run_setup(drove_run *run);
/* With a low --precision, where that is not done: the parameters in the engine's own number format,
 * and the data.  theta[n_params]: the first parameters.  Errors: DROVE_E_ARG, the engine's. */
drove_status drove__run_prepare_precision(drove_run *run, const float *theta);
/* All of it, or as much as there is after a failure; status: how the run ended. */
void drove__run_teardown(drove_run *run, drove_status status);

/* ---- validate.c ---- */

/* As drove_options_validate, for a run of so many ranks. */
drove_status drove__options_validate_for(const drove_options *options, unsigned n_ranks);

/* ---- problem.c, features.c, size.c ---- */

/* The data of the options; *test may be NULL.  shard NULL: all rows.  like: as for
 * drove__data_open_shard, whose errors come. */
drove_status drove__problem_read(const drove_options *opt, const drove_shard *shard,
                                 const drove_storage *like, drove_data **train, drove_data **test,
                                 size_t *n_rows_whole);
/* The specs of both: --data with --label and --weights as keys and the scaling that the run chooses
 * where it is not given; --test, "" or "split" as they are.  Errors: DROVE_E_ARG. */
drove_status drove__problem_specs(const drove_options *opt, char data[DROVE_SPEC_SIZE],
                                  char test[DROVE_SPEC_WITH_LABEL_SIZE]);
/* run->train and run->test.  Errors: those of drove__data_open_shard. */
drove_status drove__problem_open(drove_run *run);
/* Errors: DROVE_E_ARG: a target that such data cannot reach. */
drove_status drove__problem_check_target(const drove_run *run);
/* run->model, and its first parameters: theta[n_params], the caller frees it, also after a failure.
 * Errors: those of a model's spec or file, DROVE_E_ARG, DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__problem_model(drove_run *run, float **theta);
/* What a model file settles must not be asked for differently.  Errors: DROVE_E_ARG. */
drove_status drove__problem_check_start(const drove_options *opt, const drove_model *model);
/* After the data were opened, before the model is made: what --features and a model file to go on
 * from say, and train and test as the model will see them. */
drove_status drove__run_features(drove_run *run);
/* The model is there, the workers are not.  Errors: DROVE_E_ARG: more memory than there is, with
 * the need and what there is. */
drove_status drove__run_check_memory(const drove_run *run);
/* Bytes that the model, its copies and the workers' outputs take. */
drove_status drove__run_need_bytes(const drove_run *run, double *out);
/* Examples of an update, and of an evaluation's chunk: functions of model and --batch, so that sums
 * do not depend on the workers; of a network with images, whole batches, for which its convolutions
 * are prepared. */
size_t drove__update_rows(const drove_run *run);
size_t drove__score_rows(const drove_model *model, size_t batch);

/* ---- workers.c ---- */

/* --order, of the run's engine. */
drove_order_kind drove__run_order(const drove_run *run);

/* run->loop->worker: devices are opened.  Errors: those of drove__worker_init, DROVE_E_NOMEM. */
drove_status drove__run_make_workers(drove_run *run);
void         drove__run_free_workers(drove_run *run);
/* The order of examples, the source of batches, loaders, the host.  Errors: DROVE_E_ARG (--shard,
 * --loaders), those of the parts. */
drove_status drove__run_prepare_workers(drove_run *run);
/* Starts them.  Errors: those of host, engines and source. */
drove_status drove__run_start_workers(drove_run *run);

/* ---- train.c ---- */

typedef struct drove_trial_result {
    drove_outcome outcome;
    double        best_loss, best_epochs; /* on the validation examples; where */
    double        constant_loss;          /* drove__search_constant */
    double        lr;
} drove_trial_result;

/* A run on data that are read already, whose targets it may standardise in place, up to its first
 * evaluation: no files, no messages.  shared: what a TYPED engine has prepared for the same data
 * and options, borrowed; else NULL.  parent: the run that it is part of, which is cancelled with
 * it; borrowed.  *out: closed by drove__run_close; NULL after a failure.
 * Errors: those of drove_train. */
drove_status drove__run_open(const drove_run *parent, const drove_options *opt,
                             const drove_data *given, drove_engine_shared *shared, drove_run **out);
void         drove__run_close(drove_run *run);
/* Such a run as a whole.  Errors: the same. */
drove_status drove__run_trial(const drove_run *parent, const drove_options *opt,
                              const drove_data *given, drove_trial_result *out);

/* A message for people, one line. */
void drove__run_say(const drove_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same behind "warning: ", of something lost or damaged: printed with --quiet too. */
void drove__run_warn(const drove_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- prefetch.c ---- */

/* Switches the prefetchers of the workers' processors off if --prefetch says so; where that cannot
 * be done, a message says why, and they stay as they are.  Sets run->prefetch_hardware. */
void drove__run_prefetch_begin(drove_run *run);
void drove__run_prefetch_end(drove_run *run); /* puts them back as they were */

/* ---- state.c ---- */

drove_status drove__state_save(drove_run *run, const char *path);
/* Goes on from --resume, or from the state that a recorded run went on from; else does nothing. */
drove_status drove__state_load(drove_run *run);
enum { DROVE_STATE_DATA_SIZE = 128 };
/* Which data they are, whatever is held out of them; from disk there are no rows to compare.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__state_describe_data(const drove_run *run, char text[DROVE_STATE_DATA_SIZE]);

#endif
