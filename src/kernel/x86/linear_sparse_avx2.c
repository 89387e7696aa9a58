/* kernel/x86/linear_sparse_avx2.c - dot and AXPY of sparse examples, AVX2. */
#include "kernel/tiers.h"

#include "kernel/x86/sparse_lanes_avx2.h"

#include "kernel/x86/linear_sparse.h"

#define EACH_BODY "kernel/x86/linear_sparse_body.h"
#include "kernel/linear_each_sparse.h"

const drovek_table drovek_linear_sparse_avx2 = {.linear = SPARSE_TABLE};
