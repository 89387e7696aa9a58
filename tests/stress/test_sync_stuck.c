/* A worker that stops stops nobody where LOCK_FREE is promised: every row of the registry. */
#include "support/promises.h"

TEST(a_stopped_worker)
{
    for_each_variant(promise_lock_free);
}
