/* data/scale.h - scaling: the shift and factor applied when an example is loaded. */
#ifndef DROVE_DATA_SCALE_H
#define DROVE_DATA_SCALE_H

#include "data/data.h"

/* Computes shift and factor of data->scaling from the rows of the view (the training part).
 *   unit      bytes: x / 255;  floats: minimum and maximum of each feature to 0 and 1;  sparse:
 *             x / largest |x|
 *   standard  (x - mean) / deviation of each feature;  sparse: x / deviation, zeros counted;  both
 *             by the rows' weights
 *   robust    (x - median) * factor of each feature, by its quartiles (data/robust.h);  sparse: x *
 *             factor, zeros counted, of ones alone: x
 *   mean      x - mean of each feature: the mean image that the papers' Caffe models subtract
 *   mean-channel  x - mean of each channel's pixels
 *   unit-mean, unit-mean-channel  the same, times the factor of unit: of bytes 1 / 255; of floats
 *             1 / range of each feature, or of each channel
 *   auto      bytes, and images of floats: unit;  other floats: standard;  sparse: none if no |x|
 *             is above 1, else unit.  data->scaling becomes the one that it is
 * Features of a table that are 0 or 1 (table/schema.h) are left as they are.
 * A feature that never varies is only shifted (sparse: left unchanged).  Errors: DROVE_E_ARG (a
 * mean of sparse data, a channel mean of data that are not images), DROVE_E_NOMEM. */
drove_status drove__scale_fit(drove_data *data);

/* Whether such a scaling of these data needs statistics of all rows. */
bool drove__scaling_is_fitted(drove_scaling scaling, const drove_storage *storage);

/* After that, x becomes (x - mean) / std of its channel: mean[channels], std[channels] of images,
 * which become part of the scaling.  Errors: DROVE_E_NOMEM. */
drove_status drove__scale_apply(drove_data *data, const double *mean, const double *std);

/* Gives `test` a copy of the scaling of `train`; quantised test data must have it.  Errors:
 * DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__scale_copy(const drove_data *train, drove_data *test);

extern const char *const drove__scaling_names[DROVE_N_SCALINGS + 1]; /* NULL-terminated */
const char              *drove__scaling_name(drove_scaling scaling);

#endif
