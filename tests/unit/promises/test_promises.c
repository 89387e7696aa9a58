/* What a strategy promises of its bits: every row of the registry. */
#include "support/promises.h"

static void one_worker_equals_sequential(void **state)
{
    (void)state;
    for_each_variant(promise_sequential);
}

static void delays_change_no_bit(void **state)
{
    (void)state;
    for_each_variant(promise_repeatable);
}

static void a_restored_run_goes_on(void **state)
{
    (void)state;
    for_each_variant(promise_restored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_equals_sequential),
        cmocka_unit_test(delays_change_no_bit),
        cmocka_unit_test(a_restored_run_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
