/* What a meeting costs on a virtual clock: all of the centre and all of the replica are taken for
 * writing, and both are updated.  The linker puts the functions below in the place of the clock's
 *: they note what they are asked for.
 *
 * ctest: wraps=drove__virtual_take,drove__virtual_update */
#include "support/strategies.h"

#include "base/virtual.h"

enum { N = 64, WORKERS = 3 };
static const double TAKE_NS = 3.0;

static size_t n_read, n_written;
static double updated_bytes, taken_ns;

double __wrap_drove__virtual_take(const float *at, size_t n, bool writes);
void __wrap_drove__virtual_update(double bytes, double taken);

double __wrap_drove__virtual_take(const float *at, size_t n, bool writes)
{
    (void)at;
    *(writes ? &n_written : &n_read) += n;
    return TAKE_NS * (double)n;
}

void __wrap_drove__virtual_update(double bytes, double taken)
{
    updated_bytes += bytes;
    taken_ns += taken;
}

TEST(a_meeting_costs_both_vectors)
{
    static char actor; /* only its address is used */
    float g[N];
    rig r;
    for (int i = 0; i < N; i++) g[i] = 4.0f;
    rig_init(&r, (rig_options){.variant = "replicas?period=100", .n = N, .n_workers = WORKERS});
    assert_int_equal(take_step(&r, 1, g, 1.0f, NULL, NULL), DROVE_OK);
    drove__actor = (drove_actor *)&actor;
    (void)r.sync->ops->peek(r.sync); /* each replica meets the centre */
    drove__actor = NULL;
    assert_int_equal(n_read, 0);
    assert_int_equal(n_written, WORKERS * 2 * N);
    assert_true(updated_bytes == WORKERS * 2.0 * N * sizeof(float));
    assert_true(taken_ns == WORKERS * 2.0 * N * TAKE_NS);
    rig_fini(&r);
}
