/* report/facts.h - the facts of a run that a report is made from: plain data, no object of the run.
 *
 * The run fills them (files/facts.c) while its workers are parked, those of the start, of an
 * evaluation or of the end; the report reads them.
 * Everything that a pointer names belongs to the filler and lives as long as the facts.  A section
 * that a run has not got has `is_there` false; numbers that do not exist are NaN.
 */
#ifndef DROVE_REPORT_FACTS_H
#define DROVE_REPORT_FACTS_H

#include <drove/metrics.h>
#include "base/options.h"
#include <drove/train.h>

#include "trace/spans.h"
#include "trace/timeline.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_FACTS_NAME_SIZE = 64, DROVE_FACTS_TEXT_SIZE = 128, DROVE_FACTS_MOST_MARKS = 8 };

typedef enum drove_worker_kind {
    DROVE_WORKER_THREAD,
    DROVE_WORKER_PROCESS,
    DROVE_WORKER_RANK,
    DROVE_WORKER_CORES, /* a group of cores of --partition */
    DROVE_N_WORKER_KINDS
} drove_worker_kind;

typedef struct drove_worker_facts {
    char                      name[DROVE_FACTS_NAME_SIZE]; /* "thread:0", "opencl:0.1" */
    const drove_trace_worker *trace;
    const drove_traffic      *traffic;
    int                       processor, node; /* -1: not bound */
    int                       process;         /* its id; 0: workers are no processes */
    const char               *lost;            /* a process: why it is lost; NULL: it is not */
} drove_worker_facts;

typedef struct drove_batch_size { /* one change of the batch size that a coordinator gives */
    double   epochs, time_s;      /* when the first batch of that size was given */
    uint64_t batch;
    double   counted_updates;
} drove_batch_size;

/* A name in --workers to which a coordinator gives batches: workers first .. first + n - 1. */
typedef struct drove_group_facts {
    const char           *name;
    unsigned              first, n;
    uint64_t              batch, batch_min, batch_max, n_batches;
    double                counted_updates, examples_per_s;
    const char           *lost;                                /* NULL: it works */
    const char           *device;                              /* NULL: cores */
    double                copy_s, compute_s, hidden_s, wait_s; /* of a device */
    uint64_t              logged_busy_ns;                      /* at the last record of the log */
    const drove_timeline *busy;                                /* of the training time */
    drove_batch_size     *history;                             /* [n_history] */
    size_t                n_history;
} drove_group_facts;

typedef struct drove_mark_facts { /* the loss fell to so many percent of the initial one */
    double   percent;
    bool     is_met;
    double   train_s, epochs;
    uint64_t updates;
} drove_mark_facts;

typedef struct drove_precision_facts { /* of an engine with a number format of its own */
    bool     is_there;
    bool     is_words;              /* parameters are words; false: only products are narrower */
    char     name[64];              /* "D8M8", "bf16" */
    double   model_range;           /* 0: floats have none */
    double   data_scale;            /* value of the data's integer 1 */
    uint64_t data_clamped, bridges; /* numbers out of range; sparse gaps that were too large */
    double   bytes_per_example;     /* that a step reads, mean */
} drove_precision_facts;

typedef struct drove_loader_facts {
    bool     is_there;
    unsigned n_threads; /* 0: the workers load their batches themselves */
    double   busy_s, exposed_s;
    double   hidden; /* of busy_s, 0 to 1 */
} drove_loader_facts;

typedef struct drove_disk_facts { /* training data that stay on disk */
    bool     is_there;
    uint64_t n_blocks, n_windows, n_windows_read;
    double   window_bytes; /* memory of two windows */
    double   read_bytes, read_s, wait_s;
} drove_disk_facts;

typedef struct drove_communication_facts { /* workers that exchange parameters */
    bool        is_there;
    const char *transport;
    uint64_t    period; /* steps between two exchanges */
    double      alpha;  /* pull; NaN: none */
    bool        has_master;
    double      data_s;  /* reading or making the data */
    double      start_s; /* all else until the workers could train */
} drove_communication_facts;

typedef struct drove_cluster_facts {
    bool         is_there;
    const char  *transport, *mpi_library;
    unsigned     n_ranks, n_local, n_threads; /* of all hosts, of this host, of a rank */
    const char **host;                        /* [n_ranks] */
} drove_cluster_facts;

typedef struct drove_modelled_facts { /* the machine whose virtual clock times the run */
    bool        is_there;
    bool        is_measured; /* some of it on this machine, so another run may differ */
    const char *name, *source, *assumed;
    unsigned    sockets, cores, smt;
    /* As in a machine file; NaN: not known. */
    double smt_yield, speed, jitter, memory_gb_s, batch_us, example_us, copy_gb_s, update_gb_s;
    double line_ns, far_line_ns, window_ns, hand_over_us, take_gb_s, race_gb_s;
} drove_modelled_facts;

typedef struct drove_partition_facts {
    unsigned    n;                        /* groups of cores; 0: no partition */
    double      copies_bytes, fast_bytes; /* of all groups; of the machine's fast memory */
    const char *fast_name;
    bool        fits;
    unsigned    suggested; /* groups */
} drove_partition_facts;

typedef struct drove_layer_facts { /* sums over all iterations; Le Duc et al., Table 4 */
    const char *name;
    size_t      n_params;
    uint64_t    n_iterations;
    uint64_t    down_ns, down_exposed_ns; /* copies from devices */
    uint64_t    add_ns;                   /* by all threads together */
    uint64_t    add_span_ns, add_exposed_ns;
    uint64_t    up_ns, up_exposed_ns; /* copies to devices */
} drove_layer_facts;

typedef struct drove_replica_facts { /* devices with parameters of their own */
    bool               is_there;
    drove_layer_facts *layer;    /* [n_layers]; NULL: not collected by layers */
    size_t             n_layers; /* with parameters, from the input on */
    uint64_t           n_checks; /* parkings at which all replicas were equal */
    /* bytes of a device, `receive` of the one with most; `host`: sums that no device keeps;
     * `example`: what one more example of a batch takes */
    double parameters_bytes, gradient_bytes, state_bytes, receive_bytes, host_bytes, example_bytes;
    /* sums in the order of arrival against the tree's */
    bool     is_first_come;
    uint64_t n_compared, n_different;
    double   error_max, error_relative;
} drove_replica_facts;

enum { DROVE_FACTS_MOST_TRIALS = 16 };
typedef struct drove_tuning_facts { /* what a run has chosen, and how it was judged */
    bool     is_there;
    unsigned n_trials; /* of step sizes, ascending; 0: none were made */
    double   trial_lr[DROVE_FACTS_MOST_TRIALS], trial_loss[DROVE_FACTS_MOST_TRIALS];
    uint64_t trial_updates; /* of each */
    double   trials_s;
    uint64_t n_validation_rows; /* 0: none; then the next two are NaN */
    double   validation_loss, validation_accuracy;
    double   best_epochs; /* where the loss that decides was best; NaN: not followed */
    uint64_t n_cuts, n_recoveries;
} drove_tuning_facts;

enum { DROVE_FACTS_MOST_MEMBERS = 48 };
typedef struct drove_member_facts {
    const char *name;
    double      loss, epochs, share; /* loss NaN: never finite; share 0: not in the model */
    unsigned    n_divisions;         /* that it was trained on */
} drove_member_facts;

typedef struct drove_pack_facts { /* --model auto; n 0: no pack */
    unsigned           n, best, n_divisions, n_networks;
    size_t             n_rows, n_judged;
    double             loss, error, best_loss, constant_loss, sharpness, seconds;
    drove_member_facts member[DROVE_FACTS_MOST_MEMBERS];
} drove_pack_facts;

enum { DROVE_FACTS_MOST_RIVALS = 8 };
typedef struct drove_rival_facts { /* a strategy that --strategy auto has tried */
    const char *strategy;
    unsigned    n_threads;
    double      rate; /* progress per second, that of one thread being 1; NaN: not measured */
    bool        is_measured;                   /* often enough to be chosen */
    double      train_s, examples_per_s, loss; /* of its pieces of training */
} drove_rival_facts;

typedef struct drove_strategy_facts { /* --strategy auto; how NULL: nothing was to be chosen */
    const char       *how;            /* "probe", "short", "skipped" */
    unsigned          n_allowed;      /* threads */
    unsigned          n, chosen;
    double            seconds;                        /* of the probe */
    double            margin;                         /* the least rate that beats one thread */
    drove_rival_facts rival[DROVE_FACTS_MOST_RIVALS]; /* the first: one thread */
} drove_strategy_facts;

typedef struct drove_machine_facts {
    char        host[256];
    const char *cpu;
    unsigned    n_cores, n_processors, n_nodes;
    const char *gemm; /* source of the large matrix products */
} drove_machine_facts;

typedef struct drove_importance_column {
    const char *name; /* of the table's schema */
    /* means, when its values change places among the examples */
    double loss_increase;
    double rmse_increase;     /* values: in the target's unit; else NaN */
    double accuracy_decrease; /* classes, and micro-F1 of labels: 1 is all; else NaN */
} drove_importance_column;

/* Of the last parameters (use/importance.h). */
typedef struct drove_importance_facts {
    size_t                         n_columns, n_rows; /* 0: not measured */
    bool                           is_held_out;       /* else: of training examples */
    double                         rmse, accuracy;    /* as it is; NaN as in a column */
    const drove_importance_column *column;            /* the largest first */
} drove_importance_facts;

typedef struct drove_said_facts {
    const drove_options     *options; /* choices included */
    const drove_option_info *option;  /* [n_options] the table of their values */
    size_t                   n_options;
    const char              *data, *rule, *schedule, *rounding;
    const char              *out, *record; /* NULL: none; record: also of --replay */
    char                     until[DROVE_TEXT_SIZE], prefetch[DROVE_TEXT_SIZE];
    double                   lr;
    uint64_t                 seed;
} drove_said_facts;

/* Known once the workers can train: run.json, and the header of a record. */
typedef struct drove_start_facts {
    drove_said_facts      said;
    unsigned              n_workers;
    drove_worker_kind     kind;
    bool                  is_repeatable;    /* the same options give the same bits again */
    uint64_t              update_rows;      /* examples of an update */
    size_t                n_params;         /* of the model */
    const char           *strategy, *model; /* specs */
    char                  features[DROVE_FACTS_TEXT_SIZE]; /* spec of the feature map; "": none */
    const char           *isa;
    drove_machine_facts   machine;
    drove_modelled_facts  modelled;
    drove_cluster_facts   cluster;
    drove_partition_facts partition;
    drove_pack_facts      pack;
    drove_strategy_facts  strategy_choice;
} drove_start_facts;

typedef struct drove_parked_facts { /* stops of the workers, who then went on */
    uint64_t n;
    double   s;        /* in all */
    uint64_t n_beside; /* evaluations that stopped nobody */
} drove_parked_facts;

/* At an evaluation, or at the end: the log's records and the events. */
typedef struct drove_present_facts {
    drove_progress      progress;
    double              validation_loss; /* NaN: no validation examples */
    uint64_t            train_ns;
    unsigned            n_workers;
    drove_worker_facts *worker;          /* [n_workers] */
    bool                exchanges;       /* workers exchange parameters */
    unsigned            n_groups;        /* 0: no coordinator */
    drove_group_facts  *group;           /* [n_groups] */
    uint64_t            groups_since_ns; /* training time when these workers began */
    uint64_t            logged_ns;       /* training time at the last record of the log */
    drove_parked_facts  parked;
} drove_present_facts;

/* At the end: the summary. */
typedef struct drove_facts {
    drove_start_facts         start;
    drove_present_facts       now;
    drove_outcome             outcome;
    int                       signal_number; /* of DROVE_INTERRUPTED */
    uint64_t                  n_test_rows;   /* 0: no test data */
    bool                      is_multi_label;
    bool                      weighs_classes;  /* in the loss and accuracy of training */
    double                    numbers_per_row; /* stored numbers of an example; NaN: not linear */
    uint64_t                  peak_rss_bytes;
    const char               *prefetch_hardware; /* state of the prefetchers */
    unsigned                  n_marks;
    drove_mark_facts          mark[DROVE_FACTS_MOST_MARKS];
    drove_communication_facts communication;
    drove_precision_facts     precision;
    drove_loader_facts        loader;
    drove_disk_facts          disk;
    drove_tuning_facts        tuning;
    drove_replica_facts       replicas;

    /* of the training and the held-out data; NULL: not computed */
    const drove_metrics   *metrics, *test_metrics;
    drove_importance_facts importance;

    const drove_spans *spans;     /* NULL: no time line */
    const char       **span_part; /* [n_span_parts] names of the spans' parts */
    size_t             n_span_parts;
} drove_facts;

#endif
