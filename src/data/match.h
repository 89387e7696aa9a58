/* data/match.h - bringing test data that were read by themselves to the training data's features
 * and classes. */
#ifndef DROVE_DATA_MATCH_H
#define DROVE_DATA_MATCH_H

#include "data/data.h"

/* Changes test: sparse data get the training data's number of features if that is larger;
 * classes and labels get the numbers that the training data give to the same names, unless
 * use_labels is false: they then stay what they are, of whatever kind. Errors:
 * DROVE_E_SHAPE (dense for sparse, more features, another target, a class that the training data do
 * not have), DROVE_E_NOMEM. */
drove_status drove__match(const drove_storage *train, drove_storage *test, bool use_labels);

#endif
