/* kernel/x86/planes_avx2.c - integers kept as bytes (kernel/planes.h) by AVX2. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx2.h"

#define DROVEK_AVX_VNNI 0
#include "kernel/x86/planes_avx2.h"
#include "kernel/x86/planes_lanes_avx2.h"
#include "kernel/x86/planes_pool_avx2.h"
#include "kernel/x86/planes_turn.h"

const drovek_planes_ops drovek_planes_avx2 = {
    .gemm = planes_gemm,
    .round = planes_round,
    .back = planes_back,
    .turn = planes_turn,
    .max_pool = planes_max_pool,
    .max_pool_back = planes_max_pool_back,
    .cost = {.k = 2, .columns = 8, .multiply = 11, .store = 64, .spares_products = true},
    .one_wide = true,
    .source = "drove avx2 words",
};
