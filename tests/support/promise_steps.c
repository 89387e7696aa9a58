/* Eight workers at once, with steps of small integers: sums below 2^24 are exact in float, so that
 * a lost, doubled or torn update is an exact difference.
 *
 *   NO_LOSS    the parameters are the sum of all steps that were not reported dropped, each with
 *              the same weight: 1, or the part that one worker has in a mean
 *   SNAPSHOT   a view (theta and velocity) is whole, and exactly the state that its version names,
 *              from the moment it is lent until it is given back; read with plain loads, so that
 *              ThreadSanitizer watches.  Of vectors of the workers' own: whole and unchanged, since
 *              several of them make no state that a number could name
 *   numbers    of shared vectors: version + staleness + 1 is the number of the update that the step
 *              went into: each number exactly as often as an update has contributions
 * Without a promise (HOGWILD!) the losses and torn views are counted and printed, and stay within
 * what racing stores can do.
 */
#include "support/promises.h"

#include "base/rng.h"

#include <stdlib.h>

enum { N = 1024 };

/* Workers: eight, or DROVE_TEST_WORKERS. */
static unsigned n_crowd(void)
{
    const char *text = getenv("DROVE_TEST_WORKERS");
    unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 8;
    assert_true(n >= 1 && n <= MOST_WORKERS);
    return (unsigned)n;
}

typedef struct tally { /* one worker's */
    double applied;    /* sum of the steps not dropped */
    uint64_t n_dropped, n_attempts, n_updated, n_torn, n_failed, n_misnumbered;
    uint64_t most_staleness;
} DROVE_ALIGNED_CACHE_LINE tally;

typedef struct crowd {
    variant_facts facts;
    unsigned steps; /* of each worker */
    tally of[MOST_WORKERS];
    _Atomic unsigned *contributions; /* [workers x steps + 1] to the update of that number */
} crowd;

static const char *const backoffs[] = {"none", "exponential?max_us=20", "random?max_us=20",
                                       "linear?max_us=20"};

/* In the short tests a quarter of the steps. */
static unsigned divisor(void)
{
    return getenv("DROVE_TEST_LONG") != NULL || DROVE_TSAN ? STEPS_DIVISOR : 4;
}

static void crowd_init(crowd *c, const drove_sync_ops *ops, const char *variant, unsigned steps)
{
    memset(c, 0, sizeof *c);
    c->facts = facts_of(ops, variant, n_crowd());
    unsigned n = n_crowd(), most = 8 * steps / divisor() / n; /* of all: as of eight */
    c->steps = (most > n ? most : n) / n * n;
    c->contributions = calloc(n_crowd() * c->steps + 2, sizeof *c->contributions);
    assert_non_null(c->contributions);
}

static bool has_own_vectors(const variant_facts *f)
{
    return (f->needs & (DROVE_SYNC_OWN_VECTOR | DROVE_SYNC_SPREAD)) != 0;
}

static void note(crowd *c, tally *mine, const drove_view *view, const drove_publish_info *info)
{
    uint64_t number = view->version + info->staleness + 1;
    mine->n_attempts += info->attempts;
    mine->n_updated += info->updated;
    mine->n_dropped += info->dropped;
    if (info->staleness > mine->most_staleness) mine->most_staleness = info->staleness;
    if (info->dropped) return;
    if (number <= n_crowd() * c->steps) atomic_fetch_add(&c->contributions[number], 1);
    else mine->n_misnumbered++;
}

static tally total(const crowd *c)
{
    tally sum = {0};
    for (unsigned w = 0; w < n_crowd(); w++) {
        sum.applied += c->of[w].applied;
        sum.n_dropped += c->of[w].n_dropped;
        sum.n_attempts += c->of[w].n_attempts;
        sum.n_updated += c->of[w].n_updated;
        sum.n_torn += c->of[w].n_torn;
        sum.n_failed += c->of[w].n_failed;
        sum.n_misnumbered += c->of[w].n_misnumbered;
        if (c->of[w].most_staleness > sum.most_staleness)
            sum.most_staleness = c->of[w].most_staleness;
    }
    return sum;
}

static void check_numbers(const rig *r, const crowd *c, const tally *sum)
{
    uint64_t published = atomic_load(&r->sync->published);
    assert_int_equal(sum->n_failed, 0);
    assert_int_equal(sum->n_misnumbered, 0);
    assert_true(sum->n_attempts >= n_crowd() * c->steps);
    if ((c->facts.needs & DROVE_SYNC_SPREAD) != 0) return; /* its updates are its transport's */
    assert_int_equal(sum->n_updated, published);
    assert_int_equal((n_crowd() * c->steps - sum->n_dropped) / r->sync->batches_per_update,
                     published);
    for (uint64_t number = 1; number <= published; number++)
        if (atomic_load(&c->contributions[number]) != r->sync->batches_per_update)
            fail_msg("update %llu has %u contributions", (unsigned long long)number,
                     atomic_load(&c->contributions[number]));
}

/* ---- integer steps, all different ---- */

static void add_integers(rig *r, unsigned worker, void *arg)
{
    crowd *c = arg;
    tally *mine = &c->of[worker];
    float *value = drove__alloc(N, sizeof *value);
    drove_rng rng;
    drove__rng_seed(&rng, 11, DROVE_RNG_TEST, worker);
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        float step = (float)(1 + drove__rng_below(&rng, 4));
        for (unsigned j = 0; j < N; j++) value[j] = step;
        if (take_step(r, worker, value, 1.0f, &view, &info) != DROVE_OK) {
            mine->n_failed++;
            break;
        }
        note(c, mine, &view, &info);
        if (!info.dropped) mine->applied += (double)step;
    }
    drove__free(value);
}

static void print_loss(const char *variant, const rig *r, const tally *sum)
{
    const float *theta = r->sync->ops->peek(r->sync).theta;
    double lost = 0.0, most = 0.0;
    for (unsigned j = 0; j < N; j++) {
        double missing = sum->applied + (double)theta[j];
        assert_true(missing >= 0.0);         /* nothing was applied twice */
        assert_true((double)theta[j] < 0.0); /* nor was everything lost */
        lost += missing;
        most = missing > most ? missing : most;
    }
    printf("%-28s lost %.4f %% of all, %.4f %% of the worst element\n", variant,
           100.0 * lost / N / sum->applied, 100.0 * most / sum->applied);
}

/* Each step has the same weight in the parameters: 1 / `share`.  A sum that lacks a step is none of
 * these multiples. */
static void expect_all(const char *variant, const rig *r, const tally *sum)
{
    const float *theta = r->sync->ops->peek(r->sync).theta;
    const unsigned shares[] = {1, r->sync->batches_per_update, n_crowd()};
    unsigned share = 0;
    for (size_t k = 0; k < DROVE_COUNT(shares); k++)
        if ((double)theta[0] == -sum->applied / shares[k]) share = shares[k];
    if (share == 0)
        fail_msg("%s: element 0 is %.4f after steps of %.0f", variant, (double)theta[0],
                 sum->applied);
    for (unsigned j = 0; j < N; j++)
        if (theta[j] != theta[0])
            fail_msg("%s: element %u is %.4f, expected %.4f", variant, j, (double)theta[j],
                     (double)theta[0]);
}

static void lose_nothing(const drove_sync_ops *ops, const char *variant, const char *backoff)
{
    rig r;
    crowd c;
    crowd_init(&c, ops, variant, 2000);
    rig_init(&r, (rig_options){.variant = variant,
                               .ops = ops,
                               .backoff = backoff,
                               .n = N,
                               .n_workers = n_crowd()});
    run_workers(&r, add_integers, &c);
    tally sum = total(&c);
    check_numbers(&r, &c, &sum);
    if ((c.facts.promises & DROVE_SYNC_NO_LOSS) != 0) {
        expect_all(variant, &r, &sum);
        printf("%-28s %-22s lost none; dropped %llu of %u, staleness up to %llu\n", variant,
               backoff, (unsigned long long)sum.n_dropped, n_crowd() * c.steps,
               (unsigned long long)sum.most_staleness);
    } else if (!has_own_vectors(&c.facts)) {
        print_loss(variant, &r, &sum);
    }
    /* Only one that never waits has a reason to give up. */
    if ((c.facts.promises & DROVE_SYNC_LOCK_FREE) == 0) assert_int_equal(sum.n_dropped, 0);
    free(c.contributions);
    rig_fini(&r);
}

void promise_no_loss(const drove_sync_ops *ops, const char *variant)
{
    size_t n = (ops->needs & DROVE_SYNC_BACKOFF) != 0 ? DROVE_COUNT(backoffs) : 1;
    if ((ops->needs & DROVE_SYNC_ONE) != 0) return;
    for (size_t b = 0; b < n; b++) lose_nothing(ops, variant, backoffs[b]);
}

/* ---- views ---- */

typedef struct moment { /* of every element */
    float theta, velocity;
} moment;

/* With gradient, step size and momentum 1 the state after t updates is velocity -t and theta
 * -t (t + 1) / 2; of a worker's own vector: what the first element says. */
static moment state_after(const variant_facts *f, const float *vector, uint64_t t)
{
    if (has_own_vectors(f)) return (moment){drove__racy_load(vector), drove__racy_load(vector + N)};
    return (moment){-(float)(t * (t + 1) / 2), -(float)t};
}

static float load(const float *from, bool racy)
{
    return racy ? drove__racy_load(from) : *from;
}

static bool is_whole(const variant_facts *f, const float *vector, moment m)
{
    bool racy = (f->promises & DROVE_SYNC_SNAPSHOT) == 0;
    for (unsigned j = 0; j < N; j++) {
        if (load(vector + j, racy) != m.theta) return false;
        if (f->shares_state && load(vector + N + j, racy) != m.velocity) return false;
    }
    return true;
}

/* A worker's own copy of a centre that several write at once is whole, but not even. */
static bool is_even(const variant_facts *f)
{
    return (f->needs & DROVE_SYNC_SPREAD) == 0 || (f->promises & DROVE_SYNC_LOCK_FREE) == 0;
}

/* The view at hand is as it must be, now and until the worker has rested. */
static bool stays_whole(const crowd *c, const drove_view *view, float *before, bool rests)
{
    bool whole = true;
    moment expected = state_after(&c->facts, view->vector, view->version);
    if (is_even(&c->facts)) {
        whole = is_whole(&c->facts, view->vector, expected);
        if (rests) rest_us(100);
        return whole && is_whole(&c->facts, view->vector, expected);
    }
    for (unsigned j = 0; j < 2 * N; j++) before[j] = view->vector[j];
    if (rests) rest_us(100);
    for (unsigned j = 0; j < 2 * N; j++) whole = whole && before[j] == view->vector[j];
    return whole;
}

static void watch_views(rig *r, unsigned worker, void *arg)
{
    crowd *c = arg;
    tally *mine = &c->of[worker];
    drove_sync *s = r->sync;
    float *value = drove__alloc(N, sizeof *value), *before = drove__alloc(2 * N, sizeof *before);
    drove_step step = {.value = value, .eta = 1.0f};
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
            mine->n_failed++;
            break;
        }
        mine->n_torn += !stays_whole(c, &view, before, i % 32 == worker);
        for (unsigned j = 0; j < N; j++) value[j] = 1.0f; /* publish may have used it */
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) {
            mine->n_failed++;
            break;
        }
        note(c, mine, &view, &info);
    }
    drove__free(value);
    drove__free(before);
}

void promise_snapshot(const drove_sync_ops *ops, const char *variant)
{
    rig r;
    crowd c;
    if ((ops->needs & DROVE_SYNC_ONE) != 0) return;
    rig_options o = {
        .variant = variant, .ops = ops, .rule = "momentum:0.5", .n = N, .n_workers = n_crowd()};
    if (!rig_accepts(o)) return;       /* one that lends theta to write has no state */
    crowd_init(&c, ops, variant, 700); /* theta stays below 2^24 up to update 5,792 */
    rig_init(&r, o);
    r.optim->rule.mu = 1.0f;
    run_workers(&r, watch_views, &c);
    tally sum = total(&c);
    check_numbers(&r, &c, &sum);
    if ((c.facts.promises & DROVE_SYNC_SNAPSHOT) != 0) {
        const float *end = r.sync->ops->peek(r.sync).theta;
        if (sum.n_torn != 0)
            fail_msg("%s: %llu torn views", variant, (unsigned long long)sum.n_torn);
        if (is_even(&c.facts))
            assert_true(is_whole(&c.facts, end,
                                 state_after(&c.facts, end, atomic_load(&r.sync->published))));
    } else {
        printf("%-28s %llu of %u views not whole\n", variant, (unsigned long long)sum.n_torn,
               n_crowd() * c.steps);
    }
    free(c.contributions);
    rig_fini(&r);
}
