/* kernel/x86/table_avx512bf16.c - the AVX-512 tier for processors with AVX512_BF16, which multiply
 * two pairs of bf16 numbers in each lane. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/lanes/gemm_bf16.h"
#include "kernel/lanes/matvec_bf16.h"

const drovek_table drovek_avx512bf16 = {
#define PRODUCT(name, result, arguments) .bf16.name = name##_bf16,
#include "kernel/slots.def"
    .bf16.source = "drove avx512_bf16",
};
