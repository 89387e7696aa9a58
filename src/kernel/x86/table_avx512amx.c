/* kernel/x86/table_avx512amx.c - the AVX-512 tier for processors with AMX, whose tile registers
 * multiply bf16 numbers and bytes. */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/x86/gemm_amx.h"
#include "kernel/x86/planes_amx.h"
#include "kernel/x86/planes_avx512.h"
#include "kernel/x86/planes_pool_avx512.h"
#include "kernel/x86/planes_step_amx.h"
#include "kernel/x86/planes_strips_amx.h"
#include "kernel/x86/planes_turn.h"

static const drovek_planes_ops integers = {
    .gemm = planes_gemm,
    .round = planes_round,
    .step = planes_step,
    .back = planes_back,
    .turn = planes_turn,
    .max_pool = planes_max_pool,
    .max_pool_back = planes_max_pool_back,
    .pack = planes_pack,
    .lines = planes_lines,
    .places = planes_places,
    .cost = {.k = 64, .columns = 16, .multiply = 16, .store = 64},
    .source = "drove amx_int8",
};

const drovek_table drovek_avx512amx = {
    .isa = "avx512amx",
    .needs = DROVE_CPU_AVX2 | DROVE_CPU_AVX512 | DROVE_CPU_VNNI | DROVE_CPU_BF16 | DROVE_CPU_AMX,
    .bf16 = {.gemm = gemm_amx, .source = "drove amx_bf16"},
    .gemm_i8 = gemm_amx,
    .gemm_i16 = gemm_amx_i16,
    .integers = &integers,
};
