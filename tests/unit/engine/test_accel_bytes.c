/* test_accel_bytes.c - examples that go to a device as the bytes that are stored: numbers and
 * gradients are those of the host's widening, bit by bit.
 *
 * The other side is the same engine with the same examples as floats, which it takes from whoever
 * has loaded them (drove_batch.loaded).
 */
#include "unit/engine/accel_images.h"
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "engine/accel/state.h"
#include "engine/gather.h"
#include "support/engine_calls.h"

#include <string.h>

enum { MAX_ROWS = 96 };

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    assert_non_null(memory);
    return memory;
}

/* ---- numbers ---- */

/* n_images * h * w rows of c channels: from bytes [n_images][c][h][w]. */
static void widen_on(drove_device *device, size_t n_images, size_t c, size_t h, size_t w,
                     bool is_scaled)
{
    const drove_accel_device *impl = device->impl;
    const drove_accel_ops *ops = impl->ops;
    const size_t each = c * h * w, n = n_images * each, n_words = (n + 3) / 4;
    drove_rng rng;
    drove_accel_queue *q;
    drove_accel_event *done;
    drove_accel_buffer *memory;
    uint8_t *bytes = zeroed(4 * n_words, 1);
    float *scaling = zeroed(2 * each, sizeof *scaling), *wide = zeroed(each, sizeof *wide);
    float *found = zeroed(n, sizeof *found);
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, n);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)drove__rng_u64(&rng);
    for (size_t i = 0; i < 2 * each; i++) scaling[i] = (float)drove__rng_normal(&rng) * 50.0f;
    assert_int_equal(ops->queue_create(impl->accel, &q), DROVE_OK);
    assert_int_equal(ops->alloc(impl->accel, n_words + 2 * each + n, &memory), DROVE_OK);
    const drove_accel_view from = {memory, 0}, by = {memory, n_words},
                           to = {memory, n_words + 2 * each};
    drove_accel_job job = {DROVE_JOB_widen, {from, to}, {.h = (unsigned)h, .w = (unsigned)w}};
    job.k.rows = (unsigned)(n_images * h * w);
    job.k.cols = (unsigned)c;
    if (is_scaled) {
        job.at[2] = by;
        job.k.each = (unsigned)each;
    }
    assert_int_equal(ops->write(q, from, bytes, n_words), DROVE_OK);
    assert_int_equal(ops->write(q, by, scaling, 2 * each), DROVE_OK);
    assert_int_equal(ops->job(q, &job), DROVE_OK);
    assert_int_equal(ops->read(q, found, to, n), DROVE_OK);
    assert_int_equal(ops->record(q, &done), DROVE_OK);
    assert_int_equal(ops->flush(q), DROVE_OK);
    assert_int_equal(ops->wait(done, UINT64_MAX), DROVE_OK);
    drovek_table ref;
    assert_int_equal(drovek_select(&ref, 0, "ref"), DROVE_OK);
    for (size_t image = 0; image < n_images; image++) {
        ref.widen_u8_f32(wide, bytes + image * each, is_scaled ? scaling : NULL,
                         is_scaled ? scaling + each : NULL, each);
        for (size_t i = 0; i < each; i++) {
            size_t place = i % (h * w), channel = i / (h * w);
            const float *at = &found[(image * h * w + place) * c + channel];
            if (memcmp(at, &wide[i], sizeof *at) != 0)
                fail_msg("%zu x %zu x %zu, number %zu: %.9g, expected %.9g", c, h, w, i,
                         (double)*at, (double)wide[i]);
        }
    }
    ops->event_destroy(done);
    ops->free(impl->accel, memory);
    ops->queue_destroy(q);
    drove__free(bytes);
    drove__free(scaling);
    drove__free(wide);
    drove__free(found);
}

GROUP(accel_open_devices, accel_close_devices);

TEST(bytes_are_widened_as_by_the_host)
{
    static const size_t shapes[][4] = {
        {1, 1, 1, 1}, {5, 70, 1, 1}, {3, 1, 4, 7}, {7, 3, 5, 3}, {2, 300, 1, 1}};
    for (size_t d = 0; d < ACCEL_N_DEVICES; d++) {
        for (size_t i = 0; accel_devices[d] != NULL && i < 2 * DROVE_COUNT(shapes); i++) {
            const size_t *s = shapes[i / 2];
            widen_on(accel_devices[d], s[0], s[1], s[2], s[3], i % 2 != 0);
        }
    }
}

/* ---- gradients ---- */

typedef struct problem {
    drove_device *device;
    const drove_model *model;
    const drovek_table *kernels;
    const float *theta;
    drove_engine *engine;
    float *grad[2]; /* [n_params] of bytes, of floats */
    drove_gather gather;
} problem;

static void setup(problem *p, drove_device *device, const drove_model *model,
                  const drovek_table *kernels, const float *theta, const drove_data *data)
{
    const drove_engine_options opt = {
        .model = model, .kernels = kernels, .data = data, .max_rows = MAX_ROWS, .device = device};
    *p = (problem){.device = device, .model = model, .kernels = kernels, .theta = theta};
    assert_int_equal(device->engine->create(&opt, &p->engine), DROVE_OK);
    for (size_t i = 0; i < 2; i++) p->grad[i] = zeroed(model->n_params, sizeof(float));
    assert_int_equal(drove__gather_init(&p->gather, kernels, data, MAX_ROWS, model->n_inputs, true),
                     DROVE_OK);
}

static void teardown(problem *p)
{
    p->device->engine->destroy(p->engine);
    drove__gather_fini(&p->gather);
    for (size_t i = 0; i < 2; i++) drove__free(p->grad[i]);
}

static void take(problem *p, const drove_batch *batch, float *into)
{
    drove_gradient g = {.value = into};
    assert_int_equal(engine_gradient(p->device->engine, p->engine, p->theta, batch, &g, NULL),
                     DROVE_OK);
}

/* n rows; staged: the bytes were on their way while another batch computed. */
static void compare(problem *p, const drove_data *data, const uint32_t *row, size_t n, bool staged)
{
    drove_loaded loaded;
    drove_batch batch = {.data = data, .row = row, .n_rows = n};
    const size_t n_bytes = p->model->n_params * sizeof(float);
    if (staged) {
        drove_gradient g = {.value = p->grad[0]};
        const drove_work work = {.batch = &batch, .theta = p->theta, .grad = &g};
        assert_int_equal(p->device->engine->begin(p->engine, &work), DROVE_OK);
        assert_int_equal(p->device->engine->stage(p->engine, &batch), DROVE_OK);
        const drove_accel_staging *s = p->engine->staged;
        assert_true(s->is_bytes);
        assert_true(s->at.target <= n * p->model->n_inputs / sizeof(float) + 16);
        assert_int_equal(p->device->engine->finish(p->engine, ENGINE_TIMEOUT_NS, NULL), DROVE_OK);
    }
    memset(p->grad[0], 0, n_bytes);
    take(p, &batch, p->grad[0]);
    assert_int_equal(drove__gather_load(&p->gather, &batch, true, NULL, &loaded.in), DROVE_OK);
    drove__targets_load(&p->gather.targets, data, NULL, row, n, &loaded.target);
    batch.loaded = &loaded;
    take(p, &batch, p->grad[1]);
    assert_memory_equal(p->grad[0], p->grad[1], n_bytes);
}

/* Views of one storage with scalings of their own, in turns. */
static void views_in_turns(problem *p, const drove_data *view, size_t n_views, size_t n_rows)
{
    uint32_t row[MAX_ROWS];
    for (size_t i = 0; i < 3 * n_views; i++) {
        size_t n = n_rows - i % 3;
        const drove_data *data = &view[i % n_views];
        for (size_t k = 0; k < n; k++) row[k] = (uint32_t)((7 * k + i) % data->n_rows);
        compare(p, data, row, n, i >= n_views);
    }
}

static void flat_on(drove_device *device)
{
    accel_problem a;
    problem p;
    accel_case how = accel_case_dense;
    how.is_scaled = how.has_view = true;
    accel_setup(&a, &how, NULL, MAX_ROWS);
    for (size_t i = 0; i < ACCEL_ROWS * ACCEL_FEATURES; i++)
        a.storage.x_u8[i] = (uint8_t)(i * 2654435761u >> 24);
    drove_data view[3] = {a.data, a.data, a.data};
    view[1].shift = view[1].factor = NULL;
    view[2].shift = a.data.factor;
    setup(&p, device, a.model, &a.kernels, a.theta, &view[0]);
    views_in_turns(&p, view, 3, MAX_ROWS);
    views_in_turns(&p, view, 2, 5);
    teardown(&p);
    accel_teardown(&a);
}

static void images_on(drove_device *device, const images_case *how)
{
    images m;
    problem p;
    images_setup(&m, how, device, IMAGES_N);
    const size_t n = m.model->n_inputs;
    m.storage.x_kind = DROVE_X_U8;
    m.storage.x_u8 = zeroed(IMAGES_N * n, 1);
    for (size_t i = 0; i < IMAGES_N * n; i++) m.storage.x_u8[i] = (uint8_t)(i * 2654435761u >> 24);
    drove_data view[2] = {m.data, m.data};
    view[0].shift = zeroed(n, sizeof(float));
    view[0].factor = zeroed(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        view[0].shift[i] = (float)(i % 200);
        view[0].factor[i] = 1.0f / (float)(200 + i % 50);
    }
    setup(&p, device, m.model, &m.kernels, m.theta, &view[0]);
    views_in_turns(&p, view, 2, 9);
    teardown(&p);
    drove__free(view[0].shift);
    drove__free(view[0].factor);
    drove__free(m.storage.x_u8);
    m.storage.x_u8 = NULL;
    images_teardown(&m);
}

TEST(gradients_of_bytes_are_those_of_floats)
{
    for (size_t d = 0; d < ACCEL_N_DEVICES; d++) {
        if (accel_devices[d] == NULL) continue;
        flat_on(accel_devices[d]);
        images_on(accel_devices[d], images_find("lenet"));
        images_on(accel_devices[d], images_find("strides"));
    }
}
