/* The coordinator, message by message: stretches, lost workers, time-outs, limits, state. */
#include "support.h"

#include "base/mem.h"
#include "coord/policy.h"

#include <math.h>
#include <stdlib.h>

static drove_coord_options two(const drove_coord_worker *workers)
{
    return (drove_coord_options){.policy = &drove__policy_fixed,
                                 .alpha = 2.0,
                                 .n_rows = 100,
                                 .n_workers = 2,
                                 .worker = workers};
}

static const drove_coord_action *given(const hand *h, unsigned worker)
{
    assert_true(h->n_given[worker] > 0);
    return &h->given[worker][0];
}

/* ---- stretches ---- */

/* The last batch of an epoch and of a stretch is what is left; line 6 of Algorithm 2 would drop
 * it. */
TEST(what_is_left_is_given_out)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 30, 64), a_worker("B", 1, 40, 64)};
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 150);                              /* one epoch and a half */
    static const uint64_t n_a[] = {30, 30, 30, 20}; /* 0 30, (B 30 40), 70 30, 100 30, 130 20 */
    for (size_t i = 0; i < DROVE_COUNT(n_a); i++) {
        assert_int_equal(given(h, 0)->range.n, n_a[i]);
        hand_done(h, 0, 1, 10);
    }
    assert_int_equal(h->n_parked, 0);
    assert_int_equal(drove__coord_next(h->c), 150);
    hand_done(h, 1, 1, 10);
    assert_int_equal(h->n_parked, 1);
    hand_check_all_done(h, 150);
    hand_open(h, 200); /* goes on where the last one ended */
    assert_int_equal(given(h, 0)->range.first, 150);
    hand_done(h, 0, 1, 10);
    hand_done(h, 1, 1, 10);
    assert_int_equal(h->n_parked, 2);
    hand_check_all_done(h, 200);
    drove_coord_facts a = hand_facts(h, 0), b = hand_facts(h, 1);
    assert_int_equal(a.n_examples + b.n_examples, 200);
    assert_int_equal(a.n_batches + b.n_batches, 7);
    assert_int_equal(a.n_updates + b.n_updates, 7);
    hand_destroy(h);
}

TEST(a_stretch_without_work_is_over_at_once)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 30, 64), a_worker("B", 1, 40, 64)};
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 0);
    assert_int_equal(h->n_parked, 1);
    hand_open(h, 10); /* less than one batch: one worker has it, the other nothing */
    assert_int_equal(h->n_given[0] + h->n_given[1], 1);
    hand_done(h, 0, 1, 10);
    assert_int_equal(h->n_parked, 2);
    hand_destroy(h);
}

TEST(a_halt_gives_out_nothing_new)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 30, 64), a_worker("B", 1, 40, 64)};
    drove_coord_options opt = two(workers);
    drove_coord_message halt = {.verb = DROVE_COORD_HALT};
    hand *h = hand_create(&opt);
    hand_send(h, &halt); /* nothing is open: nothing to say */
    assert_int_equal(h->n_last, 0);
    hand_open(h, 1000);
    hand_send(h, &halt);
    hand_done(h, 0, 1, 10);
    assert_int_equal(h->n_last, 0);
    hand_done(h, 1, 1, 10);
    assert_int_equal(h->n_parked, 1);
    hand_check_all_done(h, 70);
    assert_int_equal(drove__coord_next(h->c), 70);
    hand_open(h, 1000); /* and a new stretch goes on */
    assert_int_equal(given(h, 0)->range.first, 70);
    hand_destroy(h);
}

/* What a lost worker had in hand is below `next`, so it is done even after a halt. */
TEST(a_halt_leaves_no_gap)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 30, 64), a_worker("B", 1, 40, 64)};
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 1000);
    hand_send(h, &(drove_coord_message){.verb = DROVE_COORD_HALT});
    hand_fail(h, 1);
    hand_done(h, 0, 1, 10);
    assert_int_equal(given(h, 0)->range.first, 30);
    assert_int_equal(given(h, 0)->range.n, 30); /* B's 40, cut to A's size */
    hand_done(h, 0, 1, 10);
    assert_int_equal(given(h, 0)->range.n, 10);
    hand_done(h, 0, 1, 10);
    assert_int_equal(h->n_parked, 1);
    hand_check_all_done(h, 70);
    hand_destroy(h);
}

TEST(updates_have_a_limit)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 10, 64)};
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    for (unsigned round = 1; round <= 2; round++) { /* counted from each OPEN */
        hand_send(
            h, &(drove_coord_message){.verb = DROVE_COORD_OPEN, .limit = 1000, .most_updates = 6});
        for (int i = 0; i < 3; i++) hand_done(h, 0, 2, 10);
        assert_int_equal(h->n_last, 0);
        hand_done(h, 1, 1, 10);
        assert_int_equal(h->n_parked, round);
        hand_check_all_done(h, 40 * round);
    }
    hand_destroy(h);
}

/* ---- depth ---- */

TEST(two_assignments_in_hand)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 20, 64)};
    workers[1].depth = 2;
    workers[1].timeout_s = 1.0;
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 1000);
    assert_int_equal(h->n_given[0], 1);
    assert_int_equal(h->n_given[1], 2);
    hand_done(h, 1, 1, 500000000);
    assert_int_equal(h->n_given[1], 2);
    /* The second one's time runs from the end of the first. */
    assert_int_equal(drove__coord_deadline(h->c), 1500000000);
    assert_true(hand_facts(h, 1).examples_per_s == 40.0);
    hand_done(h, 1, 1, 500000000);
    assert_int_equal(hand_facts(h, 1).out_ns, 1000000000);
    assert_true(hand_facts(h, 1).examples_per_s == 40.0);
    hand_fail(h, 1); /* both come back, in order of their positions */
    for (int i = 0; i < 5; i++) hand_done(h, 0, 1, 10);
    assert_int_equal(given(h, 0)->range.first, 90);
    hand_send(h, &(drove_coord_message){.verb = DROVE_COORD_HALT});
    hand_done(h, 0, 1, 10);
    hand_check_all_done(h, 100);
    hand_destroy(h);
}

/* A worker that does 40 examples/s, whose two reports are always read together, as a coordinator
 * does that was asleep: the second seems to have taken a nanosecond.  Its speed is not 10^10. */
TEST(reports_that_come_together_are_one_speed)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 20, 64)};
    workers[1].depth = 2;
    drove_coord_options opt = two(workers);
    opt.n_rows = 1000000;
    hand *h = hand_create(&opt);
    hand_open(h, 1000000);
    for (int i = 0; i < 20; i++) {
        hand_done(h, 1, 1, 1000000000);
        hand_done(h, 1, 1, 1);
        double rate = hand_facts(h, 1).examples_per_s;
        if (!(rate > 20.0 && rate < 80.0)) fail_msg("after %d: %g examples/s", i, rate);
    }
    hand_destroy(h);
}

/* ---- several batches at once ---- */

/* 2 examples in 10 ms are 20 in the 0.1 s that an assignment should take: ten batches. */
TEST(short_batches_come_several_at_once)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 2, 64), a_worker("B", 1, 20, 64)};
    workers[0].assignment_s = 0.1;
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 1000);
    assert_int_equal(given(h, 0)->range.n, 2); /* no speed is known yet */
    hand_done(h, 0, 1, 10000000);
    assert_int_equal(given(h, 0)->range.n, 20);
    assert_int_equal(given(h, 0)->batch, 2);
    hand_done(h, 0, 10, 100000000);
    assert_int_equal(given(h, 0)->range.n, 20);
    assert_int_equal(hand_facts(h, 0).n_updates, 11);
    hand_done(h, 0, 10, 1000); /* 20 in 1 us: more than the epoch has left */
    assert_int_equal(given(h, 0)->range.first + given(h, 0)->range.n, 100);
    hand_send(h, &(drove_coord_message){.verb = DROVE_COORD_HALT});
    hand_done(h, 1, 1, 10);
    hand_done(h, 0, 19, 10);
    assert_int_equal(h->n_parked, 1);
    hand_check_all_done(h, 100);
    /* A limit of updates is not overrun by batches that were given out at once. */
    hand_send(h,
              &(drove_coord_message){.verb = DROVE_COORD_OPEN, .limit = 1000, .most_updates = 5});
    assert_int_equal(given(h, 0)->range.n, 2);
    hand_destroy(h);
}

/* ---- lost workers ---- */

TEST(a_silent_worker_is_retired_in_time)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 20, 64)};
    drove_coord_message tick = {.verb = DROVE_COORD_TICK};
    workers[1].timeout_s = 2.0;
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    assert_true(drove__coord_deadline(h->c) == UINT64_MAX);
    h->now_ns = 5000000000;
    hand_open(h, 60);
    assert_int_equal(drove__coord_deadline(h->c), 7000000000);
    h->now_ns = 6999999999;
    hand_send(h, &tick);
    assert_int_equal(h->n_last, 0);
    uint64_t late_id = given(h, 1)->id;
    h->now_ns = 7000000000;
    hand_send(h, &tick);
    assert_int_equal(h->n_retired, 1);
    assert_true(h->last[0].verb == DROVE_COORD_RETIRE && h->last[0].is_silent &&
                h->last[0].worker == 1);
    assert_true(hand_facts(h, 1).is_lost);
    assert_true(drove__coord_deadline(h->c) == UINT64_MAX);
    /* Its answer comes after all, and its failure as well: both are too late. */
    drove_coord_message late = {
        .verb = DROVE_COORD_SCHEDULE, .worker = 1, .id = late_id, .n_updates = 1};
    hand_send(h, &late);
    assert_int_equal(h->n_last, 0);
    hand_fail(h, 1);
    assert_int_equal(h->n_last, 0);
    assert_int_equal(hand_facts(h, 1).n_updates, 0);
    while (h->n_parked == 0) hand_done(h, 0, 1, 10);
    hand_check_all_done(h, 60);
    hand_destroy(h);
}

TEST(an_idle_worker_takes_what_comes_back)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 20, 64)};
    drove_coord_options opt = two(workers);
    hand *h = hand_create(&opt);
    hand_open(h, 30);
    hand_done(h, 0, 1, 10); /* nothing is left for A */
    assert_int_equal(h->n_given[0], 0);
    hand_fail(h, 1);
    assert_int_equal(h->n_last, 2);
    assert_true(h->last[0].verb == DROVE_COORD_RETIRE && !h->last[0].is_silent);
    assert_int_equal(given(h, 0)->range.first, 10);
    hand_done(h, 0, 1, 10);
    hand_done(h, 0, 1, 10);
    assert_int_equal(h->n_parked, 1);
    hand_check_all_done(h, 30);
    hand_destroy(h);
}

TEST(without_a_worker_the_stretch_is_deserted)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 10, 64), a_worker("B", 1, 20, 64)};
    drove_coord_options opt = two(workers);
    const drove_range *undone;
    hand *h = hand_create(&opt);
    hand_open(h, 100);
    hand_done(h, 0, 1, 10); /* 0..9 are done; 30..39 go to A, B has 10..29 */
    hand_fail(h, 0);
    assert_int_equal(h->n_deserted, 0);
    hand_fail(h, 1);
    assert_int_equal(h->n_deserted, 1);
    assert_int_equal(h->n_parked, 0);
    assert_int_equal(drove__coord_next(h->c), 40);
    assert_int_equal(drove__coord_undone(h->c, &undone), 2);
    hand_open(h, 100); /* and so is the next */
    assert_int_equal(h->n_deserted, 2);
    hand_open(h, 0);
    assert_int_equal(h->n_deserted, 3); /* 10..39 lie below `next` */

    /* A run that is restored from there does them first. */
    hand *again = hand_create(&opt);
    memcpy(again->n_done, h->n_done, sizeof again->n_done);
    drove__coord_restore(again->c, drove__coord_next(h->c));
    assert_int_equal(drove__coord_restore_undone(again->c, undone, 2), DROVE_OK);
    hand_open(again, 100);
    assert_true(given(again, 0)->range.first < 40 && given(again, 1)->range.first < 40);
    for (unsigned i = 0; again->n_parked == 0; i++)
        if (again->n_given[i % 2] > 0) hand_done(again, i % 2, 1, 10);
    hand_check_all_done(again, 100);
    hand_destroy(again);
    hand_destroy(h);
}

/* ---- the end of a stretch ---- */

/* A does 1000 examples/s, B 10. */
static hand *fast_and_slow(drove_coord_worker workers[2], bool fit_tail)
{
    workers[0] = a_worker("A", 10, 100, 100);
    workers[1] = a_worker("B", 10, 100, 100);
    drove_coord_options opt = two(workers);
    opt.fit_tail = fit_tail;
    opt.n_rows = 10000;
    hand *h = hand_create(&opt);
    hand_open(h, 200);
    hand_done(h, 0, 1, 100000000);
    hand_done(h, 1, 1, 9900000000);
    assert_int_equal(h->n_parked, 1);
    assert_true(hand_facts(h, 0).examples_per_s == 1000.0);
    assert_true(hand_facts(h, 1).examples_per_s == 10.0);
    return h;
}

TEST(the_end_is_fitted_to_the_speeds)
{
    drove_coord_worker workers[2];
    hand *h = fast_and_slow(workers, false);
    hand_open(h, 5200);
    assert_int_equal(given(h, 1)->range.n, 100); /* ten seconds; A would wait five of them */
    hand_destroy(h);

    /* 5000 in all: A takes its 100 first, so B's part is 10 x (4900 + 100) / 1010 = 49.5. */
    h = fast_and_slow(workers, true);
    hand_open(h, 5200);
    assert_int_equal(given(h, 0)->range.n, 100);
    assert_int_equal(given(h, 1)->range.n, 49);
    for (unsigned i = 0; i < 49; i++) hand_done(h, 0, 1, 100000000);
    hand_done(h, 1, 1, 0); /* after 4.9 s: A still has the last 51 in hand */
    assert_int_equal(h->n_parked, 1);
    hand_done(h, 0, 1, 51000000);
    assert_int_equal(h->n_parked, 2);
    hand_check_all_done(h, 5200);

    /* 500 in all: B would need a second for the least batch, A half of one for everything. */
    hand_open(h, 5700);
    assert_int_equal(h->n_given[1], 0);
    for (unsigned i = 0; i < 4; i++) {
        hand_done(h, 0, 1, 100000000);
        assert_int_equal(h->n_given[1], 0);
    }
    /* But when A is lost, B has to. */
    hand_fail(h, 0);
    for (unsigned i = 0; h->n_parked == 2; i++) hand_done(h, 1, 1, 1000000000);
    hand_check_all_done(h, 5700);
    hand_destroy(h);
}

/* C has not reported yet, so nobody waits for its 100.  A does 500 examples/s and should be done
 * with its second 20, B does 2000.  200 are left: B's part is 2000 x 200 / 2500 = 160. */
TEST(a_worker_of_unknown_speed_does_not_count)
{
    drove_coord_worker workers[] = {a_worker("A", 10, 20, 20), a_worker("B", 10, 200, 200),
                                    a_worker("C", 10, 100, 100)};
    drove_coord_options opt = two(workers);
    opt.fit_tail = true;
    opt.n_rows = 10000;
    opt.n_workers = 3;
    hand *h = hand_create(&opt);
    hand_open(h, 20 + 200 + 100 + 20 + 200);
    hand_done(h, 0, 1, 40000000);
    assert_int_equal(given(h, 0)->range.n, 20);
    hand_done(h, 1, 1, 60000000);
    assert_int_equal(given(h, 1)->range.n, 160);
    for (unsigned w = 0; h->n_parked == 0; w = (w + 1) % 3)
        if (h->n_given[w] > 0) hand_done(h, w, 1, 1000000);
    hand_check_all_done(h, 540);
    hand_destroy(h);
}

/* A does 100 examples/s and may have two assignments, B does 50; what everybody has still to do
 * counts, less what it has done of it. */
TEST(the_end_is_fitted_to_what_is_in_hand)
{
    drove_coord_worker workers[] = {a_worker("A", 10, 100, 100), a_worker("B", 10, 100, 100)};
    workers[0].depth = 2;
    drove_coord_options opt = two(workers);
    opt.fit_tail = true;
    opt.n_rows = 10000;
    hand *h = hand_create(&opt);
    hand_open(h, 300);
    for (unsigned i = 0; i < 2; i++) hand_done(h, 0, 1, 1000000000);
    hand_done(h, 1, 1, 0);
    assert_int_equal(h->n_parked, 1);
    assert_true(hand_facts(h, 0).examples_per_s == 100.0);
    assert_true(hand_facts(h, 1).examples_per_s == 50.0);

    hand_open(h, 300 + 560);
    hand_done(h, 0, 1, 1000000000);
    assert_int_equal(h->n_given[0], 2);
    hand_done(h, 0, 1, 1000000000);
    /* 160 are left, A has 100, B is through with its own: (100 x 160 - 50 x 100) / 150 = 73.3. */
    assert_int_equal(h->given[0][1].range.n, 73);
    hand_done(h, 1, 1, 0);
    /* 87 are left, A has 173: 50 x (87 + 173) / 150 = 86.7. */
    assert_int_equal(given(h, 1)->range.n, 86);
    hand_done(h, 0, 1, 1000000000);
    assert_int_equal(h->n_given[0], 1); /* the last one waits until somebody is free */
    hand_done(h, 0, 1, 730000000);
    assert_int_equal(given(h, 0)->range.n, 1);
    hand_done(h, 0, 1, 10000000);
    hand_done(h, 1, 1, 0);
    assert_int_equal(h->n_parked, 2);
    hand_check_all_done(h, 860);
    hand_destroy(h);
}

/* B withdraws, so A alone does what is left; in the next stretch B is back.  When A is lost while B
 * is away, nobody is left to do its part. */
TEST(who_withdraws_is_back_in_the_next_stretch)
{
    drove_coord_worker workers[2];
    const drove_coord_message withdraw = {.verb = DROVE_COORD_WITHDRAW, .worker = 1};
    const drove_range *undone;
    hand *h = fast_and_slow(workers, true);
    hand_open(h, 700);
    assert_int_equal(h->n_given[1], 0);
    hand_send(h, &withdraw);
    hand_send(h, &withdraw); /* said twice is said once */
    for (unsigned i = 0; i < 5; i++) hand_done(h, 0, 1, 100000000);
    assert_int_equal(h->n_parked, 2);
    hand_check_all_done(h, 700);
    hand_send(h, &withdraw); /* no stretch is open */
    assert_int_equal(h->n_last, 0);

    hand_open(h, 5700);
    assert_int_equal(given(h, 1)->range.n, 49);
    hand_destroy(h);

    h = fast_and_slow(workers, true);
    hand_open(h, 700);
    hand_send(h, &withdraw);
    hand_fail(h, 0);
    assert_int_equal(h->n_deserted, 1);
    assert_int_equal(drove__coord_undone(h->c, &undone), 1);
    assert_int_equal(undone->first, 200);
    hand_open(h, 700); /* B does it then */
    while (h->n_parked == 1) hand_done(h, 1, 1, 1000000000);
    hand_check_all_done(h, 700);
    hand_destroy(h);
}

/* ---- utilisation ---- */

/* A worker that needs 1 ms per batch and 10 us per example: at b examples it is busy for
 * b / (b + 100) of the time.  Half of the best (1024: 0.911) is reached from 0.456 on: 84. */
TEST(the_least_size_follows_utilisation)
{
    drove_coord_worker workers[] = {a_worker("A", 1, 1, 1), a_worker("B", 1, 1024, 1024)};
    drove_coord_options opt = two(workers);
    opt.policy = &drove__policy_adaptive;
    opt.n_rows = 60000;
    opt.utilisation = 0.5;
    hand *h = hand_create(&opt);
    hand_open(h, 60000);
    for (int i = 0; i < 20; i++) { /* B always lags behind */
        for (int k = 0; k < 3; k++) hand_done(h, 0, 1, 1);
        hand_done(h, 1, 1, 1000000 + given(h, 1)->range.n * 10000);
    }
    assert_int_equal(hand_facts(h, 1).least, 128); /* 64 was tried, and is below */
    assert_int_equal(hand_facts(h, 1).batch, 128);
    hand_destroy(h);
}

/* ---- what is kept ---- */

enum { N_CHANGES = 30000 };

/* Keeps the latest change of worker 0's batch size if it is a new one. */
static void keep_latest(const hand *h, uint64_t *position, size_t *n)
{
    drove_coord_facts a = hand_facts(h, 0);
    uint64_t latest = a.history[a.n_history - 1].position;
    if (*n > 0 && position[*n - 1] == latest) return;
    assert_true(*n < N_CHANGES);
    position[(*n)++] = latest;
}

TEST(batch_history_is_bounded)
{
    static uint64_t position[N_CHANGES]; /* of all changes of A's size */
    size_t n_changes = 0;
    drove_coord_worker workers[] = {a_worker("A", 1, 1, 2), a_worker("B", 1, 1, 1)};
    drove_coord_options opt = two(workers);
    opt.policy = &drove__policy_adaptive;
    opt.n_rows = UINT64_MAX / 2;
    hand *h = hand_create(&opt);
    hand_open(h, UINT64_MAX / 4);
    keep_latest(h, position, &n_changes);
    for (int i = 0; i < 7000; i++) { /* A: ahead (2), behind (1), ahead ... */
        memset(h->n_done, 0, 64);
        hand_done(h, 0, 2, 1);
        keep_latest(h, position, &n_changes);
        for (int k = 0; k < 2; k++) hand_done(h, 1, 2, 1);
        hand_done(h, 0, 0, 1);
        keep_latest(h, position, &n_changes);
        hand_done(h, 0, 2, 1);
        keep_latest(h, position, &n_changes);
    }
    drove_coord_facts a = hand_facts(h, 0);
    assert_true(a.n_history > DROVE_COORD_HISTORY / 2 && a.n_history <= DROVE_COORD_HISTORY);
    for (size_t i = 1; i < a.n_history; i++) {
        assert_true(a.history[i].position > a.history[i - 1].position);
        assert_true(a.history[i].now_ns >= a.history[i - 1].now_ns);
        assert_true(a.history[i].batch >= 1 && a.history[i].batch <= 2);
    }
    assert_int_equal(a.history[0].position, 0);
    assert_true(n_changes > 2 * DROVE_COORD_HISTORY);
    for (size_t i = 0; i < a.n_history; i++) { /* the first half, then the latest */
        bool is_first = i < DROVE_COORD_HISTORY / 2;
        assert_int_equal(a.history[i].position,
                         position[is_first ? i : n_changes - a.n_history + i]);
    }
    assert_int_equal(hand_facts(h, 1).n_history, 1);
    hand_destroy(h);
}

TEST(a_restored_worker_goes_on)
{
    drove_coord_worker workers[] = {a_worker("A", 4, 8, 64), a_worker("B", 4, 8, 64)};
    drove_coord_options opt = two(workers);
    opt.policy = &drove__policy_adaptive;
    hand *h = hand_create(&opt);
    drove__coord_restore(h->c, 50);
    drove__coord_restore_worker(h->c, 0, 12.5, 32);
    drove__coord_restore_worker(h->c, 1, 10.0, 1000);
    assert_int_equal(hand_facts(h, 1).batch, 64);
    assert_true(hand_facts(h, 0).u == 12.5);
    hand_open(h, 1000);
    assert_int_equal(given(h, 0)->range.first, 50);
    assert_int_equal(given(h, 0)->range.n, 32);
    hand_done(h, 0, 1, 10); /* 13.5 > 10 */
    assert_int_equal(hand_facts(h, 0).batch, 64);
    hand_done(h, 1, 1, 10); /* 11 < 13.5 */
    assert_int_equal(hand_facts(h, 1).batch, 32);
    hand_destroy(h);
}

/* ---- options ---- */

static void check_refused(const drove_coord_options *opt, const char *text)
{
    drove_coord *c = (drove_coord *)(void *)&c;
    assert_int_equal(drove__coord_create(opt, &c), DROVE_E_ARG);
    assert_null(c);
    if (strstr(drove_error_text(), text) == NULL) fail_msg("%s", drove_error_text());
}

TEST(wrong_options_are_refused)
{
    drove_coord_worker workers[] = {a_worker("first", 1, 10, 64), a_worker("cuda:0", 1, 10, 64)};
    const drove_coord_options good = two(workers);
    drove_coord_options opt = good;
    static const double alphas[] = {1.0, 0.5, -2.0, NAN, INFINITY};
    for (size_t i = 0; i < DROVE_COUNT(alphas); i++) {
        opt.alpha = alphas[i];
        check_refused(&opt, "alpha: expected above 1, found ");
    }
    opt = good;
    opt.utilisation = 1.0;
    check_refused(&opt, "utilisation");
    static const uint64_t sizes[][3] = {{65, 10, 64}, {20, 10, 64}, {1, 65, 64}, {0, 10, 64}};
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        workers[1] = a_worker("cuda:0", sizes[i][0], sizes[i][1], sizes[i][2]);
        check_refused(&good, "worker cuda:0: batch: expected 1 <= least <= batch <= most");
    }
    workers[1] = a_worker("cuda:0", 1, 10, 64);
    workers[0].most = 9;
    check_refused(&good, "worker first: batch: expected 1 <= least <= batch <= most");
    workers[0].most = 64;
    workers[1].depth = DROVE_COORD_DEPTH + 1;
    check_refused(&good, "worker cuda:0: depth: expected 1 to 4, found 5");
    workers[1].depth = 1;
    workers[1].survival = 1.5;
    check_refused(&good, "survival");
    workers[1].survival = 1.0;
    workers[1].timeout_s = -1.0;
    check_refused(&good, "timeout");
    workers[1].timeout_s = 0.0;
    workers[1].depth = 0;
    check_refused(&good, "worker cuda:0: depth: expected 1 to 4, found 0");
    workers[1].depth = 1;
    workers[1].survival = -0.25;
    check_refused(&good, "worker cuda:0: survival: expected 0 to 1, found -0.25");
    workers[1].survival = 1.0;
    opt = good;
    opt.utilisation = -0.5;
    check_refused(&opt, "utilisation: expected 0 to below 1, found -0.5");
    opt = good;
    opt.n_workers = 0;
    check_refused(&opt, "expected a worker and an example, found 0 and ");
    opt = good;
    opt.n_rows = 0;
    check_refused(&opt, "expected a worker and an example, found 2 and 0");
    drove__coord_destroy(NULL);
}

/* The bounds themselves are allowed. */
TEST(the_ends_of_each_range_are_taken)
{
    drove_coord_worker workers[] = {a_worker("first", 1, 1, 1), a_worker("cuda:0", 64, 64, 64)};
    workers[0].survival = 0.0;
    workers[0].depth = DROVE_COORD_DEPTH;
    workers[1].timeout_s = INFINITY;
    drove_coord_options opt = two(workers);
    drove_coord *c;
    opt.alpha = nextafter(1.0, 2.0);
    opt.utilisation = 0.999;
    opt.n_rows = 1;
    for (unsigned n = 1; n <= 2; n++) {
        opt.n_workers = n;
        assert_int_equal(drove__coord_create(&opt, &c), DROVE_OK);
        assert_int_equal(drove__coord_most_actions(c), 4 + (n - 1) + n + 1);
        drove__coord_destroy(c);
    }
}
