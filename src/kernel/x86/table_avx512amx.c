/* kernel/x86/table_avx512amx.c - the AVX-512 tier for processors with AMX, whose tile registers
 * multiply bf16 numbers and bytes. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/x86/gemm_amx.h"
#include "kernel/x86/planes_amx.h"
#include "kernel/x86/planes_avx512.h"
#include "kernel/x86/planes_pool_avx512.h"
#include "kernel/x86/planes_step_amx.h"
#include "kernel/x86/strips_amx.h"
#include "kernel/x86/planes_turn.h"

static const drovek_strips_ops byte_strips_ops = {
    .pack = strips_pack,
    .lines = strips_lines,
    .places = strips_places,
    .tile_k = BYTE_K,
    .number_bytes = 1,
    .most_planes = 2,
    .cost = {.k = BYTE_K, .columns = SIDE, .multiply = 16, .store = 64},
};

static const drovek_strips_ops bf16_strips_ops = {
    .pack = strips_pack_bf16,
    .lines = strips_lines_bf16,
    .places = strips_places_bf16,
    .tile_k = TILE_K,
    .number_bytes = sizeof(float),
    .most_planes = 1,
    .cost = {.k = TILE_K, .columns = SIDE, .multiply = 16, .store = 64},
};

static const drovek_planes_ops integers = {
    PLANES_FUNCTIONS,
    .step = planes_step,
    .cost = {.k = 64, .columns = 16, .multiply = 16, .store = 64},
    .source = "drove amx_int8",
    .strips = &byte_strips_ops,
};

static const drovek_words_ops words = {.gemm = words_gemm, .step = words_step};

const drovek_table drovek_avx512amx = {
    .bf16 = {.gemm = gemm_amx, .source = "drove amx_bf16", .strips = &bf16_strips_ops},
    .gemm_i8 = gemm_amx,
    .gemm_i16 = gemm_amx_i16,
    .words = &words,
    .integers = &integers,
};
