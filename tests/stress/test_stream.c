/* tests/stress/test_stream.c - workers that train on windows while the next one is read: each row
 * of the file once an epoch, always whole, whatever the pace of the workers, after stops and from
 * the middle of a window; and a file that changes ends it for all of them.
 *
 * Row i of the file holds i in each of its features, so that a row of another window shows.
 */
#include "data/disk/rows_file.h"
#include "loop/order.h"
#include "stream/stream.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "test_stream.rows"

enum { WORKERS = 4, ROWS = 5000, FEATURES = 16, BATCH = 7, EPOCHS = 6 };

typedef struct bench {
    drove_stream *stream;
    drove_order order;
    _Atomic uint64_t next, limit;
    _Atomic unsigned seen[ROWS];
    _Atomic unsigned n_wrong, n_failed;
    char error[DROVE_ERROR_TEXT_SIZE];
} bench;

static void write_rows(void)
{
    drove_rows_writer *w;
    float x[FEATURES];
    int32_t y = 0;
    drove_storage s = {.n_rows = 1,
                       .n_features = FEATURES,
                       .x_kind = DROVE_X_F32,
                       .x_f32 = x,
                       .n_classes = 2,
                       .y_class = &y};
    const drove_data row = {.storage = &s, .n_rows = 1};
    assert_int_equal(drove__rows_create(FILE_NAME, 40 * sizeof x, &w), DROVE_OK);
    for (int i = 0; i < ROWS; i++) {
        for (int f = 0; f < FEATURES; f++) x[f] = (float)i;
        y = i % 2;
        assert_int_equal(drove__rows_append(w, &row, NULL, NULL), DROVE_OK);
    }
    const drove_rows_end end = {.shape = &s};
    assert_int_equal(drove__rows_commit(w, &end), DROVE_OK);
}

static void open_bench(bench *b, size_t held_rows, double window_bytes)
{
    drove_blocks *blocks;
    memset(b, 0, sizeof *b);
    assert_int_equal(drove__blocks_open("rows:" FILE_NAME, &blocks), DROVE_OK);
    const drove_stream_options opt = {.blocks = blocks,
                                      .seed = 3,
                                      .memory = 1 << 20,
                                      .held_rows = held_rows,
                                      .clock = &drove__clock_real};
    if (drove__stream_open(&opt, &b->stream) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_data *sample = drove__stream_take_sample(b->stream);
    drove_data_destroy(drove__stream_take_held(b->stream));
    const drove_stream_start start = {.like = sample, .memory = window_bytes};
    if (drove__stream_begin(b->stream, &start) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_data_destroy(sample);
    b->order = drove__order_make(ROWS, BATCH, 9, DROVE_ORDER_SHUFFLE);
    drove__order_read_windows(&b->order, drove__stream_windows(b->stream));
}

/* Counts the rows of a batch, each of which must be whole. */
static void look(bench *b, const uint32_t *row, size_t n)
{
    const drove_storage *s = drove__stream_data(b->stream)->storage;
    for (size_t i = 0; i < n; i++) {
        const float *x = s->x_f32 + (size_t)row[i] * FEATURES;
        unsigned number = (unsigned)x[0];
        for (int f = 0; f < FEATURES; f++)
            if (x[f] != x[0]) atomic_fetch_add(&b->n_wrong, 1);
        if (number >= ROWS || s->y_class[row[i]] != (int32_t)(number % 2))
            atomic_fetch_add(&b->n_wrong, 1);
        else atomic_fetch_add_explicit(&b->seen[number], 1, memory_order_relaxed);
    }
}

/* As a worker of a run does, at an uneven pace; what it trained is told window by window. */
static void *work(void *argument)
{
    bench *b = argument;
    drove_order_cursor cursor;
    uint64_t number, window = 0, n_trained = 0;
    drove__order_cursor_init(&cursor);
    while ((number = atomic_fetch_add(&b->next, 1)) < atomic_load(&b->limit)) {
        uint32_t row[BATCH];
        const drove_task task = {.number = number};
        size_t n = drove__order_rows(&b->order, &cursor, &task, row);
        uint64_t of = drove__order_window(&b->order, number);
        if (of != window) drove__stream_done(b->stream, window, n_trained), n_trained = 0;
        window = of;
        if (drove__stream_wait(b->stream, window) != DROVE_OK) {
            if (atomic_fetch_add(&b->n_failed, 1) == 0) drove__error_copy(b->error);
            return NULL;
        }
        if (number % 11 == 0) sched_yield();
        look(b, row, n);
        n_trained++;
    }
    drove__stream_done(b->stream, window, n_trained);
    return NULL;
}

static void train(bench *b, uint64_t first, uint64_t limit)
{
    pthread_t thread[WORKERS];
    atomic_store(&b->next, first);
    atomic_store(&b->limit, limit);
    drove__stream_seek(b->stream, BATCH, first);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, b), 0);
    for (unsigned i = 0; i < WORKERS; i++) pthread_join(thread[i], NULL);
}

static void expect_seen(const bench *b, unsigned times, uint64_t n_rows)
{
    uint64_t n = 0;
    assert_int_equal(atomic_load(&b->n_wrong), 0);
    assert_int_equal(atomic_load(&b->n_failed), 0);
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned seen = atomic_load(&b->seen[i]);
        if (seen != 0) assert_int_equal(seen, times);
        n += seen != 0;
    }
    assert_int_equal(n, n_rows);
}

TEST(every_row_once_an_epoch)
{
    static const double sizes[] = {8e3, 30e3, 200e3, 1e6}; /* of two windows; the last holds all */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bench *b = malloc(sizeof *b);
        open_bench(b, 0, sizes[i]);
        train(b, 0, EPOCHS * b->order.per_epoch);
        expect_seen(b, EPOCHS, ROWS);
        drove__stream_destroy(b->stream);
        free(b);
    }
}

/* Stretches that end anywhere, as evaluations cut a run; held-out rows are never there. */
TEST(stops_anywhere)
{
    bench *b = malloc(sizeof *b);
    open_bench(b, 500, 30e3);
    const uint64_t n = EPOCHS * b->order.per_epoch;
    for (uint64_t at = 0, step = 1; at < n; at += step, step = step * 3 % 997 + 1)
        train(b, at, at + step < n ? at + step : n);
    assert_true(b->order.n_rows < ROWS);
    expect_seen(b, EPOCHS, b->order.n_rows);
    drove__stream_destroy(b->stream);
    free(b);
}

/* A resumed run begins in the middle of a window; one that steps back begins anew. */
TEST(begins_anywhere)
{
    bench *b = malloc(sizeof *b);
    open_bench(b, 0, 30e3);
    const uint64_t per_epoch = b->order.per_epoch;
    for (uint64_t at = 0; at < per_epoch; at += 97) { /* the rest of the epoch, and the beginning */
        memset(b->seen, 0, sizeof b->seen);
        train(b, at, per_epoch);
        train(b, 0, at);
        expect_seen(b, 1, ROWS);
    }
    drove__stream_destroy(b->stream);
    free(b);
}

static void *cut_file(void *argument)
{
    bench *b = argument;
    while (atomic_load(&b->next) < b->order.per_epoch) sched_yield();
    assert_int_equal(truncate(FILE_NAME, 1000), 0);
    return NULL;
}

TEST(a_cut_file_ends_it)
{
    pthread_t cutter;
    bench *b = malloc(sizeof *b);
    open_bench(b, 0, 30e3);
    assert_int_equal(pthread_create(&cutter, NULL, cut_file, b), 0);
    train(b, 0, 1000 * b->order.per_epoch);
    pthread_join(cutter, NULL);
    assert_int_equal(atomic_load(&b->n_wrong), 0);
    assert_int_equal(atomic_load(&b->n_failed), WORKERS);
    assert_non_null(strstr(b->error, "has changed"));
    drove__stream_destroy(b->stream);
    free(b);
}

FIXTURE(make_file)
{
    (void)unlink(FILE_NAME);
    write_rows();
    return 0;
}

GROUP(make_file, NULL);
