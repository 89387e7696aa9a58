/* data/open/match.h - matches test data, which were read separately, to the training data's
 * features and classes. */
#ifndef DROVE_DATA_OPEN_MATCH_H
#define DROVE_DATA_OPEN_MATCH_H

#include "data/data.h"

/* Changes test: sparse data get the training data's number of features if that is larger; classes
 * and labels get the numbers that the training data give to the same names.  Without use_labels
 * they stay unchanged, of any kind.  Errors: DROVE_E_SHAPE (dense for sparse, more features,
 * another target, a class that the training data do not have), DROVE_E_NOMEM. */
drove_status drove__match(const drove_storage *train, drove_storage *test, bool use_labels);
/* The same of data that are scored: rows of classes that the training data do not have are marked
 * (test->unseen.is_row), unless all are. */
drove_status drove__match_test(const drove_storage *train, drove_storage *test, bool use_labels);

#endif
