/* tests/stress/test_loader.c - batches that several threads load for several workers: each is what
 * the worker gets by loading it itself, none is lost, doubled or out of order.
 */
#include "base/cpu.h"
#include "engine/gather.h"
#include "loop/loader.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 4, BATCHES = 400, MOST_ROWS = 6 };

typedef struct bench {
    drove_data *data;
    drovek_table kernels;
    drove_loader *loader;
    _Atomic uint64_t next;
} bench;

typedef struct member {
    bench *of;
    unsigned index;
    uint64_t n_taken, n_wrong, exposed_ns;
    drove_status status;
} member;

/* The rows of batch `number`. */
static size_t rows_of(const bench *b, uint64_t number, uint32_t *row)
{
    size_t n = 1 + number % MOST_ROWS;
    for (size_t i = 0; i < n; i++) row[i] = (uint32_t)((number * 131 + i * 17) % b->data->n_rows);
    return n;
}

static bool is_same(member *m, drove_gather *own, const drove_batch *got)
{
    drove_input in;
    uint32_t row[MOST_ROWS];
    drove_batch batch = {.data = m->of->data, .row = row, .number = got->number};
    batch.n_rows = rows_of(m->of, got->number, row);
    if (batch.n_rows != got->n_rows || memcmp(row, got->row, batch.n_rows * sizeof *row) != 0)
        return false;
    if (drove__gather_load(own, &batch, true, NULL, &in) != DROVE_OK) return false;
    const drove_loaded *l = got->loaded;
    for (size_t i = 0; i < batch.n_rows; i++) {
        size_t at = drove__data_row(m->of->data, row[i]);
        if (l->target.y_class[i] != m->of->data->storage->y_class[at]) return false;
    }
    return l->in.n_rows == in.n_rows &&
           memcmp(l->in.dense, in.dense, in.n_rows * own->n_features * sizeof(float)) == 0;
}

/* As a worker of a run does, at an uneven pace. */
static void *member_main(void *argument)
{
    member *m = argument;
    bench *b = m->of;
    drove_gather own;
    drove_batch batch;
    drove_status status = DROVE_OK;
    drove_load_times times;
    uint64_t last = 0;
    drovek_thread_init();
    m->status = drove__gather_init(&own, &b->kernels, b->data, MOST_ROWS,
                                   drove__data_n_inputs(b->data), true);
    if (m->status == DROVE_OK) m->status = drove__loader_join(b->loader, m->index);
    while (m->status == DROVE_OK) {
        uint32_t *row;
        drove__loader_done(b->loader, m->index);
        while ((row = drove__loader_rows(b->loader, m->index)) != NULL) {
            uint64_t number = atomic_fetch_add(&b->next, 1);
            if (number >= BATCHES) break;
            drove__loader_ask(b->loader, m->index, number, rows_of(b, number, row));
        }
        if (!drove__loader_take(b->loader, m->index, &batch, &times, &status)) break;
        m->exposed_ns += times.exposed_ns;
        m->n_wrong += times.begin_ns == 0 || times.end_ns < times.begin_ns;
        m->n_wrong += status != DROVE_OK || !is_same(m, &own, &batch);
        m->n_wrong += m->n_taken > 0 && batch.number <= last; /* in the order of asking */
        last = batch.number;
        m->n_taken++;
        if (batch.number % 7 == m->index) sched_yield();
    }
    drove__gather_fini(&own);
    return NULL;
}

static void run_with(const char *spec, unsigned n_threads)
{
    bench b = {.data = NULL};
    member m[WORKERS] = {{0}};
    pthread_t thread[WORKERS];
    drove_data *none;
    uint64_t n_taken = 0, busy_ns, exposed_ns, sum_ns = 0;
    assert_int_equal(drove_data_open(spec, NULL, 3, &b.data, &none), DROVE_OK);
    assert_int_equal(drovek_select(&b.kernels, drove__cpu_features(), NULL), DROVE_OK);
    const drove_loader_options opt = {.data = b.data,
                                      .kernels = &b.kernels,
                                      .max_rows = MOST_ROWS,
                                      .n_workers = WORKERS,
                                      .n_threads = n_threads,
                                      .clock = &drove__clock_real};
    assert_int_equal(drove__loader_create(&opt, &b.loader), DROVE_OK);
    for (unsigned i = 0; i < WORKERS; i++) {
        m[i].of = &b;
        m[i].index = i;
        assert_int_equal(pthread_create(&thread[i], NULL, member_main, &m[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(m[i].status, DROVE_OK);
        assert_int_equal(m[i].n_wrong, 0);
        n_taken += m[i].n_taken;
        sum_ns += m[i].exposed_ns;
    }
    assert_int_equal(n_taken, BATCHES);
    double hidden = drove__loader_times(b.loader, &busy_ns, &exposed_ns);
    assert_true(busy_ns > 0 && exposed_ns == sum_ns && hidden >= 0.0 && hidden <= 1.0);
    if (n_threads == 0) assert_true(exposed_ns >= busy_ns);
    drove__loader_destroy(b.loader);
    drove_data_destroy(b.data);
}

TEST(test_batches)
{
    static const char images[] = "synth:images?n=60&size=12&crop=9&pad=1&mirror=1&scale=mean";
    for (unsigned n_threads = 0; n_threads < 5; n_threads++) run_with(images, n_threads);
    run_with("synth:digits?n=80", 2);
    run_with("synth:logistic?n=80&d=30", 3); /* floats, partly in place */
}

/* With batches asked for that nobody takes. */
TEST(test_end_in_the_middle)
{
    drove_data *data, *none;
    drovek_table kernels;
    drove_loader *l;
    assert_int_equal(drove_data_open("synth:images?n=60&size=40&crop=32", NULL, 3, &data, &none),
                     DROVE_OK);
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    const drove_loader_options opt = {.data = data,
                                      .kernels = &kernels,
                                      .max_rows = 50,
                                      .n_workers = 1,
                                      .n_threads = 2,
                                      .clock = &drove__clock_real};
    for (unsigned i = 0; i < 50; i++) {
        drove_load_times times;
        drove_batch batch;
        drove_status status;
        assert_int_equal(drove__loader_create(&opt, &l), DROVE_OK);
        assert_int_equal(drove__loader_join(l, 0), DROVE_OK);
        for (unsigned k = 0; k < 2; k++) {
            uint32_t *row = drove__loader_rows(l, 0);
            assert_non_null(row);
            for (uint32_t r = 0; r < 50; r++) row[r] = r;
            drove__loader_ask(l, 0, k, 50);
        }
        assert_null(drove__loader_rows(l, 0));
        if (i % 2) {
            assert_true(drove__loader_take(l, 0, &batch, &times, &status));
            assert_int_equal(batch.number, 0);
            assert_null(drove__loader_rows(l, 0)); /* one in use, one ahead */
        }
        drove__loader_destroy(l);
    }
    drove__loader_destroy(NULL);
    drove_data_destroy(data);
}

/* What cannot be loaded is said to the worker, on its own thread. */
TEST(test_failure_reaches_the_worker)
{
    drove_data *data, *none;
    drovek_table kernels;
    drove_loader *l;
    drove_batch batch;
    drove_status status;
    drove_load_times times;
    assert_int_equal(drove_data_open("synth:digits?n=20", NULL, 3, &data, &none), DROVE_OK);
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    const drove_loader_options opt = {.data = data,
                                      .kernels = &kernels,
                                      .max_rows = 4,
                                      .n_workers = 1,
                                      .n_threads = 1,
                                      .clock = &drove__clock_real};
    assert_int_equal(drove__loader_create(&opt, &l), DROVE_OK);
    assert_int_equal(drove__loader_join(l, 0), DROVE_OK);
    assert_non_null(drove__loader_rows(l, 0));
    drove__loader_ask(l, 0, 0, 5); /* one too many */
    assert_true(drove__loader_take(l, 0, &batch, &times, &status));
    assert_int_equal(status, DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "expected 1 to 4"));
    assert_false(drove__loader_take(l, 0, &batch, &times, &status));
    drove__loader_destroy(l);
    drove_data_destroy(data);
}
