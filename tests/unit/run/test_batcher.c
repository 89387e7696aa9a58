/* Batches: every example once an epoch whoever claims, exact counters, rounds that end together. */
#include "run/batcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 103, BATCH = 8, THREADS = 4 };

typedef struct job {
    drove_batcher *b;
    unsigned worker;
    unsigned seen[ROWS]; /* times each row was handed to this worker */
    uint64_t n_batches;
} job;

static void *claim_all(void *argument)
{
    job *j = argument;
    drove_batch_cursor cursor;
    uint64_t number;
    uint32_t row[BATCH];
    drove__cursor_init(&cursor, j->b);
    while (drove__batcher_claim(j->b, &cursor, j->worker, &number)) {
        size_t n = drove__batcher_rows(j->b, &cursor, number, row);
        for (size_t i = 0; i < n; i++) j->seen[row[i]]++;
        j->n_batches++;
    }
    return NULL;
}

static void run_threads(drove_batcher *b, job jobs[THREADS])
{
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i].b = b;
        jobs[i].worker = i;
        assert_int_equal(pthread_create(&thread[i], NULL, claim_all, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void every_row_once_an_epoch(void **state)
{
    (void)state;
    drove_batcher b;
    static job jobs[THREADS];
    assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, false, 0), DROVE_OK);
    assert_int_equal(b.per_epoch, 13); /* 12 batches of 8 and one of 7 */
    drove__batcher_open(&b, 3 * b.per_epoch);
    run_threads(&b, jobs);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < THREADS; i++) sum += jobs[i].seen[r];
        assert_int_equal(sum, 3);
    }
    assert_int_equal(atomic_load(&b.next), 3 * 13);
    drove__batcher_fini(&b);
}

static void epochs_have_different_orders(void **state)
{
    (void)state;
    drove_batcher b;
    drove_batch_cursor cursor;
    uint32_t first[BATCH], second[BATCH];
    assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, false, 0), DROVE_OK);
    drove__cursor_init(&cursor, &b);
    drove__batcher_rows(&b, &cursor, 0, first);
    drove__batcher_rows(&b, &cursor, b.per_epoch, second);
    assert_memory_not_equal(first, second, sizeof first);
    drove__batcher_rows(&b, &cursor, 0, second); /* from the number alone, in any order */
    assert_memory_equal(first, second, sizeof first);
    drove__batcher_fini(&b);
}

static void examples_follow_from_the_number(void **state)
{
    (void)state;
    drove_batcher b;
    assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, false, 0), DROVE_OK);
    assert_int_equal(drove__batcher_examples(&b, 0), 0);
    assert_int_equal(drove__batcher_examples(&b, 12), 96);
    assert_int_equal(drove__batcher_examples(&b, 13), ROWS);
    assert_int_equal(drove__batcher_examples(&b, 14), ROWS + 8);
    assert_float_equal(drove__batcher_epochs(&b, 26), 2.0, 0.0);
    drove__batcher_fini(&b);
}

static void rounds_are_equal_and_whole(void **state)
{
    (void)state;
    drove_batcher b;
    static job jobs[THREADS];
    assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, false, THREADS), DROVE_OK);
    drove__batcher_open(&b, 9); /* rounded up to 3 rounds of 4 */
    run_threads(&b, jobs);
    for (unsigned i = 0; i < THREADS; i++) assert_int_equal(jobs[i].n_batches, 3);
    assert_int_equal(atomic_load(&b.next), 12);
    drove__batcher_fini(&b);
}

static void *halt_soon(void *argument)
{
    drove_batcher *b = argument;
    while (atomic_load(&b->next) < 1000) { /* bounded: the claimers go on until they are halted */
    }
    drove__batcher_halt(b);
    return NULL;
}

static void halting_leaves_no_round_unfinished(void **state)
{
    (void)state;
    for (int repeat = 0; repeat < 20; repeat++) {
        drove_batcher b;
        static job jobs[THREADS];
        pthread_t halter;
        for (unsigned i = 0; i < THREADS; i++) jobs[i] = (job){0};
        assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, false, THREADS), DROVE_OK);
        drove__batcher_open(&b, UINT64_MAX / 8);
        assert_int_equal(pthread_create(&halter, NULL, halt_soon, &b), 0);
        run_threads(&b, jobs);
        pthread_join(halter, NULL);
        for (unsigned i = 1; i < THREADS; i++)
            assert_int_equal(jobs[i].n_batches, jobs[0].n_batches);
        assert_int_equal(atomic_load(&b.next), THREADS * jobs[0].n_batches);
        drove__batcher_fini(&b);
    }
}

static void random_order_repeats_rows(void **state)
{
    (void)state;
    drove_batcher b;
    drove_batch_cursor cursor;
    unsigned seen[ROWS] = {0}, missing = 0;
    assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, true, 0), DROVE_OK);
    drove__cursor_init(&cursor, &b);
    for (uint64_t k = 0; k < b.per_epoch; k++) {
        uint32_t row[BATCH];
        size_t n = drove__batcher_rows(&b, &cursor, k, row);
        for (size_t i = 0; i < n; i++) {
            assert_true(row[i] < ROWS);
            seen[row[i]]++;
        }
    }
    for (unsigned r = 0; r < ROWS; r++) missing += seen[r] == 0;
    assert_in_range(missing, 20, 60); /* expected ROWS / e = 38, five deviations either side */
    drove__batcher_fini(&b);
}

static void batch_larger_than_the_data(void **state)
{
    (void)state;
    drove_batcher b;
    assert_int_equal(drove__batcher_init(&b, 5, 1000, 1, false, 0), DROVE_OK);
    assert_int_equal(b.batch, 5);
    assert_int_equal(b.per_epoch, 1);
    drove__batcher_fini(&b);
}

/* Three workers of 103 rows: 34 each, in 5 batches, one row left out; the last batch has 2. */
static void each_worker_takes_its_own_part(void **state)
{
    (void)state;
    enum { WORKERS = 3, EACH = ROWS / WORKERS };
    for (unsigned order = DROVE_ORDER_SHUFFLE; order <= DROVE_ORDER_BLOCKS; order++) {
        drove_batcher b;
        unsigned seen[ROWS] = {0};
        uint64_t n_examples = 0;
        assert_int_equal(drove__batcher_init(&b, ROWS, BATCH, 1, order, WORKERS), DROVE_OK);
        drove__batcher_split(&b, WORKERS, false);
        assert_int_equal(b.per_epoch, 5 * WORKERS);
        assert_int_equal(b.n_rows, WORKERS * EACH);
        for (unsigned w = 0; w < WORKERS; w++) {
            uint32_t row[BATCH];
            const drove_shard part = {.n = WORKERS, .index = w, .seed = 1};
            bool is_part[ROWS] = {false};
            drove_batch_cursor cursor;
            drove__batcher_open(&b, 0);
            drove__cursor_init(&cursor, &b);
            for (unsigned i = 0; i < EACH; i++) is_part[drove__shard_row(&part, i)] = true;
            for (uint64_t k = w; k < b.per_epoch; k += WORKERS) {
                size_t n = drove__batcher_rows(&b, &cursor, k, row);
                assert_int_equal(n, k < 4 * WORKERS ? BATCH : EACH - 4 * BATCH);
                for (size_t i = 0; i < n; i++) {
                    assert_true(is_part[row[i]]);
                    seen[row[i]]++;
                }
            }
        }
        unsigned n_once = 0;
        for (unsigned r = 0; r < ROWS; r++) n_once += seen[r] == 1;
        if (order != DROVE_ORDER_RANDOM) assert_int_equal(n_once, WORKERS * EACH);
        for (uint64_t k = 0; k < 2 * b.per_epoch; k++) {
            assert_int_equal(drove__batcher_examples(&b, k), n_examples);
            n_examples += k % b.per_epoch < 4 * WORKERS ? BATCH : EACH - 4 * BATCH;
        }
        drove__batcher_fini(&b);
    }
}

/* One of three ends in the second of four rounds: the others go on to the limit, and what it did
 * not claim counts as handed out. */
static void rounds_end_without_a_lost_worker(void **state)
{
    (void)state;
    drove_batcher b;
    drove_batch_cursor cursor[3];
    uint64_t number;
    assert_int_equal(drove__batcher_init(&b, 1000, 10, 1, DROVE_ORDER_SHUFFLE, 3), DROVE_OK);
    drove__batcher_open(&b, 12);
    for (unsigned w = 0; w < 3; w++) drove__cursor_init(&cursor[w], &b);
    assert_true(drove__batcher_claim(&b, &cursor[2], 2, &number));
    drove__batcher_leave(&b);
    for (unsigned w = 0; w < 2; w++)
        for (int i = 0; i < 4; i++) assert_true(drove__batcher_claim(&b, &cursor[w], w, &number));
    assert_false(drove__batcher_claim(&b, &cursor[0], 0, &number));
    assert_int_equal(atomic_load(&b.next), 9);
    drove__batcher_settle(&b);
    assert_int_equal(atomic_load(&b.next), 12);
    drove__batcher_open(&b, 15);
    drove__cursor_init(&cursor[1], &b);
    assert_true(drove__batcher_claim(&b, &cursor[1], 1, &number));
    assert_int_equal(number, 13);
    drove__batcher_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_once_an_epoch),
        cmocka_unit_test(epochs_have_different_orders),
        cmocka_unit_test(examples_follow_from_the_number),
        cmocka_unit_test(rounds_are_equal_and_whole),
        cmocka_unit_test(halting_leaves_no_round_unfinished),
        cmocka_unit_test(random_order_repeats_rows),
        cmocka_unit_test(batch_larger_than_the_data),
        cmocka_unit_test(each_worker_takes_its_own_part),
        cmocka_unit_test(rounds_end_without_a_lost_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
