/* A worker that stops stops nobody where LOCK_FREE is promised: every row of the registry. */
#include "support/promises.h"

static void a_stopped_worker(void **state)
{
    (void)state;
    for_each_variant(promise_lock_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stopped_worker)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
