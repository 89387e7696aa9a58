/* loop/step.h - one step of a worker: acquire, gradient, release, publish. */
#ifndef DROVE_LOOP_STEP_H
#define DROVE_LOOP_STEP_H

#include "loop/loop.h"

/* Slices of a step's gradient, as they come. */
typedef struct drove_slicing {
    drove_worker   *w;
    drove_gradient *grad;
    float           eta;
    uint64_t        iteration, last_ns, added_ns;
    size_t          first;    /* of the time line: the first slice ... */
    uint64_t        first_ns; /* ... and when it came; 0: none yet */
} drove_slicing;

/* A step whose gradient is there and not yet published.  It is not moved: its parts point at each
 * other, and its batch at rows of the worker. */
typedef struct drove_step_hand {
    drove_task      task;
    drove_batch     batch;
    drove_view      view;
    drove_gradient  grad;
    drove_slicing   slicing;
    drove_work_done done;
    drove_step      step;
    double   gradient_norm; /* of the batch, before the rule; loop->trace.measures_gradients */
    uint64_t t[5];          /* acquire, compute, prepare, publish, the end */
} drove_step_hand;

/* Trains on the batch of the task, with step size eta.  Errors: those of engine, strategy and
 * source; DROVE_E_SYSTEM with is_lost set: the task was given to another worker. */
drove_status drove__step(drove_worker *w, const drove_task *task, const drove_batch *batch,
                         float eta);
/* The same in two halves, up to release and from publish on; not for steps in place.  Between them
 * the worker does nothing else, and its next batch is not asked for. */
drove_status drove__step_begin(drove_worker *w, const drove_task *task, const drove_batch *batch,
                               float eta, drove_step_hand *hand);
drove_status drove__step_end(drove_worker *w, drove_step_hand *hand);
/* In the place of drove__step_end: the step counts as dropped. */
void drove__step_drop(drove_worker *w, drove_step_hand *hand);
/* The step size of a task. */
float drove__step_size(const drove_loop *loop, const drove_task *task);
/* Do batches of so many examples go straight into the shared parameters? */
bool drove__steps_in_place(const drove_worker *w, size_t n_rows);
/* If not, might they?  One worker whose steps nobody records makes them so where the bits are the
 * same: it spares a gradient written and read. */
bool drove__steps_unseen(const drove_worker *w, size_t n_rows);
/* Before the worker parks: updates that its engine still owes the shared parameters, and parameters
 * that its device keeps. */
drove_status drove__step_settle(drove_worker *w);

#endif
