/* kernel/dispatch.c - chooses the versions of the kernels, once per process (or test). */
#include "kernel/kernel.h"
#include "kernel/tiers.h"

#include "base/denormals.h"
#include "base/mem.h"

#include <string.h>

/* Slowest first.  ref fills every slot and needs nothing. */
static const drovek_table *const tiers[] = {
    &drovek_ref,
#if DROVEK_X86
    &drovek_avx2,       &drovek_avx2vnni,   &drovek_avx512,
    &drovek_avx512vnni, &drovek_avx512bf16, &drovek_avx512amx,
#endif
#if DROVEK_ARM
    &drovek_neon,       &drovek_dotprod,
#endif
};

/* Index of the tier called `name`; DROVE_COUNT(tiers) if there is none. */
static size_t tier_index(const char *name)
{
    size_t i = 0;
    while (i < DROVE_COUNT(tiers) && strcmp(tiers[i]->isa, name) != 0) i++;
    return i;
}

static drove_status fail_unknown(const char *name)
{
    char known[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < DROVE_COUNT(tiers); i++) {
        size_t size = strlen(tiers[i]->isa);
        if (used + size + 2 > sizeof known) break;
        if (i > 0) known[used++] = ' ';
        memcpy(known + used, tiers[i]->isa, size + 1);
        used += size;
    }
    return drove__fail(DROVE_E_ARG, "isa: '%s' is not one of: %s", name, known);
}

/* Overwrites *out with the slots that a tier fills. */
static void overlay(drovek_table *out, const drovek_table *tier)
{
    out->isa = tier->isa;
    out->needs = tier->needs;
#define X(k)                                                                                       \
    if (tier->k != NULL) out->k = tier->k;
    DROVEK_LIST(X)
#undef X
#define X(k) out->k = tier->images->k;
    if (tier->images != NULL) {
        DROVEK_IMAGE_LIST(X)
    }
#undef X
    if (tier->gemm_source != NULL) out->gemm_source = tier->gemm_source;
#define X(k)                                                                                       \
    if (tier->bf16.k != NULL) out->bf16.k = tier->bf16.k;
    DROVEK_FACTOR_LIST(X)
#undef X
    if (tier->bf16.source != NULL) out->bf16.source = tier->bf16.source;
    if (tier->bf16.strips != NULL) out->bf16.strips = tier->bf16.strips;
    if (tier->gemm_i8 != NULL) out->gemm_i8 = tier->gemm_i8;
    if (tier->gemm_i16 != NULL) out->gemm_i16 = tier->gemm_i16;
    if (tier->integers != NULL) out->integers = tier->integers;
    if (tier->words != NULL) out->words = tier->words;
    if (tier->linear_dense != NULL) drovek_linear_overlay(&out->linear, tier->linear_dense);
    if (tier->linear_sparse != NULL) drovek_linear_overlay(&out->linear, tier->linear_sparse);
}

/* Uses the library for products that the chosen tier has no fast version of. */
static void add_library(drovek_table *out, const char *cap)
{
#if DROVEK_ONEDNN
    if (!drovek_onednn_is_within(cap)) return;
    out->gemm_source = drovek_onednn_name(out->gemm_f32 != drovek_ref.gemm_f32);
#if DROVEK_X86
    if (out->gemm_f32 == drovek_avx2.gemm_f32) out->gemm_f32 = drovek_gemm_f32_avx2_onednn;
    if (out->gemm_f32 == drovek_avx512.gemm_f32) out->gemm_f32 = drovek_gemm_f32_avx512_onednn;
#endif
    if (out->gemm_f32 == drovek_ref.gemm_f32) out->gemm_f32 = drovek_gemm_f32_onednn;
#else
    (void)out, (void)cap;
#endif
}

drove_status drovek_select(drovek_table *out, uint32_t have, const char *cap)
{
    size_t highest = DROVE_COUNT(tiers) - 1;
    if (cap != NULL) {
        highest = tier_index(cap);
        if (highest == DROVE_COUNT(tiers)) return fail_unknown(cap);
        if ((tiers[highest]->needs & have) != tiers[highest]->needs) {
            return drove__fail(DROVE_E_UNSUPPORTED, "isa: this processor cannot run '%s'", cap);
        }
    }

    drovek_table chosen = {0};
    for (size_t i = 0; i <= highest; i++) {
        if ((tiers[i]->needs & have) == tiers[i]->needs) overlay(&chosen, tiers[i]);
    }
    if (highest > 0) add_library(&chosen, cap);
    *out = chosen;
    return DROVE_OK;
}

drovek_table drovek_narrow(const drovek_table *chosen, drovek_factors factors)
{
    drovek_table t = *chosen;
    if (factors == DROVEK_FACTORS_F32) return t;
    if (factors != DROVEK_FACTORS_BF16) {
        drovek_gemm_f32_fn *own = factors == DROVEK_FACTORS_I8 ? t.gemm_i8 : t.gemm_i16;
        const drovek_planes_ops *bytes = t.integers;
        if (bytes != NULL && bytes->one_wide && factors == DROVEK_FACTORS_I16) bytes = NULL;
        if (own == NULL && bytes == NULL) return t;
        if (own != NULL) t.gemm_f32 = own;
        t.factors = factors;
        t.planes = bytes;
        return t;
    }
#define X(k) t.k##_f32 = t.bf16.k;
    DROVEK_FACTOR_LIST(X)
#undef X
    t.gemm_source = t.bf16.source;
    t.strips = t.bf16.strips;
    t.factors = factors;
    return t;
}

const char *const *drovek_tiers(void)
{
    static const char *const names[] = {
        "ref",
#if DROVEK_X86
        "avx2",
        "avx2vnni",
        "avx512",
        "avx512vnni",
        "avx512bf16",
        "avx512amx",
#endif
#if DROVEK_ARM
        "neon",
        "dotprod",
#endif
        NULL,
    };
    _Static_assert(DROVE_COUNT(names) == DROVE_COUNT(tiers) + 1, "one name per tier");
    return names;
}

void drovek_thread_init(void)
{
    (void)drove__denormals_flush();
#if DROVEK_ONEDNN
    drovek_onednn_thread_init();
#endif
}

drovek_thread drovek_thread_borrow(void)
{
    drovek_thread before = {.denormals = drove__denormals_flush()};
#if DROVEK_ONEDNN
    before.n_library_threads = drovek_onednn_set_threads(1);
#endif
    return before;
}

void drovek_thread_give_back(drovek_thread before)
{
    drove__denormals_restore(before.denormals);
#if DROVEK_ONEDNN
    (void)drovek_onednn_set_threads(before.n_library_threads);
#endif
}
