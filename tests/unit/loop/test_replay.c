/* The host that repeats a recorded run, and the source that gives it the recorded batches: records
 * written by hand, what workers do and in which order (replay_rig.h), and how a stretch ends. */
#include "unit/loop/replay_rig.h"

#include "loop/sources.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check(const replay_planned *p, size_t n, const drove_sync_ops *strategy,
                  const char *expected)
{
    replay_rig r;
    replay_open(&r, p, n, &drove__source_claimed, strategy, &replay_engine);
    if (replay_train(&r) != DROVE_OK) fail_msg("%s", drove_error_text());
    replay_assert_seen(&r, expected);
    assert_false(r.replay.is_cut || r.replay.is_halted);
    assert_int_equal(atomic_load(&r.source.next), 70 + n); /* the mark says it */
    assert_false(drove__replay_next(&r.replay));
    replay_close(&r);
}

/* ---- orders ---- */

/* A view is taken when all before it is published, a publication made when it is the next. */
static const replay_planned usual[] = {REPLAY_STEP(0, 0, 0, 1), REPLAY_STEP(1, 1, 0, 0),
                                       REPLAY_STEP(2, 2, 1, 2), REPLAY_STEP(0, 3, 2, 3)};
static const char usual_seen[] = "a0 a1 s1 p1 a2 s0 p0 a0 s2 p2 s0 p0";

static void steps_keep_to_their_places(void **state)
{
    (void)state;
    check(usual, DROVE_COUNT(usual), &replay_strategy, usual_seen);
    /* a stretch begins at its first view */
    static const replay_planned later[] = {REPLAY_STEP(1, 8, 40, 40), REPLAY_STEP(2, 7, 40, 42),
                                           REPLAY_STEP(1, 9, 41, 41)};
    check(later, DROVE_COUNT(later), &replay_strategy, "a1 a2 s1 p1 a1 s1 p1 s2 p2");
}

/* Dropped steps, and those that stay unseen, have no place: they end where they begin. */
static void steps_without_a_place_end_at_once(void **state)
{
    (void)state;
    static const replay_planned dropped[] = {REPLAY_STEP(0, 0, 0, REPLAY_NOBODY,
                                                         .is_dropped = true),
                                             REPLAY_STEP(0, 2, 1, 1), REPLAY_STEP(1, 1, 0, 0)};
    check(dropped, DROVE_COUNT(dropped), &replay_strategy, "a0 s0 a1 s1 p1 a0 s0 p0");
    static const replay_planned unseen[] = {REPLAY_STEP(0, 0, 0, REPLAY_NOBODY),
                                            REPLAY_STEP(0, 2, 0, REPLAY_NOBODY),
                                            REPLAY_STEP(0, 3, 0, 1), REPLAY_STEP(1, 1, 0, 0)};
    check(unseen, DROVE_COUNT(unseen), &replay_strategy, "a0 s0 q0 a0 s0 q0 a0 a1 s1 p1 s0 p0");
    replay_rig r;
    replay_open(&r, dropped, DROVE_COUNT(dropped), &drove__source_claimed, &replay_strategy,
                &replay_engine);
    assert_int_equal(replay_train(&r), DROVE_OK);
    assert_int_equal(r.worker[0].trace.dropped, 1);
    assert_int_equal(r.worker[0].trace.steps, 2);
    replay_close(&r);
}

/* At the place where it failed then, once; what was dropped is not tried. */
static void failed_attempts_are_made_again(void **state)
{
    (void)state;
    static const replay_planned p[] = {
        REPLAY_STEP(0, 0, 0, 2, .retried = 1 + 1), REPLAY_STEP(1, 1, 0, 0), REPLAY_STEP(1, 2, 1, 1),
        REPLAY_STEP(1, 3, 2, 3, .retried = 1 + 2),
        REPLAY_STEP(2, 4, 0, REPLAY_NOBODY, .is_dropped = true, .retried = 1)};
    check(p, DROVE_COUNT(p), &replay_strategy, "a0 a1 a2 s2 s1 p1 r0 a1 s1 p1 a1 r1 s0 p0 s1 p1");
}

/* A publication that was made in acquire begins at its place, also where that is the stretch's
 * first. */
static void early_publications_begin_at_their_place(void **state)
{
    (void)state;
    static const replay_planned first[] = {REPLAY_STEP(0, 0, 0, 40, .is_early = true),
                                           REPLAY_STEP(1, 1, 41, 41)};
    check(first, DROVE_COUNT(first), &replay_strategy, "a0 s0 p0 a1 s1 p1");
    static const replay_planned second[] = {REPLAY_STEP(0, 0, 0, 41, .is_early = true),
                                            REPLAY_STEP(1, 1, 40, 40)};
    check(second, DROVE_COUNT(second), &replay_strategy, "a1 s1 p1 a0 s0 p0");
    static const replay_planned p[] = {REPLAY_STEP(0, 0, 0, 1, .is_early = true),
                                       REPLAY_STEP(1, 1, 0, 0), REPLAY_STEP(2, 2, 0, 2)};
    check(p, DROVE_COUNT(p), &replay_strategy, "a1 a2 s1 p1 a0 s0 p0 s2 p2");
}

/* More than are read ahead; each batch is the next of its worker, staged before or not. */
static void long_stretches_come_in_order(void **state)
{
    (void)state;
    enum { N = 30 };
    static const drove_engine_ops *const engines[] = {&replay_engine, &replay_engine_staging};
    replay_planned p[N];
    char expected[sizeof replay_seen.text] = "a0 a1";
    for (uint64_t i = 0; i < N; i++) {
        const replay_planned one = REPLAY_STEP(i % 2, 3 * i, i > 1 ? i - 1 : 0, i);
        p[i] = one;
        sprintf(expected + strlen(expected), " s%d p%d", (int)(i % 2), (int)(i % 2));
        if (i + 2 < N) sprintf(expected + strlen(expected), " a%d", (int)(i % 2));
    }
    for (size_t k = 0; k < DROVE_COUNT(engines); k++) {
        replay_rig r;
        replay_open(&r, p, N, &drove__source_claimed, &replay_strategy, engines[k]);
        assert_int_equal(replay_train(&r), DROVE_OK);
        replay_assert_seen(&r, expected);
        replay_close(&r);
    }
}

/* Eight tasks of a worker are given out, at most, before it has made one. */
static void the_source_gives_out_what_is_read_ahead(void **state)
{
    (void)state;
    enum { N = 12, MOST_AHEAD = 8 };
    replay_planned p[N];
    for (uint64_t i = 0; i < N; i++) {
        const replay_planned one = REPLAY_STEP(1, 5 * i, i, i);
        p[i] = one;
    }
    replay_rig r;
    drove_task task = {0};
    replay_open(&r, p, N, &drove__source_claimed, &replay_strategy, &replay_engine);
    assert_true(drove__replay_next(&r.replay));
    for (uint64_t i = 0; i < MOST_AHEAD; i++) {
        assert_true(r.source.ops->next(&r.source, 1, false, &task));
        assert_int_equal(task.number, 5 * i);
    }
    assert_false(r.source.ops->next(&r.source, 1, true, &task));
    assert_false(r.source.ops->next(&r.source, 0, true, &task)); /* it has none */
    replay_close(&r);
}

static void stretches_follow_each_other(void **state)
{
    (void)state;
    static const replay_planned p[] = {REPLAY_STEP(0, 0, 0, 0),
                                       {.worker = REPLAY_MARK},
                                       REPLAY_STEP(0, 1, 1, 2),
                                       REPLAY_STEP(1, 2, 1, 1)};
    replay_rig r;
    replay_open(&r, p, DROVE_COUNT(p), &drove__source_claimed, &replay_strategy, &replay_engine);
    assert_int_equal(replay_train(&r), DROVE_OK);
    replay_assert_seen(&r, "a0 s0 p0");
    assert_int_equal(atomic_load(&r.source.next), 71);
    assert_int_equal(replay_train(&r), DROVE_OK);
    replay_assert_seen(&r, "a0 s0 p0 a0 a1 s1 p1 s0 p0");
    assert_int_equal(atomic_load(&r.source.next), 74);
    assert_false(drove__replay_next(&r.replay));
    replay_close(&r);
}

/* ---- steps in place ---- */

static void steps_in_place_need_no_view(void **state)
{
    (void)state;
    static const replay_planned p[] = {REPLAY_STEPS(0, 0, 0, 5, 1.0, 0),
                                       REPLAY_STEPS(1, 1, 7, 5, 1.0, 1)};
    check(p, DROVE_COUNT(p), &replay_live, "l2 t2 l0 d0 s0 l0 t0 l1 d1 s1 l1 t1");
    /* what an engine still owes in the end has a place, too */
    static const replay_planned q[] = {REPLAY_STEPS(0, 0, 0, 5, 1.0, 0),
                                       {0, {.order = 2, .is_settling = true}},
                                       REPLAY_STEPS(1, 1, 7, 5, 1.0, 1)};
    check(q, DROVE_COUNT(q), &replay_live_ended, "l0 d0 s0 l1 d1 s1 l0 t0 e0");
}

/* ---- ranges of examples ---- */

static const drove_source_ops counting = {.name = "counting", .counts_rows = true};

static void ranges_and_step_sizes_are_the_record_s(void **state)
{
    (void)state;
    static const replay_planned p[] = {REPLAY_STEPS(0, 0, 0, 1, 0.5, 0, .first = 9, .n_rows = 3),
                                       REPLAY_STEPS(0, 1, 1, 1, 2.0, 1, .first = 5, .n_rows = 2)};
    replay_rig r;
    replay_open(&r, p, DROVE_COUNT(p), &counting, &replay_strategy, &replay_engine);
    assert_int_equal(replay_train(&r), DROVE_OK);
    replay_assert_seen(&r, "a0 s0 p0 a0 s0 p0");
    assert_int_equal(atomic_load(&r.worker[0].trace.examples), 5);
    replay_close(&r);
}

/* ---- ends ---- */

static void enough_updates_end_it(void **state)
{
    (void)state;
    replay_rig r;
    replay_open(&r, usual, DROVE_COUNT(usual), &drove__source_claimed, &replay_strategy,
                &replay_engine);
    r.replay.most_updates = 2;
    assert_int_equal(replay_train(&r), DROVE_OK);
    replay_assert_seen(&r, "a0 a1 s1 p1 a2 s0 p0");
    assert_true(r.replay.is_cut);
    assert_int_equal(atomic_load(&r.source.next), 0); /* it has not come to the mark */
    replay_close(&r);
}

/* Not by a loss that is not finite, which ended the recorded run by itself; by a failure.  What was
 * begun is forgotten in the next stretch. */
static void a_halt_ends_it(void **state)
{
    (void)state;
    replay_planned p[DROVE_COUNT(usual) + 2] = {[DROVE_COUNT(usual)] = {.worker = REPLAY_MARK},
                                                REPLAY_STEP(0, 9, 4, 4)};
    memcpy(p, usual, sizeof usual);
    for (int cause = 0; cause < 4; cause++) {
        replay_rig r;
        replay_open(&r, p, DROVE_COUNT(p), &drove__source_claimed, &replay_strategy,
                    &replay_engine);
        assert_true(drove__replay_next(&r.replay));
        r.host->ops->go(r.host, DROVE_DO_TRAIN);
        atomic_store(&r.loop.nonfinite, cause & 1);
        atomic_store(&r.loop.halted, cause & 2);
        r.source.ops->halt(&r.source);
        assert_true(r.host->ops->wait(r.host, UINT64_MAX));
        r.source.ops->settle(&r.source);
        replay_assert_seen(&r, cause == 1 ? usual_seen : "a0 a1");
        assert_int_equal(r.replay.is_halted, cause != 1);
        assert_int_equal(atomic_load(&r.source.next), cause == 1 ? 74 : 0);
        assert_int_equal(r.host->ops->status(r.host), DROVE_OK);
        atomic_store(&r.loop.halted, 0);
        const size_t n = strlen(replay_seen.text);
        assert_int_equal(replay_train(&r), DROVE_OK);
        assert_string_equal(replay_seen.text + n, " a0 s0 p0");
        assert_int_equal(atomic_load(&r.source.next), 76);
        replay_close(&r);
    }
}

/* The caller looks after other things now and then. */
static void it_stops_in_time_and_goes_on(void **state)
{
    (void)state;
    replay_rig r;
    unsigned n_waits = 1;
    replay_open(&r, usual, DROVE_COUNT(usual), &drove__source_claimed, &replay_strategy,
                &replay_engine);
    assert_true(drove__replay_next(&r.replay));
    r.host->ops->go(r.host, DROVE_DO_TRAIN);
    assert_string_equal(replay_seen.text, "");
    for (; !r.host->ops->wait(r.host, replay_time_ns + 1); n_waits++)
        assert_true(replay_keeps_denormals());
    replay_assert_seen(&r, usual_seen);
    assert_int_equal(n_waits, 4); /* each but the last begins a batch; the last begins none */
    assert_true(r.host->ops->wait(r.host, replay_time_ns + 1));
    replay_assert_seen(&r, usual_seen);
    replay_close(&r);
}

/* ---- other commands ---- */

/* By each worker that is not lost, though no other does anything. */
static void other_commands_are_carried_out_at_once(void **state)
{
    (void)state;
    for (unsigned alone = 0; alone <= REPLAY_WORKERS; alone++) {
        replay_rig r;
        drove_score chunk[3];
        replay_open(&r, usual, DROVE_COUNT(usual), &drove__source_claimed, &replay_strategy,
                    &replay_engine);
        r.loop.scoring = (drove_scoring){.data = &r.data,
                                         .theta = replay_theta,
                                         .n_rows = 3 * REPLAY_BATCH,
                                         .n_chunks = 3,
                                         .chunk_rows = REPLAY_BATCH,
                                         .stride = 1,
                                         .chunk = chunk};
        for (unsigned w = 0; w < REPLAY_WORKERS; w++)
            atomic_store(&r.worker[w].is_lost, alone < REPLAY_WORKERS && w != alone);
        replay_time_ns = 0;
        r.host->ops->go(r.host, DROVE_DO_SCORE);
        assert_true(replay_keeps_denormals());
        assert_int_equal(replay_time_ns, 3000);
        assert_true(r.host->ops->wait(r.host, 0));
        assert_int_equal(r.host->ops->n_left(r.host), REPLAY_WORKERS);
        replay_close(&r);
    }
}

/* ---- records that cannot be ---- */

static void refuse(const replay_planned *p, size_t n, const drove_source_ops *source,
                   unsigned worker, unsigned batch, const char *expected)
{
    char text[200];
    replay_rig r;
    snprintf(text, sizeof text,
             "replay.rec: expected steps that follow one order, found worker %u with batch %u",
             worker, batch);
    replay_open(&r, p, n, source, &replay_strategy, &replay_engine);
    assert_int_equal(replay_train(&r), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), text);
    replay_assert_seen(&r, expected);
    assert_true(atomic_load(&r.loop.halted));
    replay_close(&r);
}

static void records_without_an_order_are_refused(void **state)
{
    (void)state;
    static const replay_planned twice[] = {REPLAY_STEP(0, 4, 0, 0), REPLAY_STEP(1, 5, 0, 0)};
    refuse(twice, 2, &drove__source_claimed, 1, 5, "a0 a1 s0 p0");
    /* views of what never comes */
    static const replay_planned stuck[] = {REPLAY_STEP(0, 4, 0, 0), REPLAY_STEP(0, 6, 9, 2),
                                           REPLAY_STEP(1, 5, 5, 1)};
    refuse(stuck, 3, &drove__source_claimed, 0, 6, "a0 s0 p0");
    static const replay_planned other[] = {REPLAY_STEP(0, 4, 0, 0), REPLAY_STEP(1, 5, 5, 1),
                                           REPLAY_STEP(2, 6, 9, 2)};
    refuse(other, 3, &drove__source_claimed, 1, 5, "a0 s0 p0");
}

/* No run with these data and this source has had them. */
static void tasks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const replay_planned nothing[] = {REPLAY_STEPS(1, 5, 0, 0, 1.0, 0)};
    refuse(nothing, 1, &drove__source_claimed, 1, 5, "");
    static const replay_planned ranged[] = {REPLAY_STEP(0, 0, 0, 0),
                                            REPLAY_STEP(2, 5, 1, 1, .n_rows = 3)};
    refuse(ranged, 2, &drove__source_claimed, 2, 5, "a0 s0 p0");
    static const replay_planned whole[] = {REPLAY_STEP(1, 5, 0, 0)};
    refuse(whole, 1, &counting, 1, 5, "");
    static const replay_planned large[] = {REPLAY_STEP(1, 5, 0, 0, .n_rows = REPLAY_ROWS + 1)};
    refuse(large, 1, &counting, 1, 5, "");
    const replay_planned odd[] = {REPLAY_STEP(1, 5, 0, 0, .n_rows = 2)};
    replay_planned infinite = odd[0];
    infinite.step.lr_factor = (double)INFINITY;
    refuse(&infinite, 1, &counting, 1, 5, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_keep_to_their_places),
        cmocka_unit_test(steps_without_a_place_end_at_once),
        cmocka_unit_test(failed_attempts_are_made_again),
        cmocka_unit_test(early_publications_begin_at_their_place),
        cmocka_unit_test(long_stretches_come_in_order),
        cmocka_unit_test(the_source_gives_out_what_is_read_ahead),
        cmocka_unit_test(stretches_follow_each_other),
        cmocka_unit_test(steps_in_place_need_no_view),
        cmocka_unit_test(ranges_and_step_sizes_are_the_record_s),
        cmocka_unit_test(enough_updates_end_it),
        cmocka_unit_test(a_halt_ends_it),
        cmocka_unit_test(it_stops_in_time_and_goes_on),
        cmocka_unit_test(other_commands_are_carried_out_at_once),
        cmocka_unit_test(records_without_an_order_are_refused),
        cmocka_unit_test(tasks_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
