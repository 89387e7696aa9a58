/* kernel/tiers.h - what the tiers show to dispatch.c: one constant table each.  Nobody else
 * includes this, except the tests, which compare tiers with each other.
 *
 * A build with ThreadSanitizer has the plain-C tier alone: the sanitizer does not see what inline
 * assembly, wide vectors and a foreign library read and write.
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

#if defined(DROVE_HAVE_ONEDNN) && !DROVE_TSAN
#define DROVEK_ONEDNN 1
#else
#define DROVEK_ONEDNN 0
#endif

extern const drovek_table drovek_ref; /* every slot filled, needs nothing */
#define X(k) drovek_##k##_fn drovek_##k##_ref;
DROVEK_LIST(X)
#undef X

#if DROVEK_X86
extern const drovek_table drovek_avx2;
extern const drovek_table drovek_avx512;
#endif

#if DROVEK_ONEDNN
/* Puts the library's product into out->gemm_f32, and its version and the instructions it really
 * uses into out->gemm_source (memory of onednn.c, constant from then on).
 * isa: the tier that the library may not exceed, NULL for no limit.  The library takes a limit only
 * before its first use in the process: when it runs wider than that already, *out is left as it
 * was. */
void drovek_onednn_install(drovek_table *out, const char *isa);
void drovek_onednn_thread_init(void);
#endif

#endif
