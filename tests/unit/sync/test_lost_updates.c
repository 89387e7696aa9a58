/* Strategies on a virtual clock: updates of HOGWILD! that are lost, exactly those whose loads and
 * stores cross, counted by steps of 1 at every parameter; and what the others keep. */
#include "support/actors.h"
#include "support/strategies.h"

#include "base/rng.h"

enum { N = 8192 + 4096, PIECE = 4096, MOST_STEPS = 12 };

static const float WINDOW_NS = 100.0f, PIECE_NS = 1000.0f;

typedef struct cast {
    rig *r;
    float *ones; /* [N] */
    unsigned n_steps;
    double pause_ns[MOST_ACTORS][MOST_STEPS]; /* before each step */
    uint64_t n_overwritten[MOST_ACTORS];
} cast;

static void take_steps(unsigned actor, void *context)
{
    cast *c = context;
    for (unsigned i = 0; i < c->n_steps; i++) {
        drove__virtual_spend(c->pause_ns[actor][i]);
        (void)take_step(c->r, actor, c->ones, -1.0f, NULL, NULL);
    }
    c->n_overwritten[actor] = drove__virtual_overwritten();
}

/* All workers' steps of +1; theta[N]. */
static double perform(cast *c, const char *variant, unsigned n_workers, float *theta)
{
    rig r;
    drove_virtual *on;
    const drove_costs costs = {.update_ns = PIECE_NS / (PIECE * sizeof(float)),
                               .window_ns = WINDOW_NS};
    rig_init(&r, (rig_options){.variant = variant, .n_workers = n_workers, .n = N});
    c->r = &r;
    c->ones = drove__alloc(N, sizeof *c->ones);
    assert_non_null(c->ones);
    for (size_t i = 0; i < N; i++) c->ones[i] = 1.0f;
    assert_int_equal(drove__virtual_create(n_workers + 1, 1, &on), DROVE_OK);
    for (unsigned w = 0; w < n_workers; w++) drove__virtual_set_costs(on, w, &costs);
    if ((r.sync->needs & DROVE_SYNC_RACY) != 0)
        assert_int_equal(drove__virtual_scratch(on, N), DROVE_OK);
    double end_ns = run_actors(on, n_workers, take_steps, c);
    memcpy(theta, r.sync->ops->peek(r.sync).theta, N * sizeof *theta);
    drove__virtual_destroy(on);
    drove__free(c->ones);
    rig_fini(&r);
    return end_ns;
}

static float *vector(void)
{
    float *v = drove__alloc(N, sizeof *v);
    assert_non_null(v);
    return v;
}

/* ---- two workers, by hand ---- */

/* Worker 0 begins at 0, worker 1 of two at N / 2 = 6144, in the middle of the second piece: its
 * pieces are [6144, 8192), [8192, N), [0, 4096), [4096, 6144), which take 500, 1000, 1000 and
 * 500 ns.  Worker 0's begin at 0, 1000 and 2000.  With both starting at 0 their loads are
 *     worker 0:  piece 0 at 0, 1 at 1000, 2 at 2000
 *     worker 1:  6144.. at 0, piece 2 at 500, piece 0 at 1500, 4096.. at 2500
 * and no two of one place are within the window of 100. */
TEST(steps_that_do_not_meet_are_all_there)
{
    cast c = {.n_steps = 1};
    float *theta = vector();
    assert_true(perform(&c, "hogwild", 2, theta) == 3000.0);
    for (size_t i = 0; i < N; i++) assert_true(theta[i] == 2.0f);
    drove__free(theta);
}

/* Worker 1 waits for 1399: it loads piece 2 at 1899 and has stored it at 1999, before worker 0
 * loads it at 2000.  With 1450 it loads piece 2 at 1950, worker 0 at 2000, and stores at 2050 what
 * worker 0 overwrites at 2100: one of the two is lost in piece 2 and nowhere else. */
TEST(crossing_steps_lose_one)
{
    cast c = {.n_steps = 1, .pause_ns = {{0.0}, {1399.0}}};
    float *theta = vector();
    (void)perform(&c, "hogwild", 2, theta);
    for (size_t i = 0; i < N; i++) assert_true(theta[i] == 2.0f);
    assert_int_equal(c.n_overwritten[0] + c.n_overwritten[1], 0);
    c.pause_ns[1][0] = 1450.0;
    (void)perform(&c, "hogwild", 2, theta);
    for (size_t i = 0; i < N; i++) assert_true(theta[i] == (i < 2 * PIECE ? 2.0f : 1.0f));
    assert_int_equal(c.n_overwritten[0], PIECE); /* worker 0 stores last */
    assert_int_equal(c.n_overwritten[1], 0);
    drove__free(theta);
}

/* ---- many workers, against the interleaving worked out here ---- */

typedef struct event { /* a load or a store of [first, end) */
    double at_ns;
    unsigned number, worker, first, end; /* number: as it was asked for */
    bool is_store;
} event;

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

enum { MOST_EVENTS = 8 * MOST_STEPS * 5 * 2 };

/* Pieces in the order in which worker w of n walks them; each takes its part of PIECE_NS. */
static size_t add_step(event *e, unsigned worker, unsigned n_workers, double *at_ns)
{
    unsigned begin = N / 16 * worker / n_workers * 16, n = 0;
    const unsigned parts[2][2] = {{begin, N}, {0, begin}};
    for (unsigned p = 0; p < 2; p++) {
        for (unsigned first = parts[p][0]; first < parts[p][1];) {
            unsigned end = (first / PIECE + 1) * PIECE;
            if (end > parts[p][1]) end = parts[p][1];
            double all_ns = (double)PIECE_NS * (end - first) / PIECE,
                   window_ns = (double)WINDOW_NS < all_ns ? (double)WINDOW_NS : all_ns;
            e[n++] = (event){*at_ns, 0, worker, first, end, false};
            e[n++] = (event){*at_ns + window_ns, 0, worker, first, end, true};
            *at_ns += all_ns;
            first = end;
        }
    }
    return n;
}

/* Times are irregular, so that no two events fall together. */
TEST(losses_are_those_of_the_interleaving)
{
    enum { WORKERS = 8 };
    static event all[MOST_EVENTS];
    static float loaded[WORKERS][N], expected[N];
    cast c = {.n_steps = MOST_STEPS};
    drove_rng rng;
    size_t n = 0, n_lost = 0;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    for (unsigned w = 0; w < WORKERS; w++) {
        double at_ns = 0.0;
        for (unsigned i = 0; i < MOST_STEPS; i++) {
            c.pause_ns[w][i] = 600.0 * drove__rng_uniform(&rng) + 1.0;
            at_ns += c.pause_ns[w][i];
            n += add_step(all + n, w, WORKERS, &at_ns);
        }
    }
    assert_true(n <= MOST_EVENTS);
    qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; i < n; i++) {
        const event *e = &all[i];
        for (unsigned k = e->first; k < e->end; k++) {
            if (e->is_store) expected[k] = loaded[e->worker][k] + 1.0f;
            else loaded[e->worker][k] = expected[k];
        }
    }
    float *theta = vector();
    (void)perform(&c, "hogwild", WORKERS, theta);
    for (size_t i = 0; i < N; i++) {
        assert_true(theta[i] == expected[i]);
        n_lost += WORKERS * MOST_STEPS - (size_t)theta[i];
    }
    assert_true(n_lost > N); /* it is a test of losses */
    drove__free(theta);
}

/* ---- strategies that promise to lose nothing ---- */

static void keeps_all(const char *variant, unsigned n_workers, unsigned n_steps)
{
    cast c = {.n_steps = n_steps};
    float *theta = vector();
    for (unsigned w = 0; w < n_workers; w++)
        for (unsigned i = 0; i < c.n_steps; i++) c.pause_ns[w][i] = 50.0 * ((w + i) % 3);
    (void)perform(&c, variant, n_workers, theta);
    for (size_t i = 0; i < N; i++)
        if (theta[i] != (float)(n_steps * n_workers))
            fail_msg("%s: %g steps at %zu", variant, (double)theta[i], i);
    drove__free(theta);
}

TEST(others_lose_nothing)
{
    static const char *const variants[] = {"mutex", "rwlock", "rwlock?prefer=writers", "leashed",
                                           "ssp:2"};
    for (size_t i = 0; i < DROVE_COUNT(variants); i++) keeps_all(variants[i], 5, 4);
    keeps_all("leashed", 32, 1);
    keeps_all("mutex", 32, 1);
}
