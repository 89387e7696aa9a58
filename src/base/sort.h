/* base/sort.h - numbers and texts in ascending order. */
#ifndef DROVE_BASE_SORT_H
#define DROVE_BASE_SORT_H

#include <stddef.h>

/* Sorts x[n]; none is NaN. */
void drove__sort(double *x, size_t n);
/* Sorts x[n], n > 0, and gives its median: of an even n the higher of the two in the middle. */
double drove__sort_median(double *x, size_t n);

/* Rearranges x[n], without NaN, so that x[k] is the number that would be there if x were sorted:
 * none before it is larger, none behind it smaller.  k < n; about n steps. */
void drove__select(float *x, size_t n, size_t k);
/* The number at p, 0 <= p <= 1, of the way from the least to the largest of x[n], which is
 * rearranged, and n_zeros zeros more; linear between two of them, as numpy.quantile has it.
 * n + n_zeros > 0. */
double drove__select_quantile(float *x, size_t n, size_t n_zeros, double p);

/* For qsort: of uint32_t, or of structs that begin with one; of char *, by their bytes. */
int drove__compare_u32(const void *a, const void *b);
int drove__compare_texts(const void *a, const void *b);

#endif
