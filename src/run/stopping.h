/* run/stopping.h - what a run does about its losses: cuts of the step size, stepping back, and the
 * best parameters.
 *
 * With --until validation= the losses are those of the validation examples, else
 * those of the training data; test data decide nothing here.
 *
 *   plateau   (--schedule plateau) no better loss for so many evaluations: back to the best
 *             parameters, with a smaller step
 *   recovery  (--lr auto) a loss or parameters that are not finite: the same, with a tenth of it
 *
 * Stepping back restores the strategy's vector, rule state included; workers with parameters or
 * state of their own begin there too, their state at zero.
 *
 * Threads: the caller's of drove_train, workers parked.  Over ranks: by all of them, with the same
 * losses and so the same decisions.
 */
#ifndef DROVE_RUN_STOPPING_H
#define DROVE_RUN_STOPPING_H

#include "values/values.h"

/* After a planned evaluation, also with the workers in the middle of their steps.  *wants_cut: the
 * step size is to be cut as soon as they are parked.  Errors: DROVE_E_NOMEM. */
drove_status drove__stopping_evaluated(const drove_problem *problem, const drove_workers *workers,
                                       drove_state *state, bool *wants_cut);
/* Steps back and cuts the step size: the losses are those of other parameters from then on.
 * Errors: those of a strategy's restore. */
drove_status drove__stopping_cut(const drove_workers *workers, drove_state *state,
                                 const drove_callbacks *cb);
/* loop->ending.nonfinite is set: steps back and clears it, or leaves it, which ends the run: it has
 * nowhere to step back to, has done so too often, or is not to.  Errors: as above. */
drove_status drove__stopping_recover(const drove_workers *workers, drove_state *state,
                                     const drove_callbacks *cb);

#endif
