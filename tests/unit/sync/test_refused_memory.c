/* What the system refuses while a strategy of the registry is made: at every allocation, and at the
 * lock, the error says so, nothing is made and nothing stays.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "support/strategies.h"

#include <dlfcn.h>
#include <pthread.h>

#include "support/no_memory.h"

enum { MOST_CALLS = 10000 };

static bool has_no_locks;

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
    static int (*real)(pthread_rwlock_t *, const pthread_rwlockattr_t *);
    if (has_no_locks) return EAGAIN;
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_rwlock_init");
        memcpy(&real, &found, sizeof real); /* POSIX: a symbol may be a function */
    }
    return real(lock, attributes);
}

static drove_status create_again(rig *r, unsigned n_workers, drove_sync **out)
{
    float theta[64] = {0};
    const drove_sync_options opt = {
        .spec = &r->spec, .n_workers = n_workers, .optim = r->optim, .seed = 1};
    const drove_params start = {.theta = theta};
    return drove__sync_create(find_strategy(r->spec.name), &opt, &start, out);
}

static void walk(const drove_sync_ops *ops, const char *variant)
{
    const unsigned n_workers = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : 2;
    rig r;
    unsigned long n = 1;
    rig_init(&r, (rig_options){.variant = variant, .n_workers = n_workers});
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_sync *s = NULL;
        no_memory_begin(n);
        const drove_status status = create_again(&r, n_workers, &s);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK) || has_failed != (s == NULL))
            fail_msg("%s, allocation %lu: status %d: %s", variant, n, status, drove_error_text());
        drove__sync_destroy(s);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", variant, n, no_memory_live());
    }
    assert_in_range(n, 3, MOST_CALLS - 1);
    rig_fini(&r);
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
    (void)state;
    if (!no_memory_works()) skip();
    for_each_variant(walk);
}

static void a_lock_that_is_refused_leaves_nothing(void **state)
{
    drove_sync *s = NULL;
    rig r;
    (void)state;
    if (!no_memory_works()) skip();
    rig_init(&r, (rig_options){.variant = "rwlock", .n_workers = 2});
    has_no_locks = true;
    no_memory_begin(0);
    assert_int_equal(create_again(&r, 2, &s), DROVE_E_SYSTEM);
    (void)no_memory_end();
    has_no_locks = false;
    assert_null(s);
    assert_int_equal(no_memory_live(), 0);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_leaves_nothing),
        cmocka_unit_test(a_lock_that_is_refused_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
