/* Batches that are loaded ahead, one call after the other, on a clock that counts its readings and
 * can hold the loading thread: which slots are free, what is loaded first, and how long it took.
 * The linker puts the functions below in the place of pthread_mutex_lock and pthread_mutex_unlock
 *: each thread unlocks what it has locked, once, and nothing else.
 *
 * ctest: wraps=pthread_mutex_lock,pthread_mutex_unlock */
#include "base/cpu.h"
#include "base/mem.h"
#include "engine/gather.h"
#include "loop/loader.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { WORKERS = 3, MOST_ROWS = 8, TICK_NS = 1000 };

/* ---- locks ---- */

enum { MOST_HELD = 4 };

static _Thread_local const pthread_mutex_t *held[MOST_HELD];
static _Thread_local unsigned n_held;
static _Atomic int n_locked;     /* by all threads */
static _Atomic unsigned n_wrong; /* locked twice, or unlocked or waited with without being held */

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);

static unsigned find_held(const pthread_mutex_t *lock)
{
    unsigned i = 0;
    while (i < n_held && held[i] != lock) i++;
    return i;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
    if (find_held(lock) < n_held || n_held == MOST_HELD) {
        atomic_fetch_add(&n_wrong, 1);
        return 0; /* it would wait for itself */
    }
    held[n_held++] = lock;
    atomic_fetch_add(&n_locked, 1);
    return __real_pthread_mutex_lock(lock);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
    const unsigned i = find_held(lock);
    if (i == n_held) {
        atomic_fetch_add(&n_wrong, 1);
        return 0; /* it may be another thread's */
    }
    held[i] = held[--n_held];
    atomic_fetch_sub(&n_locked, 1);
    return __real_pthread_mutex_unlock(lock);
}

/* ---- the clock: each reading is a microsecond after the one before ---- */

static _Atomic uint64_t time_ns;
static _Atomic int is_held; /* readings wait while it is set */
static _Atomic unsigned n_waiting;

static uint64_t read_time(void *context)
{
    (void)context;
    atomic_fetch_add(&n_waiting, 1);
    while (atomic_load(&is_held)) sched_yield();
    atomic_fetch_sub(&n_waiting, 1);
    return atomic_fetch_add(&time_ns, TICK_NS) + TICK_NS;
}

static bool cond_wait(void *context, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    (void)context;
    if (until_ns != UINT64_MAX || find_held(lock) == n_held) atomic_fetch_add(&n_wrong, 1);
    (void)pthread_cond_wait(cond, lock);
    return true;
}

static const drove_clock counting = {.name = "counting",
                                     .now_ns = read_time,
                                     .cond_wait = cond_wait};

/* ---- a loader ---- */

typedef struct rig {
    drove_data *data;
    drovek_table kernels;
    drove_loader *loader;
} rig;

static void open_rig(rig *r, unsigned n_threads)
{
    drove_data *none;
    atomic_store(&time_ns, 0);
    assert_int_equal(drove_data_open("synth:digits?n=80", NULL, 3, &r->data, &none), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_loader_options opt = {.data = r->data,
                                      .kernels = &r->kernels,
                                      .max_rows = MOST_ROWS,
                                      .n_workers = WORKERS,
                                      .n_threads = n_threads,
                                      .clock = &counting};
    assert_int_equal(drove__loader_create(&opt, &r->loader), DROVE_OK);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(drove__loader_join(r->loader, i), DROVE_OK);
}

static void close_rig(rig *r)
{
    drove__loader_destroy(r->loader);
    drove_data_destroy(r->data);
    assert_int_equal(atomic_load(&n_locked), 0);
    assert_int_equal(atomic_load(&n_wrong), 0);
}

/* Batch n has n % 8 + 1 rows: n, n + 3, n + 6 ... */
static void ask(rig *r, unsigned worker, uint64_t number)
{
    uint32_t *row = drove__loader_rows(r->loader, worker);
    assert_non_null(row);
    for (size_t i = 0; i <= number % MOST_ROWS; i++) row[i] = (uint32_t)((number + 3 * i) % 50);
    drove__loader_ask(r->loader, worker, number, number % MOST_ROWS + 1);
}

static drove_load_times take(rig *r, unsigned worker, uint64_t number)
{
    drove_batch batch;
    drove_load_times times;
    drove_status status = DROVE_E_SYSTEM;
    assert_true(drove__loader_take(r->loader, worker, &batch, &times, &status));
    assert_int_equal(status, DROVE_OK);
    assert_int_equal(batch.number, number);
    assert_int_equal(batch.n_rows, number % MOST_ROWS + 1);
    assert_ptr_equal(batch.data, r->data);
    assert_int_equal(batch.loaded->in.n_rows, batch.n_rows);
    for (size_t i = 0; i < batch.n_rows; i++) {
        size_t at = drove__data_row(r->data, (uint32_t)((number + 3 * i) % 50));
        assert_int_equal(batch.row[i], (number + 3 * i) % 50);
        assert_int_equal(batch.loaded->target.y_class[i], r->data->storage->y_class[at]);
    }
    return times;
}

static void expect_nothing(rig *r, unsigned worker)
{
    drove_batch batch;
    drove_load_times times;
    drove_status status;
    assert_false(drove__loader_take(r->loader, worker, &batch, &times, &status));
}

static void expect_times(rig *r, uint64_t busy_ns, uint64_t exposed_ns, double hidden)
{
    uint64_t busy, exposed;
    assert_float_equal(drove__loader_times(r->loader, &busy, &exposed), hidden, 1e-12);
    assert_int_equal(busy, busy_ns);
    assert_int_equal(exposed, exposed_ns);
}

/* The loading thread has loaded for so long. */
static void wait_for_busy(rig *r, uint64_t busy_ns)
{
    uint64_t busy = 0, exposed;
    while (busy < busy_ns) {
        (void)drove__loader_times(r->loader, &busy, &exposed);
        sched_yield();
    }
    assert_int_equal(busy, busy_ns);
}

/* ---- tests ---- */

/* One slot each; a batch is loaded when it is taken, which nothing hides. */
TEST(without_threads_nothing_is_loaded_ahead)
{
    rig r;
    open_rig(&r, 0);
    expect_nothing(&r, 0);
    drove__loader_done(r.loader, 0); /* nothing was taken */
    expect_times(&r, 0, 0, 0.0);
    for (uint64_t k = 0; k < 5; k++) {
        ask(&r, 0, k);
        assert_null(drove__loader_rows(r.loader, 0));
        assert_non_null(drove__loader_rows(r.loader, 1)); /* each has its own */
        const drove_load_times t = take(&r, 0, k);
        /* readings: the wait begins, loading begins and ends, the wait ends */
        assert_int_equal(t.begin_ns, (4 * k + 2) * TICK_NS);
        assert_int_equal(t.end_ns, (4 * k + 3) * TICK_NS);
        assert_int_equal(t.exposed_ns, 3 * TICK_NS);
        assert_null(drove__loader_rows(r.loader, 0)); /* in use */
        expect_nothing(&r, 0);
        drove__loader_done(r.loader, 0);
    }
    expect_times(&r, 5 * TICK_NS, 15 * TICK_NS, 0.0);
    close_rig(&r);
}

TEST(a_thread_loads_one_ahead)
{
    rig r;
    open_rig(&r, 1);
    ask(&r, 1, 10);
    ask(&r, 1, 11);
    assert_null(drove__loader_rows(r.loader, 1));
    wait_for_busy(&r, 2 * TICK_NS);
    drove_load_times t = take(&r, 1, 10);
    assert_int_equal(t.begin_ns, 1 * TICK_NS);
    assert_int_equal(t.end_ns, 2 * TICK_NS);
    assert_int_equal(t.exposed_ns, 0);
    assert_null(drove__loader_rows(r.loader, 1)); /* one is in use, one is ahead */
    drove__loader_done(r.loader, 1);
    ask(&r, 1, 12);
    wait_for_busy(&r, 3 * TICK_NS);
    t = take(&r, 1, 11);
    assert_int_equal(t.end_ns, 4 * TICK_NS);
    drove__loader_done(r.loader, 1);
    t = take(&r, 1, 12);
    assert_int_equal(t.end_ns, 6 * TICK_NS);
    drove__loader_done(r.loader, 1);
    expect_nothing(&r, 1);
    expect_times(&r, 3 * TICK_NS, 0, 1.0);
    close_rig(&r);
}

/* While the thread is held in worker 0's batch, others are asked for; they follow in that order,
 * whoever's they are. */
TEST(what_was_asked_for_first_is_loaded_first)
{
    rig r;
    static const unsigned order[] = {2, 1, 0, 2, 1};
    drove_load_times t[DROVE_COUNT(order) + 1];
    open_rig(&r, 1);
    atomic_store(&is_held, 1);
    ask(&r, 0, 30);
    while (atomic_load(&n_waiting) == 0) sched_yield();
    for (size_t i = 0; i < DROVE_COUNT(order); i++) ask(&r, order[i], 31 + i);
    atomic_store(&is_held, 0);
    wait_for_busy(&r, 6 * TICK_NS);
    t[0] = take(&r, 0, 30);
    for (size_t i = 0; i < DROVE_COUNT(order); i++) {
        if (i > 2 || order[i] == 0) drove__loader_done(r.loader, order[i]);
        t[i + 1] = take(&r, order[i], 31 + i);
    }
    for (size_t i = 0; i <= DROVE_COUNT(order); i++) {
        assert_int_equal(t[i].begin_ns, (2 * i + 1) * TICK_NS);
        assert_int_equal(t[i].exposed_ns, 0);
    }
    close_rig(&r);
}

/* A batch that nobody has begun is loaded by the worker itself. */
TEST(a_worker_loads_what_it_cannot_wait_for)
{
    rig r;
    open_rig(&r, 1);
    atomic_store(&is_held, 1);
    ask(&r, 0, 5);
    while (atomic_load(&n_waiting) == 0) sched_yield(); /* the thread has begun batch 5 */
    ask(&r, 1, 6);
    atomic_store(&is_held, 0);
    (void)take(&r, 1, 6);
    (void)take(&r, 0, 5);
    uint64_t busy, exposed;
    (void)drove__loader_times(r.loader, &busy, &exposed);
    assert_true(busy >= 2 * TICK_NS);
    drove__loader_done(r.loader, 0);
    drove__loader_done(r.loader, 1);
    expect_nothing(&r, 0);
    expect_nothing(&r, 1);
    close_rig(&r);
}
