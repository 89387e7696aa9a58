/* base/sort.c - see sort.h. */
#include "base/sort.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void drove__sort(double *x, size_t n)
{
    if (n > 1) qsort(x, n, sizeof *x, compare);
}
