/* Windows of blocks: every trained row once an epoch, whatever the sizes, and nothing held out. */
#include "stream/windows.h"
#include "support/test.h"

#include "base/mem.h"
#include "loop/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 700, MOST_BATCH = 32, EPOCHS = 3 };

typedef struct shape {
    uint64_t rows, block, held, per_window, batch;
} shape;

/* one block at a time; a short block at the end; windows of different sizes; all in one window */
static const shape shapes[] = {
    {100, 10, 0, 1, 1},   {103, 10, 2, 3, 8}, {640, 32, 4, 5, 32}, {101, 100, 0, 4, 7},
    {699, 13, 7, 11, 32}, {50, 10, 1, 9, 6},  {97, 1, 3, 10, 3},   {60, 20, 1, 1, 32},
};

static drove_windows make(const shape *s)
{
    const drove_windows_options opt = {.n_rows = s->rows,
                                       .block_rows = s->block,
                                       .n_held = s->held,
                                       .per_window = s->per_window,
                                       .seed = 11};
    drove_windows w;
    drove__windows_init(&w, &opt);
    return w;
}

/* The file's row at a place of the memory of two windows. */
static uint64_t row_in_file(const drove_windows *w, uint64_t window, uint64_t place)
{
    drove_permutation order;
    uint64_t at = place - window % 2 * w->window_rows, block = at / w->block_rows;
    drove__windows_permute(w, window, &order);
    assert_true(at < w->window_rows - 1);
    uint64_t of_short = drove__windows_blocks(w, window) - 1;
    if (block > of_short) block = of_short; /* only a short block is followed by nothing */
    return drove__windows_block(w, &order, window, block) * w->block_rows +
           (at - block * w->block_rows);
}

static void expect_every_row(drove_order_kind kind)
{
    for (size_t k = 0; k < DROVE_COUNT(shapes); k++) {
        const shape *s = &shapes[k];
        const drove_windows w = make(s);
        drove_order o = drove__order_make(s->rows, s->batch, 5, kind);
        drove__order_read_windows(&o, &w);
        assert_int_equal(o.n_rows, s->rows - s->held * s->block);
        bool is_held[MOST_ROWS] = {false};
        for (uint64_t i = 0; i < s->held; i++)
            for (uint64_t r = 0; r < s->block; r++)
                is_held[drove__windows_held(&w, i) * s->block + r] = true;
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            unsigned seen[MOST_ROWS] = {0};
            drove_order_cursor cursor;
            drove__order_cursor_init(&cursor);
            for (uint64_t n = epoch * o.per_epoch; n < (epoch + 1) * o.per_epoch; n++) {
                uint32_t row[MOST_BATCH];
                const drove_task task = {.number = n};
                size_t got = drove__order_rows(&o, &cursor, &task, row);
                assert_in_range(got, 1, s->batch);
                for (size_t i = 1; i < got && kind == DROVE_ORDER_BLOCKS; i++)
                    assert_int_equal(row[i], row[0] + i);
                for (size_t i = 0; i < got; i++)
                    seen[row_in_file(&w, drove__order_window(&o, n), row[i])]++;
                assert_int_equal(drove__order_examples(&o, n) + got,
                                 drove__order_examples(&o, n + 1));
            }
            for (uint64_t r = 0; r < s->rows; r++) assert_int_equal(seen[r], !is_held[r]);
        }
    }
}

TEST(every_row_once_an_epoch)
{
    expect_every_row(DROVE_ORDER_SHUFFLE);
    expect_every_row(DROVE_ORDER_BLOCKS);
}

TEST(batches_follow_windows)
{
    for (size_t k = 0; k < DROVE_COUNT(shapes); k++) {
        const shape *s = &shapes[k];
        const drove_windows w = make(s);
        uint64_t last = UINT64_MAX, end = 0;
        assert_true(w.per_window <= s->per_window);
        for (uint64_t n = 0; n < 2 * drove__windows_batches(&w, s->batch); n++) {
            uint64_t first, window = drove__windows_find(&w, s->batch, n, &first);
            if (window != last) { /* windows come in order, each from its first row on */
                assert_int_equal(window, last + 1);
                assert_int_equal(first, 0);
            } else {
                assert_int_equal(first, end);
            }
            end = first + s->batch;
            last = window;
            assert_true(first < drove__windows_rows(&w, window));
        }
    }
}

/* The batch that so many examples reach, in these windows and in others of the same data. */
TEST(examples_reach_batches)
{
    for (size_t k = 0; k < DROVE_COUNT(shapes); k++) {
        const shape *s = &shapes[k];
        const drove_windows w = make(s);
        const uint64_t n = drove__windows_batches(&w, s->batch);
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(
                drove__windows_reach(&w, s->batch, drove__windows_examples(&w, s->batch, i)), i);
        for (uint64_t per = 1; per <= w.n_whole; per++) {
            const drove_windows other = drove__windows_with(&w, per);
            const drove_windows again = drove__windows_with(&other, w.per_window);
            assert_int_equal(again.n_windows, w.n_windows);
            assert_int_equal(again.per_window, w.per_window);
            assert_int_equal(other.n_rows, w.n_rows);
            for (uint64_t examples = 0; examples <= w.n_rows; examples++) {
                uint64_t at = drove__windows_reach(&other, s->batch, examples);
                assert_true(at <= drove__windows_batches(&other, s->batch));
                uint64_t before = drove__windows_examples(&other, s->batch, at);
                assert_true(before <= examples && examples < before + s->batch);
            }
        }
    }
}

TEST(epochs_differ)
{
    const drove_windows w = make(&shapes[2]);
    drove_permutation a, b;
    unsigned n_same = 0;
    drove__windows_permute(&w, 0, &a);
    drove__windows_permute(&w, w.n_windows, &b);
    for (uint64_t i = 0; i < drove__windows_blocks(&w, 0); i++)
        n_same += drove__windows_block(&w, &a, 0, i) == drove__windows_block(&w, &b, 0, i);
    assert_true(n_same < drove__windows_blocks(&w, 0));
}
