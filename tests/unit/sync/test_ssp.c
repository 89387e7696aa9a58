/* Stale-synchronous: the bound to the step, who waits for whom, and being stopped. */
#include "support/strategies.h"

#include <pthread.h>

static const float gradient[64] = {1.0f};

typedef struct runner { /* takes one step on a thread of its own */
    rig *r;
    unsigned worker;
    _Atomic int begun, done;
    drove_status status;
    drove_view view;
    pthread_t thread;
} runner;

static void *run_one(void *arg)
{
    runner *a = arg;
    atomic_store(&a->begun, 1);
    a->status = take_step(a->r, a->worker, gradient, 1.0f, &a->view, NULL);
    atomic_store(&a->done, 1);
    return NULL;
}

static void start(runner *a, rig *r, unsigned worker)
{
    a->r = r;
    a->worker = worker;
    atomic_init(&a->begun, 0);
    atomic_init(&a->done, 0);
    assert_int_equal(pthread_create(&a->thread, NULL, run_one, a), 0);
    while (atomic_load(&a->begun) == 0) rest_us(100); /* a busy machine starts it late */
}

static void step_ok(rig *r, unsigned worker)
{
    assert_int_equal(take_step(r, worker, gradient, 1.0f, NULL, NULL), DROVE_OK);
}

/* Three workers: 0 may take bound + 1 steps while the others stand, and the next only after both
 * have moved.  Returns the time that it says it waited. */
static uint64_t wait_at_the_bound(const char *variant, unsigned bound)
{
    rig r;
    runner a;
    rig_init(&r, (rig_options){.variant = variant, .n_workers = 3});
    for (unsigned i = 0; i < bound + 1; i++) step_ok(&r, 0);
    start(&a, &r, 0);
    rest_us(30000);
    assert_int_equal(atomic_load(&a.done), 0);
    step_ok(&r, 1);
    rest_us(30000);
    assert_int_equal(atomic_load(&a.done), 0);
    step_ok(&r, 2);
    pthread_join(a.thread, NULL);
    assert_int_equal(a.status, DROVE_OK);
    assert_int_equal(a.view.version, bound + 3);
    rig_fini(&r);
    return a.view.wait_ns;
}

static void the_bound_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *variant;
        unsigned bound;
    } cases[] = {{"ssp:0", 0}, {"ssp:1", 1}, {"ssp", 3}, {"ssp:4", 4}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        uint64_t wait_ns = 0;
        for (unsigned i = 0; i < 50 && wait_ns <= 40000000; i++) /* a busy machine starts it late */
            wait_ns = wait_at_the_bound(cases[c].variant, cases[c].bound);
        assert_true(wait_ns > 40000000);
    }
}

static void stop_wakes_the_waiting(void **state)
{
    (void)state;
    rig r;
    runner a, b;
    rig_init(&r, (rig_options){.variant = "ssp:0", .n_workers = 3});
    step_ok(&r, 0);
    step_ok(&r, 1);
    start(&a, &r, 0);
    start(&b, &r, 1);
    rest_us(20000);
    r.sync->ops->stop(r.sync);
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    assert_int_equal(a.status, DROVE_E_SYSTEM);
    assert_int_equal(b.status, DROVE_E_SYSTEM);
    assert_int_equal(take_step(&r, 2, gradient, 1.0f, NULL, NULL), DROVE_E_SYSTEM);
    assert_int_equal(atomic_load(&r.sync->published), 2);
    rig_fini(&r);
}

static void a_lost_worker_is_waited_for_no_more(void **state)
{
    (void)state;
    rig r;
    runner a;
    rig_init(&r, (rig_options){.variant = "ssp:0", .n_workers = 3});
    step_ok(&r, 0);
    step_ok(&r, 1);
    start(&a, &r, 0);
    rest_us(20000);
    assert_int_equal(atomic_load(&a.done), 0);
    r.sync->ops->leave(r.sync, 2);
    pthread_join(a.thread, NULL);
    assert_int_equal(a.status, DROVE_OK);
    step_ok(&r, 1);
    assert_int_equal(atomic_load(&r.sync->published), 4);
    rig_fini(&r);
}

/* ---- eight workers at their own pace ---- */

enum { T = 8, BOUND = 2, STEPS = 300 };

typedef struct pace {
    _Atomic uint64_t begun[T]; /* publications begun: never behind the strategy's clock */
    uint64_t too_far[T], too_stale[T], failed[T];
} pace;

static void keep_pace(rig *r, unsigned worker, void *arg)
{
    pace *p = arg;
    drove_step step = {.value = gradient, .eta = 1.0f};
    for (uint64_t i = 0; i < STEPS; i++) {
        drove_view view;
        drove_publish_info info = {0};
        if (worker == 3 && i % 16 == 0) rest_us(300);
        if (r->sync->ops->acquire(r->sync, worker, &view) != DROVE_OK) p->failed[worker]++;
        for (unsigned w = 0; w < T; w++)
            if (i > atomic_load(&p->begun[w]) + BOUND) p->too_far[worker]++;
        r->sync->ops->release(r->sync, worker);
        atomic_fetch_add(&p->begun[worker], 1);
        if (r->sync->ops->publish(r->sync, worker, &step, &info) != DROVE_OK) p->failed[worker]++;
        /* Everyone else is at most `bound` behind at the view, `bound` + 1 ahead at the end. */
        if (info.staleness > (T - 1) * (2 * BOUND + 1)) p->too_stale[worker]++;
    }
}

static void nobody_runs_away(void **state)
{
    (void)state;
    rig r;
    pace p;
    memset(&p, 0, sizeof p);
    rig_init(&r, (rig_options){.variant = "ssp:2", .n_workers = T});
    run_workers(&r, keep_pace, &p);
    for (unsigned w = 0; w < T; w++) {
        assert_int_equal(p.failed[w], 0);
        assert_int_equal(p.too_far[w], 0);
        assert_int_equal(p.too_stale[w], 0);
    }
    assert_true(r.sync->ops->peek(r.sync).theta[0] == -(float)(T * STEPS));
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_exact),
        cmocka_unit_test(stop_wakes_the_waiting),
        cmocka_unit_test(a_lost_worker_is_waited_for_no_more),
        cmocka_unit_test(nobody_runs_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
