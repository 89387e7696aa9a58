/* run/control.h - the control loop of a run. */
#ifndef DROVE_RUN_CONTROL_H
#define DROVE_RUN_CONTROL_H

#include "run/run.h"

/* Evaluates, trains and saves until the run is over; run->outcome says how.  Workers are parked
 * before and after. Errors: those of a worker, of an evaluation and of writing files. */
drove_status drove__run_control(drove_run *run);

/* A word that changes with every drove_train_interrupt: a run compares it with what it was when the
 * run began. */
uint64_t drove__run_interrupts(void);

/* What stands now; train_ns: the training clock.  Numbers that do not exist are NaN. */
void drove__run_progress(drove_run *run, uint64_t train_ns, int evaluated, drove_progress *out);

/* The parameters as floats [n_params], with batch normalisation's statistics; workers parked, valid
 * until they go on.  Errors: those of the engine that computes statistics. */
drove_status drove__run_theta(drove_run *run, const float **out);

#endif
