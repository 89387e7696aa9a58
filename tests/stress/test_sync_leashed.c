/* Leashed-SGD under the hardest contention: vectors of one cache line, so that publications follow
 * each other as fast as the words allow, and slots are claimed, retired and read again all the time
 * (the ABA hazard of a recycled vector). Every view must be uniform and equal to its version;
 * nothing may be lost; the pool must be whole afterwards.
 */
#include "sync/leashed.h"
#include "support/strategies.h"

enum { T = 8, N = 16 };

typedef struct tally {
    uint64_t n_torn, n_dropped, n_failed, n_retries, n_slid;
} DROVE_ALIGNED_CACHE_LINE tally;

typedef struct crowd {
    unsigned steps;
    bool hold; /* keep some views for longer */
    bool lent; /* gradients lie in the slot to be published */
    tally of[T];
} crowd;

static bool is_all(const float *vector, float value)
{
    for (unsigned j = 0; j < N; j++)
        if (vector[j] != value) return false;
    return true;
}

static void hammer(rig *r, unsigned worker, void *arg)
{
    crowd *c = arg;
    tally *mine = &c->of[worker];
    drove_sync *s = r->sync;
    float ones[N];
    for (unsigned j = 0; j < N; j++) ones[j] = 1.0f;
    drove_step step = {.value = ones, .eta = 1.0f};
    uint64_t before = 0;
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) mine->n_failed++;
        mine->n_slid += view.version < before;
        before = view.version;
        bool whole = is_all(view.vector, -(float)view.version);
        if (c->hold && i % 64 == 0) rest_us(20);
        whole = whole && is_all(view.vector, -(float)view.version);
        mine->n_torn += !whole;
        step.value = ones;
        if (c->lent) {
            float *lent = s->ops->gradient(s, worker);
            for (unsigned j = 0; j < N; j++) lent[j] = 1.0f;
            step.value = lent;
        }
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) mine->n_failed++;
        mine->n_dropped += info.dropped;
        mine->n_retries += info.attempts - 1;
    }
}

static void run_once(const char *variant, const char *backoff, unsigned n_workers, unsigned steps,
                     bool hold, bool lent)
{
    rig r;
    crowd c = {.steps = steps / STEPS_DIVISOR, .hold = hold, .lent = lent};
    drove_leashed_pool pool;
    rig_init(&r,
             (rig_options){.variant = variant, .backoff = backoff, .n = N, .n_workers = n_workers});
    run_workers(&r, hammer, &c);
    tally sum = {0};
    for (unsigned w = 0; w < n_workers; w++) {
        sum.n_torn += c.of[w].n_torn;
        sum.n_dropped += c.of[w].n_dropped;
        sum.n_failed += c.of[w].n_failed;
        sum.n_retries += c.of[w].n_retries;
        sum.n_slid += c.of[w].n_slid;
    }
    drove__leashed_pool(r.sync, &pool);
    printf("%-12s %-8s %s, %u workers: %u steps, %llu retries, %llu dropped, search %llu passes\n",
           variant, backoff, lent ? "in place" : "copied", n_workers, n_workers * c.steps,
           (unsigned long long)sum.n_retries, (unsigned long long)sum.n_dropped,
           (unsigned long long)pool.most_passes);
    uint64_t published = (uint64_t)n_workers * c.steps - sum.n_dropped;
    assert_int_equal(sum.n_torn, 0);
    assert_int_equal(sum.n_failed, 0);
    assert_int_equal(sum.n_slid, 0);
    if (strcmp(variant, "leashed:inf") == 0) assert_int_equal(sum.n_dropped, 0);
    assert_true(is_all(r.sync->ops->peek(r.sync).theta, -(float)published));
    assert_int_equal(atomic_load(&r.sync->published), published);
    assert_int_equal(pool.tag, published);
    assert_int_equal(pool.n_slots, 3 * n_workers + 1);
    assert_int_equal(pool.n_in_use, 1);
    assert_int_equal(pool.n_read, 0);
    rig_fini(&r);
}

static void run(const char *variant, const char *backoff, unsigned n_workers, unsigned steps,
                bool hold)
{
    run_once(variant, backoff, n_workers, steps, hold, false);
    run_once(variant, backoff, n_workers, steps, hold, true);
}

TEST(tiny_vectors_millions_of_times)
{
    run("leashed:inf", "none", 8, 500000, false);
    run("leashed:0", "none", 8, 250000, false);
    run("leashed:1", "none", 3, 500000, false);
    run("leashed:inf", "none", 2, 1000000, false);
    run("leashed:inf", "random", 4, 50000, false);
}

TEST(with_readers_that_stay)
{
    run("leashed:inf", "none", 8, 100000, true);
    run("leashed:0", "none", 5, 100000, true);
}
