/* kernel/x86/table_avx2.c - the AVX2 tier (with FMA). */
#include "base/cpu.h"
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx2.h"

#include "kernel/lanes/codes.h"
#include "kernel/lanes/elastic.h"
#include "kernel/lanes/gemm.h"
#include "kernel/lanes/gemm_bf16.h"
#include "kernel/lanes/matvec.h"
#include "kernel/lanes/matvec_bf16.h"
#include "kernel/lanes/rows.h"
#include "kernel/lanes/update.h"
#include "kernel/lanes/vector.h"

#if DROVEK_ONEDNN
void drovek_gemm_f32_avx2_onednn(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                                 float alpha, const float *a, size_t lda, const float *b,
                                 size_t ldb, float beta, float *c, size_t ldc)
{
    drovek_gemm_f32_fn *gemm = is_small(trans_a, n, k) ? gemm_f32 : drovek_gemm_f32_onednn;
    gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
#endif

const drovek_table drovek_avx2 = {
    .isa = "avx2",
    .needs = DROVE_CPU_AVX2,
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
    .images = &drovek_images_avx2,
#define X(k) .k = k,
    DROVEK_EXCHANGE_LIST(X)
#undef X
        .gemm_source = "drove",
    .bf16 =
        {
#define X(k) .k = k##_bf16,
            DROVEK_FACTOR_LIST(X)
#undef X
                .source = "drove, bf16 by avx2",
        },
    .integers = &drovek_planes_avx2,
    .linear_dense = &drovek_linear_dense_avx2,
    .linear_sparse = &drovek_linear_sparse_avx2,
};
