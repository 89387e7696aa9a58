/* tests/kernel/linear_support.h - what the tests of the linear kernels share: numbers of every
 * format, random bits of every kind. */
#ifndef DROVE_TESTS_KERNEL_LINEAR_SUPPORT_H
#define DROVE_TESTS_KERNEL_LINEAR_SUPPORT_H

#include "support.h"

#include "base/rng.h"

#include <stdbool.h>

/* Roundings behind each mean that tells whether rounding is biased.  Sanitizers look at memory, and
 * one compiler's means are enough: all tiers equal plain C, by either. */
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
enum { N_MEAN_ROUNDINGS = 50000 };
#else
enum { N_MEAN_ROUNDINGS = 1000000 };
#endif

enum { N_KINDS = 3 };

extern const char *const number_names[DROVE_NUMBERS];
extern const char *const kind_names[N_KINDS];

/* n numbers: integers over the whole range, the ends often; the lowest only if has_lowest.  Floats
 * from N(0, 1). */
void fill_numbers(drove_rng *rng, drove_number number, void *to, size_t n, int has_lowest);

/* Random bits for n_blocks blocks, of any kind: `memory` has 64 n_blocks bytes, 64-byte aligned. */
drovek_bits make_bits(drove_rng *rng, drovek_bits_kind kind, uint8_t *memory, size_t n_blocks);

/* Word or byte i of an AXPY's random bits, by a computation of its own. */
uint32_t random_word(const drovek_bits *bits, size_t i);
uint32_t random_byte(const drovek_bits *bits, size_t i);

/* Those of number i of an AXPY between integers of these formats, of one example or several. */
uint32_t random_of(const drovek_bits *bits, drove_number d, drove_number m, bool is_batch,
                   size_t i);

double number_as_double(drove_number number, const void *x, size_t i);
void   set_integer(drove_number number, void *x, size_t i, int64_t value);

/* Does the mean of n roundings of the number `expected`, each to one of the two integers beside it,
 * lie within n_errors standard errors of it? */
bool is_near_mean(double mean, double expected, double n, double n_errors);

/* Dots of n products that are as large as can be, all of one sign, with every tier. */
void check_dots_of_extremes(size_t n);

#endif
