/* test_accel_repeat.c - passes that are recorded and repeated by one call: the bits, slices, scores
 * and predictions are those of passes that are put on the queues one by one; what is not recorded;
 * a device that fails at any call.
 *
 * On CUDA and its stand-in; other kinds of device have no sequences.
 */
#include "unit/engine/accel_images.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "engine/accel/state.h"
#include "support/engine_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64, N_STEPS = 12 };

static drove_device *device; /* NULL: none here */
static bool captures;        /* by clang the stand-in does not */

FIXTURE(setup)
{
    drove_accel_queue *q;
    drove_accel_sequence *sequence = NULL;
    device = accel_open_device("cuda", "0");
    if (device == NULL) return 0;
    const drove_accel_device *impl = device->impl;
    assert_int_equal(impl->ops->queue_create(impl->accel, &q), DROVE_OK);
    captures = impl->ops->sequences->begin(q) == DROVE_OK;
    if (captures) {
        assert_int_equal(impl->ops->sequences->end(q, &sequence), DROVE_OK);
        impl->ops->sequences->destroy(sequence);
    }
    impl->ops->queue_destroy(q);
    return 0;
}

FIXTURE(teardown)
{
    drove__device_close(device);
    return 0;
}

GROUP(setup, teardown);

typedef struct problem { /* of either kind, borrowed */
    const drove_model *model;
    const drovek_table *kernels;
    const drove_data *data;
    float *theta;
    uint64_t seed;
} problem;

static drove_engine *engine_of(const problem *p, bool records)
{
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = p->kernels,
                                      .data = p->data,
                                      .max_rows = MAX_ROWS,
                                      .device = device,
                                      .seed = p->seed};
    drove_engine *e = NULL;
    if (!records) assert_int_equal(setenv("DROVE_ACCEL_SEQUENCES", "no", 1), 0);
    drove_status status = device->engine->create(&opt, &e);
    unsetenv("DROVE_ACCEL_SEQUENCES");
    assert_int_equal(status, DROVE_OK);
    return e;
}

static float *zeroed(size_t n)
{
    float *memory = drove__alloc(n, sizeof *memory);
    assert_non_null(memory);
    return memory;
}

/* ---- the same bits ---- */

typedef struct slices {
    size_t n, last;
} slices;

static void on_layer(void *context, size_t layer)
{
    slices *s = context;
    assert_true(s->n == 0 || layer < s->last);
    s->last = layer;
    s->n++;
}

/* A step as a worker takes it, the next batch staged in it. */
static void step(drove_engine *e, const problem *p, const drove_batch *batch,
                 const drove_batch *next, float *grad, drove_score *score)
{
    slices s = {0};
    size_t n_left = 1;
    drove_work_done done = {0};
    drove_gradient g = {.value = grad, .after_layer = on_layer, .context = &s};
    const drove_work work = {.batch = batch, .theta = p->theta, .grad = &g};
    assert_int_equal(device->engine->begin(e, &work), DROVE_OK);
    assert_int_equal(device->engine->stage(e, next), DROVE_OK);
    while (n_left > 0)
        assert_int_equal(device->engine->part(e, ENGINE_TIMEOUT_NS, &n_left), DROVE_OK);
    assert_int_equal(device->engine->finish(e, ENGINE_TIMEOUT_NS, &done), DROVE_OK);
    assert_int_equal(s.n, p->model->n_layers);
    assert_true(done.times.compute_ns > 0);
    *score = done.score;
}

static void choose(const problem *p, uint64_t seed, size_t n, uint32_t *row, drove_batch *batch)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 4);
    for (size_t i = 0; i < n; i++) row[i] = (uint32_t)drove__rng_below(&rng, p->data->n_rows);
    *batch = (drove_batch){.data = p->data, .row = row, .n_rows = n, .number = seed};
}

/* Scores and predictions of one batch by both engines. */
static void compare_others(drove_engine *const e[2], const problem *p, const drove_batch *batch)
{
    drove_score score[2];
    float *prob[2];
    memset(score, 0, sizeof score);
    for (size_t i = 0; i < 2; i++) {
        prob[i] = zeroed(batch->n_rows * p->model->n_outputs * 2);
        assert_int_equal(engine_score(device->engine, e[i], p->theta, batch, &score[i]), DROVE_OK);
        assert_int_equal(device->engine->predict(e[i], p->theta, batch, prob[i]), DROVE_OK);
    }
    assert_memory_equal(&score[0], &score[1], sizeof score[0]);
    assert_memory_equal(prob[0], prob[1], batch->n_rows * p->model->n_outputs * sizeof(float));
    for (size_t i = 0; i < 2; i++) drove__free(prob[i]);
}

/* Sizes in turns; other rows and parameters at each step.  Returns how many were repeated. */
static uint64_t compare(const problem *p, size_t n_rows)
{
    const size_t sizes[] = {n_rows, n_rows, n_rows + 1, n_rows};
    drove_engine *e[2] = {engine_of(p, true), engine_of(p, false)};
    const size_t n = p->model->n_params;
    float *grad[2] = {zeroed(n), zeroed(n)};
    uint32_t row[2][MAX_ROWS];
    drove_batch batch[2];
    choose(p, 0, sizes[0], row[0], &batch[0]);
    for (size_t i = 0; i < N_STEPS; i++) {
        drove_score score[2];
        const size_t now = i % 2, then = 1 - now;
        choose(p, i + 1, sizes[(i + 1) % DROVE_COUNT(sizes)], row[then], &batch[then]);
        for (size_t k = 0; k < n; k++) p->theta[k] *= 1.0f + 0.01f * (float)(k % 3);
        for (size_t k = 0; k < 2; k++) step(e[k], p, &batch[now], &batch[then], grad[k], &score[k]);
        assert_memory_equal(grad[0], grad[1], n * sizeof(float));
        assert_memory_equal(&score[0], &score[1], sizeof score[0]);
        compare_others(e, p, &batch[now]);
    }
    uint64_t runs = drove__repeat_runs(e[0]);
    assert_int_equal(drove__repeat_runs(e[1]), 0);
    for (size_t k = 0; k < 2; k++) {
        device->engine->destroy(e[k]);
        drove__free(grad[k]);
    }
    return runs;
}

static uint64_t compare_flat(const accel_case *how)
{
    accel_problem a;
    accel_setup(&a, how, NULL, MAX_ROWS);
    const problem p = {a.model, &a.kernels, &a.data, a.theta, 1};
    uint64_t runs = compare(&p, 9);
    accel_teardown(&a);
    return runs;
}

TEST(repeated_passes_have_the_same_bits)
{
    accel_case how = accel_case_dense;
    if (device == NULL) skip();
    const uint64_t least = captures ? N_STEPS : 0;
    assert_true(compare_flat(&how) >= least);
    how.is_scaled = how.is_weighted = how.has_view = true;
    assert_true(compare_flat(&how) >= least);
    how.in_bf16 = true;
    assert_true(compare_flat(&how) >= least);
    how.in_bf16 = false;
    how.y_kind = DROVE_Y_LABELS; /* as many as a row has */
    how.loss = "sigmoid";
    assert_true(compare_flat(&how) >= least);
    how.x_kind = DROVE_X_F32;
    assert_true(compare_flat(&how) >= least);
    assert_int_equal(compare_flat(&accel_case_sparse), 0);
}

TEST(repeated_passes_of_images_have_the_same_bits)
{
    if (device == NULL) skip();
    static const char *const names[] = {"plain",   "max pool", "lrn",       "batch norm",
                                        "dropout", "residual", "inception", "softmax"};
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        images m;
        images_setup(&m, images_find(names[i]), device, 4);
        bool draws = strcmp(names[i], "dropout") == 0;
        const problem p = {m.model, &m.kernels, &m.data, m.theta, 7};
        uint64_t runs = compare(&p, 2); /* with dropout scores and predictions alone */
        if (captures) assert_true(draws ? runs > 0 && runs < 2 * N_STEPS : runs >= N_STEPS);
        images_teardown(&m);
    }
}

/* ---- many sizes ---- */

TEST(recordings_make_room_for_others)
{
    accel_problem a;
    accel_case how = accel_case_dense;
    if (device == NULL) skip();
    how.model = "logistic";
    accel_setup(&a, &how, NULL, MAX_ROWS);
    const problem p = {a.model, &a.kernels, &a.data, a.theta, 1};
    drove_engine *e[2] = {engine_of(&p, true), engine_of(&p, false)};
    float *grad[2] = {zeroed(a.model->n_params), zeroed(a.model->n_params)};
    uint32_t row[MAX_ROWS];
    for (size_t i = 0; i < 4 * 80; i++) {
        drove_batch batch;
        choose(&p, i, 1 + i % 160 / 4, row, &batch);
        for (size_t k = 0; k < 2; k++) {
            drove_gradient g = {.value = grad[k]};
            assert_int_equal(engine_gradient(device->engine, e[k], a.theta, &batch, &g, NULL),
                             DROVE_OK);
        }
        assert_memory_equal(grad[0], grad[1], a.model->n_params * sizeof(float));
    }
    /* of four passes of a size in one buffer two, unless it was forgotten meanwhile */
    if (captures) assert_true(drove__repeat_runs(e[0]) >= 160);
    for (size_t k = 0; k < 2; k++) {
        device->engine->destroy(e[k]);
        drove__free(grad[k]);
    }
    accel_teardown(&a);
}

/* ---- failures, by the stand-in ---- */

static drove_status steps(drove_engine *e, const problem *p, size_t n, float *grad)
{
    uint32_t row[MAX_ROWS];
    for (size_t i = 0; i < n; i++) {
        drove_batch batch;
        choose(p, i, 9, row, &batch);
        drove_gradient g = {.value = grad};
        DROVE_TRY(engine_gradient(device->engine, e, p->theta, &batch, &g, NULL));
    }
    return DROVE_OK;
}

TEST(a_launch_that_fails_is_reported)
{
    accel_problem a;
    char line[DROVE_ERROR_TEXT_SIZE];
    if (device == NULL || getenv("DROVE_TEST_STAND_IN") == NULL || !captures) skip();
    accel_setup(&a, &accel_case_dense, NULL, MAX_ROWS);
    const problem p = {a.model, &a.kernels, &a.data, a.theta, 1};
    drove_engine *e = engine_of(&p, true);
    assert_int_equal(steps(e, &p, 6, a.grad[0]), DROVE_OK);
    assert_true(drove__repeat_runs(e) > 0);
    drove_batch batch;
    uint32_t row[MAX_ROWS];
    choose(&p, 77, 9, row, &batch);
    drove_gradient g = {.value = a.grad[0]};
    const drove_work work = {.batch = &batch, .theta = a.theta, .grad = &g};
    assert_int_equal(device->engine->stage(e, &batch), DROVE_OK);
    assert_int_equal(setenv("DROVE_STAND_IN_LOST", "1", 1), 0);
    assert_int_equal(device->engine->begin(e, &work), DROVE_E_SYSTEM);
    unsetenv("DROVE_STAND_IN_LOST");
    snprintf(line, sizeof line, "%s", drove_error_text());
    assert_non_null(strstr(line, "cudaGraphLaunch: unspecified launch failure"));
    assert_int_equal(device->engine->begin(e, &work), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), line);
    device->engine->destroy(e);
    accel_teardown(&a);
}

/* Where nothing can be captured passes go one by one. */
TEST(what_cannot_be_recorded_is_not)
{
    accel_problem a;
    if (device == NULL || getenv("DROVE_TEST_STAND_IN") == NULL) skip();
    accel_setup(&a, &accel_case_dense, NULL, MAX_ROWS);
    const problem p = {a.model, &a.kernels, &a.data, a.theta, 1};
    drove_engine *e = engine_of(&p, true);
    assert_int_equal(setenv("DROVE_STAND_IN_CAPTURES", "0", 1), 0);
    assert_int_equal(steps(e, &p, 8, a.grad[0]), DROVE_OK);
    unsetenv("DROVE_STAND_IN_CAPTURES");
    assert_int_equal(drove__repeat_runs(e), 0);
    device->engine->destroy(e);
    drove_engine *other = engine_of(&p, false);
    assert_int_equal(steps(other, &p, 8, a.grad[1]), DROVE_OK);
    assert_memory_equal(a.grad[0], a.grad[1], a.model->n_params * sizeof(float));
    device->engine->destroy(other);
    accel_teardown(&a);
}
