/* kernel/x86/linear_dense_avx512.c - dense low-precision kernels of the AVX-512 tier. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx512.h"

#include "kernel/x86/linear_dense.h"

const drovek_table drovek_linear_dense_avx512 = {.linear = DENSE_TABLE};
