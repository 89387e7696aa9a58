#include "base/cpu.h"
#include "kernel/tiers.h"

const drovek_table drovek_avx512 = {
    .isa = "avx512",
    .needs = DROVE_CPU_AVX2 | DROVE_CPU_AVX512,
};
