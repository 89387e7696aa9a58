/* study/runner.h - programs run as child processes: output in files, time limited, so many at once.
 *
 * A child is in a process group of its own, so that Ctrl-C reaches the caller alone, and is killed
 * when the caller ends.  An interrupt of the caller (drove_train_interrupt) ends all its children.
 * A child that is told to end has some seconds before it is killed.  SIGCHLD has its default
 * handling while children run.  One thread.
 */
#ifndef DROVE_STUDY_RUNNER_H
#define DROVE_STUDY_RUNNER_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_COMMAND_PATH = 4096 };

/* What to run.  A zeroed one has no words yet. */
typedef struct drove_command {
    char **word; /* [n], then NULL: path of the program, its arguments; copies */
    size_t n, n_most;
    bool   is_cut;                                           /* memory ran out: starting it fails */
    char   out[DROVE_COMMAND_PATH], err[DROVE_COMMAND_PATH]; /* files of its output: made anew */
    double limit_s;                                          /* 0: none */
} drove_command;

void drove__command_add(drove_command *c, const char *word);
/* Adds --option=value. */
void drove__command_set(drove_command *c, const char *option, const char *value);
/* Makes the folder, unless it exists; its out.json and err.txt become the files of the output.
 * Errors: DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__command_folder(drove_command *c, const char *folder);
void         drove__command_fini(drove_command *c);

/* How a child ended. */
typedef struct drove_child {
    int      status;  /* of exit; 128 + number of the signal that ended it; 127: no program */
    int      signal;  /* that ended it; 0: none */
    bool     is_lost; /* something else in this process has waited for it: status is -1 */
    bool     timed_out;
    double   seconds;
    uint64_t peak_bytes; /* largest resident size */
} drove_child;

/* The summary of a run that its process printed to this file.  *out NULL: none, or half of one.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__child_summary(const char *path, json_t **out);
/* The last line that a child wrote to its file of messages, without "drove: "; "": none. */
void drove__child_message(const char *path, char *into, size_t size);

/* Runs one command to its end, or to the first interrupt after `interrupts`, as
 * drove__run_interrupts had it.  Errors: DROVE_E_FILE, DROVE_E_IO, DROVE_E_SYSTEM,
 * DROVE_E_NOMEM. */
drove_status drove__command_run(const drove_command *c, uint64_t interrupts, drove_child *out);

typedef struct drove_runner {
    size_t   n_at_once; /* 0: one */
    uint64_t interrupts;
    /* Fills the zeroed *command with the next job.  *is_begun false: there is none any more. */
    drove_status (*begin)(void *context, drove_command *command, size_t *job, bool *is_begun);
    /* It has ended; not called for children that an interrupt or a failure ends. */
    drove_status (*ended)(void *context, size_t job, const drove_child *child);
    void (*watch)(void *context); /* some hundred times a second; NULL: nothing */
    void *context;
} drove_runner;

/* Runs jobs until there are no more or an interrupt comes.  On return no child runs.  Errors: those
 * of the functions and of drove__command_run. */
drove_status drove__runner_run(const drove_runner *r);

#endif
