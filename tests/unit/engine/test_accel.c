/* tests/unit/engine/test_accel.c - the engine of accelerators against the host's: gradients
 * of every activation, loss, storage and batch size, scores, predictions, order of layers, batches
 * that were staged, refusals.
 *
 * On operations in plain C, and on each kind of device that is here; of the others the reason is
 * printed.
 * ctest: home=release: drivers of OpenCL are not sanitized; the stand-in for CUDA is. */
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "engine/gather.h"
#include "support/engine_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128 };

static void on_each(void (*test)(drove_device *device))
{
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++) {
        if (accel_devices[i] != NULL) test(accel_devices[i]);
    }
}

#define BASE                                                                                       \
    .name = "u8", .x_kind = DROVE_X_U8, .y_kind = DROVE_Y_CLASS, .n_classes = 5,                   \
    .model = "mlp:33,20", .activation = "tanh", .loss = "softmax"
static const accel_case plain = {BASE};
static const accel_case sparse = {.name = "sparse",
                                  .x_kind = DROVE_X_CSR,
                                  .has_values = true,
                                  .has_view = true,
                                  .is_scaled = true,
                                  .y_kind = DROVE_Y_CLASS,
                                  .n_classes = 5,
                                  .model = "mlp:33,20",
                                  .activation = "sigmoid",
                                  .loss = "softmax"};

/* ---- gradients ---- */

typedef struct target {
    drove_y_kind y_kind;
    size_t n; /* classes, labels or values */
    const char *model, *loss;
} target;

static const target targets[] = {
    {DROVE_Y_CLASS, 2, "mlp:19", "softmax"},  {DROVE_Y_CLASS, 37, "mlp:19", "softmax"},
    {DROVE_Y_LABELS, 3, "mlp:19", "sigmoid"}, {DROVE_Y_LABELS, 100, "mlp:19", "sigmoid"},
    {DROVE_Y_CLASS, 2, "mlp:19", "logistic"}, {DROVE_Y_CLASS, 2, "mlp:19", "hinge"},
    {DROVE_Y_CLASS, 6, "mlp:19", "hinge"},    {DROVE_Y_VALUE, 1, "mlp:19", "squared"},
    {DROVE_Y_CLASS, 4, "mlp:19", "squared"},  {DROVE_Y_CLASS, 2, "logistic", "logistic"},
    {DROVE_Y_CLASS, 2, "svm", "hinge"},       {DROVE_Y_VALUE, 5, "mlp:19", "squared"},
};

static void set_target(accel_case *how, const target *t)
{
    how->y_kind = t->y_kind;
    how->n_classes = t->y_kind == DROVE_Y_VALUE ? 0 : t->n;
    how->n_values = t->y_kind == DROVE_Y_VALUE ? t->n : 0;
    how->model = t->model;
    how->loss = t->loss;
}

static void losses_on(drove_device *device)
{
    static const char *const activations[] = {"relu", "sigmoid", "tanh"};
    static const size_t sizes[] = {1, 6, 65};
    for (size_t a = 0; a < DROVE_COUNT(activations); a++) {
        for (size_t t = 0; t < DROVE_COUNT(targets); t++) {
            accel_problem p;
            accel_case how = {BASE};
            how.x_kind = DROVE_X_F32;
            how.is_weighted = a == 1;
            set_target(&how, &targets[t]);
            how.activation = activations[a];
            accel_setup(&p, &how, device, MAX_ROWS);
            for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
                accel_choose(&p, sizes[s], s);
                accel_compare(&p, false);
            }
            accel_teardown(&p);
        }
    }
}

GROUP(accel_open_devices, accel_close_devices);

TEST(every_activation_and_loss_agrees)
{
    on_each(losses_on);
}

/* One layer, whose roundings are those of its input and of one derivative; and several. */
static void bf16_on(drove_device *device)
{
    static const size_t sizes[] = {1, 2, 9, 64};
    static const char *const models[] = {"logistic", "mlp:33,20", "mlp:32,24"};
    for (size_t i = 0; i < 2 * DROVE_COUNT(models); i++) {
        accel_problem p;
        accel_case how = i % 2 == 0 ? accel_case_dense : accel_case_sparse;
        how.name = i % 2 == 0 ? "u8 in bf16" : "sparse in bf16";
        how.model = models[i / 2];
        how.is_scaled = true;
        how.in_bf16 = true;
        accel_setup(&p, &how, device, MAX_ROWS);
        for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
            accel_choose(&p, sizes[s], s);
            accel_compare(&p, false);
            for (size_t k = 0; k < p.model->n_params; k++) /* no copy of before may be used */
                p.theta[k] *= k % 3 == 0 ? -1.0f : 1.25f;
        }
        accel_teardown(&p);
    }
}

static void storages_on(drove_device *device)
{
    static const size_t sizes[] = {1, 2, 9, 64};
    static const struct {
        const char *name;
        drove_x_kind kind;
        bool has_values, is_scaled, has_view;
    } storages[] = {
        {"u8", DROVE_X_U8, false, false, false},
        {"u8 scaled view", DROVE_X_U8, false, true, true},
        {"f32", DROVE_X_F32, false, false, false},
        {"f32 scaled view", DROVE_X_F32, false, true, true},
        {"sparse", DROVE_X_CSR, true, false, false},
        {"sparse ones", DROVE_X_CSR, false, false, true},
        {"sparse scaled", DROVE_X_CSR, true, true, true},
        {"sparse ones scaled", DROVE_X_CSR, false, true, false},
    };
    for (size_t i = 0; i < DROVE_COUNT(storages); i++) {
        accel_problem p;
        accel_case how = {BASE};
        how.name = storages[i].name;
        how.x_kind = storages[i].kind;
        how.has_values = storages[i].has_values;
        how.is_scaled = storages[i].is_scaled;
        how.has_view = storages[i].has_view;
        how.is_weighted = i % 3 == 1;
        accel_setup(&p, &how, device, MAX_ROWS);
        for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
            accel_choose(&p, sizes[s], s);
            accel_compare(&p, false);
            accel_compare(&p, true);
        }
        accel_teardown(&p);
    }
}

TEST(every_storage_agrees)
{
    on_each(storages_on);
}

TEST(factors_are_rounded_to_bf16)
{
    on_each(bf16_on);
}

/* 1 to 8192 examples; widths around those that the device code cuts work into.  The stand-in, which
 * is sanitized, takes the largest batches of the narrow network alone. */
static void sizes_on(drove_device *device)
{
    static const size_t sizes[] = {1,   2,   3,   7,   8,   9,    31,   33,
                                   100, 127, 128, 129, 513, 1000, 8191, 8192};
    static const char *const models[] = {"mlp:257,32,31", "mlp:8,64"};
    for (size_t m = 0; m < DROVE_COUNT(models); m++) {
        accel_problem p;
        accel_case how = {BASE};
        how.name = models[m];
        how.model = models[m];
        accel_setup(&p, &how, device, sizes[DROVE_COUNT(sizes) - 1]);
        for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
            if (m == 0 && sizes[s] > 1000 && getenv("DROVE_TEST_STAND_IN") != NULL) continue;
            accel_choose(&p, sizes[s], s);
            accel_compare(&p, false);
        }
        accel_teardown(&p);
    }
}

TEST(every_batch_size_agrees)
{
    on_each(sizes_on);
}

/* The same batch has the same bits, however often, and whatever came between. */
static void bits_on(drove_device *device)
{
    accel_problem p;
    accel_setup(&p, &sparse, device, MAX_ROWS);
    for (size_t i = 0; i < 2; i++) {
        drove_gradient g = {.value = p.grad[i]};
        accel_choose(&p, 77, 1);
        assert_int_equal(engine_gradient(device->engine, p.accel, p.theta, &p.batch, &g, NULL),
                         DROVE_OK);
        accel_choose(&p, 128, 2);
        accel_compare(&p, false);
        accel_choose(&p, 77, 1);
        g.value = p.grad[1];
        assert_int_equal(engine_gradient(device->engine, p.accel, p.theta, &p.batch, &g, NULL),
                         DROVE_OK);
        memcpy(p.grad[0], p.grad[1], p.model->n_params * sizeof(float));
        assert_int_equal(engine_gradient(device->engine, p.accel, p.theta, &p.batch, &g, NULL),
                         DROVE_OK);
        assert_memory_equal(p.grad[0], p.grad[1], p.model->n_params * sizeof(float));
    }
    accel_teardown(&p);
}

TEST(bits_repeat)
{
    on_each(bits_on);
}

/* ---- score, predict ---- */

static void scores_on(drove_device *device)
{
    for (size_t t = 0; t < DROVE_COUNT(targets); t++) {
        accel_problem p;
        accel_case how = {BASE};
        drove_score score[2];
        memset(score, 0, sizeof score);
        set_target(&how, &targets[t]);
        accel_setup(&p, &how, device, MAX_ROWS);
        accel_choose(&p, 101, t);
        size_t n = 101 * p.model->n_outputs;
        float *prob[2] = {calloc(n, sizeof(float)), calloc(n, sizeof(float))};
        assert_true(prob[0] != NULL && prob[1] != NULL);
        assert_int_equal(engine_score(&drove__engine_host, p.host, p.theta, &p.batch, &score[0]),
                         DROVE_OK);
        assert_int_equal(engine_score(device->engine, p.accel, p.theta, &p.batch, &score[1]),
                         DROVE_OK);
        assert_true(fabs(score[0].loss - score[1].loss) <= 1e-5 * score[0].loss);
        assert_int_equal(score[0].n_correct, score[1].n_correct);
        assert_int_equal(score[0].true_positive, score[1].true_positive);
        assert_int_equal(score[1].n_rows, 101);
        assert_int_equal(drove__engine_host.predict(p.host, p.theta, &p.batch, prob[0]), DROVE_OK);
        assert_int_equal(device->engine->predict(p.accel, p.theta, &p.batch, prob[1]), DROVE_OK);
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(prob[0][i] - prob[1][i]) <= 1e-5f * (1.0f + fabsf(prob[0][i])));
        free(prob[0]);
        free(prob[1]);
        accel_teardown(&p);
    }
}

TEST(scores_and_predictions_agree)
{
    on_each(scores_on);
}

/* ---- begin, stage, part, finish ---- */

typedef struct order {
    const accel_problem *p;
    size_t next; /* layer that has to come, + 1 */
} order;

/* A layer's part of the gradient is there when it is told. */
static void on_layer(void *context, size_t layer)
{
    order *o = context;
    const drove_layer *y = &o->p->model->layer[layer];
    assert_int_equal(layer + 1, o->next);
    o->next--;
    for (size_t i = 0; i < y->n_out; i++) assert_true(o->p->grad[1][y->b_offset + i] != 7.0f);
    if (layer > 0) assert_true(o->p->grad[1][0] == 7.0f); /* the first has not come */
}

static void host_gradient(accel_problem *p)
{
    drove_gradient g = {.value = p->grad[0]};
    assert_int_equal(engine_gradient(&drove__engine_host, p->host, p->theta, &p->batch, &g, NULL),
                     DROVE_OK);
}

/* Takes the slices by part, or leaves them to finish. */
static void finish_and_compare(accel_problem *p, const order *o, const drove_gradient *g,
                               bool by_part, drove_engine_times *times)
{
    const drove_engine_ops *ops = p->device->engine;
    drove_work_done done = {0};
    size_t n_left = by_part ? 1 : 0, before = p->model->n_layers + 1;
    for (size_t i = 0; i < p->model->n_params; i++) p->grad[1][i] = 7.0f;
    host_gradient(p);
    while (n_left > 0) {
        assert_int_equal(ops->part(p->accel, ENGINE_TIMEOUT_NS, &n_left), DROVE_OK);
        assert_true(n_left < before && n_left == o->next);
        before = n_left;
    }
    assert_int_equal(ops->finish(p->accel, ENGINE_TIMEOUT_NS, &done), DROVE_OK);
    assert_int_equal(o->next, 0);
    assert_int_equal(done.score.n_rows, p->batch.n_rows);
    times->compute_ns += done.times.compute_ns;
    times->copy_ns += done.times.copy_ns;
    times->hidden_ns += done.times.hidden_ns;
    accel_compare_gradients(p, g);
}

static void staged_on(drove_device *device)
{
    const accel_case *const cases[] = {&plain, &sparse};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        accel_problem p;
        drove_engine_times times = {0};
        const drove_engine_ops *ops = device->engine;
        accel_setup(&p, cases[c], device, MAX_ROWS);
        accel_choose(&p, 128, 0);
        for (uint64_t step = 0; step < 12; step++) {
            uint32_t row[MAX_ROWS];
            drove_batch now = p.batch;
            order o = {.p = &p, .next = p.model->n_layers};
            drove_gradient g = {.value = p.grad[1], .after_layer = on_layer, .context = &o};
            const drove_work work = {.batch = &now, .theta = p.theta, .grad = &g};
            assert_int_equal(ops->begin(p.accel, &work), DROVE_OK);
            memcpy(row, p.row, sizeof row);
            /* every third: another batch than the one that follows; every fourth: none; and what
             * was given may change as soon as stage is back */
            accel_choose(&p, 40 + step, 100 + step);
            if (step % 4 != 3) assert_int_equal(ops->stage(p.accel, &p.batch), DROVE_OK);
            uint32_t next[MAX_ROWS];
            drove_batch chosen = p.batch;
            memcpy(next, p.row, sizeof next);
            memcpy(p.row, row, sizeof row);
            p.batch = now;
            finish_and_compare(&p, &o, &g, step % 2 == 0, &times);
            p.theta[step] += 0.01f; /* the next batch has to see it */
            memcpy(p.row, next, sizeof next);
            p.batch = chosen;
            if (step % 3 == 2) accel_choose(&p, 40 + step, 200 + step);
        }
        assert_true(times.compute_ns > 0 && times.copy_ns > 0);
        assert_true(times.hidden_ns <= times.copy_ns);
        accel_teardown(&p);
    }
}

TEST(staged_batches_are_used_only_where_they_are_meant)
{
    on_each(staged_on);
}

/* ---- batches in pieces, examples that are loaded already ---- */

/* A host engine for batches of any size stands beside a device that holds 32 examples. */
static void pieces_on(drove_device *device)
{
    const accel_case *const cases[] = {&plain, &sparse};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        accel_problem p;
        drove_engine_times times = {0};
        const drove_engine_ops *ops = device->engine;
        accel_setup(&p, cases[c], device, MAX_ROWS);
        ops->destroy(p.accel);
        const drove_engine_options opt = {.model = p.model,
                                          .kernels = &p.kernels,
                                          .data = &p.data,
                                          .max_rows = 32,
                                          .device = device};
        assert_int_equal(ops->create(&opt, &p.accel), DROVE_OK);
        for (size_t n = 31; n <= 97; n += 33) { /* 31, 64, 97: 1, 2 and 4 pieces */
            accel_choose(&p, n, n);
            accel_compare(&p, true);
            drove_gradient g = {.value = p.grad[1]};
            const drove_work work = {.batch = &p.batch, .theta = p.theta, .grad = &g};
            assert_int_equal(ops->begin(p.accel, &work), DROVE_OK);
            assert_int_equal(ops->stage(p.accel, &p.batch), DROVE_OK); /* waits for its turn */
            size_t n_left = 1;
            while (n_left > 0) assert_int_equal(ops->part(p.accel, 100000, &n_left), DROVE_OK);
            drove_work_done done = {0};
            assert_int_equal(ops->finish(p.accel, ENGINE_TIMEOUT_NS, &done), DROVE_OK);
            assert_int_equal(done.score.n_rows, n);
            times.compute_ns += done.times.compute_ns;
            host_gradient(&p);
            accel_compare_gradients(&p, &g);
            accel_compare(&p, false); /* begins with the batch that was staged */
        }
        assert_true(times.compute_ns > 0);
        accel_teardown(&p);
    }
}

TEST(larger_batches_come_in_pieces)
{
    on_each(pieces_on);
}

/* The examples of other rows, loaded by somebody else, are what the device computes with. */
static void loaded_on(drove_device *device)
{
    const accel_case *const cases[] = {&plain, &sparse};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        accel_problem p;
        drove_gather gather;
        drove_loaded loaded;
        drove_gradient g = {0};
        accel_setup(&p, cases[c], device, 32);
        g.value = p.grad[1];
        uint32_t other[3 * 32];
        assert_int_equal(drove__gather_init(&gather, &p.kernels, &p.data, 3 * 32, p.model->n_inputs,
                                            true),
                         DROVE_OK);
        for (size_t n = 20; n <= 84; n += 64) { /* 84: in pieces */
            for (size_t i = 0; i < n; i++) other[i] = (uint32_t)(7 * i % p.data.n_rows);
            drove_batch batch = {.data = &p.data, .row = other, .n_rows = n};
            assert_int_equal(drove__gather_load(&gather, &batch, true, NULL, &loaded.in), DROVE_OK);
            drove__targets_load(&gather.targets, &p.data, NULL, other, n, &loaded.target);
            uint32_t wrong[3 * 32] = {0};
            const drove_batch lent = {
                .data = &p.data, .row = wrong, .n_rows = n, .loaded = &loaded};
            assert_int_equal(engine_gradient(device->engine, p.accel, p.theta, &lent, &g, NULL),
                             DROVE_OK);
            drove_gradient whole = {.value = p.grad[0]};
            drove_engine *host;
            const drove_engine_options opt = {
                .model = p.model, .kernels = &p.kernels, .data = &p.data, .max_rows = n};
            assert_int_equal(drove__engine_host.create(&opt, &host), DROVE_OK);
            assert_int_equal(engine_gradient(&drove__engine_host, host, p.theta, &batch, &whole,
                                             NULL),
                             DROVE_OK);
            drove__engine_host.destroy(host);
            accel_compare_gradients(&p, &g);
        }
        drove__gather_fini(&gather);
        accel_teardown(&p);
    }
}

TEST(loaded_examples_are_taken)
{
    on_each(loaded_on);
}

/* ---- refusals ---- */

static void wrong_order_on(drove_device *device)
{
    accel_problem p;
    const drove_engine_ops *ops = device->engine;
    drove_work_done done = {0};
    size_t n_left = 7;
    accel_setup(&p, &plain, device, MAX_ROWS);
    const drove_work work = {.batch = &p.batch, .theta = p.theta}, resident = {.batch = &p.batch};
    accel_choose(&p, 20, 0);
    assert_int_equal(ops->part(p.accel, 1, &n_left), DROVE_E_ARG);
    assert_int_equal(ops->finish(p.accel, 1, &done), DROVE_E_ARG);
    assert_int_equal(ops->begin(p.accel, &resident), DROVE_E_ARG); /* no parameters were set */
    assert_int_equal(ops->begin(p.accel, &work), DROVE_OK);
    assert_int_equal(ops->begin(p.accel, &work), DROVE_E_ARG);
    assert_int_equal(ops->resident->give(p.accel, 0, 1, p.theta), DROVE_E_ARG);
    assert_int_equal(ops->part(p.accel, 1, &n_left), DROVE_OK);
    assert_int_equal(n_left, 0); /* a score has no slices */
    assert_int_equal(ops->finish(p.accel, UINT64_MAX, &done), DROVE_OK);
    assert_int_equal(done.score.n_rows, 20);
    accel_compare(&p, false);
    accel_teardown(&p);
}

TEST(a_wrong_order_is_refused)
{
    on_each(wrong_order_on);
}

static void refusals_on(drove_device *device)
{
    accel_problem p, other;
    drove_score score = {0};
    accel_case how = sparse;
    accel_setup(&p, &plain, device, MAX_ROWS);
    accel_setup(&other, &how, NULL, MAX_ROWS);
    accel_choose(&other, 5, 0);
    assert_int_equal(engine_score(device->engine, p.accel, p.theta, &other.batch, &score),
                     DROVE_E_SHAPE);
    other.storage.n_features = 3;
    other.storage.x_kind = DROVE_X_U8;
    assert_int_equal(engine_score(device->engine, p.accel, p.theta, &other.batch, &score),
                     DROVE_E_SHAPE);
    accel_choose(&p, 128, 0);
    p.batch.n_rows = 0;
    assert_int_equal(engine_score(device->engine, p.accel, p.theta, &p.batch, &score), DROVE_E_ARG);
    accel_choose(&p, 10, 0);
    p.storage.y_kind = DROVE_Y_VALUE;
    assert_int_equal(engine_score(device->engine, p.accel, p.theta, &p.batch, &score),
                     DROVE_E_SHAPE);
    p.storage.y_kind = DROVE_Y_CLASS;
    accel_compare(&p, false); /* none of that was the end of it */

    drove_engine *engine;
    drove_engine_options opt = {.model = p.model,
                                .kernels = &p.kernels,
                                .data = &p.data,
                                .max_rows = (size_t)1 << 50,
                                .device = device};
    size_t most = device->engine->most_rows(&opt);
    assert_true(most >= MAX_ROWS && most < opt.max_rows);
    assert_int_equal(device->engine->create(&opt, &engine), DROVE_E_NOMEM);
    assert_null(engine);
    opt.max_rows = 17;
    assert_int_equal(device->engine->most_rows(&opt), 17);
    other.storage.n_features = ACCEL_FEATURES;
    accel_teardown(&other);
    accel_teardown(&p);
}

TEST(other_shapes_and_sizes_are_refused)
{
    on_each(refusals_on);
}

/* Of sparse examples the touched rows of a wide first layer need most: an engine of as many
 * examples as are said to fit can be made and used; one more cannot. */
TEST(memory_of_sparse_data_is_counted)
{
    enum { LONGEST = 100, N_FEATURES = 1000000 };
    drove_device *device = accel_devices[ACCEL_PLAIN];
    if (device == NULL) skip();
    uint64_t start[] = {0, LONGEST, LONGEST + 1};
    uint32_t index[LONGEST + 1];
    int32_t class[] = {0, 1};
    for (uint32_t i = 0; i <= LONGEST; i++) index[i] = i * 9973 % N_FEATURES;
    drove_storage s = {.n_rows = 2,
                       .n_features = N_FEATURES,
                       .x_kind = DROVE_X_CSR,
                       .row_start = start,
                       .index = index,
                       .longest_row = LONGEST,
                       .y_class = class,
                       .n_classes = 2};
    const drove_data data = {.storage = &s, .n_rows = 2};
    const drove_model_io io = {.n_features = N_FEATURES, .n_classes = 2};
    const uint64_t limit = device->facts.memory_bytes;
    drovek_table kernels;
    drove_engine *engine;
    drove_engine_options opt = {
        .kernels = &kernels, .data = &data, .max_rows = (size_t)1 << 40, .device = device};
    drove_model *model;
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    assert_int_equal(drove__model_create("mlp:256,8", "", "", &io, &model), DROVE_OK);
    opt.model = model;
    const size_t most = device->engine->most_rows(&opt);
    assert_true(most > MAX_ROWS && most * LONGEST < N_FEATURES);
    opt.max_rows = most + 1;
    assert_int_equal(device->engine->create(&opt, &engine), DROVE_E_NOMEM);
    accel_plain_elements = 0;
    opt.max_rows = most;
    assert_int_equal(device->engine->create(&opt, &engine), DROVE_OK);
    assert_true(accel_plain_elements * sizeof(float) <= limit * 9 / 10);
    assert_true(accel_plain_elements * sizeof(float) >= limit * 8 / 10); /* not far from it */
    device->engine->destroy(engine);
    drove__model_destroy(model);
}
