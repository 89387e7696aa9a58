/* The engine of docs/inside/adding.md: it compiles, is what the page prints, and keeps the
 * protocol. */
#include "../../../docs/inside/example_engine.c"
#include "support/files.h"
#include "support/test.h"

#include "base/cpu.h"
#include "support/engine_calls.h"

#include <math.h>
#include <string.h>

enum { N_ROWS = 20, N_FEATURES = 5, N_CLASSES = 3, MOST_PARAMS = 256 };

TEST(is_what_the_page_prints)
{
    assert_page_prints("docs/inside/adding.md", "docs/inside/example_engine.c");
}

static void layer_is_done(void *context, size_t layer)
{
    size_t *next = context;
    assert_int_equal(layer, --*next);
}

/* Opened by its kind, as --workers opens it, beside the host engine. */
TEST(gradients_and_scores_are_those_of_the_host)
{
    static float x[N_ROWS * N_FEATURES], theta[MOST_PARAMS], expected[MOST_PARAMS],
        got[MOST_PARAMS];
    static int32_t y[N_ROWS];
    static uint32_t row[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < N_FEATURES; j++)
            x[i * N_FEATURES + j] = sinf((float)(i * N_FEATURES + j));
        y[i] = (int32_t)(i % N_CLASSES);
        row[i] = (uint32_t)(N_ROWS - 1 - i);
    }
    drove_storage storage = {.n_rows = N_ROWS,
                             .n_features = N_FEATURES,
                             .x_kind = DROVE_X_F32,
                             .x_f32 = x,
                             .y_kind = DROVE_Y_CLASS,
                             .n_classes = N_CLASSES,
                             .y_class = y};
    drove_data data = {.storage = &storage, .n_rows = N_ROWS};
    drove_model_io io = {.n_features = N_FEATURES, .n_classes = N_CLASSES};
    drovek_table kernels;
    drove_model *model;
    drove_spec spec;
    drove_device *device;
    drove_engine *host, *e;
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__model_create("mlp:6", "tanh", "softmax", &io, &model), DROVE_OK);
    assert_true(model->n_params <= MOST_PARAMS);
    assert_int_equal(drove__model_init(model, "xavier:1", 1, theta), DROVE_OK);
    assert_int_equal(drove__spec_parse("differences:0", &spec), DROVE_OK);
    assert_int_equal(drove__device_kind_differences.open(&drove__device_kind_differences, &spec,
                                                         &device),
                     DROVE_OK);
    drove_engine_options opt = {
        .model = model, .kernels = &kernels, .data = &data, .max_rows = N_ROWS, .device = device};
    assert_int_equal(drove__engine_host.create(&opt, &host), DROVE_OK);
    assert_int_equal(device->engine->create(&opt, &e), DROVE_OK);

    drove_batch batch = {.data = &data, .row = row, .n_rows = N_ROWS};
    size_t next_layer = model->n_layers;
    drove_score score = {0}, same = {0}, alone = {0};
    drove_gradient of_host = {.value = expected};
    drove_gradient of_e = {.value = got, .after_layer = layer_is_done, .context = &next_layer};
    engine_gradient(&drove__engine_host, host, theta, &batch, &of_host, &score);
    assert_int_equal(engine_gradient(device->engine, e, theta, &batch, &of_e, &same), DROVE_OK);
    assert_int_equal(next_layer, 0);
    for (size_t i = 0; i < model->n_params; i++) assert_true(fabsf(got[i] - expected[i]) < 1e-3f);
    assert_true(score.loss == same.loss && same.n_rows == N_ROWS);
    assert_int_equal(engine_score(device->engine, e, theta, &batch, &alone), DROVE_OK);
    assert_true(score.loss == alone.loss);

    device->engine->destroy(e);
    device->engine->destroy(NULL);
    drove__engine_host.destroy(host);
    drove__device_kind_differences.close(device);
    drove__spec_fini(&spec);
    drove__model_destroy(model);
}
