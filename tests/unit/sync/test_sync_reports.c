/* What each step is said to have been: see support/reports.h. */
#include "support/reports.h"

#include "sync/sync.h"

TEST(every_step_is_reported)
{
    static const drove_sync_ops *const rows[] = {&drove__sync_hogwild,  &drove__sync_leashed,
                                                 &drove__sync_mutex,    &drove__sync_replicas,
                                                 &drove__sync_rwlock,   &drove__sync_sequential,
                                                 &drove__sync_softsync, &drove__sync_ssp,
                                                 &drove__sync_sync};
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) check_reports(rows[i]);
}
