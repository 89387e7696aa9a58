/* kernel/x86/linear_dense_avx512vnni.c - dense low-precision kernels of AVX-512 with VNNI, which
 * multiplies and adds bytes, or words, in one instruction. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx512.h"

#include "kernel/x86/linear_dense.h"

const drovek_linear drovek_linear_dense_avx512vnni = {
    .dot = DENSE_SLOTS(dot),
    .axpy = DENSE_SLOTS(axpy),
    .axpy_dot = DENSE_SLOTS(axpy_dot),
    .merge = MERGE_SLOTS,
    .decay = DECAY_SLOTS,
};
