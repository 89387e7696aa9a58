/* use/target_map.h - targets of a regression in units in which a network learns them well, and
 * back.
 *
 * y' = (y - shift[k]) / scale[k] for value k of an example; a value that is the same in all
 * examples has scale 0, which divides by 1 and makes every prediction shift[k].
 */
#ifndef DROVE_USE_TARGET_MAP_H
#define DROVE_USE_TARGET_MAP_H

#include "data/data.h"
#include "model/model.h"

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
