/* kernel/x86/table_avx512vnni.c - the AVX-512 tier for processors with AVX512_VNNI, which has its
 * own dot products of bytes and words. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/x86/gemm_vnni.h"
#include "kernel/x86/planes_vnni.h"
#include "kernel/x86/planes_avx512.h"
#include "kernel/x86/planes_pool_avx512.h"
#include "kernel/x86/planes_turn.h"

static const drovek_planes_ops integers = {
    PLANES_FUNCTIONS,
    .cost = {.k = 64, .columns = 16, .multiply = 16, .store = 64},
    .source = "drove avx512_vnni",
    .one_wide = true,
};

const drovek_table drovek_avx512vnni = {
    .gemm_i8 = gemm_vnni,
    .integers = &integers,
};
