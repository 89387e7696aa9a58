/* tests/unit/engine/test_linear_engine.c - the engine of low-precision linear models against SGD
 * written a second time: in double for float models, in plain integers, rounding to nearest, for
 * the rest.
 */
#include "engine/linear/problem.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 80, MOST_FEATURES = 150, MOST_CLASSES = 4 };

typedef struct setting {
    const char *model, *loss, *precision, *rounding;
    size_t n_features, n_classes, each;
    double density; /* 1: dense */
    double eta, decay, range;
} setting;

typedef struct rig {
    setting set;
    drove_storage *storage;
    drove_data data;
    double x[N_ROWS][MOST_FEATURES];
    drove_model *model;
    drovek_table kernels;
    drove_engine_shared *shared;
    drove_engine *engine;
    uint32_t *words;
    float *theta;
    bool is_weighted;
} rig;

/* ---- a random problem ---- */

static void make_sparse(rig *r, drove_rng *rng)
{
    drove_storage *s = r->storage;
    s->x_kind = DROVE_X_CSR;
    s->row_start = calloc(N_ROWS + 1, sizeof *s->row_start);
    s->index = calloc(N_ROWS * MOST_FEATURES, sizeof *s->index);
    s->value = calloc(N_ROWS * MOST_FEATURES, sizeof *s->value);
    size_t n = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < r->set.n_features; j++) {
            r->x[i][j] = 0.0;
            if (drove__rng_uniform(rng) >= r->set.density) continue;
            s->index[n] = (uint32_t)j;
            s->value[n] = (float)(2.0 * drove__rng_uniform(rng) - 1.0);
            r->x[i][j] = s->value[n++];
        }
        s->row_start[i + 1] = n;
    }
}

static void make_dense(rig *r, drove_rng *rng)
{
    drove_storage *s = r->storage;
    s->x_kind = DROVE_X_F32;
    s->x_f32 = drove__alloc(N_ROWS * r->set.n_features, sizeof *s->x_f32);
    for (size_t i = 0; i < N_ROWS; i++) {
        for (size_t j = 0; j < r->set.n_features; j++) {
            float v = (float)(2.0 * drove__rng_uniform(rng) - 1.0);
            s->x_f32[i * r->set.n_features + j] = v;
            r->x[i][j] = v;
        }
    }
}

static void make_targets(rig *r, drove_rng *rng)
{
    drove_storage *s = r->storage;
    s->n_classes = r->set.n_classes;
    s->y_kind = r->set.n_classes > 0 ? DROVE_Y_CLASS : DROVE_Y_VALUE;
    s->y_class = calloc(N_ROWS, sizeof *s->y_class);
    s->y_value = calloc(N_ROWS, sizeof *s->y_value);
    if (r->is_weighted) s->weight = calloc(N_ROWS, sizeof *s->weight);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (s->weight != NULL) s->weight[i] = 0.4f * (float)(3 * i % 7);
        if (r->set.n_classes > 0) s->y_class[i] = (int32_t)drove__rng_below(rng, r->set.n_classes);
        s->y_value[i] = (float)(2.0 * drove__rng_uniform(rng) - 1.0);
    }
}

static drove_prepare_options options_of(const rig *r)
{
    return (drove_prepare_options){.model = r->model,
                                   .kernels = &r->kernels,
                                   .data = &r->data,
                                   .theta = r->theta,
                                   .precision = r->set.precision,
                                   .rounding =
                                       r->set.rounding != NULL ? r->set.rounding : "nearest",
                                   .model_range = r->set.range,
                                   .eta = r->set.eta,
                                   .weight_decay = r->set.decay,
                                   .each = r->set.each,
                                   .seed = 3,
                                   .hints = true};
}

static void rig_init_weighted(rig *r, const setting *set, bool reorder, bool is_weighted)
{
    drove_rng rng;
    memset(r, 0, sizeof *r);
    r->set = *set;
    r->is_weighted = is_weighted;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 7);
    assert_int_equal(drove__storage_create(&r->storage), DROVE_OK);
    r->storage->n_rows = N_ROWS;
    r->storage->n_features = set->n_features;
    if (set->density < 1.0) make_sparse(r, &rng);
    else make_dense(r, &rng);
    make_targets(r, &rng);
    r->data = (drove_data){.storage = r->storage, .n_rows = N_ROWS};
    drove_model_io io = {.n_features = set->n_features, .n_classes = set->n_classes};
    assert_int_equal(drove__model_create(set->model, "", set->loss, &io, &r->model), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), NULL), DROVE_OK);
    r->theta = drove__alloc(r->model->n_params, sizeof *r->theta);
    drove_prepare_options opt = options_of(r);
    opt.reorder = reorder;
    assert_int_equal(drove__engine_linear.typed->prepare(&opt, &r->shared), DROVE_OK);
    drove_engine_options own = {.model = r->model,
                                .kernels = &r->kernels,
                                .data = &r->data,
                                .max_rows = N_ROWS,
                                .shared = r->shared};
    assert_int_equal(drove__engine_linear.create(&own, &r->engine), DROVE_OK);
    r->words = drove__alloc(drove__engine_linear.typed->n_words(r->shared), sizeof *r->words);
}

static void rig_init(rig *r, const setting *set)
{
    rig_init_weighted(r, set, false, false);
}

static void rig_fini(rig *r)
{
    drove__engine_linear.destroy(r->engine);
    drove__engine_linear.typed->dismiss(r->shared);
    drove__model_destroy(r->model);
    drove__storage_release(r->storage);
    drove__free(r->words);
    drove__free(r->theta);
}

/* All rows in order, in turns of turn_rows; then theta. */
static uint64_t train(rig *r, size_t turn_rows)
{
    uint32_t row[N_ROWS];
    uint64_t n_clamped = 0, n_steps = 0;
    for (size_t first = 0; first < N_ROWS; first += turn_rows) {
        drove_batch batch = {.data = &r->data, .row = row, .number = first / turn_rows};
        drove_steps made;
        for (size_t i = first; i < N_ROWS && i < first + turn_rows; i++)
            row[batch.n_rows++] = (uint32_t)i;
        assert_int_equal(drove__engine_linear.steps(r->engine, &(drove_params){.words = r->words},
                                                    &batch, (float)r->set.eta, &made),
                         DROVE_OK);
        assert_true(made.is_finite);
        n_clamped += made.n_clamped;
        n_steps += made.n_steps;
    }
    assert_int_equal(n_steps, (N_ROWS + r->set.each - 1) / r->set.each);
    drove__engine_linear.typed->settle(r->engine, r->words);
    drove__engine_linear.typed->unpack(r->shared, r->words, r->theta);
    return n_clamped;
}

/* ---- the same in double ---- */

typedef struct reference { /* w[output][feature], b[output] */
    double w[MOST_CLASSES][MOST_FEATURES], b[MOST_CLASSES];
} reference;

static size_t n_outputs(const rig *r)
{
    return r->model->n_outputs;
}

/* To the nearest of 2^(bits - 1) - 1 steps to either side; bits 0: as it is. */
static double rounded(const rig *r, double value, double range)
{
    const unsigned bits = r->shared->precision.gradient_bits;
    if (bits == 0) return value;
    /* In the engine's order: half a step is where values of equal weight often are. */
    const double most = ldexp(1.0, (int)bits - 1) - 1.0, unit = range / most;
    const double steps = floor(value / unit + 0.5);
    return unit * (steps > most ? most : steps < -most ? -most : steps);
}

static void derivatives(const rig *r, size_t row, double *z, double *dz)
{
    size_t n = n_outputs(r);
    const bool has_values = r->set.n_classes == 0;
    double target = 0.5, weight = 1.0;
    for (size_t i = 0; i < N_ROWS; i++) {
        target = fmax(target, fabs((double)r->storage->y_value[i]));
        if (r->storage->weight != NULL) weight = fmax(weight, (double)r->storage->weight[i]);
    }
    for (size_t o = 0; o < n; o++) z[o] = rounded(r, z[o], has_values ? 2.0 * target : 8.0);
    int32_t label = r->storage->y_class[row];
    double sum = 0.0;
    for (size_t o = 0; o < n; o++) sum += exp(z[o]);
    for (size_t o = 0; o < n; o++) {
        double y = (n == 1 ? label == 1 : (size_t)label == o) ? 1.0 : -1.0;
        const char *loss = r->model->loss->name;
        if (strcmp(loss, "logistic") == 0) dz[o] = -y / (1.0 + exp(y * z[o]));
        if (strcmp(loss, "hinge") == 0) dz[o] = y * z[o] < 1.0 ? -y : 0.0;
        if (strcmp(loss, "softmax") == 0) dz[o] = exp(z[o]) / sum - (y > 0.0 ? 1.0 : 0.0);
        if (strcmp(loss, "squared") == 0) dz[o] = z[o] - (double)r->storage->y_value[row];
        if (r->storage->weight != NULL) dz[o] *= (double)r->storage->weight[row];
        dz[o] = rounded(r, dz[o], weight * (has_values ? 2.0 * target : 1.0));
    }
}

/* x as the engine has it, after quantisation. */
static double seen(const rig *r, size_t row, size_t j)
{
    double scale = (double)r->shared->quant->scale;
    if (r->shared->precision.data == DROVE_F32) return r->x[row][j];
    return nearbyint(r->x[row][j] / scale) * scale;
}

static void train_reference(const rig *r, reference *f)
{
    double g[MOST_CLASSES][MOST_FEATURES], gb[MOST_CLASSES];
    for (size_t first = 0; first < N_ROWS; first += r->set.each) {
        size_t n = N_ROWS - first < r->set.each ? N_ROWS - first : r->set.each;
        memset(g, 0, sizeof g);
        memset(gb, 0, sizeof gb);
        for (size_t i = first; i < first + n; i++) {
            double z[MOST_CLASSES], dz[MOST_CLASSES];
            for (size_t o = 0; o < n_outputs(r); o++) {
                z[o] = f->b[o];
                for (size_t j = 0; j < r->set.n_features; j++) z[o] += seen(r, i, j) * f->w[o][j];
            }
            derivatives(r, i, z, dz);
            for (size_t o = 0; o < n_outputs(r); o++) {
                gb[o] += dz[o] / (double)n;
                for (size_t j = 0; j < r->set.n_features; j++)
                    g[o][j] += dz[o] * seen(r, i, j) / (double)n;
            }
        }
        for (size_t o = 0; o < n_outputs(r); o++) {
            double keep = 1.0 - r->set.eta * r->set.decay;
            f->b[o] = (f->b[o] - r->set.eta * gb[o]) * keep;
            for (size_t j = 0; j < r->set.n_features; j++)
                f->w[o][j] = (f->w[o][j] - r->set.eta * g[o][j]) * keep;
        }
    }
}

/* A NaN stays: nothing is larger.  (fmax here ends gcc 12 for AArch64 with an internal error.) */
static double larger(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

static double largest_difference(const rig *r, const reference *f)
{
    const drove_layer *l = &r->model->layer[0];
    double most = 0.0;
    for (size_t o = 0; o < n_outputs(r); o++) {
        most = larger(most, fabs((double)r->theta[l->b_offset + o] - f->b[o]));
        for (size_t j = 0; j < r->set.n_features; j++) {
            double w = (double)r->theta[l->w_offset + j * n_outputs(r) + o];
            most = larger(most, fabs(w - f->w[o][j]));
        }
    }
    return most;
}

/* ---- float models ---- */

static const double FLOAT_ERROR = 2e-5; /* of parameters of magnitude about 1, after 60 steps */

TEST(floats_follow_sgd_in_double)
{
    static const setting settings[] = {
        {"logistic", "logistic", "D32fM32f", NULL, 37, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D8M32f", NULL, 150, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D16M32f", NULL, 64, 2, 7, 1.0, 0.5, 0.0, 0},
        {"svm", "hinge", "D32fM32f", NULL, 50, 2, 1, 1.0, 0.1, 0.05, 0},
        {"svm", "hinge", "D8M32f", NULL, 33, 4, 1, 1.0, 0.1, 0.0, 0},
        {"linear", "squared", "D32fM32f", NULL, 20, 0, 1, 1.0, 0.02, 0.0, 0},
        {"linear", "squared", "D16M32f", NULL, 20, 0, 70, 1.0, 0.1, 0.0, 0},
        {"logistic", "softmax", "D32fM32f", NULL, 41, 3, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "softmax", "D8M32f", NULL, 41, 4, 9, 1.0, 0.3, 0.2, 0},
        {"logistic", "logistic", "D32fi32M32f", NULL, 150, 2, 1, 0.2, 0.3, 0.0, 0},
        {"logistic", "logistic", "D8i8M32f", NULL, 150, 2, 1, 0.01, 0.3, 0.0, 0},
        {"svm", "hinge", "D16i16M32f", NULL, 150, 3, 5, 0.2, 0.1, 0.05, 0},
    };
    for (size_t k = 0; k < DROVE_COUNT(settings); k++) {
        for (size_t turn_rows = 10; turn_rows <= N_ROWS + 4; turn_rows += 18) {
            rig r;
            reference f = {0};
            rig_init(&r, &settings[k]);
            size_t rows = turn_rows / r.set.each * r.set.each;
            train(&r, rows > 0 ? rows : r.set.each);
            train_reference(&r, &f);
            double error = largest_difference(&r, &f);
            /* decay comes in passes: what is late moves later steps a little */
            double bound = r.set.decay > 0.0 ? 2e-2 : FLOAT_ERROR;
            if (error > bound) fail_msg("%s, setting %zu: %g", r.set.precision, k, error);
            rig_fini(&r);
        }
    }
}

/* A G term, rounding to nearest: each loss, dense and sparse, one example and batches, weighted or
 * not, against the same numbers rounded in double. */
TEST(rounded_gradients_follow_sgd_in_double)
{
    static const setting settings[] = {
        {"logistic", "logistic", "G8", NULL, 37, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D8M32fG4", NULL, 150, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D16M32fG10", NULL, 64, 2, 7, 1.0, 0.5, 0.0, 0},
        {"svm", "hinge", "D32fM32fG6", NULL, 50, 2, 1, 1.0, 0.1, 0.0, 0},
        {"linear", "squared", "D32fM32fG7", NULL, 20, 0, 1, 1.0, 0.02, 0.0, 0},
        {"linear", "squared", "D16M32fG12", NULL, 20, 0, 70, 1.0, 0.1, 0.0, 0},
        {"logistic", "softmax", "D8M32fG9", NULL, 41, 4, 9, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D32fi32M32fG8", NULL, 150, 2, 1, 0.2, 0.3, 0.0, 0},
        {"svm", "hinge", "D16i16M32fG5", NULL, 150, 3, 5, 0.2, 0.1, 0.0, 0},
    };
    for (size_t k = 0; k < 2 * DROVE_COUNT(settings); k++) {
        rig r;
        reference f = {0};
        rig_init_weighted(&r, &settings[k / 2], false, k % 2 != 0);
        train(&r, 10 * r.set.each);
        train_reference(&r, &f);
        double error = largest_difference(&r, &f);
        if (error > FLOAT_ERROR) fail_msg("%s, setting %zu: %g", r.set.precision, k, error);
        rig_fini(&r);
    }
}

/* At parameters of 0 the derivative is 1/2 of 1: between the third and the fourth of seven steps of
 * G4.  Nearest takes the fourth each time, and random rounding is right in the mean. */
TEST(random_rounding_of_gradients_is_right_in_the_mean)
{
    enum { N = 40000 };
    static const char *const ways[] = {"mt19937", "xorshift", "shared", "nearest"};
    for (size_t k = 0; k < DROVE_COUNT(ways); k++) {
        const setting set = {"logistic", "logistic", "G4", ways[k], 1, 2, 1, 1.0, 1.0, 0.0, 0};
        const uint32_t row = 0;
        double sum = 0.0;
        rig r;
        rig_init(&r, &set);
        const double y = r.storage->y_class[0] == 1 ? 1.0 : -1.0;
        for (uint64_t number = 0; number < N; number++) {
            const drove_batch batch = {.data = &r.data, .row = &row, .n_rows = 1, .number = number};
            drove_steps made;
            memset(r.words, 0, drove__engine_linear.typed->n_words(r.shared) * sizeof *r.words);
            assert_int_equal(drove__engine_linear.steps(r.engine, &(drove_params){.words = r.words},
                                                        &batch, 1.0f, &made),
                             DROVE_OK);
            drove__engine_linear.typed->unpack(r.shared, r.words, r.theta);
            const double step = y * (double)r.theta[r.model->layer[0].b_offset] * 7.0;
            assert_true(fabs(step - 3.0) < 1e-5 || fabs(step - 4.0) < 1e-5);
            sum += step / N;
        }
        /* four standard errors of a coin's mean */
        const double wanted = strcmp(ways[k], "nearest") == 0 ? 4.0 : 3.5;
        const double bound = wanted == 4.0 ? 1e-5 : 4.0 * 0.5 / sqrt(N);
        if (!(fabs(sum - wanted) < bound)) fail_msg("%s: mean %g", ways[k], sum);
        rig_fini(&r);
    }
}

/* Each short loss and a long one. */
TEST(weighted_rows_follow_sgd_in_double)
{
    static const setting settings[] = {
        {"logistic", "logistic", "D32fM32f", NULL, 37, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D16M32f", NULL, 64, 2, 7, 1.0, 0.5, 0.0, 0},
        {"svm", "hinge", "D32fM32f", NULL, 50, 2, 1, 1.0, 0.1, 0.0, 0},
        {"linear", "squared", "D32fM32f", NULL, 20, 0, 1, 1.0, 0.02, 0.0, 0},
        {"logistic", "softmax", "D32fM32f", NULL, 41, 3, 5, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D32fi32M32f", NULL, 150, 2, 1, 0.2, 0.3, 0.0, 0},
    };
    for (size_t k = 0; k < DROVE_COUNT(settings); k++) {
        rig r;
        reference f = {0};
        rig_init_weighted(&r, &settings[k], false, true);
        train(&r, 10 * r.set.each);
        train_reference(&r, &f);
        double error = largest_difference(&r, &f);
        if (error > FLOAT_ERROR) fail_msg("%s, setting %zu: %g", r.set.precision, k, error);
        rig_fini(&r);
    }
}

/* Rows laid out in another order keep their targets and weights, in every form that these are
 * looked up. */
TEST(reordered_rows_keep_their_targets)
{
    static const setting settings[] = {
        {"logistic", "logistic", "D32fM32f", NULL, 37, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "logistic", "D32fM32f", NULL, 37, 2, 1, 1.0, 0.3, 0.0, 0},
        {"logistic", "softmax", "D32fM32f", NULL, 37, 4, 1, 1.0, 0.3, 0.0, 0},
        {"linear", "squared", "D32fM32f", NULL, 20, 0, 1, 1.0, 0.02, 0.0, 0},
    };
    for (size_t k = 0; k < DROVE_COUNT(settings); k++) {
        rig r, was;
        int32_t y_class[N_ROWS];
        float y_value[N_ROWS], weight[N_ROWS];
        reference f = {0};
        rig_init_weighted(&r, &settings[k], true, k == 0);
        train(&r, N_ROWS);
        drove_storage *s = r.storage;
        was = r;
        memcpy(y_class, s->y_class, sizeof y_class);
        memcpy(y_value, s->y_value, sizeof y_value);
        if (s->weight != NULL) memcpy(weight, s->weight, sizeof weight);
        for (size_t i = 0; i < N_ROWS; i++) {
            if (s->weight != NULL) s->weight[i] = weight[r.shared->order[i]];
            memcpy(r.x[i], was.x[r.shared->order[i]], sizeof r.x[i]);
            s->y_class[i] = y_class[r.shared->order[i]];
            s->y_value[i] = y_value[r.shared->order[i]];
        }
        train_reference(&r, &f);
        assert_true(largest_difference(&r, &f) < FLOAT_ERROR);
        rig_fini(&r);
    }
}

/* An output that is not finite is told, whatever the loss makes of it. */
TEST(an_infinite_output_is_told)
{
    setting set = {"logistic", "logistic", "D8M8", NULL, 20, 2, 1, 1.0, 0.1, 0.0, 1};
    rig r;
    uint32_t row = 0;
    rig_init(&r, &set);
    *(float *)(r.words + r.shared->layout.tail) = INFINITY;
    drove_batch batch = {.data = &r.data, .row = &row, .n_rows = 1};
    drove_steps made;
    assert_int_equal(drove__engine_linear.steps(r.engine, &(drove_params){.words = r.words}, &batch,
                                                0.1f, &made),
                     DROVE_OK);
    assert_false(made.is_finite);
    rig_fini(&r);
}

/* A decay that makes each step's own pass due is SGD's, step by step. */
TEST(strong_decay_is_exact)
{
    static const setting strong = {"svm", "hinge", "D32fM32f", NULL, 50, 2, 1, 1.0, 0.1, 0.05, 0};
    rig r;
    reference f = {0};
    setting set = strong;
    set.decay = 0.1; /* eta decay = 1/100 */
    rig_init(&r, &set);
    train(&r, 20);
    train_reference(&r, &f);
    assert_true(largest_difference(&r, &f) < FLOAT_ERROR);
    rig_fini(&r);
}

/* ---- integer models, rounded to nearest ---- */

typedef struct integers {
    int64_t w[MOST_FEATURES];
    double b;
} integers;

static int64_t clamp(int64_t v, int64_t low, int64_t high, uint64_t *n_clamped)
{
    if (v >= low && v <= high) return v;
    ++*n_clamped;
    return v < low ? low : high;
}

/* One example an update, one output: kernel/linear.h and engine/linear/rounding.h in plain C. */
static uint64_t train_integers(const rig *r, integers *f)
{
    const drove_engine_shared *p = r->shared;
    const char *text = p->precision.text;
    bool bytes = strcmp(text, "D8M8") == 0 || strcmp(text, "D8i8M8") == 0 ||
                 strcmp(text, "D4M8") == 0 || strcmp(text, "D4M4") == 0;
    bool middle = strcmp(text, "D8M4") == 0;
    int64_t top = strstr(text, "M4") != NULL ? 7 : strstr(text, "M8") != NULL ? 127 : 32767;
    double sx = (double)p->quant->scale, sw = (double)p->model_scale;
    uint64_t n_clamped = 0;
    for (size_t i = 0; i < N_ROWS; i++) {
        int64_t dot = 0, q[MOST_FEATURES];
        for (size_t j = 0; j < r->set.n_features; j++) {
            q[j] = (int64_t)nearbyint(r->x[i][j] / sx);
            dot += q[j] * f->w[j];
        }
        double z = (double)dot * sx * sw + (double)(float)f->b, dz;
        derivatives(r, i, &z, &dz);
        if (dz == 0.0) continue;
        f->b = (double)(float)((double)(float)f->b - (double)(float)r->set.eta * dz);
        double alpha = -(double)(float)r->set.eta * sx / sw * dz;
        double room = bytes ? 255 : middle ? 223 : 32766;
        int shift = bytes ? 8 : middle ? 12 : 15;
        while (shift > 0 && fabs(alpha) * pow(2, shift) > room) shift--;
        double scaled = alpha * pow(2, shift);
        if (fabs(scaled) > room) scaled = scaled < 0 ? -room : room;
        int64_t a = (int64_t)floor(scaled + 0.5), half = shift > 0 ? (int64_t)1 << (shift - 1) : 0;
        for (size_t j = 0; j < r->set.n_features; j++) {
            if (r->set.density < 1.0 && r->x[i][j] == 0.0) continue;
            int64_t delta = (int64_t)floor((double)(a * q[j] + half) / pow(2, shift));
            f->w[j] = clamp(f->w[j] + delta, -top - 1, top, &n_clamped);
        }
    }
    return n_clamped;
}

static int64_t word_at(const rig *r, size_t j)
{
    switch (r->shared->precision.model) {
    case DROVE_I4: return drove__nibble_at(r->words, j);
    case DROVE_I8: return ((const int8_t *)r->words)[j];
    default: return ((const int16_t *)r->words)[j];
    }
}

TEST(integers_are_what_the_definition_says)
{
    static const char *const dense[] = {"D8M8", "D8M16", "D16M8", "D16M16", "D4M4",
                                        "D4M8", "D8M4",  "D4M16", "D16M4"};
    static const char *const sparse[] = {"D8i8M8", "D8i16M16", "D16i32M8", "D16i16M16"};
    enum { N_DENSE = DROVE_COUNT(dense), N_SIGNATURES = N_DENSE + DROVE_COUNT(sparse) };
    static const double ranges[] = {0.02, 0.3, 4.0}, etas[] = {0.001, 0.2, 30.0};
    uint64_t most_clamped = 0;
    for (size_t k = 0; k < N_SIGNATURES * 3 * 3; k++) {
        setting set = {"logistic", "logistic", NULL, NULL, 139, 2, 1, 1.0, 0, 0.0, 0};
        size_t signature = k % N_SIGNATURES;
        bool is_sparse = signature >= N_DENSE;
        set.precision = is_sparse ? sparse[signature - N_DENSE] : dense[signature];
        set.density = is_sparse ? 0.1 : 1.0;
        set.range = ranges[k / N_SIGNATURES % 3];
        set.eta = etas[k / N_SIGNATURES / 3];
        rig r;
        integers f = {0};
        rig_init(&r, &set);
        uint64_t n_clamped = train(&r, 13), expected = train_integers(&r, &f);
        if (n_clamped != expected)
            fail_msg("%s: %llu writes clamped, expected %llu", set.precision,
                     (unsigned long long)n_clamped, (unsigned long long)expected);
        most_clamped = expected > most_clamped ? expected : most_clamped;
        for (size_t j = 0; j < set.n_features; j++) {
            int64_t w = word_at(&r, j);
            if (w != f.w[j])
                fail_msg("%s, eta %g, range %g: weight %zu is %lld, expected %lld", set.precision,
                         set.eta, set.range, j, (long long)w, (long long)f.w[j]);
        }
        rig_fini(&r);
    }
    assert_true(most_clamped > 0);
}

/* The reference's parameters are those that the engine has reached. */
static void take_over(const rig *r, reference *f)
{
    const drove_layer *l = &r->model->layer[0];
    for (size_t o = 0; o < n_outputs(r); o++) {
        f->b[o] = (double)r->theta[l->b_offset + o];
        for (size_t j = 0; j < r->set.n_features; j++)
            f->w[o][j] = (double)r->theta[l->w_offset + j * n_outputs(r) + o];
    }
}

/* Updates from many examples, whose factors are rounded one by one and whose sum is rounded once:
 * within a thousandth of the step, and half a unit, of the exact sum. */
TEST(long_batches_round_once)
{
    static const char *const precision[] = {"D8M8", "D8M16", "D16M8", "D16M16", "D4M4", "D8M4"};
    for (size_t k = 0; k < DROVE_COUNT(precision); k++) {
        const setting set = {"linear", "softmax", precision[k], NULL, 140, 3,
                             N_ROWS,   1.0,       8.0,          0.0,  4.0};
        rig r;
        reference f = {0};
        rig_init(&r, &set);
        for (unsigned update = 0; update < 3; update++) {
            take_over(&r, &f);
            const reference before = f;
            train(&r, N_ROWS);
            train_reference(&r, &f);
            double units = largest_difference(&r, &f) / (double)r.shared->model_scale, step = 0.0;
            for (size_t o = 0; o < n_outputs(&r); o++)
                for (size_t j = 0; j < set.n_features; j++)
                    step = fmax(step, fabs(f.w[o][j] - before.w[o][j]));
            const double most = 0.51 + 0.001 * step / (double)r.shared->model_scale;
            if (!(units < most))
                fail_msg("%s, update %u: %g units beside the exact sum, expected at most %g",
                         precision[k], update, units, most);
        }
        rig_fini(&r);
    }
}

/* ---- unbiased integer models follow the float ones on average ---- */

TEST(unbiased_updates_have_the_right_mean)
{
    static const char *const roundings[] = {"shared", "shared?bits=256", "xorshift", "mt19937"};
    enum { RUNS = 400 };
    for (size_t k = 0; k < DROVE_COUNT(roundings); k++) {
        for (size_t each = 1; each <= 20; each += 19) {
            setting set = {"linear", "squared", "D8M8", roundings[k], 40, 0, each,
                           1.0,      0.002,     0,      2.0};
            rig r;
            reference f = {0};
            double mean[MOST_FEATURES] = {0}, square[MOST_FEATURES] = {0};
            rig_init(&r, &set);
            uint32_t row[20];
            for (uint32_t i = 0; i < 20; i++) row[i] = i;
            for (uint64_t run = 0; run < RUNS; run++) { /* one update, from 0 */
                drove_batch batch = {.data = &r.data, .row = row, .n_rows = each, .number = run};
                drove_steps made;
                memset(r.words, 0, drove__engine_linear.typed->n_words(r.shared) * sizeof *r.words);
                assert_int_equal(drove__engine_linear.steps(r.engine,
                                                            &(drove_params){.words = r.words},
                                                            &batch, 0.002f, &made),
                                 DROVE_OK);
                for (size_t j = 0; j < set.n_features; j++) {
                    double w = ((int8_t *)r.words)[j];
                    mean[j] += w / RUNS;
                    square[j] += w * w / RUNS;
                }
            }
            for (size_t j = 0; j < set.n_features; j++) {
                double expected = 0.0;
                for (size_t i = 0; i < each; i++)
                    expected += 0.002 * (double)r.storage->y_value[i] * seen(&r, i, j) /
                                (double)each / (double)r.shared->model_scale;
                /* A rare rounding up may not have happened often enough to show its variance. */
                double part = expected - floor(expected), least = part * (1.0 - part);
                double variance = fmax(square[j] - mean[j] * mean[j], least);
                double spread = sqrt((variance + 0.25 / RUNS) / RUNS);
                if (fabs(mean[j] - expected) > 5.0 * spread)
                    fail_msg("%s, batch %zu, weight %zu: mean %g, expected %g, error %g",
                             roundings[k], each, j, mean[j], expected, spread);
            }
            (void)f;
            rig_fini(&r);
        }
    }
}

/* ---- the vector ---- */

TEST(packing_keeps_parameters)
{
    static const char *const precisions[] = {"D8M8", "D8M16", "D8M32f"};
    for (size_t k = 0; k < 3; k++) {
        setting set = {"svm", "hinge", precisions[k], NULL, 33, 4, 1, 1.0, 0.1, 0, 2.0};
        rig r;
        rig_init(&r, &set);
        size_t n = r.model->n_params;
        float *again = drove__alloc(n, sizeof *again);
        drove_rng rng;
        drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 1);
        const drove_layer *l = &r.model->layer[0];
        for (size_t i = 0; i < 33 * 4; i++)
            r.theta[l->w_offset + i] = (float)(5.0 * drove__rng_uniform(&rng) - 2.5);
        for (size_t o = 0; o < 4; o++) r.theta[l->b_offset + o] = (float)o * 1000.0f;
        drove__engine_linear.typed->pack(r.shared, NULL, r.theta, r.words);
        drove__engine_linear.typed->unpack(r.shared, r.words, again);
        double half = k == 2 ? 0.0 : 0.5 * (double)r.shared->model_scale * 1.001;
        for (size_t i = 0; i < 33 * 4; i++) {
            double w = (double)r.theta[l->w_offset + i];
            if (k < 2) w = fmin(fmax(w, -2.0), 2.0);
            assert_true(fabs(w - (double)again[l->w_offset + i]) <= half);
        }
        for (size_t o = 0; o < 4; o++) assert_true(again[l->b_offset + o] == (float)o * 1000.0f);
        drove__free(again);
        rig_fini(&r);
    }
}

/* The range that is found holds what a longer run reaches. */
TEST(the_range_comes_from_the_data)
{
    setting set = {"logistic", "logistic", "D8M16", "shared", 100, 2, 1, 1.0, 0.5, 0, 0.0};
    rig r;
    rig_init(&r, &set);
    assert_true(r.shared->model_range > 0.1 && r.shared->model_range < 100.0);
    assert_int_equal(train(&r, 30), 0);
    rig_fini(&r);
}

/* Parameters that are there before training fit too. */
TEST(the_range_holds_where_training_starts)
{
    setting set = {"logistic", "logistic", "D8M16", "shared", 100, 2, 1, 1.0, 0.01, 0, 0.0};
    rig r;
    rig_init(&r, &set);
    size_t j = r.model->layer[0].w_offset + 7;
    double small = r.shared->model_range;
    r.theta[j] = -9.0f;
    drove_engine_shared *far = NULL;
    drove_prepare_options opt = options_of(&r);
    assert_int_equal(drove__engine_linear.typed->prepare(&opt, &far), DROVE_OK);
    assert_true(small < 9.0 && far->model_range >= 9.0 && far->model_range < 30.0);
    drove__engine_linear.typed->dismiss(far);
    rig_fini(&r);
}

/* Rounded to nearest, a decay by less than half a number changes none, of either sign. */
TEST(a_decay_by_less_than_half_rounds_to_none)
{
    setting set = {"svm", "hinge", "D8M8", "nearest", 40, 2, 1, 1.0, 0.1, 0.0499, 1.0};
    rig r;
    uint32_t row = 0;
    rig_init(&r, &set);
    int8_t *w = (int8_t *)r.words;
    float *b = (float *)(r.words + r.shared->layout.tail);
    for (int j = 0; j < 40; j++) w[j] = j % 2 ? 100 : -100;
    *b = r.storage->y_class[0] == 1 ? 1000.0f : -1000.0f; /* outside the margin: decay alone */
    drove_batch batch = {.data = &r.data, .row = &row, .n_rows = 1};
    drove_steps made;
    assert_int_equal(drove__engine_linear.steps(r.engine, &(drove_params){.words = r.words}, &batch,
                                                0.1f, &made),
                     DROVE_OK);
    for (int j = 0; j < 40; j++) assert_int_equal(w[j], j % 2 ? 100 : -100);
    assert_true(fabs(fabs((double)*b) - 995.01) < 1e-3); /* the pass was made */
    rig_fini(&r);
}

/* ---- errors ---- */

TEST(shrinking_below_nothing_is_refused)
{
    setting set = {"svm", "hinge", "D8M8", NULL, 20, 2, 1, 1.0, 0.1, 9.9, 1};
    rig r;
    rig_init(&r, &set);
    drove_prepare_options opt = options_of(&r);
    drove_engine_shared *none = NULL;
    opt.weight_decay = 10.0;
    assert_int_equal(drove__engine_linear.typed->prepare(&opt, &none), DROVE_E_ARG);
    assert_null(none);
    rig_fini(&r);
}

TEST(a_range_that_floats_cannot_hold_is_refused)
{
    static const double wrong[] = {0.0, 1e-42};
    setting set = {"svm", "hinge", "D8M8", NULL, 20, 2, 1, 1.0, 0.1, 0.0, 1};
    rig r;
    rig_init(&r, &set);
    for (size_t k = 0; k < DROVE_COUNT(wrong); k++)
        assert_int_equal(drove__engine_linear.typed->set_range(r.shared, wrong[k]), DROVE_E_ARG);
    assert_int_equal(drove__engine_linear.typed->set_range(r.shared, 2.0), DROVE_OK);
    assert_true(r.shared->model_range == 2.0);
    rig_fini(&r);
}

TEST(wrong_requests_are_refused)
{
    static const struct {
        const char *precision, *model, *loss;
        double density;
    } wrong[] = {{"D3M5", "logistic", "logistic", 1},   {"D8i8M8", "logistic", "logistic", 1},
                 {"D8M8", "logistic", "logistic", 0.5}, {"D8M8G16f", "logistic", "logistic", 1},
                 {"D8M8G1", "logistic", "logistic", 1}, {"D16fM8", "logistic", "logistic", 1},
                 {"D8M8", "mlp:3", "softmax", 1},       {"D8i4M8", "logistic", "logistic", 0.5}};
    for (size_t k = 0; k < DROVE_COUNT(wrong); k++) {
        setting right = {"logistic",
                         "logistic",
                         wrong[k].density < 1 ? "D8i8M8" : "D8M8",
                         NULL,
                         20,
                         2,
                         1,
                         wrong[k].density,
                         0.1,
                         0,
                         1};
        rig r;
        rig_init(&r, &right);
        drove_model *model = NULL;
        drove_model_io io = {.n_features = 20, .n_classes = 2};
        assert_int_equal(drove__model_create(wrong[k].model, "", wrong[k].loss, &io, &model),
                         DROVE_OK);
        drove_prepare_options opt = options_of(&r);
        opt.model = model;
        opt.precision = wrong[k].precision;
        drove_engine_shared *none = NULL;
        assert_true(drove__engine_linear.typed->prepare(&opt, &none) != DROVE_OK);
        assert_null(none);
        drove__model_destroy(model);
        rig_fini(&r);
    }
}
