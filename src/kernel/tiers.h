/* kernel/tiers.h - the tables of the tiers, for dispatch.c.  Only the tests also include this, to
 * compare tiers with each other.
 *
 * A build with ThreadSanitizer has only the plain-C tier: the sanitizer does not see the accesses
 * of inline assembly, wide vectors and a foreign library.
 */
#ifndef DROVEK_TIERS_H
#define DROVEK_TIERS_H

#include "base/racy.h"
#include "kernel/kernel.h"

#if defined(DROVE_HAVE_X86) && !DROVE_TSAN
#define DROVEK_X86 1
#else
#define DROVEK_X86 0
#endif

#if defined(DROVE_HAVE_ARM) && !DROVE_TSAN
#define DROVEK_ARM 1
#else
#define DROVEK_ARM 0
#endif

#if defined(DROVE_HAVE_ONEDNN) && !DROVE_TSAN
#define DROVEK_ONEDNN 1
#else
#define DROVEK_ONEDNN 0
#endif

extern const drovek_table drovek_ref; /* every slot filled, needs nothing */
#define X(k) drovek_##k##_fn drovek_##k##_ref;
DROVEK_LIST(X)
#undef X
#define X(k) drovek_##k##_f32_fn drovek_##k##_bf16_ref;
DROVEK_FACTOR_LIST(X)
#undef X
extern const drovek_linear     drovek_linear_dense_ref;  /* dense, merge, decay: all filled */
extern const drovek_linear     drovek_linear_sparse_ref; /* spdot and spaxpy: all filled */
extern const drovek_planes_ops drovek_planes_ref;        /* the definition: no table has it */

#if DROVEK_X86
extern const drovek_table  drovek_avx2;
extern const drovek_table  drovek_avx2vnni; /* avx2, with products of bytes by AVX-VNNI */
extern const drovek_table  drovek_avx512;
extern const drovek_table  drovek_avx512vnni; /* avx512, with dot products by VNNI */
extern const drovek_table  drovek_avx512bf16; /* avx512vnni, with products of bf16 by AVX512_BF16 */
extern const drovek_table  drovek_avx512amx;  /* avx512bf16, with products of bf16 by AMX */
extern const drovek_images drovek_images_avx2, drovek_images_avx512;
extern const drovek_planes_ops drovek_planes_avx2;
extern const drovek_linear     drovek_linear_dense_avx2;
extern const drovek_linear     drovek_linear_dense_avx512;
extern const drovek_linear     drovek_linear_dense_avx512vnni;
extern const drovek_linear     drovek_linear_sparse_avx2, drovek_linear_sparse_avx512;
#endif

#if DROVEK_ARM
extern const drovek_table  drovek_neon;
extern const drovek_table  drovek_dotprod;
extern const drovek_images drovek_images_neon;
#endif

#if DROVEK_ONEDNN
drovek_gemm_f32_fn drovek_gemm_f32_onednn;        /* the library for all shapes        */
drovek_gemm_f32_fn drovek_gemm_f32_avx2_onednn;   /* the tier's own kernel for small   */
drovek_gemm_f32_fn drovek_gemm_f32_avx512_onednn; /* shapes (lanes/gemm.h)             */

/* Does the library use the instructions of the tier `isa` at most?  NULL: no limit. */
bool drovek_onednn_is_within(const char *isa);

/* "oneDNN 2.6.3 avx512_core": its version and the instructions it really uses; with beside_own, the
 * name of the mixture with our own.  After drovek_onednn_is_within; the texts are static. */
const char *drovek_onednn_name(bool beside_own);

void drovek_onednn_thread_init(void);
/* The number of threads of the calling thread was another; returns it. */
int drovek_onednn_set_threads(int n);
#endif

#endif
