/* kernel/x86/linear_dense_avx2.c - dense low-precision kernels of the AVX2 tier. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx2.h"

#include "kernel/x86/linear_dense.h"

const drovek_table drovek_linear_dense_avx2 = {.linear = DENSE_TABLE};
