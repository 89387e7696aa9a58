/* Exported graphs, computed operator by operator (onnx_run.h), give what drove predicts: tables
 * with columns of every kind, each loss, scaled and sparse numbers, feature maps, images and every
 * kind of layer. */
#include "export/export.h"
#include "onnx_run.h"
#include "support/files.h"
#include "support/test.h"
#include "trained.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 2e-5; /* of the largest prediction: sums in another order */

static onnx_run run;
static Drove__Onnx__Model *model;
static drove_predictor *predictor;

/* Exports the model of a folder and opens it. */
static void open_both(const char *folder)
{
    size_t n_bytes;
    const drove_export_options opt = {.model = folder, .out = "values.onnx"};
    if (drove_export_onnx(&opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    char *bytes = read_bytes("values.onnx", &n_bytes);
    model = drove__onnx__model__unpack(NULL, n_bytes, (const uint8_t *)bytes);
    free(bytes);
    assert_non_null(model);
    assert_int_equal(drove_predictor_open(folder, "ref", &predictor), DROVE_OK);
}

static void close_both(void)
{
    onnx_run_fini(&run);
    if (model != NULL) drove__onnx__model__free_unpacked(model, NULL);
    drove_predictor_destroy(predictor);
    model = NULL;
    predictor = NULL;
}

/* What a case that failed left behind. */
FIXTURE(close_all)
{
    close_both();
    return 0;
}

/* Outputs of the graph, after its inputs are in `run`, against predicted[n_rows][n_outputs].
 * Where two numbers lead by less than the tolerance, either label may be given. */
static void expect_predictions(const double *predicted, size_t n_rows)
{
    const drove_predictor_facts *facts = drove_predictor_describe(predictor);
    const size_t n_outputs = facts->n_outputs;
    const bool has_label = facts->n_classes > 0 && !facts->is_multi_label;
    const bool is_pair = has_label && n_outputs == 1 && facts->gives_probability;
    double largest = 0;
    onnx_compute(&run, model->graph);
    const onnx_value *y = onnx_get(&run, facts->n_classes == 0      ? "values"
                                         : facts->gives_probability ? "probabilities"
                                                                    : "scores");
    assert_int_equal(model->graph->n_output, 1 + has_label);
    assert_int_equal(y->n, n_rows * (is_pair ? 2 : n_outputs));
    for (size_t i = 0; i < n_rows * n_outputs; i++) largest = fmax(largest, fabs(predicted[i]));
    assert_true(largest > 0);
    for (size_t i = 0; i < n_rows * n_outputs; i++) {
        const double found = y->number[is_pair ? 2 * i + 1 : i];
        if (!(fabs(found - predicted[i]) <= tolerance * largest))
            fail_msg("row %zu, output %zu: expected %g, found %g", i / n_outputs, i % n_outputs,
                     predicted[i], found);
        if (is_pair) assert_true(fabs(y->number[2 * i] + found - 1) < 1e-6);
    }
    if (!has_label) return;
    const onnx_value *label = onnx_get(&run, "label");
    assert_int_equal(label->n, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        const double *p = predicted + i * n_outputs, middle = facts->gives_probability ? 0.5 : 0;
        size_t best = n_outputs == 1 ? p[0] > middle : 0;
        double lead = n_outputs == 1 ? fabs(p[0] - middle) : INFINITY;
        for (size_t k = 1; k < n_outputs; k++)
            if (p[k] > p[best]) best = k;
        for (size_t k = 0; k < n_outputs; k++)
            if (n_outputs > 1 && k != best) lead = fmin(lead, p[best] - p[k]);
        char number[24];
        const char *name = drove_predictor_class_name(predictor, best);
        snprintf(number, sizeof number, "%zu", best);
        if (lead > tolerance) assert_string_equal(label->text[i], name != NULL ? name : number);
    }
}

/* ---- tables ---- */

static void compare_table(const char *folder)
{
    static const size_t dims[] = {MIXED_ROWS, 1};
    double *predicted;
    size_t n_rows;
    open_both(folder);
    for (size_t i = 0; i < model->graph->n_input; i++) {
        const Drove__Onnx__Value *input = model->graph->input[i];
        size_t c = 0;
        while (c < MIXED_COLUMNS && strcmp(mixed_name[c], input->name) != 0) c++;
        assert_true(c < MIXED_COLUMNS);
        onnx_value *v = onnx_add(&run, input->name, input->type->tensor_type->elem_type, dims, 2);
        for (size_t r = 0; r < MIXED_ROWS; r++) {
            const char *cell = mixed_cell[r][c];
            if (v->text != NULL) v->text[r] = cell;
            else if (c == 2 || c == 3) v->number[r] = days_of(cell);
            else v->number[r] = cell[0] != '\0' ? (float)atof(cell) : NAN;
        }
    }
    if (drove_predictor_apply_f64(predictor, "new.csv", 1, &predicted, &n_rows) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(n_rows, MIXED_ROWS);
    expect_predictions(predicted, n_rows);
    free(predicted);
    close_both();
}

/* new.csv: the same rows, but for a value that the training data do not have. */
static void write_tables(void)
{
    write_mixed("mixed.csv");
    write_mixed("new.csv");
    char *text = read_bytes("new.csv", NULL), *at = strstr(text, ",x y,");
    assert_non_null(at);
    memcpy(at, ",x z,", 5);
    write_text("new.csv", text);
    free(text);
    for (size_t r = 0; r < MIXED_ROWS; r++)
        if (strcmp(mixed_cell[r][4], "x y") == 0) {
            strcpy(mixed_cell[r][4], "x z");
            break;
        }
}

TEST_WITH(columns_of_every_kind, NULL, close_all)
{
    write_tables();
    train_into("table", "mixed.csv?types=smokes:boolean", "mlp:8", "label", "y", NULL);
    compare_table("table");
    train_into("bins", "mixed.csv?bins=6", "mlp:5", "label", "kind", NULL);
    compare_table("bins");
    train_into("hashed", "mixed.csv?onehot=3&hash=64", "mlp:6", "label", "y", NULL);
    compare_table("hashed");
    train_into("classes", "mixed.csv", "linear", "label", "zone", NULL);
    compare_table("classes");
    train_into("two", "mixed.csv", "linear", "label", "age+y", NULL);
    compare_table("two");
}

/* ---- rows of numbers ---- */

static double draw(void)
{
    static uint64_t state = 7; /* Knuth's MMIX */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 53);
}

/* 20 examples of the sides, drawn anew: bytes, or floats up to `most`. */
static void compare_numbers(const char *folder, const size_t *sides, size_t n_sides, bool is_bytes,
                            double most)
{
    enum { ROWS = 20, MOST = 4096 };
    static uint8_t bytes[ROWS * MOST];
    static float floats[ROWS * MOST];
    size_t dims[4] = {ROWS}, width = 1, n_rows;
    double *predicted;
    drove_arrays *arrays;
    open_both(folder);
    for (size_t i = 0; i < n_sides; i++) width *= dims[i + 1] = sides[i];
    assert_true(width <= MOST);
    const Drove__Onnx__Value *input = model->graph->input[0];
    const Drove__Onnx__TensorType *type = input->type->tensor_type;
    assert_int_equal(model->graph->n_input, 1);
    assert_int_equal(type->shape->n_dim, n_sides + 1);
    for (size_t i = 0; i < n_sides; i++) assert_int_equal(type->shape->dim[i + 1]->value, sides[i]);
    onnx_value *x = onnx_add(&run, input->name, type->elem_type, dims, n_sides + 1);
    for (size_t i = 0; i < ROWS * width; i++) {
        bytes[i] = (uint8_t)(256 * draw());
        floats[i] = (float)((draw() - 0.5) * 2 * most);
        x->number[i] = is_bytes ? bytes[i] : floats[i];
    }
    const drove_matrix rows = is_bytes ? drove_matrix_dense(bytes, DROVE_TYPE_U8, ROWS, width)
                                       : drove_matrix_dense(floats, DROVE_TYPE_F32, ROWS, width);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    if (drove_predictor_describe(predictor)->is_sparse) {
        static uint32_t start[ROWS + 1], index[ROWS * MOST];
        for (size_t i = 0; i <= ROWS; i++) start[i] = (uint32_t)(i * width);
        for (size_t i = 0; i < ROWS * width; i++) index[i] = (uint32_t)(i % width);
        const drove_sparse all = {ROWS,           width,  start,          index, DROVE_TYPE_U32,
                                  DROVE_TYPE_U32, floats, DROVE_TYPE_F32, 0};
        assert_int_equal(drove_arrays_set_sparse(arrays, &all), DROVE_OK);
    } else assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    if (n_sides == 3)
        assert_int_equal(drove_arrays_set_images(arrays, sides[0], sides[1], sides[2]), DROVE_OK);
    if (drove_predictor_apply_f64(predictor, drove_arrays_name(arrays), 1, &predicted, &n_rows) !=
        DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(n_rows, ROWS);
    expect_predictions(predicted, n_rows);
    free(predicted);
    drove_arrays_destroy(arrays);
    close_both();
}

TEST_WITH(numbers_and_losses, NULL, close_all)
{
    static const size_t d = 20;
    static const char data[] = "synth:logistic?n=100&d=20";
    train_into("logistic", data, "logistic", NULL);
    compare_numbers("logistic", &d, 1, false, 3);
    train_into("svm", data, "svm", NULL);
    compare_numbers("svm", &d, 1, false, 3);
    train_into("softmax", data, "mlp:7,5", "loss", "softmax", "activation", "tanh", NULL);
    compare_numbers("softmax", &d, 1, false, 3);
    train_into("squared", data, "mlp:7", "loss", "squared", "activation", "sigmoid", NULL);
    compare_numbers("squared", &d, 1, false, 3);
    train_into("unit", "synth:logistic?n=100&d=20&scale=unit", "logistic", NULL);
    compare_numbers("unit", &d, 1, false, 3);
    train_into("raw", "synth:logistic?n=100&d=20&scale=none", "logistic", NULL);
    compare_numbers("raw", &d, 1, false, 3);
    train_into("fourier", data, "logistic", "features", "rff:30", NULL);
    compare_numbers("fourier", &d, 1, false, 3);
}

/* Sparse data are scaled by the factors alone. */
TEST_WITH(sparse_numbers_and_sets_of_labels, NULL, close_all)
{
    static const size_t d = 12;
    FILE *one = fopen("one.svm", "w"), *labels = fopen("labels.svm", "w");
    assert_true(one != NULL && labels != NULL);
    for (int i = 0; i < 60; i++) {
        fprintf(one, "%d", i % 4);
        fprintf(labels, "%d,%d", i % 4, (i + 1) % 4);
        for (int f = 1; f <= 12; f++) {
            if (f % 4 != i % 4 && draw() > 0.2) continue;
            const double value = 3 * draw();
            fprintf(one, " %d:%.3f", f, value);
            fprintf(labels, " %d:%.3f", f, value);
        }
        fprintf(one, "\n");
        fprintf(labels, "\n");
    }
    assert_int_equal(fclose(one) + fclose(labels), 0);
    train_into("sparse", "libsvm:one.svm?scale=standard", "mlp:6", NULL);
    compare_numbers("sparse", &d, 1, false, 3);
    train_into("hinge", "libsvm:one.svm?scale=standard", "svm", NULL);
    compare_numbers("hinge", &d, 1, false, 3);
    train_into("sets", "libsvm:labels.svm", "mlp:6", NULL);
    compare_numbers("sets", &d, 1, false, 3);
}

/* Numbers that are large beside their spread, and such a target, are doubles: of a table, where it
 * is one column, and of an array. */
TEST_WITH(far_numbers, NULL, close_all)
{
    enum { ROWS = 80 };
    static double x[ROWS][2], y[ROWS], *predicted;
    static const size_t dims[] = {ROWS, 1}, both[] = {ROWS, 2};
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F64, ROWS, 2),
                       values = drove_matrix_dense(y, DROVE_TYPE_F64, ROWS, 1);
    size_t n_rows;
    drove_arrays *arrays;
    FILE *f = fopen("far.csv", "w");
    assert_non_null(f);
    fputs("ms,k,y\n", f);
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = 1700000000000 + floor(100000 * draw());
        x[i][1] = floor(1e4 * draw()) / 1e4;
        y[i] = 1e9 + (x[i][0] - 1700000000000) / 1000 + floor(5 * x[i][1]);
        fprintf(f, "%.0f,%.4f,%.3f\n", x[i][0], x[i][1], y[i]);
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_values(arrays, &values), DROVE_OK);
    const char *const data[] = {"far.csv", drove_arrays_name(arrays)};
    for (int is_array = 0; is_array < 2; is_array++) {
        train_into("far", data[is_array], "mlp:5", is_array ? NULL : "label", "y", NULL);
        open_both("far");
        assert_int_equal(model->graph->n_input, is_array ? 1 : 2);
        for (size_t c = 0; c < model->graph->n_input; c++) {
            const Drove__Onnx__Value *input = model->graph->input[c];
            const int32_t type = input->type->tensor_type->elem_type;
            onnx_value *v = onnx_add(&run, input->name, type, is_array ? both : dims, 2);
            assert_int_equal(type, c == 0 ? DROVE_ONNX_DOUBLE : DROVE_ONNX_FLOAT);
            for (size_t i = 0; i < ROWS; i++) v->number[i] = c == 0 ? x[i][c] : (float)x[i][c];
            if (is_array) memcpy(v->number, x, sizeof x);
        }
        assert_int_equal(
            drove_predictor_apply_f64(predictor, data[is_array], 1, &predicted, &n_rows), DROVE_OK);
        for (size_t i = 0; i < n_rows; i++) predicted[i] -= 1e9;
        onnx_compute(&run, model->graph);
        const onnx_value *found = onnx_get(&run, "values");
        assert_int_equal(found->type, DROVE_ONNX_DOUBLE);
        for (size_t i = 0; i < n_rows; i++) /* of a spread of 100 */
            assert_true(fabs(found->number[i] - 1e9 - predicted[i]) < 1e-3);
        free(predicted);
        close_both();
    }
    drove_arrays_destroy(arrays);
}

/* ---- images ---- */

static const char graph[] =
    "layers:\n"
    "  - {name: norm0, type: batch_norm}\n"
    "  - {name: conv1, type: convolution, channels: 8, kernel: [3, 5], pad: [1, 2], groups: 1,"
    " activation: relu}\n"
    "  - {name: norm1, type: batch_norm, activation: tanh}\n"
    "  - {name: pool1, type: average_pool, kernel: 3, stride: 2, pad: 1, rounds_up: true}\n"
    "  - {name: dilated, type: convolution, inputs: pool1, channels: 8, kernel: 3, pad: 2,"
    " dilation: 2, groups: 4, bias: false}\n"
    "  - {name: same, type: lrn, inputs: pool1, size: 3, alpha: 0.5, beta: 0.6, kappa: 2}\n"
    "  - {name: both, type: sum, inputs: [dilated, same], coefficients: [1, -0.5],"
    " activation: sigmoid}\n"
    "  - {name: all, type: concat, inputs: [both, pool1]}\n"
    "  - {name: drop, type: dropout}\n"
    "  - {name: pool2, type: max_pool, kernel: 2, stride: 3, rounds_up: true}\n"
    "  - {name: soft, type: softmax}\n"
    "  - {name: vector, type: flatten}\n"
    "  - {name: pixels, type: flatten, inputs: data}\n"
    "  - {name: hidden, type: dense, units: 6, inputs: pixels, activation: relu}\n"
    "  - {name: direct, type: dense, units: 5, inputs: data}\n"
    "  - {name: mean, type: average_pool, inputs: all, global: true}\n"
    "  - {name: mixed, type: concat, inputs: [vector, hidden, direct]}\n"
    "  - {name: norm2, type: batch_norm}\n"
    "  - {name: more, type: concat, inputs: [norm2, mean]}\n"
    "  - {name: act, type: activation, activation: tanh}\n"
    "  - {name: out, type: dense}\n";
static const char fixed[] =
    "layers:\n"
    "  - {name: raised, type: scale, offsets: [0.25], factors: [2, -1, 0.5]}\n"
    "  - {name: conv1, type: convolution, channels: 4, kernel: 3}\n"
    "  - {name: slope, type: activation, activation: leaky_relu, slope: 0.2}\n"
    "  - {name: turned, type: reshape, channels: 8, height: 7, width: 14}\n"
    "  - {name: bounds, type: clip, low: -0.5, high: 0.75}\n"
    "  - {name: conv2, type: convolution, channels: 3, kernel: 3, activation: tanh}\n"
    "  - {name: length, type: normalize}\n"
    "  - {name: offset, type: scale, offsets: [0.01, 0.02, -0.03]}\n"
    "  - {name: vector, type: reshape}\n"
    "  - {name: pixels, type: gather, inputs: data, index: [767, 0-255x2, 300]}\n"
    "  - {name: steps, type: scale, offsets: [100], factors: [0.01]}\n"
    "  - {name: smooth, type: activation, activation: smooth_clip, level: 0.75}\n"
    "  - {name: waves, type: activation, activation: sin, slope: 3}\n"
    "  - {name: levels, type: clip, low: 0, high: 1}\n"
    "  - {name: corners, type: gather, inputs: offset, index: [5, 0, 119-130, 0]}\n"
    "  - {name: turns, type: gather, inputs: vector, index: [3x4, 2, 1]}\n"
    "  - {name: together, type: concat, inputs: [vector, levels, corners, turns]}\n"
    "  - {name: sum, type: normalize, power: 1}\n"
    "  - {name: each, type: scale, factors: [30]}\n"
    "  - {name: out, type: dense}\n";

TEST_WITH(networks_of_images, NULL, close_all)
{
    static const size_t sides[] = {3, 12, 12}, wide[] = {3, 16, 16}, tall[] = {3, 20, 20};
    write_text("graph.yaml", graph);
    write_text("fixed.yaml", fixed);
    train_into("graph", "synth:images?n=12&classes=4&size=12", "graph.yaml", "init", "he", NULL);
    compare_numbers("graph", sides, 3, true, 0);
    train_into("fixed", "synth:images?n=12&classes=4&size=16&scale=none", "fixed.yaml", "init",
               "he", "lr", "1e-4", NULL);
    compare_numbers("fixed", wide, 3, true, 0);
    train_into("crop",
               "synth:images?n=12&classes=4&size=20&crop=13x12&pad=2&scale=unit-mean-channel",
               "graph.yaml", "init", "he", NULL);
    compare_numbers("crop", tall, 3, true, 0);
}
