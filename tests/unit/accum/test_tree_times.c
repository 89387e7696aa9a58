/* The times that tree measures of an iteration, on a clock that goes on by a microsecond with each
 * reading: so a part between two readings takes one, and none takes nothing.
 *
 * ctest: apart: its clock_gettime is for all */
#include "accum/accum.h"
#include "support/rig.h"

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
    rig r;
    float gradient[N] = {0};
    rig_init_row(&r, (rig_options){.ops = &drove__accum_tree,
                                   .variant = "tree",
                                   .n = N,
                                   .part = &(drove_span){0, N},
                                   .n_parts = 1,
                                   .is_resident = &(bool){false},
                                   .kernels = &drovek_ref});
    drove_sync *s = r.sync;
    for (unsigned t = 0; t < STEPS; t++) {
        drove_view view;
        drove_publish_info info;
        const drove_step step = {.value = gradient, .eta = 1.0f};
        assert_int_equal(s->ops->acquire(s, 0, &view), DROVE_OK);
        drove__sync_release(s, 0);
        assert_int_equal(s->ops->publish(s, 0, &step, &info), DROVE_OK);
        assert_int_equal(info.wait_ns, 0);
        assert_int_equal(info.exchange_ns, TICK_NS);
        assert_int_equal(info.update_ns, TICK_NS);
        assert_int_equal(info.broadcast_ns, TICK_NS);
    }
    rig_fini(&r);
}
