#include "base/cpu.h"
#include "kernel/tiers.h"

const drovek_table drovek_avx2 = {
    .isa = "avx2",
    .needs = DROVE_CPU_AVX2,
};
