/* tests/unit/engine/test_host_blocks.c - large batches, which the host engine computes in blocks of
 * rows: gradients, scores and steps against a float64 reference, whatever the number of rows;
 * slices that are complete when their layer is reported; examples that another thread loaded. */
#include "engine/engine.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "support/engine_calls.h"
#include "support/reference_mlp.h"

#include <math.h>
#include <string.h>

enum { N_STORED = 300, N_FEATURES = 30, N_CLASSES = 3, MAX_ROWS = 2049, N_LAYERS = 3 };
enum { LARGEST = 1 << 12 }; /* parameters, at most */

/* Below 256 rows a batch is not cut; the others divide evenly by 128, or do not. */
static const size_t batches[] = {200, 255, 256, 257, 700, 1500, MAX_ROWS};

typedef struct problem {
    drove_storage storage;
    drove_data data;
    drove_model *model;
    drovek_table kernels;
    drove_engine *engine;
    float theta[LARGEST];
    double packed[LARGEST]; /* the same, as the reference has them */
    reference_mlp reference;
    uint32_t row[MAX_ROWS];
    double x[MAX_ROWS * N_FEATURES], t[MAX_ROWS * N_CLASSES]; /* of these rows */
    drove_batch batch;
} problem;

static void pack(const drove_model *m, const float *flat, double *packed)
{
    for (size_t l = 0; l < m->n_layers; l++) {
        const drove_layer *y = &m->layer[l];
        for (size_t i = 0; i < y->n_w; i++) *packed++ = flat[y->w_offset + i];
        for (size_t i = 0; i < y->n_b; i++) *packed++ = flat[y->b_offset + i];
    }
}

static void make_data(problem *p, drove_rng *rng)
{
    drove_storage *s = &p->storage;
    s->n_rows = N_STORED;
    s->n_features = N_FEATURES;
    s->x_kind = DROVE_X_F32;
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = N_CLASSES;
    s->x_f32 = drove__alloc(N_STORED * N_FEATURES, sizeof *s->x_f32);
    s->y_class = drove__alloc(N_STORED, sizeof *s->y_class);
    for (size_t i = 0; i < N_STORED * N_FEATURES; i++) s->x_f32[i] = (float)drove__rng_normal(rng);
    for (size_t i = 0; i < N_STORED; i++) s->y_class[i] = (int32_t)drove__rng_below(rng, N_CLASSES);
    p->data = (drove_data){.storage = s, .n_rows = N_STORED};
}

FIXTURE(setup)
{
    problem *p = drove__alloc(1, sizeof *p);
    drove_rng rng;
    memset(p, 0, sizeof *p);
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    make_data(p, &rng);
    const drove_model_io io = {.n_features = N_FEATURES, .n_classes = N_CLASSES};
    assert_int_equal(drove__model_create("mlp:20,9", "tanh", "softmax", &io, &p->model), DROVE_OK);
    assert_true(p->model->n_params <= LARGEST);
    assert_int_equal(drove__model_init(p->model, "normal:0.2", 1, p->theta), DROVE_OK);
    pack(p->model, p->theta, p->packed);
    p->reference = (reference_mlp){.n_layers = N_LAYERS,
                                   .size = {N_FEATURES, 20, 9, N_CLASSES},
                                   .act = REFERENCE_TANH};
    assert_int_equal(drovek_select(&p->kernels, drove__cpu_features(), NULL), DROVE_OK);
    drove_engine_options opt = {
        .model = p->model, .kernels = &p->kernels, .data = &p->data, .max_rows = MAX_ROWS};
    assert_int_equal(drove__engine_host.create(&opt, &p->engine), DROVE_OK);
    *state = p;
    return 0;
}

FIXTURE(teardown)
{
    problem *p = *state;
    drove__engine_host.destroy(p->engine);
    drove__model_destroy(p->model);
    drove__free(p->storage.x_f32);
    drove__free(p->storage.y_class);
    drove__free(p);
    return 0;
}

static void choose(problem *p, size_t n)
{
    drove_rng rng;
    drove__rng_seed(&rng, n, DROVE_RNG_TEST, 1);
    memset(p->t, 0, sizeof p->t);
    for (size_t i = 0; i < n; i++) {
        p->row[i] = (uint32_t)drove__rng_below(&rng, N_STORED);
        for (size_t j = 0; j < N_FEATURES; j++)
            p->x[i * N_FEATURES + j] = p->storage.x_f32[p->row[i] * N_FEATURES + j];
        p->t[i * N_CLASSES + (size_t)p->storage.y_class[p->row[i]]] = 1.0;
    }
    p->batch = (drove_batch){.data = &p->data, .row = p->row, .n_rows = n};
}

static void assert_near(const problem *p, const float *found, const double *expected, double bound)
{
    double packed[LARGEST];
    pack(p->model, found, packed);
    for (size_t i = 0; i < p->model->n_weights; i++) {
        if (!(fabs(packed[i] - expected[i]) <= bound))
            fail_msg("%zu rows, parameter %zu: %g instead of %g", p->batch.n_rows, i, packed[i],
                     expected[i]);
    }
}

TEST_WITH(gradients_equal_the_reference, setup, teardown)
{
    problem *p = *state;
    float g[LARGEST];
    double expected[LARGEST];
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        const size_t n = batches[b];
        drove_score score = {0};
        choose(p, n);
        for (size_t i = 0; i < LARGEST; i++) g[i] = 7.0f;
        drove_gradient grad = {.value = g, .spans_wanted = true};
        assert_int_equal(engine_gradient(&drove__engine_host, p->engine, p->theta, &p->batch, &grad,
                                         &score),
                         DROVE_OK);
        assert_null(grad.span);
        double loss = reference_gradient(&p->reference, p->packed, p->x, p->t, n, expected);
        assert_int_equal(score.n_rows, n);
        assert_true(fabs(score.loss / (double)n - loss) < 1e-5);
        assert_near(p, g, expected, 1e-6);
    }
}

TEST_WITH(steps_are_those_of_the_gradient, setup, teardown)
{
    problem *p = *state;
    static const float eta = 0.5f;
    float theta[LARGEST];
    double expected[LARGEST];
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        const size_t n = batches[b];
        drove_steps made;
        choose(p, n);
        memcpy(theta, p->theta, sizeof theta);
        double loss = reference_gradient(&p->reference, p->packed, p->x, p->t, n, expected);
        for (size_t i = 0; i < p->model->n_weights; i++)
            expected[i] = p->packed[i] - (double)eta * expected[i];
        const drove_params live = {.theta = theta};
        assert_int_equal(drove__engine_host.steps(p->engine, &live, &p->batch, eta, &made),
                         DROVE_OK);
        assert_int_equal(made.n_steps, 1);
        assert_int_equal(made.score.n_rows, n);
        assert_true(made.is_finite && fabs(made.score.loss / (double)n - loss) < 1e-5);
        assert_near(p, theta, expected, 1e-6);
    }
}

/* ---- layers that are reported ---- */

typedef struct report {
    const problem *p;
    const float *g;
    float seen[LARGEST]; /* slices as they were when their layer was reported */
    size_t next;         /* layer, counted down */
} report;

static void take_slice(void *context, size_t layer)
{
    report *r = context;
    const drove_layer *l = &r->p->model->layer[layer];
    assert_int_equal(layer + 1, r->next);
    r->next = layer;
    memcpy(r->seen + l->w_offset, r->g + l->w_offset, l->n_w * sizeof(float));
    memcpy(r->seen + l->b_offset, r->g + l->b_offset, l->n_b * sizeof(float));
}

TEST_WITH(slices_are_complete_when_reported, setup, teardown)
{
    problem *p = *state;
    float g[LARGEST] = {0};
    report r = {.p = p, .g = g, .next = N_LAYERS};
    drove_gradient grad = {.value = g, .after_layer = take_slice, .context = &r};
    choose(p, MAX_ROWS);
    assert_int_equal(engine_gradient(&drove__engine_host, p->engine, p->theta, &p->batch, &grad,
                                     NULL),
                     DROVE_OK);
    assert_int_equal(r.next, 0);
    for (size_t i = 0; i < N_LAYERS; i++) {
        const drove_layer *l = &p->model->layer[i];
        assert_memory_equal(r.seen + l->w_offset, g + l->w_offset, l->n_w * sizeof(float));
        assert_memory_equal(r.seen + l->b_offset, g + l->b_offset, l->n_b * sizeof(float));
    }
}

/* ---- loaded by another thread ---- */

TEST_WITH(loaded_examples_give_the_same_bits, setup, teardown)
{
    problem *p = *state;
    static float x[MAX_ROWS * N_FEATURES], own[LARGEST], given[LARGEST];
    static int32_t y[MAX_ROWS];
    drove_gradient grad = {.value = own};
    choose(p, MAX_ROWS);
    assert_int_equal(engine_gradient(&drove__engine_host, p->engine, p->theta, &p->batch, &grad,
                                     NULL),
                     DROVE_OK);
    for (size_t i = 0; i < MAX_ROWS * N_FEATURES; i++) x[i] = (float)p->x[i];
    for (size_t i = 0; i < MAX_ROWS; i++) y[i] = p->storage.y_class[p->row[i]];
    const drove_loaded loaded = {.in = {.n_rows = MAX_ROWS, .dense = x}, .target = {.y_class = y}};
    p->batch.loaded = &loaded;
    p->batch.row = NULL; /* not needed */
    grad.value = given;
    assert_int_equal(engine_gradient(&drove__engine_host, p->engine, p->theta, &p->batch, &grad,
                                     NULL),
                     DROVE_OK);
    assert_memory_equal(own, given, p->model->n_params * sizeof(float));
}
