/* data/matrix.h - numbers of a matrix in the program's memory (<drove/arrays.h>), of any type and
 * any steps. */
#ifndef DROVE_DATA_MATRIX_H
#define DROVE_DATA_MATRIX_H

#include <drove/arrays.h>

/* Number [i][j] as a double; type is known to be one. */
double drove__matrix_at(const drove_matrix *m, size_t i, size_t j);
/* Row i as floats.  to is [n_columns]. */
void drove__matrix_row(const drove_matrix *m, size_t i, float *to);

#endif
