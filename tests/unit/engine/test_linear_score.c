/* The score of the engine of low-precision linear models: that of the parameters given, on the
 * examples as they are, however many it expands at once. */
#include "engine/linear/problem.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 10, PAIRS = 2 };
static const double LOSS_ERROR = 1e-5; /* outputs of magnitude 30 in float */
static const uint32_t rows[] = {9, 0, 3, 3, 7, 1, 2, 8, 5, 4};

typedef struct rig {
    drove_storage *storage;
    drove_data data;
    drove_model *model;
    drovek_table kernels;
    drove_engine_shared *shared;
    drove_engine *engine;
    float *theta;
} rig;

/* Row i has two features, i and the i-th from the end. */
static void make_data(rig *r, size_t n_features)
{
    drove_storage *s;
    assert_int_equal(drove__storage_create(&s), DROVE_OK);
    s->n_rows = N_ROWS;
    s->n_features = n_features;
    s->x_kind = DROVE_X_CSR;
    s->row_start = calloc(N_ROWS + 1, sizeof *s->row_start);
    s->index = calloc(N_ROWS * PAIRS, sizeof *s->index);
    s->value = calloc(N_ROWS * PAIRS, sizeof *s->value);
    s->n_classes = 2;
    s->y_kind = DROVE_Y_CLASS;
    s->y_class = calloc(N_ROWS, sizeof *s->y_class);
    for (size_t i = 0; i < N_ROWS; i++) {
        s->row_start[i + 1] = PAIRS * (i + 1);
        s->index[PAIRS * i] = (uint32_t)i;
        s->index[PAIRS * i + 1] = (uint32_t)(n_features - 1 - i);
        s->value[PAIRS * i] = 0.3f * (float)(i + 1);
        s->value[PAIRS * i + 1] = 1.7f - 0.41f * (float)i;
        s->y_class[i] = i % 3 == 1;
    }
    r->storage = s;
    r->data = (drove_data){.storage = s, .n_rows = N_ROWS};
}

static void rig_init(rig *r, size_t n_features)
{
    memset(r, 0, sizeof *r);
    make_data(r, n_features);
    const drove_model_io io = {.n_features = n_features, .n_classes = 2};
    assert_int_equal(drove__model_create("logistic", "", "logistic", &io, &r->model), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), NULL), DROVE_OK);
    r->theta = drove__alloc(r->model->n_params, sizeof *r->theta);
    for (size_t i = 0; i < r->model->n_params; i++) r->theta[i] = (float)((i * 7 + 3) % 11) - 5.0f;
    const drove_prepare_options opt = {.model = r->model,
                                       .kernels = &r->kernels,
                                       .data = &r->data,
                                       .theta = r->theta,
                                       .precision = "D8i32M8",
                                       .rounding = "nearest",
                                       .eta = 0.1,
                                       .each = 1};
    assert_int_equal(drove__engine_linear.typed->prepare(&opt, &r->shared), DROVE_OK);
    const drove_engine_options own = {.model = r->model,
                                      .kernels = &r->kernels,
                                      .data = &r->data,
                                      .max_rows = N_ROWS,
                                      .shared = r->shared};
    assert_int_equal(drove__engine_linear.create(&own, &r->engine), DROVE_OK);
}

static void rig_fini(rig *r)
{
    drove__engine_linear.destroy(r->engine);
    drove__engine_linear.typed->dismiss(r->shared);
    drove__model_destroy(r->model);
    drove__storage_release(r->storage);
    drove__free(r->theta);
}

/* In double. */
static drove_score expected_score(const rig *r, size_t n_rows)
{
    const drove_storage *s = r->storage;
    const drove_layer *l = &r->model->layer[0];
    drove_score sum = {.n_rows = n_rows, .weight = (double)n_rows};
    for (size_t i = 0; i < n_rows; i++) {
        double z = (double)r->theta[l->b_offset];
        const double y = s->y_class[rows[i]] == 1 ? 1.0 : -1.0;
        for (size_t k = PAIRS * rows[i]; k < PAIRS * (rows[i] + 1u); k++)
            z += (double)s->value[k] * (double)r->theta[l->w_offset + s->index[k]];
        sum.loss += log1p(exp(-y * z));
        sum.n_correct += y * z > 0.0;
    }
    return sum;
}

/* Which is of so many batches. */
static void assert_score(const drove_score *found, const drove_score *of_one, size_t n)
{
    const double times = (double)n;
    assert_int_equal(found->n_rows, n * of_one->n_rows);
    assert_true(found->weight == times * of_one->weight);
    assert_true(found->n_correct == times * of_one->n_correct);
    assert_true(fabs(found->loss - times * of_one->loss) <
                LOSS_ERROR * times * (1.0 + of_one->loss));
}

/* All examples in one part, in parts of three, and one by one. */
TEST(a_score_is_that_of_all_examples)
{
    static const size_t features[] = {40, 300000, 600000};
    for (size_t k = 0; k < sizeof features / sizeof *features; k++) {
        rig r;
        rig_init(&r, features[k]);
        for (size_t n = 1; n <= N_ROWS; n++) {
            const drove_batch batch = {.data = &r.data, .row = rows, .n_rows = n};
            const drove_work work = {.batch = &batch, .theta = r.theta};
            const drove_score expected = expected_score(&r, n);
            drove_work_done done = {0};
            for (size_t times = 1; times <= 2; times++) { /* finish adds */
                assert_int_equal(drove__engine_linear.begin(r.engine, &work), DROVE_OK);
                assert_int_equal(drove__engine_linear.finish(r.engine, 0, &done), DROVE_OK);
                assert_score(&done.score, &expected, times);
            }
            assert_int_equal(drove__engine_linear.finish(r.engine, 0, NULL), DROVE_OK);
        }
        rig_fini(&r);
    }
}

TEST(what_it_cannot_do_is_refused)
{
    rig r;
    rig_init(&r, 40);
    float prob[N_ROWS];
    drove_gradient grad = {.value = r.theta};
    const drove_batch batch = {.data = &r.data, .row = rows, .n_rows = 2};
    const drove_work with_grad = {.batch = &batch, .theta = r.theta, .grad = &grad},
                     with_prob = {.batch = &batch, .theta = r.theta, .prob = prob};
    assert_int_equal(drove__engine_linear.begin(r.engine, &with_grad), DROVE_E_UNSUPPORTED);
    assert_int_equal(drove__engine_linear.begin(r.engine, &with_prob), DROVE_E_UNSUPPORTED);
    rig_fini(&r);
}
