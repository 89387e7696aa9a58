/* tests/unit/study/test_child.c - children: their status, their output, their limit. */
#include "study/child.h"
#include "support/test.h"

#include <drove/status.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static drove_child run(const char *script, double limit_s)
{
    static const struct timespec moment = {.tv_nsec = 2000000};
    drove_child c;
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    assert_int_equal(drove__child_start(&c, (char *const *)(void *)argv, "out.txt", "err.txt",
                                        limit_s),
                     DROVE_OK);
    while (!drove__child_has_ended(&c)) nanosleep(&moment, NULL);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    return c;
}

static void contains(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

TEST(statuses_and_output_are_kept)
{
    drove_child c = run("echo said; echo failed >&2; exit 7", 0.0);
    assert_int_equal(c.status, 7);
    assert_false(c.timed_out);
    assert_true(c.peak_bytes > 0);
    contains("out.txt", "said\n");
    contains("err.txt", "failed\n");
    assert_int_equal(run("kill -9 $$", 0.0).status, 128 + SIGKILL);
    assert_int_equal(run("cat", 0.0).status, 0); /* its input is empty */
    contains("out.txt", "");
}

TEST(a_limit_ends_it_in_order)
{
    drove_child c = run("trap 'echo ended; exit 3' TERM; while :; do sleep 0.05; done", 0.3);
    assert_true(c.timed_out);
    assert_true(c.seconds >= 0.3);
    assert_int_equal(c.status, 3);
    contains("out.txt", "ended\n");
}

TEST(who_does_not_end_is_killed)
{
    drove_child c = run("trap '' TERM; while :; do sleep 0.05; done", 0.1);
    assert_true(c.timed_out);
    assert_int_equal(c.status, 128 + SIGKILL);
}

TEST(a_program_that_is_not_there_ends_at_once)
{
    drove_child c;
    const char *argv[] = {"/nowhere/drove", NULL};
    assert_int_equal(drove__child_start(&c, (char *const *)(void *)argv, "out.txt", "err.txt", 0.0),
                     DROVE_OK);
    while (!drove__child_has_ended(&c)) continue;
    assert_int_equal(c.status, 127);
    assert_int_equal(drove__child_start(&c, (char *const *)(void *)argv, "/nowhere/out", "err.txt",
                                        0.0),
                     DROVE_E_FILE);
}
