/* coord/coord.h - the coordinator: who computes which examples next.
 *
 * Source: Ma and Rusu, section 5 (Figures 3 and 4) and Algorithms 1 and 2.  Symbols: u updates a
 * worker has made, b its batch size, alpha the factor by which b changes, beta the part of a
 * CPU's updates that is counted.
 *
 * A pure function from (state, message, now) to (state, actions): it has no thread, no clock and no
 * lock, allocates nothing after creation, and draws no random number.  Threads only carry its
 * messages; so does a loop over events in virtual time (bench/simulate_coord.h).  One
 * caller at a time.
 *
 * Work is a stretch of positions of the run's order of examples, epoch x n_rows + place; a batch
 * never crosses the end of an epoch.  A stretch is opened, all workers that are not lost are given
 * work until its limit is reached or it is halted, and when nothing is out any more the coordinator
 * says PARKED.  Every position below the limit is then done exactly once, whatever workers were
 * lost in between; after a halt, every position below `next`.  So what comes back from a lost
 * worker is given out even after a halt.  A worker may withdraw from a stretch: the others then
 * share what is left, and the last of them stays while any is left.
 *
 * b changes at SCHEDULE alone, once for each assignment that is done, as in the paper; not when a
 * stretch is opened.
 */
#ifndef DROVE_COORD_COORD_H
#define DROVE_COORD_COORD_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_coord drove_coord;

typedef struct drove_range {
    uint64_t first, n; /* positions */
} drove_range;

enum { DROVE_COORD_DEPTH = 4 }; /* most assignments that a worker can have in hand */

typedef struct drove_coord_worker { /* what the coordinator is told about one worker */
    char     name[64];              /* "opencl:0" */
    uint64_t batch;                 /* b to begin with, least <= batch <= most */
    uint64_t least, most;           /* min_b and max_b: examples of a batch */
    unsigned depth;    /* assignments in hand at once: 1; 2 where the next batch is copied while
                            * this one is computed */
    double   survival; /* beta where threads step for themselves; 1 for all others */
    /* So many batches in one assignment that they take about so long, for workers whose batches are
     * shorter than a message; 0: one.  One too where `most_updates` is to be kept. */
    double assignment_s;
    double timeout_s; /* an assignment that takes longer is lost; 0: for ever */
} drove_coord_worker;

/* How b changes; one row of coord/policy.c each. */
typedef struct drove_policy_ops drove_policy_ops;
extern const drove_policy_ops   drove__policy_fixed;    /* Hogbatch: b stays as it is */
extern const drove_policy_ops   drove__policy_adaptive; /* Algorithm 2 */

typedef struct drove_coord_options {
    const drove_policy_ops *policy;
    double                  alpha;       /* > 1 */
    double                  utilisation; /* > 0: min_b follows: the least size at which a worker is
                                            * still that busy (section 6.3); 0: min_b stays */
    bool     fit_tail; /* near a limit: no batch that would keep all others waiting */
    uint64_t n_rows;   /* examples of an epoch */
    unsigned n_workers;
    const drove_coord_worker *worker; /* [n_workers], copied */
} drove_coord_options;

/* Errors: DROVE_E_ARG (alpha <= 1, min above max, batch outside them, another number out of its
 * range: the worker's name and the numbers), DROVE_E_NOMEM. */
drove_status drove__coord_create(const drove_coord_options *opt, drove_coord **out);
void         drove__coord_destroy(drove_coord *c); /* NULL accepted */

/* ---- messages and actions ---- */

typedef enum drove_coord_verb {
    DROVE_COORD_OPEN,     /* from the run: limit, most_updates */
    DROVE_COORD_HALT,     /* from the run: nothing more is given out */
    DROVE_COORD_SCHEDULE, /* ScheduleWork(worker, u): an assignment is done; what it brought */
    DROVE_COORD_FAILED,   /* a worker cannot go on: what it has in hand comes back */
    DROVE_COORD_WITHDRAW, /* a worker with nothing in hand takes nothing more of this stretch */
    DROVE_COORD_TICK      /* time has passed: has one been silent for too long? */
} drove_coord_verb;

typedef struct drove_coord_message {
    drove_coord_verb verb;
    unsigned         worker;       /* SCHEDULE, FAILED, WITHDRAW */
    uint64_t         id;           /* SCHEDULE: of the assignment */
    uint64_t         n_updates;    /* SCHEDULE: made by it */
    uint64_t         limit;        /* OPEN: first position that is not given out */
    uint64_t         most_updates; /* OPEN: no batch is given out once so many are made since this
                                    * OPEN; UINT64_MAX: no limit */
} drove_coord_message;

typedef enum drove_coord_do {
    DROVE_COORD_EXECUTE, /* ExecuteWork(range) to a worker */
    DROVE_COORD_RETIRE,  /* a worker is lost: by its own word, or (is_silent) by time */
    DROVE_COORD_PARKED,  /* the stretch is done, or halted: nothing is out */
    DROVE_COORD_DESERTED /* no worker is left, and there is work to do; nothing is out */
} drove_coord_do;

typedef struct drove_coord_action {
    drove_coord_do verb;
    unsigned       worker; /* EXECUTE, RETIRE */
    bool           is_silent;
    uint64_t       id; /* EXECUTE: 1, 2, ... through the whole run */
    drove_range    range;
    uint64_t       batch; /* EXECUTE: b of the worker at that moment; range.n may be less */
} drove_coord_action;

/* Most actions of one message. */
size_t drove__coord_most_actions(const drove_coord *c);
/* Handles one message at time now_ns (any clock that does not go back); out has room for
 * drove__coord_most_actions; *n_out are to be carried out, in order.  A message about an assignment
 * that was taken away (its worker is lost) is ignored: the caller makes sure that a step is
 * published only by who still holds the assignment (coord/assigned.c). */
void drove__coord_handle(drove_coord *c, const drove_coord_message *message, uint64_t now_ns,
                         drove_coord_action *out, size_t *n_out);
/* The earliest time at which a TICK could find a silent worker; UINT64_MAX: none. */
uint64_t drove__coord_deadline(const drove_coord *c);

/* ---- what is known; between messages ---- */

typedef struct drove_batch_change { /* of one worker's b */
    uint64_t position;              /* at which the batch of the new size began */
    uint64_t now_ns;
    uint64_t batch;
    double   u;
} drove_batch_change;

typedef struct drove_coord_facts { /* of one worker */
    uint64_t batch, least, most;   /* b and its bounds now */
    double   u;                    /* counted updates, beta applied */
    uint64_t n_updates, n_examples, n_batches;
    uint64_t out_ns;         /* time with an assignment in hand */
    double   examples_per_s; /* of the last batches; 0: not known yet */
    bool     is_lost;
    /* Sizes in the order in which they came, the first and the latest changes: at most
     * DROVE_COORD_HISTORY. */
    const drove_batch_change *history;
    size_t                    n_history;
} drove_coord_facts;
enum { DROVE_COORD_HISTORY = 4096 };

void     drove__coord_facts(const drove_coord *c, unsigned worker, drove_coord_facts *out);
uint64_t drove__coord_next(const drove_coord *c); /* first position not given out yet */
/* Positions below `next` that came back from lost workers and were not done: none after
 * PARKED, perhaps some after DESERTED.  *out is valid until the next message. */
size_t drove__coord_undone(const drove_coord *c, const drove_range **out);

/* A saved run goes on: before any OPEN. */
void drove__coord_restore(drove_coord *c, uint64_t next);
/* What drove__coord_undone said then; done first.  Errors: DROVE_E_NOMEM. */
drove_status drove__coord_restore_undone(drove_coord *c, const drove_range *range, size_t n);
/* b is put between least and most. */
void drove__coord_restore_worker(drove_coord *c, unsigned worker, double u, uint64_t batch);

#endif
