/* run/control.h - the control loop of a run. */
#ifndef DROVE_RUN_CONTROL_H
#define DROVE_RUN_CONTROL_H

#include "run/run.h"

/* Evaluates, trains and saves until the run is over; run->outcome says how.  Workers are parked
 * before and after. Errors: those of a worker, of an evaluation and of writing files. */
drove_status drove__run_control(drove_run *run);

#endif
