/* Windows of a measurement on a virtual clock, with an engine that takes a given time for a batch:
 * the warm-up, however fast, is no result.
 * ctest: apart: it includes about/measure_devices.c */
#include "about/measure_devices.c"

#include "support/actors.h"
#include "support/test.h"

enum { ROWS = 8, BATCH = 4, WARM_NS = 100000, LATER_NS = 1000000 };

static unsigned n_begun;

static drove_status begin_work(drove_engine *e, const drove_work *work)
{
    (void)e;
    assert_int_equal(work->batch->n_rows, BATCH);
    drove__virtual_spend(n_begun++ < WARM_UPS ? WARM_NS : LATER_NS);
    return DROVE_OK;
}

static drove_status finish_work(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)e, (void)timeout_ns, (void)done;
    return DROVE_OK;
}

static void measure(unsigned actor, void *context)
{
    static const drove_engine_ops ops = {.begin = begin_work, .finish = finish_work};
    const drove_data data = {.n_rows = ROWS};
    uint32_t row[ROWS] = {0}, again[2 * BATCH];
    bench b = {.data = (drove_data *)&data, .row = row, .again = again};
    (void)actor;
    if (measure_batch(&b, &ops, NULL, BATCH, context) != DROVE_OK) *(double *)context = 0.0;
}

TEST(a_warm_up_is_no_result)
{
    double rate = 0.0;
    drove_virtual *on;
    assert_int_equal(drove__virtual_create(2, 1, &on), DROVE_OK);
    (void)run_actors(on, 1, measure, &rate);
    drove__virtual_destroy(on);
    assert_true(fabs(rate - BATCH * 1e9 / LATER_NS) < 1e-6 * rate);
    /* as many batches as the window before says: 0.1 s of the warm-up's, then of the later ones */
    assert_int_equal(n_begun, WARM_UPS + WINDOW_NS / WARM_NS + 2 * WINDOW_NS / LATER_NS);
}
