/* kernel/x86/table_avx512bf16.c - the AVX-512 tier for processors with AVX512_BF16, which multiply
 * two pairs of bf16 numbers in each lane. */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/lanes/gemm_bf16.h"
#include "kernel/lanes/matvec_bf16.h"

const drovek_table drovek_avx512bf16 = {
    .isa = "avx512bf16",
    .needs = DROVE_CPU_AVX2 | DROVE_CPU_AVX512 | DROVE_CPU_VNNI | DROVE_CPU_BF16,
    .bf16 =
        {
#define X(k) .k = k##_bf16,
            DROVEK_FACTOR_LIST(X)
#undef X
                .source = "drove avx512_bf16",
        },
};
