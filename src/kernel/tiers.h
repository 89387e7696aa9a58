/* kernel/tiers.h - the tables of the tiers (tiers.def), for dispatch.c, and for the tests, which
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

#define TIER(isa, needs, tables) tables
#define TABLE(name)              extern const drovek_table name;
#include "kernel/tiers.def"

#define SLOT(name, result, arguments) drovek_##name##_fn drovek_##name##_ref;
#include "kernel/slots.def"
#define PRODUCT(name, result, arguments) drovek_##name##_f32_fn drovek_##name##_bf16_ref;
#include "kernel/slots.def"
/* Definitions that no table has: of integers kept as bytes, and of packed factors of bf16 */
extern const drovek_planes_ops drovek_planes_ref;
extern const drovek_strips_ops drovek_strips_ref, drovek_strips_bf16_ref;

#if DROVEK_ONEDNN
drovek_gemm_f32_fn drovek_gemm_f32_onednn;

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
