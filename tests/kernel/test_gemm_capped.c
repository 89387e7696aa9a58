/* A lower tier in a process that uses all of them: the library obeys the same limit, and what was
 * selected before changes nothing. */
#include "products.h"
#include "support/test.h"

#include "base/cpu.h"

#include <string.h>

TEST(test_library_is_capped)
{
    if (!DROVEK_X86 || (drove__cpu_features() & DROVE_CPU_AVX2) == 0) {
        print_message("skipped: no AVX2 here\n");
        skip();
    }
    drovek_table t, best, again;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), "avx2"), DROVE_OK);
    print_message("avx2: %s\n", t.gemm_source);
    assert_null(strstr(t.gemm_source, "avx512"));
    check_products(&t);
    assert_int_equal(drovek_select(&best, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drovek_select(&again, drove__cpu_features(), "avx2"), DROVE_OK);
    assert_string_equal(again.gemm_source, t.gemm_source);
    assert_ptr_equal(again.gemm_f32, t.gemm_f32);
    if ((drove__cpu_features() & DROVE_CPU_AVX512) == 0 ||
        strstr(best.gemm_source, "oneDNN") == NULL)
        return;
    assert_non_null(strstr(best.gemm_source, "avx512")); /* whoever was there before */
    check_products(&best);
}
