/* What workers do besides training, seen by an engine that keeps notes: the measurement of batch
 * sizes on a clock that the engine moves, and the batches that batch normalisation's population
 * statistics are taken from. */
#include "loop/evaluation.h"
#include "support/test.h"

#include "base/cpu.h"
#include "loop/host.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1000, MOST_ROWS = 8192, MOST_CALLS = 64, N_WORKERS = 3, N_PARAMS = 5 };

/* ---- an engine of known speed ---- */

struct drove_engine {
    uint64_t call_ns, row_ns; /* a batch of n takes call_ns + n row_ns */
    size_t n_rows[MOST_CALLS];
    float share[MOST_CALLS];
    uint32_t row[MOST_ROWS]; /* of the last batch, or, of statistics, of all */
    size_t n_calls, n_noted;
    const float *theta;
    drove_status answer;
};

static uint64_t time_ns;

static uint64_t read_time(void *context)
{
    (void)context;
    return time_ns;
}

static const drove_clock moved_clock = {.name = "moved", .now_ns = read_time};

static drove_status begin(drove_engine *e, const drove_work *work)
{
    assert_true(e->n_calls < MOST_CALLS && work->batch->n_rows <= MOST_ROWS);
    e->n_rows[e->n_calls++] = work->batch->n_rows;
    memcpy(e->row, work->batch->row, work->batch->n_rows * sizeof *e->row);
    e->theta = work->theta;
    assert_non_null(work->grad); /* a gradient is what is measured */
    time_ns += e->call_ns + work->batch->n_rows * e->row_ns;
    return e->answer == DROVE_OK ? DROVE_OK : drove__fail(e->answer, "no device answers");
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)e, (void)timeout_ns, (void)done;
    return DROVE_OK;
}

static drove_status statistics(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into)
{
    assert_true(e->n_calls < MOST_CALLS && e->n_noted + batch->n_rows <= MOST_ROWS);
    assert_int_equal(batch->number, e->n_calls);
    e->share[e->n_calls] = share;
    e->n_rows[e->n_calls++] = batch->n_rows;
    memcpy(e->row + e->n_noted, batch->row, batch->n_rows * sizeof *e->row);
    e->n_noted += batch->n_rows;
    e->theta = theta;
    for (size_t i = 3; i < N_PARAMS; i++) into[i] += share * (float)i;
    return e->answer;
}

static const drove_engine_ops plain_engine = {.name = "plain", .begin = begin, .finish = finish};
static const drove_engine_ops able_engine = {.name = "able",
                                             .can = DROVE_ENGINE_STATISTICS,
                                             .begin = begin,
                                             .finish = finish,
                                             .statistics = statistics};

static float theta[N_PARAMS] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};

static drove_params peek(drove_sync *s)
{
    (void)s;
    return (drove_params){.theta = theta};
}

static const drove_sync_ops still_strategy = {.name = "still", .peek = peek};

static bool wants_devices(const drove_spec *spec, const drove_source_worker *worker)
{
    (void)spec;
    return worker->is_device && worker->least != 7;
}

static const drove_source_coordinator_ops wanting = {.wants_probe = wants_devices};
static const drove_source_ops asking_source = {.name = "asking", .coordinator = &wanting};
static const drove_source_ops plain_source = {.name = "plain"};

/* ---- workers on the caller's thread ---- */

typedef struct rig {
    drove_plan plan;
    drove_plan_worker place[N_WORKERS];
    drove_loop loop;
    drove_worker worker[N_WORKERS];
    drove_engine engine[N_WORKERS];
    drove_sync sync;
    drove_host host;
    drove_model model;
    float grad[N_PARAMS], statistics[N_PARAMS];
    uint32_t row[MOST_ROWS];
    unsigned n_commands, loses; /* the first command loses the worker that was chosen */
} rig;

static void go(drove_host *h, drove_command command)
{
    rig *r = h->impl;
    r->n_commands++;
    for (unsigned i = r->plan.first_here; i < r->plan.first_here + r->plan.n_here; i++) {
        if (command == DROVE_DO_PROBE) drove__worker_probe(&r->worker[i]);
        else if (atomic_load(&r->worker[i].health.is_lost) == 0)
            drove__worker_statistics(&r->worker[i]);
    }
    if (r->loses > 0) {
        r->loses--;
        atomic_store(&r->worker[r->loop.statistics.worker].health.is_lost, 1);
    }
}

static bool wait_for_all(drove_host *h, uint64_t until_ns)
{
    (void)h, (void)until_ns;
    return true;
}

static drove_status status_of(const drove_host *h)
{
    (void)h;
    return DROVE_OK;
}

static const drove_host_ops here = {
    .name = "here", .go = go, .wait = wait_for_all, .status = status_of};

static rig *open_rig(const drove_source_ops *source)
{
    static rig made;
    rig *r = &made;
    memset(r, 0, sizeof *r);
    time_ns = 0;
    r->plan.source = source;
    r->plan.n_workers = r->plan.n_here = N_WORKERS;
    r->model = (drove_model){.n_params = N_PARAMS, .n_statistics = 2};
    r->sync = (drove_sync){.ops = &still_strategy, .n_workers = N_WORKERS};
    r->host = (drove_host){.ops = &here, .loop = &r->loop, .impl = r};
    r->loop.plan = &r->plan;
    r->loop.clock = &moved_clock;
    r->loop.model = &r->model;
    r->loop.sync = &r->sync;
    r->loop.worker = r->worker;
    r->loop.host = &r->host;
    r->loop.statistics.theta = r->statistics;
    r->loop.order = drove__order_make(ROWS, 1, 1, DROVE_ORDER_SHUFFLE);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove_worker *w = &r->worker[i];
        w->loop = &r->loop;
        w->index = i;
        w->plan = &r->place[i];
        w->engine_ops = &plain_engine;
        w->engine = &r->engine[i];
        w->grad = r->grad;
        w->batches.row[0] = r->row;
        w->most_rows = MOST_ROWS;
    }
    return r;
}

static rig *open_device(uint64_t call_ns, uint64_t row_ns, size_t most_rows)
{
    rig *r = open_rig(&asking_source);
    r->engine[0].call_ns = call_ns;
    r->engine[0].row_ns = row_ns;
    r->worker[0].most_rows = most_rows;
    r->worker[0].probe.is_wanted = true;
    return r;
}

/* ---- the measurement ---- */

/* Sizes 32, 64 ... at the rates n / (call + n row) 1/ns: the smallest of at least half of the best
 * rate, and of at least 95 %.  Examples of a whole second each are few enough for 2 s. */
TEST(sizes_follow_from_rates)
{
    static const struct {
        uint64_t call_ns, row_ns;
        size_t most_rows, n_calls; /* that with which it warms up is the first */
        uint64_t least, most;
    } cases[] = {
        /* n/(n + 1000): best 8192, 0.891; half of it from 804, 95 % of it from 5519 */
        {1000000, 1000, 8192, 1 + 9, 1024, 8192},
        /* n/(n + 100): best 2048, 0.953; half of it from 92, 95 % of it from 961 */
        {100000, 1000, 2048, 1 + 7, 128, 1024},
        /* not a power of two: as 2048; one less is as 1024: 0.911, 84 and 644 */
        {100000, 1000, 2049, 1 + 7, 128, 1024},
        {100000, 1000, 2047, 1 + 6, 128, 1024},
        {0, 1000, 2048, 1 + 7, 32, 32},       /* all sizes are equally fast */
        {100000, 1000, 32, 1 + 1, 32, 32},    /* one size alone */
        {100000, 1000, 31, 1, 31, 31},        /* none: all that fits */
        {0, 5000000, 8192, 1 + 4, 32, 32},    /* 0.16 + 0.32 + 0.64 + 1.28 s: then time is up */
        {1000000000, 0, 8192, 1 + 2, 32, 64}, /* the second size ends at 2 s, the limit */
    };
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig *r = open_device(cases[k].call_ns, cases[k].row_ns, cases[k].most_rows);
        drove__worker_probe(&r->worker[0]);
        const drove_engine *e = &r->engine[0];
        assert_int_equal(r->worker[0].probe.least, cases[k].least);
        assert_int_equal(r->worker[0].probe.most, cases[k].most);
        assert_int_equal(e->n_calls, cases[k].n_calls);
        assert_int_equal(e->n_rows[0], cases[k].most_rows < 32 ? cases[k].most_rows : 32);
        for (size_t i = 1; i < e->n_calls; i++) assert_int_equal(e->n_rows[i], 32u << (i - 1));
        assert_int_equal(atomic_load(&r->worker[0].health.heartbeat), e->n_calls);
        assert_int_equal(atomic_load(&r->worker[0].health.is_computing), 0);
        assert_int_equal(atomic_load(&r->worker[0].health.is_lost), 0);
        assert_ptr_equal(e->theta, theta);
    }
}

/* Limits that were given hold for what was measured: 128 and 1024. */
TEST(given_sizes_are_limits)
{
    static const uint64_t cases[][4] = {/* given least and most, found least and most */
                                        {0, 0, 128, 1024},   {0, 100, 100, 1024},
                                        {0, 128, 128, 1024}, {2000, 0, 128, 2000},
                                        {64, 0, 128, 1024},  {0, 4096, 128, 1024}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig *r = open_device(100000, 1000, 2048);
        r->place[0].least = cases[k][0];
        r->place[0].most = cases[k][1];
        drove__worker_probe(&r->worker[0]);
        assert_int_equal(r->worker[0].probe.least, cases[k][2]);
        assert_int_equal(r->worker[0].probe.most, cases[k][3]);
    }
}

/* The batches are of the run's order, whatever the worker's place in another was. */
TEST(measured_examples_are_those_of_the_order)
{
    rig *r = open_device(100000, 1000, 512);
    drove_order other = drove__order_make(ROWS, 1, 2, DROVE_ORDER_SHUFFLE);
    drove_task task = {.n_rows = 100};
    static uint32_t row[ROWS];
    drove__order_cursor_init(&r->worker[0].cursor);
    (void)drove__order_rows(&other, &r->worker[0].cursor, &task, row);
    drove__worker_probe(&r->worker[0]);
    drove_order_cursor fresh;
    drove__order_cursor_init(&fresh);
    task.n_rows = 512;
    (void)drove__order_rows(&r->loop.order, &fresh, &task, row);
    assert_memory_equal(r->engine[0].row, row, 512 * sizeof *row);
}

TEST(a_device_that_fails_is_lost)
{
    rig *r = open_device(100000, 1000, 2048);
    r->engine[0].answer = DROVE_E_SYSTEM;
    drove__worker_probe(&r->worker[0]);
    assert_int_equal(atomic_load(&r->worker[0].health.is_lost), 1);
    assert_string_equal(r->worker[0].error, "no device answers");
    assert_int_equal(r->worker[0].probe.least, 0);
    assert_int_equal(r->worker[0].probe.most, 0);
    assert_int_equal(atomic_load(&r->worker[0].health.is_computing), 0);
    /* one that is lost already keeps its own reason */
    r = open_device(100000, 1000, 2048);
    r->engine[0].answer = DROVE_E_SYSTEM;
    atomic_store(&r->worker[0].health.is_lost, 1);
    drove__worker_probe(&r->worker[0]);
    assert_string_equal(r->worker[0].error, "");
}

/* Of three workers two are here; the source asks for devices without a least size of 7. */
TEST(the_source_says_who_is_measured)
{
    char device; /* only its address is used */
    for (unsigned n_devices = 0; n_devices <= 2; n_devices++) {
        for (unsigned refused = 0; refused < 2; refused++) {
            rig *r = open_rig(&asking_source);
            r->plan.first_here = 1;
            r->plan.n_here = 2;
            for (unsigned i = 0; i < N_WORKERS; i++) r->engine[i].row_ns = 1000;
            for (unsigned i = 0; i <= n_devices; i++) r->worker[i].device = (drove_device *)&device;
            if (refused == 1) r->place[2].least = 7;
            assert_int_equal(drove__probe_run(&r->loop, NULL), DROVE_OK);
            unsigned n_measured = n_devices - (n_devices == 2 && refused == 1);
            for (unsigned i = 0; i < N_WORKERS; i++)
                assert_int_equal(r->engine[i].n_calls > 0, i > 0 && i <= n_measured);
            assert_int_equal(r->n_commands, n_measured > 0);
        }
    }
    rig *r = open_rig(&plain_source); /* never asks */
    r->worker[0].device = (drove_device *)&device;
    assert_int_equal(drove__probe_run(&r->loop, NULL), DROVE_OK);
    assert_int_equal(r->n_commands, 0);
}

/* ---- batch normalisation's population ---- */

/* Up to 16 batches of the usual size, evenly spread over all examples, each of equal weight. */
TEST(the_population_is_spread_over_all_rows)
{
    static const size_t n_rows[] = {8, 15, 16, 100, 127, 128, 135, 136, 1000};
    for (size_t k = 0; k < DROVE_COUNT(n_rows); k++) {
        rig *r = open_rig(&plain_source);
        const drove_data sample = {.n_rows = n_rows[k]};
        const size_t n = n_rows[k] / 8 < 16 ? n_rows[k] / 8 : 16;
        drove_engine *e = &r->engine[1];
        r->loop.data.sample = &sample;
        r->loop.sizes.update_rows = 8;
        r->worker[1].engine_ops = r->worker[2].engine_ops = &able_engine;
        for (unsigned i = 0; i < N_PARAMS; i++) r->statistics[i] = -1.0f;
        assert_int_equal(drove__population_run(&r->loop, theta), DROVE_OK);
        assert_int_equal(r->loop.statistics.worker, 1);
        assert_int_equal(r->engine[2].n_calls, 0);
        assert_int_equal(e->n_calls, n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(e->n_rows[i], 8);
            assert_true(e->share[i] == 1.0f / (float)n);
        }
        for (size_t i = 0; i < 8 * n; i++)
            assert_int_equal(e->row[i], floor((double)i * (double)n_rows[k] / (double)(8 * n)));
        assert_ptr_equal(e->theta, r->statistics);
        for (unsigned i = 0; i < N_PARAMS; i++) /* three parameters, two statistics */
            assert_true(fabsf(r->statistics[i] - (i < 3 ? theta[i] : (float)i)) < 1e-5f);
    }
}

/* The first that can, is here and is not lost; and the next one where it is lost meanwhile. */
TEST(a_worker_that_is_left_takes_the_population)
{
    const drove_data sample = {.n_rows = 64};
    for (unsigned case_ = 0; case_ < 3; case_++) {
        rig *r = open_rig(&plain_source);
        r->loop.data.sample = &sample;
        r->loop.sizes.update_rows = 8;
        for (unsigned i = 0; i < N_WORKERS; i++) r->worker[i].engine_ops = &able_engine;
        if (case_ == 0) r->plan.first_here = 1, r->plan.n_here = 2;
        if (case_ == 1) atomic_store(&r->worker[0].health.is_lost, 1);
        if (case_ == 2) r->loses = 1;
        assert_int_equal(drove__population_run(&r->loop, theta), DROVE_OK);
        assert_int_equal(r->loop.statistics.worker, 1);
        assert_int_equal(r->n_commands, case_ == 2 ? 2 : 1);
        assert_int_equal(r->engine[1].n_calls, 8);
        assert_int_equal(r->engine[2].n_calls, 0);
        for (unsigned i = 3; i < N_PARAMS; i++) /* nothing is left of a worker that was lost */
            assert_true(fabsf(r->statistics[i] - (float)i) < 1e-5f);
    }
}
