/* kernel/x86/linear_dense_avx2.c - dense low-precision kernels of the AVX2 tier. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx2.h"

#include "kernel/x86/linear_dense.h"

const drovek_linear drovek_linear_dense_avx2 = {
    .dot = DENSE_SLOTS(dot),
    .axpy = DENSE_SLOTS(axpy),
    .axpy_dot = DENSE_SLOTS(axpy_dot),
    .merge = MERGE_SLOTS,
    .decay = DECAY_SLOTS,
};
