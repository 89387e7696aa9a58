/* auto/trials.h - the step size of --lr auto: short trials from the first parameters.
 *
 * Source: after Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017, section
 * 3.3, the range test; here each step size has a trial of its own from the same parameters, on the
 * same batches, as in Hyperband's first round (Li et al., JMLR 2018), so that trials do not follow
 * from each other.
 *
 * The trials see training data alone and have their own copy of the parameters.  How long they are
 * follows from counts, never from a clock, so that the same seed gives the same step size.
 */
#ifndef DROVE_AUTO_TRIALS_H
#define DROVE_AUTO_TRIALS_H

#include "values/values.h"

/* The choice of these trials, lr ascending: the smallest step size whose loss is within this part
 * of the best's progress from loss_first, which is that of the first parameters or of the best
 * constant outputs, if that is lower: to learn how frequent the classes are is no progress.  No
 * finite loss: the smallest. */
double drove__trials_choose(const drove_trial *trial, unsigned n, double loss_first,
                            double tolerance);

/* theta[n_params]: where every trial starts; read alone.  rule: a spec.  n_examples: of the run, of
 * which all trials together see at most a tenth.  Errors: those of engines, DROVE_E_NOMEM. */
drove_status drove__trials_run(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const char *rule, const float *theta,
                               double n_examples, drove_trials *out);

/* Multiply-adds of one update of the run's rule, its gradient included.  Errors: those of the rule,
 * DROVE_E_NOMEM. */
drove_status drove__trials_step_work(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers, double *out);

#endif
