/* test_leaving.c - elastic methods that are stopped, and that lose a worker. */
#include "unit/elastic/methods.h"

#include "elastic/common.h"
#include "elastic/elastic.h"
#include "sync/sync.h"

#include <pthread.h>

typedef struct stopping {
    drove_status status[MOST_WORKERS];
    pthread_t thread;
} stopping;

static void *stop_soon(void *arg)
{
    rig *r = arg;
    rest_us(20000);
    r->sync->ops->stop(r->sync);
    return NULL;
}

static void wait_for_worker_0(rig *r, unsigned worker, void *arg)
{
    stopping *c = arg;
    static const float g[N];
    drove_view view;
    c->status[worker] = DROVE_OK;
    for (unsigned i = 0; worker != 0 && i < 3 && c->status[worker] == DROVE_OK; i++)
        c->status[worker] = take_step(r, worker, g, 0.1f, NULL, NULL);
    if (worker == 0) {
        for (unsigned i = 0; i < 20000 && atomic_load(&r->sync->stopping) == 0; i++) rest_us(1000);
        c->status[0] = r->sync->ops->acquire(r->sync, 0, &view);
    }
}

TEST(stop_wakes_everybody)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_easgd,       &drove__sync_easgd_sync1,
                                                &drove__sync_easgd_sync3, &drove__sync_allreduce,
                                                &drove__sync_local,       &drove__sync_diloco};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        stopping c;
        rig_options o = options(ops[k], ops[k]->name, 3);
        o.period = ops[k] != &drove__sync_allreduce ? "1" : NULL;
        rig_init(&r, o);
        assert_int_equal(pthread_create(&c.thread, NULL, stop_soon, &r), 0);
        run_workers(&r, wait_for_worker_0, &c);
        pthread_join(c.thread, NULL);
        for (unsigned i = 0; i < 3; i++) assert_int_equal(c.status[i], DROVE_E_SYSTEM);
        rig_fini(&r);
    }
}

/* A lost worker costs its own work only. */
static void lose_a_worker(const drove_sync_ops *ops)
{
    rig r;
    float g[N] = {0};
    if (ops->leave == NULL) return;
    rig_init(&r, options(ops, ops->name, 3));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(take_step(&r, i, g, 0.1f, NULL, NULL), DROVE_OK);
    ops->leave(r.sync, 1);
    const drove_transport *t =
        ((const drove_elastic *)r.sync->impl)->transport; /* they must know */
    for (unsigned i = 0; i < 3; i++) assert_true(t->ops->has_left(t, i) == (i == 1));
    for (unsigned i = 0; i < 3; i += 2)
        assert_int_equal(take_step(&r, i, g, 0.1f, NULL, NULL), DROVE_OK);
    assert_int_equal(atomic_load(&r.sync->published), 5);
    rig_fini(&r);
}

TEST(asynchronous_methods_go_on)
{
    for_each_method(lose_a_worker);
}
