/* A worker from its setup to its engine: what it is told of the plan, its device, its copy of the
 * data, and what it asks the engine for. */
#include "loop/worker.h"
#include "support/test.h"

#include "base/cpu.h"
#include "loop/sources.h"

#include <string.h>

enum { ROWS = 5000, D = 2, N_WORKERS = 4, FIRST_HERE = 1, N_HERE = 2, DEVICE = 2 };

/* ---- an engine that notes what it is asked for ---- */

static drove_engine_options asked;
static size_t answer; /* of most_rows */
static unsigned n_destroyed;

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    asked = *opt;
    *out = (drove_engine *)&asked;
    return DROVE_OK;
}

static void destroy(drove_engine *e)
{
    (void)e;
    n_destroyed++;
}

static size_t most_rows(const drove_engine_options *opt)
{
    return opt->max_rows < answer ? opt->max_rows : answer;
}

static const drove_engine_ops plain = {.name = "plain", .create = create, .destroy = destroy},
                              small = {.name = "small",
                                       .create = create,
                                       .destroy = destroy,
                                       .most_rows = most_rows};

static const drove_sync_ops sync_ops = {.name = "none"};
static const drove_source_ops claimed = {.name = "claimed"},
                              counting = {.name = "counting", .counts_rows = true};

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_plan plan;
    drove_plan_worker place[N_WORKERS];
    drove_place core[2];
    drove_spec spec;
    drove_sync sync;
    drove_storage storage;
    drove_data data;
    drove_loop loop;
    drove_worker worker[N_WORKERS];
} rig;

static float x[ROWS * D], y[ROWS];

static void open_rig(rig *r)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options optim = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = 1,
                                       .n_params = 6,
                                       .n_workers = N_WORKERS,
                                       .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&optim, &r->optim), DROVE_OK);
    for (size_t i = 0; i < ROWS * D; i++) x[i] = (float)i;
    for (unsigned i = 0; i < N_WORKERS; i++) {
        strcpy(r->place[i].name, "cpu:0");
        r->place[i].n_cores = 1;
        r->place[i].core = r->core;
    }
    assert_int_equal(drove__spec_parse("fake:?memory=64MiB", &r->spec), DROVE_OK);
    r->storage = (drove_storage){.n_rows = ROWS,
                                 .n_features = D,
                                 .x_kind = DROVE_X_F32,
                                 .x_f32 = x,
                                 .y_kind = DROVE_Y_VALUE,
                                 .y_value = y};
    r->data = (drove_data){.storage = &r->storage, .n_rows = ROWS};
    r->plan = (drove_plan){.source = &claimed,
                           .n_workers = N_WORKERS,
                           .first_here = FIRST_HERE,
                           .n_here = N_HERE,
                           .worker = r->place};
    r->sync = (drove_sync){.ops = &sync_ops, .n_workers = N_WORKERS, .optim = r->optim};
    r->loop.plan = &r->plan;
    r->loop.clock = &drove__clock_real;
    r->loop.kernels = &r->kernels;
    r->loop.optim = r->optim;
    r->loop.sync = &r->sync;
    r->loop.data.train = &r->data;
    r->loop.core_ops = &plain;
    r->loop.order = drove__order_make(ROWS, 8, 1, DROVE_ORDER_SHUFFLE);
    r->loop.sizes.update_rows = 8;
    r->loop.sizes.score_rows = 100;
    r->loop.seed = 9;
    r->loop.worker = r->worker;
}

static void close_rig(rig *r)
{
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove__worker_leave(&r->worker[i]);
        drove__worker_fini(&r->worker[i]);
    }
    drove__spec_fini(&r->spec);
    drove__optim_destroy(r->optim);
}

static void make(rig *r, unsigned index)
{
    if (drove__worker_init(&r->worker[index], &r->loop, index) != DROVE_OK ||
        drove__worker_make(&r->worker[index]) != DROVE_OK)
        fail_msg("%s", drove_error_text());
}

TEST(a_worker_knows_its_place)
{
    rig r;
    open_rig(&r);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove_worker *w = &r.worker[i];
        assert_int_equal(drove__worker_init(w, &r.loop, i), DROVE_OK);
        assert_ptr_equal(w->loop, &r.loop);
        assert_int_equal(w->index, i);
        assert_ptr_equal(w->plan, &r.place[i]);
        assert_ptr_equal(w->data, &r.data);
        assert_ptr_equal(w->engine_ops, &plain);
        assert_null(w->device);
        assert_true(w->timeout_ns == UINT64_MAX);
    }
    close_rig(&r);
}

/* Devices of workers that are elsewhere are not opened. */
TEST(a_device_is_opened_where_its_worker_is)
{
    for (unsigned i = 0; i < N_WORKERS; i++) {
        rig r;
        open_rig(&r);
        drove_worker *w = &r.worker[i];
        r.place[i].device = &r.spec;
        r.place[i].timeout_s = 1.5;
        assert_int_equal(drove__worker_init(w, &r.loop, i), DROVE_OK);
        const bool is_here = i >= FIRST_HERE && i < FIRST_HERE + N_HERE;
        assert_int_equal(w->device != NULL, is_here);
        if (is_here) {
            assert_ptr_equal(w->engine_ops, w->device->engine);
            assert_true(w->timeout_ns == 1500000000u);
        }
        close_rig(&r);
    }
    rig r;
    open_rig(&r);
    drove_spec wrong;
    strcpy(r.place[DEVICE].name, "nowhere:0");
    assert_int_equal(drove__spec_parse("nowhere:0", &wrong), DROVE_OK);
    r.place[DEVICE].device = &wrong;
    assert_true(drove__worker_init(&r.worker[DEVICE], &r.loop, DEVICE) != DROVE_OK);
    assert_int_equal(strncmp(drove_error_text(), "--workers nowhere:0: ", 21), 0);
    drove__spec_fini(&wrong);
    close_rig(&r);
}

TEST(data_are_copied_where_the_plan_says_so)
{
    rig r;
    open_rig(&r);
    r.place[1].copies_data = true;
    make(&r, 1);
    drove_worker *w = &r.worker[1];
    assert_non_null(w->own_data);
    assert_ptr_equal(w->data, w->own_data);
    assert_ptr_equal(asked.data, w->own_data); /* which its engine reads */
    assert_ptr_not_equal(w->data->storage->x_f32, x);
    assert_memory_equal(w->data->storage->x_f32, x, sizeof x);
    make(&r, 2);
    assert_null(r.worker[2].own_data);
    assert_ptr_equal(asked.data, &r.data);
    close_rig(&r);
    open_rig(&r); /* a device has memory of its own */
    r.place[DEVICE].copies_data = true;
    r.place[DEVICE].device = &r.spec;
    assert_int_equal(drove__worker_init(&r.worker[DEVICE], &r.loop, DEVICE), DROVE_OK);
    r.worker[DEVICE].engine_ops = &plain;
    assert_int_equal(drove__worker_make(&r.worker[DEVICE]), DROVE_OK);
    assert_null(r.worker[DEVICE].own_data);
    assert_ptr_equal(asked.data, &r.data);
    assert_ptr_equal(asked.device, r.worker[DEVICE].device);
    close_rig(&r);
}

TEST(the_engine_is_asked_for_what_the_worker_needs)
{
    rig r;
    open_rig(&r);
    make(&r, 1);
    assert_int_equal(asked.max_rows, 100);
    assert_int_equal(asked.rows, 8);
    assert_int_equal(asked.seed, 9);
    assert_int_equal(asked.n_threads, 0);
    assert_null(asked.bind);
    assert_null(asked.device);
    assert_int_equal(r.worker[1].most_rows, 100);
    assert_non_null(r.worker[1].grad);
    r.place[2].n_cores = 2; /* a team */
    r.loop.core_ops = &small;
    answer = 60;
    make(&r, 2);
    assert_int_equal(asked.n_threads, 2);
    assert_non_null(asked.bind);
    assert_ptr_equal(asked.bind_context, &r.worker[2]);
    assert_int_equal(asked.max_rows, 60);
    assert_int_equal(r.worker[2].most_rows, 60);
    n_destroyed = 0;
    close_rig(&r);
    assert_int_equal(n_destroyed, 2);
    open_rig(&r);
    r.place[DEVICE].device = &r.spec;
    assert_int_equal(drove__worker_init(&r.worker[DEVICE], &r.loop, DEVICE), DROVE_OK);
    r.worker[DEVICE].engine_ops = &small;
    answer = 0;
    assert_int_equal(drove__worker_make(&r.worker[DEVICE]), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "expected memory for the model and one example"));
    close_rig(&r);
}

/* The largest of what the source gives out and an evaluation's chunk. */
TEST(batches_have_room)
{
    static const struct {
        size_t score, batch;
        bool counts, is_device;
        unsigned n_cores;
        size_t each, least, most, asked, expected;
    } cases[] = {
        {100, 8, false, false, 1, 900, 900, 900, 900, 100},
        {100, 800, false, false, 1, 0, 0, 0, 0, 800},
        {10, 8, true, false, 1, 0, 0, 0, 0, 64}, /* what a core may be given */
        {10, 8, true, false, 3, 0, 0, 0, 0, 192},
        {10, 8, true, true, 1, 0, 0, 0, 0, ROWS}, /* 8192, but no more than there are */
        {10, 8, true, false, 2, 90, 0, 0, 0, 180},
        {10, 8, true, false, 2, 0, 90, 0, 0, 180},
        {10, 8, true, false, 2, 0, 0, 90, 0, 180},
        {10, 8, true, false, 2, 0, 0, 0, 190, 190},
        {10, 8, true, false, 2, 90, 70, 80, 50, 180},
        {10, 8, true, false, 1, 6000, 0, 0, 0, ROWS},
        {6000, 8, true, false, 1, 0, 0, 0, 0, 6000},
        {10, 700, true, false, 1, 0, 0, 0, 0, 700},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rig r;
        drove_device device = {0};
        open_rig(&r);
        assert_int_equal(drove__worker_init(&r.worker[1], &r.loop, 1), DROVE_OK);
        r.loop.sizes.score_rows = cases[c].score;
        r.loop.order = drove__order_make(ROWS, cases[c].batch, 1, DROVE_ORDER_SHUFFLE);
        r.plan.source = cases[c].counts ? &counting : &claimed;
        r.place[1].n_cores = cases[c].n_cores;
        r.place[1].batch = cases[c].each;
        r.place[1].least = cases[c].least;
        r.place[1].most = cases[c].most;
        r.loop.sizes.batch = cases[c].asked;
        if (cases[c].is_device) r.worker[1].device = &device;
        assert_int_equal(drove__worker_most_rows(&r.worker[1]), cases[c].expected);
        r.worker[1].device = NULL;
        close_rig(&r);
    }
}
