/* values/values.h - a run as five values: each is made by one room and read by the others.
 *
 *   config    settings, and the choices where these were left open (config/config.h)
 *   problem   data, features, model
 *   workers   the plan's workers: engines, source, host, strategy, transport
 *   state     the standing so far; most of it is saved
 *   output    the display, files
 *
 *   config/   options, read and checked                 problem/  data, features and model
 *   auto/     choices: lengths, rule, schedule, step size
 *   run/      workers, control, stopping, trial runs, the virtual clock
 *   files/    the folder of --out, state, records, facts of the report
 *   train/    drove_train, --model auto, --strategy auto
 *   values/   these, the ranks of a job, progress
 *
 * Threads: the caller's thread owns them; workers see workers->loop alone (loop/loop.h).
 */
#ifndef DROVE_VALUES_VALUES_H
#define DROVE_VALUES_VALUES_H

#include <drove/train.h>

#include "base/prefetch.h"
#include "cluster/transport.h"
#include "config/config.h"
#include "engine/features.h"
#include "loop/loop.h"
#include "model/freeze.h"
#include "plan/modelled.h"
#include "use/modelfile.h"
#include "values/interrupt.h"

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

typedef struct drove_standing { /* of the run so far; part of the saved state */
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

typedef struct drove_saving {                     /* --save-every */
    bool     is_there;                            /* something is saved */
    uint64_t done_batches, done_updates, done_ns; /* when the last save was made */
} drove_saving;

typedef struct drove_ranks {
    unsigned    n, rank;             /* 1 and 0: one process */
    unsigned    n_local, local_rank; /* ranks of this host */
    bool        is_together;         /* all have agreed: exchanges are under way */
    bool        has_lost_some;       /* the connection to them broke */
    int         signal_number;       /* that some rank got, known to all; 0: none */
    const char *library;             /* of the program's own communicator; NULL: there is none */
    int         communicator;        /* as MPI_Comm_c2f gives it */
    uint64_t    own_examples;        /* of the workers here, when they were parked last */
    struct drove_ranks_witness *witness; /* ranks_witness.c; NULL: nobody is watched */
} drove_ranks;

typedef struct drove_beginning { /* of a run */
    uint64_t data_ns;            /* reading or making the data */
    uint64_t begun_ns;           /* when it began */
    uint64_t start_ns;           /* all else until the workers could train */
} drove_beginning;

typedef struct drove_display { /* what its rate counts from, and when it was shown */
    uint64_t rate_examples, rate_ns, shown_ns;
    double   rate;
} drove_display;

/* Stops of the workers, who then went on: for evaluations, saves, cuts of the step size. */
typedef struct drove_parkings {
    uint64_t n, ns;
    uint64_t n_beside; /* evaluations that stopped nobody */
    uint64_t since_ns; /* clock when they were parked last; 0: they have not been yet */
} drove_parkings;

/* A network of which a part is trained, drove_problem.model (problem/tuned.h). */
typedef struct drove_tuned {
    drove_model    *whole;     /* as it is saved */
    float          *theta;     /* [whole->n_params] where training began */
    bool           *is_frozen; /* [whole->n_layers] */
    drove_model_cut cut;       /* the layers below it made the numbers of the examples */
    char            data[128]; /* which data there are, before that: drove__problem_describe */
} drove_tuned;

/* Data, features and model. */
typedef struct drove_problem {
    const drove_data *given;             /* of a trial run: its data; else NULL */
    drove_data       *train, *test;      /* test may be NULL */
    drove_data       *validation;        /* taken from train; NULL: none */
    drove_stream     *stream;            /* disk.h; train is then a sample.  NULL: all in memory */
    uint64_t          window_bytes;      /* ?window= of it; 0: by --memory */
    drove_data       *kept;              /* of it, neither trained on nor used yet; NULL: none */
    size_t            n_train_whole;     /* rows of train, of all ranks together */
    size_t            n_read;            /* rows that train was read with, those held out too */
    double           *target_mean;       /* of train (measure.h); NULL: with --shard own */
    double *target_shift, *target_scale; /* [n_values] while they train; NULL: targets.h */
    double  loss_scale;                  /* from the loss that trains to the reported one */
    drove_features_options features;     /* as settled; ops NULL: the model sees the data */
    drove_data            *input;        /* outline of the data before the features; NULL without */
    drove_model           *model;
    drove_tuned           *tuned;       /* NULL: all parameters are trained */
    const drove_tuned     *given_tuned; /* of a trial run, as given */
    float *first;    /* [n_params] the first parameters; NULL once the workers have them */
    bool   is_given; /* the first parameters are those of a file, statistics among them */
} drove_problem;

/* Of the callbacks of sources and hosts: who gets their messages, and how the run can go on. */
typedef struct drove_run_context {
    const drove_callbacks    *cb;
    const drove_config_files *files;
    const drove_saving       *save;
    const drove_loop         *loop;
} drove_run_context;

/* The workers, their places and their strategy. */
typedef struct drove_workers {
    drovek_table         kernels;
    drove_topo          *topo;
    drove_machine        machine;
    drove_plan           plan;
    drove_place         *place;              /* [plan.n_workers] */
    drove_modelled      *modelled;           /* of --machine (virtual.h); NULL: real time */
    drove_topo_facts     here;               /* of this machine, where there is a modelled one */
    bool                 has_measured_costs; /* of the modelled machine */
    drove_spec          *device_spec;        /* [plan.n_workers] of its devices; NULL: real time */
    drove_repeat         repeat;             /* of --record and --replay */
    drove_repeating     *repeating;          /* of --replay; NULL: none */
    drove_prefetch_state prefetch_hardware;  /* while the workers train */
    bool                 holds_prefetch;     /* drove__prefetch_release is due */
    bool                 borrows_shared;     /* loop->shared is that of another run */
    drove_optim         *optim;
    drove_transport     *transport; /* of a strategy whose workers exchange; else NULL */
    drove_ranks          ranks;
    drove_loop          *loop; /* in memory that worker processes share */
    drove_run_context    context;
    bool is_abandoned; /* a silent thread may still use them: the run is never freed */
} drove_workers;

/* The standing so far; most of it is saved. */
typedef struct drove_state {
    drove_interrupt interrupt;
    bool            is_over;      /* it has been trained, and its objects are gone */
    bool            is_trained;   /* before its first step: by a pack */
    const char     *resumed_name; /* the file in --resume that it goes on from; NULL: none */
    drove_beginning beginning;
    /* [n_params] the parameters of a TYPED engine as floats, or the parameters with batch
     * normalisation's statistics: drove__run_theta; else NULL */
    float         *theta;
    bool           theta_is_current; /* no step since they were made */
    drove_standing standing;
    uint64_t       since_ns;        /* training time when these workers began; before: others */
    uint64_t       logged_examples; /* of the last record of the log */
    bool           has_logged;      /* there is one, of these parameters */
    uint64_t       logged_ns;       /* training time at the last record of the log ... */
    uint64_t      *logged_busy_ns;  /* [plan.n_groups] ... and each group's busy time; NULL: 0 */
    float         *best;            /* [n_params] of the best evaluation; NULL before */
    float         *back;            /* [sync->n_vector] where the run steps back to; NULL before */
    bool           gives_best;      /* at the end: drove__run_theta is best */
    drove_outcome  outcome;
    int            signal_number; /* that interrupted the run */
    drove_saving   save;
    char           record_failure[DROVE_ERROR_TEXT_SIZE]; /* "": --record goes well */
    drove_display  display;
    drove_parkings parkings;
} drove_state;

/* Messages, the display and the files of a run. */
typedef struct drove_output {
    drove_callbacks cb;          /* of rank 0: the others say nothing */
    bool            keeps_model; /* in memory, for the result */
    int             out_lock;    /* folder.h: the descriptor that holds it, and 1; 0: none */
    drove_jsonl    *log;         /* in --out; NULL: none */
    drove_jsonl    *own_log;     /* of --log; NULL: none */
    drove_events   *events;      /* NULL without --out */
} drove_output;

/* Each function takes those of the values that it needs, at most three.  The run itself is for the
 * functions that make, train, save or free it as a whole. */
struct drove_run {
    drove_config  config;
    drove_problem problem;
    drove_workers workers;
    drove_state   state;
    drove_output  output;
};

#endif
