/* base/sort.c - see sort.h. */
#include "base/sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void drove__sort(double *x, size_t n)
{
    if (n > 1) qsort(x, n, sizeof *x, compare);
}

double drove__sort_median(double *x, size_t n)
{
    drove__sort(x, n);
    return x[n / 2];
}

int drove__compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int drove__compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
