/* data/origin.h - numbers whose digits floats would lose, stored less an origin.
 *
 * Examples and values are stored as floats.  A feature, or a target, that is large beside its
 * spread, as a time since 1970 is, is stored as its difference from about its mean, which is
 * subtracted in double (base/digits.h).  Other data are stored as they are, bit for bit.
 */
#ifndef DROVE_DATA_ORIGIN_H
#define DROVE_DATA_ORIGIN_H

#include "data/data.h"
#include "data/matrix.h"

/* The origins of the columns of a matrix, [n_columns] from malloc; NULL: zeros.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__origin_of(const drove_matrix *m, double **out);
/* Row i of a matrix less its origins (NULL: zeros), as floats. */
void drove__origin_row(const drove_matrix *m, size_t i, const double *origin, float *to);

/* The origins of x and y; of those there are in `to` none yet.  Errors: DROVE_E_NOMEM. */
drove_status drove__origin_copy(const drove_storage *from, drove_storage *to);

/* Gives test data, which no other thread sees, the origins of the training data.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__origin_match(const drove_storage *train, drove_storage *test, bool use_labels);

/* Values with their origin, as floats again: for losses that need them so. */
void drove__origin_restore_values(drove_storage *storage);

/* What was subtracted from each feature, the centres of a table's columns included: [n_features]
 * from malloc; NULL: nothing.  Errors: DROVE_E_NOMEM. */
drove_status drove__origin_all(const drove_storage *storage, double **out);

static inline double drove__origin_x(const drove_storage *s, size_t feature)
{
    return s->x_origin != NULL ? s->x_origin[feature] : 0.0;
}
static inline double drove__origin_y(const drove_storage *s, size_t value)
{
    return s->y_origin != NULL ? s->y_origin[value] : 0.0;
}

#endif
