/* data/robust.h - scales that a few far rows do not move: medians and quantiles in the place of
 * means and deviations.
 *
 * Source: Holzmueller, Grinsztajn, Steinwart, Better by Default, NeurIPS 2024, section 3.  Of each
 * feature x' = (x - q50) s with s = 1 / (q75 - q25); 2 / (q100 - q0) where the quartiles are equal;
 * 0 where all rows are.  The smooth clipping behind it is a network's matter, and not done here.
 *
 * Quantiles count each row once, whatever it weighs, and are those of all rows, or of 2^20 of them,
 * spread evenly, where there are more.  They are exact, and linear between two values.
 */
#ifndef DROVE_DATA_ROBUST_H
#define DROVE_DATA_ROBUST_H

#include "data/data.h"

/* Fills data->shift and data->factor, which are there, from the rows of the view; features of a
 * table that are 0 or 1 are left out.  A sparse feature is not shifted, and one that never varies
 * is left as it is.  Errors: DROVE_E_NOMEM. */
drove_status drove__robust_fit(drove_data *data);

/* Between which numbers the values of the rows lie but for a thousandth at either end: least and
 * most, each [n_values].  Errors: DROVE_E_NOMEM. */
drove_status drove__robust_range(const drove_data *data, double *least, double *most);

#endif
