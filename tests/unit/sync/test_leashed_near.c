/* Near whom the vectors of Leashed-SGD lie: the first on all nodes, and three slots on each
 * worker's.  The linker puts the functions below in the place of the topology's
 * (tests/CMakeLists.txt), so no machine with several nodes is needed. */
#include "support/strategies.h"

#include "sync/sync.h"

#include <stdlib.h>

enum { WORKERS = 3, SLOTS = 3, MOST = 32 };

static int node[MOST];
static unsigned n_made;

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int on);
void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes);

void *__wrap_drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int on)
{
    (void)topo;
    if (n_made < MOST) node[n_made++] = on;
    return calloc(1, size_bytes);
}

void __wrap_drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes)
{
    (void)topo, (void)size_bytes;
    free(memory);
}

static void slots_lie_near_their_workers(void **state)
{
    (void)state;
    static drove_place place[WORKERS + 1] = {{0, 0, 4}, {1, 1, 2}, {2, 2, 7}, {3, 3, 9}};
    static float theta[64];
    static char topo; /* only its address is used */
    rig r;
    drove_sync *s = NULL;
    rig_init(&r, (rig_options){.variant = "leashed", .n_workers = WORKERS});
    const drove_sync_options opt = {
        .n_workers = WORKERS, .optim = r.optim, .topo = (drove_topo *)&topo, .place = place};
    n_made = 0;
    assert_int_equal(drove__sync_create(r.sync->ops, &opt, &(drove_params){.theta = theta}, &s),
                     DROVE_OK);
    assert_int_equal(n_made, 1 + SLOTS * WORKERS);
    assert_int_equal(node[0], -1);
    for (unsigned i = 1; i < n_made; i++) assert_int_equal(node[i], place[(i - 1) / SLOTS].node);
    drove__sync_destroy(s);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_lie_near_their_workers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
