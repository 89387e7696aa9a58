/* The host that repeats a recorded run, and the source that gives it the recorded batches: records
 * written by hand, what workers do and in which order (replay_rig.h), and how a stretch ends.
 *
 * ctest: wraps=drove__stream_done,drove__stream_has,drove__stream_wait
 * ctest: wraps=drove__stream_comes,drove__stream_cancel */
#include "unit/loop/replay_rig.h"
#include "support/test.h"

#include "loop/sources.h"
#include "loop/worker.h"
#include "stream/stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

TEST(steps_keep_to_their_places)
{
    check(usual, DROVE_COUNT(usual), &replay_strategy, usual_seen);
    /* a stretch begins at its first view */
    static const replay_planned later[] = {REPLAY_STEP(1, 8, 40, 40), REPLAY_STEP(2, 7, 40, 42),
                                           REPLAY_STEP(1, 9, 41, 41)};
    check(later, DROVE_COUNT(later), &replay_strategy, "a1 a2 s1 p1 a1 s1 p1 s2 p2");
}

/* Dropped steps, and those that stay unseen, have no place: they end where they begin. */
TEST(steps_without_a_place_end_at_once)
{
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
TEST(failed_attempts_are_made_again)
{
    static const replay_planned p[] = {
        REPLAY_STEP(0, 0, 0, 2, .retried = 1 + 1), REPLAY_STEP(1, 1, 0, 0), REPLAY_STEP(1, 2, 1, 1),
        REPLAY_STEP(1, 3, 2, 3, .retried = 1 + 2),
        REPLAY_STEP(2, 4, 0, REPLAY_NOBODY, .is_dropped = true, .retried = 1)};
    check(p, DROVE_COUNT(p), &replay_strategy, "a0 a1 a2 s2 s1 p1 r0 a1 s1 p1 a1 r1 s0 p0 s1 p1");
    /* each step its own, from the first place on */
    static const replay_planned both[] = {REPLAY_STEP(0, 0, 0, 1, .retried = 1),
                                          REPLAY_STEP(1, 1, 0, 0), REPLAY_STEP(1, 2, 1, 2),
                                          REPLAY_STEP(0, 3, 2, 3, .retried = 1 + 2)};
    check(both, DROVE_COUNT(both), &replay_strategy, "a0 r0 a1 s1 p1 a1 s0 p0 a0 r0 s1 p1 s0 p0");
}

/* A publication that was made in acquire begins at its place, also where that is the stretch's
 * first. */
TEST(early_publications_begin_at_their_place)
{
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
TEST(long_stretches_come_in_order)
{
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
TEST(the_source_gives_out_what_is_read_ahead)
{
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

TEST(stretches_follow_each_other)
{
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

TEST(steps_in_place_need_no_view)
{
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

TEST(ranges_and_step_sizes_are_the_record_s)
{
    static const replay_planned p[] = {REPLAY_STEPS(0, 0, 0, 1, 0.5, 0, .first = 9, .n_rows = 3),
                                       REPLAY_STEPS(0, 1, 1, 1, 2.0, 1, .first = 5, .n_rows = 2)};
    replay_rig r;
    replay_open(&r, p, DROVE_COUNT(p), &counting, &replay_strategy, &replay_engine);
    assert_int_equal(replay_train(&r), DROVE_OK);
    replay_assert_seen(&r, "a0 s0 p0 a0 s0 p0");
    assert_int_equal(atomic_load(&r.worker[0].trace.examples), 5);
    replay_close(&r);
}

/* One example at least, and as many as the worker has room for. */
TEST(ranges_are_as_long_as_there_is_room)
{
    replay_planned p[] = {REPLAY_STEP(0, 0, 0, 0, .first = 7, .n_rows = 1),
                          REPLAY_STEP(1, 1, 0, 1, .n_rows = REPLAY_ROWS)};
    for (unsigned more = 0; more <= 1; more++) {
        replay_rig r;
        drove_task task = {0};
        p[1].step.n_rows = REPLAY_ROWS + more;
        replay_open(&r, p, DROVE_COUNT(p), &counting, &replay_strategy, &replay_engine);
        assert_int_equal(r.worker[1].most_rows, REPLAY_ROWS);
        assert_true(drove__replay_next(&r.replay));
        assert_true(r.source.ops->next(&r.source, 0, true, &task));
        assert_true(task.first == 7 && task.n_rows == 1);
        assert_int_equal(r.source.ops->next(&r.source, 1, true, &task), !more);
        if (more == 0) assert_int_equal(task.n_rows, REPLAY_ROWS);
        replay_close(&r);
    }
}

TEST(the_source_has_the_unit_and_width_of_its_row)
{
    drove_replay replay = {0};
    drove_source s = {0};
    drove__replay_source(&replay, &counting, 6, &s);
    assert_true(s.ops->counts_rows && s.width == 6 && s.impl == &replay);
    drove__replay_source(&replay, &drove__source_claimed, 0, &s);
    assert_false(s.ops->counts_rows || s.width != 0);
}

/* ---- data on disk ---- */

/* Windows of two batches, of which two fit: one comes when the batches of the last but one are
 * trained. */
enum { OF_WINDOW = 2, MOST_WINDOWS = 8 };
static uint64_t n_trained[MOST_WINDOWS];
static drove_status answer;    /* of a wait */
static drove_status cancelled; /* why; DROVE_OK: it is not */

void __wrap_drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches);
bool __wrap_drove__stream_has(drove_stream *s, uint64_t window);
bool __wrap_drove__stream_comes(drove_stream *s, uint64_t window);
drove_status __wrap_drove__stream_wait(drove_stream *s, uint64_t window);
void __wrap_drove__stream_cancel(drove_stream *s, drove_status status);

void __wrap_drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches)
{
    (void)s;
    assert_true(window < MOST_WINDOWS && n_batches > 0);
    n_trained[window] += n_batches;
    assert_true(n_trained[window] <= OF_WINDOW);
}

/* Not yet: a worker always has to wait for a while. */
bool __wrap_drove__stream_has(drove_stream *s, uint64_t window)
{
    (void)s, (void)window;
    return false;
}

bool __wrap_drove__stream_comes(drove_stream *s, uint64_t window)
{
    (void)s;
    return window < 2 || n_trained[window - 2] == OF_WINDOW;
}

/* The one thread must not wait for itself. */
drove_status __wrap_drove__stream_wait(drove_stream *s, uint64_t window)
{
    assert_true(__wrap_drove__stream_comes(s, window));
    return answer;
}

void __wrap_drove__stream_cancel(drove_stream *s, drove_status status)
{
    (void)s;
    cancelled = status;
}

static void open_on_disk(replay_rig *r, const replay_planned *p, size_t n,
                         const drove_sync_ops *strategy)
{
    static drove_windows windows;
    static int some_stream;
    const drove_windows_options how = {
        .n_rows = REPLAY_ROWS, .block_rows = REPLAY_BATCH, .per_window = OF_WINDOW, .seed = 1};
    drove__windows_init(&windows, &how);
    replay_open(r, p, n, &drove__source_claimed, strategy, &replay_engine);
    drove__order_read_windows(&r->loop.order, &windows);
    r->loop.data.stream = (drove_stream *)(void *)&some_stream;
    memset(n_trained, 0, sizeof n_trained);
    answer = cancelled = DROVE_OK;
}

static void expect_on_disk(const replay_planned *p, size_t n, const drove_sync_ops *strategy,
                           const char *expected)
{
    replay_rig r;
    open_on_disk(&r, p, n, strategy);
    if (replay_train(&r) != DROVE_OK) fail_msg("%s", drove_error_text());
    replay_assert_seen(&r, expected);
    uint64_t sum = 0;
    for (unsigned i = 0; i < MOST_WINDOWS; i++) sum += n_trained[i];
    assert_int_equal(sum, n); /* all is said to be trained */
    replay_close(&r);
}

/* A worker lets those go first whose batches its window waits for, though its view is there. */
TEST(a_worker_waiting_for_a_window_lets_others_go)
{
    static const replay_planned places[] = {REPLAY_STEP(0, 0, 0, 0), REPLAY_STEP(1, 1, 1, 1),
                                            REPLAY_STEP(0, 4, 1, 2)};
    expect_on_disk(places, DROVE_COUNT(places), &replay_strategy, "a0 s0 p0 a1 a0 s1 p1 s0 p0");
    static const replay_planned live[] = {REPLAY_STEPS(0, 0, 0, 5, 1.0, 0),
                                          REPLAY_STEPS(0, 4, 0, 5, 1.0, 2),
                                          REPLAY_STEPS(1, 1, 0, 5, 1.0, 1)};
    expect_on_disk(live, DROVE_COUNT(live), &replay_live,
                   "l2 t2 l0 d0 s0 l1 d1 s1 l1 t1 l0 d0 s0 l0 t0");
    /* those without a place, behind it in the same round */
    static const replay_planned unseen[] = {REPLAY_STEP(0, 4, 0, 0),
                                            REPLAY_STEP(1, 0, 0, REPLAY_NOBODY),
                                            REPLAY_STEP(2, 1, 0, REPLAY_NOBODY)};
    expect_on_disk(unseen, DROVE_COUNT(unseen), &replay_strategy, "a1 s1 q1 a2 s2 q2 a0 s0 p0");
}

TEST(a_window_that_cannot_be_read_ends_it)
{
    static const replay_planned p[] = {REPLAY_STEP(1, 2, 0, 0)};
    replay_rig r;
    open_on_disk(&r, p, DROVE_COUNT(p), &replay_strategy);
    answer = DROVE_E_IO;
    assert_int_equal(replay_train(&r), DROVE_E_IO);
    assert_int_equal(cancelled, DROVE_E_IO);
    replay_assert_seen(&r, "");
    replay_close(&r);
}

/* ---- ends ---- */

TEST(enough_updates_end_it)
{
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
TEST(a_halt_ends_it)
{
    replay_planned p[DROVE_COUNT(usual) + 2] = {[DROVE_COUNT(usual)] = {.worker = REPLAY_MARK},
                                                REPLAY_STEP(0, 9, 4, 4)};
    memcpy(p, usual, sizeof usual);
    for (int cause = 0; cause < 4; cause++) {
        replay_rig r;
        replay_open(&r, p, DROVE_COUNT(p), &drove__source_claimed, &replay_strategy,
                    &replay_engine);
        assert_true(drove__replay_next(&r.replay));
        r.host->ops->go(r.host, DROVE_DO_TRAIN);
        atomic_store(&r.loop.ending.nonfinite, cause & 1);
        atomic_store(&r.loop.ending.halted, cause & 2);
        r.source.ops->halt(&r.source);
        assert_true(r.host->ops->wait(r.host, UINT64_MAX));
        r.source.ops->settle(&r.source);
        replay_assert_seen(&r, cause == 1 ? usual_seen : "a0 a1");
        assert_int_equal(r.replay.is_halted, cause != 1);
        assert_int_equal(atomic_load(&r.source.next), cause == 1 ? 74 : 0);
        assert_int_equal(r.host->ops->status(r.host), DROVE_OK);
        atomic_store(&r.loop.ending.halted, 0);
        const size_t n = strlen(replay_seen.text);
        assert_int_equal(replay_train(&r), DROVE_OK);
        assert_string_equal(replay_seen.text + n, " a0 s0 p0");
        assert_int_equal(atomic_load(&r.source.next), 76);
        replay_close(&r);
    }
}

/* The caller looks after other things now and then. */
TEST(it_stops_in_time_and_goes_on)
{
    replay_rig r;
    unsigned n_waits = 1;
    replay_open(&r, usual, DROVE_COUNT(usual), &drove__source_claimed, &replay_strategy,
                &replay_engine);
    assert_true(drove__replay_next(&r.replay));
    r.host->ops->go(r.host, DROVE_DO_TRAIN);
    assert_false(r.host->ops->wait(r.host, replay_time_ns)); /* no time */
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
TEST(other_commands_are_carried_out_at_once)
{
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
            atomic_store(&r.worker[w].health.is_lost, alone < REPLAY_WORKERS && w != alone);
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
    assert_true(atomic_load(&r.loop.ending.halted));
    replay_close(&r);
}

TEST(records_without_an_order_are_refused)
{
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
TEST(tasks_that_cannot_be_are_refused)
{
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

/* A task that is asked for ahead ends it, before the step in hand is published. */
TEST(tasks_ahead_are_looked_at_as_well)
{
    static const replay_planned p[] = {REPLAY_STEP(1, 4, 0, 0), REPLAY_STEPS(1, 5, 1, 0, 1.0, 1)};
    replay_rig r;
    replay_open(&r, p, DROVE_COUNT(p), &drove__source_claimed, &replay_strategy,
                &replay_engine_staging);
    assert_int_equal(replay_train(&r), DROVE_E_DATA);
    assert_string_equal(drove_error_text(), "replay.rec: expected steps that follow one order, "
                                            "found worker 1 with batch 5");
    replay_assert_seen(&r, "a1");
    replay_close(&r);
}

/* Changes the byte that lies so far before the end of the file; false: there is none. */
static bool damage(long at)
{
    FILE *file = fopen("replay.rec", "r+b");
    assert_non_null(file);
    const bool is_there = fseek(file, -at, SEEK_END) == 0;
    const int byte = is_there ? fgetc(file) : 0;
    if (is_there) {
        assert_int_equal(fseek(file, -at, SEEK_END), 0);
        assert_true(fputc(byte ^ 1, file) != EOF);
    }
    fclose(file);
    return is_there;
}

/* While it is repeated: with the words of who reads the file.  A damaged mark ends the record. */
TEST(damaged_steps_are_refused)
{
    static const replay_planned p[] = {REPLAY_STEP(0, 0, 0, 0), REPLAY_STEP(1, 1, 1, 1)};
    unsigned n_refused = 0;
    bool is_there = true;
    for (long at = 1; is_there; at += 7) {
        replay_rig r;
        replay_open(&r, p, DROVE_COUNT(p), &drove__source_claimed, &replay_strategy,
                    &replay_engine);
        is_there = damage(at);
        const bool has_stretch = drove__replay_next(&r.replay);
        const drove_status status = has_stretch ? drove__host_do(r.host, DROVE_DO_TRAIN) : DROVE_OK;
        if (status != DROVE_OK) {
            n_refused++;
            assert_int_equal(status, DROVE_E_DATA);
            assert_null(strstr(drove_error_text(), "follow one order"));
            replay_assert_seen(&r, "");
        } else if (has_stretch) {
            replay_assert_seen(&r, "a0 s0 p0 a1 s1 p1");
        }
        replay_close(&r);
        (void)remove("replay.rec"); /* what is damaged would not be written over */
    }
    assert_true(n_refused > 0);
}

static drove_status create_nothing(const drove_engine_options *opt, drove_engine **out)
{
    (void)opt, (void)out;
    return drove__fail(DROVE_E_SYSTEM, "no engine");
}

TEST(an_engine_that_is_not_made_ends_the_start)
{
    static const drove_engine_ops none = {.name = "none", .create = create_nothing};
    replay_rig r;
    replay_open(&r, usual, DROVE_COUNT(usual), &drove__source_claimed, &replay_strategy,
                &replay_engine);
    assert_true(r.host->ops->stop(r.host));
    r.loop.core_ops = &none;
    for (unsigned w = 0; w < REPLAY_WORKERS; w++) {
        drove__worker_fini(&r.worker[w]);
        assert_int_equal(drove__worker_init(&r.worker[w], &r.loop, w), DROVE_OK);
    }
    assert_int_equal(r.host->ops->start(r.host), DROVE_E_SYSTEM);
    assert_true(replay_keeps_denormals());
    replay_close(&r);
}
