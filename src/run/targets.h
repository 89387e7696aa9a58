/* run/targets.h - targets of a regression in units in which a network learns them well.
 *
 * While a run lasts, its targets are (y - mean) / deviation, by the training examples and for each
 * value of an example.  Models that it saves are in the targets' own units: the map back is folded
 * into the last layer, out' = deviation out + mean.  So are the losses that it reports, times the
 * squared deviation; but those of several values, each with a unit of its own, stay sums of the
 * scaled ones.  The saved state keeps the parameters as they are while they train.  Parameters of a
 * saved model are mapped into these units first.
 */
#ifndef DROVE_RUN_TARGETS_H
#define DROVE_RUN_TARGETS_H

#include "run/run.h"

/* Once data and model are there: changes the targets of train, validation and test, and the first
 * parameters theta[n_params] of a saved model, where the run may choose, the loss is squared and
 * the last layer can take the map; else run->target_scale is NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_standardise(drove_run *run, float *theta);
/* A copy of theta[n_params] with the map folded in; the caller frees it.  Errors: DROVE_E_NOMEM. */
drove_status drove__targets_fold(const drove_run *run, const float *theta, float **out);

/* ---- the map itself: y' = (y - shift[k]) / scale[k]; a value that is the same in all examples has
 * scale 0, which divides by 1 and makes every prediction shift[k] ---- */

static inline double drove__targets_mapped(double y, double shift, double scale)
{
    return scale > 0.0 ? (y - shift) / scale : y - shift;
}

/* The last layer, if it can take the map: one of weights and biases without an activation; of
 * several values, its weights end in the outputs.  Else NULL. */
const drove_layer *drove__targets_layer(const drove_model *model);
void drove__targets_change(drove_storage *s, const double *shift, const double *scale);
/* Outputs in the targets' own units, from those in y'; and back. */
void drove__targets_map_out(const drove_layer *l, const double *shift, const double *scale,
                            float *theta);
void drove__targets_map_in(const drove_layer *l, const double *shift, const double *scale,
                           float *theta);

#endif
