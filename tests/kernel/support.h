/* tests/kernel/support.h - what the kernel tests share: memory that ends at a forbidden page,
 * numbers, distances, and the walk over the tiers that this processor can run. */
#ifndef DROVE_TESTS_KERNEL_SUPPORT_H
#define DROVE_TESTS_KERNEL_SUPPORT_H

#include "kernel/kernel.h"
#include "kernel/tiers.h"

#include <stddef.h>
#include <stdint.h>

/* Where an array lies between two pages that may not be touched. */
typedef enum place {
    PLACE_END,     /* its last byte is the last before the upper page  */
    PLACE_START,   /* its first byte is the first after the lower page */
    PLACE_SHIFTED, /* one element after a cache line's beginning       */
    N_PLACES,
    PLACE_TURN /* an end or a start, one for all arrays until the next guarded_free_all */
} place;

/* size_bytes of memory, filled with 0xff (as floats: NaN); element_bytes tells what "one element"
 * is.  Never NULL.  All blocks are given back together by guarded_free_all. */
void *guarded(size_t size_bytes, size_t element_bytes, place where);
void  guarded_free_all(void);

/* n floats, copied from `from` (NULL: left NaN). */
float *guarded_floats(const float *from, size_t n, place where);

/* x[n] drawn from N(0, deviation^2), the same for the same seed. */
void fill_normal(float *x, size_t n, double deviation, uint64_t seed);

/* All lengths to twice the most floats of a register and one more, those around 64 and 128 bytes,
 * and a long one; ends with SIZE_MAX. */
extern const size_t edge_lengths[];

/* Fails unless the n floats are equal bit for bit. */
void assert_same_bits(const char *what, const char *isa, size_t n, const float *got,
                      const float *wanted);

/* |got - wanted| in units in the last place of `wanted` (at least that of the smallest normal
 * number). */
double ulps(float got, double wanted);

/* v rounded to what the table's products round their factors to, by the C library's arithmetic. */
double factor_value(const drovek_table *tier, float v);

/* for_each_tier with the tables for such factors, where they have products of their own. */
void for_each_narrow_tier(drovek_factors factors, void (*check)(const drovek_table *tier));
void for_each_bf16_tier(void (*check)(const drovek_table *tier));

/* Calls check(table) for every tier, ref first; says which ones this processor cannot run. */
void for_each_tier(void (*check)(const drovek_table *tier));

#endif
