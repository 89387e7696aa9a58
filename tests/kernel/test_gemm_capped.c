/* A process whose first choice is a lower tier: the library obeys the same limit, and says so. */
#include "products.h"

#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_library_is_capped(void **state)
{
    (void)state;
    if (!DROVEK_X86 || (drove__cpu_features() & DROVE_CPU_AVX2) == 0) {
        print_message("skipped: no AVX2 here\n");
        skip();
    }
    drovek_table t;
    assert_int_equal(drovek_select(&t, drove__cpu_features(), "avx2"), DROVE_OK);
    print_message("avx2: %s\n", t.gemm_source);
    assert_null(strstr(t.gemm_source, "avx512"));
    check_products(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_library_is_capped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
