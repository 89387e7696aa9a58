/* loop/host.h - how workers run and park: the table that every host of workers fills.
 *
 *   threads  of this process                                    threads.c
 *   procs    processes that are forked from this one            procs.c
 *   replay   steps of a recorded run, on the caller's thread    replay.c
 *
 * A rank of a job hosts its workers as threads.  A host is one file and one row of the plan
 * (plan/plan.h: drove_host_kind).
 *
 * Threads: all slots by the controlling thread, but silence.
 */
#ifndef DROVE_LOOP_HOST_H
#define DROVE_LOOP_HOST_H

#include "loop/loop.h"

typedef enum drove_command { /* from the controlling thread; afterwards the worker parks */
                             DROVE_DO_TRAIN,
                             DROVE_DO_SCORE,
                             DROVE_DO_STATISTICS, /* one worker: batch normalisation's population */
                             DROVE_DO_PROBE,      /* workers on devices: measure batch sizes */
                             DROVE_DO_QUIT
} drove_command;

typedef struct drove_host_options {
    drove_loop *loop;      /* borrowed until fini */
    double      timeout_s; /* a worker without a heartbeat for so long hangs */
    /* One line for people. */
    void (*say)(void *context, const char *line);
    /* How to go on after a failure, for its error text. */
    void (*saved)(void *context, char *text, size_t size);
    void                *context;
    struct drove_replay *replay; /* borrowed until fini; of the host replay alone */
} drove_host_options;

typedef struct drove_host_ops {
    const char *name, *help;
    drove_status (*init)(drove_host *h);
    /* Starts the workers and waits until each has its engine.  Errors: DROVE_E_SYSTEM, theirs. */
    drove_status (*start)(drove_host *h);
    void (*go)(drove_host *h, drove_command command);
    /* Waits until all workers are parked or the clock says until_ns; true: parked. */
    bool (*wait)(drove_host *h, uint64_t until_ns);
    /* First failure of any worker.  Errors: its own. */
    drove_status (*status)(const drove_host *h);
    /* Workers of this process that are not lost. */
    unsigned (*n_left)(const drove_host *h);
    /* By any thread: the worker will never park again, and is not waited for. */
    void (*silence)(drove_host *h, unsigned worker);
    /* Ends the workers.  False: a silent one may still use the run, which must not be freed. */
    bool (*stop)(drove_host *h);
    void (*fini)(drove_host *h); /* accepts what a failed init left behind */
    /* For the summary: why a worker is lost, or NULL; its process, or 0.  NULL: never, none. */
    const char *(*lost)(const drove_host *h, unsigned worker);
    int (*process)(const drove_host *h, unsigned worker);
} drove_host_ops;

struct drove_host {
    const drove_host_ops *ops;
    drove_host_options    opt;
    drove_loop           *loop;
    void                 *impl;
};

extern const drove_host_ops drove__host_threads, drove__host_procs;

/* Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM.  With processes: while memory is shared (base/mem.h). */
drove_status drove__host_create(const drove_host_ops *ops, const drove_host_options *opt,
                                drove_host **out);
void         drove__host_destroy(drove_host *h); /* NULL accepted */

/* go, then wait for all, then status. */
drove_status drove__host_do(drove_host *h, drove_command command);

#endif
