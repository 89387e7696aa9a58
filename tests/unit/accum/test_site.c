/* Workers that accumulate in one of two processes, over a transport of the test: that a stop
 * reaches the other process, that a transport which fails is no device that says no, and that a
 * step says why its exchange has failed. */
#include "accum/accum.h"
#include "support/rig.h"

#include "cluster/transport.h"

enum { N = 64, WORKERS = 4, HERE = 2 };

static unsigned n_stops, n_gathers;
static bool fails;

static void stop(drove_transport *t)
{
    (void)t;
    n_stops++;
}

static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    n_gathers++;
    for (unsigned i = 0; i < t->n_processes; i++)
        memcpy((char *)all + i * each_bytes, mine, each_bytes);
    return fails ? drove__fail(DROVE_E_SYSTEM, "nobody answers") : DROVE_OK;
}

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    (void)t, (void)worker, (void)x;
    return DROVE_OK;
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    (void)t, (void)worker, (void)channel, (void)info;
    return drove__fail(DROVE_E_SYSTEM, "the line is cut");
}

static const drove_transport_ops ops = {
    .name = "told", .start = start, .finish = finish, .stop = stop, .gather = gather};

static drove_transport transport;

static drove_status open_rig(rig *r, const drove_sync_ops *row, const char *variant)
{
    n_stops = n_gathers = 0;
    transport = (drove_transport){.ops = &ops,
                                  .n_workers = WORKERS,
                                  .n_processes = 2,
                                  .n_here = HERE,
                                  .kernels = &drovek_ref};
    return rig_try_row(r, (rig_options){.ops = row,
                                        .variant = variant,
                                        .lr = 0.5,
                                        .n = N,
                                        .n_workers = WORKERS,
                                        .transport = &transport,
                                        .kernels = &drovek_ref});
}

static const struct {
    const drove_sync_ops *row;
    const char *variant;
    bool asks; /* which devices keep parameters, when it is made */
} methods[] = {{&drove__accum_accumulate, "accumulate", false},
               {&drove__accum_accumulate, "accumulate:at-end", false},
               {&drove__accum_tree, "tree", true}};

TEST(a_stop_reaches_the_other_process)
{
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) {
        rig r;
        assert_int_equal(open_rig(&r, methods[i].row, methods[i].variant), DROVE_OK);
        assert_int_equal(n_gathers, methods[i].asks);
        assert_int_equal(n_stops, 0);
        r.sync->ops->stop(r.sync);
        assert_int_equal(n_stops, 1);
        assert_int_equal(atomic_load(&r.sync->stopping), 1);
        rig_fini(&r);
    }
}

TEST(a_transport_that_fails_is_told)
{
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) {
        rig r;
        fails = true;
        const drove_status status = open_rig(&r, methods[i].row, methods[i].variant);
        assert_int_equal(status, methods[i].asks ? DROVE_E_SYSTEM : DROVE_OK);
        if (status == DROVE_OK) {
            n_gathers = 0;
            assert_int_equal(drove__sync_parked(r.sync), DROVE_E_SYSTEM);
            assert_int_equal(n_gathers, 1);
        } else {
            assert_null(r.sync);
        }
        assert_string_equal(drove_error_text(), "nobody answers");
        fails = false;
        rig_fini(&r);
    }
}

/* The other thread's error becomes that of each worker's step. */
TEST(a_step_says_why_its_exchange_has_failed)
{
    rig r;
    static float g[N];
    const drove_step step = {.value = g, .eta = 1.0f};
    assert_int_equal(open_rig(&r, &drove__accum_accumulate, "accumulate"), DROVE_OK);
    for (unsigned w = 0; w < HERE; w++) {
        drove_view view;
        assert_int_equal(r.sync->ops->acquire(r.sync, w, &view), DROVE_OK);
        (void)r.sync->ops->slices->ready(r.sync, w, 0, N, g, 1.0f);
    }
    for (unsigned w = 0; w < HERE; w++) {
        drove_publish_info info;
        (void)drove__fail(DROVE_E_ARG, "an older error");
        assert_int_equal(r.sync->ops->publish(r.sync, w, &step, &info), DROVE_E_SYSTEM);
        assert_string_equal(drove_error_text(), "the line is cut");
    }
    rig_fini(&r);
}
