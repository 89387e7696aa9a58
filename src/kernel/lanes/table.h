/* kernel/lanes/table.h - the table of a tier: every kernel but those of images (lanes/images.h).
 * Before it: the names of the tier's registers, and
 *   TABLE_NAME   the table's
 *   TABLE_BF16   where products in bf16 are from, for logs
 */
#ifndef DROVEK_LANES_TABLE_H
#define DROVEK_LANES_TABLE_H

#include "kernel/tiers.h"

#include "kernel/lanes/codes.h"
#include "kernel/lanes/curves.h"
#include "kernel/lanes/elastic.h"
#include "kernel/lanes/gemm.h"
#include "kernel/lanes/gemm_bf16.h"
#include "kernel/lanes/matvec.h"
#include "kernel/lanes/matvec_bf16.h"
#include "kernel/lanes/rows.h"
#include "kernel/lanes/update.h"
#include "kernel/lanes/vector.h"

#define HAS_LIBRARY (DROVEK_ONEDNN && DROVEK_X86) /* not measured on ARM */
#if HAS_LIBRARY
static void gemm_beside(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                        const float *a, size_t lda, const float *b, size_t ldb, float beta,
                        float *c, size_t ldc)
{
    drovek_gemm_f32_fn *gemm = is_small(trans_a, n, k) ? gemm_f32 : drovek_gemm_f32_onednn;
    gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
#endif

const drovek_table TABLE_NAME = {
#define SLOT(name, result, arguments) .name = name,
#define IMAGE(name, result, arguments)
#include "kernel/slots.def"
#define PRODUCT(name, result, arguments) .bf16.name = name##_bf16,
#include "kernel/slots.def"
    .gemm_source = "drove",
    .bf16.source = TABLE_BF16,
#if HAS_LIBRARY
    .gemm_beside = gemm_beside,
#endif
};

#endif
