/* What each step is said to have been: see support/reports.h. */
#include "support/reports.h"

#include "sync/sync.h"

static void every_step_is_reported(void **state)
{
    static const drove_sync_ops *const rows[] = {&drove__sync_hogwild,  &drove__sync_leashed,
                                                 &drove__sync_mutex,    &drove__sync_replicas,
                                                 &drove__sync_rwlock,   &drove__sync_sequential,
                                                 &drove__sync_softsync, &drove__sync_ssp,
                                                 &drove__sync_sync};
    (void)state;
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) check_reports(rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
