/* kernel/x86/table_avx512vnni.c - the AVX-512 tier for processors with AVX512_VNNI, which has its
 * own dot products of bytes and words. */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/x86/gemm_vnni.h"

const drovek_table drovek_avx512vnni = {
    .isa = "avx512vnni",
    .needs = DROVE_CPU_AVX2 | DROVE_CPU_AVX512 | DROVE_CPU_VNNI,
    .gemm_i8 = gemm_vnni,
    .linear_dense = &drovek_linear_dense_avx512vnni,
};
