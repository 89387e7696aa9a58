/* Memory that is there: some, and no more than the machine has. */
#include "base/available.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Of 1000 bytes 900 are used, 600 of them by pages of files, which can be had. */
static void pages_of_files_are_free(void **state)
{
    (void)state;
    assert_true(drove__memory_left_by_group("no such folder") == UINT64_MAX);
    write_file("memory.max", "max\n");
    write_file("memory.current", "900\n");
    assert_true(drove__memory_left_by_group(".") == UINT64_MAX);
    write_file("memory.max", "1000\n");
    write_file("memory.stat", "anon 300\nfile 600\ninactive_anon 1\ninactive_file 200\n"
                              "active_file 400\nworkingset_activate_file 7\n");
    assert_int_equal(drove__memory_left_by_group("."), 700);
    write_file("memory.stat", "inactive_file 5000\n"); /* read a moment later than the sum */
    assert_int_equal(drove__memory_left_by_group("."), 1000);
    assert_int_equal(remove("memory.stat"), 0);
    assert_int_equal(drove__memory_left_by_group("."), 100);
    write_file("memory.current", "2000\n");
    assert_int_equal(drove__memory_left_by_group("."), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_and_not_more_than_the_machine_has),
        cmocka_unit_test(pages_of_files_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
