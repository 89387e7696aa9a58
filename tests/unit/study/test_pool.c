/* tests/unit/study/test_pool.c - children by the pool: how many at a time, and none left behind. */
#include "study/pool.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

enum { MOST_JOBS = 16 };

typedef struct work {
    size_t n, next, n_running, most_running, n_ended, stop_after, fail_at;
    const char *script; /* of each job */
    int status[MOST_JOBS];
} work;

static drove_status begin(void *context, drove_child *child, size_t *job, bool *is_begun)
{
    work *w = context;
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)w->script, NULL};
    if (w->next == w->n) return DROVE_OK;
    if (w->next == w->fail_at) return drove__fail(DROVE_E_SYSTEM, "job %zu", w->next);
    *job = w->next++;
    DROVE_TRY(drove__child_start(child, argv, "/dev/null", "/dev/null", 0.0));
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
    return DROVE_OK;
}

static bool is_stopped(void *context)
{
    const work *w = context;
    return w->n_ended >= w->stop_after;
}

static const drove_pool_ops ops = {.begin = begin, .ended = ended, .is_stopped = is_stopped};

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(every_job_ends_once)
{
    for (size_t n_at_once = 0; n_at_once <= 3; n_at_once++) {
        work w = {.n = 7, .stop_after = SIZE_MAX, .fail_at = SIZE_MAX, .script = "exit 5"};
        const size_t most = n_at_once > 0 ? n_at_once : 1;
        assert_int_equal(drove__pool_run(&ops, &w, n_at_once), DROVE_OK);
        assert_int_equal(w.n_ended, 7);
        assert_int_equal(w.n_running, 0);
        assert_int_equal(w.most_running, most);
        for (size_t i = 0; i < w.n; i++) assert_int_equal(w.status[i], 5);
        assert_no_child();
    }
}

TEST(a_stop_ends_what_runs)
{
    work w = {.n = 7, .stop_after = 0, .fail_at = SIZE_MAX, .script = "exec sleep 100"};
    assert_int_equal(drove__pool_run(&ops, &w, 2), DROVE_OK);
    assert_int_equal(w.next, 2);
    assert_int_equal(w.n_ended, 0);
    assert_no_child();
}

TEST(a_failure_ends_what_runs)
{
    work w = {.n = 7, .stop_after = SIZE_MAX, .fail_at = 2, .script = "exec sleep 100"};
    assert_int_equal(drove__pool_run(&ops, &w, 3), DROVE_E_SYSTEM);
    assert_int_equal(w.n_ended, 0);
    assert_no_child();
}
