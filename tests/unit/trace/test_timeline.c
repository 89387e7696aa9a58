/* Utilisation over time: what was added is kept, whatever the width has become. */
#include "trace/timeline.h"
#include "support/test.h"

static uint64_t total(const drove_timeline *t)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < DROVE_TIMELINE_BUCKETS; i++) sum += t->busy_ns[i];
    return sum;
}

TEST(test_over_a_border)
{
    drove_timeline t = {0};
    drove__timeline_add(&t, 5, 5); /* nothing */
    assert_int_equal(t.width_ns, 0);
    drove__timeline_add(&t, 0, 1);
    const uint64_t w = t.width_ns;
    drove__timeline_add(&t, w - 3, 2 * w + 4);
    assert_int_equal(t.busy_ns[0], 4);
    assert_int_equal(t.busy_ns[1], w);
    assert_int_equal(t.busy_ns[2], 4);
    assert_int_equal(t.end_ns, 2 * w + 4);
}

/* The last bucket is still of the first width, one nanosecond later all are twice as wide. */
TEST(test_widening)
{
    drove_timeline t = {0};
    drove__timeline_add(&t, 0, 1);
    const uint64_t w = t.width_ns, end = w * DROVE_TIMELINE_BUCKETS;
    drove__timeline_add(&t, w, w + 7);
    drove__timeline_add(&t, end - 10, end);
    assert_int_equal(t.width_ns, w);
    drove__timeline_add(&t, end, end + 1);
    assert_int_equal(t.width_ns, 2 * w);
    assert_int_equal(t.busy_ns[0], 8);
    assert_int_equal(t.busy_ns[DROVE_TIMELINE_BUCKETS / 2 - 1], 10);
    assert_int_equal(t.busy_ns[DROVE_TIMELINE_BUCKETS / 2], 1);
    assert_int_equal(total(&t), 19);
    drove__timeline_add(&t, 40 * end, 40 * end + 5); /* several times at once */
    assert_int_equal(t.width_ns, 64 * w);
    assert_int_equal(total(&t), 24);
}
