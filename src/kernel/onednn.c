/* kernel/onednn.c - the matrix product of oneDNN, for shapes that the tiers' own is not made for.
 *
 * Threads: Debian's library computes with OpenMP.  drovek_thread_init sets the calling thread's
 * number of OpenMP threads to 1; the product then runs in the caller, with the same bits in every
 * thread.
 *
 * ISA: the library detects the processor itself.  It takes a limit only before its first use in
 * the process, so none is set: what one run asks for would change the bits of the next.  A tier
 * that is narrower than the library does without it.
 */
#include "kernel/tiers.h"

#include <dnnl.h>
#include <dnnl_debug.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* From the OpenMP library that oneDNN uses; not every compiler has its header. */
extern void omp_set_num_threads(int n_threads);
extern int omp_get_max_threads(void);

/* Found out once, then constant: look_once. */
static pthread_once_t look_once = PTHREAD_ONCE_INIT;
static dnnl_cpu_isa_t library_isa;
static char name[64], name_beside_own[88];

static void look(void)
{
    library_isa = dnnl_get_effective_cpu_isa();
    const dnnl_version_t *version = dnnl_version();
    const char *isa = dnnl_cpu_isa2str(library_isa);
    if (strncmp(isa, "cpu_isa_", 8) == 0) isa += 8;
    snprintf(name, sizeof name, "oneDNN %d.%d.%d %s", version->major, version->minor,
             version->patch, isa);
    snprintf(name_beside_own, sizeof name_beside_own, "drove; large: %s", name);
}

/* dnnl_sgemm is row-major.  Empty products and k = 0 are handled here: the library does not
 * document them. */
void drovek_gemm_f32_onednn(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                            const float *a, size_t lda, const float *b, size_t ldb, float beta,
                            float *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    if (k > 0) {
        dnnl_status_t status = dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', (dnnl_dim_t)m,
                                          (dnnl_dim_t)n, (dnnl_dim_t)k, alpha, a, (dnnl_dim_t)lda,
                                          b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)ldc);
        if (status == dnnl_success) return;
    }
    /* nothing was written yet */
    drovek_gemm_f32_ref(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* The widest instructions of a tier. */
static dnnl_cpu_isa_t isa_of_tier(const char *tier)
{
    const bool is_avx2 =
        tier != NULL && (strcmp(tier, "avx2") == 0 || strcmp(tier, "avx2vnni") == 0);
    return is_avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_all;
}

bool drovek_onednn_is_within(const char *isa)
{
    dnnl_cpu_isa_t limit = isa_of_tier(isa);
    pthread_once(&look_once, look);
    /* Values of the enumeration are sets of features: a subset of the limit is within it. */
    return limit == dnnl_cpu_isa_all || ((unsigned)library_isa & ~(unsigned)limit) == 0;
}

const char *drovek_onednn_name(bool beside_own)
{
    return beside_own ? name_beside_own : name;
}

void drovek_onednn_thread_init(void)
{
    omp_set_num_threads(1);
}

int drovek_onednn_set_threads(int n)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(n);
    return before;
}
