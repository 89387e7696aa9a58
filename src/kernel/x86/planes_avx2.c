/* kernel/x86/planes_avx2.c - integers kept as bytes (kernel/planes.h) by AVX2. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx2.h"

#define DROVEK_AVX_VNNI 0
#include "kernel/x86/planes_avx2.h"
#include "kernel/x86/planes_lanes_avx2.h"
#include "kernel/x86/planes_pool_avx2.h"
#include "kernel/x86/planes_turn.h"

static const drovek_planes_ops integers = {
    PLANES_FUNCTIONS,
    .cost = {.k = 2, .columns = 8, .multiply = 11, .store = 64, .spares_products = true},
    .one_wide = true,
    .source = "drove avx2 words",
};

const drovek_table drovek_planes_avx2 = {.integers = &integers};
