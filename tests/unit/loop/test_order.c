/* Which examples a batch has: every one once an epoch, from the batch's number alone. */
#include "loop/order.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 103, BATCH = 8 };

static const drove_order_kind kinds[] = {DROVE_ORDER_SHUFFLE, DROVE_ORDER_RANDOM,
                                         DROVE_ORDER_BLOCKS};

static size_t rows_of(const drove_order *o, drove_order_cursor *cursor, uint64_t number,
                      uint32_t *row)
{
    const drove_task task = {.number = number};
    return drove__order_rows(o, cursor, &task, row);
}

/* Adds 1 for each example of the batches of an epoch; returns how many examples there were. */
static uint64_t count_epoch(const drove_order *o, uint64_t epoch, unsigned seen[ROWS])
{
    drove_order_cursor cursor;
    uint64_t n_examples = 0;
    drove__order_cursor_init(&cursor);
    for (uint64_t k = epoch * o->per_epoch; k < (epoch + 1) * o->per_epoch; k++) {
        uint32_t row[BATCH];
        size_t n = rows_of(o, &cursor, k, row);
        for (size_t i = 0; i < n; i++) {
            assert_true(row[i] < ROWS);
            seen[row[i]]++;
        }
        n_examples += n;
    }
    return n_examples;
}

TEST(every_row_once_an_epoch)
{
    static const drove_order_kind whole[] = {DROVE_ORDER_SHUFFLE, DROVE_ORDER_BLOCKS};
    for (size_t k = 0; k < DROVE_COUNT(whole); k++) {
        const drove_order o = drove__order_make(ROWS, BATCH, 1, whole[k]);
        assert_int_equal(o.per_epoch, 13); /* 12 batches of 8 and one of 7 */
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            unsigned seen[ROWS] = {0};
            assert_int_equal(count_epoch(&o, epoch, seen), ROWS);
            for (unsigned r = 0; r < ROWS; r++) assert_int_equal(seen[r], 1);
        }
    }
}

TEST(rows_follow_from_the_number_alone)
{
    for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
        const drove_order o = drove__order_make(ROWS, BATCH, 1, kinds[k]);
        const drove_order other = drove__order_make(ROWS, BATCH, 2, kinds[k]);
        drove_order_cursor cursor, fresh;
        uint32_t first[BATCH], second[BATCH], again[BATCH];
        drove__order_cursor_init(&cursor);
        drove__order_cursor_init(&fresh);
        rows_of(&o, &cursor, 0, first);
        rows_of(&o, &cursor, o.per_epoch, second);
        assert_memory_not_equal(first, second, sizeof first); /* epochs have different orders */
        rows_of(&o, &cursor, 0, again);                       /* back, in any order */
        assert_memory_equal(first, again, sizeof first);
        rows_of(&o, &fresh, o.per_epoch, again);
        assert_memory_equal(second, again, sizeof second);
        drove__order_cursor_init(&fresh);
        rows_of(&other, &fresh, 0, again);
        assert_memory_not_equal(first, again, sizeof first); /* as do seeds */
    }
}

/* What a cursor keeps of the batches before changes nothing: numbers as workers take them, one by
 * one or in turns, with leaps, back, and across epochs; of all rows, parts and held parts. */
TEST(rows_do_not_depend_on_those_before)
{
    static const uint64_t steps[] = {1, 2, 3, 7, 8, 9, ROWS - 1, ROWS, (uint64_t)0 - 1};
    for (uint64_t batch = 1; batch <= BATCH; batch++) {
        for (unsigned n_parts = 0; n_parts <= 2; n_parts++) {
            drove_order o = drove__order_make(ROWS, batch, 1, DROVE_ORDER_SHUFFLE);
            if (n_parts > 0) drove__order_split(&o, n_parts, n_parts == 2);
            drove_order_cursor cursor, fresh;
            drove__order_cursor_init(&cursor);
            for (size_t s = 0; s < DROVE_COUNT(steps); s++) {
                uint64_t number = 20 * o.per_epoch + s;
                for (unsigned i = 0; i < 2 * ROWS; i++, number += steps[s]) {
                    uint32_t row[BATCH], expected[BATCH];
                    memset(&fresh, 0, sizeof fresh); /* it has kept nothing */
                    drove__order_cursor_init(&fresh);
                    const size_t n = rows_of(&o, &fresh, number, expected);
                    assert_int_equal(rows_of(&o, &cursor, number, row), n);
                    assert_memory_equal(row, expected, n * sizeof row[0]);
                }
            }
        }
    }
}

TEST(blocks_are_of_neighbours)
{
    const drove_order o = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_BLOCKS);
    drove_order_cursor cursor;
    unsigned n_moved = 0;
    drove__order_cursor_init(&cursor);
    for (uint64_t k = 0; k < o.per_epoch; k++) {
        uint32_t row[BATCH];
        size_t n = rows_of(&o, &cursor, k, row);
        assert_int_equal(row[0] % BATCH, 0);
        for (size_t i = 1; i < n; i++) assert_int_equal(row[i], row[0] + i);
        n_moved += row[0] != k * BATCH;
        assert_int_equal(n, k + 1 < o.per_epoch ? BATCH : ROWS % BATCH); /* the short one is last */
    }
    assert_true(n_moved > 6);
}

/* With batches of one example, a task of n rows is n batches in a row, also across epochs. */
TEST(tasks_span_positions)
{
    for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
        const drove_order o = drove__order_make(ROWS, 1, 1, kinds[k]);
        const drove_task task = {.number = 77, .first = ROWS - 5, .n_rows = 12};
        drove_order_cursor cursor, alone;
        uint32_t row[12], one;
        drove__order_cursor_init(&cursor);
        drove__order_cursor_init(&alone);
        assert_int_equal(drove__order_rows(&o, &cursor, &task, row), 12);
        for (uint64_t i = 0; i < 12; i++) {
            assert_int_equal(rows_of(&o, &alone, ROWS - 5 + i, &one), 1);
            assert_int_equal(row[i], one);
        }
    }
}

TEST(examples_follow_from_the_number)
{
    const drove_order o = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_SHUFFLE);
    assert_int_equal(drove__order_examples(&o, 0), 0);
    assert_int_equal(drove__order_examples(&o, 12), 96);
    assert_int_equal(drove__order_examples(&o, 13), ROWS);
    assert_int_equal(drove__order_examples(&o, 14), ROWS + 8);
    assert_float_equal(drove__order_epochs(&o, 26), 2.0, 0.0);
}

TEST(random_order_repeats_rows)
{
    const drove_order o = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_RANDOM);
    unsigned seen[ROWS] = {0}, missing = 0;
    assert_int_equal(count_epoch(&o, 0, seen), ROWS);
    for (unsigned r = 0; r < ROWS; r++) missing += seen[r] == 0;
    assert_in_range(missing, 20, 60); /* expected ROWS / e = 38, five deviations either side */
}

TEST(batch_larger_than_the_data)
{
    const drove_order o = drove__order_make(5, 1000, 1, DROVE_ORDER_SHUFFLE);
    assert_int_equal(o.batch, 5);
    assert_int_equal(o.per_epoch, 1);
}

/* Of 103 rows six rounds of two batches of 8 are whole; the rounds of four batches of 4 have the
 * same rows, and what is left out is another seven rows in each epoch. */
TEST(epochs_of_whole_rounds)
{
    enum { ALL = 16, ROUNDS = ROWS / ALL, EPOCHS = 40 };
    drove_order two = drove__order_make(ROWS, ALL / 2, 1, DROVE_ORDER_SHUFFLE), four = two;
    four.batch = ALL / 4;
    drove__order_whole_rounds(&two, 2);
    drove__order_whole_rounds(&four, 4);
    assert_int_equal(two.per_epoch, 2 * ROUNDS);
    assert_int_equal(four.per_epoch, 4 * ROUNDS);
    assert_int_equal(two.n_rows, ALL * ROUNDS);
    drove_order_cursor of_two, of_four;
    drove__order_cursor_init(&of_two);
    drove__order_cursor_init(&of_four);
    unsigned seen[ROWS] = {0};
    for (uint64_t round = 0; round < (uint64_t)EPOCHS * ROUNDS; round++) {
        uint32_t a[ALL], b[ALL];
        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(rows_of(&two, &of_two, 2 * round + k, a + 8 * k), 8);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(rows_of(&four, &of_four, 4 * round + k, b + 4 * k), 4);
        assert_memory_equal(a, b, sizeof a);
        for (unsigned i = 0; i < ALL; i++) seen[a[i]]++;
        assert_int_equal(drove__order_examples(&four, 4 * round), ALL * round);
    }
    for (unsigned r = 0; r < ROWS; r++) assert_in_range(seen[r], EPOCHS / 2, EPOCHS);
}

/* Three workers of 103 rows: 34 each, in 5 batches, one row left out; the last batch has 2. */
TEST(each_worker_takes_its_own_part)
{
    enum { WORKERS = 3, EACH = ROWS / WORKERS };
    for (size_t kind = 0; kind < DROVE_COUNT(kinds); kind++) {
        drove_order o = drove__order_make(ROWS, BATCH, 1, kinds[kind]);
        unsigned seen[ROWS] = {0}, n_once = 0;
        uint64_t n_examples = 0;
        drove__order_split(&o, WORKERS, false);
        assert_int_equal(o.per_epoch, 5 * WORKERS);
        assert_int_equal(o.n_rows, WORKERS * EACH);
        for (unsigned w = 0; w < WORKERS; w++) {
            uint32_t row[BATCH];
            const drove_shard part = {.n = WORKERS, .index = w, .seed = 1};
            bool is_part[ROWS] = {false};
            drove_order_cursor cursor;
            drove__order_cursor_init(&cursor);
            for (unsigned i = 0; i < EACH; i++) is_part[drove__shard_row(&part, i)] = true;
            for (uint64_t k = w; k < o.per_epoch; k += WORKERS) {
                size_t n = rows_of(&o, &cursor, k, row);
                assert_int_equal(n, k < 4 * WORKERS ? BATCH : EACH - 4 * BATCH);
                for (size_t i = 0; i < n; i++) {
                    assert_true(is_part[row[i]]);
                    seen[row[i]]++;
                }
            }
        }
        for (unsigned r = 0; r < ROWS; r++) n_once += seen[r] == 1;
        if (kinds[kind] != DROVE_ORDER_RANDOM) assert_int_equal(n_once, WORKERS * EACH);
        for (uint64_t k = 0; k < 2 * o.per_epoch; k++) {
            assert_int_equal(drove__order_examples(&o, k), n_examples);
            n_examples += k % o.per_epoch < 4 * WORKERS ? BATCH : EACH - 4 * BATCH;
        }
    }
}

/* Worker 0 of three in four epochs: the same rows, in other orders. */
TEST(parts_have_a_new_order_in_every_epoch)
{
    enum { WORKERS = 3, EACH = ROWS / WORKERS, EPOCHS = 4 };
    for (size_t kind = 0; kind < DROVE_COUNT(kinds); kind++) {
        drove_order o = drove__order_make(ROWS, BATCH, 1, kinds[kind]);
        uint32_t row[EPOCHS][EACH + BATCH];
        unsigned n_new = 0;
        drove_order_cursor cursor;
        drove__order_cursor_init(&cursor);
        drove__order_split(&o, WORKERS, false);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            size_t n = 0;
            for (uint64_t k = epoch * o.per_epoch; k < (epoch + 1) * o.per_epoch; k += WORKERS)
                n += rows_of(&o, &cursor, k, row[epoch] + n);
            assert_int_equal(n, EACH);
            n_new += memcmp(row[epoch], row[0], EACH * sizeof row[0][0]) != 0;
        }
        /* of 4 whole blocks one order in 24 is the first one again */
        assert_in_range(n_new, EPOCHS - 2, EPOCHS - 1);
    }
}

/* A rank that holds its part alone numbers its rows from 0. */
TEST(a_held_part_has_rows_of_its_own)
{
    enum { WORKERS = 3, EACH = ROWS / WORKERS };
    drove_order whole = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_SHUFFLE), held = whole;
    drove__order_split(&whole, WORKERS, false);
    drove__order_split(&held, WORKERS, true);
    for (uint64_t k = 0; k < held.per_epoch; k++) {
        const drove_shard part = {.n = WORKERS, .index = (unsigned)(k % WORKERS), .seed = 1};
        drove_order_cursor a, b;
        uint32_t in_all[BATCH], in_part[BATCH];
        drove__order_cursor_init(&a);
        drove__order_cursor_init(&b);
        size_t n = rows_of(&held, &b, k, in_part);
        assert_int_equal(rows_of(&whole, &a, k, in_all), n);
        for (size_t i = 0; i < n; i++) {
            assert_true(in_part[i] < EACH);
            assert_int_equal(drove__shard_row(&part, in_part[i]), in_all[i]);
        }
    }
}

static int compare_rows(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* As many rows as can be, after so many epochs that numbers of batches and of examples are beyond
 * 2^32 and 2^63: rows are in range, from all of it, and none comes twice. */
TEST(counts_beyond_32_bits)
{
    enum { MANY = 1000, BATCHES = 200 };
    static const uint64_t sizes[] = {((uint64_t)1 << 31) + 1, UINT32_MAX};
    uint32_t *row = malloc(sizeof *row * MANY * BATCHES);
    assert_non_null(row);
    for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
        for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
            const drove_order o = drove__order_make(sizes[s], MANY, 1, kinds[k]);
            const uint64_t last = UINT64_MAX / sizes[s] - 1, short_rows = sizes[s] % MANY;
            assert_true(o.per_epoch == sizes[s] / MANY + 1);
            for (uint64_t epoch = 0; epoch <= last; epoch += last) {
                drove_order_cursor cursor;
                uint64_t above = 0, n = 0;
                drove__order_cursor_init(&cursor);
                const uint64_t end = (epoch + 1) * o.per_epoch, begin = end - BATCHES;
                for (uint64_t i = begin; i < end; i++) n += rows_of(&o, &cursor, i, row + n);
                assert_true(n == (uint64_t)MANY * (BATCHES - 1) + short_rows);
                for (uint64_t i = 0; i < n; i++) above += row[i] > INT32_MAX;
                for (uint64_t i = 0; i < n; i++) assert_true(row[i] < sizes[s]);
                if (s == 1) assert_true(above > n / 3 && above < n / 3 * 2);
                qsort(row, n, sizeof *row, compare_rows);
                for (uint64_t i = 1; i < n && kinds[k] != DROVE_ORDER_RANDOM; i++)
                    assert_true(row[i - 1] != row[i]);
                assert_true(drove__order_examples(&o, epoch * o.per_epoch) == epoch * sizes[s]);
            }
        }
    }
    free(row);
}
