/* The sources that need nothing but a counter: claimed and rounds.  What every source must keep:
 * tests/unit/run/test_every_source.c. */
#include "loop/sources.h"
#include "source_cases.h"
#include "support/test.h"

#include <stdlib.h>

static bool take(source_rig *rig, unsigned worker, uint64_t *number)
{
    drove_task task;
    if (!rig->source.ops->next(&rig->source, worker, true, &task)) return false;
    assert_int_equal(task.n_rows, 0); /* a whole batch */
    assert_float_equal(task.lr_factor, 1.0, 0.0);
    *number = task.number;
    return true;
}

static void open_source(source_rig *rig, const drove_source_ops *ops, unsigned n_workers)
{
    source_rig_open(rig, &(source_setup){.ops = ops, .n_workers = n_workers}, 100);
}

TEST(claims_go_to_whoever_asks)
{
    source_rig rig;
    uint64_t number;
    open_source(&rig, &drove__source_claimed, 3);
    rig.source.ops->open(&rig.source, 4, UINT64_MAX);
    const unsigned asks[] = {2, 2, 0, 1};
    for (unsigned i = 0; i < 4; i++) {
        assert_true(take(&rig, asks[i], &number));
        assert_int_equal(number, i);
    }
    assert_false(take(&rig, 0, &number));
    assert_int_equal(atomic_load(&rig.source.next), 4);
    source_rig_close(&rig);
}

/* 100 numbers, two workers: a claim is a 16th of what is left, at most 4, at least one. */
TEST(claims_of_several_shrink_towards_the_limit)
{
    source_rig rig;
    uint64_t number, next = 0;
    source_rig_open(
        &rig, &(source_setup){.ops = &drove__source_claimed, .n_workers = 2, .most_claimed = 4},
        100);
    drove_source *s = &rig.source;
    s->ops->open(s, 100, UINT64_MAX);
    for (uint64_t left = 100; left > 0;) {
        const uint64_t part = left / 16, n = part > 4 ? 4 : part > 1 ? part : 1;
        for (uint64_t k = 0; k < n; k++) {
            assert_true(take(&rig, 1, &number));
            assert_int_equal(number, next++);
            assert_int_equal(atomic_load(&s->next), 100 - left + n);
        }
        left -= n;
    }
    for (unsigned w = 0; w < 2; w++) assert_false(take(&rig, w, &number));
    source_rig_close(&rig);
}

/* What a worker has claimed is its own, also after a halt, and `more` gives nothing else. */
TEST(what_is_claimed_is_carried_out)
{
    source_rig rig;
    uint64_t number;
    drove_task task;
    source_rig_open(
        &rig, &(source_setup){.ops = &drove__source_claimed, .n_workers = 2, .most_claimed = 4},
        100);
    drove_source *s = &rig.source;
    s->ops->open(s, 100, UINT64_MAX);
    assert_false(s->ops->more(s, 0, &task));
    assert_true(take(&rig, 0, &number));
    assert_int_equal(number, 0);
    assert_true(take(&rig, 1, &number));
    assert_int_equal(number, 4);
    assert_true(s->ops->more(s, 0, &task));
    assert_int_equal(task.number, 1);
    assert_float_equal(task.lr_factor, 1.0, 0.0);
    s->ops->halt(s);
    assert_true(s->ops->more(s, 0, &task));
    assert_int_equal(task.number, 2);
    assert_true(take(&rig, 0, &number));
    assert_int_equal(number, 3);
    assert_false(s->ops->more(s, 0, &task));
    assert_false(take(&rig, 0, &number));
    for (uint64_t k = 5; k < 8; k++) {
        assert_true(take(&rig, 1, &number));
        assert_int_equal(number, k);
    }
    assert_false(take(&rig, 1, &number));
    assert_int_equal(atomic_load(&s->next), 8);
    source_rig_close(&rig);
}

/* By threads: each number once, a halt without a gap, a worker that is lost with all it had. */
TEST(claims_of_several_keep_what_every_source_keeps)
{
    source_check_all(&(source_setup){
        .ops = &drove__source_claimed, .n_workers = 4, .most_claimed = 8, .most_lost = 8});
}

TEST(rounds_are_equal_and_whole)
{
    source_rig rig;
    open_source(&rig, &drove__source_rounds, 4);
    source_rig_train(&rig, 9); /* rounded up to 3 rounds of 4 */
    for (unsigned i = 0; i < 4; i++) assert_int_equal(rig.n_by[i], 3);
    assert_int_equal(atomic_load(&rig.source.next), 12);
    source_rig_close(&rig);
}

/* A halt in the middle of a round: those who have not begun it still take their part of it, and
 * nobody begins the next. */
TEST(a_halt_finishes_the_round)
{
    source_rig rig;
    uint64_t number;
    open_source(&rig, &drove__source_rounds, 3);
    rig.source.ops->open(&rig.source, 90, UINT64_MAX);
    for (unsigned w = 0; w < 3; w++) assert_true(take(&rig, w, &number));
    assert_true(take(&rig, 1, &number));
    assert_int_equal(number, 4);
    assert_int_equal(drove__source_begun(&rig.source, 0), 6);
    rig.source.ops->halt(&rig.source);
    assert_false(take(&rig, 1, &number));
    assert_true(take(&rig, 0, &number));
    assert_int_equal(number, 3);
    assert_false(take(&rig, 0, &number));
    assert_true(take(&rig, 2, &number));
    assert_int_equal(number, 5);
    assert_int_equal(atomic_load(&rig.source.next), 6);
    rig.source.ops->open(&rig.source, 90, UINT64_MAX); /* goes on where it stopped */
    assert_true(take(&rig, 2, &number));
    assert_int_equal(number, 8);
    source_rig_close(&rig);
}

TEST(a_halt_between_rounds_begins_none)
{
    source_rig rig;
    uint64_t number;
    open_source(&rig, &drove__source_rounds, 2);
    rig.source.ops->open(&rig.source, 90, UINT64_MAX);
    for (unsigned w = 0; w < 2; w++) assert_true(take(&rig, w, &number));
    rig.source.ops->halt(&rig.source);
    for (unsigned w = 0; w < 2; w++) assert_false(take(&rig, w, &number));
    assert_int_equal(atomic_load(&rig.source.next), 2);
    source_rig_close(&rig);
}

/* One of three ends in the second of four rounds: the others go on to the limit, and what it did
 * not claim counts as handed out. */
TEST(rounds_end_without_a_lost_worker)
{
    source_rig rig;
    uint64_t number;
    open_source(&rig, &drove__source_rounds, 3);
    drove_source *s = &rig.source;
    s->ops->open(s, 12, UINT64_MAX);
    assert_true(take(&rig, 2, &number));
    s->ops->leave(s, 2);
    for (unsigned w = 0; w < 2; w++)
        for (int i = 0; i < 4; i++) assert_true(take(&rig, w, &number));
    assert_false(take(&rig, 0, &number));
    assert_int_equal(atomic_load(&s->next), 9);
    assert_int_equal(drove__source_begun(s, 0), 12);
    s->ops->settle(s);
    assert_int_equal(atomic_load(&s->next), 12);
    s->ops->open(s, 15, UINT64_MAX);
    assert_true(take(&rig, 1, &number));
    assert_int_equal(number, 13);
    source_rig_close(&rig);
}

/* ---- workers of two ranks that do not wait for each other ---- */

static const drove_exchange_pattern on_arrival = {.order = DROVE_EXCHANGE_ARRIVAL};
static const drove_exchange_pattern together = {.order = DROVE_EXCHANGE_ROUNDS};

/* Two sources, of which the first has worker 0 and the second worker 1. */
typedef struct two_ranks {
    source_rig rank[2];
} two_ranks;

static void open_ranks(two_ranks *t, const drove_exchange_pattern *pattern)
{
    const source_setup setup = {.ops = &drove__source_rounds,
                                .n_workers = 2,
                                .exchange_pattern = pattern};
    for (unsigned i = 0; i < 2; i++) source_rig_open(&t->rank[i], &setup, 100);
}

static void close_ranks(two_ranks *t)
{
    for (unsigned i = 0; i < 2; i++) source_rig_close(&t->rank[i]);
}

static void open_both(two_ranks *t, uint64_t limit)
{
    for (unsigned i = 0; i < 2; i++)
        t->rank[i].source.ops->open(&t->rank[i].source, limit, UINT64_MAX);
}

/* As values/ranks_park.c: each says how far its worker is, and the run is as far as the first. */
static void park_both(two_ranks *t)
{
    uint64_t begun[2], next = 0;
    for (unsigned i = 0; i < 2; i++) {
        drove_source *s = &t->rank[i].source;
        s->ops->halt(s);
        begun[i] = drove__source_begun(s, i);
        if (begun[i] > next) next = begun[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        drove_source *s = &t->rank[i].source;
        for (unsigned w = 0; w < 2; w++) s->ops->ranks->hear(s, w, begun[w]);
        atomic_store(&s->next, next);
    }
}

static void expect_numbers(two_ranks *t, unsigned rank, uint64_t first, unsigned n)
{
    uint64_t number;
    for (unsigned i = 0; i < n; i++) {
        assert_true(take(&t->rank[rank], rank, &number));
        assert_int_equal(number, first + 2 * i);
    }
}

static void expect_no_more(two_ranks *t)
{
    uint64_t number;
    for (unsigned i = 0; i < 2; i++) {
        assert_false(take(&t->rank[i], i, &number));
        assert_int_equal(drove__source_begun(&t->rank[i].source, i), 12);
    }
}

/* Rank 0 stops after five rounds, rank 1 after three: none of its batches is left out. */
TEST(a_rank_that_is_behind_goes_on_where_it_stopped)
{
    two_ranks t;
    open_ranks(&t, &on_arrival);
    open_both(&t, 12);
    expect_numbers(&t, 0, 0, 5);
    expect_numbers(&t, 1, 1, 3);
    park_both(&t);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&t.rank[i].source.next), 10);
        assert_true(t.rank[i].source.ops->has_undone(&t.rank[i].source, UINT64_MAX));
    }
    open_both(&t, 12);
    expect_numbers(&t, 1, 7, 1);
    park_both(&t); /* a halt while it catches up: at once */
    open_both(&t, 12);
    expect_numbers(&t, 0, 10, 1);
    expect_numbers(&t, 1, 9, 2);
    expect_no_more(&t);
    park_both(&t);
    assert_false(t.rank[0].source.ops->has_undone(&t.rank[0].source, UINT64_MAX));
    close_ranks(&t);
}

TEST(a_halt_stops_one_that_is_behind_at_once)
{
    two_ranks t;
    uint64_t number;
    open_ranks(&t, &on_arrival);
    open_both(&t, 40);
    expect_numbers(&t, 0, 0, 10);
    park_both(&t);
    open_both(&t, 40);
    t.rank[1].source.ops->halt(&t.rank[1].source);
    assert_false(take(&t.rank[1], 1, &number));
    close_ranks(&t);
}

/* The run ends with a signal after rank 0's last round, and goes on in other processes. */
TEST(a_state_has_who_is_behind)
{
    two_ranks t, later;
    drove_tensor tensor;
    open_ranks(&t, &on_arrival);
    open_both(&t, 12);
    expect_numbers(&t, 0, 0, 6);
    expect_numbers(&t, 1, 1, 4);
    park_both(&t);
    assert_int_equal(t.rank[0].source.ops->tensors(&t.rank[0].source, &tensor, 1), 1);
    const drove_safetensors st = {.tensor = &tensor, .n_tensors = 1};
    open_ranks(&later, &on_arrival);
    for (unsigned i = 0; i < 2; i++) {
        drove_source *s = &later.rank[i].source;
        atomic_store(&s->next, 12);
        assert_false(s->ops->has_undone(s, UINT64_MAX));
        assert_int_equal(s->ops->restore(s, &st, true), DROVE_OK);
        assert_true(s->ops->has_undone(s, UINT64_MAX));
    }
    open_both(&later, 12);
    expect_numbers(&later, 1, 9, 2);
    expect_no_more(&later);
    park_both(&later);
    assert_false(later.rank[0].source.ops->has_undone(&later.rank[0].source, UINT64_MAX));
    assert_int_equal(later.rank[0].source.ops->tensors(&later.rank[0].source, &tensor, 1), 0);
    close_ranks(&later);
    close_ranks(&t);
}

/* --until below what rank 0 has reached: the other does what is missing below it, and no more. */
TEST(nothing_is_behind_beyond_the_limit)
{
    two_ranks t;
    uint64_t number;
    open_ranks(&t, &on_arrival);
    open_both(&t, 40);
    expect_numbers(&t, 0, 0, 9);
    expect_numbers(&t, 1, 1, 2);
    park_both(&t);
    const drove_source *s = &t.rank[1].source;
    assert_false(s->ops->has_undone(s, 4));
    assert_true(s->ops->has_undone(s, 5)); /* a round is whole */
    open_both(&t, 5);
    expect_numbers(&t, 1, 5, 1);
    assert_false(take(&t.rank[1], 1, &number));
    assert_false(take(&t.rank[0], 0, &number));
    park_both(&t);
    assert_false(s->ops->has_undone(s, 5));
    assert_true(s->ops->has_undone(s, 40));
    close_ranks(&t);
}

/* Who waits for the others' steps must not take one more than they. */
TEST(workers_that_wait_for_each_other_stay_together)
{
    two_ranks t;
    open_ranks(&t, &together);
    open_both(&t, 12);
    expect_numbers(&t, 0, 0, 3);
    expect_numbers(&t, 1, 1, 2);
    park_both(&t);
    assert_false(t.rank[1].source.ops->has_undone(&t.rank[1].source, UINT64_MAX));
    open_both(&t, 12);
    expect_numbers(&t, 1, 7, 1);
    close_ranks(&t);
}

TEST(workers_that_go_alone_keep_what_every_source_keeps)
{
    source_check_all(&(source_setup){
        .ops = &drove__source_rounds, .n_workers = 3, .exchange_pattern = &on_arrival});
}
