/* The prefetchers' registers, as files in a folder: what is off is put back, however it ends. */
#include "support.h"

#include "base/prefetch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OFFSET = 0x1A4, KILLS = 60, MANY = 64, NOT_OFF = 9, NOT_BACK = 10, BACK = 11 };

/* Before: some other bits are set, and processor 1 has one prefetcher off. */
static const uint64_t before[2] = {0x20, 0x8000000000000024};
static const int both[3] = {0, 1, 0};
static const drove_prefetch_machine fake = {"cpu", "GenuineIntel"};

static void path_of(int pu, char path[64])
{
    snprintf(path, 64, "cpu/%d/msr", pu);
}

static void set_register(int pu, uint64_t value)
{
    char path[64], bytes[OFFSET + sizeof value];
    memset(bytes, 0x55, sizeof bytes);
    memcpy(bytes + OFFSET, &value, sizeof value);
    snprintf(path, sizeof path, "cpu/%d", pu);
    mkdir("cpu", 0777);
    mkdir(path, 0777);
    path_of(pu, path);
    write_bytes(path, bytes, sizeof bytes);
}

/* Async-signal-safe apart from snprintf, which is not interrupted here. */
static uint64_t get_register(int pu)
{
    char path[64];
    uint64_t value = 0;
    path_of(pu, path);
    int file = open(path, O_RDONLY);
    if (file < 0 || pread(file, &value, sizeof value, OFFSET) != (ssize_t)sizeof value) _exit(99);
    close(file);
    return value;
}

static int are_back(void)
{
    return get_register(0) == before[0] && get_register(1) == before[1];
}

static int are_off(void)
{
    return get_register(0) == (before[0] | 0xF) && get_register(1) == (before[1] | 0xF);
}

FIXTURE(make_registers)
{
    set_register(0, before[0]);
    set_register(1, before[1]);
    return 0;
}

/* Puts something else in the place of processor 1. */
static void replace_second(const char *target)
{
    char path[64];
    path_of(1, path);
    assert_int_equal(unlink(path), 0);
    if (target != NULL) assert_int_equal(symlink(target, path), 0);
}

/* ---- in one process ---- */

TEST_WITH(test_off_and_back, make_registers, NULL)
{
    bool was_cut = true;
    assert_ok(drove__prefetch_hold_off(&fake, both, 3));
    assert_true(are_off());
    assert_ok(drove__prefetch_release(&was_cut));
    assert_true(are_back());
    assert_false(was_cut);
    assert_ok(drove__prefetch_release(NULL)); /* one too many does nothing */
    assert_true(are_back());
}

TEST_WITH(test_the_last_holder_puts_back, make_registers, NULL)
{
    assert_ok(drove__prefetch_hold_off(&fake, both, 1));
    assert_int_equal(get_register(1), before[1]);
    assert_ok(drove__prefetch_hold_off(&fake, both, 2));
    assert_true(are_off());
    assert_ok(drove__prefetch_release(NULL));
    assert_true(are_off());
    assert_ok(drove__prefetch_release(NULL));
    assert_true(are_back());
}

/* Hyper-threads with one register between them: the second value saved is not the true one. */
TEST_WITH(test_shared_register, make_registers, NULL)
{
    replace_second("../0/msr");
    assert_ok(drove__prefetch_hold_off(&fake, both, 1));
    assert_ok(drove__prefetch_hold_off(&fake, both, 2));
    assert_int_equal(get_register(0), before[0] | 0xF);
    assert_ok(drove__prefetch_release(NULL));
    assert_ok(drove__prefetch_release(NULL));
    assert_int_equal(get_register(0), before[0]);
}

TEST_WITH(test_not_intel, make_registers, NULL)
{
    const drove_prefetch_machine other = {"cpu", "AuthenticAMD"};
    assert_fails(drove__prefetch_hold_off(&other, both, 2), DROVE_E_UNSUPPORTED, "AuthenticAMD");
    assert_true(are_back());
    assert_int_equal(drove__prefetch_look(&other, both, 2), DROVE_PREFETCH_UNKNOWN);
}

/* What processor 1 does wrong, and what is said of it. */
TEST_WITH(test_failure_on_the_second_rolls_back_the_first, make_registers, NULL)
{
    static const char *const cases[][3] = {
        {NULL, "processor 1: cannot open cpu/1/msr: No such file", ""},
        {"/dev/null", "processor 1: cannot read cpu/1/msr", ""},
        {"/dev/full", "processor 1: cannot write cpu/1/msr: No space left", ""},
        {"/dev/zero", "processor 1: cpu/1/msr does not keep what is written", "found 0x0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        replace_second(cases[i][0]);
        assert_fails(drove__prefetch_hold_off(&fake, both, 2), DROVE_E_UNSUPPORTED, cases[i][1]);
        assert_error_has(cases[i][2]);
        assert_int_equal(get_register(0), before[0]);
        if (cases[i][0] == NULL) set_register(1, 0);
    }
    set_register(1, before[1]);
    assert_ok(drove__prefetch_hold_off(&fake, both, 2)); /* nothing is left of the failures */
    assert_ok(drove__prefetch_release(NULL));
    assert_true(are_back());
}

/* A second holder's failure leaves the first one's registers off. */
TEST_WITH(test_failure_beside_another_holder, make_registers, NULL)
{
    replace_second("/dev/full");
    assert_ok(drove__prefetch_hold_off(&fake, both, 1));
    assert_fails(drove__prefetch_hold_off(&fake, both, 2), DROVE_E_UNSUPPORTED, "processor 1");
    assert_int_equal(get_register(0), before[0] | 0xF);
    assert_ok(drove__prefetch_release(NULL));
    assert_int_equal(get_register(0), before[0]);
}

TEST_WITH(test_look, make_registers, NULL)
{
    assert_int_equal(drove__prefetch_look(&fake, both, 1), DROVE_PREFETCH_ON);
    assert_int_equal(drove__prefetch_look(&fake, both, 2), DROVE_PREFETCH_UNKNOWN);
    set_register(1, 0xF);
    assert_int_equal(drove__prefetch_look(&fake, both + 1, 1), DROVE_PREFETCH_OFF);
    assert_int_equal(drove__prefetch_look(&fake, both, 2), DROVE_PREFETCH_UNKNOWN);
    set_register(0, 0x2F);
    assert_int_equal(drove__prefetch_look(&fake, both, 3), DROVE_PREFETCH_OFF);
    replace_second(NULL);
    assert_int_equal(drove__prefetch_look(&fake, both, 2), DROVE_PREFETCH_UNKNOWN);
    assert_string_equal(drove__prefetch_state_name(DROVE_PREFETCH_UNKNOWN), "unknown");
    assert_string_equal(drove__prefetch_state_name(DROVE_PREFETCH_ON), "on");
    assert_string_equal(drove__prefetch_state_name(DROVE_PREFETCH_OFF), "off");
}

TEST_WITH(test_the_hook, make_registers, NULL)
{
    assert_int_equal(setenv("DROVE_TEST_MSR_FOLDER", "elsewhere", 1), 0);
    assert_string_equal(drove__prefetch_machine().folder, "elsewhere");
    assert_string_equal(drove__prefetch_machine().vendor, "GenuineIntel");
    assert_int_equal(unsetenv("DROVE_TEST_MSR_FOLDER"), 0);
    assert_string_equal(drove__prefetch_machine().folder, "/dev/cpu");
}

/* ---- the ways in which a process ends ---- */

static volatile sig_atomic_t n_handled;

static void count(int number)
{
    (void)number;
    n_handled++;
}

static void leave_at_once(int number)
{
    (void)number;
    _exit(are_back() ? BACK : NOT_BACK);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void end_by_exit(int unused)
{
    (void)unused;
    exit(0);
}

static void end_by_abort(int unused)
{
    (void)unused;
    abort();
}

static void end_by_fault(int unused)
{
    int *volatile nowhere = (int *)16;
    (void)unused;
    *nowhere = 1;
}

static void end_by_signal(int number)
{
    raise(number);
    _exit(0);
}

static void end_by_signal_to_process(int number)
{
    kill(getpid(), number);
    for (;;) pause();
}

/* Switches off in a child, which then ends by `end`; returns how it ended, as waitpid says. */
static int run_child(void (*end)(int), int argument, int handled, void (*handler)(int))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO); /* a sanitizer's report of the fault */
        for (int number = 1; number < 32; number++) signal(number, SIG_DFL); /* cmocka has some */
        if (handler != NULL) handle(handled, handler);
        if (drove__prefetch_hold_off(&fake, both, 2) != DROVE_OK || !are_off()) _exit(NOT_OFF);
        end(argument);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(are_back());
    return status;
}

TEST_WITH(test_exit, make_registers, NULL)
{
    int status = run_child(end_by_exit, 0, 0, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_WITH(test_signals, make_registers, NULL)
{
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGSEGV,
                                  SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTRAP,
                                  SIGUSR1, SIGALRM, SIGXCPU, SIGPIPE, SIGVTALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int status = run_child(end_by_signal, numbers[i], 0, NULL);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        status = run_child(end_by_signal_to_process, numbers[i], 0, NULL);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
    }
    int status = run_child(end_by_fault, 0, 0, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    status = run_child(end_by_abort, 0, 0, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* The handler that was there before has the signal after us, and finds the registers put back. */
TEST_WITH(test_a_handler_that_leaves, make_registers, NULL)
{
    int status = run_child(end_by_signal, SIGTERM, SIGTERM, leave_at_once);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), BACK);
    status = run_child(end_by_fault, 0, SIGSEGV, leave_at_once);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), BACK);
}

TEST_WITH(test_a_handler_that_returns, make_registers, NULL)
{
    bool was_cut;
    handle(SIGINT, count);
    n_handled = 0;
    assert_ok(drove__prefetch_hold_off(&fake, both, 2));
    assert_true(are_off());
    raise(SIGINT);
    assert_int_equal(n_handled, 1);
    assert_true(are_back());
    raise(SIGINT);
    assert_int_equal(n_handled, 2);
    assert_fails(drove__prefetch_hold_off(&fake, both, 2), DROVE_E_UNSUPPORTED, "a signal");
    assert_ok(drove__prefetch_release(&was_cut));
    assert_true(was_cut);
    assert_ok(drove__prefetch_hold_off(&fake, both, 2)); /* and all is as new */
    assert_true(are_off());
    assert_ok(drove__prefetch_release(&was_cut));
    assert_false(was_cut);
    raise(SIGINT);
    assert_int_equal(n_handled, 3);
    handle(SIGINT, SIG_DFL);
}

/* A signal that the program ignores, or uses for its own ends, is none of our business. */
TEST_WITH(test_signals_left_alone, make_registers, NULL)
{
    struct sigaction now;
    handle(SIGUSR1, count);
    handle(SIGPIPE, SIG_IGN);
    n_handled = 0;
    assert_ok(drove__prefetch_hold_off(&fake, both, 2));
    raise(SIGUSR1);
    raise(SIGPIPE);
    assert_int_equal(n_handled, 1);
    assert_true(are_off());
    assert_ok(drove__prefetch_release(NULL));
    assert_true(are_back());
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL); /* ours is gone */
    handle(SIGUSR1, SIG_DFL);
    handle(SIGPIPE, SIG_DFL);
}

/* ---- other processes ---- */

TEST_WITH(test_other_processes, make_registers, NULL)
{
    assert_ok(drove__prefetch_hold_off(&fake, both, 2));
    for (int way = 0; way < 3; way++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            drove_status status = DROVE_E_UNSUPPORTED;
            if (way == 1) raise(SIGTERM);
            if (way == 2) status = drove__prefetch_hold_off(&fake, both, 2);
            exit(status == DROVE_E_UNSUPPORTED ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (way == 1) assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        else assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(are_off()); /* the child's end is not ours */
    }
    assert_ok(drove__prefetch_release(NULL));
    assert_true(are_back());
}

static void *hold_and_release(void *unused)
{
    int pu[MANY];
    (void)unused;
    for (int i = 0; i < MANY; i++) pu[i] = i;
    for (;;) {
        if (drove__prefetch_hold_off(&fake, pu, MANY) != DROVE_OK) continue;
        if (drove__prefetch_release(NULL) != DROVE_OK) _exit(NOT_BACK);
    }
    return NULL;
}

/* A handler that waits for its own thread would never end. */
static int wait_for(pid_t child)
{
    int status = 0;
    for (int ms = 0; ms < 20000; ms++) {
        struct timespec wait = {.tv_nsec = 1000000};
        if (waitpid(child, &status, WNOHANG) == child) return status;
        nanosleep(&wait, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    fail_msg("a child process does not end at SIGTERM");
    return status;
}

/* A signal at any moment of switching, taken by the thread that switches or by another. */
TEST_WITH(test_killed_while_switching, make_registers, NULL)
{
    for (int i = 0; i < MANY; i++) set_register(i, before[0]);
    for (int i = 0; i < KILLS; i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            pthread_t thread;
            if (i % 2 == 0) hold_and_release(NULL);
            if (pthread_create(&thread, NULL, hold_and_release, NULL) != 0) _exit(NOT_OFF);
            for (;;) pause();
        }
        struct timespec wait = {.tv_nsec = 2000000 + i * 37000};
        nanosleep(&wait, NULL);
        assert_int_equal(kill(child, SIGTERM), 0);
        int status = wait_for(child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        for (int n = 0; n < MANY; n++) assert_int_equal(get_register(n), before[0]);
    }
}
