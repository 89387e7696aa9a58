/* Eight workers at once through every row of the registry: what NO_LOSS and SNAPSHOT promise. */
#include "support/promises.h"

TEST(no_step_is_lost)
{
    for_each_variant(promise_no_loss);
}

TEST(every_view_is_whole)
{
    for_each_variant(promise_snapshot);
}
