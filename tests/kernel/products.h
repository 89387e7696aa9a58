/* tests/kernel/products.h - matrix products against double arithmetic. */
#ifndef DROVE_TESTS_KERNEL_PRODUCTS_H
#define DROVE_TESTS_KERNEL_PRODUCTS_H

#include "support.h"

/* Factors for products of up to 1100 in each dimension, filled once. */
typedef struct factors {
    const float *a, *b, *c;
} factors;

factors products_factors(void);

/* Many shapes, all transposes, several alpha and beta; fails on the first element beyond the bound,
 * and when anything outside the matrices is read or written. */
void check_products(const drovek_table *tier);

#endif
