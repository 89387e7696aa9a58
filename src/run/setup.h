/* run/setup.h - making and unmaking what a run is made of.
 *
 * Threads: the caller's, which is the one that calls drove_train.
 */
#ifndef DROVE_RUN_SETUP_H
#define DROVE_RUN_SETUP_H

#include "run/run.h"

/* Everything between the options and the first evaluation; of ranks all come to the same status.
 * The run has its options and callbacks, and has joined its ranks.  Errors: of every part. */
drove_status drove__run_setup(drove_run *run);
/* All of it, or as much as there is after a failure; status: how the run ended. */
void drove__run_teardown(drove_run *run, drove_status status);

/* ---- problem.c ---- */

/* run->train and run->test.  Errors: those of drove__data_open_shard, DROVE_E_ARG (a target that
 * such data cannot reach). */
drove_status drove__problem_open(drove_run *run);
/* run->model, and its first parameters: theta[n_params], the caller frees it, also after a failure.
 * Errors: those of a model's spec or file, DROVE_E_ARG, DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__problem_model(drove_run *run, float **theta);

#endif
