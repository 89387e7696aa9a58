/* problem/targets.h - targets of a regression in units in which a network learns them well.
 *
 * While a run lasts, its targets are (y - mean) / deviation, by the training examples and for each
 * value of an example.  With scale=robust both are those of the values moved between their
 * quantiles at 0.001 and 0.999 (data/robust.h), so that a few far ones do not make the others
 * small.  Models that it saves are in the targets' own units: the map back is folded into the last
 * layer, out' = deviation out + mean.  So are the losses that it reports, times the
 * squared deviation; but those of several values, each with a unit of its own, stay sums of the
 * scaled ones.  The saved state keeps the parameters as they are while they train.  Parameters of a
 * saved model are mapped into these units first.
 */
#ifndef DROVE_PROBLEM_TARGETS_H
#define DROVE_PROBLEM_TARGETS_H

#include "values/values.h"
#include "use/target_map.h"

/* Once data and model are there: changes the targets of train, validation and test, and the first
 * parameters of a saved model, where the run may choose, the loss is squared and
 * the last layer can take the map; else problem->target_scale is NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_standardise(const drove_config *config, drove_problem *problem,
                                        const drove_workers *workers);
/* A copy of theta[n_params] with the map folded in; the caller frees it.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_fold(const drove_problem *problem, const float *theta, float **out);

/* Mean loss of a constant guess on the run's validation examples; NaN: none, or label sets. */
double drove__targets_constant_loss(const drove_problem *problem);

#endif
