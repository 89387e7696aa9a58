/* Eight workers at once through the methods of elastic/, with steps of small integers, so that what
 * is lost, done twice or torn is an exact difference.
 *
 *   NO_LOSS       all steps are in the parameters, whatever the period: each with an eighth
 *   numbers       where RPCs are exclusive, version + staleness + 1 is each number just once
 *   conservation  a pull moves something from a worker to the centre, or back, and loses nothing:
 *                 the centre and all workers together have what all steps were, but for rounding,
 *                 which is far below one step.  Of Hogwild: printed
 *   views         a worker's view is what its own steps and exchanges have made, read with plain
 *                 loads, so that ThreadSanitizer watches */
#include "support/strategies.h"

#include "base/rng.h"
#include "elastic/elastic.h"

#include <math.h>
#include <stdlib.h>

enum { T = 8, N = 1024 };

typedef struct crowd {
    unsigned steps;
    double applied[T];
    _Atomic unsigned n_failed, n_torn;
    _Atomic unsigned *seen; /* [T steps + 1] */
} crowd;

static void crowd_init(crowd *c, unsigned steps)
{
    memset(c, 0, sizeof *c);
    c->steps = steps / STEPS_DIVISOR / T * T;
    c->seen = calloc((size_t)T * c->steps + 2, sizeof *c->seen);
    assert_non_null(c->seen);
}

/* Every element of a view is the same: all have had the same steps and exchanges. */
static bool is_even(const float *vector)
{
    for (unsigned j = 1; j < N; j++)
        if (vector[j] != vector[0]) return false;
    return true;
}

static void add_integers(rig *r, unsigned worker, void *arg)
{
    crowd *c = arg;
    drove_sync *s = r->sync;
    float *value = drove__alloc(N, sizeof *value);
    drove_rng rng;
    drove__rng_seed(&rng, 17, DROVE_RNG_TEST, worker);
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        float step = (float)(1 + drove__rng_below(&rng, 4));
        for (unsigned j = 0; j < N; j++) value[j] = step;
        drove_step made = {.value = value, .eta = 1.0f};
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
            atomic_fetch_add(&c->n_failed, 1);
            break;
        }
        if (!is_even(view.vector)) atomic_fetch_add(&c->n_torn, 1);
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &made, &info) != DROVE_OK) {
            atomic_fetch_add(&c->n_failed, 1);
            break;
        }
        c->applied[worker] += (double)step;
        uint64_t number = view.version + info.staleness + 1;
        if (number <= (uint64_t)T * c->steps) atomic_fetch_add(&c->seen[number], 1);
    }
    drove__free(value);
}

static double total(const crowd *c)
{
    double sum = 0.0;
    for (unsigned i = 0; i < T; i++) sum += c->applied[i];
    return sum;
}

static void start(rig *r, crowd *c, const drove_sync_ops *ops, const char *variant,
                  const char *period, unsigned steps)
{
    crowd_init(c, steps);
    rig_init(r, (rig_options){.variant = variant,
                              .ops = ops,
                              .n = N,
                              .n_workers = T,
                              .period = period,
                              .rho = ops->needs & DROVE_SYNC_OWN_STATE && ops != &drove__sync_local
                                         ? 0.125
                                         : 0.0});
    run_workers(r, add_integers, c);
    assert_int_equal(c->n_failed, 0);
}

static void end(rig *r, crowd *c)
{
    free(c->seen);
    rig_fini(r);
}

/* With the strategies' own periods: test_sync_steps.c, as of every row. */
TEST(no_step_is_lost_by_other_periods)
{
    static const char *const periods[] = {"1", "7"};
    for (size_t k = 0; k < DROVE_COUNT(periods); k++) {
        rig r;
        crowd c;
        start(&r, &c, &drove__sync_local, "local", periods[k], 1000);
        const float *theta = r.sync->ops->peek(r.sync).theta;
        for (unsigned j = 0; j < N; j++) {
            if ((double)theta[j] != -total(&c) / T)
                fail_msg("local: element %u is %.4f, expected %.4f", j, (double)theta[j],
                         -total(&c) / T);
        }
        assert_int_equal(c.n_torn, 0);
        end(&r, &c);
    }
}

TEST(each_update_has_its_number)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_easgd, &drove__sync_easgd_async,
                                                &drove__sync_psgd_async, &drove__sync_pmsgd_async};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        crowd c;
        start(&r, &c, ops[k], ops[k]->name, NULL, 400);
        assert_int_equal(atomic_load(&r.sync->published), T * c.steps);
        for (unsigned i = 1; i <= T * c.steps; i++) {
            if (c.seen[i] != 1) fail_msg("%s: update %u made %u times", ops[k]->name, i, c.seen[i]);
        }
        assert_int_equal(c.n_torn, 0);
        end(&r, &c);
    }
}

/* c + sum of W^i = -(all steps), in units of the steps' sum. */
static double missing(const rig *r, const crowd *c)
{
    double most = 0.0;
    for (unsigned j = 0; j < N; j++) {
        double sum = (double)r->sync->ops->peek(r->sync).theta[j];
        for (unsigned i = 0; i < T; i++)
            sum += (double)r->sync->ops->replicas->vector(r->sync, i)[j];
        most = fmax(most, fabs(sum + total(c)));
    }
    return most / total(c);
}

TEST(pulls_conserve)
{
    static const struct {
        const drove_sync_ops *ops;
        const char *variant, *period;
    } cases[] = {{&drove__sync_easgd, "easgd", NULL},
                 {&drove__sync_easgd_async, "easgd-async", NULL},
                 {&drove__sync_easgd_async, "easgd-async?overlap=1", "3"},
                 {&drove__sync_measgd_async, "measgd-async", NULL},
                 {&drove__sync_easgd_sync1, "easgd-sync1", NULL},
                 {&drove__sync_easgd_sync2, "easgd-sync2", "2"},
                 {&drove__sync_easgd_sync3, "easgd-sync3", NULL},
                 {&drove__sync_easgd_sync3, "easgd-sync3?centre=one", NULL},
                 {&drove__sync_easgd_hogwild, "easgd-hogwild", NULL}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        crowd c;
        start(&r, &c, cases[k].ops, cases[k].variant, cases[k].period, 400);
        double lost = missing(&r, &c);
        print_message("%-24s %.2g of all steps missing\n", cases[k].variant, lost);
        if (cases[k].ops == &drove__sync_easgd_hogwild) {
            assert_true(lost < 1.0);
        } else {
            assert_true(lost < 1e-5); /* one step of 3,200 is 3e-4 */
            assert_int_equal(c.n_torn, 0);
        }
        end(&r, &c);
    }
}
