/* The longest dots: 2^26 products of up to 2^30. */
#include "linear_support.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_no_overflow(void **state)
{
    (void)state;
    check_dots_of_extremes((size_t)1 << 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_overflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
