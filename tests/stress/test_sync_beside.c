/* Copies of the parameters that a further thread makes while eight workers publish (snapshot of
 * strategy.h): each is the sum of the first steps, as many as it says, in every element, and none
 * is older than the one before.
 */
#include "sync/leashed.h"
#include "support/strategies.h"

#include <pthread.h>

enum { T = 8, N = 1000 };

typedef struct reading {
    drove_sync *sync;
    _Atomic int ends;
    uint64_t n_copies, n_torn, n_back, n_late; /* late: behind the first step */
} reading;

static void *read_copies(void *argument)
{
    reading *r = argument;
    float copy[N];
    uint64_t before = 0;
    while (!atomic_load(&r->ends)) {
        const uint64_t n = drove__sync_places(r->sync->ops)->snapshot(r->sync, copy);
        bool is_whole = true;
        for (size_t j = 0; j < N; j++) is_whole = is_whole && copy[j] == -(float)n;
        r->n_torn += !is_whole;
        r->n_back += n < before;
        r->n_late += n > 0;
        r->n_copies++;
        before = n;
        if (r->n_copies % 4 == 0) rest_us(10);
    }
    return NULL;
}

static void step(rig *r, unsigned worker, void *arg)
{
    const unsigned n_steps = *(const unsigned *)arg;
    float ones[N];
    for (size_t j = 0; j < N; j++) ones[j] = 1.0f;
    for (unsigned i = 0; i < n_steps; i++) take_step(r, worker, ones, 1.0f, NULL, NULL);
}

static void read_beside(const drove_sync_ops *ops, const char *variant)
{
    rig r;
    unsigned n_steps = 40000 / STEPS_DIVISOR;
    pthread_t reader;
    if (drove__sync_not_beside(ops) != NULL) return;
    rig_init(&r, (rig_options){.variant = variant, .n = N, .n_workers = T, .is_read_beside = true});
    reading all = {.sync = r.sync};
    assert_int_equal(pthread_create(&reader, NULL, read_copies, &all), 0);
    run_workers(&r, step, &n_steps);
    atomic_store(&all.ends, 1);
    assert_int_equal(pthread_join(reader, NULL), 0);
    printf("%-22s %llu copies, %llu after the first step\n", variant,
           (unsigned long long)all.n_copies, (unsigned long long)all.n_late);
    assert_int_equal(all.n_torn, 0);
    assert_int_equal(all.n_back, 0);
    assert_true(all.n_copies > 0);
    const uint64_t published = atomic_load(&r.sync->published);
    float copy[N];
    assert_int_equal(drove__sync_places(ops)->snapshot(r.sync, copy), published);
    assert_true(copy[0] == -(float)published && copy[N - 1] == -(float)published);
    if (ops == find_strategy("leashed")) { /* the reader's slot is one more, and it is given back */
        drove_leashed_pool pool;
        drove__leashed_pool(r.sync, &pool);
        assert_int_equal(pool.n_slots, 3 * T + 2);
        assert_int_equal(pool.n_in_use, 1);
        assert_int_equal(pool.n_read, 0);
    }
    rig_fini(&r);
}

TEST(copies_are_whole)
{
    for_each_variant(read_beside);
}
