/* kernel/x86/table_avx2vnni.c - the AVX2 tier for processors with AVX-VNNI, the dot products of
 * bytes and words in registers of 256 bits, such as those that have no AVX-512. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx2.h"

#define DROVEK_AVX_VNNI 1
#include "kernel/x86/planes_avx2.h"
#include "kernel/x86/planes_lanes_avx2.h"
#include "kernel/x86/planes_pool_avx2.h"
#include "kernel/x86/planes_turn.h"

static const drovek_planes_ops integers = {
    PLANES_FUNCTIONS,
    .cost = {.k = 4, .columns = 8, .multiply = 8, .store = 64, .spares_products = true},
    .one_wide = true,
    .source = "drove avx_vnni",
};

const drovek_table drovek_avx2vnni = {.integers = &integers};
