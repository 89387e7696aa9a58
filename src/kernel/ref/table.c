/* kernel/ref/table.c - the plain-C tier: defines every kernel, for use where no tier is faster. */
#include "kernel/tiers.h"

const drovek_table drovek_ref = {
    .isa = "ref",
#define SLOT(name, result, arguments) .name = drovek_##name##_ref,
#include "kernel/slots.def"
    .gemm_source = "plain C",
#define PRODUCT(name, result, arguments) .bf16.name = drovek_##name##_bf16_ref,
#include "kernel/slots.def"
    .bf16.source = "plain C, bf16",
};
