/* auto/strategy_counts.h - what a run should take, by counts alone: no clock is asked, so the same
 * run has the same answers on every machine.
 *
 * Threads: the caller's of drove_train, before the run has workers.
 */
#ifndef DROVE_AUTO_STRATEGY_COUNTS_H
#define DROVE_AUTO_STRATEGY_COUNTS_H

#include "values/values.h"

/* Seconds of an example on one core.  Errors: DROVE_E_NOMEM. */
drove_status drove__strategy_example_s(const drove_config *config, const drove_problem *problem,
                                       const drove_workers *workers, double *out);
/* Seconds that the run will train on one thread, which takes example_s for each example. */
double drove__strategy_expected_s(const drove_config *config, const drove_problem *problem,
                                  double example_s);

/* Sparse linear models, whose progress by replicas that meet is known. */
typedef enum drove_meeting {
    DROVE_MEETING_CHEAP,  /* beside the steps between two meetings of merge=sum */
    DROVE_MEETING_SELDOM, /* it should be held more seldom */
    DROVE_MEETING_DEAR    /* it costs more than the steps: of very wide models */
} drove_meeting;

/* The cost of a meeting of all parameters.  CHEAP for all but sparse linear models. */
drove_meeting drove__strategy_meeting(const drove_config *config, const drove_problem *problem,
                                      double example_s);
/* Is an example of two threads worth what one thread's is?  So it is in a sparse linear model whose
 * replicas meet many times an epoch, or which two threads share where meetings are dear. */
bool drove__strategy_knows_progress(const drove_config *config, const drove_problem *problem,
                                    double example_s);

#endif
