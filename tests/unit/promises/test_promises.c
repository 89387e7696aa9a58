/* What a strategy promises of its bits: every row of the registry. */
#include "support/promises.h"

TEST(one_worker_equals_sequential)
{
    for_each_variant(promise_sequential);
}

TEST(delays_change_no_bit)
{
    for_each_variant(promise_repeatable);
}

TEST(a_restored_run_goes_on)
{
    for_each_variant(promise_restored);
}
