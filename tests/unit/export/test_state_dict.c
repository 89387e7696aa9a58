/* Networks as a state_dict of PyTorch: the tensors of the file, multiplied by plain loops in the
 * order of PyTorch's modules, predict from raw numbers what drove does. */
#include "export/export.h"
#include "support/files.h"
#include "support/test.h"
#include "trained.h"

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *header; /* of a safetensors file: name -> dtype, shape, data_offsets */
static char *bytes;
static const float *numbers;
static char said[16][128];
static size_t n_said;

static void keep_line(void *context, const char *text)
{
    (void)context;
    assert_true(n_said < 16);
    snprintf(said[n_said++], sizeof said[0], "%s", text);
}

static void export_state(const char *folder)
{
    uint64_t n_header;
    size_t n_bytes;
    const drove_export_options opt = {.model = folder, .out = "state.st", .line = keep_line};
    n_said = 0;
    if (drove_export_pytorch(&opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    bytes = read_bytes("state.st", &n_bytes);
    memcpy(&n_header, bytes, sizeof n_header);
    header = json_loadb(bytes + 8, n_header, 0, NULL);
    assert_non_null(header);
    numbers = (const float *)(const void *)(bytes + 8 + n_header);
}

static void close_state(void)
{
    json_decref(header);
    free(bytes);
}

/* The tensor of this name, whose shape must be this one. */
static const float *tensor(const char *name, const char *shape)
{
    const json_t *t = json_object_get(header, name), *sides = json_object_get(t, "shape");
    char found[64] = "";
    for (size_t i = 0; i < json_array_size(sides); i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", i > 0 ? " x " : "",
                 (int)json_integer_value(json_array_get(sides, i)));
    assert_string_equal(found, shape);
    assert_string_equal(json_string_value(json_object_get(t, "dtype")), "F32");
    return numbers + json_integer_value(json_array_get(json_object_get(t, "data_offsets"), 0)) / 4;
}

/* y = x w + b, w [n_out][n_in] */
static void linear(const float *w, const float *b, size_t n_in, size_t n_out, const double *x,
                   double *y)
{
    for (size_t i = 0; i < n_out; i++) {
        y[i] = b[i];
        for (size_t k = 0; k < n_in; k++) y[i] += (double)w[i * n_in + k] * x[k];
    }
}

/* An mlp with a scaling of its inputs, which the first layer has in its weights. */
TEST(an_mlp_of_raw_numbers)
{
    enum { ROWS = 10, IN = 6, HIDDEN = 5 };
    float x[ROWS * IN], *wanted;
    size_t n_rows;
    drove_predictor *p;
    drove_arrays *arrays;
    for (size_t i = 0; i < ROWS * IN; i++) x[i] = (float)sin((double)i * 1.7) * 3;
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, IN);
    train_into("mlp", "synth:logistic?n=60&d=6&scale=standard", "mlp:5", "activation", "tanh",
               "loss", "softmax", NULL);
    export_state("mlp");
    const float *w1 = tensor("layer0.weight", "5 x 6"), *b1 = tensor("layer0.bias", "5"),
                *w2 = tensor("layer1.weight", "2 x 5"), *b2 = tensor("layer1.bias", "2");
    const json_t *meta = json_object_get(header, "__metadata__");
    assert_int_equal(json_object_size(header), 5);
    assert_string_equal(json_string_value(json_object_get(meta, "format")), "pt");
    assert_string_equal(json_string_value(json_object_get(meta, "model")), "mlp:5");
    assert_int_equal(drove_predictor_open("mlp", "ref", &p), DROVE_OK);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_predictor_apply(p, drove_arrays_name(arrays), 1, &wanted, &n_rows),
                     DROVE_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double in[IN], hidden[HIDDEN], z[2];
        for (size_t k = 0; k < IN; k++) in[k] = x[i * IN + k];
        linear(w1, b1, IN, HIDDEN, in, hidden);
        for (size_t k = 0; k < HIDDEN; k++) hidden[k] = tanh(hidden[k]);
        linear(w2, b2, HIDDEN, 2, hidden, z);
        for (size_t k = 0; k < 2; k++) /* softmax of two */
            assert_true(fabs(wanted[2 * i + k] - 1 / (1 + exp(z[1 - k] - z[k]))) < 1e-5);
    }
    static const char *const lines[] = {
        "tensor  layer0.weight                5 x 6",
        "tensor  layer0.bias                  5",
        "tensor  layer1.weight                2 x 5",
        "tensor  layer1.bias                  2",
        "input   6 numbers, as in the data",
        "output  2 numbers, before what the loss softmax makes of them"};
    assert_int_equal(n_said, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < n_said; i++) assert_string_equal(said[i], lines[i]);
    free(wanted);
    drove_arrays_destroy(arrays);
    drove_predictor_destroy(p);
    close_state();
}

/* A convolution, a batch normalisation and a dense layer that reads the image. */
TEST(a_network_of_images)
{
    enum { ROWS = 8, SIDE = 6, IN = 3, OUT = 4, INNER = SIDE - 2, CLASSES = 3 };
    static uint8_t pixel[ROWS * IN * SIDE * SIDE];
    float *wanted;
    size_t n_rows;
    drove_predictor *p;
    drove_arrays *arrays;
    for (size_t i = 0; i < sizeof pixel; i++) pixel[i] = (uint8_t)(i * 37 % 256);
    const drove_matrix rows = drove_matrix_dense(pixel, DROVE_TYPE_U8, ROWS, IN * SIDE * SIDE);
    write_text("net.yaml", "layers:\n"
                           "  - {name: conv, type: convolution, channels: 4, kernel: 3}\n"
                           "  - {name: norm, type: batch_norm, activation: relu}\n"
                           "  - {name: out, type: dense}\n");
    train_into("net", "synth:images?n=24&classes=3&size=6&scale=none", "net.yaml", "init", "he",
               "lr", "1e-4", NULL);
    export_state("net");
    const float *w = tensor("conv.weight", "4 x 3 x 3 x 3"), *b = tensor("conv.bias", "4");
    const float *scale = tensor("norm.weight", "4"), *shift = tensor("norm.bias", "4"),
                *mean = tensor("norm.running_mean", "4"), *var = tensor("norm.running_var", "4");
    const float *w2 = tensor("out.weight", "3 x 64"), *b2 = tensor("out.bias", "3");
    assert_string_equal(said[n_said - 2], "input   108 numbers from 0 to 255, as in the data");
    assert_int_equal(drove_predictor_open("net", "ref", &p), DROVE_OK);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_images(arrays, IN, SIDE, SIDE), DROVE_OK);
    if (drove_predictor_apply(p, drove_arrays_name(arrays), 1, &wanted, &n_rows) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    for (size_t i = 0; i < ROWS; i++) {
        double flat[OUT * INNER * INNER], z[CLASSES], sum = 0;
        for (size_t k = 0; k < OUT * INNER * INNER; k++) { /* [o][row][col] */
            const size_t o = k / (INNER * INNER), row = k / INNER % INNER, col = k % INNER;
            double v = b[o];
            for (size_t c = 0; c < IN; c++)
                for (size_t t = 0; t < 9; t++)
                    v += (double)w[(o * IN + c) * 9 + t] *
                         pixel[((i * IN + c) * SIDE + row + t / 3) * SIDE + col + t % 3];
            v = (v - mean[o]) / sqrt(var[o] + 1e-5) * scale[o] + shift[o];
            flat[k] = v > 0 ? v : 0;
        }
        linear(w2, b2, OUT * INNER * INNER, CLASSES, flat, z);
        for (size_t k = 0; k < CLASSES; k++) sum += exp(z[k] - z[0]);
        for (size_t k = 0; k < CLASSES; k++)
            assert_true(fabs(wanted[CLASSES * i + k] - exp(z[k] - z[0]) / sum) < 1e-4);
    }
    free(wanted);
    drove_arrays_destroy(arrays);
    drove_predictor_destroy(p);
    close_state();
}

TEST(what_a_state_cannot_have)
{
    static const struct {
        const char *data, *model, *name, *value, *words;
    } cases[] = {
        {"mixed.csv", "linear", "label", "y", "found one with a table, whose columns it encodes"},
        {"synth:logistic?n=20&d=3", "logistic", "features", "rff:8",
         "found one with a feature map"},
        {"synth:images?n=12&size=8&crop=6", "mlp:4", "lr", "0.01",
         "found one with parts that are cut out of images"},
        {"synth:images?n=12&size=8&scale=standard", "norm.yaml", "lr", "0.01",
         "layer norm: the scaling of its inputs (standard) cannot be multiplied into it"},
    };
    write_mixed("mixed.csv");
    write_text("norm.yaml", "layers:\n"
                            "  - {name: norm, type: batch_norm}\n"
                            "  - {name: out, type: dense}\n");
    (void)unlink("refused.st");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const drove_export_options opt = {.model = "refused", .out = "refused.st"};
        train_into("refused", cases[i].data, cases[i].model, cases[i].name, cases[i].value, NULL);
        assert_int_equal(drove_export_pytorch(&opt), DROVE_E_UNSUPPORTED);
        if (strstr(drove_error_text(), cases[i].words) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", cases[i].words, drove_error_text());
        assert_true(access("refused.st", F_OK) != 0);
    }
}
