/* The tier asked for is the tier in use, and nothing is missing in it. */
#include "support.h"
#include "support/test.h"

#include "base/cpu.h"
#include "kernel/apart.h"

#include <string.h>

static const uint32_t everything = DROVE_CPU_AVX2 | DROVE_CPU_AVX512 | DROVE_CPU_VNNI |
                                   DROVE_CPU_NEON | DROVE_CPU_DOTPROD | DROVE_CPU_BF16 |
                                   DROVE_CPU_AMX | DROVE_CPU_AVX_VNNI;

TEST(test_ref_fills_every_slot)
{
#define SLOT(name, result, arguments) assert_non_null(drovek_ref.name);
#include "kernel/slots.def"
}

TEST(test_no_features_means_ref)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, 0, NULL), DROVE_OK);
    assert_string_equal(t.isa, "ref");
    assert_ptr_equal(t.sgd_f32, drovek_ref.sgd_f32);
}

/* The slots that multiply are those for bf16, and all others stay. */
static void check_narrow(const drovek_table *t)
{
    drovek_table narrow = drovek_narrow(t, DROVEK_FACTORS_BF16);
    assert_string_equal(narrow.gemm_source, t->bf16.source);
    assert_int_equal(narrow.factors, DROVEK_FACTORS_BF16);
#define PRODUCT(name, result, arguments)                                                           \
    assert_non_null(t->bf16.name);                                                                 \
    assert_ptr_equal(narrow.name##_f32, t->bf16.name);                                             \
    assert_ptr_not_equal(narrow.name##_f32, t->name##_f32);                                        \
    narrow.name##_f32 = t->name##_f32;
#include "kernel/slots.def"
    narrow.gemm_source = t->gemm_source;
    narrow.factors = t->factors;
    assert_null(t->strips);
    assert_ptr_equal(narrow.strips, t->bf16.strips);
    narrow.strips = NULL;
    assert_memory_equal(&narrow, t, sizeof narrow);
    narrow = drovek_narrow(t, DROVEK_FACTORS_F32);
    assert_memory_equal(&narrow, t, sizeof narrow);
    assert_null(narrow.planes);
    narrow = drovek_narrow(t, DROVEK_FACTORS_I8);
    assert_ptr_equal(narrow.planes, t->integers);
    assert_ptr_equal(narrow.gemm_f32, t->gemm_i8 != NULL ? t->gemm_i8 : t->gemm_f32);
    narrow = drovek_narrow(t, DROVEK_FACTORS_I8_I16);
    assert_ptr_equal(narrow.planes, t->integers);
    narrow = drovek_narrow(t, DROVEK_FACTORS_I16);
    assert_ptr_equal(narrow.gemm_f32, t->gemm_i16 != NULL ? t->gemm_i16 : t->gemm_f32);
    const bool has_planes = t->integers != NULL && !t->integers->one_wide;
    assert_ptr_equal(narrow.planes, has_planes ? t->integers : NULL);
}

TEST(test_cap_is_obeyed)
{
    for (const char *const *name = drovek_tiers(); *name != NULL; name++) {
        drovek_table t;
        assert_int_equal(drovek_select(&t, everything, *name), DROVE_OK);
        assert_string_equal(t.isa, *name);
        assert_non_null(t.gemm_source);
#define SLOT(name, result, arguments) assert_non_null(t.name);
#include "kernel/slots.def"
        assert_non_null(t.bf16.source);
        check_narrow(&t);
    }
}

TEST(test_ref_bypasses_the_library)
{
    drovek_table t;
    assert_int_equal(drovek_select(&t, everything, "ref"), DROVE_OK);
#define SLOT(name, result, arguments) assert_ptr_equal(t.name, drovek_ref.name);
#include "kernel/slots.def"
    assert_string_equal(t.gemm_source, "plain C");
}

/* The two products of a choice, and no other, are what benchmarks compare. */
TEST(test_products_apart)
{
    for (const char *const *name = drovek_tiers(); *name != NULL; name++) {
        drovek_table t;
        if (drovek_select(&t, drove__cpu_features(), *name) != DROVE_OK) continue;
        drovek_gemm_f32_fn *own = drovek_gemm_own(&t), *library = drovek_gemm_library(&t);
        assert_true((library == NULL) == (strstr(t.gemm_source, "oneDNN") == NULL));
        assert_true((t.gemm_f32 == own) == (library == NULL));
        if (strcmp(*name, "ref") == 0) assert_ptr_equal(own, drovek_ref.gemm_f32);
#if DROVEK_X86
        if (strncmp(*name, "avx2", 4) == 0) assert_ptr_equal(own, drovek_avx2.gemm_f32);
        if (strncmp(*name, "avx512", 6) == 0) assert_ptr_equal(own, drovek_avx512.gemm_f32);
#elif DROVEK_ARM
        if (strcmp(*name, "ref") != 0) assert_ptr_equal(own, drovek_neon.gemm_f32);
#endif
#if DROVEK_ONEDNN
        if (library != NULL) assert_ptr_equal(library, drovek_gemm_f32_onednn);
#endif
    }
}

TEST(test_each_tier_brings_its_own)
{
#if DROVEK_X86
    drovek_table t;
    assert_int_equal(drovek_select(&t, everything, "avx2"), DROVE_OK);
    assert_ptr_equal(t.sgd_f32, drovek_avx2.sgd_f32);
    assert_int_equal(drovek_select(&t, DROVE_CPU_AVX2, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx2");
    assert_ptr_equal(t.integers, drovek_planes_avx2.integers);
    assert_int_equal(drovek_select(&t, DROVE_CPU_AVX2 | DROVE_CPU_AVX_VNNI, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx2vnni");
    assert_ptr_equal(t.integers, drovek_avx2vnni.integers);
    assert_ptr_equal(t.sgd_f32, drovek_avx2.sgd_f32);
    assert_int_equal(drovek_select(&t, everything, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx512amx");
    assert_ptr_equal(t.bf16.gemm, drovek_avx512amx.bf16.gemm);
    assert_ptr_equal(t.bf16.matvec, drovek_avx512bf16.bf16.matvec);
    assert_ptr_equal(t.sgd_f32, drovek_avx512.sgd_f32);
    assert_ptr_equal(t.linear.dot[DROVE_I8][DROVE_I8],
                     drovek_linear_dense_avx512vnni.linear.dot[DROVE_I8][DROVE_I8]);
    assert_int_equal(drovek_select(&t, DROVE_CPU_AVX2 | DROVE_CPU_AVX512, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx512");
    assert_ptr_equal(t.bf16.gemm, drovek_avx512.bf16.gemm);
    assert_int_equal(drovek_select(&t, everything & ~(uint32_t)DROVE_CPU_AMX, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx512bf16");
    assert_ptr_equal(t.bf16.gemm, drovek_avx512bf16.bf16.gemm);
    const uint32_t without = everything & ~(uint32_t)DROVE_CPU_BF16;
    assert_int_equal(drovek_select(&t, without, NULL), DROVE_OK);
    assert_string_equal(t.isa, "avx512vnni");
#elif DROVEK_ARM
    drovek_table t;
    assert_int_equal(drovek_select(&t, DROVE_CPU_NEON, NULL), DROVE_OK);
    assert_string_equal(t.isa, "neon");
    assert_ptr_equal(t.sgd_f32, drovek_neon.sgd_f32);
    drovek_dot_fn *dot = drovek_linear_dense_neon.linear.dot[DROVE_I8][DROVE_I8];
    assert_ptr_equal(t.linear.dot[DROVE_I8][DROVE_I8], dot);
    assert_int_equal(drovek_select(&t, everything, NULL), DROVE_OK);
    assert_string_equal(t.isa, "dotprod");
    assert_ptr_equal(t.sgd_f32, drovek_neon.sgd_f32);
    assert_ptr_not_equal(t.linear.dot[DROVE_I8][DROVE_I8], dot);
#else
    skip();
#endif
}

#if DROVEK_X86 || DROVEK_ARM
/* A table that tiers.def leaves out: the slots would be those of the tier below. */
static void check_own(const drovek_table *t, const drovek_table *below)
{
#define SLOT(name, result, arguments) assert_ptr_not_equal(t->name, below->name);
#include "kernel/slots.def"
#define PRODUCT(name, result, arguments) assert_ptr_not_equal(t->bf16.name, below->bf16.name);
#include "kernel/slots.def"
    for (int m = DROVE_I8; m < DROVE_NUMBERS; m++) {
        assert_ptr_not_equal(t->linear.merge[m], below->linear.merge[m]);
        assert_ptr_not_equal(t->linear.decay[m], below->linear.decay[m]);
        for (int d = DROVE_I8; d < DROVE_NUMBERS; d++) {
            assert_ptr_not_equal(t->linear.dot[d][m], below->linear.dot[d][m]);
            assert_ptr_not_equal(t->linear.axpy[d][m], below->linear.axpy[d][m]);
            assert_ptr_not_equal(t->linear.axpy_dot[d][m], below->linear.axpy_dot[d][m]);
        }
    }
}
#endif

#if DROVEK_X86
/* What the AVX tiers have and NEON has not: sparse examples, and numbers of 4 bits. */
static void check_own_sparse(const drovek_linear *t, const drovek_linear *below)
{
    for (int d = DROVE_I4; d < DROVE_NUMBERS; d++) {
        assert_ptr_not_equal(t->dot[d][DROVE_I4], below->dot[d][DROVE_I4]);
        assert_ptr_not_equal(t->axpy[d][DROVE_I4], below->axpy[d][DROVE_I4]);
        for (int m = DROVE_I8; m < DROVE_NUMBERS && d != DROVE_I4; m++) {
            for (int index = 0; index < 3; index++) {
                assert_ptr_not_equal(t->spdot[d][index][m], below->spdot[d][index][m]);
                assert_ptr_not_equal(t->spaxpy[d][index][m], below->spaxpy[d][index][m]);
            }
        }
    }
}
#endif

TEST(test_no_tier_lacks_a_table)
{
#if DROVEK_X86
    drovek_table ref, avx2, avx512;
    assert_int_equal(drovek_select(&ref, 0, "ref"), DROVE_OK);
    assert_int_equal(drovek_select(&avx2, DROVE_CPU_AVX2, "avx2"), DROVE_OK);
    check_own(&avx2, &ref);
    check_own_sparse(&avx2.linear, &ref.linear);
    assert_int_equal(drovek_select(&avx512, DROVE_CPU_AVX2 | DROVE_CPU_AVX512, "avx512"), DROVE_OK);
    check_own(&avx512, &avx2);
    check_own_sparse(&avx512.linear, &avx2.linear);
#elif DROVEK_ARM
    drovek_table ref, neon;
    assert_int_equal(drovek_select(&ref, 0, "ref"), DROVE_OK);
    assert_int_equal(drovek_select(&neon, DROVE_CPU_NEON, "neon"), DROVE_OK);
    check_own(&neon, &ref);
#else
    skip();
#endif
}

TEST(test_refusals)
{
    drovek_table t = {.isa = "untouched"};
    assert_int_equal(drovek_select(&t, everything, "avx3"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "unknown isa \"avx3\""));
    assert_string_equal(t.isa, "untouched");
#if DROVEK_X86
    assert_int_equal(drovek_select(&t, DROVE_CPU_AVX2, "avx512"), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "avx512"));
    assert_string_equal(t.isa, "untouched");
#elif DROVEK_ARM
    assert_int_equal(drovek_select(&t, DROVE_CPU_NEON, "dotprod"), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "dotprod"));
    assert_string_equal(t.isa, "untouched");
#endif
}
