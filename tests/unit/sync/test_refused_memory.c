/* What the system refuses while a strategy of the registry is made: at every allocation, and at the
 * lock, the error says so, nothing is made and nothing stays.  Where nothing is refused, workers
 * write nothing behind its memory.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "support/strategies.h"
#include "support/strategy_memory.h"

#include <dlfcn.h>
#include <pthread.h>

static bool has_no_locks;

/* glibc's own, in a pointer of any function's type. */
static void find_real(const char *name, void *real, size_t size_bytes)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(real, &found, size_bytes); /* POSIX: a symbol may be a function */
}

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
    static int (*real)(pthread_rwlock_t *, const pthread_rwlockattr_t *);
    if (has_no_locks) return EAGAIN;
    if (real == NULL) find_real("pthread_rwlock_init", &real, sizeof real);
    return real(lock, attributes);
}

int pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes)
{
    static int (*real)(pthread_mutex_t *, const pthread_mutexattr_t *);
    if (has_no_locks) return EAGAIN;
    if (real == NULL) find_real("pthread_mutex_init", &real, sizeof real);
    return real(lock, attributes);
}

static void walk(const drove_sync_ops *ops, const char *variant)
{
    const unsigned n_workers = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : 2;
    const rig_options o = {.ops = ops, .variant = variant, .n_workers = n_workers};
    assert_int_equal(strategy_memory_walk(o), DROVE_OK);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    for_each_variant(walk);
}

/* One, a pair, and numbers whose trees of sums have a worker left over. */
static void step(const drove_sync_ops *ops, const char *variant)
{
    static const unsigned n_workers[] = {1, 2, 3, 4, 7, 8};
    const size_t n = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : DROVE_COUNT(n_workers);
    for (size_t i = 0; i < n; i++) strategy_memory_steps(ops, variant, n_workers[i]);
}

TEST(steps_write_nothing_behind_their_memory)
{
    for_each_variant(step);
}

static unsigned n_refused;

static void refuse(const drove_sync_ops *ops, const char *variant)
{
    float theta[64] = {0};
    drove_sync *s = NULL;
    rig r;
    const unsigned n_workers = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : 2;
    const rig_options o = {.ops = ops, .variant = variant, .n_workers = n_workers};
    rig_init_row(&r, o);
    const drove_sync_options opt = rig_sync_options(&r, &o);
    has_no_locks = true;
    no_memory_begin(0);
    const drove_status status = drove__sync_create(ops, &opt, &(drove_params){.theta = theta}, &s);
    (void)no_memory_end();
    if ((status != DROVE_OK && status != DROVE_E_SYSTEM) || (status == DROVE_OK) != (s != NULL))
        fail_msg("%s: status %d: %s", variant, status, drove_error_text());
    n_refused += status != DROVE_OK;
    drove__sync_destroy(s);
    has_no_locks = false;
    if (no_memory_live() != 0) fail_msg("%s: %zu pieces of memory stay", variant, no_memory_live());
    rig_fini(&r);
}

/* Some need none. */
TEST(a_lock_that_is_refused_leaves_nothing)
{
    if (!no_memory_works()) skip();
    for_each_variant(refuse);
    assert_true(n_refused >= 8);
}
