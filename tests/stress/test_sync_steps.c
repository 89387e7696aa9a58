/* Eight workers at once through every row of the registry: what NO_LOSS and SNAPSHOT promise.
 * ctest: timeout=300
 */
#include "support/promises.h"

static void no_step_is_lost(void **state)
{
    (void)state;
    for_each_variant(promise_no_loss);
}

static void every_view_is_whole(void **state)
{
    (void)state;
    for_each_variant(promise_snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_is_lost),
        cmocka_unit_test(every_view_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
