/* SyncSGD: the average in a fixed tree, whatever the timing; the meetings; being stopped. */
#include "support/strategies.h"

#include "base/rng.h"

#include <math.h>
#include <pthread.h>

enum { ROUNDS = 6, MOST_N = 3 * 4096 + 48 };

typedef struct record {
    size_t n;
    bool delayed;
    float *g[ROUNDS][MOST_WORKERS]; /* [n] gradients */
    float eta[ROUNDS][MOST_WORKERS];
    unsigned n_updated[MOST_WORKERS], n_wrong[MOST_WORKERS];
} record;

static record *record_create(size_t n, unsigned n_workers)
{
    record *c = drove__alloc(1, sizeof *c);
    drove_rng rng;
    drove__rng_seed(&rng, n, DROVE_RNG_TEST, n_workers);
    c->n = n;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned w = 0; w < n_workers; w++) {
            c->g[round][w] = drove__alloc(n, sizeof(float));
            c->eta[round][w] = 0.1f + 0.01f * (float)(w % 3);
            for (size_t i = 0; i < n; i++) c->g[round][w][i] = (float)drove__rng_normal(&rng);
        }
    return c;
}

static void record_destroy(record *c)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned w = 0; w < MOST_WORKERS; w++) drove__free(c->g[round][w]);
    drove__free(c);
}

static void work(rig *r, unsigned worker, void *arg)
{
    record *c = arg;
    drove_rng rng;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, worker);
    for (unsigned round = 0; round < ROUNDS; round++) {
        drove_view view;
        drove_publish_info info;
        if (c->delayed) rest_us((unsigned)drove__rng_below(&rng, 2000));
        drove_status status =
            take_step(r, worker, c->g[round][worker], c->eta[round][worker], &view, &info);
        if (status != DROVE_OK || view.version != round || info.staleness != 0 ||
            info.attempts != 1)
            c->n_wrong[worker]++;
        c->n_updated[worker] += info.updated;
    }
}

/* The tree, element by element: the largest power of 2 below n first. */
static float tree(float *const *g, unsigned first, unsigned n, size_t i)
{
    if (n == 1) return g[first][i];
    unsigned left = 1;
    while (2 * left < n) left *= 2;
    return tree(g, first, left, i) + tree(g, first + left, n - left, i);
}

static void expect_tree(const record *c, unsigned n_workers, float *theta)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        double eta = 0.0;
        for (unsigned w = 0; w < n_workers; w++) eta += (double)c->eta[round][w];
        float mean_eta = (float)(eta / n_workers);
        for (size_t i = 0; i < c->n; i++) {
            float mean = tree(c->g[round], 0, n_workers, i) * (1.0f / (float)n_workers);
            theta[i] = fmaf(-mean_eta, mean, theta[i]);
        }
    }
}

TEST(averages_in_a_fixed_tree)
{
    static const unsigned workers[] = {1, 2, 3, 5, 7, 8, 16};
    static const size_t lengths[] = {16, 1008, MOST_N};
    for (size_t a = 0; a < DROVE_COUNT(workers); a++)
        for (size_t b = 0; b < DROVE_COUNT(lengths); b++) {
            rig r;
            record *c = record_create(lengths[b], workers[a]);
            float *expected = drove__alloc(c->n, sizeof *expected);
            expect_tree(c, workers[a], expected);
            for (int delayed = 0; delayed < 2; delayed++) {
                rig_init(&r, (rig_options){.variant = "sync", .n = c->n, .n_workers = workers[a]});
                c->delayed = delayed != 0;
                memset(c->n_updated, 0, sizeof c->n_updated);
                run_workers(&r, work, c);
                assert_memory_equal(r.sync->ops->peek(r.sync).theta, expected,
                                    c->n * sizeof(float));
                assert_int_equal(atomic_load(&r.sync->published), ROUNDS);
                unsigned n_updated = 0;
                for (unsigned w = 0; w < workers[a]; w++) {
                    assert_int_equal(c->n_wrong[w], 0);
                    n_updated += c->n_updated[w];
                }
                assert_int_equal(n_updated, ROUNDS);
                rig_fini(&r);
            }
            drove__free(expected);
            record_destroy(c);
        }
}

/* ---- staleness ---- */

static void step_by_ones(rig *r, unsigned worker, void *arg)
{
    float ones[64];
    drove_status *status = arg;
    for (unsigned i = 0; i < 64; i++) ones[i] = 1.0f;
    status[worker] = take_step(r, worker, ones, 1.0f, NULL, NULL);
}

/* Of fresh views: a schedule by staleness gives the step that `mutex` makes at staleness 0. */
TEST(a_mean_is_not_stale)
{
    static const unsigned workers[] = {1, 2, 4, 8}; /* the mean of equal numbers is exact */
    const rig_options one = {.variant = "mutex", .schedule = "mindthestep?mean=3", .n_workers = 1};
    drove_status status[MOST_WORKERS];
    rig m, r;
    rig_init(&m, one);
    run_workers(&m, step_by_ones, status);
    const float expected = m.sync->ops->peek(m.sync).theta[0];
    assert_true(expected < -1.01f); /* above the mean factor, which is 1 */
    for (size_t k = 0; k < DROVE_COUNT(workers); k++) {
        rig_options o = one;
        o.variant = "sync";
        o.n_workers = workers[k];
        rig_init(&r, o);
        run_workers(&r, step_by_ones, status);
        for (unsigned w = 0; w < workers[k]; w++) assert_int_equal(status[w], DROVE_OK);
        for (unsigned i = 0; i < 64; i++)
            assert_true(r.sync->ops->peek(r.sync).theta[i] == expected);
        rig_fini(&r);
    }
    rig_fini(&m);
}

/* ---- stopping ---- */

typedef struct stop_case {
    rig *r;
    _Atomic int is_stopped;
    drove_status publish[MOST_WORKERS], acquire[MOST_WORKERS], publish_again[MOST_WORKERS];
    pthread_t stopper;
} stop_case;

static const float gradient[64];

static void *stop_soon(void *arg)
{
    stop_case *c = arg;
    rest_us(30000);
    c->r->sync->ops->stop(c->r->sync);
    atomic_store(&c->is_stopped, 1);
    return NULL;
}

/* All but worker 0 publish and wait for it; it never comes. */
static void wait_for_nobody(rig *r, unsigned worker, void *arg)
{
    stop_case *c = arg;
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = gradient, .eta = 1.0f};
    if (worker == 0) {
        c->publish[0] = DROVE_E_SYSTEM;
        while (atomic_load(&c->is_stopped) == 0) rest_us(1000);
    } else {
        c->publish[worker] = take_step(r, worker, gradient, 1.0f, NULL, NULL);
    }
    c->acquire[worker] = r->sync->ops->acquire(r->sync, worker, &view);
    c->publish_again[worker] = r->sync->ops->publish(r->sync, worker, &step, &info);
}

TEST(stop_wakes_everybody)
{
    for (unsigned n_workers = 2; n_workers <= 8; n_workers += 3) {
        rig r;
        stop_case c = {.r = &r};
        rig_init(&r, (rig_options){.variant = "sync", .n_workers = n_workers});
        assert_int_equal(pthread_create(&c.stopper, NULL, stop_soon, &c), 0);
        run_workers(&r, wait_for_nobody, &c);
        pthread_join(c.stopper, NULL);
        for (unsigned w = 0; w < n_workers; w++) {
            assert_int_equal(c.publish[w], DROVE_E_SYSTEM);
            assert_int_equal(c.acquire[w], DROVE_E_SYSTEM);
            assert_int_equal(c.publish_again[w], DROVE_E_SYSTEM);
        }
        assert_int_equal(atomic_load(&r.sync->published), 0);
        rig_fini(&r);
    }
}

/* The time a fast worker spends in a meeting is reported as waiting. */
static void be_late(rig *r, unsigned worker, void *arg)
{
    uint64_t *wait_ns = arg;
    drove_publish_info info = {0};
    if (worker == 1) rest_us(20000);
    if (take_step(r, worker, gradient, 1.0f, NULL, &info) == DROVE_OK)
        wait_ns[worker] = info.wait_ns;
}

TEST(waiting_is_measured)
{
    bool is_measured = false;
    for (unsigned i = 0; i < 50 && !is_measured; i++) { /* a busy machine may start worker 0 late */
        rig r;
        uint64_t wait_ns[2] = {0};
        rig_init(&r, (rig_options){.variant = "sync", .n_workers = 2});
        run_workers(&r, be_late, wait_ns);
        is_measured = wait_ns[0] > 10000000 && wait_ns[1] < wait_ns[0];
        rig_fini(&r);
    }
    assert_true(is_measured);
}
