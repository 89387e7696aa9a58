/* drove/options.h - all options of a run: one plain struct and one table of descriptors.
 *
 * The table gives each option its name (the same in the struct, as --flag, in run files and in
 * run.json), default, range and help.  The program's parser, help and completion walk it.
 */
#ifndef DROVE_OPTIONS_H
#define DROVE_OPTIONS_H

#include <drove/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

enum { DROVE_TEXT_SIZE = 1024, DROVE_FLAG_SIZE = 64 };

typedef struct drove_options {
    /* problem */
    char data[DROVE_TEXT_SIZE];    /* spec; default synth:digits */
    char test[DROVE_TEXT_SIZE];    /* spec, "split", or "" = none; default split */
    char label[DROVE_TEXT_SIZE];   /* column of the label; "" = the last, or as the spec says */
    char weights[DROVE_TEXT_SIZE]; /* column of the rows' weights; "" = none, or by the spec */
    char class_weight[DROVE_TEXT_SIZE]; /* "balanced", "yes=2,no=0.5"; "" = none */
    char features[DROVE_TEXT_SIZE];     /* spec of a feature map; "" = none */
    char model[DROVE_TEXT_SIZE];        /* spec; "auto"; "" = by data; or a .safetensors file */
    char activation[DROVE_TEXT_SIZE];   /* relu */
    char init[DROVE_TEXT_SIZE];         /* "" = by activation */
    char loss[DROVE_TEXT_SIZE];         /* "" = by model and data */
    /* method */
    /* "auto": the fastest by a short probe, or one thread; with defaults "classic" hogwild */
    char     strategy[DROVE_TEXT_SIZE];
    char     backoff[DROVE_TEXT_SIZE];    /* none */
    char     rule[DROVE_TEXT_SIZE];       /* "auto": by model, data and strategy */
    char     schedule[DROVE_TEXT_SIZE];   /* "auto": by the rest */
    char     rule_state[DROVE_TEXT_SIZE]; /* "auto", "shared" or "worker" */
    double   lr;                          /* step size, no unit, > 0; 0 = auto */
    double   weight_decay;                /* >= 0 */
    double   clip;                        /* largest norm of a batch's gradient; 0 = none */
    uint64_t batch;                       /* examples per worker and step; 0 = auto */
    char     order[DROVE_TEXT_SIZE]; /* "auto", "shuffle", "random" (with replacement), "blocks" */
    /* exchange: for strategies whose workers have their own parameters */
    char   period[DROVE_TEXT_SIZE];   /* steps between two exchanges, "auto", "" = the strategy's */
    double rho;                       /* elastic pull, >= 0; 0 = 0.9 / (lr times workers) */
    char   messages[DROVE_TEXT_SIZE]; /* "packed" or "layers" */
    char   shard[DROVE_TEXT_SIZE];    /* "whole" or "own" */
    double timeout;                   /* seconds after which a silent peer ends the run, > 0 */
    /* low precision */
    /* "bf16", "bf16?masters=bf16" or a DMGC signature, of linear models and networks; "" = floats.
     * With C alone: format of the messages */
    char   precision[DROVE_TEXT_SIZE];
    char   rounding[DROVE_TEXT_SIZE]; /* nearest, mt19937, xorshift, shared?bits=&period= */
    double model_range;               /* largest magnitude of a parameter; 0 = from the data */
    /* machine */
    char threads[DROVE_TEXT_SIZE];   /* number >= 1, or "all" */
    char workers[DROVE_TEXT_SIZE];   /* groups of cores and devices; "" = threads */
    char loaders[DROVE_TEXT_SIZE];   /* number of threads, or "auto" */
    char bind[DROVE_TEXT_SIZE];      /* none, compact, spread */
    char partition[DROVE_TEXT_SIZE]; /* groups of cores, "auto"; "" = none */
    char isa[DROVE_TEXT_SIZE];       /* highest kernel tier; "" = best */
    char prefetch[DROVE_TEXT_SIZE];  /* on, hardware, hints, off */
    char memory[DROVE_TEXT_SIZE];    /* most bytes of the run, "1GiB"; "" = what is free */
    /* run */
    char     defaults[DROVE_TEXT_SIZE]; /* "auto" or "classic" */
    char     until[DROVE_TEXT_SIZE];    /* "auto", "loss=5%,epochs=10" */
    double   eval_every;                /* epochs between evaluations, > 0; 0 = auto */
    uint64_t eval_examples;             /* training examples of an evaluation; 0 = all */
    char     metrics[DROVE_TEXT_SIZE];  /* of the summary: auto, none */
    uint64_t seed;
    char     out[DROVE_TEXT_SIZE];          /* folder, "auto"; "" = no files */
    char     resume[DROVE_TEXT_SIZE];       /* folder to continue in; "" = a new run */
    char     data_changed[DROVE_TEXT_SIZE]; /* "yes": the data of --resume may be others */
    char     timeline[DROVE_TEXT_SIZE];     /* file; "" = timeline.json in .out */
    char     record[DROVE_TEXT_SIZE];       /* file, of every step; "" = none */
    char     replay[DROVE_TEXT_SIZE];       /* such a file, to repeat the run; "" = a new run */
    char     replay_steps[DROVE_TEXT_SIZE]; /* file, a line of JSON for each step; "" = none */
    char save_every[DROVE_TEXT_SIZE]; /* "eval", "epochs=N", "updates=N", "seconds=N", "never" */
} drove_options;

typedef enum drove_option_kind {
    DROVE_OPTION_TEXT,
    DROVE_OPTION_REAL,
    DROVE_OPTION_COUNT
} drove_option_kind;

typedef struct drove_option_info {
    const char       *name;  /* "weight_decay"; as a flag --weight-decay */
    const char       *group; /* heading in the help */
    drove_option_kind kind;
    size_t            offset;       /* in drove_options */
    const char       *default_text; /* as typed on the command line */
    const char       *program_text; /* default of the program where it has its own; else NULL */
    double            least, most;  /* range of a number, inclusive */
    const char *value_name; /* "SPEC", "N", "NUMBER", "DIR"; NULL: a switch, "yes" if it is given */
    const char *list; /* registry of its names ("strategies") for help and completion; NULL: none */
    /* word for the empty text ("auto", "none"); NULL: there is none */
    const char *empty_word;
    /* further accepted words, separated by blanks ("none compact"); NULL: none */
    const char *words;
    const char *help;      /* one line */
    bool        is_common; /* most people need no others: stands in the short help */
    bool        is_fixed;  /* a resumed run must have the saved run's value */
    bool        is_local;  /* may differ from one rank of a job to the next */
} drove_option_info;

/* The whole table; *n_out entries. Static. */
const drove_option_info *drove_options_table(size_t *n_out);

/* Writes the flag of an option: "--weight-decay" for weight_decay.  Returns into. */
const char *drove_flag_text(const char *name, char into[DROVE_FLAG_SIZE]);

drove_options drove_options_default(void);
/* name may use "-" or "_"; "workers" with the value "threads:N" is an alias of "threads" with N.
 * Errors: DROVE_E_ARG (unknown name, with the nearest; not a number; out of range; too long).  On
 * failure *options is unchanged. */
drove_status drove_options_set(drove_options *options, const char *name, const char *value);
/* Value of an option as typed on the command line; into[size].  Errors: DROVE_E_ARG (unknown name,
 * size too small). */
drove_status drove_options_get(const drove_options *options, const char *name, char *into,
                               size_t size);
/* Reads a run file: a YAML mapping from option names to scalars.  Errors: DROVE_E_IO, DROVE_E_ARG
 * (file:line:column: what was expected and found; unknown key with the nearest; a repeated key).
 * On failure *options is unchanged. */
drove_status drove_options_load(drove_options *options, const char *path);
/* After drove_options_validate has refused options that came from this run file, at least in part:
 * puts file:line:column before drove_error_text(), if there is a value in the file that is refused
 * in the same words where all other options have their defaults.  Else the text stays as it is. */
void drove_options_locate(const char *path);
/* Loads the options of the run in `folder` (its run.json) and sets .resume and .out to the folder.
 * Flags given with --resume then change only what they name.
 * Errors: DROVE_E_IO, DROVE_E_DATA. */
drove_status drove_options_resume(drove_options *options, const char *folder);
/* Loads the options of the run that was recorded in the file `path` and sets .replay to it.
 * Errors: DROVE_E_IO, DROVE_E_DATA. */
drove_status drove_options_replay(drove_options *options, const char *path);
/* Checks every option and all combinations that need no data.  Errors: DROVE_E_ARG,
 * DROVE_E_UNSUPPORTED. */
drove_status drove_options_validate(const drove_options *options);

/* The candidate nearest to word (letters inserted, left out, changed or swapped), or NULL if none
 * is near.  For programs that have words of their own. */
const char *drove_nearest_word(const char *word, const char *const *candidates,
                               size_t n_candidates);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
