/* kernel/arm/linear_dense_neon.c - dense low-precision kernels of the NEON tier. */
#include "kernel/tiers.h"

#define DROVEK_DOTPROD 0
#include "kernel/arm/linear.h"
#include "kernel/arm/replicas.h"

#define DENSE_WHOLE_BYTES
#define EACH_BODY "kernel/linear_dense_body.h"
#include "kernel/linear_each_dense.h"

const drovek_table drovek_linear_dense_neon = {.linear = DENSE_TABLE};
