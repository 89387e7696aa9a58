/* run/targets.h - targets of a regression in units in which a network learns them well.
 *
 * While a run lasts, its targets are (y - mean) / deviation, by the training examples and for each
 * value of an example.  Models that it saves are in the targets' own units: the map back is folded
 * into the last layer, out' = deviation out + mean.  So are the losses that it reports, times the
 * squared deviation; but those of several values, each with a unit of its own, stay sums of the
 * scaled ones.  The saved state keeps the parameters as they are while they train.
 */
#ifndef DROVE_RUN_TARGETS_H
#define DROVE_RUN_TARGETS_H

#include "run/run.h"

/* Once data and model are there: changes the targets of train, validation and test where the run
 * may choose, the loss is squared, the model has no parameters yet and the last layer can take the
 * map; else run->target_scale is NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_standardise(drove_run *run);
/* A copy of theta[n_params] with the map folded in; the caller frees it.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_fold(const drove_run *run, const float *theta, float **out);

#endif
