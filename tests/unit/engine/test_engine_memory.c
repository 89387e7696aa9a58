/* Memory of devices and engines: where it runs out while they are made, the error says so, nothing
 * is made and nothing stays.  Where it does not, an engine computes in memory with guards behind
 * it, none of which stays either, and allocates nothing from its second batch on.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "engine/fake/fake.h"
#include "engine/fixed/engine.h"
#include "engine/linear/engine.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <string.h>

#include "support/engine_calls.h"
#include "support/no_memory.h"

enum { N_ROWS = 1100, N_FEATURES = 16, N_CLASSES = 3, BATCH = 8, MOST = 4096, MOST_CALLS = 1000 };

static float x[N_ROWS * N_FEATURES], theta[MOST], gradient[MOST], prob[N_ROWS * N_CLASSES];
static float weight[N_ROWS];
static uint32_t words[MOST];
static uint32_t row[N_ROWS], indices[N_ROWS * N_FEATURES];
static uint64_t row_start[N_ROWS + 1];
static int32_t y_class[N_ROWS];

/* Dense, or the same numbers with every third one left out. */
static drove_storage make_storage(bool is_sparse, size_t n_classes)
{
    drove_storage s = {.n_rows = N_ROWS,
                       .n_features = N_FEATURES,
                       .x_kind = is_sparse ? DROVE_X_CSR : DROVE_X_F32,
                       .y_kind = DROVE_Y_CLASS,
                       .y_class = y_class,
                       .n_classes = n_classes,
                       .weight = weight};
    uint64_t n = 0;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        row[i] = i;
        y_class[i] = (int32_t)(i % n_classes);
        weight[i] = 0.5f + (float)(i % 3);
        for (uint32_t k = 0; k < N_FEATURES; k++) {
            if (is_sparse && (i + k) % 3 == 0) continue;
            x[n] = (float)((i * 7 + k * 5) % 11) / 8.0f - 0.5f;
            indices[n++] = k;
        }
        row_start[i + 1] = n;
    }
    if (is_sparse) s.index = indices, s.row_start = row_start, s.value = x;
    else s.x_f32 = x;
    return s;
}

typedef struct engine_case {
    const drove_engine_ops *ops;
    const char *model, *precision, *rounding; /* NULL: floats */
    bool is_sparse;
    size_t n_classes;
} engine_case;

static const engine_case cases[] = {
    {&drove__engine_host, "mlp:20,9", NULL, NULL, false, 3},
    {&drove__engine_host, "mlp:20,9", NULL, NULL, true, 3},
    {&drove__engine_host, "logistic", NULL, NULL, false, 2},
    {&drove__engine_host, "svm", NULL, NULL, true, 2},
    {&drove__engine_fake, "mlp:20,9", NULL, NULL, false, 3},
    {&drove__engine_fake, "logistic", NULL, NULL, true, 2},
    {&drove__engine_fixed, "mlp:20,9", "D8M8", "shared", false, 3},
    {&drove__engine_fixed, "mlp:20,9", "D8M8?scales=channel", "xorshift", false, 3},
    {&drove__engine_fixed, "mlp:20,9", "D6M5?simulated=yes", "nearest", false, 3},
    {&drove__engine_fixed, "mlp:20,9", "bf16?masters=bf16", "mt19937", false, 3},
    {&drove__engine_linear, "logistic", "D8M8", "mt19937", false, 2},
    {&drove__engine_linear, "logistic", "D32fM32f", "nearest", false, 3},
    {&drove__engine_linear, "svm", "D16M4", "shared", false, 2},
    {&drove__engine_linear, "logistic", "D8i16M16", "xorshift", true, 2},
};

typedef struct rig {
    const engine_case *how;
    drove_storage storage;
    drove_data data;
    drovek_table kernels;
    drove_model *model;
    drove_device *device;
    drove_engine_shared *shared;
    drove_engine *engine;
} rig;

static drove_status make(rig *r)
{
    const engine_case *how = r->how;
    const drove_prepare_options prepare = {.model = r->model,
                                           .kernels = &r->kernels,
                                           .data = &r->data,
                                           .theta = theta,
                                           .precision = how->precision,
                                           .rounding = how->rounding,
                                           .eta = 0.1,
                                           .weight_decay = 0.01,
                                           .each = BATCH / 2,
                                           .seed = 1,
                                           .reorder = true};
    r->shared = NULL;
    r->engine = NULL;
    if (how->precision != NULL) DROVE_TRY(how->ops->typed->prepare(&prepare, &r->shared));
    const drove_engine_options opt = {.model = r->model,
                                      .kernels = &r->kernels,
                                      .data = &r->data,
                                      .max_rows =
                                          how->ops == &drove__engine_fake ? 2 * BATCH : N_ROWS,
                                      .shared = r->shared,
                                      .device = r->device};
    return how->ops->create(&opt, &r->engine);
}

static void unmake(rig *r)
{
    r->how->ops->destroy(r->engine);
    if (r->how->precision != NULL) r->how->ops->typed->dismiss(r->shared);
}

/* Steps in place, or gradients, of the whole by blocks (host) and pieces (fake); then a score, and
 * probabilities. */
static void compute(rig *r)
{
    const drove_engine_ops *ops = r->how->ops;
    const drove_batch batch = {.data = &r->data, .row = row, .n_rows = BATCH},
                      whole = {.data = &r->data, .row = row, .n_rows = N_ROWS};
    drove_gradient grad = {.value = gradient};
    drove_score score = {0};
    if (r->how->precision != NULL) {
        drove_steps made;
        assert_in_range(ops->typed->n_words(r->shared), 1, MOST);
        ops->typed->pack(r->shared, NULL, theta, words);
        assert_int_equal(
            ops->steps(r->engine, &(drove_params){.words = words}, &batch, 0.1f, &made), DROVE_OK);
        assert_int_equal(made.n_steps, 2);
        ops->typed->unpack(r->shared, words, gradient);
    } else {
        assert_int_equal(engine_gradient(ops, r->engine, theta, &batch, &grad, NULL), DROVE_OK);
        assert_int_equal(engine_gradient(ops, r->engine, theta, &whole, &grad, NULL), DROVE_OK);
    }
    assert_int_equal(engine_score(ops, r->engine, theta, &whole, &score), DROVE_OK);
    if (ops->predict != NULL)
        assert_int_equal(ops->predict(r->engine, theta, &whole, prob), DROVE_OK);
}

static void compute_twice(rig *r)
{
    no_memory_go_on();
    compute(r);
    no_memory_go_on();
    compute(r);
    (void)no_memory_end();
    if (no_memory_calls() != 0)
        fail_msg("%s %s: %lu allocations for a second batch", r->how->ops->name, r->how->model,
                 no_memory_calls());
}

/* A library's products may keep memory; kernels of ours do not. */
static void choose_kernels(rig *r, const char *tier)
{
    drovek_table plain;
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), tier), DROVE_OK);
    assert_int_equal(drovek_select(&plain, 0, "ref"), DROVE_OK);
    r->kernels.gemm_f32 = plain.gemm_f32;
}

static void walk(const engine_case *how, const char *tier)
{
    const drove_model_io io = {.n_features = N_FEATURES, .n_classes = how->n_classes};
    const char *name = how->precision != NULL ? how->precision : how->model;
    drove_spec spec = {.name = "fake", .n_keys = 1, .key = {"speed"}, .value = {"1e6"}};
    rig r = {.how = how, .storage = make_storage(how->is_sparse, how->n_classes)};
    unsigned long n = 1;
    r.data = (drove_data){.storage = &r.storage, .n_rows = N_ROWS};
    choose_kernels(&r, tier);
    assert_int_equal(drove__model_create(how->model, "", "", &io, &r.model), DROVE_OK);
    assert_in_range(r.model->n_params, 1, MOST);
    if (how->ops == &drove__engine_fake)
        assert_int_equal(drove__device_open(&spec, &r.device), DROVE_OK);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        no_memory_begin(n);
        const drove_status status = make(&r);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK) || has_failed != (r.engine == NULL))
            fail_msg("%s %s, allocation %lu: status %d: %s", how->ops->name, name, n, status,
                     drove_error_text());
        if (status == DROVE_OK) compute_twice(&r);
        unmake(&r);
        if (no_memory_live() != 0)
            fail_msg("%s %s, allocation %lu: %zu pieces of memory stay", how->ops->name, name, n,
                     no_memory_live());
    }
    assert_in_range(n, 4, MOST_CALLS - 1);
    drove__device_close(r.device);
    drove__model_destroy(r.model);
}

TEST(devices_leave_nothing)
{
    const drove_spec spec = {.name = "fake"};
    unsigned long n = 1;
    if (!no_memory_works()) skip();
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_device *device = NULL;
        no_memory_begin(n);
        const drove_status status = drove__device_open(&spec, &device);
        has_failed = no_memory_end();
        assert_int_equal(status, has_failed ? DROVE_E_NOMEM : DROVE_OK);
        assert_int_equal(device == NULL, has_failed);
        drove__device_close(device);
        assert_int_equal(no_memory_live(), 0);
    }
    assert_int_equal(n, 4); /* the device, and its own; then none fails */
}

TEST(engines_leave_nothing)
{
    if (!no_memory_works()) skip();
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        walk(&cases[i], "ref");
        walk(&cases[i], NULL);
    }
}
