/* run/setup.h - from the options to workers that can train. */
#ifndef DROVE_RUN_SETUP_H
#define DROVE_RUN_SETUP_H

#include "run/values.h"

/* Everything between the options and the first evaluation; of ranks all come to the same status.
 * The run has its options and callbacks, and has joined its ranks.  Errors: of every part. */
drove_status drove__run_setup(drove_run *run);
/* With a low --precision, where that is not done: the parameters in the engine's own number format,
 * and the data.  theta[n_params]: the first parameters.  Errors: DROVE_E_ARG, the engine's. */
drove_status drove__run_prepare_precision(const drove_config *config, const drove_problem *problem,
                                          drove_workers *workers, const float *theta);
/* All of it, or as much as there is after a failure; status: how the run ended. */
void drove__run_teardown(drove_run *run, drove_status status);

#endif
