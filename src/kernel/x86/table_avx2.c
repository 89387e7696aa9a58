/* kernel/x86/table_avx2.c - the AVX2 tier (with FMA). */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx2.h"

#include "kernel/x86/matvec.h"
#include "kernel/x86/rows.h"
#include "kernel/x86/update.h"
#include "kernel/x86/vector.h"

const drovek_table drovek_avx2 = {
    .isa = "avx2",
    .needs = DROVE_CPU_AVX2,
    .matvec_f32 = matvec_f32,
    .matvec_t_f32 = matvec_t_f32,
    .ger_f32 = ger_f32,
    .outer_f32 = outer_f32,
    .spmatvec_f32 = spmatvec_f32,
    .spger_f32 = spger_f32,
    .spouter_f32 = spouter_f32,
    .bias_act_f32 = bias_act_f32,
    .act_grad_f32 = act_grad_f32,
    .softmax_f32 = softmax_f32,
    .copy_f32 = copy_f32,
    .axpy_f32 = axpy_f32,
    .scale_f32 = scale_f32,
    .dot_f32 = dot_f32,
    .finite_f32 = finite_f32,
    .widen_u8_f32 = widen_u8_f32,
    .affine_f32 = affine_f32,
    .sgd_f32 = sgd_f32,
    .momentum_f32 = momentum_f32,
    .adagrad_f32 = adagrad_f32,
    .rmsprop_f32 = rmsprop_f32,
    .adam_f32 = adam_f32,
};
