/* run/setup.h - from the options to workers that can train. */
#ifndef DROVE_RUN_SETUP_H
#define DROVE_RUN_SETUP_H

#include "values/values.h"

/* The first half: plan, data, model and what follows from them alone, by each rank for itself.  The
 * run has its options and callbacks, and has joined its ranks.  Errors: of every part. */
drove_status drove__setup_problem(drove_run *run);
/* The second half, when step size and strategy are known: workers, strategy, saved state, files,
 * up to the first evaluation; of ranks all come to the same status.  Errors: the same. */
drove_status drove__setup_workers(drove_run *run);
/* Places the plan's workers anew.  Errors: DROVE_E_NOMEM, DROVE_E_ARG (--bind). */
drove_status drove__setup_places(drove_workers *workers);
/* With a low --precision, where that is not done: the parameters in the engine's own number format,
 * and the data.  Errors: DROVE_E_ARG, the engine's. */
drove_status drove__run_prepare_precision(const drove_config *config, const drove_problem *problem,
                                          const drove_workers *workers);
/* All of it, or as much as there is after a failure; status: how the run ended. */
void drove__run_teardown(drove_run *run, drove_status status);

#endif
