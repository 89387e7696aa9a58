/* base/sort.h - numbers in ascending order. */
#ifndef DROVE_BASE_SORT_H
#define DROVE_BASE_SORT_H

#include <stddef.h>

/* Sorts x[n]; none is NaN. */
void drove__sort(double *x, size_t n);

#endif
