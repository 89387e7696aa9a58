/* base/sort.h - numbers and texts in ascending order. */
#ifndef DROVE_BASE_SORT_H
#define DROVE_BASE_SORT_H

#include <stddef.h>

/* Sorts x[n]; none is NaN. */
void drove__sort(double *x, size_t n);
/* Sorts x[n], n > 0, and gives its median: of an even n the higher of the two in the middle. */
double drove__sort_median(double *x, size_t n);

/* For qsort: of uint32_t, or of structs that begin with one; of char *, by their bytes. */
int drove__compare_u32(const void *a, const void *b);
int drove__compare_texts(const void *a, const void *b);

#endif
