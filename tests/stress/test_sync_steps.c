/* Eight workers at once through every strategy, with steps of small integers: sums below 2^24 are
 * exact in float, so that a lost, doubled or torn update is an exact difference.
 * ctest: timeout=300
 *
 * For every variant, with and without back-off:
 *   NO_LOSS    the parameters are the sum of all steps that were not reported dropped
 *   SNAPSHOT   the state of a view (theta and velocity) is exactly what its version says, from the
 *              moment it is lent until it is given back; read with plain loads, so that
 *              ThreadSanitizer watches.  Of a replica: whole and unchanged, since the velocities of
 *              several replicas make no state that a number could name
 *   numbers    version + staleness + 1 is the number of the update that the step went into: each
 *              number exactly as often as an update has contributions
 * Without a promise (HOGWILD!) the losses and torn views are counted and printed, and stay within
 * what racing stores can do.
 */
#include "support/strategies.h"

#include "base/rng.h"

#include <stdlib.h>

enum { T = 8, N = 1024 };

typedef struct tally { /* one worker's */
    double applied;    /* sum of the steps not dropped */
    uint64_t n_dropped, n_attempts, n_updated, n_torn, n_failed, n_misnumbered;
    uint64_t most_staleness;
} DROVE_ALIGNED_CACHE_LINE tally;

typedef struct crowd {
    unsigned steps; /* of each worker */
    tally of[T];
    _Atomic unsigned *contributions; /* [T steps + 1] to the update of that number */
} crowd;

static const char *const backoffs[] = {"none", "exponential?max_us=20", "random?max_us=20",
                                       "linear?max_us=20"};

static void crowd_init(crowd *c, unsigned steps)
{
    memset(c, 0, sizeof *c);
    c->steps = steps / STEPS_DIVISOR / T * T;
    c->contributions = calloc(T * c->steps + 2, sizeof *c->contributions);
    assert_non_null(c->contributions);
}

static void note(crowd *c, tally *mine, const drove_view *view, const drove_publish_info *info)
{
    uint64_t number = view->version + info->staleness + 1;
    mine->n_attempts += info->attempts;
    mine->n_updated += info->updated;
    mine->n_dropped += info->dropped;
    if (info->staleness > mine->most_staleness) mine->most_staleness = info->staleness;
    if (info->dropped) return;
    if (number <= T * c->steps) atomic_fetch_add(&c->contributions[number], 1);
    else mine->n_misnumbered++;
}

static tally total(const crowd *c)
{
    tally sum = {0};
    for (unsigned w = 0; w < T; w++) {
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
    assert_int_equal(sum->n_updated, published);
    assert_int_equal((T * c->steps - sum->n_dropped) / r->sync->batches_per_update, published);
    assert_true(sum->n_attempts >= T * c->steps);
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
    printf("%-22s lost %.4f %% of all, %.4f %% of the worst element\n", variant,
           100.0 * lost / N / sum->applied, 100.0 * most / sum->applied);
}

static void lose_nothing(const drove_sync_ops *ops, const char *variant, const char *backoff)
{
    rig r;
    crowd c;
    crowd_init(&c, 2000);
    rig_init(&r, (rig_options){
                     .variant = variant, .ops = ops, .backoff = backoff, .n = N, .n_workers = T});
    run_workers(&r, add_integers, &c);
    tally sum = total(&c);
    check_numbers(&r, &c, &sum);
    /* The mean of T replicas has one T-th of each step, and that exactly. */
    bool mean = strcmp(variant, "replicas") == 0;
    if ((r.sync->ops->promises & DROVE_SYNC_NO_LOSS) == 0 && !mean) {
        print_loss(variant, &r, &sum);
    } else {
        const float *theta = r.sync->ops->peek(r.sync).theta;
        double expected = -sum.applied / (mean ? T : r.sync->batches_per_update);
        for (unsigned j = 0; j < N; j++)
            if ((double)theta[j] != expected)
                fail_msg("%s: element %u is %.3f, expected %.3f", variant, j, (double)theta[j],
                         expected);
        printf("%-22s %-22s lost none; dropped %llu of %u, staleness up to %llu\n", variant,
               backoff, (unsigned long long)sum.n_dropped, T * c.steps,
               (unsigned long long)sum.most_staleness);
    }
    bool may_drop = strcmp(variant, "leashed:0") == 0 || strcmp(variant, "leashed:1") == 0;
    if (!may_drop) assert_int_equal(sum.n_dropped, 0);
    free(c.contributions);
    rig_fini(&r);
}

static void lose_nothing_with_any_backoff(const drove_sync_ops *ops, const char *variant)
{
    size_t n = (ops->needs & DROVE_SYNC_BACKOFF) != 0 ? DROVE_COUNT(backoffs) : 1;
    for (size_t b = 0; b < n; b++) lose_nothing(ops, variant, backoffs[b]);
}

static void no_step_is_lost(void **state)
{
    (void)state;
    for_each_variant(lose_nothing_with_any_backoff);
}

/* ---- views ---- */

typedef struct moment { /* of every element */
    float theta, velocity;
} moment;

/* With gradient, step size and momentum 1 the state after t updates is velocity -t and theta
 * -t (t + 1) / 2; of replicas: what the first element says. */
static moment state_after(const drove_sync *s, const float *vector, uint64_t t)
{
    if (s->ops->init == drove__sync_replicas.init)
        return (moment){drove__racy_load(vector), drove__racy_load(vector + N)};
    return (moment){-(float)(t * (t + 1) / 2), -(float)t};
}

static bool is_whole(const float *vector, moment m, bool racy)
{
    for (unsigned j = 0; j < N; j++) {
        float a = racy ? drove__racy_load(vector + j) : vector[j];
        float b = racy ? drove__racy_load(vector + N + j) : vector[N + j];
        if (a != m.theta || b != m.velocity) return false;
    }
    return true;
}

static void watch_views(rig *r, unsigned worker, void *arg)
{
    crowd *c = arg;
    tally *mine = &c->of[worker];
    drove_sync *s = r->sync;
    bool racy = (s->ops->promises & DROVE_SYNC_SNAPSHOT) == 0;
    float *value = drove__alloc(N, sizeof *value);
    for (unsigned j = 0; j < N; j++) value[j] = 1.0f;
    drove_step step = {.value = value, .eta = 1.0f};
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
            mine->n_failed++;
            break;
        }
        moment expected = state_after(s, view.vector, view.version);
        bool whole = is_whole(view.vector, expected, racy);
        if (i % 32 == worker) rest_us(100);
        whole = whole && is_whole(view.vector, expected, racy);
        mine->n_torn += !whole;
        s->ops->release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) {
            mine->n_failed++;
            break;
        }
        note(c, mine, &view, &info);
    }
    drove__free(value);
}

static void views_are_whole(const drove_sync_ops *ops, const char *variant)
{
    if (strcmp(variant, "hogwild:live") == 0) return; /* lends theta to write, and has no state */
    rig r;
    crowd c;
    crowd_init(&c, 700); /* theta stays below 2^24 up to update 5,792 */
    rig_init(&r,
             (rig_options){
                 .variant = variant, .ops = ops, .rule = "momentum:0.5", .n = N, .n_workers = T});
    r.optim->rule.mu = 1.0f;
    run_workers(&r, watch_views, &c);
    tally sum = total(&c);
    check_numbers(&r, &c, &sum);
    if ((r.sync->ops->promises & DROVE_SYNC_SNAPSHOT) != 0) {
        const float *end = r.sync->ops->peek(r.sync).theta;
        if (sum.n_torn != 0)
            fail_msg("%s: %llu torn views", variant, (unsigned long long)sum.n_torn);
        assert_true(
            is_whole(end, state_after(r.sync, end, atomic_load(&r.sync->published)), false));
    } else {
        printf("%-22s %llu of %u views not whole\n", variant, (unsigned long long)sum.n_torn,
               T * c.steps);
    }
    free(c.contributions);
    rig_fini(&r);
}

static void every_view_is_whole(void **state)
{
    (void)state;
    for_each_variant(views_are_whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_is_lost),
        cmocka_unit_test(every_view_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
