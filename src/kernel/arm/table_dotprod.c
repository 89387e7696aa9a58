/* kernel/arm/table_dotprod.c - the NEON tier with the dot-product instructions of ARMv8.2, which
 * sum four products of bytes each. */
#include "kernel/tiers.h"

#define DROVEK_DOTPROD 1
#include "kernel/arm/linear.h"

static double dot_i8_i8(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I8, DROVE_I8, x, w, n);
}

static double axpy_dot_i8_i8(void *w, const void *x, const drovek_factor *factor, const void *next,
                             const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_I8, DROVE_I8, w, x, factor, next, ahead, n, bits, n_clamped);
}

const drovek_table drovek_dotprod = {
    .linear.dot[DROVE_I8][DROVE_I8] = dot_i8_i8,
    .linear.axpy_dot[DROVE_I8][DROVE_I8] = axpy_dot_i8_i8,
};
