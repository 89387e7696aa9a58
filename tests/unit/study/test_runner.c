/* tests/unit/study/test_runner.c - children: their status, output and limit; how many at once, and
 * none left behind. */
#include "study/runner.h"
#include "support/test.h"
#include "values/progress.h"

#include <drove/status.h>
#include <drove/train.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JOBS = 16 };

static void say(drove_command *c, const char *script)
{
    drove__command_add(c, "/bin/sh");
    drove__command_add(c, "-c");
    drove__command_add(c, script);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static drove_child run(const char *script, double limit_s)
{
    drove_child child;
    drove_command c = {.out = "out.txt", .err = "err.txt", .limit_s = limit_s};
    say(&c, script);
    assert_int_equal(drove__command_run(&c, drove__run_interrupts(), &child), DROVE_OK);
    drove__command_fini(&c);
    assert_no_child();
    return child;
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

TEST(words_arrive_as_they_are)
{
    char word[32];
    drove_child child;
    drove_command c = {.out = "out.txt", .err = "err.txt"};
    say(&c, "printf '%s|' \"$@\"");
    drove__command_add(&c, "sh");
    for (int i = 0; i < 40; i++) {
        snprintf(word, sizeof word, "%d", i);
        drove__command_set(&c, "weight_decay", word);
    }
    assert_int_equal(drove__command_run(&c, drove__run_interrupts(), &child), DROVE_OK);
    drove__command_fini(&c);
    char text[1024] = "", expected[1024] = "";
    for (int i = 0; i < 40; i++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                 "--weight-decay=%d|", i);
    FILE *file = fopen("out.txt", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
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

TEST(an_interrupt_ends_it)
{
    drove_child child;
    drove_command c = {.out = "out.txt", .err = "err.txt"};
    const uint64_t before = drove__run_interrupts();
    say(&c, "exec sleep 100");
    drove_train_interrupt(SIGTERM);
    assert_int_equal(drove__command_run(&c, before, &child), DROVE_OK);
    drove__command_fini(&c);
    assert_int_equal(child.signal, SIGTERM);
    assert_false(child.timed_out);
}

TEST(a_program_that_is_not_there_ends_at_once)
{
    drove_child child;
    drove_command c = {.out = "out.txt", .err = "err.txt"};
    drove__command_add(&c, "/nowhere/drove");
    assert_int_equal(drove__command_run(&c, drove__run_interrupts(), &child), DROVE_OK);
    assert_int_equal(child.status, 127);
    strcpy(c.out, "/nowhere/out");
    assert_int_equal(drove__command_run(&c, drove__run_interrupts(), &child), DROVE_E_FILE);
    drove__command_fini(&c);
}

TEST(statuses_are_kept_where_sigchld_is_ignored)
{
    struct sigaction now;
    void (*const before)(int) = signal(SIGCHLD, SIG_IGN);
    const drove_child c = run("exit 7", 0.0);
    assert_int_equal(c.status, 7);
    assert_false(c.is_lost);
    assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    (void)signal(SIGCHLD, before);
}

TEST(a_message_is_the_last_line)
{
    static const char *const cases[][2] = {
        {"", ""}, {"\n\n", ""}, {"one\ndrove: two\n\n", "two"}, {"alone", "alone"}};
    char message[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *file = fopen("err.txt", "w");
        assert_non_null(file);
        fputs(cases[i][0], file);
        fclose(file);
        drove__child_message("err.txt", message, sizeof message);
        assert_string_equal(message, cases[i][1]);
    }
    drove__child_message("not-there.txt", message, sizeof message);
    assert_string_equal(message, "");
}

/* ---- many ---- */

typedef struct work {
    size_t n, next, n_running, most_running, n_ended, stop_after, fail_at;
    const char *script; /* of each job */
    void (*watch)(void *context);
    int status[MOST_JOBS];
    bool is_lost[MOST_JOBS];
} work;

static drove_status begin(void *context, drove_command *command, size_t *job, bool *is_begun)
{
    work *w = context;
    if (w->next == w->n) return DROVE_OK;
    if (w->next == w->fail_at) return drove__fail(DROVE_E_SYSTEM, "job %zu", w->next);
    *job = w->next++;
    say(command, w->script);
    strcpy(command->out, "/dev/null");
    strcpy(command->err, "/dev/null");
    *is_begun = true;
    w->n_running++;
    if (w->n_running > w->most_running) w->most_running = w->n_running;
    return DROVE_OK;
}

static drove_status ended(void *context, size_t job, const drove_child *child)
{
    work *w = context;
    w->n_running--;
    w->n_ended++;
    w->status[job] = child->status;
    w->is_lost[job] = child->is_lost;
    if (w->n_ended == w->stop_after) drove_train_interrupt(SIGINT);
    return DROVE_OK;
}

static drove_status run_all(work *w, size_t n_at_once)
{
    const drove_runner runner = {.n_at_once = n_at_once,
                                 .interrupts = drove__run_interrupts(),
                                 .begin = begin,
                                 .ended = ended,
                                 .watch = w->watch,
                                 .context = w};
    const drove_status status = drove__runner_run(&runner);
    assert_no_child();
    return status;
}

TEST(every_job_ends_once)
{
    for (size_t n_at_once = 0; n_at_once <= 3; n_at_once++) {
        work w = {.n = 7, .stop_after = SIZE_MAX, .fail_at = SIZE_MAX, .script = "exit 5"};
        const size_t most = n_at_once > 0 ? n_at_once : 1;
        assert_int_equal(run_all(&w, n_at_once), DROVE_OK);
        assert_int_equal(w.n_ended, 7);
        assert_int_equal(w.n_running, 0);
        assert_int_equal(w.most_running, most);
        for (size_t i = 0; i < w.n; i++) assert_int_equal(w.status[i], 5);
    }
}

static void wait_elsewhere(void *context)
{
    (void)context;
    (void)waitpid(-1, NULL, 0);
}

TEST(a_status_that_is_lost_is_none)
{
    work w = {.n = 1, .stop_after = SIZE_MAX, .fail_at = SIZE_MAX, .script = "exit 0"};
    w.watch = wait_elsewhere;
    assert_int_equal(run_all(&w, 1), DROVE_OK);
    assert_true(w.is_lost[0]);
    assert_int_equal(w.status[0], -1);
}

TEST(a_stop_ends_what_runs)
{
    work w = {.n = 7, .stop_after = 1, .fail_at = SIZE_MAX, .script = "sleep 0.1; exit 5"};
    assert_int_equal(run_all(&w, 1), DROVE_OK);
    assert_int_equal(w.n_ended, 1);
    assert_int_equal(w.next, 1);
    (void)rmdir("held"); /* of an earlier run of this test */
    w = (work){.n = 7, .stop_after = 1, .fail_at = SIZE_MAX};
    w.script = "mkdir held 2>/dev/null || exec sleep 100"; /* one of three ends by itself */
    assert_int_equal(run_all(&w, 3), DROVE_OK);
    assert_int_equal(w.n_ended, 1);
    assert_int_equal(w.next, 3);
}

TEST(a_failure_ends_what_runs)
{
    work w = {.n = 7, .stop_after = SIZE_MAX, .fail_at = 2, .script = "exec sleep 100"};
    assert_int_equal(run_all(&w, 3), DROVE_E_SYSTEM);
    assert_int_equal(w.n_ended, 0);
}
