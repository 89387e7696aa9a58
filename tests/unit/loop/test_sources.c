/* The sources that need nothing but a counter: claimed and rounds.  What every source must keep:
 * tests/unit/run/test_every_source.c. */
#include "loop/sources.h"
#include "source_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void claims_go_to_whoever_asks(void **state)
{
    (void)state;
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

static void rounds_are_equal_and_whole(void **state)
{
    (void)state;
    source_rig rig;
    open_source(&rig, &drove__source_rounds, 4);
    source_rig_train(&rig, 9); /* rounded up to 3 rounds of 4 */
    for (unsigned i = 0; i < 4; i++) assert_int_equal(rig.n_by[i], 3);
    assert_int_equal(atomic_load(&rig.source.next), 12);
    source_rig_close(&rig);
}

/* A halt in the middle of a round: those who have not begun it still take their part of it, and
 * nobody begins the next. */
static void a_halt_finishes_the_round(void **state)
{
    (void)state;
    source_rig rig;
    uint64_t number;
    open_source(&rig, &drove__source_rounds, 3);
    rig.source.ops->open(&rig.source, 90, UINT64_MAX);
    for (unsigned w = 0; w < 3; w++) assert_true(take(&rig, w, &number));
    assert_true(take(&rig, 1, &number));
    assert_int_equal(number, 4);
    assert_int_equal(rig.source.ops->begun(&rig.source), 6);
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

static void a_halt_between_rounds_begins_none(void **state)
{
    (void)state;
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
static void rounds_end_without_a_lost_worker(void **state)
{
    (void)state;
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
    assert_int_equal(s->ops->begun(s), 12);
    s->ops->settle(s);
    assert_int_equal(atomic_load(&s->next), 12);
    s->ops->open(s, 15, UINT64_MAX);
    assert_true(take(&rig, 1, &number));
    assert_int_equal(number, 13);
    source_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_go_to_whoever_asks),
        cmocka_unit_test(rounds_are_equal_and_whole),
        cmocka_unit_test(a_halt_finishes_the_round),
        cmocka_unit_test(a_halt_between_rounds_begins_none),
        cmocka_unit_test(rounds_end_without_a_lost_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
