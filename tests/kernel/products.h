/* tests/kernel/products.h - matrix products against double arithmetic. */
#ifndef DROVE_TESTS_KERNEL_PRODUCTS_H
#define DROVE_TESTS_KERNEL_PRODUCTS_H

#include "support.h"

/* Factors for products of up to 1100 in each dimension, filled once: integers of 8 or 16 bits and a
 * sign times a power of two, the largest among them, for a table of such; else any. */
typedef struct factors {
    const float *a, *b, *c;
} factors;

factors products_factors(const drovek_table *tier);

/* Many shapes, all transposes, several alpha and beta; fails on the first element beyond the bound,
 * which is none where singles hold every sum, and when anything outside the matrices is read or
 * written. */
void check_products(const drovek_table *tier);

#endif
