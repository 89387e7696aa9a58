/* Who gets a readers-writer lock on a virtual clock: a reader that comes while another reads and a
 * writer waits goes first, or, with ?prefer=writers, behind the writer; and what a copy under any
 * lock takes. */
#include "support/actors.h"
#include "support/strategies.h"

enum { N = 64, COPY_NS = 4 * N, WRITER_NS = 10, READER_NS = 20 }; /* 1 ns for each byte */

typedef struct seen {
    rig rig;
    uint64_t done_ns[3]; /* when each worker had its copy, or had written */
    unsigned n_failed;
} seen;

/* Worker 0 copies at once, under the lock; 1 comes to write, then 2 to copy. */
static void come(unsigned worker, void *context)
{
    seen *s = context;
    drove_sync *sync = s->rig.sync;
    static const float g[N];
    const drove_step step = {.value = g, .eta = 1.0f};
    drove_publish_info info;
    drove_view view;
    drove__virtual_spend(worker == 0 ? 0 : worker == 1 ? WRITER_NS : READER_NS);
    if (worker == 1) {
        s->n_failed += sync->ops->publish(sync, worker, &step, &info) != DROVE_OK;
    } else {
        s->n_failed += sync->ops->acquire(sync, worker, &view) != DROVE_OK;
        drove__sync_release(sync, worker);
    }
    s->done_ns[worker] = drove__now_ns();
}

static void expect(const char *variant, uint64_t writer_ns, uint64_t reader_ns)
{
    seen s = {0};
    drove_virtual *on;
    rig_init(&s.rig, (rig_options){.variant = variant, .n = N, .n_workers = 3});
    assert_int_equal(drove__virtual_create(4, 1, &on), DROVE_OK);
    for (unsigned i = 0; i < 3; i++)
        drove__virtual_set_costs(on, i, &(drove_costs){.copy_ns = 1.0});
    (void)run_actors(on, 3, come, &s);
    drove__virtual_destroy(on);
    assert_int_equal(s.n_failed, 0);
    assert_int_equal(s.done_ns[0], COPY_NS);
    assert_int_equal(s.done_ns[1], writer_ns);
    assert_int_equal(s.done_ns[2], reader_ns);
    rig_fini(&s.rig);
}

TEST(a_writer_that_waits_goes_before_readers_if_preferred)
{
    const uint64_t both = READER_NS + COPY_NS; /* copies beside each other */
    expect("rwlock", both, both);              /* the writer waits for both */
    expect("rwlock?prefer=readers", both, both);
    expect("rwlock?prefer=writers", COPY_NS, 2 * COPY_NS); /* for the first; then the other reads */
}

static void copy(unsigned worker, void *context)
{
    seen *s = context;
    drove_view view;
    s->n_failed += s->rig.sync->ops->acquire(s->rig.sync, worker, &view) != DROVE_OK;
    drove__sync_release(s->rig.sync, worker);
    s->done_ns[worker] = drove__now_ns();
}

TEST(every_copy_takes_its_time)
{
    static const char *const variants[] = {"mutex", "rwlock", "ssp", "softsync"};
    for (size_t i = 0; i < DROVE_COUNT(variants); i++) {
        seen s = {0};
        drove_virtual *on;
        rig_init(&s.rig, (rig_options){.variant = variants[i], .n = N, .n_workers = 1});
        assert_int_equal(drove__virtual_create(2, 1, &on), DROVE_OK);
        drove__virtual_set_costs(on, 0, &(drove_costs){.copy_ns = 1.0});
        (void)run_actors(on, 1, copy, &s);
        drove__virtual_destroy(on);
        assert_int_equal(s.n_failed, 0);
        assert_int_equal(s.done_ns[0], COPY_NS);
        rig_fini(&s.rig);
    }
}
