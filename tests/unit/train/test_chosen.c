/* What runs choose by themselves, from data in memory: the scale of targets, the step size of a
 * hinge by the length of its rows, the model, and what they say of it.
 * ctest: slow: compares models by trial runs */
#include "support/test.h"

#include "config/options.h"

#include <drove/drove.h>

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 200, WIDTH = 6, CLASSES = 3 };

static char said[4096]; /* all messages of the last run */

static void keep_message(void *context, const char *line)
{
    (void)context;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* Trains with one thread and the program's choices; the caller destroys the result. */
static drove_result *train(const char *data, const char *options[][2], size_t n)
{
    static const char *const fixed[][2] = {{"threads", "1"},
                                           {"test", "none"},
                                           {"until", "epochs=2"}};
    const drove_callbacks callbacks = {.message = keep_message};
    drove_options o = drove__options_default();
    drove_run *run;
    drove_result *result;
    said[0] = '\0';
    assert_int_equal(drove_options_set(&o, "data", data), DROVE_OK);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        assert_int_equal(drove_options_set(&o, fixed[i][0], fixed[i][1]), DROVE_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(drove_options_set(&o, options[i][0], options[i][1]), DROVE_OK);
    assert_int_equal(drove_run_create(&o, &run), DROVE_OK);
    drove_run_set_callbacks(run, &callbacks);
    drove_run_keep_model(run);
    if (drove_run_train(run, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_run_destroy(run);
    return result;
}

static double figure(const drove_result *result, const char *key)
{
    json_t *all = json_loads(drove_result_json(result), 0, NULL);
    assert_non_null(all);
    const double value = json_number_value(json_object_get(all, key));
    json_decref(all);
    return value;
}

static double draw(void)
{
    static uint64_t state = 5; /* Knuth's MMIX */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 53);
}

/* ---- targets ---- */

/* Targets are standardised: where all are four times as large, every step is the same, and the
 * squared loss is 16 times as large. */
TEST(the_scale_of_targets_makes_no_difference)
{
    static float x[ROWS][WIDTH], y[ROWS];
    const char *options[][2] = {
        {"model", "mlp:5"}, {"loss", "squared"}, {"lr", "0.02"}, {"strategy", "sequential"}};
    double loss[2], initial[2];
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < WIDTH; k++) x[i][k] = (float)(draw() - 0.5);
        y[i] = 100.0f + 8.0f * x[i][0] * x[i][1] + 2.0f * x[i][2];
    }
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, WIDTH);
    for (int k = 0; k < 2; k++) {
        drove_arrays *arrays;
        const drove_matrix values = drove_matrix_dense(y, DROVE_TYPE_F32, ROWS, 1);
        assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
        assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
        assert_int_equal(drove_arrays_set_values(arrays, &values), DROVE_OK);
        drove_result *result = train(drove_arrays_name(arrays), options, 4);
        loss[k] = figure(result, "loss");
        initial[k] = figure(result, "loss_initial");
        drove_result_destroy(result);
        drove_arrays_destroy(arrays);
        for (size_t i = 0; i < ROWS; i++) y[i] *= 4.0f;
    }
    assert_true(fabs(initial[1] / initial[0] / 16.0 - 1.0) < 1e-3);
    assert_true(fabs(loss[1] / loss[0] / 16.0 - 1.0) < 1e-3);
    /* of standardised targets the first loss is about half a variance, in the targets' unit */
    assert_true(initial[0] < 20.0 && loss[0] < initial[0]);
}

/* ---- the step size of a hinge ---- */

/* The step size that a run takes: sparse rows of two numbers, `times` over, `factor` as large. */
static double lr_of_hinge(double factor, unsigned times)
{
    static uint32_t start[4 * ROWS + 1], index[8 * ROWS];
    static float value[8 * ROWS];
    static uint32_t class[4 * ROWS];
    const size_t n = (size_t)times * ROWS;
    const char *options[][2] = {{"model", "svm"}, {"rule", "sgd"}, {"batch", "10"}, {"lr", "auto"}};
    for (size_t i = 0; i < n; i++) {
        const size_t row = i % ROWS;
        class[i] = (uint32_t)(row % CLASSES);
        start[i + 1] = start[i] + 2;
        index[2 * i] = (uint32_t)(row % CLASSES);
        index[2 * i + 1] = (uint32_t)(CLASSES + row % 2);
        value[2 * i] = (float)(3.0 * factor); /* a length of 9 + 16 */
        value[2 * i + 1] = (float)(4.0 * factor);
    }
    const drove_sparse rows = {n,     WIDTH,          start, index, DROVE_TYPE_U32, DROVE_TYPE_U32,
                               value, DROVE_TYPE_F32, 0};
    const drove_matrix classes = drove_matrix_dense(class, DROVE_TYPE_U32, n, 1);
    drove_arrays *arrays;
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_sparse(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_classes(arrays, &classes, CLASSES, NULL), DROVE_OK);
    char data[64];
    snprintf(data, sizeof data, "%s?scale=none", drove_arrays_name(arrays));
    drove_result *result = train(data, options, 4);
    const double lr = figure(result, "lr");
    drove_result_destroy(result);
    drove_arrays_destroy(arrays);
    return lr;
}

/* A step moves the margin of each of 10 rows by lr / 10 times its squared length: by 0.3. */
TEST(a_step_moves_the_margin)
{
    assert_true(fabs(lr_of_hinge(1.0, 1) * 25.0 / 10.0 - 0.3) < 1e-5);
    assert_non_null(strstr(said, "(by the margin and the length of the rows)"));
    assert_null(strstr(said, "--strategy")); /* nothing was to be chosen of it */
    assert_true(fabs(lr_of_hinge(2.0, 1) * 100.0 / 10.0 - 0.3) < 1e-5);
    assert_true(fabs(lr_of_hinge(1.0, 4) * 25.0 / 10.0 - 0.3) < 1e-5);
}

/* ---- trials ---- */

/* The summary has the trials in the order of their step sizes, each with its own loss; the choice
 * is one of them, by one thread.  The schedule lasts as long as the run, be it one epoch. */
TEST(trials_in_the_summary)
{
    const char *options[][2] = {
        {"model", "mlp:4"}, {"rule", "sgd"}, {"batch", "4"}, {"lr", "auto"}, {"until", "epochs=1"}};
    drove_result *result = train("synth:logistic?n=20000&d=6", options, 5);
    json_t *summary = json_loads(drove_result_json(result), 0, NULL);
    const json_t *trials = json_object_get(json_object_get(summary, "tuning"), "trials");
    const double chosen = json_number_value(json_object_get(summary, "lr"));
    double before = 0.0;
    bool is_there = false;
    assert_true(json_array_size(trials) > 2);
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *trial = json_array_get(trials, i);
        const double lr = json_number_value(json_object_get(trial, "lr"));
        assert_true(lr > before);
        is_there |= fabs(lr / chosen - 1.0) < 1e-6;
        before = lr;
    }
    assert_true(is_there);
    assert_non_null(strstr(said, "--schedule cosine:1 "));
    json_decref(summary);
    drove_result_destroy(result);
}

/* A budget of updates so large that its batches cannot be counted is none: the seconds end it.
 * Five times this number, modulo 2^64, is 4. */
TEST(more_updates_than_can_be_counted)
{
    const char *options[][2] = {{"model", "logistic"},
                                {"lr", "0.01"},
                                {"threads", "5"},
                                {"strategy", "sync"},
                                {"until", "updates=3689348814741910324,seconds=0.2"}};
    drove_result *result = train("synth:logistic?n=200&d=4", options, 5);
    assert_int_equal(drove_result_outcome(result), DROVE_FINISHED);
    assert_true(figure(result, "updates") > 10);
    drove_result_destroy(result);
}

/* ---- targets far from 0 ---- */

/* Two values of each example, each with an origin of its own. */
TEST(predictions_have_the_origin_of_their_value)
{
    static double x[ROWS][WIDTH], y[ROWS][2], *found;
    static const double origin[2] = {3e9, -7e9};
    const char *options[][2] = {{"model", "linear"}, {"lr", "0.01"}, {"strategy", "sequential"}};
    drove_arrays *arrays;
    drove_predictor *p;
    float *floats;
    size_t n;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < WIDTH; k++) x[i][k] = draw();
        y[i][0] = origin[0] + 20 * x[i][0];
        y[i][1] = origin[1] - 40 * x[i][1];
    }
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F64, ROWS, WIDTH),
                       values = drove_matrix_dense(y, DROVE_TYPE_F64, ROWS, 2);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_values(arrays, &values), DROVE_OK);
    drove_result *result = train(drove_arrays_name(arrays), options, 3);
    assert_int_equal(drove_predictor_open(drove_result_model(result), "", &p), DROVE_OK);
    assert_int_equal(drove_predictor_apply_f64(p, drove_arrays_name(arrays), 1, &found, &n),
                     DROVE_OK);
    assert_int_equal(n, ROWS);
    for (size_t i = 0; i < 2 * n; i++) assert_true(fabs(found[i] - origin[i % 2]) < 100);
    free(found);
    assert_int_equal(drove_predictor_apply(p, drove_arrays_name(arrays), 1, &floats, &n), DROVE_OK);
    for (size_t i = 0; i < 2 * n; i++) /* a float has 256 between neighbours, or 512 */
        assert_true(fabs((double)floats[i] - origin[i % 2]) < 1000);
    free(floats);
    drove_predictor_destroy(p);
    drove_result_destroy(result);
    drove_arrays_destroy(arrays);
}
