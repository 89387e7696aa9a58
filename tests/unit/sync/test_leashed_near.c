/* Near whom the vectors of Leashed-SGD lie: the first on all nodes, and three slots on each
 * worker's.  The linker puts the functions below in the place of the topology's
 *, so no machine with several nodes is needed.
 *
 * ctest: wraps=drove__topo_alloc,drove__topo_free */
#include "support/strategies.h"

#include "sync/sync.h"

#include <stdlib.h>

enum { WORKERS = 3, SLOTS = 3, MOST = 32 };

static int node[MOST];
static void *made[MOST];
static unsigned n_made;

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int on);
void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes);

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int on)
{
    (void)topo;
    void *memory = calloc(1, size_bytes);
    if (n_made < MOST) {
        node[n_made] = on;
        made[n_made++] = memory;
    }
    return memory;
}

void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes)
{
    (void)topo, (void)size_bytes;
    free(memory);
}

static const drove_place place[WORKERS + 1] = {{0, 0, 4}, {1, 1, 2}, {2, 2, 7}, {3, 3, 9}};

static drove_sync *create(rig *r)
{
    static float theta[64];
    static char topo; /* only its address is used */
    drove_sync *s = NULL;
    rig_init(r, (rig_options){.variant = "leashed", .n_workers = WORKERS});
    const drove_sync_options opt = {
        .n_workers = WORKERS, .optim = r->optim, .topo = (drove_topo *)&topo, .place = place};
    n_made = 0;
    assert_int_equal(drove__sync_create(r->sync->ops, &opt, &(drove_params){.theta = theta}, &s),
                     DROVE_OK);
    return s;
}

TEST(slots_lie_near_their_workers)
{
    rig r;
    drove_sync *s = create(&r);
    assert_int_equal(n_made, 1 + SLOTS * WORKERS);
    assert_int_equal(node[0], -1);
    for (unsigned i = 1; i < n_made; i++) assert_int_equal(node[i], place[(i - 1) / SLOTS].node);
    drove__sync_destroy(s);
    rig_fini(&r);
}

static void expect_slot(drove_sync *s, unsigned worker, unsigned slot)
{
    static const float ones[64] = {1.0f};
    drove_publish_info info;
    const drove_step step = {.value = ones, .eta = 1.0f};
    assert_int_equal(s->ops->publish(s, worker, &step, &info), DROVE_OK);
    assert_ptr_equal(s->ops->peek(s).theta, made[slot]);
}

/* Its own three, in their order, and then, while others read these, the first of all. */
TEST(a_worker_publishes_near_itself)
{
    enum { LAST = WORKERS - 1, OF_LAST = 1 + SLOTS * LAST };
    rig r;
    drove_view view;
    drove_sync *s = create(&r);
    for (unsigned w = 0; w < WORKERS; w++) {
        expect_slot(s, w, 1 + SLOTS * w);
        expect_slot(s, w, 2 + SLOTS * w);
        expect_slot(s, w, 1 + SLOTS * w);
    }
    assert_int_equal(s->ops->acquire(s, 0, &view), DROVE_OK);
    expect_slot(s, LAST, OF_LAST + 1);
    assert_int_equal(s->ops->acquire(s, 1, &view), DROVE_OK);
    expect_slot(s, LAST, OF_LAST + 2);
    expect_slot(s, LAST, 0);
    expect_slot(s, LAST, OF_LAST + 2);
    drove__sync_release(s, 0);
    drove__sync_release(s, 1);
    drove__sync_destroy(s);
    rig_fini(&r);
}
