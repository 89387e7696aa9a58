/* Memory and processors that are there: some, and no more than the machine has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "base/available.h"
#include "support/test.h"

#include <sched.h>
#include <unistd.h>

TEST(some_and_not_more_than_the_machine_has)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t available = drove__memory_available();
    assert_true(available > (1u << 20));
    assert_true(available <= machine);
    assert_true(drove__memory_most() >= available);
    assert_true(drove__memory_most() <= machine);
}

TEST(processors_follow_the_affinity)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    unsigned n = drove__processors_available();
    assert_true(n >= 1 && n <= (unsigned)CPU_COUNT(&all));
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(drove__processors_available(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
