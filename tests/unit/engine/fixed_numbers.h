/* tests/unit/engine/fixed_numbers.h - numbers and ways of rounding for the tests of networks in
 * fixed point. */
#ifndef DROVE_TESTS_UNIT_ENGINE_FIXED_NUMBERS_H
#define DROVE_TESTS_UNIT_ENGINE_FIXED_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

enum { FIXED_ROUNDINGS = 5 };
extern const char *const fixed_roundings[FIXED_ROUNDINGS]; /* the first is biased */

/* x[n] from N(0, 1), the same for the same seed. */
void fixed_draw(float *x, size_t n, uint64_t seed);

/* The largest magnitude. */
float fixed_largest(const float *x, size_t n);

#endif
