/* loop/step.h - one step of a worker: acquire, gradient, release, publish. */
#ifndef DROVE_LOOP_STEP_H
#define DROVE_LOOP_STEP_H

#include "loop/loop.h"

/* Trains on the batch of the task, with step size eta.  Errors: those of engine, strategy and
 * source; DROVE_E_SYSTEM with is_lost set: the task was given to another worker. */
drove_status drove__step(drove_worker *w, const drove_task *task, const drove_batch *batch,
                         float eta);
/* Do batches of so many examples go straight into the shared parameters? */
bool drove__steps_in_place(const drove_worker *w, size_t n_rows);
/* Before the worker parks: updates that its engine still owes the shared parameters, and parameters
 * that its device keeps. */
drove_status drove__step_settle(drove_worker *w);

#endif
