/* Stale-synchronous: the bound to the step, who waits for whom, and being stopped. */
#include "base/clock.h"
#include "support/strategies.h"

#include <pthread.h>
#include <unistd.h>

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
    const uint64_t begin_ns = drove__now_ns();
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
    assert_true(a.view.wait_ns <= drove__now_ns() - begin_ns);
    rig_fini(&r);
    return a.view.wait_ns;
}

FIXTURE(limit_time)
{
    (void)alarm(250); /* ends a wait for a worker that does not come */
    return 0;
}

GROUP(limit_time, NULL);

TEST(the_bound_is_exact)
{
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

TEST(stop_wakes_the_waiting)
{
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

TEST(a_lost_worker_is_waited_for_no_more)
{
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
        drove__sync_release(r->sync, worker);
        atomic_fetch_add(&p->begun[worker], 1);
        if (r->sync->ops->publish(r->sync, worker, &step, &info) != DROVE_OK) p->failed[worker]++;
        /* Everyone else is at most `bound` behind at the view, `bound` + 1 ahead at the end. */
        if (info.staleness > (T - 1) * (2 * BOUND + 1)) p->too_stale[worker]++;
    }
}

TEST(nobody_runs_away)
{
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

/* Parked workers go on from equal clocks, whoever was ahead: each again has its bound and one. */
TEST(restored_workers_begin_together)
{
    static float saved[64] = {7.0f};
    for (unsigned ahead = 0; ahead < 2; ahead++) {
        rig r;
        drove_view view;
        rig_init(&r, (rig_options){.variant = "ssp:1", .n_workers = 2});
        step_ok(&r, ahead);
        step_ok(&r, ahead);
        assert_int_equal(drove__sync_restore(r.sync, 20, &(drove_params){.theta = saved}, NULL),
                         DROVE_OK);
        assert_true(r.sync->ops->peek(r.sync).theta[0] == 7.0f);
        assert_int_equal(take_step(&r, ahead, gradient, 1.0f, &view, NULL), DROVE_OK);
        assert_int_equal(view.version, 20);
        step_ok(&r, ahead);
        step_ok(&r, 1 - ahead);
        step_ok(&r, 1 - ahead);
        assert_true(r.sync->ops->peek(r.sync).theta[0] == 3.0f);
        rig_fini(&r);
    }
}

TEST(nothing_is_taken_or_published_once_stopped)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    const drove_step step = {.value = gradient, .eta = 1.0f};
    rig_init(&r, (rig_options){.variant = "ssp:1", .n_workers = 2});
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    drove__sync_release(r.sync, 0);
    r.sync->ops->stop(r.sync);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "ssp: stopped");
    assert_int_equal(r.sync->ops->acquire(r.sync, 1, &view), DROVE_E_SYSTEM);
    assert_true(r.sync->ops->peek(r.sync).theta[0] == 0.0f);
    assert_int_equal(atomic_load(&r.sync->published), 0);
    rig_fini(&r);
}

static uint64_t update; /* that the rule was last told it makes */

static void note_update(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                        float eta, uint64_t t)
{
    (void)rule;
    update = t;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
}

/* Rules like Adam correct by the number of the update: 1, 2, 3 ... of all workers. */
TEST(the_rule_is_told_which_update_it_makes)
{
    static const drove_rule_ops noting = {.name = "sgd", .apply = note_update};
    rig r;
    rig_init(&r, (rig_options){.variant = "ssp:9", .n_workers = 2, .hook = &noting});
    for (unsigned i = 1; i <= 6; i++) {
        step_ok(&r, i % 2);
        assert_int_equal(update, i);
    }
    rig_fini(&r);
}
