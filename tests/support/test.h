/* tests/support/test.h - cmocka, and cases that register themselves; main is in test.c.
 *
 *     #include "support/test.h"
 *
 *     TEST(sums_of_small_integers_are_exact)
 *     {
 *         assert_int_equal(1 + 1, 2);
 *     }
 *
 * is a whole test.  Its cases run in the order of their lines.  A case is the function
 * static void NAME(void **state), so that others may be called by it, or it by others.
 *
 * usage: PROGRAM [FILE] [--list]
 * FILE: the name of a file's test, such as test_queue; needed where the program has several.
 * --list prints the names of its cases instead of running them.  The environment variable
 * DROVE_TEST_FILTER chooses cases by name, with the wildcards of the shell; the test fails if it
 * chooses none.
 */
#ifndef DROVE_TESTS_SUPPORT_TEST_H
#define DROVE_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One case.  The body sees void **state: what its setup, or else that of the program, left in
 * *state. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* One case with a setup before it, a teardown after it, or both; the other is NULL. */
#define TEST_WITH(name, setup, teardown)                                                           \
    static void                              name(void **state);                                   \
    __attribute__((constructor)) static void name##_registers(void)                                \
    {                                                                                              \
        static struct drove_test registered_ = {                                                   \
            cmocka_unit_test_setup_teardown(name, setup, teardown), __FILE__, __LINE__, NULL};     \
        drove_test_register(&registered_);                                                         \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* A setup or a teardown; it returns 0, or anything else if it failed.
 *
 *     FIXTURE(open_file)
 *     {
 *         file = fopen("input", "rb");
 *         return file == NULL;
 *     }
 */
#define FIXTURE(name) static int name(__attribute__((unused)) void **state)

/* GROUP(setup, teardown); - at most once in a file: these run before its first case and after its
 * last; either may be NULL.  Where the setup fails, no case runs and the test fails. */
#define GROUP(setup, teardown)                                                                     \
    __attribute__((constructor)) static void drove_test_group_registers(void)                      \
    {                                                                                              \
        static struct drove_test_group group_ = {setup, teardown, __FILE__, NULL};                 \
        drove_test_register_group(&group_);                                                        \
    }                                                                                              \
    _Static_assert(1, "GROUP ends with a semicolon")

/* For tests that do another part of their work each day: days since 1970, or what the environment
 * variable DROVE_TEST_DAY says.  The first call prints it. */
unsigned test_day(void);

/* Defined by a program that starts itself again: called in the place of the cases when there are
 * arguments; the result is the exit status. */
int drove_test_started_again(int argc, char **argv);

struct drove_test {
    struct CMUnitTest  unit;
    const char        *file;
    int                line;
    struct drove_test *next;
};

struct drove_test_group {
    CMFixtureFunction        setup, teardown;
    const char              *file;
    struct drove_test_group *next;
};

void drove_test_register(struct drove_test *test);
void drove_test_register_group(struct drove_test_group *group);

#endif
