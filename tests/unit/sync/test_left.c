/* A worker that has left before the run goes on from a saved state: every strategy that bears it.
 * Nobody waits for it, and an update needs nothing of it. */
#include "support/strategies.h"

#include "base/clock.h"

#include <pthread.h>

enum { N = 64, WORKERS = 3, LEFT = 1, STEPS = 10, RESTORED = 5 };

typedef struct run {
    rig *r;
    atomic_uint n_ended, n_failed, n_dropped;
} run;

static void step(rig *r, unsigned worker, void *arg)
{
    static const float value[N];
    run *all = arg;
    for (unsigned i = 0; i < STEPS && worker != LEFT; i++) {
        drove_publish_info info = {0};
        if (take_step(r, worker, value, 1.0f, NULL, &info) != DROVE_OK)
            atomic_fetch_add(&all->n_failed, 1);
        else atomic_fetch_add(&all->n_dropped, info.dropped);
    }
    atomic_fetch_add(&all->n_ended, 1);
}

/* A worker that waits for ever is woken, and its step fails. */
static void *watch(void *arg)
{
    run *all = arg;
    const uint64_t end_ns = drove__now_ns() + 10000000000u;
    while (atomic_load(&all->n_ended) < WORKERS && drove__now_ns() < end_ns) rest_us(1000);
    if (atomic_load(&all->n_ended) < WORKERS) all->r->sync->ops->stop(all->r->sync);
    return NULL;
}

static unsigned n_checked;

static void go_on(const drove_sync_ops *ops, const char *variant)
{
    static const float value[N];
    float theta[N];
    pthread_t watcher;
    rig r;
    run all = {.r = &r};
    if (ops->leave == NULL || (ops->needs & DROVE_SYNC_ONE) != 0) return;
    rig_init(&r, (rig_options){.variant = variant, .n = N, .n_workers = WORKERS});
    const unsigned each = r.sync->batches_per_update;
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(take_step(&r, w, value, 1.0f, NULL, NULL), DROVE_OK);
    r.sync->ops->leave(r.sync, LEFT);
    memcpy(theta, r.sync->ops->peek(r.sync).theta, sizeof theta);
    assert_int_equal(drove__sync_restore(r.sync, RESTORED, &(drove_params){.theta = theta}, NULL),
                     DROVE_OK);
    assert_int_equal(pthread_create(&watcher, NULL, watch, &all), 0);
    run_workers(&r, step, &all);
    pthread_join(watcher, NULL);
    if (atomic_load(&all.n_failed) != 0)
        fail_msg("%s: %u steps failed", variant, atomic_load(&all.n_failed));
    const unsigned n_steps = (WORKERS - 1) * STEPS - atomic_load(&all.n_dropped);
    assert_int_equal(atomic_load(&r.sync->published),
                     RESTORED + n_steps / (each < WORKERS ? each : WORKERS - 1));
    rig_fini(&r);
    n_checked++;
}

TEST(the_others_go_on_from_a_saved_state)
{
    for_each_variant(go_on);
    assert_true(n_checked >= 12);
}
