/* kernel/ref/table.c - the plain-C tier: defines every kernel, for use where no tier is faster. */
#include "kernel/tiers.h"

const drovek_table drovek_ref = {
    .isa = "ref",
    .needs = 0,
#define X(k) .k = drovek_##k##_ref,
    DROVEK_LIST(X)
#undef X
        .gemm_source = "plain C",
    .bf16 =
        {
#define X(k) .k = drovek_##k##_bf16_ref,
            DROVEK_FACTOR_LIST(X)
#undef X
                .source = "plain C, bf16",
        },
    .linear_dense = &drovek_linear_dense_ref,
    .linear_sparse = &drovek_linear_sparse_ref,
};
