/* run/control.h - the control loop of a run. */
#ifndef DROVE_RUN_CONTROL_H
#define DROVE_RUN_CONTROL_H

#include "values/values.h"

/* Evaluates, trains and saves until the run is over; state->outcome says how.  Workers are parked
 * before and after. Errors: those of a worker, of an evaluation and of writing files. */
drove_status drove__run_control(drove_run *run);

/* For runs that are compared.  Mean loss of n_rows training examples, evenly spread, at the present
 * parameters; infinity: it is not finite.  Errors: as above. */
drove_status drove__run_sample_loss(const drove_problem *problem, const drove_workers *workers,
                                    drove_state *state, size_t n_rows, double *loss);
/* Trains for train_s more seconds, without messages. */
drove_status drove__run_piece(const drove_config_length *length, drove_workers *workers,
                              drove_state *state, double train_s);

/* ---- resumed.c: of a run that goes on ---- */

/* It is over as it is: why, and what would train on. */
void drove__run_say_nothing_to_do(const drove_config *config, const drove_workers *workers,
                                  const drove_state *state, const drove_callbacks *cb);
/* Its schedule has come to its end, so that its steps are next to nothing: what gives it others. */
void drove__run_say_no_steps(const drove_config *config, const drove_workers *workers,
                             const drove_callbacks *cb);

#endif
