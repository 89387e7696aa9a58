/* What a worker says of batches that it has trained, where its data are read from disk: each of a
 * window's batches once, when it comes to the first batch of the next window, before it waits for
 * that, and no sooner.  Otherwise the window's memory would be filled anew under a batch in hand.
 *
 * The stream is functions of this test, which note what they are told; the loader is the real one.
 *
 * ctest: wraps=drove__stream_done,drove__stream_has,drove__stream_wait */
#include "loop/batches.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "engine/gather.h"

#include <string.h>

/* windows of two blocks of four rows: batches of three rows have 3, 3 and 2 */
enum { BLOCK = 4, PER_WINDOW = 2, WINDOWS = 3, BATCH = 3, PER_EPOCH = 9, MOST_NOTES = 16 };

/* ---- the stream: windows up to n_there are there; what is said is noted ---- */

static struct {
    uint64_t window, n_batches, n_taken; /* batches that the worker had been given */
} note[MOST_NOTES];
static size_t n_notes;
static uint64_t n_taken, n_there, time_ns, notes_at_wait;
static drove_status answer; /* of a wait, which takes 500 ns */

void __wrap_drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches);
bool __wrap_drove__stream_has(drove_stream *s, uint64_t window);
drove_status __wrap_drove__stream_wait(drove_stream *s, uint64_t window);

void __wrap_drove__stream_done(drove_stream *s, uint64_t window, uint64_t n_batches)
{
    (void)s;
    assert_true(n_notes < MOST_NOTES);
    note[n_notes].window = window;
    note[n_notes].n_batches = n_batches;
    note[n_notes++].n_taken = n_taken;
}

bool __wrap_drove__stream_has(drove_stream *s, uint64_t window)
{
    (void)s;
    return window < n_there;
}

drove_status __wrap_drove__stream_wait(drove_stream *s, uint64_t window)
{
    (void)s;
    assert_int_equal(window, n_there);
    notes_at_wait = n_notes;
    time_ns += 500;
    if (answer == DROVE_OK) n_there++;
    return answer;
}

static uint64_t read_time(void *context)
{
    (void)context;
    return time_ns;
}

static const drove_clock stopped = {.name = "stopped", .now_ns = read_time};

/* ---- an engine whose device copies ahead ---- */

static uint64_t n_staged, last_staged;

static drove_status stage(drove_engine *e, const drove_batch *batch)
{
    (void)e;
    n_staged++;
    last_staged = batch->number;
    return DROVE_OK;
}

static const drove_engine_ops staging = {.name = "staging", .stage = stage};
static const drove_engine_ops plain = {.name = "plain"};

/* ---- a source: the numbers up to a limit ---- */

typedef struct numbers {
    drove_source base;
    uint64_t at, limit;
    bool has_waited[MOST_NOTES]; /* next was called for this number with waits */
} numbers;

static bool next_number(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    numbers *n = (numbers *)s;
    (void)worker;
    assert_true(n->at < MOST_NOTES);
    n->has_waited[n->at] = waits;
    if (n->at == n->limit) return false;
    *out = (drove_task){.number = n->at++};
    return true;
}

static const drove_source_ops counting = {.name = "numbers", .next = next_number};

/* ---- one worker ---- */

typedef struct rig {
    drove_data *data;
    drovek_table kernels;
    drove_windows windows;
    drove_loop loop;
    drove_worker *worker;
    numbers source;
    uint32_t row[2][BATCH];
} rig;

static void open_rig(rig *r, bool loads)
{
    drove_data *none;
    const drove_windows_options how = {.n_rows = BLOCK * PER_WINDOW * WINDOWS,
                                       .block_rows = BLOCK,
                                       .per_window = PER_WINDOW,
                                       .seed = 1};
    static int some_stream;
    memset(r, 0, sizeof *r);
    n_notes = 0;
    n_taken = n_staged = time_ns = 0;
    n_there = UINT64_MAX;
    answer = DROVE_OK;
    assert_int_equal(drove_data_open("synth:digits?n=80", NULL, 3, &r->data, &none), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    drove__windows_init(&r->windows, &how);
    r->loop.order = drove__order_make(how.n_rows, BATCH, 5, DROVE_ORDER_SHUFFLE);
    drove__order_read_windows(&r->loop.order, &r->windows);
    assert_int_equal(r->loop.order.per_epoch, PER_EPOCH);
    r->source.base.ops = &counting;
    r->loop.source = &r->source.base;
    r->loop.clock = &drove__clock_real;
    r->loop.data.stream = (drove_stream *)(void *)&some_stream;
    r->worker = drove__alloc(1, sizeof *r->worker);
    assert_non_null(r->worker);
    *r->worker = (drove_worker){.loop = &r->loop,
                                .data = r->data,
                                .batches.row = {r->row[0], r->row[1]},
                                .engine_ops = &plain,
                                .most_rows = BATCH};
    drove__order_cursor_init(&r->worker->cursor);
    if (!loads) return;
    const drove_loader_options opt = {.data = r->data,
                                      .kernels = &r->kernels,
                                      .max_rows = BATCH,
                                      .n_workers = 1,
                                      .n_threads = 1,
                                      .clock = r->loop.clock};
    assert_int_equal(drove__loader_create(&opt, &r->worker->batches.loader), DROVE_OK);
    assert_int_equal(drove__loader_join(r->worker->batches.loader, 0), DROVE_OK);
}

static void close_rig(rig *r)
{
    drove__loader_destroy(r->worker->batches.loader);
    drove__free(r->worker);
    drove_data_destroy(r->data);
}

static void take(rig *r, uint64_t number)
{
    drove_task task;
    drove_batch batch;
    drove_status status;
    assert_true(drove__batches_next(r->worker, &task, &batch, &status));
    assert_int_equal(status, DROVE_OK);
    assert_int_equal(task.number, number);
    assert_int_equal(batch.number, number);
    n_taken++;
}

static void expect_note(size_t i, uint64_t window, uint64_t n_batches, uint64_t after)
{
    assert_int_equal(note[i].window, window);
    assert_int_equal(note[i].n_batches, n_batches);
    assert_int_equal(note[i].n_taken, after);
}

/* Seven batches: two windows of three, and one batch of the third. */
static void walk(bool loads)
{
    drove_task task;
    drove_batch batch;
    drove_status status;
    rig r;
    open_rig(&r, loads);
    r.source.limit = 7;
    for (uint64_t i = 0; i < 7; i++) take(&r, i);
    assert_int_equal(n_notes, 2);
    assert_false(drove__batches_next(r.worker, &task, &batch, &status));
    drove__batches_end(r.worker);
    assert_int_equal(n_notes, 3);
    expect_note(0, 0, 3, 3); /* when the fourth was asked for */
    expect_note(1, 1, 3, 6);
    expect_note(2, 2, 1, 7);
    drove__batches_end(r.worker); /* nothing is said twice */
    assert_int_equal(n_notes, 3);
    close_rig(&r);
}

TEST(windows_without_a_loader)
{
    walk(false);
}

TEST(windows_with_a_loader)
{
    walk(true);
}

/* A batch that is asked for ahead, of the next window, does not end this one. */
TEST(the_window_of_the_batch_in_hand)
{
    rig r;
    open_rig(&r, true);
    r.source.limit = 4;
    for (uint64_t i = 0; i < 3; i++) take(&r, i); /* the fourth waits in the loader */
    assert_int_equal(r.worker->batches.n_ahead, 1);
    assert_int_equal(r.worker->batches.ahead[0].number, 3);
    assert_int_equal(r.worker->batches.window, 0);
    assert_int_equal(n_notes, 0);
    close_rig(&r);
}

/* A worker with nothing to train may be kept waiting for its first batch, but not for what it asks
 * for ahead of that: else the first would lie ready. */
TEST(only_the_first_batch_is_waited_for)
{
    static const bool expected[] = {true, false, false, false};
    rig r;
    open_rig(&r, true);
    r.source.limit = 4;
    for (uint64_t i = 0; i < 3; i++) take(&r, i);
    assert_int_equal(r.source.at, 4);
    assert_memory_equal(r.source.has_waited, expected, sizeof expected);
    take(&r, 3);
    assert_false(r.source.has_waited[4]);
    close_rig(&r);
}

/* A window that is not there is waited for after the one before is said to be trained, since its
 * memory may be needed; the wait is time of loading. */
TEST(a_window_is_waited_for)
{
    drove_task task;
    drove_batch batch;
    drove_status status;
    rig r;
    open_rig(&r, false);
    r.loop.clock = &stopped;
    r.source.limit = 9;
    n_there = 1;
    for (uint64_t i = 0; i < 3; i++) take(&r, i);
    assert_int_equal(time_ns, 0);
    take(&r, 3);
    assert_int_equal(notes_at_wait, 1);
    assert_int_equal(n_there, 2);
    assert_int_equal(r.worker->trace.phase_ns[DROVE_PHASE_LOAD], 500);
    for (uint64_t i = 4; i < 6; i++) take(&r, i);
    assert_int_equal(time_ns, 500);
    answer = DROVE_E_IO; /* a damaged block */
    assert_true(drove__batches_next(r.worker, &task, &batch, &status));
    assert_int_equal(status, DROVE_E_IO);
    assert_int_equal(task.number, 6);
    close_rig(&r);
}

/* The next batch is copied ahead if its rows are there, and is the next one in any case. */
TEST(batches_are_staged)
{
    rig r;
    open_rig(&r, false);
    r.loop.clock = &stopped;
    r.source.limit = 9;
    r.worker->engine_ops = &staging;
    n_there = 1;
    take(&r, 0);
    drove__batches_stage(r.worker);
    assert_int_equal(n_staged, 1);
    assert_int_equal(last_staged, 1);
    drove__batches_stage(r.worker); /* one at a time */
    assert_int_equal(n_staged, 1);
    take(&r, 1);
    take(&r, 2);
    drove__batches_stage(r.worker); /* of a window that is not there */
    assert_int_equal(n_staged, 1);
    assert_int_equal(r.worker->batches.n_ahead, 1);
    take(&r, 3);
    assert_int_equal(n_there, 2);
    atomic_int halt;
    atomic_init(&halt, 0);
    r.loop.ending.halt_seen = &halt; /* over ranks none is taken ahead */
    drove__batches_stage(r.worker);
    assert_int_equal(n_staged, 1);
    assert_int_equal(r.worker->batches.n_ahead, 0);
    close_rig(&r);
}
