/* Workers whose device keeps parameters of its own, workers whose batches are loaded for them, and
 * evaluations in chunks: an engine and a strategy that keep notes, and a host on the caller's
 * thread. */
#include "loop/evaluation.h"
#include "loop/worker.h"
#include "support/test.h"

#include "base/cpu.h"
#include "loop/host.h"
#include "loop/sources.h"
#include "loop/step.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 103, BATCH = 8, N_PARAMS = 6, N_SLICES = 3, MOST = 64, N_WORKERS = 2 };

/* ---- notes ---- */

struct drove_engine {
    drove_device_rule rule; /* given with the parameters */
    const float *params, *got;
    size_t n_rows, given_offset[MOST], given_length[MOST], n_given, n_begun, n_parts, n_sets;
    float given[MOST];
    uint32_t row[4 * ROWS];
    const drove_gradient *grad;
    size_t slices_left, n_empty; /* of the batch in hand; looks at which nothing has come ... */
    size_t n_empty_each;         /* ... before the first slice, and before each */
    size_t n_looks;
    uint64_t waited_ns; /* of the last look, as it was asked for */
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

static drove_status set_params(drove_engine *e, const drove_device_rule *rule, const float *vector)
{
    e->n_sets++;
    e->rule = *rule;
    e->params = vector;
    return DROVE_OK;
}

static drove_status get_params(drove_engine *e, float *vector)
{
    e->got = vector;
    return DROVE_OK;
}

static drove_status begin(drove_engine *e, const drove_work *work)
{
    e->theta = work->theta;
    e->n_begun++;
    memcpy(e->row + e->n_rows, work->batch->row, work->batch->n_rows * sizeof *e->row);
    e->n_rows += work->batch->n_rows;
    if (work->grad == NULL) return e->answer;
    for (int i = 0; i < N_PARAMS; i++) work->grad->value[i] = (float)i;
    e->grad = work->grad;
    e->slices_left = N_SLICES;
    return e->answer;
}

/* One slice each time, the last one first; first nothing comes n_empty times, a second each. */
static drove_status part(drove_engine *e, uint64_t timeout_ns, size_t *n_left)
{
    e->waited_ns = timeout_ns;
    e->n_parts++;
    if (e->n_empty > 0) {
        e->n_empty--;
        time_ns += 1000000000;
    } else if (e->n_looks++ < e->n_empty_each) {
        time_ns += 1000000000;
    } else {
        e->n_looks = 0;
        e->slices_left--;
        e->grad->after_layer(e->grad->context, e->slices_left);
    }
    *n_left = e->slices_left;
    return DROVE_OK;
}

static drove_status give(drove_engine *e, size_t offset, size_t length, const float *sum)
{
    assert_true(e->n_given < MOST);
    e->given_offset[e->n_given] = offset;
    e->given_length[e->n_given] = length;
    e->given[e->n_given++] = sum[0];
    return DROVE_OK;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    if (done == NULL) /* how a silent device is asked */
        return drove__fail(DROVE_E_SYSTEM, "silent, asked for %llu ns",
                           (unsigned long long)timeout_ns);
    done->score.loss = (double)e->row[e->n_rows - 1];
    done->score.n_rows = 1;
    return DROVE_OK;
}

static drove_status copies(drove_engine *e, drove_device_copy_fn *tell, void *context)
{
    (void)e;
    tell(context, &(drove_device_copy){
                      .offset = 2, .begin_ns = 10, .end_ns = 30, .hidden_ns = 5, .is_up = true});
    return DROVE_OK;
}

static const drove_resident_ops of_resident = {
    .set_params = set_params, .get_params = get_params, .give = give, .copies = copies};
static const drove_engine_ops resident_engine = {
    .name = "resident", .begin = begin, .part = part, .finish = finish, .resident = &of_resident};
static const drove_engine_ops plain_engine = {.name = "plain", .begin = begin, .finish = finish};

static float replica_of[2 * N_PARAMS]; /* and the shared state of nesterov behind it */
static float sums[N_PARAMS] = {10, 11, 12, 13, 14, 15};
static size_t ready_offset[MOST], n_ready, n_sums, n_sums_there, n_published, n_copies;
static float eta_of[MOST]; /* of each publication */
static bool is_stopped;
static drove_slice_copy last_copy;

static float *replica(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
    return replica_of;
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)s, (void)worker;
    *view = (drove_view){.vector = replica_of, .version = 40 + n_published};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
}

static const drove_span slices[N_SLICES] = {{0, 2}, {2, 1}, {3, 3}};

static uint64_t layer_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    (void)s, (void)worker, (void)length, (void)value, (void)eta;
    ready_offset[n_ready++] = offset;
    return 0;
}

/* A sum for each slice that is ready and there. */
static bool next_sum(drove_sync *s, unsigned worker, bool waits, drove_sum *out)
{
    (void)s, (void)worker;
    if (is_stopped || n_sums == n_ready || (!waits && n_sums >= n_sums_there)) return false;
    const drove_span *span = &slices[N_SLICES - 1 - n_sums++ % N_SLICES];
    *out = (drove_sum){.offset = span->offset, .length = span->length, .value = sums};
    return true;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)s, (void)worker;
    eta_of[n_published++] = step->eta;
    *info = (drove_publish_info){.attempts = 1, .updated = 1};
    return DROVE_OK;
}

static void note_copy(drove_sync *s, unsigned worker, const drove_slice_copy *copy)
{
    (void)s, (void)worker;
    n_copies++;
    last_copy = *copy;
}

static const drove_sync_slice_ops by_slice = {.ready = layer_ready,
                                              .next_sum = next_sum,
                                              .note_copy = note_copy};
static const drove_sync_replica_ops own = {.vector = replica};
static const drove_sync_ops replicas = {.name = "replicas",
                                        .acquire = acquire,
                                        .release = release,
                                        .publish = publish,
                                        .slices = &by_slice,
                                        .replicas = &own};
static const drove_sync_ops plain_strategy = {
    .name = "plain", .acquire = acquire, .release = release, .publish = publish};

/* ---- workers on the caller's thread ---- */

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_plan plan;
    drove_plan_worker place[N_WORKERS];
    drove_loop loop;
    drove_worker worker[N_WORKERS];
    drove_engine engine[N_WORKERS];
    drove_sync sync;
    drove_source source;
    drove_host host;
    drove_data data;
    float grad[N_PARAMS];
    uint32_t row[N_WORKERS][2][ROWS];
    unsigned n_go;
} rig;

static void open_rig(rig *r, const drove_sync_ops *sync, const drove_engine_ops *engine)
{
    static const drove_optim_options optim = {.rule = "nesterov:0.25",
                                              .schedule = "exponential:0.5",
                                              .lr = 0.5,
                                              .weight_decay = 0.125,
                                              .clip = 3.0,
                                              .n_params = N_PARAMS,
                                              .n_workers = N_WORKERS};
    memset(r, 0, sizeof *r);
    time_ns = 1;
    n_ready = n_sums = n_published = n_copies = 0;
    n_sums_there = SIZE_MAX;
    is_stopped = false;
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    drove_optim_options opt = optim;
    opt.kernels = &r->kernels;
    assert_int_equal(drove__optim_create(&opt, &r->optim), DROVE_OK);
    r->data.n_rows = ROWS;
    r->plan = (drove_plan){.source = &drove__source_claimed, .n_workers = N_WORKERS};
    r->sync = (drove_sync){
        .ops = sync, .slices = sync->slices, .n_workers = N_WORKERS, .optim = r->optim};
    r->source = (drove_source){.ops = &drove__source_claimed, .n_workers = N_WORKERS};
    const drove_source_options source = {.n_workers = N_WORKERS, .sync = &r->sync};
    assert_int_equal(r->source.ops->init(&r->source, &source), DROVE_OK);
    r->loop = (drove_loop){.plan = &r->plan,
                           .clock = &moved_clock,
                           .kernels = &r->kernels,
                           .optim = r->optim,
                           .data.train = &r->data,
                           .sync = &r->sync,
                           .source = &r->source,
                           .worker = r->worker,
                           .order = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_SHUFFLE),
                           .sizes.update_rows = BATCH,
                           .sizes.score_rows = 10};
    static size_t of_layer[N_SLICES] = {0, 1, 2}, layer[N_SLICES] = {0, 1, 2};
    r->loop.slices = (drove_slices){.n = N_SLICES,
                                    .slice = (drove_span *)(uintptr_t)slices,
                                    .of_layer = of_layer,
                                    .layer = layer};
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove_worker *w = &r->worker[i];
        r->place[i] = (drove_plan_worker){.n_cores = 1, .name = "fake:0"};
        w->loop = &r->loop;
        w->index = i;
        w->plan = &r->place[i];
        w->engine_ops = engine;
        w->engine = &r->engine[i];
        w->grad = r->grad;
        w->timeout_ns = UINT64_C(3000000000);
        for (unsigned k = 0; k < 2; k++) w->batches.row[k] = r->row[i][k];
        assert_int_equal(drove__optim_worker_init(&w->optim, r->optim), DROVE_OK);
    }
}

static void close_rig(rig *r)
{
    for (unsigned i = 0; i < N_WORKERS; i++) drove__optim_worker_fini(&r->worker[i].optim);
    r->source.ops->fini(&r->source);
    drove__optim_destroy(r->optim);
}

static drove_status train(rig *r, uint64_t limit)
{
    r->source.ops->open(&r->source, limit, UINT64_MAX);
    assert_true(drove__worker_obey(&r->worker[0], DROVE_DO_TRAIN));
    return r->worker[0].status;
}

/* ---- devices with parameters of their own ---- */

TEST(a_resident_device_gets_sums)
{
    for (unsigned late = 0; late < 2; late++) { /* sums come while the device computes, or after */
        rig r;
        open_rig(&r, &replicas, &resident_engine);
        r.worker[0].resident.is_there = true;
        if (late) n_sums_there = 0;
        const drove_engine *e = &r.engine[0];
        assert_int_equal(train(&r, 2), DROVE_OK);
        assert_int_equal(e->n_sets, 1);
        assert_ptr_equal(e->params, replica_of);
        assert_string_equal(e->rule.name, "nesterov");
        assert_int_equal(e->rule.n_state, 1);
        assert_true(e->rule.mu == 0.25f && e->rule.weight_decay == 0.125f && e->rule.clip == 3.0f);
        assert_null(e->theta); /* they are there */
        assert_int_equal(e->n_begun, 2);
        assert_int_equal(n_published, 2);
        assert_int_equal(n_ready, 2 * N_SLICES);
        assert_int_equal(e->n_given, 2 * N_SLICES);
        for (size_t i = 0; i < e->n_given; i++) {
            const drove_span *span = &slices[N_SLICES - 1 - i % N_SLICES];
            assert_int_equal(ready_offset[i], span->offset);
            assert_int_equal(e->given_offset[i], span->offset);
            assert_int_equal(e->given_length[i], span->length);
            assert_true(e->given[i] == sums[span->offset]);
        }
        /* while sums may come the device is looked at now and then, else it is waited for */
        assert_int_equal(e->waited_ns, 50000);
        assert_ptr_equal(e->got, replica_of); /* settled */
        assert_int_equal(n_copies, 2);
        assert_true(last_copy.offset == 2 && last_copy.is_up && last_copy.iteration == 41);
        assert_true(last_copy.begin_ns == 10 && last_copy.end_ns == 30 && last_copy.hidden_ns == 5);
        assert_int_equal(train(&r, 3), DROVE_OK);
        assert_int_equal(e->n_sets, 1); /* it keeps them */
        close_rig(&r);
    }
}

/* Nothing for its timeout of 3 s: the engine says what it is.  Less, or a slice in between: it goes
 * on. */
TEST(a_silent_device_is_asked)
{
    for (unsigned n_empty = 2; n_empty <= 3; n_empty++) {
        rig r;
        open_rig(&r, &replicas, &resident_engine);
        r.worker[0].resident.is_there = true;
        r.engine[0].n_empty = n_empty;
        uint64_t heartbeat = atomic_load(&r.worker[0].health.heartbeat);
        drove_status status = train(&r, 1);
        assert_int_equal(status, n_empty < 3 ? DROVE_OK : DROVE_E_SYSTEM);
        assert_int_equal(r.engine[0].n_parts, n_empty < 3 ? 2 + N_SLICES : 3);
        assert_true(atomic_load(&r.worker[0].health.heartbeat) > heartbeat);
        assert_int_equal(atomic_load(&r.worker[0].health.is_computing), 0);
        if (n_empty == 3) assert_string_equal(r.worker[0].error, "silent, asked for 0 ns");
        close_rig(&r);
    }
}

/* Two seconds before each of three slices: six in all, but never three without one. */
TEST(a_slow_device_is_heard)
{
    rig r;
    open_rig(&r, &replicas, &resident_engine);
    r.worker[0].resident.is_there = true;
    r.engine[0].n_empty_each = 2;
    assert_int_equal(train(&r, 1), DROVE_OK);
    assert_int_equal(r.engine[0].n_parts, 3 * N_SLICES);
    close_rig(&r);
}

/* A strategy that stops gives no sum any more, and what the device has is not fetched. */
TEST(a_stop_ends_the_wait_for_sums)
{
    rig r;
    open_rig(&r, &replicas, &resident_engine);
    r.worker[0].resident.is_there = true;
    is_stopped = true;
    assert_int_equal(train(&r, 1), DROVE_E_SYSTEM);
    assert_string_equal(r.worker[0].error, "stopped");
    assert_int_equal(n_published, 0);
    assert_null(r.engine[0].got);
    assert_int_equal(atomic_load(&r.loop.ending.halted), 1);
    close_rig(&r);
}

/* ---- batches that are loaded ---- */

/* The same rows in the same order, with a loader that is asked, and with one that loads ahead. */
TEST(loaded_batches_are_those_of_the_order)
{
    static uint32_t expected[2 * ROWS];
    static float expected_eta[MOST];
    size_t n_expected = 0;
    drove_data *data, *none;
    assert_int_equal(drove_data_open("synth:digits?n=103", NULL, 3, &data, &none), DROVE_OK);
    for (unsigned how = 0; how < 3; how++) { /* without a loader, and with 0 and 1 threads */
        rig r;
        open_rig(&r, &plain_strategy, &plain_engine);
        r.data = *data;
        const drove_loader_options opt = {.data = data,
                                          .kernels = &r.kernels,
                                          .max_rows = BATCH,
                                          .n_workers = N_WORKERS,
                                          .n_threads = how == 2,
                                          .clock = &drove__clock_real};
        drove_loader *loader = NULL;
        if (how > 0) {
            assert_int_equal(drove__loader_create(&opt, &loader), DROVE_OK);
            assert_int_equal(drove__loader_join(loader, 0), DROVE_OK);
            r.worker[0].batches.loader = loader;
        }
        for (uint64_t limit = 10; limit <= 17; limit += 7)
            assert_int_equal(train(&r, limit), DROVE_OK);
        const drove_engine *e = &r.engine[0];
        assert_int_equal(e->n_begun, 17);
        assert_int_equal(n_published, 17);
        assert_int_equal(r.worker[0].trace.steps, 17);
        assert_int_equal(r.worker[0].batches.n_ahead, 0);
        assert_int_equal(e->n_rows, ROWS + 4 * BATCH); /* 13 batches are an epoch */
        if (how == 0) memcpy(expected, e->row, (n_expected = e->n_rows) * sizeof *expected);
        if (how == 0) memcpy(expected_eta, eta_of, sizeof eta_of);
        assert_int_equal(e->n_rows, n_expected);
        assert_memory_equal(eta_of, expected_eta, 17 * sizeof *eta_of);
        assert_true(eta_of[16] < eta_of[0]); /* each batch has its own */
        assert_memory_equal(e->row, expected, n_expected * sizeof *expected);
        assert_true((r.worker[0].trace.phase_ns[DROVE_PHASE_LOAD] > 0) >= (how == 1));
        drove__loader_destroy(loader);
        close_rig(&r);
    }
    drove_data_destroy(data);
}

/* ---- evaluations ---- */

static bool fail_bears(drove_source *s, unsigned worker)
{
    (void)s, (void)worker;
    return true;
}

static drove_status check_status;

static drove_status check_source(drove_source *s)
{
    (void)s;
    return check_status == DROVE_OK ? DROVE_OK : drove__fail(check_status, "nobody is left");
}

static void go(drove_host *h, drove_command command)
{
    rig *r = h->impl;
    r->n_go++;
    assert_int_equal(command, DROVE_DO_SCORE);
    for (unsigned i = 0; i < N_WORKERS; i++)
        assert_true(drove__worker_obey(&r->worker[i], command));
}

static bool wait_for_all(drove_host *h, uint64_t until_ns)
{
    (void)h, (void)until_ns;
    return true;
}

static drove_status first_failure(const drove_host *h)
{
    const rig *r = h->impl;
    for (unsigned i = 0; i < N_WORKERS; i++)
        if (r->worker[i].status != DROVE_OK)
            return drove__fail(r->worker[i].status, "%s", r->worker[i].error);
    return DROVE_OK;
}

static unsigned n_left(const drove_host *h)
{
    const rig *r = h->impl;
    unsigned n = 0;
    for (unsigned i = 0; i < N_WORKERS; i++) n += !atomic_load(&r->worker[i].health.is_lost);
    return n;
}

static const drove_host_ops here = {
    .name = "here", .go = go, .wait = wait_for_all, .status = first_failure, .n_left = n_left};

static const drove_model no_layers; /* whose engine is a stand-in */

static void open_scoring(rig *r)
{
    open_rig(r, &plain_strategy, &plain_engine);
    r->host = (drove_host){.ops = &here, .loop = &r->loop, .impl = r};
    r->loop.host = &r->host;
    r->loop.model = &no_layers;
    assert_int_equal(drove__scoring_init(&r->loop, ROWS), DROVE_OK);
}

static void close_scoring(rig *r)
{
    drove__free(r->loop.scoring.chunk);
    close_rig(r);
}

/* The engine's loss is a chunk's last row.  100 of 103 rows: row i is 103 i / 100. */
TEST(chunks_add_up)
{
    static const struct {
        size_t asked, n_rows, n_chunks;
    } cases[] = {{0, 103, 11}, {500, 103, 11}, {103, 103, 11}, {100, 100, 10}, {5, 5, 1}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        double sum = 0.0;
        size_t n = cases[k].n_rows;
        open_scoring(&r);
        assert_int_equal(drove__scoring_run(&r.loop, &r.data, replica_of, cases[k].asked, 0, 1),
                         DROVE_OK);
        for (size_t first = 0; first < n; first += 10) {
            size_t last = first + 10 < n ? first + 9 : n - 1;
            sum += (double)(last * ROWS / n);
        }
        assert_true(drove__scoring_sum(&r.loop).loss == sum);
        assert_int_equal(drove__scoring_sum(&r.loop).n_rows, cases[k].n_chunks);
        assert_int_equal(r.engine[0].n_begun, cases[k].n_chunks); /* all by the first here */
        assert_ptr_equal(r.engine[0].theta, replica_of);
        assert_int_equal(r.n_go, 1);
        close_scoring(&r);
    }
}

/* Of two ranks this one scores the chunks 1, 3, 5, 7 and 9. */
TEST(ranks_share_the_chunks)
{
    rig r;
    open_scoring(&r);
    assert_int_equal(drove__scoring_run(&r.loop, &r.data, replica_of, 0, 1, 2), DROVE_OK);
    assert_int_equal(r.engine[0].n_begun, 5);
    for (size_t i = 0; i < 11; i++)
        assert_true(r.loop.scoring.chunk[i].loss == (i % 2 ? (double)(10 * i + 9) : 0.0));
    close_scoring(&r);
}

/* A device that fails costs its chunk, which is scored again with all others, if the source can do
 * without it; else the run fails. */
TEST(a_lost_worker_costs_another_round)
{
    for (unsigned bears = 0; bears < 2; bears++) {
        rig r;
        drove_source_ops ops = drove__source_claimed;
        open_scoring(&r);
        const drove_source_coordinator_ops c = {.failed = bears ? fail_bears : NULL,
                                                .check = check_source};
        ops.coordinator = &c;
        check_status = DROVE_OK;
        r.source.ops = &ops;
        r.engine[0].answer = DROVE_E_SYSTEM;
        (void)drove__fail(DROVE_E_SYSTEM, "it broke");
        drove_status status = drove__scoring_run(&r.loop, &r.data, replica_of, 0, 0, 1);
        assert_int_equal(status, bears ? DROVE_OK : DROVE_E_SYSTEM);
        assert_int_equal(atomic_load(&r.worker[0].health.is_lost), 1);
        assert_int_equal(atomic_load(&r.worker[0].health.is_computing), 0);
        assert_int_equal(r.engine[0].n_begun, 1);
        assert_int_equal(r.worker[0].status, bears ? DROVE_OK : DROVE_E_SYSTEM);
        assert_int_equal(r.n_go, bears ? 2 : 1);
        assert_int_equal(r.engine[1].n_begun, bears ? 10 + 11 : 10);
        if (bears) assert_int_equal(drove__scoring_sum(&r.loop).n_rows, 11);
        close_scoring(&r);
    }
    rig r;
    drove_source_ops ops = drove__source_claimed;
    open_scoring(&r);
    ops.coordinator = &(const drove_source_coordinator_ops){.check = check_source};
    r.source.ops = &ops;
    check_status = DROVE_E_SYSTEM;
    assert_int_equal(drove__scoring_run(&r.loop, &r.data, replica_of, 0, 0, 1), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "nobody is left");
    close_scoring(&r);
}

/* ---- sizes ---- */

/* 103 examples; chunks of 10. */
TEST(the_largest_batch_is_what_may_come)
{
    static const struct {
        bool counts_rows, is_device;
        unsigned n_cores;
        uint64_t order_batch, batch, asked[3]; /* --batch; of the worker: batch, least, most */
        size_t most;
    } cases[] = {
        {false, false, 1, 8, 8, {0, 0, 0}, 10},     {false, false, 1, 32, 32, {0, 0, 0}, 32},
        {false, true, 4, 32, 32, {99, 99, 99}, 32}, {true, false, 1, 1, 8, {0, 0, 0}, 64},
        {true, false, 1, 1, 70, {0, 0, 0}, 70},     {true, false, 1, 1, 8, {90, 0, 0}, 90},
        {true, false, 1, 1, 8, {0, 91, 0}, 91},     {true, false, 1, 1, 8, {0, 0, 92}, 92},
        {true, false, 1, 1, 8, {0, 0, 5}, 64},      {true, false, 2, 1, 8, {0, 0, 0}, 103},
        {true, true, 1, 1, 8, {0, 0, 0}, 103},      {true, false, 1, 1, 500, {0, 0, 0}, 103},
    };
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        drove_source_ops ops = drove__source_claimed;
        char device;
        open_rig(&r, &plain_strategy, &plain_engine);
        ops.counts_rows = cases[k].counts_rows;
        r.plan.source = &ops;
        r.loop.order.batch = cases[k].order_batch;
        r.loop.sizes.batch = cases[k].batch;
        r.place[0].n_cores = cases[k].n_cores;
        r.place[0].batch = cases[k].asked[0];
        r.place[0].least = cases[k].asked[1];
        r.place[0].most = cases[k].asked[2];
        if (cases[k].is_device) r.worker[0].device = (drove_device *)(void *)&device;
        size_t most = drove__worker_most_rows(&r.worker[0]);
        if (most != cases[k].most) fail_msg("case %zu: %zu", k, most);
        close_rig(&r);
    }
}
