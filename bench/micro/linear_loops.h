/* bench/micro/linear_loops.h - the linear kernels as plain loops with casts, as in Figure 1 of De
 * Sa et al., for a compiler to vectorise: what the kernels in src/kernel are compared with.
 *
 * The same results as kernel/linear.h for one example and rounding to nearest (one constant for all
 * numbers); clamped writes are counted.  Nothing is promised about shared memory.
 */
#ifndef DROVE_BENCH_LINEAR_LOOPS_H
#define DROVE_BENCH_LINEAR_LOOPS_H

#include "kernel/inline.h"
#include "kernel/linear.h"

#include <math.h>

INLINE int32_t integer_at(drove_number d, const void *x, size_t i)
{
    return d == DROVE_I8 ? ((const int8_t *)x)[i] : ((const int16_t *)x)[i];
}

INLINE float float_at(drove_number d, const void *x, size_t i)
{
    return d == DROVE_F32 ? ((const float *)x)[i] : (float)integer_at(d, x, i);
}

INLINE double dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    if (d == DROVE_F32 || m == DROVE_F32) {
        float sum = 0.0f;
        for (size_t i = 0; i < n; i++) sum += float_at(d, x, i) * float_at(m, w, i);
        return (double)sum;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += integer_at(d, x, i) * integer_at(m, w, i);
    return (double)sum;
}

/* One number of an integer model; the number of writes that had to be clamped, 0 or 1. */
INLINE uint32_t move(drove_number m, void *w, int32_t delta)
{
    int32_t most = m == DROVE_I8 ? INT8_MAX : INT16_MAX, sum = integer_at(m, w, 0) + delta;
    int32_t now = sum > most ? most : sum < -most - 1 ? -most - 1 : sum;
    if (m == DROVE_I8) *(int8_t *)w = (int8_t)now;
    else *(int16_t *)w = (int16_t)now;
    return now != sum;
}

INLINE int32_t delta_of(drove_number d, const void *x, size_t i, drovek_factor factor)
{
    if (d == DROVE_F32) return (int32_t)floorf(fmaf(factor.f, float_at(d, x, i), 0.5f + 0x1p-17f));
    return (factor.a * integer_at(d, x, i) + ((1 << factor.shift) >> 1)) >> factor.shift;
}

INLINE size_t axpy(drove_number d, drove_number m, void *restrict w, const void *restrict x,
                   drovek_factor factor, size_t n)
{
    uint32_t n_clamped = 0;
    for (size_t i = 0; i < n; i++) {
        if (m == DROVE_F32) {
            ((float *)w)[i] = fmaf(factor.f, float_at(d, x, i), ((float *)w)[i]);
            continue;
        }
        n_clamped += move(m, (uint8_t *)w + i * drove__number_size(m), delta_of(d, x, i, factor));
    }
    return n_clamped;
}

#define DENSE_WHOLE_BYTES
#define EACH_BODY "linear_dense_loops_body.h"
#include "kernel/linear_each_dense.h"

/* ---- sparse ---- */

INLINE void sparse_move(drove_number d, drove_number m, void *w, const void *value,
                        const drovek_factor *factor, size_t *n_clamped)
{
    if (m == DROVE_F32) *(float *)w = fmaf(factor->f, float_at(d, value, 0), *(float *)w);
    else *n_clamped += move(m, w, delta_of(d, value, 0, *factor));
}

/* SUM_<data>_<model>: what a plain loop sums in.  MOVE_<data>_<model>: one element. */
#define SUM_8_8                  int64_t
#define SUM_8_16                 int64_t
#define SUM_16_8                 int64_t
#define SUM_16_16                int64_t
#define SUM_8_32f                float
#define SUM_16_32f               float
#define SUM_32f_8                float
#define SUM_32f_16               float
#define SUM_32f_32f              float
#define MOVE(d, m, w, x, f, n)   sparse_move(d, m, w, &(x), f, n)
#define MOVE_8_8(w, x, f, n)     MOVE(DROVE_I8, DROVE_I8, w, x, f, n)
#define MOVE_8_16(w, x, f, n)    MOVE(DROVE_I8, DROVE_I16, w, x, f, n)
#define MOVE_8_32f(w, x, f, n)   MOVE(DROVE_I8, DROVE_F32, w, x, f, n)
#define MOVE_16_8(w, x, f, n)    MOVE(DROVE_I16, DROVE_I8, w, x, f, n)
#define MOVE_16_16(w, x, f, n)   MOVE(DROVE_I16, DROVE_I16, w, x, f, n)
#define MOVE_16_32f(w, x, f, n)  MOVE(DROVE_I16, DROVE_F32, w, x, f, n)
#define MOVE_32f_8(w, x, f, n)   MOVE(DROVE_F32, DROVE_I8, w, x, f, n)
#define MOVE_32f_16(w, x, f, n)  MOVE(DROVE_F32, DROVE_I16, w, x, f, n)
#define MOVE_32f_32f(w, x, f, n) MOVE(DROVE_F32, DROVE_F32, w, x, f, n)

#define EACH_BODY "linear_sparse_loops_body.h"
#include "kernel/linear_each_sparse.h"

/* The table is named by the source file that includes this. */
const drovek_linear COMPILED_TABLE = {
    .dot = DENSE_SLOTS(dot),
    .axpy = DENSE_SLOTS(axpy),
    .spdot = SPARSE_SLOTS(spdot),
    .spaxpy = SPARSE_SLOTS(spaxpy),
};

#endif
