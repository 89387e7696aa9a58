/* drove/options.h - all options of a run, by their names.
 *
 * One table gives each option its name (the same as --flag, in run files and in run.json), default,
 * range and help.  The program's parser, help and completion walk it.
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

/* Sizes of texts. */
enum {
    DROVE_TEXT_SIZE = 1024, /* bytes of the longest value of an option, with the NUL */
    DROVE_FLAG_SIZE = 64    /* bytes of the longest flag, with the NUL */
};

/* All options of a run, made by drove_options_create.  They belong to the caller and to one thread
 * at a time; functions that take them keep a copy. */
typedef struct drove_options drove_options;

/* What the value of an option is. */
typedef enum drove_option_kind {
    DROVE_OPTION_TEXT, /* any text, or one of its words */
    DROVE_OPTION_REAL, /* a number */
    DROVE_OPTION_COUNT /* a whole number */
} drove_option_kind;

/* One option, as help, completion and parsers need it; texts are static. */
typedef struct drove_option_info {
    const char       *name;         /* "weight_decay"; as a flag --weight-decay */
    const char       *group;        /* heading in the help */
    drove_option_kind kind;         /* of its value */
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
    size_t      own;       /* the library's own */
} drove_option_info;

/* The whole table; *n_out entries. Static. */
const drove_option_info *drove_options_table(size_t *n_out);

/* Writes the flag of an option: "--weight-decay" for weight_decay.  Returns into. */
const char *drove_flag_text(const char *name, char into[DROVE_FLAG_SIZE]);

/* With the defaults.  Errors: DROVE_E_NOMEM. */
drove_status drove_options_create(drove_options **out);
/* A copy, which the caller destroys.  Errors: DROVE_E_NOMEM. */
drove_status drove_options_copy(const drove_options *from, drove_options **out);
void         drove_options_destroy(drove_options *options); /* NULL accepted */
/* Sets an option by its name, which may use "-" or "_"; "workers" with the value "threads:N" is
 * an alias of "threads" with N.  Errors: DROVE_E_ARG (unknown name, with the nearest; not a number;
 * out of range; too long).  On failure *options is unchanged. */
drove_status drove_options_set(drove_options *options, const char *name, const char *value);
/* Value of an option as typed on the command line; into[size].  Errors: DROVE_E_ARG (unknown name,
 * size too small). */
drove_status drove_options_get(const drove_options *options, const char *name, char *into,
                               size_t size);
/* Reads a run file: a YAML mapping from option names to scalars.  Errors: DROVE_E_FILE (cannot be
 * opened), DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_ARG (file:line:column: what was expected and found;
 * unknown key with the nearest; a repeated key).
 * On failure *options is unchanged. */
drove_status drove_options_load(drove_options *options, const char *path);
/* After drove_options_validate has refused options that came from this run file, at least in part:
 * puts file:line:column before drove_error_text(), if there is a value in the file that is refused
 * in the same words where all other options have their defaults.  Else the text stays as it is. */
void drove_options_locate(const char *path);
/* Loads the options of the run in `folder` (its run.json) and sets .resume and .out to the folder;
 * also .model, where the file or run that it names is gone.  Flags given with --resume then change
 * only what they name.
 * Errors: DROVE_E_FILE (no run.json), DROVE_E_IO, DROVE_E_DATA, DROVE_E_ARG (a value in it),
 * DROVE_E_NOMEM. */
drove_status drove_options_resume(drove_options *options, const char *folder);
/* Loads the options of the run that was recorded in the file `path` and sets .replay to it.
 * Errors: DROVE_E_FILE (cannot be opened), DROVE_E_IO, DROVE_E_DATA, DROVE_E_NOMEM. */
drove_status drove_options_replay(drove_options *options, const char *path);
/* Checks every option and all combinations that need no data; reads the description of a network
 * that the option model names.  Errors: DROVE_E_ARG, DROVE_E_UNSUPPORTED, DROVE_E_NOMEM; of that
 * file DROVE_E_FILE, DROVE_E_IO, DROVE_E_DATA, DROVE_E_SHAPE. */
drove_status drove_options_validate(const drove_options *options);

/* The candidate nearest to word (letters inserted, left out, changed or swapped), or NULL if none
 * is near.  For programs that have words of their own. */
const char *drove_nearest_word(const char *word, const char *const *candidates,
                               size_t n_candidates);
/* What drove has for a word of another program (PyTorch, scikit-learn, LightGBM, Caffe ...), to
 * stand behind "; " in a message: "write --until epochs=5" for the "option" "max_epochs" with the
 * value "5".  what: "option" of a run, "option of tune", "option of predict" ..., "command",
 * "model", "rule", "loss" ...; value: what was given with the word, or NULL.  false, and "" in
 * into[size]: drove knows no such word. */
bool drove_other_word(const char *what, const char *word, const char *value, char *into,
                      size_t size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
