/* kernel/dispatch.c - chooses the versions of the kernels, once per process (or test). */
#include "kernel/apart.h"
#include "kernel/kernel.h"
#include "kernel/tiers.h"

#include "base/cpu.h"
#include "base/denormals.h"
#include "base/mem.h"
#include "base/spec.h"

#include <string.h>

enum { MOST_TABLES = 5 };

static const struct tier {
    const char *isa;
    uint32_t needs;
    const drovek_table *table[MOST_TABLES];
} tiers[] = {
#define TIER(isa, needs, tables) {#isa, needs, {tables}},
#define TABLE(name)              &name,
#include "kernel/tiers.def"
};

/* Overwrites *out with the kernels of linear models that a tier has.  Each member is an array of
 * pointers to functions of one type.  The members have the same element size and no gaps, so the
 * whole struct is such an array. */
typedef void slot_fn(void);
_Static_assert(sizeof(drovek_linear) % sizeof(slot_fn *) == 0, "slots only");

static void overlay_linear(drovek_linear *out, const drovek_linear *tier)
{
    slot_fn *to[sizeof(drovek_linear) / sizeof(slot_fn *)], *from[DROVE_COUNT(to)];
    memcpy(to, out, sizeof to);
    memcpy(from, tier, sizeof from);
    for (size_t i = 0; i < DROVE_COUNT(to); i++) {
        if (from[i] != NULL) to[i] = from[i];
    }
    memcpy(out, to, sizeof to);
}

#define OVERLAY(member)                                                                            \
    if (tier->member != NULL) out->member = tier->member;

/* Overwrites *out with the slots that a tier fills. */
static void overlay(drovek_table *out, const drovek_table *tier)
{
#define SLOT(name, result, arguments) OVERLAY(name)
#include "kernel/slots.def"
#define PRODUCT(name, result, arguments) OVERLAY(bf16.name)
#include "kernel/slots.def"
    OVERLAY(gemm_source)
    OVERLAY(gemm_beside)
    OVERLAY(bf16.source)
    OVERLAY(bf16.strips)
    OVERLAY(gemm_i8)
    OVERLAY(gemm_i16)
    OVERLAY(words)
    OVERLAY(integers)
    overlay_linear(&out->linear, &tier->linear);
}

/* Uses the library for products that the chosen tier has no fast version of. */
static void add_library(drovek_table *out, const char *cap)
{
#if DROVEK_ONEDNN
    if (!drovek_onednn_is_within(cap)) return;
    const bool has_own = out->gemm_f32 != drovek_ref.gemm_f32;
    if (has_own && out->gemm_beside == NULL) return;
    out->gemm_f32 = has_own ? out->gemm_beside : drovek_gemm_f32_onednn;
    out->gemm_source = drovek_onednn_name(has_own);
#else
    (void)out, (void)cap;
#endif
}

drove_status drovek_select(drovek_table *out, uint32_t have, const char *cap)
{
    size_t highest = DROVE_COUNT(tiers) - 1;
    if (cap != NULL) {
        const char *const *names = drovek_tiers();
        for (highest = 0; names[highest] != NULL && strcmp(names[highest], cap) != 0;) highest++;
        if (names[highest] == NULL) return drove__fail_unknown("isa", cap, names, highest);
        if ((tiers[highest].needs & have) != tiers[highest].needs) {
            return drove__fail(DROVE_E_UNSUPPORTED, "isa: this processor cannot run '%s'", cap);
        }
    }

    drovek_table chosen = {0};
    for (const struct tier *tier = tiers; tier <= tiers + highest; tier++) {
        if ((tier->needs & have) != tier->needs) continue;
        chosen.isa = tier->isa;
        for (size_t i = 0; i < MOST_TABLES && tier->table[i] != NULL; i++)
            overlay(&chosen, tier->table[i]);
    }
    if (highest > 0) add_library(&chosen, cap);
    *out = chosen;
    return DROVE_OK;
}

drovek_gemm_f32_fn *drovek_gemm_own(const drovek_table *chosen)
{
    const uint32_t have = drove__cpu_features();
    drovek_gemm_f32_fn *own = NULL;
    for (const struct tier *tier = tiers; tier < tiers + DROVE_COUNT(tiers); tier++) {
        if ((tier->needs & have) != tier->needs) continue;
        for (size_t i = 0; i < MOST_TABLES && tier->table[i] != NULL; i++)
            if (tier->table[i]->gemm_f32 != NULL) own = tier->table[i]->gemm_f32;
        if (strcmp(tier->isa, chosen->isa) == 0) break;
    }
    return own;
}

drovek_gemm_f32_fn *drovek_gemm_library(const drovek_table *chosen)
{
#if DROVEK_ONEDNN
    if (strstr(chosen->gemm_source, "oneDNN") != NULL) return drovek_gemm_f32_onednn;
#endif
    (void)chosen;
    return NULL;
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
#define PRODUCT(name, result, arguments) t.name##_f32 = t.bf16.name;
#include "kernel/slots.def"
    t.gemm_source = t.bf16.source;
    t.strips = t.bf16.strips;
    t.factors = factors;
    return t;
}

const char *const *drovek_tiers(void)
{
    static const char *const names[] = {
#define TIER(isa, needs, tables) #isa,
#include "kernel/tiers.def"
        NULL,
    };
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
