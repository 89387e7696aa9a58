/* loop/replay.h - repeats a recorded run on one thread, the caller's: a host of workers and a
 * source of batches that go by the record (trace/recording.h).
 *
 * A strategy that promises ORDERED gives the same bits whenever views and publications keep to
 * their order.  So all workers are made as ever, each with its engine, gradient and state, and the
 * host carries out their steps one after the other: a view as soon as all publications before it
 * are made, a publication when it is the next one.  The source gives each worker the batches that
 * it had.
 *
 * Threads: the controlling thread alone.
 */
#ifndef DROVE_LOOP_REPLAY_H
#define DROVE_LOOP_REPLAY_H

#include "loop/host.h"
#include "trace/recording.h"

typedef struct drove_replayed_step { /* that was just made, or dropped */
    unsigned              worker;
    const drove_recorded *recorded;
    bool                  is_in_place;   /* then loss and gradient_norm are not known */
    double                loss;          /* mean, of its batch */
    double                gradient_norm; /* where loop->trace.measures_gradients */
    float                 eta;
} drove_replayed_step;

typedef struct drove_replay {
    drove_recorded_run *record;       /* borrowed; set before the host is made */
    drove_loop         *loop;         /* set by the host */
    uint64_t            most_updates; /* no step follows once so many are published */
    void (*stepped)(void *context, const drove_replayed_step *step); /* NULL: not wanted */
    void               *context;
    drove_recorded_mark mark;   /* where this stretch ends */
    bool                is_cut; /* it has ended before that, by most_updates */
    bool                is_halted;
    uint64_t            n_steps; /* made, and dropped */
    uint64_t            place;   /* publications with lower places are made */
    /* the host's own */
    bool                    is_training;
    drove_source_ops        source;
    drove_status            status;
    struct replayed_worker *worker; /* [n_workers] */
} drove_replay;

/* By drove_host_options.replay.  Errors of start: those of the engines. */
extern const drove_host_ops drove__host_replay;

/* Goes to the next stretch of the record, before the source is opened; false: there is none. */
bool drove__replay_next(drove_replay *r);

/* A source in the place of `row`, of which it has the unit and the width. */
void drove__replay_source(drove_replay *r, const drove_source_ops *row, unsigned width,
                          drove_source *out);

#endif
