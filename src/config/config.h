/* config/config.h - what a run is asked to do: the options, each read once into its type, with
 * where it comes from.
 *
 * A member that is 0, NULL or _AUTO where its comment says "open" is left to the run.  What auto/
 * and train/ choose for it comes as a drove_choice, and drove__config_choose alone puts it here: to
 * all others a drove_config is const.  The texts lie in the configuration, until it is chosen into
 * or freed.
 *
 * Knows no data, no workers and no files.
 */
#ifndef DROVE_CONFIG_CONFIG_H
#define DROVE_CONFIG_CONFIG_H

#include "config/chosen.h"
#include "config/origin.h"
#include "config/until.h"
#include "plan/plan.h"
#include "use/modelfile.h"
#include "use/tuning.h"

#include "base/json.h"
#include "base/options.h"

typedef enum drove_test_kind { DROVE_TEST_NONE, DROVE_TEST_SPLIT, DROVE_TEST_SPEC } drove_test_kind;
/* In the order of the words in the table of options. */
typedef enum drove_order_choice {
    DROVE_CHOICE_AUTO,
    DROVE_CHOICE_SHUFFLE,
    DROVE_CHOICE_RANDOM,
    DROVE_CHOICE_BLOCKS
} drove_order_choice;
typedef enum drove_rule_state {
    DROVE_RULE_STATE_AUTO,
    DROVE_RULE_STATE_SHARED,
    DROVE_RULE_STATE_WORKER
} drove_rule_state;

typedef struct drove_config_problem {
    const char         *data; /* spec */
    drove_test_kind     test;
    const char         *test_spec;                                 /* NULL unless it is one */
    const char         *label, *weights, *class_weight, *features; /* "": none */
    const char         *model;          /* spec, or a file of a model; NULL: open */
    const drove_tuning *tuning;         /* what is said beside it */
    bool                compares_model; /* --model auto: a pack (train/pack.h) ... */
    unsigned            most_members;   /* ... of so many members; 0: open */
    const char         *activation;
    const char         *init, *loss; /* "": as is usual for the model and the data */
    const drove_custom *custom;
} drove_config_problem;

typedef struct drove_config_method {
    const char        *strategy; /* spec; NULL: open */
    const char        *backoff;
    const char        *rule, *schedule; /* NULL: open */
    drove_rule_state   rule_state;      /* AUTO: open */
    double             lr;              /* 0: open */
    double             weight_decay, label_smoothing, clip;
    uint64_t           batch;        /* 0: open */
    uint64_t           global_batch; /* of all workers together; 0: batch says it */
    drove_order_choice order;
} drove_config_method;

typedef struct drove_config_exchange {
    const char *period; /* number of steps, or "auto"; NULL: the strategy's */
    double      rho;
    bool        by_layer; /* --messages layers */
    bool        owns_shard;
    double      timeout;
} drove_config_exchange;

typedef struct drove_config_low {
    const char *precision; /* "": floats */
    bool        is_low;    /* parameters in numbers of an engine's own */
    const char *rounding;  /* spec */
    double      model_range;
} drove_config_low;

typedef struct drove_config_machine {
    unsigned    n_threads; /* 0: all */
    const char *workers;   /* list; NULL: threads */
    bool        has_procs; /* ... of processes */
    unsigned    n_loaders;
    bool        loaders_are_auto;
    const char *modelled;    /* file of --machine; NULL: real time, unless it is ... */
    bool        models_here; /* ... this machine */
    drove_bind  bind;
    unsigned    partition;     /* groups; 0: none; or DROVE_PARTITION_AUTO */
    const char *isa;           /* NULL: the best */
    uint64_t    memory_bytes;  /* 0: most of what is free */
    bool        hints;         /* the kernels' software prefetches */
    bool        quiets_memory; /* the processor's own prefetchers are switched off */
} drove_config_machine;

typedef struct drove_config_length {
    drove_until      until;
    bool             is_auto;    /* --until: open */
    double           eval_every; /* epochs; 0: open */
    uint64_t         eval_examples;
    bool             is_beside; /* --eval-beside: evaluations do not park the workers */
    drove_save_every save_every;
} drove_config_length;

typedef struct drove_config_files { /* NULL: none */
    const char *out;
    bool        names_out; /* --out auto: open */
    const char *resume;
    bool        data_may_change;
    const char *log, *timeline, *record, *replay, *replay_steps;
} drove_config_files;

typedef struct drove_config {
    drove_config_problem  problem;
    drove_config_method   method;
    drove_config_exchange exchange;
    drove_config_low      low;
    drove_config_machine  machine;
    drove_config_length   length;
    drove_config_files    files;
    uint64_t              seed;
    bool                  tells_metrics;
    /* "auto" has the published and usual values: with --defaults classic, and with low-precision
     * parameters, whose engines step by plain SGD. */
    bool is_classic;
    bool asks_classic; /* --defaults classic */
    /* auto/choose.h chooses all that is open.  Not where it is classic, and not beside a given
     * --lr, which belongs to the usual rule, schedule and budget. */
    bool           is_tuned;
    drove_chosen   chosen; /* how the choices came about */
    drove_options *said;   /* the options, with the choices in their places */
    drove_tuning  *tuning; /* of said->model */
} drove_config;

/* Reads a copy of the options; NULL: the defaults.  A text that drove__config_validate refuses is
 * read as the default.  Errors: DROVE_E_NOMEM. */
drove_status drove__config_init(const drove_options *options, drove_config *out);
void         drove__config_fini(drove_config *config); /* a zeroed one is accepted */
/* From the object "options" of a record.  Errors: those of drove_options_set and of --until. */
drove_status drove__config_of_saved(const json_t *saved, drove_config *out);
/* As drove_options_validate, for a run of so many ranks. */
drove_status drove__config_validate(const drove_config *config, unsigned n_ranks);

/* The value of an option as it is typed on the command line, choices included. */
const char *drove__config_text(const drove_config *config, const char *name,
                               char into[DROVE_TEXT_SIZE]);
/* The same of --model, as model/ knows it: "" for the usual one. */
const char  *drove__config_model(const drove_config *config);
drove_origin drove__config_origin(const drove_config *config, const char *name);
/* True if the run has chosen the value. */
bool drove__config_is_own(const drove_config *config, const char *name);

/* What a plan is made from. */
drove_plan_wanted drove__config_plan(const drove_config *config);
/* What is asked of a saved model.  An activation that is the default counts as not asked for. */
drove_modelfile_wanted drove__config_of_model(const drove_config *config);

/* ---- choices ---- */

enum { DROVE_MOST_SETTINGS = 24 };

typedef struct drove_choice_setting {
    const char  *name; /* of the option */
    drove_origin origin;
    char         value[DROVE_TEXT_SIZE];
} drove_choice_setting;

typedef struct drove_choice { /* a zeroed one chooses nothing */
    unsigned             n;
    drove_choice_setting setting[DROVE_MOST_SETTINGS];
    /* how it came about, for drove_config.chosen; 0, NULL: nothing is said of it */
    double                      lr_each;
    const drove_trials         *trials;
    const drove_pack_record    *pack;
    const drove_strategy_probe *probe;
} drove_choice;

/* Adds a setting; the value as it is typed, numbers as "%.17g". */
void drove__choice_add(drove_choice *choice, const char *name, drove_origin origin,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The configuration becomes the one with this choice, which chooses nothing afterwards.  Errors:
 * those of drove_options_set; on failure the configuration is as before. */
drove_status drove__config_choose(drove_config *config, drove_choice *choice);
/* Another run's: these settings and all others as here, each as if it had been given. */
drove_status drove__config_derive(const drove_config *config, const drove_choice *choice,
                                  drove_config *out);

#endif
