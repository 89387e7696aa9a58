/* engine/linear/factor.h - from a real step factor to what the AXPY kernels take. */
#ifndef DROVE_ENGINE_LINEAR_FACTOR_H
#define DROVE_ENGINE_LINEAR_FACTOR_H

#include "kernel/linear.h"
#include "engine/linear/rounding.h"

/* Examples that one write of the model can sum up: quantising each factor may add 1 to their sum,
 * which must stay within what the kernels' lanes hold. */
enum { DROVE_FACTOR_ROWS = 64 };

/* alpha[n]: change of w per unit of x, both in units of their scales; n <= DROVE_FACTOR_ROWS.
 * Integers: a = alpha 2^shift, rounded as the model's writes are (equation 4), with the largest
 * shift for which the sum of |a| stays in the kernels' bounds: without bias here there is none in
 * the product, as the random bits of the kernel are as many as the fraction's.  A factor too large
 * even for shift 0 is cut, which saturates every element it meets anyway.  Where the sum is not
 * finite, which the caller has seen in the outputs, all are 0. */
void drove__factor_make(drove_number d, drove_number m, const double *alpha, size_t n,
                        drove_rounder *rounder, drovek_factor *out);

#endif
