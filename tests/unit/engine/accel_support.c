/* tests/unit/engine/accel_support.c - see accel_support.h. */
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "unit/engine/accel_plain.h"
#include "support/engine_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const accel_case accel_case_dense = {.name = "u8",
                                     .x_kind = DROVE_X_U8,
                                     .y_kind = DROVE_Y_CLASS,
                                     .n_classes = 5,
                                     .model = "mlp:33,20",
                                     .activation = "tanh",
                                     .loss = "softmax"};
const accel_case accel_case_sparse = {.name = "sparse",
                                      .x_kind = DROVE_X_CSR,
                                      .has_values = true,
                                      .has_view = true,
                                      .is_scaled = true,
                                      .y_kind = DROVE_Y_CLASS,
                                      .n_classes = 5,
                                      .model = "mlp:33,20",
                                      .activation = "sigmoid",
                                      .loss = "softmax"};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

/* Largest difference of a layer's gradient, of W or of b, from the host's: this part of its largest
 * element.  Both sum up to 8192 float products in orders of their own. */
static const double GRADIENT_BOUND = 1e-4;
/* In bf16 a number next to a tie may be rounded the other way: 2^-8 of one term.  Of one layer that
 * is rare.  Unrounded factors of single examples would differ by 2e-3. */
static const double BF16_GRADIENT_BOUND = 3e-4, BF16_DEEP_BOUND = 1e-2;
/* Largest relative difference of a loss summed over a batch. */
static const double LOSS_BOUND = 1e-5;

drove_device *accel_open_device(const char *kind, const char *argument)
{
#if IS_SANITIZED
    if (getenv("DROVE_TEST_STAND_IN") == NULL) { /* that of tests/cuda/ does */
        print_message("%s: skipped: drivers do not run in a sanitized program\n", kind);
        return NULL;
    }
#endif
    char text[64], why[256] = "";
    drove_spec spec;
    drove_device *device = NULL;
    for (size_t i = 0; drove__device_kinds[i] != NULL; i++) {
        const drove_device_kind *k = drove__device_kinds[i];
        if (strcmp(k->name, kind) == 0 && k->count(k, why, sizeof why) == 0) {
            print_message("%s: skipped: %s\n", kind, why);
            return NULL;
        }
    }
    snprintf(text, sizeof text, "%s:%s", kind, argument);
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    if (drove__device_open(&spec, &device) != DROVE_OK) {
        print_message("%s: skipped: %s\n", text, drove_error_text());
        device = NULL;
    }
    drove__spec_fini(&spec);
    return device;
}

static void *zeroed(size_t count, size_t size_bytes)
{
    void *memory = drove__alloc(count, size_bytes);
    assert_non_null(memory);
    return memory;
}

/* ---- data ---- */

static void fill_examples(accel_problem *p, drove_rng *rng)
{
    drove_storage *s = &p->storage;
    size_t n_pairs = 0;
    s->x_u8 = zeroed(ACCEL_ROWS * ACCEL_FEATURES, 1);
    s->x_f32 = zeroed(ACCEL_ROWS * ACCEL_FEATURES, sizeof *s->x_f32);
    s->row_start = zeroed(ACCEL_ROWS + 1, sizeof *s->row_start);
    s->index = zeroed(ACCEL_ROWS * ACCEL_FEATURES, sizeof *s->index);
    if (p->how->has_values) s->value = zeroed(ACCEL_ROWS * ACCEL_FEATURES, sizeof *s->value);
    for (size_t i = 0; i < ACCEL_ROWS; i++) {
        for (size_t j = 0; j < ACCEL_FEATURES; j++) {
            float real = (float)drove__rng_normal(rng);
            s->x_u8[i * ACCEL_FEATURES + j] = (uint8_t)drove__rng_below(rng, 4);
            s->x_f32[i * ACCEL_FEATURES + j] = real;
            if (drove__rng_below(rng, 12) != 0 || i % 50 == 7) continue; /* some rows are empty */
            s->index[n_pairs] = (uint32_t)j;
            if (s->value != NULL) s->value[n_pairs] = real;
            n_pairs++;
        }
        s->row_start[i + 1] = n_pairs;
    }
}

static void fill_targets(accel_problem *p, drove_rng *rng)
{
    drove_storage *s = &p->storage;
    size_t n_labels = 0, most = p->how->n_classes > 0 ? p->how->n_classes : 1;
    s->y_kind = p->how->y_kind;
    s->n_classes = p->how->n_classes;
    s->y_class = zeroed(ACCEL_ROWS, sizeof *s->y_class);
    s->n_values = p->how->n_values;
    s->y_value = zeroed(ACCEL_ROWS * drove__storage_n_values(s), sizeof *s->y_value);
    s->label_start = zeroed(ACCEL_ROWS + 1, sizeof *s->label_start);
    s->label = zeroed(ACCEL_ROWS * most, sizeof *s->label);
    if (p->how->is_weighted) s->weight = zeroed(ACCEL_ROWS, sizeof *s->weight);
    for (size_t i = 0; i < ACCEL_ROWS; i++) {
        s->y_class[i] = (int32_t)drove__rng_below(rng, most);
        for (size_t k = 0, n = drove__storage_n_values(s); k < n; k++)
            s->y_value[i * n + k] = (float)drove__rng_normal(rng);
        for (size_t o = 0; o < most; o++) {
            if (drove__rng_below(rng, 5) == 0) s->label[n_labels++] = (uint32_t)o;
        }
        s->label_start[i + 1] = n_labels;
        if (s->weight != NULL) s->weight[i] = 0.5f * (float)drove__rng_below(rng, 6);
    }
}

static void fill_view(accel_problem *p, drove_rng *rng)
{
    drove_data *d = &p->data;
    d->storage = &p->storage;
    d->n_rows = ACCEL_ROWS;
    if (p->how->has_view) {
        d->n_rows = ACCEL_ROWS / 2;
        d->row = zeroed(d->n_rows, sizeof *d->row);
        for (size_t i = 0; i < d->n_rows; i++) d->row[i] = (uint32_t)(ACCEL_ROWS - 1 - 2 * i);
    }
    if (!p->how->is_scaled) return;
    d->shift = zeroed(ACCEL_FEATURES, sizeof *d->shift);
    d->factor = zeroed(ACCEL_FEATURES, sizeof *d->factor);
    for (size_t j = 0; j < ACCEL_FEATURES; j++) {
        if (p->how->x_kind != DROVE_X_CSR) d->shift[j] = (float)drove__rng_normal(rng);
        d->factor[j] = (float)(0.1 + drove__rng_uniform(rng));
    }
}

/* ---- problems ---- */

void accel_setup(accel_problem *p, const accel_case *how, drove_device *device, size_t max_rows)
{
    drove_rng rng;
    memset(p, 0, sizeof *p);
    p->how = how;
    p->max_rows = max_rows;
    p->device = device;
    p->storage.n_rows = ACCEL_ROWS;
    p->storage.n_features = ACCEL_FEATURES;
    p->storage.x_kind = how->x_kind;
    drove__rng_seed(&rng, 5, DROVE_RNG_TEST, 0);
    fill_examples(p, &rng);
    fill_targets(p, &rng);
    fill_view(p, &rng);
    const drove_model_io io = {.n_features = ACCEL_FEATURES,
                               .n_classes = how->n_classes,
                               .n_values = how->n_values,
                               .is_multi_label = how->y_kind == DROVE_Y_LABELS};
    assert_int_equal(drove__model_create(how->model, how->activation, how->loss, &io, &p->model),
                     DROVE_OK);
    if (how->in_bf16) p->model->factors = DROVEK_FACTORS_BF16;
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), NULL), DROVE_OK);
    p->theta = zeroed(p->model->n_params, sizeof *p->theta);
    assert_int_equal(drove__model_init(p->model, "normal:0.2", 1, p->theta), DROVE_OK);
    for (size_t i = 0; i < 2; i++) p->grad[i] = zeroed(p->model->n_params, sizeof(float));
    p->row = zeroed(max_rows, sizeof *p->row);
    const drove_engine_options opt = {.model = p->model,
                                      .kernels = &p->kernels,
                                      .data = &p->data,
                                      .max_rows = max_rows,
                                      .device = device};
    assert_int_equal(drove__engine_host.create(&opt, &p->host), DROVE_OK);
    if (device == NULL) return;
    if (device->engine->create(&opt, &p->accel) != DROVE_OK)
        fail_msg("%s: %s", how->name, drove_error_text());
}

void accel_teardown(accel_problem *p)
{
    if (p->device != NULL) p->device->engine->destroy(p->accel);
    drove__engine_host.destroy(p->host);
    drove__model_destroy(p->model);
    drove__free(p->theta);
    drove__free(p->grad[0]);
    drove__free(p->grad[1]);
    drove__free(p->row);
    drove__free(p->storage.x_u8);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.row_start);
    drove__free(p->storage.index);
    drove__free(p->storage.value);
    drove__free(p->storage.y_class);
    drove__free(p->storage.y_value);
    drove__free(p->storage.label_start);
    drove__free(p->storage.label);
    drove__free(p->storage.weight);
    drove__free(p->data.row);
    drove__free(p->data.shift);
    drove__free(p->data.factor);
}

void accel_choose(accel_problem *p, size_t n, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 1);
    for (size_t i = 0; i < n; i++) p->row[i] = (uint32_t)drove__rng_below(&rng, p->data.n_rows);
    p->batch = (drove_batch){.data = &p->data, .row = p->row, .n_rows = n};
}

/* ---- comparison ---- */

static double gradient_bound(const accel_problem *p)
{
    if (!p->how->in_bf16) return GRADIENT_BOUND;
    return p->model->n_layers == 1 ? BF16_GRADIENT_BOUND : BF16_DEEP_BOUND;
}

static void compare_part(const accel_problem *p, const char *part, size_t layer, size_t offset,
                         size_t n)
{
    double error = 0.0, largest = 0.0;
    for (size_t i = offset; i < offset + n; i++) {
        double e = fabs((double)p->grad[0][i] - (double)p->grad[1][i]);
        error = e <= error ? error : e; /* a NaN stays */
        largest = fmax(largest, fabs((double)p->grad[0][i]));
    }
    if (!(error <= gradient_bound(p) * largest + 1e-9)) {
        fail_msg("%s, %s, %s, %zu rows: %s of layer %zu differs by %g of %g", p->how->name,
                 p->how->activation, p->how->loss, p->batch.n_rows, part, layer, error, largest);
    }
}

void accel_compare_gradients(const accel_problem *p, const drove_gradient *device)
{
    if (device->span != NULL) { /* what was not written has to have been left alone, and is zero */
        size_t at = 0;
        for (size_t s = 0; s <= device->n_spans; s++) {
            size_t end = s < device->n_spans ? device->span[s].offset : p->model->n_params;
            for (; at < end; at++) {
                assert_true(p->grad[1][at] == 7.0f || p->grad[1][at] == 0.0f);
                assert_true(p->grad[0][at] == 0.0f);
                p->grad[1][at] = 0.0f;
            }
            if (s < device->n_spans) at += device->span[s].length;
        }
    }
    size_t end = 0;
    for (size_t l = 0; l < p->model->n_layers; l++) {
        const drove_layer *y = &p->model->layer[l];
        compare_part(p, "W", l, y->w_offset, y->n_in * y->n_out);
        compare_part(p, "b", l, y->b_offset, y->n_out);
        for (size_t i = y->w_offset + y->n_in * y->n_out; i < y->b_offset; i++)
            assert_true(p->grad[1][i] == 0.0f);
        end = y->b_offset + y->n_out;
    }
    for (size_t i = end; i < p->model->n_params; i++) assert_true(p->grad[1][i] == 0.0f);
}

void accel_compare(accel_problem *p, bool spans_wanted)
{
    drove_score score[2];
    memset(score, 0, sizeof score);
    drove_gradient host = {.value = p->grad[0]},
                   device = {.value = p->grad[1], .spans_wanted = spans_wanted};
    for (size_t i = 0; i < p->model->n_params; i++) p->grad[1][i] = 7.0f;
    assert_int_equal(engine_gradient(&drove__engine_host, p->host, p->theta, &p->batch, &host,
                                     &score[0]),
                     DROVE_OK);
    if (engine_gradient(p->device->engine, p->accel, p->theta, &p->batch, &device, &score[1]) !=
        DROVE_OK) {
        fail_msg("%s, %s, %zu rows: %s", p->how->name, p->how->loss, p->batch.n_rows,
                 drove_error_text());
    }
    accel_compare_gradients(p, &device);
    assert_int_equal(score[0].n_rows, score[1].n_rows);
    const double bound = p->how->in_bf16 && p->model->n_layers > 1 ? BF16_DEEP_BOUND : LOSS_BOUND;
    if (!(fabs(score[0].loss - score[1].loss) <= bound * fabs(score[0].loss) + 1e-6)) {
        fail_msg("%s, %s, %s, %zu rows: loss %.9g, expected %.9g", p->how->name, p->how->activation,
                 p->how->loss, p->batch.n_rows, score[1].loss, score[0].loss);
    }
    assert_true(score[0].weight == score[1].weight); /* whole halves: exact */
    assert_true(score[0].n_correct == score[1].n_correct);
    assert_true(score[0].true_positive == score[1].true_positive);
    assert_true(score[0].false_positive == score[1].false_positive);
    assert_true(score[0].false_negative == score[1].false_negative);
}

/* ---- all devices ---- */

drove_device *accel_devices[ACCEL_N_DEVICES];

int accel_open_devices(void **state)
{
    (void)state;
    char folder[512];
    assert_non_null(realpath(".", folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 0), 0);
    if (getenv("DROVE_TEST_STAND_IN") == NULL) /* else the same program without it has that */
        accel_devices[ACCEL_PLAIN] = accel_plain_open();
    accel_devices[ACCEL_OPENCL] = accel_open_device("opencl", "0");
    accel_devices[ACCEL_CUDA] = accel_open_device("cuda", "0");
    return 0;
}

int accel_close_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < ACCEL_N_DEVICES; i++) drove__device_close(accel_devices[i]);
    return 0;
}
