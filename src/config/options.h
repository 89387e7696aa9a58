/* config/options.h - the fields of drove_options: values as they were said, most of them texts.
 *
 * The table in config/options.c gives each field its name, default, range and help.  This folder
 * alone includes this header: all others ask drove_config (config/config.h), where each text has
 * been read once.
 */
#ifndef DROVE_CONFIG_OPTIONS_H
#define DROVE_CONFIG_OPTIONS_H

#include "base/json.h"
#include "base/options.h"
#include "config/origin.h"

/* The default of --activation. */
#define DROVE_DEFAULT_ACTIVATION "relu"

enum { DROVE_MOST_OPTIONS = 64 };

struct drove_options {
    /* problem */
    char     data[DROVE_TEXT_SIZE];    /* spec; default synth:digits */
    char     test[DROVE_TEXT_SIZE];    /* spec, "split", or "" = none; default split */
    char     label[DROVE_TEXT_SIZE];   /* column of the label; "" = the last, or as the spec says */
    char     weights[DROVE_TEXT_SIZE]; /* column of the rows' weights; "" = none, or by the spec */
    char     class_weight[DROVE_TEXT_SIZE]; /* "balanced", "yes=2,no=0.5"; "" = none */
    char     features[DROVE_TEXT_SIZE];     /* spec of a feature map; "" = none */
    char     model[DROVE_TEXT_SIZE];        /* spec; "auto"; "" = by data; or a .safetensors file */
    uint64_t max_members;                   /* of the pack of model "auto"; 0: by the data */
    char     activation[DROVE_TEXT_SIZE];   /* relu */
    char     init[DROVE_TEXT_SIZE];         /* "" = by activation */
    char     loss[DROVE_TEXT_SIZE];         /* "" = by model and data */
    /* method */
    /* "auto": the fastest by a short probe, or one thread; with defaults "classic" hogwild */
    char     strategy[DROVE_TEXT_SIZE];
    char     backoff[DROVE_TEXT_SIZE];    /* none */
    char     rule[DROVE_TEXT_SIZE];       /* "auto": by model, data and strategy */
    char     schedule[DROVE_TEXT_SIZE];   /* "auto": by the rest */
    char     rule_state[DROVE_TEXT_SIZE]; /* "auto", "shared" or "worker" */
    double   lr;                          /* step size, no unit, > 0; 0 = auto */
    double   weight_decay;                /* >= 0 */
    double   label_smoothing;             /* from 0 to 1 */
    double   clip;                        /* largest norm of a batch's gradient; 0 = none */
    uint64_t batch;                       /* examples per worker and step; 0 = auto */
    uint64_t global_batch;           /* examples of an update, of all workers; 0 = batch each */
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
    char machine[DROVE_TEXT_SIZE];   /* machine file, or "here"; "" = real time */
    char bind[DROVE_TEXT_SIZE];      /* none, compact, spread */
    char partition[DROVE_TEXT_SIZE]; /* groups of cores, "auto"; "" = none */
    char isa[DROVE_TEXT_SIZE];       /* highest kernel tier; "" = best */
    char prefetch[DROVE_TEXT_SIZE];  /* on, hardware, hints, off */
    char memory[DROVE_TEXT_SIZE];    /* most bytes of the run, "1GiB"; "" = what is free */
    /* run */
    char     defaults[DROVE_TEXT_SIZE];    /* "auto" or "classic" */
    char     until[DROVE_TEXT_SIZE];       /* "auto", "loss=5%,epochs=10" */
    double   eval_every;                   /* epochs between evaluations, > 0; 0 = auto */
    uint64_t eval_examples;                /* training examples of an evaluation; 0 = all */
    char     eval_beside[DROVE_TEXT_SIZE]; /* "yes": while the workers go on */
    char     metrics[DROVE_TEXT_SIZE];     /* of the summary: auto, none */
    uint64_t seed;
    char     out[DROVE_TEXT_SIZE];          /* folder, "auto"; "" = no files */
    char     resume[DROVE_TEXT_SIZE];       /* folder to continue in; "" = a new run */
    char     data_changed[DROVE_TEXT_SIZE]; /* "yes": the data of --resume may be others */
    char     log[DROVE_TEXT_SIZE];          /* file; "" = log.jsonl in .out */
    char     timeline[DROVE_TEXT_SIZE];     /* file; "" = timeline.json in .out */
    char     record[DROVE_TEXT_SIZE];       /* file, of every step; "" = none */
    char     replay[DROVE_TEXT_SIZE];       /* such a file, to repeat the run; "" = a new run */
    char     replay_steps[DROVE_TEXT_SIZE]; /* file, a line of JSON for each step; "" = none */
    char save_every[DROVE_TEXT_SIZE]; /* "eval", "epochs=N", "updates=N", "seconds=N", "never" */
    /* not in the table: drove_options_set_loss, drove_options_add_layer */
    drove_custom custom;
    /* drove_origin of each option, by its row in the table */
    uint8_t origin[DROVE_MOST_OPTIONS];
};

/* As the table has them. */
drove_options drove__options_default(void);

/* drove_options_set for a value that comes from `origin`. */
drove_status drove__options_set(drove_options *options, const char *name, const char *value,
                                drove_origin origin);
/* Every option of the object "options" in run.json or a record.  Errors: those of
 * drove_options_set. */
drove_status drove__options_unpack(const json_t *saved, drove_origin origin,
                                   drove_options *options);
/* The index of an option's value among the words of its row, which are all that it may be: in the
 * order of the enum that it is read as.  Errors: DROVE_E_ARG: it is none of them. */
drove_status drove__options_word(const drove_options *options, const char *name, unsigned *out);

#endif
