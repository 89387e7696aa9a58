/* trace/recorded.h - one step, and one mark, of a record (trace/recording.h). */
#ifndef DROVE_TRACE_RECORDED_H
#define DROVE_TRACE_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

/* In the place of an order; the same number as DROVE_NO_ORDER. */
#define DROVE_RECORDED_NO_ORDER UINT64_MAX

typedef struct drove_recorded {     /* one step of a worker; orders as in strategy/strategy.h */
    uint64_t number, first, n_rows; /* its task (strategy/source.h) */
    double   lr_factor;
    uint64_t read;      /* updates in its view */
    uint64_t staleness; /* updates by others between its view and its publication */
    uint64_t view_order, order, retried;
    uint64_t n_steps;    /* 1, or how many were made in place */
    bool     is_dropped; /* not published */
    bool     is_updated; /* it completed an update: the parameters are then of version
                            read + staleness + 1 */
    bool     is_early;
    bool is_settling; /* no step: the worker brought up what it owed before it parked; of the rest
                         only `order` counts */
} drove_recorded;

typedef struct drove_recorded_mark { /* where all workers were parked */
    uint64_t next;                   /* of the source (strategy/source.h) */
    uint64_t published;              /* updates */
    uint64_t checksum; /* of the parameters, state of the rule included (base/checksum.h) */
    uint64_t train_ns; /* training time */
    uint64_t n_steps;  /* in the file before it */
    /* 1 + the outcome of the run (drove/train.h), which ended here, or DROVE_RECORDED_FAILED; 0: it
     * went on.  No training lies between the mark before and such a one. */
    uint64_t outcome;
} drove_recorded_mark;

enum { DROVE_RECORDED_FAILED = 100 }; /* outcome of a run that ended with an error */

#endif
