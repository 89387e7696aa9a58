/* data/weights.h - weights of examples and of classes; docs/use/tables.md, "Weights".
 *
 * The loss of an example counts weight[row] * class_weight[class] / mean_weight, where mean_weight
 * is the mean of that product over the training data: so the usual example counts about 1, and a
 * step size means the same with weights and without.  Metrics count weight[row] alone.
 */
#ifndef DROVE_DATA_WEIGHTS_H
#define DROVE_DATA_WEIGHTS_H

#include "data/data.h"

/* Sets data->mean_weight from all rows of the view; nothing without weights.  Errors: DROVE_E_DATA
 * (every weight is 0). */
drove_status drove__weights_normalise(drove_data *data);

/* Gives the view weights of classes: text is "balanced", n / (k n_c) for class c of k with n_c of
 * the view's n rows, or "NAME=2,NAME2=0.5", 1 for the others; "" means none.  Then normalises.
 * Errors: DROVE_E_ARG (a text that is neither, with the nearest class; data without classes),
 * DROVE_E_DATA (every weight is 0; balanced: a class without rows), DROVE_E_NOMEM. */
drove_status drove__weights_of_classes(drove_data *data, const char *text);

/* Copies what a view has of weights, not those of its storage.  Errors: DROVE_E_NOMEM. */
drove_status drove__weights_copy(const drove_data *from, drove_data *to);

#endif
