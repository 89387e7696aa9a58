/* The times that tree measures of an iteration, on a clock that goes on by a microsecond with each
 * reading: so a part between two readings takes one, and none takes nothing.
 */
#include "accum/accum.h"
#include "support/test.h"

#include <string.h>
#include <time.h>

enum { N = 64, STEPS = 5, TICK_NS = 1000 };

static uint64_t n_readings = 1000000;

/* In the place of the system's. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    n_readings++;
    now->tv_sec = (time_t)(n_readings * TICK_NS / 1000000000);
    now->tv_nsec = (long)(n_readings * TICK_NS % 1000000000);
    return 0;
}

/* One worker: it waits for nobody.  Of exchange, update and broadcast each lies between two
 * neighbouring readings, in each of the places that iterations take in turn. */
TEST(each_part_has_its_time)
{
    drovek_table kernels;
    drove_optim *optim = NULL;
    drove_spec spec;
    drove_sync *s = NULL;
    float theta[N] = {0}, gradient[N] = {0};
    const bool is_resident[1] = {false};
    const drove_span part[1] = {{0, N}};
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    const drove_optim_options rule = {.rule = "sgd",
                                      .schedule = "constant",
                                      .lr = 1.0,
                                      .n_params = N,
                                      .n_workers = 1,
                                      .kernels = &kernels};
    assert_int_equal(drove__optim_create(&rule, &optim), DROVE_OK);
    assert_int_equal(drove__spec_parse("tree", &spec), DROVE_OK);
    const drove_sync_options opt = {.spec = &spec,
                                    .n_workers = 1,
                                    .optim = optim,
                                    .part = part,
                                    .n_parts = 1,
                                    .is_resident = is_resident};
    const drove_params start = {.theta = theta};
    assert_int_equal(drove__sync_create(&drove__accum_tree, &opt, &start, &s), DROVE_OK);
    for (unsigned t = 0; t < STEPS; t++) {
        drove_view view;
        drove_publish_info info;
        const drove_step step = {.value = gradient, .eta = 1.0f};
        assert_int_equal(s->ops->acquire(s, 0, &view), DROVE_OK);
        s->ops->release(s, 0);
        assert_int_equal(s->ops->publish(s, 0, &step, &info), DROVE_OK);
        assert_int_equal(info.wait_ns, 0);
        assert_int_equal(info.exchange_ns, TICK_NS);
        assert_int_equal(info.update_ns, TICK_NS);
        assert_int_equal(info.broadcast_ns, TICK_NS);
    }
    drove__sync_destroy(s);
    drove__spec_fini(&spec);
    drove__optim_destroy(optim);
}
