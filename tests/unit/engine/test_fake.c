/* The fake device: its script, and that it keeps the host's results and the script's times. */
#include "engine/fake/fake.h"
#include "engine/fake/script.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "support/engine_calls.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the script ---- */

static drove_fake_script parse(const char *text)
{
    drove_spec spec;
    drove_fake_script script;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    if (drove__fake_script_parse(&spec, &script) != DROVE_OK)
        fail_msg("%s: %s", text, drove_error_text());
    drove__spec_fini(&spec);
    return script;
}

TEST(a_script_is_read_from_a_spec)
{
    drove_fake_script s = parse("fake");
    assert_true(s.speed == 100e3 && s.computes && s.memory_bytes == 0);
    assert_true(s.fail_after == UINT64_MAX && s.hang_after == UINT64_MAX);
    s = parse("fake:?speed=250&delay_us=30&memory=64MiB&fail_after=7&hang_after=9&compute=no"
              "&jitter=0.25&seed=3&batch=512");
    assert_true(s.speed == 250e3 && s.delay_s == 30e-6 && s.jitter == 0.25 && !s.computes);
    assert_int_equal(s.memory_bytes, 64u << 20);
    assert_int_equal(s.fail_after, 7);
    assert_int_equal(s.hang_after, 9);
    assert_int_equal(s.seed, 3);
}

TEST(a_wrong_script_is_refused)
{
    static const char *const wrong[] = {
        "fake?speed=0",      "fake?speed=-1",     "fake?speed=fast", "fake?delay_us=-1",
        "fake?memory=0",     "fake?memory=64MB",  "fake?memory=MiB", "fake?fail_after=-1",
        "fake?jitter=1",     "fake?jitter=-0.1",  "fake?compute=x",  "fake?hang_after=1.5",
        "fake?delay_us=nan", "fake?memory=1e400",
    };
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        drove_spec spec;
        drove_fake_script s;
        assert_int_equal(drove__spec_parse(wrong[i], &spec), DROVE_OK);
        if (drove__fake_script_parse(&spec, &s) != DROVE_E_ARG)
            fail_msg("%s was accepted", wrong[i]);
        assert_non_null(strstr(drove_error_text(), "fake?"));
        drove__spec_fini(&spec);
    }
}

TEST(a_batch_takes_its_time)
{
    drove_fake_script s = parse("fake?speed=1&delay_us=500");
    assert_int_equal(drove__fake_batch(&s, 0, 1).duration_ns, 1500000);
    assert_int_equal(drove__fake_batch(&s, 9, 100).duration_ns, 100500000);
    s.speed = 1e-300;
    assert_int_equal(drove__fake_batch(&s, 0, 1).duration_ns, 3000000000000000000);
}

TEST(batches_fail_and_hang_from_their_number_on)
{
    drove_fake_script s = parse("fake?fail_after=5&hang_after=3");
    static const drove_fake_fate fates[] = {DROVE_FAKE_DONE,  DROVE_FAKE_DONE,  DROVE_FAKE_DONE,
                                            DROVE_FAKE_HANGS, DROVE_FAKE_HANGS, DROVE_FAKE_FAILS,
                                            DROVE_FAKE_FAILS};
    for (uint64_t i = 0; i < DROVE_COUNT(fates); i++)
        assert_int_equal(drove__fake_batch(&s, i, 10).fate, fates[i]);
    s = parse("fake?fail_after=0");
    assert_int_equal(drove__fake_batch(&s, 0, 10).fate, DROVE_FAKE_FAILS);
}

TEST(jitter_is_drawn_by_number)
{
    drove_fake_script s = parse("fake?speed=1&jitter=0.2&seed=1"), other = s;
    double sum = 0.0;
    other.seed = 2;
    unsigned n_equal = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t ns = drove__fake_batch(&s, i, 10).duration_ns;
        assert_true(ns >= 8000000 && ns <= 12000000);
        assert_int_equal(drove__fake_batch(&s, i, 10).duration_ns, ns);
        n_equal += drove__fake_batch(&other, i, 10).duration_ns == ns;
        sum += (double)ns;
    }
    assert_true(n_equal < 3);
    /* Mean 10 ms, deviation of the mean 2 ms / sqrt(3 x 1000) = 0.037 ms: five of them. */
    assert_true(sum / 1000 > 9.82e6 && sum / 1000 < 10.18e6);
}

/* ---- the device ---- */

enum { N_ROWS = 60, N_FEATURES = 10, N_CLASSES = 3, MAX_ROWS = 32 };

typedef struct rig {
    drove_storage storage;
    drove_data data;
    drovek_table kernels;
    drove_model *model;
    drove_device *device;
    drove_engine_options opt;
    drove_engine *engine, *host;
    float theta[512], got[512], expected[512];
    uint32_t row[N_ROWS];
    drove_batch batch;
    _Atomic int is_hanging;
} rig;

static drove_device *open_device(const char *text)
{
    drove_spec spec;
    drove_device *device;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    if (drove__device_open(&spec, &device) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove__spec_fini(&spec);
    return device;
}

static void setup(rig *r, const char *text)
{
    static float x[N_ROWS * N_FEATURES];
    static int32_t y[N_ROWS];
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < N_FEATURES; j++) x[i * N_FEATURES + j] = (float)((i * 7 + j) % 5);
        y[i] = (int32_t)(i % N_CLASSES);
        r->row[i] = (uint32_t)i;
    }
    r->storage = (drove_storage){.n_rows = N_ROWS,
                                 .n_features = N_FEATURES,
                                 .x_kind = DROVE_X_F32,
                                 .x_f32 = x,
                                 .y_kind = DROVE_Y_CLASS,
                                 .n_classes = N_CLASSES,
                                 .y_class = y};
    r->data = (drove_data){.storage = &r->storage, .n_rows = N_ROWS};
    r->batch = (drove_batch){.data = &r->data, .row = r->row, .n_rows = 20};
    drove_model_io io = {.n_features = N_FEATURES, .n_classes = N_CLASSES};
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__model_create("mlp:8", "", "softmax", &io, &r->model), DROVE_OK);
    assert_true(r->model->n_params <= DROVE_COUNT(r->theta));
    assert_int_equal(drove__model_init(r->model, "xavier:1", 1, r->theta), DROVE_OK);
    r->device = open_device(text);
    r->opt = (drove_engine_options){.model = r->model,
                                    .kernels = &r->kernels,
                                    .data = &r->data,
                                    .max_rows = MAX_ROWS,
                                    .device = r->device};
    assert_int_equal(r->device->engine->create(&r->opt, &r->engine), DROVE_OK);
    assert_int_equal(drove__engine_host.create(&r->opt, &r->host), DROVE_OK);
}

static void teardown(rig *r)
{
    drove__device_close(r->device);
    r->device = NULL;
    drove__engine_fake.destroy(r->engine); /* after its device: allowed */
    drove__engine_host.destroy(r->host);
    drove__model_destroy(r->model);
}

static void layer_is_done(void *context, size_t layer)
{
    size_t *next = context;
    assert_int_equal(layer, --*next);
}

TEST(results_are_those_of_the_host)
{
    rig r;
    setup(&r, "fake:?speed=1000");
    const drove_engine_ops *ops = r.device->engine;
    size_t next_layer = r.model->n_layers;
    drove_gradient grad = {.value = r.got, .after_layer = layer_is_done, .context = &next_layer};
    drove_gradient expected = {.value = r.expected};
    drove_score score = {0}, expected_score = {0};
    drove_work_done done = {0};
    const drove_work work = {.batch = &r.batch, .theta = r.theta, .grad = &grad};
    assert_int_equal(ops->begin(r.engine, &work), DROVE_OK);
    memset(r.theta, 0, sizeof r.theta); /* it has been read */
    assert_int_equal(ops->stage(r.engine, &r.batch), DROVE_OK);
    assert_int_equal(ops->finish(r.engine, 10000000000, &done), DROVE_OK);
    assert_int_equal(next_layer, 0);
    assert_int_equal(done.times.compute_ns, 20000);
    assert_int_equal(done.times.copy_ns + done.times.hidden_ns, 0);

    assert_int_equal(drove__model_init(r.model, "xavier:1", 1, r.theta), DROVE_OK);
    assert_int_equal(engine_gradient(&drove__engine_host, r.host, r.theta, &r.batch, &expected,
                                     &expected_score),
                     DROVE_OK);
    assert_memory_equal(r.got, r.expected, r.model->n_params * sizeof(float));
    assert_true(done.score.loss == expected_score.loss && done.score.n_rows == 20);

    memset(r.got, 0x7f, sizeof r.got);
    score = (drove_score){0};
    next_layer = r.model->n_layers;
    assert_int_equal(engine_gradient(ops, r.engine, r.theta, &r.batch, &grad, &score), 0);
    assert_memory_equal(r.got, r.expected, r.model->n_params * sizeof(float));
    assert_true(score.loss == expected_score.loss);
    score = (drove_score){0};
    assert_int_equal(engine_score(ops, r.engine, r.theta, &r.batch, &score), DROVE_OK);
    assert_true(score.loss == expected_score.loss && score.n_rows == 20);
    float prob[20 * N_CLASSES];
    assert_int_equal(ops->predict(r.engine, r.theta, &r.batch, prob), DROVE_OK);
    teardown(&r);
}

TEST(without_computing_gradients_are_zero)
{
    rig r;
    setup(&r, "fake:?compute=no");
    drove_gradient grad = {.value = r.got};
    drove_score score = {0};
    memset(r.got, 0x7f, sizeof r.got);
    assert_int_equal(engine_gradient(&drove__engine_fake, r.engine, r.theta, &r.batch, &grad, NULL),
                     0);
    for (size_t i = 0; i < r.model->n_params; i++) assert_true(r.got[i] == 0.0f);
    assert_int_equal(engine_score(&drove__engine_fake, r.engine, r.theta, &r.batch, &score),
                     DROVE_OK);
    assert_int_equal(score.n_rows, 20); /* an evaluation is real all the same */
    assert_true(score.loss > 0.0);
    teardown(&r);
}

TEST(the_scripted_time_is_kept)
{
    rig r;
    setup(&r, "fake:?speed=1&delay_us=5000"); /* 25 ms for 20 examples */
    const drove_engine_ops *ops = r.device->engine;
    drove_gradient grad = {.value = r.got};
    const drove_work work = {.batch = &r.batch, .theta = r.theta, .grad = &grad};
    drove_work_done done = {0};
    uint64_t begin_ns = drove__now_ns();
    assert_int_equal(ops->begin(r.engine, &work), DROVE_OK);
    assert_int_equal(ops->finish(r.engine, UINT64_MAX, &done), DROVE_OK);
    uint64_t passed_ns = drove__now_ns() - begin_ns;
    assert_true(passed_ns >= 25000000);
    assert_int_equal(done.times.compute_ns, 25000000);
    assert_true(done.times.wait_ns > 0 && done.times.wait_ns <= passed_ns);
    begin_ns = drove__now_ns();
    assert_int_equal(ops->begin(r.engine, &work), DROVE_OK);
    assert_int_equal(ops->finish(r.engine, 2000000, NULL), DROVE_E_SYSTEM);
    assert_true(drove__now_ns() - begin_ns >= 2000000);
    assert_non_null(strstr(drove_error_text(), "fake: silent for 0.002 s"));
    teardown(&r);
}

TEST(it_fails_and_hangs_as_scripted)
{
    rig r;
    setup(&r, "fake:?speed=1000&fail_after=2");
    drove_gradient grad = {.value = r.got};
    for (int i = 0; i < 4; i++) {
        drove_status status =
            engine_gradient(&drove__engine_fake, r.engine, r.theta, &r.batch, &grad, NULL);
        assert_int_equal(status, i < 2 ? DROVE_OK : DROVE_E_SYSTEM);
    }
    assert_string_equal(drove_error_text(), "fake: lost after 2 batches, as scripted");
    teardown(&r);
    setup(&r, "fake:?speed=1000&hang_after=0");
    size_t n_left = 0;
    const drove_work work = {.batch = &r.batch, .theta = r.theta, .grad = &grad};
    assert_int_equal(drove__engine_fake.begin(r.engine, &work), DROVE_OK);
    assert_int_equal(drove__engine_fake.part(r.engine, 1000, &n_left), DROVE_OK);
    assert_int_equal(n_left, r.model->n_layers); /* silence is an error of finish alone */
    assert_int_equal(drove__engine_fake.finish(r.engine, 3000000, NULL), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "fake: silent for 0.003 s, as scripted");
    teardown(&r);
}

/* part waits for the end of the batch, however short its time-outs, and then delivers it. */
TEST(parts_come_at_the_end)
{
    rig r;
    setup(&r, "fake:?speed=1"); /* 20 ms */
    size_t next_layer = r.model->n_layers, n_left = r.model->n_layers, n_calls = 0;
    drove_gradient grad = {.value = r.got, .after_layer = layer_is_done, .context = &next_layer};
    const drove_work work = {.batch = &r.batch, .theta = r.theta, .grad = &grad};
    uint64_t begin_ns = drove__now_ns();
    assert_int_equal(drove__engine_fake.begin(r.engine, &work), DROVE_OK);
    for (; n_left > 0; n_calls++) {
        assert_int_equal(next_layer, r.model->n_layers);
        assert_int_equal(drove__engine_fake.part(r.engine, 1000000, &n_left), DROVE_OK);
    }
    assert_int_equal(next_layer, 0);
    assert_true(n_calls > 1 && drove__now_ns() - begin_ns >= 20000000);
    assert_int_equal(drove__engine_fake.finish(r.engine, 0, NULL), DROVE_OK);
    assert_int_equal(next_layer, 0); /* nothing comes twice */
    teardown(&r);
}

/* 60 examples through memory for 32: the weighted mean of the gradients of 32 and of 28, at the
 * parameters of begin, each piece in its own time. */
TEST(larger_batches_come_in_pieces)
{
    rig r;
    setup(&r, "fake:?speed=10"); /* 6 ms */
    for (int by_part = 0; by_part < 2; by_part++) {
        const size_t n_rows[2] = {MAX_ROWS, N_ROWS - MAX_ROWS};
        size_t next_layer = r.model->n_layers, n_left = (size_t)by_part;
        drove_gradient grad = {.value = r.got,
                               .after_layer = layer_is_done,
                               .context = &next_layer};
        drove_gradient piece = {.value = r.expected};
        drove_batch all = {.data = &r.data, .row = r.row, .n_rows = N_ROWS, .number = 3};
        const drove_work work = {.batch = &all, .theta = r.theta, .grad = &grad};
        drove_work_done done = {0};
        drove_score score = {0};
        memset(r.got, 0x7f, sizeof r.got);
        assert_int_equal(drove__engine_fake.begin(r.engine, &work), DROVE_OK);
        memset(r.theta, 0, sizeof r.theta); /* it has been read */
        while (n_left > 0)
            assert_int_equal(drove__engine_fake.part(r.engine, 500000, &n_left), DROVE_OK);
        assert_int_equal(next_layer, by_part ? 0 : r.model->n_layers);
        assert_int_equal(drove__engine_fake.finish(r.engine, UINT64_MAX, &done), DROVE_OK);
        assert_int_equal(next_layer, 0);
        assert_int_equal(done.times.compute_ns, 6000000);
        assert_int_equal(drove__model_init(r.model, "xavier:1", 1, r.theta), DROVE_OK);
        for (size_t i = 0; i < 2; i++) {
            drove_batch some = {.data = &r.data, .row = r.row + i * MAX_ROWS, .n_rows = n_rows[i]};
            assert_int_equal(
                engine_gradient(&drove__engine_host, r.host, r.theta, &some, &piece, &score), 0);
            float share = (float)n_rows[i] / (float)N_ROWS;
            for (size_t j = 0; j < r.model->n_params; j++) r.got[j] -= share * r.expected[j];
        }
        for (size_t j = 0; j < r.model->n_params; j++) assert_true(fabsf(r.got[j]) < 1e-6f);
        assert_true(fabs(done.score.loss - score.loss) < 1e-9 * score.loss);
        assert_int_equal(done.score.n_rows, N_ROWS);
        score = (drove_score){0};
        assert_int_equal(engine_score(&drove__engine_fake, r.engine, r.theta, &all, &score), 0);
        assert_true(fabs(done.score.loss - score.loss) < 1e-5 * score.loss);
        assert_int_equal(score.n_rows, N_ROWS);
    }
    teardown(&r);
}

static void *hang(void *argument)
{
    rig *r = argument;
    drove_gradient grad = {.value = r->got};
    static drove_status status;
    atomic_store(&r->is_hanging, 1);
    status = engine_gradient(&drove__engine_fake, r->engine, r->theta, &r->batch, &grad, NULL);
    return &status;
}

TEST(closing_wakes_who_hangs)
{
    rig r;
    pthread_t thread;
    void *status;
    setup(&r, "fake:?hang_after=0");
    assert_int_equal(pthread_create(&thread, NULL, hang, &r), 0);
    const struct timespec moment = {.tv_nsec = 20000000};
    while (atomic_load(&r.is_hanging) == 0) nanosleep(&moment, NULL);
    nanosleep(&moment, NULL);
    drove__device_close(r.device);
    r.device = NULL;
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal(*(drove_status *)status, DROVE_E_SYSTEM);
    teardown(&r);
}

/* A row takes 4 x (10 + 2 x (8 + 3)) = 128 bytes; the model twice its parameters. */
TEST(memory_limits_a_batch)
{
    rig r;
    char text[64];
    setup(&r, "fake");
    assert_int_equal(drove__engine_fake.most_rows(&r.opt), MAX_ROWS);
    size_t model = 8 * r.model->n_params;
    static const struct {
        size_t rest, rows;
    } cases[] = {{0, 0}, {127, 0}, {128, 1}, {128 * 31 + 127, 31}, {128 * 32, 32}, {1 << 20, 32}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        (void)snprintf(text, sizeof text, "fake?memory=%zu", model + cases[i].rest);
        drove_engine *engine = r.engine;
        drove_engine_options opt = r.opt;
        opt.device = open_device(text);
        assert_int_equal(opt.device->facts.memory_bytes, model + cases[i].rest);
        assert_int_equal(drove__engine_fake.most_rows(&opt), cases[i].rows);
        drove_status status = drove__engine_fake.create(&opt, &engine);
        assert_int_equal(status, cases[i].rows < MAX_ROWS ? DROVE_E_ARG : DROVE_OK);
        drove__engine_fake.destroy(engine);
        drove__device_close(opt.device);
    }
    drove__device_close(NULL);
    teardown(&r);
}

TEST(fake_devices_are_named_not_found)
{
    char why[64] = "x";
    drove_device_facts facts;
    drove_device *device;
    drove_spec spec;
    assert_int_equal(drove__device_kind_fake.count(&drove__device_kind_fake, why, sizeof why), 0);
    assert_string_equal(why, "");
    assert_int_equal(drove__device_kind_fake.describe(&drove__device_kind_fake, 0, &facts),
                     DROVE_E_ARG);
    assert_int_equal(drove__spec_parse("fake:0", &spec), DROVE_OK);
    assert_int_equal(drove__device_open(&spec, &device), DROVE_E_ARG);
    assert_null(device);
    drove__spec_fini(&spec);
}
