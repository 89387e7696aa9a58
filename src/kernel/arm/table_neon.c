/* kernel/arm/table_neon.c - the NEON tier, for every AArch64 processor. */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/arm/lanes_neon.h"

#include "kernel/lanes/codes.h"
#include "kernel/lanes/elastic.h"
#include "kernel/lanes/gemm.h"
#include "kernel/lanes/gemm_bf16.h"
#include "kernel/lanes/matvec.h"
#include "kernel/lanes/matvec_bf16.h"
#include "kernel/lanes/rows.h"
#include "kernel/lanes/update.h"
#include "kernel/lanes/vector.h"

#define DROVEK_DOTPROD 0
#include "kernel/arm/linear_slots.h"

const drovek_table drovek_neon = {
    .isa = "neon",
    .needs = DROVE_CPU_NEON,
    .gemm_f32 = gemm_f32,
    .windows_f32 = windows_f32,
    .matvec_f32 = matvec_f32,
    .matvec_t_f32 = matvec_t_f32,
    .ger_f32 = ger_f32,
    .outer_f32 = outer_f32,
    .spmatvec_f32 = spmatvec_f32,
    .spger_f32 = spger_f32,
    .spouter_f32 = spouter_f32,
    .bias_act_f32 = bias_act_f32,
    .act_grad_f32 = act_grad_f32,
    .act_f32 = act_f32,
    .act_back_f32 = act_back_f32,
    .cos_f32 = cos_f32,
    .softmax_f32 = softmax_f32,
    .copy_f32 = copy_f32,
    .axpy_f32 = axpy_f32,
    .scale_f32 = scale_f32,
    .blend_f32 = blend_f32,
    .add_f32 = add_f32,
    .dot_f32 = dot_f32,
    .finite_f32 = finite_f32,
    .largest_f32 = largest_f32,
    .widen_i16_f32 = widen_i16_f32,
    .xor_u64 = xor_u64,
    .widen_u8_f32 = widen_u8_f32,
    .affine_f32 = affine_f32,
    .sgd_f32 = sgd_f32,
    .momentum_f32 = momentum_f32,
    .adagrad_f32 = adagrad_f32,
    .rmsprop_f32 = rmsprop_f32,
    .adam_f32 = adam_f32,
    .widen_bf16 = widen_bf16,
    .sgd_bf16 = sgd_bf16,
    .images = &drovek_images_neon,
#define X(k) .k = k,
    DROVEK_EXCHANGE_LIST(X)
#undef X
        .gemm_source = "drove",
    .bf16 =
        {
#define X(k) .k = k##_bf16,
            DROVEK_FACTOR_LIST(X)
#undef X
                .source = "drove, bf16 by neon",
        },
    .linear_dense = &dense,
};
