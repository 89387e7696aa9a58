/* Error texts: per thread, one line, cut where they are too long; names; exit statuses. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

TEST(test_starts_empty)
{
    assert_string_equal(drove_error_text(), "");
}

TEST(test_fail_returns_its_status)
{
    assert_int_equal(drove__fail(DROVE_E_DATA, "%s: line %d", "a.csv", 7), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), "a.csv: line 7");
}

TEST(test_context_goes_before)
{
    drove__fail(DROVE_E_ARG, "expected a number");
    assert_int_equal(drove__fail_in(DROVE_E_SHAPE, "--batch (%d)", 3), DROVE_E_SHAPE);
    assert_string_equal(drove_error_text(), "--batch (3): expected a number");
    drove__fail(DROVE_E_ARG, "again: %s", drove_error_text()); /* reads what it replaces */
    assert_string_equal(drove_error_text(), "again: --batch (3): expected a number");
}

TEST(test_no_memory_and_errno)
{
    assert_int_equal(drove__fail_nomem("weights", 4096), DROVE_E_NOMEM);
    assert_error_has("weights");
    assert_error_has("4096 bytes");
    assert_int_equal(drove__fail_errno(DROVE_E_IO, ENOENT, "%s", "x.gz"), DROVE_E_IO);
    assert_string_equal(drove_error_text(), "x.gz: No such file or directory");
}

TEST(test_is_one_line_and_cut)
{
    drove__fail(DROVE_E_DATA, "found \"%s\"", "a\nb\tc\x1b[2J\x7f");
    assert_string_equal(drove_error_text(), "found \"a?b?c?[2J?\"");
    drove__fail(DROVE_E_DATA, "found \"%s\"",
                "a\xc2\x9b"
                "2J\xc2\xa0\xc3\x9b");
    assert_string_equal(drove_error_text(), "found \"a??2J\xc2\xa0\xc3\x9b\"");
    char text[3 * DROVE_ERROR_TEXT_SIZE];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    drove__fail(DROVE_E_DATA, "%s", text);
    assert_int_equal(strlen(drove_error_text()), DROVE_ERROR_TEXT_SIZE - 1);
    drove__fail(DROVE_E_DATA, "found 3");
    drove__fail_in(DROVE_E_DATA, "%s", text);
    assert_error_has("xxx: found 3"); /* the end is what matters */
    drove__fail_errno(DROVE_E_IO, ENOSPC, "%s", text);
    assert_error_has("xxx: No space left on device");
    char copy[DROVE_ERROR_TEXT_SIZE];
    drove__error_copy(copy);
    assert_string_equal(copy, drove_error_text());
}

static void *fail_elsewhere(void *copy)
{
    if (strcmp(drove_error_text(), "") != 0) return "not empty";
    drove__fail(DROVE_E_SYSTEM, "elsewhere");
    drove__error_copy(copy);
    return NULL;
}

TEST(test_each_thread_has_its_own)
{
    pthread_t thread;
    void *problem;
    char copy[DROVE_ERROR_TEXT_SIZE];
    drove__fail(DROVE_E_ARG, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, copy), 0);
    assert_int_equal(pthread_join(thread, &problem), 0);
    assert_null(problem);
    assert_string_equal(drove_error_text(), "here");
    assert_string_equal(copy, "elsewhere");
}

static drove_status forward(drove_status status, int *reached)
{
    DROVE_TRY(status);
    *reached = 1;
    return DROVE_OK;
}

TEST(test_try_forwards)
{
    int reached = 0;
    assert_int_equal(forward(DROVE_E_NOMEM, &reached), DROVE_E_NOMEM);
    assert_int_equal(reached, 0);
    assert_int_equal(forward(DROVE_OK, &reached), DROVE_OK);
    assert_int_equal(reached, 1);
}

TEST(test_names_and_exit_statuses)
{
    static const struct {
        drove_status status;
        const char *name;
        int exit;
    } expected[] = {
        {DROVE_OK, "DROVE_OK", 0},
        {DROVE_E_ARG, "DROVE_E_ARG", 2},
        {DROVE_E_SHAPE, "DROVE_E_SHAPE", 2},
        {DROVE_E_DATA, "DROVE_E_DATA", 2},
        {DROVE_E_FILE, "DROVE_E_FILE", 2},
        {DROVE_E_IO, "DROVE_E_IO", 1},
        {DROVE_E_NOMEM, "DROVE_E_NOMEM", 1},
        {DROVE_E_NONFINITE, "DROVE_E_NONFINITE", 3},
        {DROVE_E_EXISTS, "DROVE_E_EXISTS", 2},
        {DROVE_E_UNSUPPORTED, "DROVE_E_UNSUPPORTED", 2},
        {DROVE_E_SYSTEM, "DROVE_E_SYSTEM", 1},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_string_equal(drove_status_name(expected[i].status), expected[i].name);
        assert_int_equal(drove_status_exit(expected[i].status), expected[i].exit);
    }
    assert_non_null(drove_status_name((drove_status)99));
    assert_int_equal(drove_status_exit((drove_status)99), 1);
}
