/* Memory that is there: some, and no more than the machine has. */
#include "base/available.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static void some_and_not_more_than_the_machine_has(void **state)
{
    (void)state;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t available = drove__memory_available();
    assert_true(available > (1u << 20));
    assert_true(available <= machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(some_and_not_more_than_the_machine_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
