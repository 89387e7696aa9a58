/* data/matrix.h - numbers of a matrix in the program's memory (<drove/arrays.h>), of any type and
 * any steps. */
#ifndef DROVE_DATA_MATRIX_H
#define DROVE_DATA_MATRIX_H

#include <drove/arrays.h>

/* A matrix from outside: its type, its numbers and a size that does not overflow.  what: for the
 * error.  Errors: DROVE_E_ARG. */
drove_status drove__matrix_check(const drove_matrix *m, const char *what);
/* Number [i][j] as a double. */
double drove__matrix_at(const drove_matrix *m, size_t i, size_t j);
/* Row i as floats.  to is [n_columns]. */
void drove__matrix_row(const drove_matrix *m, size_t i, float *to);

#endif
