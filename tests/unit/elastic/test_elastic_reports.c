/* What each step is said to have been: see support/reports.h. */
#include "support/reports.h"

#include "elastic/elastic.h"

TEST(every_step_is_reported)
{
    static const drove_sync_ops *const rows[] = {
        &drove__sync_easgd,         &drove__sync_easgd_async, &drove__sync_measgd_async,
        &drove__sync_easgd_hogwild, &drove__sync_easgd_sync1, &drove__sync_easgd_sync2,
        &drove__sync_easgd_sync3,   &drove__sync_psgd_async,  &drove__sync_pmsgd_async,
        &drove__sync_psgd_hogwild,  &drove__sync_allreduce,   &drove__sync_local,
        &drove__sync_diloco};
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) check_reports(rows[i]);
}
