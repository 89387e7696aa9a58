/* kernel/span.h - a slice of a flat vector, in floats, and a matrix in one. */
#ifndef DROVE_KERNEL_SPAN_H
#define DROVE_KERNEL_SPAN_H

#include <stddef.h>

typedef struct drove_span {
    size_t offset, length;
} drove_span;

/* Weights at theta[offset], [n_groups][n_in][n_out]: a matrix of n_groups * n_out rows, which are
 * the outputs, and n_in columns. */
typedef struct drove_weight_matrix {
    size_t offset, n_groups, n_in, n_out;
} drove_weight_matrix;

#endif
