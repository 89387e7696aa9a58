/* The simulated caches against traces worked out by hand, and the workers on them. */
#include "bench/simulate_cores.h"
#include "support/test.h"

#include "base/cpu.h"

#include <math.h>
#include <stdio.h>

/* L1: two sets of one way; L2: two sets of two; L3: two sets of four. */
static const drove_caches_options tiny = {.n_cores = 2,
                                          .n_fills = 2,
                                          .l1 = {2, 1},
                                          .l2 = {4, 2},
                                          .l3 = {8, 4},
                                          .l1_cycles = 4,
                                          .l2_cycles = 12,
                                          .l3_cycles = 36,
                                          .transfer_cycles = 30,
                                          .memory_cycles = 200,
                                          .n_model_lines = 3};

static drove_caches *make(double obstinacy)
{
    drove_caches *c;
    drove_caches_options opt = tiny;
    opt.obstinacy = obstinacy;
    assert_int_equal(drove__caches_create(&opt, &c), DROVE_OK);
    return c;
}

enum { READ = DROVE_ACCESS_READ, WRITE = DROVE_ACCESS_WRITE, PREFETCH = DROVE_ACCESS_PREFETCH };

/* Each access comes long after the last; what it cost, and the states of the line. */
typedef struct trace {
    unsigned core, line;
    int kind;
    unsigned cycles;
    const char *states; /* of core 0 and 1 afterwards */
} trace;

static void follow(drove_caches *c, const trace *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t now = 1000 * (i + 1);
        const drove_access_done done =
            drove__caches_access(c, t[i].core, t[i].line, (drove_access)t[i].kind, now);
        const char states[] = {drove__caches_state(c, 0, t[i].line),
                               drove__caches_state(c, 1, t[i].line), '\0'};
        if (done.begun != now || done.ready != now + t[i].cycles)
            fail_msg("access %zu: expected %u cycles, found %d", i, t[i].cycles,
                     (int)(done.ready - now));
        assert_string_equal(states, t[i].states);
    }
}

TEST(levels_by_hand)
{
    drove_caches *c = make(0.0);
    const trace t[] = {
        {0, 0, READ, 236, "EI"}, {0, 0, READ, 4, "EI"},   {0, 2, READ, 236, "EI"},
        {0, 0, READ, 12, "EI"},  /* line 2 has taken its place in L1, not in L2 */
        {0, 4, READ, 236, "EI"}, /* the third line of a set of L2: line 2 leaves */
        {0, 2, READ, 36, "EI"},  /* L3 has it, and knows that nobody else does */
        {0, 6, READ, 236, "EI"}, {0, 8, READ, 236, "EI"}, /* L3's fifth: line 0 leaves */
        {0, 0, READ, 236, "EI"},
    };
    follow(c, t, sizeof t / sizeof *t);
    const drove_caches_counts n = drove__caches_counts(c, 0);
    assert_int_equal(n.accesses, 9);
    assert_int_equal(n.l1, 1);
    assert_int_equal(n.l2, 1);
    assert_int_equal(n.l3, 1);
    assert_int_equal(n.memory, 6);
    drove__caches_destroy(c);
}

TEST(coherence_by_hand)
{
    drove_caches *c = make(0.0);
    const trace t[] = {
        {0, 0, READ, 236, "EI"}, {1, 0, READ, 66, "SS"}, /* core 0 had it to itself */
        {1, 0, WRITE, 66, "IM"}, {1, 0, WRITE, 4, "IM"},  {0, 0, READ, 66, "SS"},
        {0, 0, WRITE, 66, "MI"}, {1, 0, WRITE, 66, "IM"}, {0, 1, READ, 236, "EI"},
        {0, 1, WRITE, 4, "MI"}, /* from E to M nobody need know */
        {1, 1, READ, 66, "SS"},
    };
    follow(c, t, sizeof t / sizeof *t);
    assert_int_equal(drove__caches_counts(c, 0).taken, 2);
    assert_int_equal(drove__caches_counts(c, 1).taken, 1);
    assert_int_equal(drove__caches_counts(c, 0).old_reads, 0);
    drove__caches_destroy(c);
}

TEST(obstinacy_by_hand)
{
    drove_caches *c = make(1.0);
    const trace t[] = {
        {0, 0, READ, 236, "EI"}, {1, 0, READ, 66, "SS"}, {1, 0, WRITE, 66, "SM"},
        {0, 0, READ, 4, "SM"},   {1, 0, WRITE, 4, "SM"}, {0, 0, READ, 4, "SM"},
    };
    follow(c, t, sizeof t / sizeof *t);
    assert_int_equal(drove__caches_lacks(c, 0, 0), 2);
    assert_int_equal(drove__caches_lacks(c, 1, 0), 0);
    assert_int_equal(drove__caches_counts(c, 0).old_reads, 2);
    assert_int_equal(drove__caches_counts(c, 0).kept, 1);
    /* Its own write brings the line as it is, and leaves the other with an old one. */
    const drove_access_done done = drove__caches_access(c, 0, 0, DROVE_ACCESS_WRITE, 100000);
    assert_true(done.came && done.ready == 100066);
    assert_int_equal(drove__caches_state(c, 0, 0), 'M');
    assert_int_equal(drove__caches_state(c, 1, 0), 'S');
    assert_int_equal(drove__caches_lacks(c, 0, 0), 0);
    assert_int_equal(drove__caches_lacks(c, 1, 0), 1);
    drove__caches_destroy(c);
    c = make(1.0); /* line 3 is data: lost like anybody's */
    const trace data[] = {{0, 3, READ, 236, "EI"}, {1, 3, WRITE, 66, "IM"}};
    follow(c, data, 2);
    drove__caches_destroy(c);
}

/* Each write of one core gives the other one chance. */
TEST(as_many_are_kept_as_q_says)
{
    enum { N = 20000 };
    drove_caches *c = make(0.3);
    for (unsigned i = 0; i < N; i++) {
        (void)drove__caches_access(c, 0, 0, DROVE_ACCESS_WRITE, 2000 * (uint64_t)i);
        (void)drove__caches_access(c, 1, 0, DROVE_ACCESS_WRITE, 2000 * (uint64_t)i + 1000);
    }
    const drove_caches_counts n = drove__caches_counts(c, 0);
    const double deviation = sqrt(0.3 * 0.7 / N);
    assert_int_equal(n.kept + n.taken, N);
    assert_true(fabs((double)n.kept / N - 0.3) < 4 * deviation);
    drove__caches_destroy(c);
}

TEST(fill_buffers_by_hand)
{
    drove_caches *c = make(0.0);
    drove_access_done done = drove__caches_access(c, 0, 10, DROVE_ACCESS_PREFETCH, 0);
    assert_true(done.begun == 0 && done.ready == 236);
    done = drove__caches_access(c, 0, 11, DROVE_ACCESS_READ, 10);
    assert_true(done.begun == 10 && done.ready == 246);
    done = drove__caches_access(c, 0, 13, DROVE_ACCESS_READ, 20); /* both buffers are in use */
    assert_true(done.begun == 236 && done.ready == 472);
    done = drove__caches_access(c, 1, 12, DROVE_ACCESS_READ, 30); /* not the other core's */
    assert_true(done.begun == 30 && done.ready == 266);
    done = drove__caches_access(c, 0, 10, DROVE_ACCESS_READ, 100); /* it is on its way */
    assert_true(done.begun == 100 && done.ready == 236);
    drove__caches_destroy(c);
}

TEST(bad_options_are_refused)
{
    drove_caches *c;
    drove_caches_options opt = tiny;
    opt.n_cores = 65;
    assert_int_equal(drove__caches_create(&opt, &c), DROVE_E_ARG);
    assert_null(c);
    opt = tiny, opt.obstinacy = NAN;
    assert_int_equal(drove__caches_create(&opt, &c), DROVE_E_ARG);
    opt = tiny, opt.l2.n_ways = 3;
    assert_int_equal(drove__caches_create(&opt, &c), DROVE_E_ARG);
    opt = tiny, opt.n_fills = 0;
    assert_int_equal(drove__caches_create(&opt, &c), DROVE_E_ARG);
}

/* ---- workers ---- */

static const drove_sim_step step = {
    .data = DROVE_F32, .model = DROVE_F32, .n_features = 128, .ghz = 2.0, .gnps = 0.5, .ahead = 16};

/* Alone nobody takes a line: arithmetic is all, whatever q; and n times that for n cores that
 * share nothing but a model that nobody need wait for is the most there can be. */
TEST(rates_are_bounded_by_arithmetic)
{
    drove_sim_rate alone, all, obstinate;
    drove_caches_options caches = drove__caches_of_the_paper;
    caches.n_cores = 1;
    assert_int_equal(drove__sim_cores_rate(&caches, &step, 400, &alone), DROVE_OK);
    assert_true(alone.gnps <= 0.5 && alone.gnps > 0.45);
    assert_int_equal(alone.sum.taken + alone.sum.kept, 0);
    caches.n_cores = 4;
    assert_int_equal(drove__sim_cores_rate(&caches, &step, 400, &all), DROVE_OK);
    assert_true(all.gnps < 4 * alone.gnps);
    assert_true(all.sum.taken > 0 && all.sum.kept == 0 && all.sum.old_reads == 0);
    caches.obstinacy = 0.5;
    assert_int_equal(drove__sim_cores_rate(&caches, &step, 400, &obstinate), DROVE_OK);
    assert_true(obstinate.gnps > all.gnps);
    assert_true(obstinate.sum.kept > 0 && obstinate.sum.old_reads > 0);
}

static double last_loss(unsigned n_cores, double q, bool owns_first)
{
    enum { EPOCHS = 3 };
    drovek_table kernels;
    drove_sim_rate rate;
    double loss[EPOCHS + 1];
    drove_sim_step learns = step;
    drove_caches_options caches = drove__caches_of_the_paper;
    caches.n_cores = n_cores;
    caches.obstinacy = q;
    learns.owns_first = owns_first;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    const drove_sim_lesson lesson = {
        .kernels = &kernels, .n_examples = 1000, .n_epochs = EPOCHS, .eta = 2.0, .seed = 3};
    assert_int_equal(drove__sim_cores_learn(&caches, &learns, &lesson, loss, &rate), DROVE_OK);
    assert_true(fabs(loss[0] - log(2.0)) < 1e-6);
    assert_true(loss[1] < loss[0] && loss[3] < loss[1]);
    return loss[EPOCHS];
}

/* Alone, q changes nothing.  18 workers that write what they own lose nothing and come near one;
 * those that add to an old copy and store it lose what others added. */
TEST(old_copies_lose_updates_only_where_they_are_stored)
{
    const double one = last_loss(1, 0.0, false), obstinate = last_loss(1, 0.9, false);
    assert_true(one == obstinate);
    const double owned = last_loss(18, 0.9, true), stored = last_loss(18, 0.9, false);
    if (fabs(owned - one) > 0.02) fail_msg("expected about %g, found %g", one, owned);
    if (stored < one + 0.05) fail_msg("expected lost updates, found %g beside %g", stored, one);
}
