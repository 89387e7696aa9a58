/* A serialised strategy: views are copies, everything has its place in one order, and nobody else
 * is inside while a worker steps in place.  The strategy within notes who is inside it. */
#include "strategy/serialised.h"

#include "base/cpu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N = 20, N_WORKERS = 2 };

static float shared[N];
static unsigned n_inside, n_wrong, n_released; /* wrong: another was inside; under the lock */
static drove_status acquired;                  /* what acquire returns */

static void enter(void)
{
    n_wrong += n_inside++ != 0;
}

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt, (void)start;
    s->impl = shared;
    memset(shared, 0, sizeof shared);
    n_inside = n_wrong = n_released = 0;
    acquired = DROVE_OK;
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    (void)s;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)s, (void)worker;
    enter();
    *view = (drove_view){.vector = shared};
    n_inside--;
    return acquired;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
    n_released++;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)s, (void)worker;
    enter();
    for (unsigned i = 0; i < N; i++) shared[i] -= step->value[i];
    *info = (drove_publish_info){.attempts = 1};
    n_inside--;
    return DROVE_OK;
}

static drove_params live(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
    enter();
    return (drove_params){.theta = shared};
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    (void)s, (void)worker, (void)n_steps;
    n_inside--;
    *info = (drove_publish_info){.attempts = 1};
    return DROVE_OK;
}

static const drove_sync_ops racy = {.name = "racy",
                                    .promises = DROVE_SYNC_LOCK_FREE,
                                    .needs = DROVE_SYNC_RACY | DROVE_SYNC_LIVE,
                                    .init = init,
                                    .fini = fini,
                                    .acquire = acquire,
                                    .release = release,
                                    .publish = publish,
                                    .live = live,
                                    .live_done = live_done};

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_sync *s;
} rig;

static void make_rig(rig *r, bool is_typed)
{
    float theta[N] = {0};
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options opt = {.rule = "sgd",
                                     .schedule = "constant",
                                     .lr = 1.0,
                                     .n_params = N,
                                     .n_workers = N_WORKERS,
                                     .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&opt, &r->optim), DROVE_OK);
    const drove_sync_options of = {.n_workers = N_WORKERS, .optim = r->optim};
    assert_int_equal(drove__sync_create(&racy, &of, &(drove_params){.theta = theta}, &r->s),
                     DROVE_OK);
    assert_int_equal(drove__sync_serialise(r->s, is_typed), DROVE_OK);
}

static void free_rig(rig *r)
{
    assert_int_equal(n_wrong, 0);
    drove__sync_destroy(r->s);
    drove__optim_destroy(r->optim);
}

static uint64_t publish_one(drove_sync *s, unsigned worker)
{
    float value[N];
    drove_publish_info info;
    for (unsigned i = 0; i < N; i++) value[i] = (float)(i + 1);
    const drove_step step = {.value = value, .eta = 1.0f};
    assert_int_equal(s->ops->publish(s, worker, &step, &info), DROVE_OK);
    return info.order;
}

static void a_view_stays_as_it_was(void **state)
{
    (void)state;
    rig r;
    drove_view view;
    make_rig(&r, false);
    assert_int_equal(r.s->ops->promises, DROVE_SYNC_SNAPSHOT | DROVE_SYNC_ORDERED);
    assert_int_equal(r.s->needs, 0);
    assert_true(r.s->ops->live == NULL && r.s->ops->live_done == NULL);
    for (unsigned k = 0; k < 5; k++) {
        assert_int_equal(r.s->ops->acquire(r.s, k % 2, &view), DROVE_OK);
        assert_int_equal(view.order, k);
        assert_int_equal(n_released, k + 1); /* as soon as there is a copy */
        assert_int_equal(publish_one(r.s, 1 - k % 2), k);
        for (unsigned i = 0; i < N; i++) {
            assert_true(view.vector[i] == -(float)(k * (i + 1)));
            assert_true(shared[i] == -(float)((k + 1) * (i + 1)));
        }
        r.s->ops->release(r.s, k % 2);
        assert_int_equal(n_released, k + 1);
    }
    free_rig(&r);
}

/* The lock is free again: the next publication goes on. */
static void a_view_that_fails_holds_nothing(void **state)
{
    (void)state;
    rig r;
    drove_view view;
    make_rig(&r, false);
    acquired = DROVE_E_SYSTEM;
    assert_int_equal(r.s->ops->acquire(r.s, 0, &view), DROVE_E_SYSTEM);
    assert_int_equal(n_released, 0);
    assert_int_equal(publish_one(r.s, 1), 0);
    free_rig(&r);
}

static void *publish_beside(void *of)
{
    (void)publish_one(of, 1);
    return NULL;
}

static void steps_in_place_have_the_lock_and_a_place(void **state)
{
    (void)state;
    rig r;
    drove_publish_info info;
    pthread_t thread;
    make_rig(&r, true);
    for (uint64_t k = 0; k < 9; k += 3) {
        assert_true(r.s->ops->live(r.s, 0).theta == shared);
        assert_int_equal(pthread_create(&thread, NULL, publish_beside, r.s), 0);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        assert_int_equal(r.s->ops->live_done(r.s, 0, 1, &info), DROVE_OK);
        assert_int_equal(info.order, k);
        assert_int_equal(pthread_join(thread, NULL), 0);
        (void)r.s->ops->live(r.s, 0);
        n_inside--; /* there is no live_end within */
        assert_int_equal(r.s->ops->live_end(r.s, 0), k + 2);
    }
    free_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_stays_as_it_was),
        cmocka_unit_test(a_view_that_fails_holds_nothing),
        cmocka_unit_test(steps_in_place_have_the_lock_and_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
