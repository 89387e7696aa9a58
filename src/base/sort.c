/* base/sort.c - see sort.h. */
#include "base/sort.h"

#include "base/rng.h"

#include <math.h>
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

void drove__select(float *x, size_t n, size_t k)
{
    uint64_t state = n; /* the pivots' places: random, but always the same */
    size_t first = 0, end = n;
    while (end - first > 1) {
        const float pivot = x[first + (size_t)(drove__splitmix64(&state) % (end - first))];
        /* [first, less) below the pivot, [less, more) equal to it, [more, end) above. */
        size_t less = first, more = end;
        for (size_t i = first; i < more;) {
            const float at = x[i];
            if (at < pivot) {
                x[i++] = x[less];
                x[less++] = at;
            } else if (at > pivot) {
                x[i] = x[--more];
                x[more] = at;
            } else {
                i++;
            }
        }
        if (k < less) end = less;
        else if (k >= more) first = more;
        else return;
    }
}

double drove__select_quantile(float *x, size_t n, size_t n_zeros, double p)
{
    const double at = p * (double)(n + n_zeros - 1);
    const size_t low = (size_t)at;
    double value[2] = {0.0, 0.0};
    size_t n_negative = 0;
    for (size_t i = 0; i < n && n_zeros > 0; i++) n_negative += x[i] < 0.0f;
    for (size_t i = 0; i < 2; i++) {
        size_t k = low + i < n + n_zeros ? low + i : low; /* behind the last: the last */
        if (n_zeros > 0 && k >= n_negative) {
            if (k < n_negative + n_zeros) continue; /* one of the zeros */
            k -= n_zeros;
        }
        drove__select(x, n, k);
        value[i] = (double)x[k];
    }
    return value[0] + (at - floor(at)) * (value[1] - value[0]);
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
