/* A trainer's passes: the parameters are those of a run of the same steps, whatever the pieces,
 * the kind of rows and the targets' units; wrong input changes nothing. */
#include "system/run_support.h"
#include "support/status.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drove/drove.h>

enum { N = 120, D = 12, CLASSES = 3 };

typedef struct problem {
    float x[N][D];
    int32_t y[N];
    double value[N];
    drove_arrays *classes, *values;
} problem;

static drove_arrays *arrays_of(const problem *p, size_t n, bool has_values)
{
    drove_arrays *arrays;
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, n, D);
    const drove_matrix y = drove_matrix_dense(p->y, DROVE_TYPE_I32, n, 1);
    const drove_matrix value = drove_matrix_dense(p->value, DROVE_TYPE_F64, n, 1);
    assert_ok(drove_arrays_create(&arrays));
    assert_ok(drove_arrays_set_dense(arrays, &x));
    if (has_values) assert_ok(drove_arrays_set_values(arrays, &value));
    else assert_ok(drove_arrays_set_classes(arrays, &y, CLASSES, NULL));
    return arrays;
}

FIXTURE(make_problem)
{
    problem *p = calloc(1, sizeof *p);
    uint32_t random = 1;
    for (int i = 0; i < N; i++) {
        p->y[i] = i % CLASSES;
        p->value[i] = 5e4;
        for (int j = 0; j < D; j++) {
            random = random * 1664525u + 1013904223u;
            p->x[i][j] = (float)(random >> 8) * 0x1p-24f + (j % CLASSES == p->y[i] ? 0.5f : 0.0f);
            if (j % 4 == 1) p->x[i][j] = 0.0f; /* as sparse rows they are shorter */
            p->value[i] += 1e4 * (double)p->x[i][j] * (j % 2 == 0 ? 1.0 : -2.0);
        }
    }
    p->classes = arrays_of(p, N, false);
    p->values = arrays_of(p, N, true);
    *state = p;
    return 0;
}

FIXTURE(free_problem)
{
    problem *p = *state;
    drove_arrays_destroy(p->classes);
    drove_arrays_destroy(p->values);
    free(p);
    return 0;
}

GROUP(make_problem, free_problem);

static drove_options options_for(const char *model, const char *rule, const char *lr,
                                 const char *batch)
{
    drove_options opt = drove__options_default();
    set(&opt, "test", "none");
    set(&opt, "model", model);
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "rule", rule);
    set(&opt, "lr", lr);
    set(&opt, "schedule", "constant");
    set(&opt, "batch", batch);
    return opt;
}

/* By a run, for so many epochs. */
static drove_predictor *run_on(drove_options opt, const char *data, const char *until)
{
    set(&opt, "data", data);
    set(&opt, "until", until);
    return train_predictor(&opt);
}

static drove_predictor *run_for(drove_options opt, const drove_arrays *rows, const char *until)
{
    return run_on(opt, drove_arrays_name(rows), until);
}

static drove_predictor *first_model(const drove_arrays *rows, const char *model)
{
    return run_for(options_for(model, "sgd", "0.01", "32"), rows, "epochs=1");
}

static drove_trainer *open_trainer(const drove_predictor *from, const char *rule, const char *lr,
                                   const char *batch)
{
    drove_trainer *t;
    const drove_options opt = options_for(drove_predictor_name(from), rule, lr, batch);
    assert_ok(drove_trainer_open(&opt, &t));
    return t;
}

/* One pass; returns its loss.  *n_calls: of advance, each for one step. */
static double pass(drove_trainer *t, const drove_arrays *rows, size_t *n_calls)
{
    int is_over = 0;
    double loss = NAN;
    assert_ok(drove_trainer_begin(t, rows));
    for (*n_calls = 0; !is_over; (*n_calls)++)
        assert_ok(drove_trainer_advance(t, 0.0, &is_over, &loss));
    return loss;
}

static double passes(drove_trainer *t, const drove_arrays *rows, int n)
{
    double loss = NAN;
    int is_over;
    for (int i = 0; i < n; i++) {
        assert_ok(drove_trainer_begin(t, rows));
        assert_ok(drove_trainer_advance(t, 1e9, &is_over, &loss));
        assert_true(is_over);
    }
    return loss;
}

static drove_predictor *model_of(const drove_trainer *t)
{
    char name[64];
    drove_memory_file *file;
    drove_predictor *predictor;
    assert_ok(drove_trainer_model(t, &file));
    snprintf(name, sizeof name, "%s.safetensors", drove_memory_file_name(file));
    assert_ok(drove_predictor_open(name, NULL, &predictor));
    drove_memory_file_destroy(file);
    return predictor;
}

/* The largest difference of two models' parameters. */
static double distance(const drove_predictor *a, const drove_predictor *b)
{
    double most = 0.0;
    const size_t n = drove_predictor_describe(a)->n_tensors;
    assert_int_equal(n, drove_predictor_describe(b)->n_tensors);
    for (size_t i = 0; i < n; i++) {
        drove_tensor_info s, t;
        assert_ok(drove_predictor_tensor(a, i, &s));
        assert_ok(drove_predictor_tensor(b, i, &t));
        assert_int_equal(s.n, t.n);
        for (size_t k = 0; s.values != NULL && k < s.n; k++)
            most = fmax(most, fabs((double)s.values[k] - (double)t.values[k]));
    }
    return most;
}

static void assert_near(const drove_predictor *a, const drove_predictor *b, double most)
{
    const double found = distance(a, b);
    if (!(found <= most)) fail_msg("expected a difference up to %g, found %g", most, found);
}

/* ---- the same steps ---- */

TEST(passes_are_epochs_of_a_run)
{
    problem *p = *state;
    static const char *const rules[] = {"sgd", "momentum:0.9", "nesterov:0.9", "adam", "cocob"};
    drove_predictor *start = first_model(p->classes, "mlp:8");
    for (size_t r = 0; r < DROVE_COUNT(rules); r++) {
        /* A batch of all rows: their order does not matter. */
        drove_options opt = options_for(drove_predictor_name(start), rules[r], "0.1", "120");
        set(&opt, "weight_decay", "0.01");
        set(&opt, "clip", "0.5");
        drove_predictor *expected = run_for(opt, p->classes, "epochs=6");
        drove_trainer *t;
        assert_ok(drove_trainer_open(&opt, &t));
        passes(t, p->classes, 6);
        drove_predictor *found = model_of(t);
        if (!(distance(start, found) > 1e-3)) fail_msg("%s: %g", rules[r], distance(start, found));
        assert_near(expected, found, 2e-5);
        drove_predictor_destroy(expected);
        drove_predictor_destroy(found);
        drove_trainer_destroy(t);
    }
    drove_predictor_destroy(start);
}

TEST(pieces_of_a_pass_are_the_pass)
{
    problem *p = *state;
    size_t n_calls, n_state;
    uint64_t n_updates;
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_trainer *whole = open_trainer(start, "adam", "0.01", "32");
    drove_trainer *pieces = open_trainer(start, "adam", "0.01", "32");
    double first = passes(whole, p->classes, 1), last = passes(whole, p->classes, 20);
    assert_true(last < 0.9 * first);
    for (int i = 0; i < 21; i++) {
        const double loss = pass(pieces, p->classes, &n_calls);
        assert_int_equal(n_calls, (N + 31) / 32);
        if (i == 20) assert_true(loss == last);
    }
    drove_predictor *a = model_of(whole), *b = model_of(pieces);
    assert_true(distance(a, b) == 0.0);
    assert_non_null(drove_trainer_state(whole, &n_state, &n_updates));
    assert_int_equal(n_updates, 21 * ((N + 31) / 32));
    drove_predictor_destroy(a);
    drove_predictor_destroy(b);
    drove_predictor_destroy(start);
    drove_trainer_destroy(whole);
    drove_trainer_destroy(pieces);
}

static void move_state(const problem *p, const char *batch)
{
    size_t n;
    uint64_t n_updates;
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_trainer *whole = open_trainer(start, "adam", "0.01", batch);
    passes(whole, p->classes, 3);
    drove_predictor *middle = model_of(whole);
    drove_trainer *other = open_trainer(middle, "adam", "0.01", batch);
    drove_trainer *forgetful = open_trainer(middle, "adam", "0.01", batch);
    const float *numbers = drove_trainer_state(whole, &n, &n_updates);
    assert_int_equal(drove_trainer_set_state(other, numbers, n - 1, n_updates), DROVE_E_SHAPE);
    assert_ok(drove_trainer_set_state(other, numbers, n, n_updates));
    passes(whole, p->classes, 3);
    passes(other, p->classes, 3);
    passes(forgetful, p->classes, 3);
    drove_predictor *a = model_of(whole), *b = model_of(other), *c = model_of(forgetful);
    assert_near(a, b, 1e-6);
    assert_true(distance(a, c) > 1e-4);
    drove_predictor *const predictors[] = {start, middle, a, b, c};
    for (size_t i = 0; i < DROVE_COUNT(predictors); i++) drove_predictor_destroy(predictors[i]);
    drove_trainer_destroy(whole);
    drove_trainer_destroy(other);
    drove_trainer_destroy(forgetful);
}

TEST(state_moves_to_another_trainer)
{
    move_state(*state, "120");
    move_state(*state, "32"); /* with the order of the rows */
}

/* ---- rows and targets ---- */

/* The rows of p as sparse ones: p keeps the first `most` columns alone. */
static drove_arrays *cut_to_sparse(problem *p, int most)
{
    static int64_t start[N + 1];
    static int32_t index[N * D];
    static float value[N * D];
    drove_arrays *arrays;
    for (int i = 0; i < N; i++) {
        start[i + 1] = start[i];
        for (int j = 0; j < D; j++) {
            if (j >= most) p->x[i][j] = 0.0f;
            if (p->x[i][j] == 0.0f) continue;
            index[start[i + 1]] = j;
            value[start[i + 1]++] = p->x[i][j];
        }
    }
    const drove_sparse x = {.n_rows = N,
                            .n_columns = D,
                            .start = start,
                            .index = index,
                            .start_type = DROVE_TYPE_I64,
                            .index_type = DROVE_TYPE_I32,
                            .value = value,
                            .value_type = DROVE_TYPE_F32};
    const drove_matrix y = drove_matrix_dense(p->y, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_create(&arrays));
    assert_ok(drove_arrays_set_sparse(arrays, &x));
    assert_ok(drove_arrays_set_classes(arrays, &y, CLASSES, NULL));
    return arrays;
}

static drove_predictor *unscaled_linear_model(const drove_arrays *rows)
{
    char data[64];
    snprintf(data, sizeof data, "%s?scale=none", drove_arrays_name(rows));
    return run_on(options_for("linear", "sgd", "0.01", "32"), data, "epochs=1");
}

static void copy_parameters(const drove_predictor *from, drove_predictor *to)
{
    drove_tensor_info t;
    for (size_t i = 0; i < drove_predictor_describe(from)->n_tensors; i++) {
        assert_ok(drove_predictor_tensor(from, i, &t));
        if (t.values != NULL) assert_ok(drove_predictor_set_tensor(to, t.name, t.values, t.n));
    }
}

/* A linear model on dense rows, and on sparse ones that are longer in each pass. */
TEST(sparse_rows_are_dense_rows)
{
    problem *p = *state, whole = *p;
    drove_arrays *sparse_whole = cut_to_sparse(&whole, D);
    drove_predictor *first = unscaled_linear_model(p->classes);
    drove_predictor *first_sparse = unscaled_linear_model(sparse_whole);
    copy_parameters(first, first_sparse);
    drove_trainer *dense = open_trainer(first, "sgd", "0.1", "16");
    drove_trainer *sparse = open_trainer(first_sparse, "sgd", "0.1", "16");
    assert_int_not_equal(drove_trainer_begin(dense, sparse_whole), DROVE_OK);
    drove_arrays_destroy(sparse_whole);
    for (int most = 1; most <= D; most += 5) {
        problem cut = *p;
        drove_arrays *of_sparse = cut_to_sparse(&cut, most), *of_dense = arrays_of(&cut, N, false);
        passes(dense, of_dense, 2);
        passes(sparse, of_sparse, 2);
        drove_predictor *a = model_of(dense), *b = model_of(sparse);
        assert_near(a, b, 1e-5);
        drove_predictor_destroy(a);
        drove_predictor_destroy(b);
        drove_arrays_destroy(of_dense);
        drove_arrays_destroy(of_sparse);
    }
    drove_predictor_destroy(first);
    drove_predictor_destroy(first_sparse);
    drove_trainer_destroy(dense);
    drove_trainer_destroy(sparse);
}

/* Half of the rows weigh 2, the others nothing: as those rows alone. */
TEST(weights_are_shares_of_the_gradient)
{
    problem *p = *state;
    float weight[N];
    for (int i = 0; i < N; i++) weight[i] = i < N / 2 ? 2.0f : 0.0f;
    const drove_matrix weights = drove_matrix_dense(weight, DROVE_TYPE_F32, N, 1);
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_trainer *weighted = open_trainer(start, "sgd", "0.1", "120");
    drove_trainer *half = open_trainer(start, "sgd", "0.1", "60");
    drove_arrays *all = arrays_of(p, N, false), *some = arrays_of(p, N / 2, false);
    assert_ok(drove_arrays_set_weights(all, &weights));
    passes(weighted, all, 5);
    passes(half, some, 5);
    drove_predictor *a = model_of(weighted), *b = model_of(half);
    assert_near(a, b, 1e-5);
    for (int i = 0; i < N; i++) weight[i] = 0.0f;
    assert_ok(drove_arrays_set_weights(all, &weights));
    assert_int_equal(drove_trainer_begin(weighted, all), DROVE_E_DATA);
    drove_predictor_destroy(a);
    drove_predictor_destroy(b);
    drove_predictor_destroy(start);
    drove_trainer_destroy(weighted);
    drove_trainer_destroy(half);
    drove_arrays_destroy(all);
    drove_arrays_destroy(some);
}

/* Targets of some 50,000: a network learns them in their own scale alone. */
TEST(targets_are_scaled_and_models_are_not)
{
    problem *p = *state;
    double mean = 0.0, square = 0.0, loss;
    int is_over;
    for (int i = 0; i < N; i++) mean += p->value[i] / N;
    for (int i = 0; i < N; i++) square += (p->value[i] - mean) * (p->value[i] - mean) / N;
    const double scale = sqrt(square), none = 0.0;
    drove_predictor *start = first_model(p->values, "mlp:8");
    drove_trainer *t = open_trainer(start, "sgd", "0.1", "32");
    assert_int_equal(drove_trainer_scale_targets(t, &mean, &none, 1), DROVE_E_ARG);
    assert_int_equal(drove_trainer_scale_targets(t, &mean, &scale, 2), DROVE_E_SHAPE);
    assert_ok(drove_trainer_scale_targets(t, &mean, &scale, 1));
    drove_predictor *same = model_of(t);
    assert_near(start, same, 0.05); /* of numbers up to 5e4: only rounded */
    assert_int_equal(drove_trainer_scale_targets(t, &mean, &scale, 1), DROVE_E_ARG);
    loss = passes(t, p->values, 60);
    if (!(loss < 0.05 * square))
        fail_msg("expected a loss below %g, found %g", 0.05 * square, loss);
    drove_predictor *found = model_of(t);
    float out[N];
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D);
    double error = 0.0;
    assert_ok(drove_predictor_rows(found, &x, out));
    for (int i = 0; i < N; i++) error += pow((double)out[i] - p->value[i], 2.0) / N;
    assert_true(error < 0.1 * square);

    drove_trainer *plain = open_trainer(start, "sgd", "0.1", "32");
    drove_status status = DROVE_OK;
    for (int i = 0; i < 60 && status == DROVE_OK; i++) {
        assert_ok(drove_trainer_begin(plain, p->values));
        status = drove_trainer_advance(plain, 1e9, &is_over, &loss);
    }
    assert_int_equal(status, DROVE_E_NONFINITE);
    assert_true(is_over);
    assert_int_equal(drove_trainer_advance(plain, 1e9, &is_over, &loss), DROVE_E_ARG);
    drove_predictor_destroy(start);
    drove_predictor_destroy(same);
    drove_predictor_destroy(found);
    drove_trainer_destroy(t);
    drove_trainer_destroy(plain);
}

/* A run that goes on from a model of values has their scale as well. */
TEST(a_run_goes_on_in_the_scale_of_its_targets)
{
    problem *p = *state;
    drove_options opt = drove__options_default();
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:8");
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "lr", "0.1");
    set(&opt, "rule", "sgd");
    drove_predictor *first = run_for(opt, p->values, "epochs=20");
    set(&opt, "model", drove_predictor_name(first));
    drove_predictor *second = run_for(opt, p->values, "epochs=60");
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D);
    float before[N], after[N];
    double error[2] = {0.0, 0.0};
    assert_ok(drove_predictor_rows(first, &x, before));
    assert_ok(drove_predictor_rows(second, &x, after));
    for (int i = 0; i < N; i++) {
        error[0] += pow((double)before[i] - p->value[i], 2.0);
        error[1] += pow((double)after[i] - p->value[i], 2.0);
    }
    assert_true(error[1] < 0.9 * error[0]);
    drove_predictor_destroy(first);
    drove_predictor_destroy(second);
}

/* ---- what is refused ---- */

static void refuse(drove_options opt, const char *name, const char *value, drove_status expected)
{
    drove_trainer *t;
    set(&opt, name, value);
    assert_int_equal(drove_trainer_open(&opt, &t), expected);
    assert_null(t);
    assert_non_null(strstr(drove_error_text(), "trainer"));
}

TEST(wrong_options_are_refused)
{
    problem *p = *state;
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_options opt = options_for(drove_predictor_name(start), "sgd", "0.1", "32");
    refuse(opt, "model", "mlp:8", DROVE_E_ARG);
    refuse(opt, "rule", "auto", DROVE_E_ARG);
    refuse(opt, "lr", "auto", DROVE_E_ARG);
    refuse(opt, "batch", "auto", DROVE_E_ARG);
    refuse(opt, "schedule", "cosine:10", DROVE_E_UNSUPPORTED);
    refuse(opt, "precision", "bf16", DROVE_E_UNSUPPORTED);
    drove_trainer *t;
    set(&opt, "loss", "squared");
    assert_int_equal(drove_trainer_open(&opt, &t), DROVE_E_ARG);
    drove_predictor_destroy(start);
}

TEST(wrong_rows_change_nothing)
{
    problem *p = *state;
    int is_over;
    double loss;
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_trainer *t = open_trainer(start, "sgd", "0.1", "32");
    problem wrong = *p;
    wrong.x[3][1] = NAN;
    drove_arrays *nan = arrays_of(&wrong, N, false), *narrow, *others;
    const drove_matrix x = drove_matrix_dense(p->x, DROVE_TYPE_F32, N, D - 1);
    const drove_matrix y = drove_matrix_dense(wrong.y, DROVE_TYPE_I32, N, 1);
    assert_ok(drove_arrays_create(&narrow));
    assert_ok(drove_arrays_set_dense(narrow, &x));
    assert_ok(drove_arrays_set_classes(narrow, &y, CLASSES, NULL));
    others = arrays_of(p, N, false);
    wrong.y[7] = CLASSES;
    assert_ok(drove_arrays_set_classes(others, &y, CLASSES + 1, NULL));
    assert_int_equal(drove_trainer_begin(t, nan), DROVE_E_DATA);
    assert_int_equal(drove_trainer_begin(t, narrow), DROVE_E_SHAPE);
    assert_int_not_equal(drove_trainer_begin(t, others), DROVE_OK);
    assert_int_not_equal(drove_trainer_begin(t, p->values), DROVE_OK);
    assert_int_equal(drove_trainer_advance(t, 1.0, &is_over, &loss), DROVE_E_ARG);
    drove_predictor *found = model_of(t);
    assert_true(distance(start, found) == 0.0);
    assert_ok(drove_trainer_begin(t, p->classes)); /* is destroyed in the middle of a pass */
    assert_ok(drove_trainer_advance(t, 0.0, &is_over, &loss));
    assert_false(is_over);
    drove_predictor_destroy(start);
    drove_predictor_destroy(found);
    drove_trainer_destroy(t);
    drove_arrays_destroy(nan);
    drove_arrays_destroy(narrow);
    drove_arrays_destroy(others);
}

/* ---- a loss of the program's own that fails in the middle of a pass ---- */

/* (z - t)^2 / 2; *context: so many calls are left, the next one fails. */
static drove_status moody(void *context, const drove_loss_batch *b)
{
    int *left = context;
    if ((*left)-- == 0) {
        snprintf(b->why, b->why_size, "enough");
        return DROVE_E_DATA;
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        const float error = b->outputs[i] - b->values[i];
        b->loss[i] = 0.5f * error * error;
        if (b->derivative != NULL) b->derivative[i] = error;
    }
    return DROVE_OK;
}

static drove_trainer *open_moody(drove_options opt, int *left, const drove_predictor *from)
{
    const drove_custom_loss loss = {.name = "moody", .context = left, .eval = moody};
    drove_trainer *t;
    set(&opt, "model", drove_predictor_name(from));
    assert_ok(drove_options_set_loss(&opt, &loss));
    assert_ok(drove_trainer_open(&opt, &t));
    return t;
}

/* The steps before the failure stay; what was kept before the pass leads back, momentum too. */
TEST(a_pass_that_fails_can_be_taken_back)
{
    const problem *p = *state;
    enum { ENOUGH = 1 << 30, N_MADE = 2 };
    int left = ENOUGH, well = ENOUGH, is_over = 0;
    size_t n_numbers;
    uint64_t n_updates;
    float kept[4 * D];
    double loss;
    const drove_options opt = options_for("linear", "momentum:0.9", "1e-6", "32");
    drove_options with_loss = opt;
    const drove_custom_loss own = {.name = "moody", .context = &well, .eval = moody};
    assert_ok(drove_options_set_loss(&with_loss, &own));
    drove_predictor *start = run_for(with_loss, p->values, "epochs=1");
    drove_trainer *whole = open_moody(opt, &well, start), *fails = open_moody(opt, &left, start);
    passes(whole, p->values, 2);
    passes(fails, p->values, 2);
    drove_predictor *before = model_of(fails);
    const float *numbers = drove_trainer_state(fails, &n_numbers, &n_updates);
    assert_in_range(n_numbers, D, DROVE_COUNT(kept));
    memcpy(kept, numbers, n_numbers * sizeof *kept);

    left = N_MADE;
    assert_ok(drove_trainer_begin(fails, p->values));
    assert_int_equal(drove_trainer_advance(fails, 60.0, &is_over, &loss), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "loss moody: enough"));
    assert_true(is_over);
    assert_ok(drove_trainer_begin(whole, p->values));
    for (int i = 0; i < N_MADE; i++) assert_ok(drove_trainer_advance(whole, 0.0, &is_over, &loss));
    drove_predictor *a = model_of(whole), *b = model_of(fails);
    assert_true(distance(a, b) == 0.0);
    assert_true(distance(a, before) > 0.0);

    drove_trainer *back = open_moody(opt, &well, before);
    assert_ok(drove_trainer_set_state(back, kept, n_numbers, n_updates));
    passes(back, p->values, 1);
    assert_ok(drove_trainer_advance(whole, 60.0, &is_over, &loss));
    drove_predictor *c = model_of(whole), *d = model_of(back);
    assert_true(distance(c, d) == 0.0);
    drove_predictor *const predictors[] = {start, before, a, b, c, d};
    for (size_t i = 0; i < DROVE_COUNT(predictors); i++) drove_predictor_destroy(predictors[i]);
    drove_trainer_destroy(whole);
    drove_trainer_destroy(fails);
    drove_trainer_destroy(back);
}

/* ---- threads ---- */

typedef struct learner {
    const problem *p;
    drove_trainer *t;
} learner;

static void *learn(void *argument)
{
    learner *l = argument;
    passes(l->t, l->p->classes, 30);
    return NULL;
}

TEST(two_trainers_at_once)
{
    problem *p = *state;
    pthread_t thread[2];
    learner l[2];
    drove_predictor *start = first_model(p->classes, "mlp:8");
    drove_trainer *alone = open_trainer(start, "adam", "0.01", "7");
    passes(alone, p->classes, 30);
    drove_predictor *expected = model_of(alone);
    for (int i = 0; i < 2; i++) {
        l[i] = (learner){p, open_trainer(start, "adam", "0.01", "7")};
        assert_int_equal(pthread_create(&thread[i], NULL, learn, &l[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        drove_predictor *found = model_of(l[i].t);
        assert_true(distance(expected, found) == 0.0);
        drove_predictor_destroy(found);
        drove_trainer_destroy(l[i].t);
    }
    drove_predictor_destroy(start);
    drove_predictor_destroy(expected);
    drove_trainer_destroy(alone);
}
