/* tests/stress/test_planted_race.c - is ThreadSanitizer awake?
 *
 * One race is planted: two threads add to a plain variable.  A build with ThreadSanitizer must
 * report it, or its silence about everything else means nothing.  The same two threads through
 * base/racy.h must not be reported.  The test runs itself again in a child process, because a
 * report ends the process.  Other builds skip it.
 */
#include "base/racy.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { REPORTED = 66, N_STEPS = 1000 };

static float shared_value; /* written by both threads, on purpose without order */

static void *add_plainly(void *unused)
{
    (void)unused;
    for (int i = 0; i < N_STEPS; i++) shared_value += 1.0f;
    return NULL;
}

static void *add_racily(void *unused)
{
    (void)unused;
    for (int i = 0; i < N_STEPS; i++) {
        drove__racy_store(&shared_value, drove__racy_load(&shared_value) + 1.0f);
    }
    return NULL;
}

static int run_two(void *(*body)(void *))
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread[i], NULL, body, NULL) != 0) return 2;
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return 0;
}

/* Exit status of this program run again with `what`. */
static int status_of_child(const char *what)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TSAN_OPTIONS", "exitcode=66:halt_on_error=1", 1);
        execl("/proc/self/exe", "test_planted_race", what, (char *)NULL);
        _exit(3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void planted_race_is_reported(void **state)
{
    (void)state;
    if (!DROVE_TSAN) {
        printf("skip: not a build with ThreadSanitizer\n");
        skip();
    }
    assert_int_equal(status_of_child("plain"), REPORTED);
}

static void racy_access_is_not_reported(void **state)
{
    (void)state;
    assert_int_equal(status_of_child("racy"), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "plain") == 0) return run_two(add_plainly);
    if (argc == 2 && strcmp(argv[1], "racy") == 0) return run_two(add_racily);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_race_is_reported),
        cmocka_unit_test(racy_access_is_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
