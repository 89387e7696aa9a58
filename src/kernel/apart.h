/* kernel/apart.h - the two matrix products of floats that a choice mixes, apart: for benchmarks. */
#ifndef DROVEK_APART_H
#define DROVEK_APART_H

#include "kernel/kernel.h"

/* Of the tier of a choice (drovek_select); plain C where no tier has one. */
drovek_gemm_f32_fn *drovek_gemm_own(const drovek_table *chosen);
/* Of the library, where the choice uses it; else NULL. */
drovek_gemm_f32_fn *drovek_gemm_library(const drovek_table *chosen);

#endif
