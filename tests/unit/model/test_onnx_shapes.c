/* Operators of ONNX that see shapes, or hold numbers of their own, give the outputs of ONNX's
 * definition, worked out by hand here; where drove could not, they are refused. */
#include "unit/model/onnx_made.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float e(float x)
{
    return expf(x);
}

/* A softmax behind a Flatten is over all numbers of the image; before set 13 it is without one. */
TEST(softmax_is_over_what_its_axis_says)
{
    static const float x[] = {0, 1, 2, 0, 1, 1}; /* two channels of 1 x 3 */
    float all[6], channels[6], rows[6];
    const float sum = 2 + 3 * e(1) + e(2);
    for (size_t i = 0; i < 6; i++) {
        all[i] = e(x[i]) / sum;
        channels[i] = e(x[i]) / (e(x[i % 3]) + e(x[3 + i % 3]));
        rows[i] = e(x[i]) / (i < 3 ? 1 + e(1) + e(2) : 1 + 2 * e(1));
    }
    onnx_begin();
    onnx_node("Flatten", "x", "flat");
    onnx_node("Softmax", "flat", "out");
    onnx_computes(2, 1, 3, x, 6, all);
    onnx_begin();
    onnx_set(11);
    onnx_node("Softmax", "x", "out"); /* axis 1: it and all behind it */
    onnx_computes(2, 1, 3, x, 6, all);
    onnx_begin();
    onnx_node("Softmax", "x", "out");
    onnx_int("axis", 1);
    onnx_computes(2, 1, 3, x, 6, channels);
    onnx_begin();
    onnx_set(13);
    onnx_node("Softmax", "x", "out"); /* the last one: not over channels */
    onnx_data(2, 1, 3, 0, "squared");
    onnx_refused("axis: expected that of the channels, 1, found 3 of [N, 2, 1, 3] in set 13");
    onnx_begin();
    onnx_node("Softmax", "x", "out");
    onnx_computes(1, 1, 3, x, 3, rows); /* where there is one channel and row, it is over all */
}

/* A computed size is that of the file: [N, 2, 1, 3] as [N, 3, 2], by Shape, Gather and Concat. */
TEST(reshapes_have_the_sides_that_the_file_computes)
{
    static const float x[] = {1, 2, 3, 4, 5, 6}, sums[] = {3, 7, 11};
    onnx_begin();
    onnx_whole("zero", 1, 0);
    onnx_whole("rest", 2, 3, -1);
    onnx_whole("axes", 1, 2);
    onnx_node("Shape", "x", "shape");
    onnx_node("Gather", "shape,zero", "batch");
    onnx_node("Concat", "batch,rest", "sides");
    onnx_int("axis", 0);
    onnx_node("Reshape", "x,sides", "rows"); /* {1, 2}, {3, 4}, {5, 6} */
    onnx_node("GlobalAveragePool", "rows", "means");
    onnx_whole("flat", 2, 0, -1);
    onnx_node("Reshape", "means,flat", "vector");
    const float *two = onnx_tensor("two", 1, 1);
    onnx_node("Mul", "vector,two", "out");
    float expected[3];
    for (size_t i = 0; i < 3; i++) expected[i] = sums[i] / 2 * two[0];
    onnx_computes(2, 1, 3, x, 3, expected);
}

TEST(reshapes_that_mix_examples_are_refused)
{
    static const struct {
        int n, side[3];
        const char *words;
    } cases[] = {
        {2,
         {-1, 3},
         "the numbers of an example to stay the same, found [N, 2, 1, 3] reshaped to "
         "[-1, 3]"},
        {2, {2, -1}, "each example to stay one row, found [N, 2, 1, 3] reshaped to [2, -1]"},
        {3, {0, 4, -1}, "the numbers of an example to stay the same"},
        {3, {-1, 2, -1}, "each example to stay one row"},
    };
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        onnx_whole("sides", (size_t)cases[c].n, cases[c].side[0], cases[c].side[1],
                   cases[c].side[2]);
        onnx_node("Reshape", "x,sides", "out");
        onnx_data(2, 1, 3, 0, "squared");
        onnx_refused(cases[c].words);
    }
    onnx_begin();
    onnx_node("Flatten", "x", "out");
    onnx_int("axis", 0);
    onnx_data(2, 1, 3, 0, "squared");
    onnx_refused("axis: expected 1, which keeps each example apart, found 0 of [N, 2, 1, 3]");
}

/* An output that is an image is in the order of the file, [c][h][w]. */
TEST(an_image_comes_out_in_the_order_of_the_file)
{
    static const float x[] = {1, -2, 3, -4, 5, 6, -7, 8}, y[] = {1, -1, 3, -2, 5, 6, -3.5f, 8};
    onnx_begin();
    onnx_node("LeakyRelu", "x", "out");
    onnx_real("alpha", 0.5f);
    onnx_computes(2, 2, 2, x, 8, y);
    onnx_begin(); /* also where a part that leads to no output reads it */
    onnx_tensor("w", 2, 8, 3);
    onnx_node("Flatten", "x", "rows");
    onnx_node("LeakyRelu", "rows", "scores");
    onnx_real("alpha", 0.5f);
    onnx_node("MatMul", "scores,w", "unread");
    onnx_node("Identity", "scores", "out");
    onnx_computes(2, 2, 2, x, 8, y);
}

/* As drove's own files have it before a dense layer. */
TEST(channels_may_be_put_last)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; /* two channels of 2 x 3 */
    float last[12], sums[2] = {0, 0};
    for (size_t i = 0; i < 12; i++) last[i] = x[i % 2 * 6 + i / 2];
    onnx_begin();
    onnx_node("Transpose", "x", "out");
    onnx_ints("perm", 4, 0, 2, 3, 1);
    onnx_computes(2, 2, 3, x, 12, last);
    onnx_begin();
    const float *w = onnx_tensor("w", 2, 12, 2);
    onnx_node("Transpose", "x", "turned");
    onnx_ints("perm", 4, 0, 2, 3, 1);
    onnx_node("Flatten", "turned", "rows");
    onnx_node("MatMul", "rows,w", "out");
    for (size_t i = 0; i < 24; i++) sums[i % 2] += last[i / 2] * w[i];
    onnx_computes(2, 2, 3, x, 2, sums);
    onnx_begin();
    onnx_node("Transpose", "x", "out");
    onnx_ints("perm", 4, 0, 2, 1, 3);
    onnx_data(2, 2, 3, 0, "squared");
    onnx_refused("expected images with channels first, and no other order within the network");
}

/* [N][2][2][3], whose channels are the last three: numbers of the data, a row of a table or what
 * they call two channels. */
TEST(channels_of_the_data_may_be_last)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    float first[12];
    for (size_t i = 0; i < 12; i++) first[i] = x[i % 4 * 3 + i / 4];
    onnx_begin();
    onnx_node("Transpose", "x", "out");
    onnx_ints("perm", 4, 0, 3, 1, 2);
    onnx_computes(2, 2, 3, x, 12, first);
}

TEST(arithmetic_with_constants_is_a_layer)
{
    static const float x[] = {1, 2, 3, 4}; /* two channels of 1 x 2 */
    float expected[4];
    onnx_begin();
    const float *mean = onnx_tensor("mean", 4, 1, 2, 1, 1), *std = onnx_tensor("std", 3, 2, 1, 1);
    onnx_node("Sub", "x,mean", "centred");
    onnx_node("Div", "centred,std", "out");
    for (size_t i = 0; i < 4; i++) expected[i] = (x[i] - mean[i / 2]) / std[i / 2];
    onnx_computes(2, 1, 2, x, 4, expected);
    drove_graph g = onnx_accepted();
    assert_ptr_equal(g.node[0].ops, &drove__layer_scale); /* both are one layer */
    assert_int_equal(g.node[0].opt.offset.n, 2);
    assert_int_equal(g.node[0].opt.factor.n, 2);
    drove__graph_fini(&g);
    onnx_begin(); /* one for each number of a row, one for all */
    const float *row = onnx_tensor("row", 1, 2), *one = onnx_tensor("one", 0);
    onnx_node("Add", "row,x", "sum");
    onnx_node("Mul", "one,sum", "out");
    for (size_t i = 0; i < 4; i++) expected[i] = (x[i] + row[i % 2]) * one[0];
    onnx_computes(2, 1, 2, x, 4, expected);
    onnx_begin();
    onnx_tensor("other", 1, 3);
    onnx_node("Mul", "x,other", "out");
    onnx_data(2, 1, 2, 0, "squared");
    onnx_refused("expected constants that fit [N, 2, 1, 2], found [3]");
    onnx_begin();
    onnx_node("Mul", "x,x", "out");
    for (size_t i = 0; i < 4; i++) expected[i] = x[i] * x[i];
    onnx_computes(2, 1, 2, x, 4, expected);
    onnx_begin();
    onnx_tensor("one", 0);
    onnx_node("Div", "one,x", "out");
    onnx_refused("expected a part of the network divided by a constant");
}

TEST(scalers_and_norms_are_layers)
{
    static const float x[] = {3, -4}, offset[] = {1, 2}, factor[] = {2},
                       one[] = {3 / 7.0f, -4 / 7.0f}, two[] = {0.6f, -0.8f}, scaled[] = {4, -12};
    onnx_begin();
    onnx_node("Scaler", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_reals("offset", 2, offset);
    onnx_reals("scale", 1, factor);
    onnx_computes(2, 1, 1, x, 2, scaled);
    for (int power = 1; power <= 2; power++) {
        onnx_begin();
        onnx_node("Normalizer", "x", "out");
        onnx_domain("ai.onnx.ml");
        onnx_word("norm", power == 1 ? "L1" : "L2");
        onnx_computes(2, 1, 1, x, 2, power == 1 ? one : two);
        onnx_begin();
        onnx_node("LpNormalization", "x", "out");
        onnx_int("p", power);
        onnx_computes(2, 1, 1, x, 2, power == 1 ? one : two);
    }
    onnx_begin();
    onnx_node("Normalizer", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_refused("norm: expected L1 or L2, found MAX");
}

TEST(columns_are_gathered)
{
    static const float x[] = {1, 2, 4, 8}, expected[] = {8, 1, 1, 4};
    onnx_begin();
    onnx_whole("list", 4, 3, 0, 0, -2);
    onnx_node("Gather", "x,list", "out");
    onnx_int("axis", -1);
    onnx_computes(4, 1, 1, x, 4, expected);
    onnx_begin();
    onnx_whole("list", 4, 3, 0, 0, 2);
    onnx_node("ArrayFeatureExtractor", "x,list", "out");
    onnx_domain("ai.onnx.ml");
    onnx_computes(4, 1, 1, x, 4, expected);
    static const struct {
        int place, axis;
        size_t height;
        const char *words;
    } rows[] = {
        {4, 1, 1, "(Gather): expected places in [N, 4], found 4"},
        {-5, 1, 1, "(Gather): expected places in [N, 4], found -5"},
        {1, 0, 1,
         "a list of places along axis 1, found [N, 4], a constant of 1 dimensions and "
         "axis 0"},
        {1, 1, 3,
         "a list of places along axis 1, found [N, 4, 3, 1], a constant of 1 dimensions "
         "and axis 1"},
    };
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        onnx_begin();
        onnx_data(4, rows[i].height, 1, 0, "squared");
        onnx_whole("list", 1, rows[i].place);
        onnx_node("Gather", "x,list", "out");
        onnx_int("axis", rows[i].axis);
        onnx_refused(rows[i].words);
    }
}

TEST(bounds_are_attributes_or_constants)
{
    static const float x[] = {-1, 3, 20}, both[] = {0, 3, 6}, high[] = {-1, 3, 10};
    onnx_begin();
    onnx_set(7);
    onnx_node("Clip", "x", "out");
    onnx_real("min", 0);
    onnx_real("max", 6);
    onnx_computes(3, 1, 1, x, 3, both);
    onnx_begin();
    onnx_tensor("ten", 0);
    onnx_node("Clip", "x,,ten", "out");
    onnx_computes(3, 1, 1, x, 3, high);
}

/* An operator that cuts numbers, an attribute that is not known, sets of operators. */
TEST(what_would_compute_something_else_is_refused)
{
    static const int types[] = {6, 7, 9, 2, 10};
    static const char *const names[] = {"int32", "int64", "bool", "uint8", "float16"};
    for (size_t i = 0; i < DROVE_COUNT(types); i++) {
        char words[80];
        onnx_begin();
        onnx_node("Cast", "x", "out");
        onnx_int("to", types[i]);
        snprintf(words, sizeof words, "node \"out\" (Cast): to: expected float or double, found %s",
                 names[i]);
        onnx_refused(words);
    }
    onnx_begin();
    onnx_node("Relu", "x", "out");
    onnx_real("slope", 0.5f);
    onnx_refused("node \"out\" (Relu): slope: expected none");
    onnx_begin();
    onnx_set(6);
    onnx_node("Relu", "x", "out");
    onnx_refused("expected ONNX's set of operators 7 to 28, found 6");
    onnx_begin();
    onnx_set(29);
    onnx_node("Relu", "x", "out");
    onnx_refused("expected ONNX's set of operators 7 to 28, found 29");
    onnx_begin();
    onnx_node("Dropout", "x", "y,mask");
    onnx_node("Relu", "mask", "out");
    onnx_refused("input \"mask\": expected the first output of an operator");
    onnx_begin(); /* the batch's mean and variance as outputs: training, in the older sets */
    onnx_set(13);
    onnx_tensor("c", 1, 3);
    onnx_node("BatchNormalization", "x,c,c,c,c", "out,mean,variance");
    onnx_refused("expected one output, found 3, which mean training");
    onnx_begin();
    onnx_set(14);
    onnx_tensor("c", 1, 3);
    onnx_node("BatchNormalization", "x,c,c,c,c", "out");
    onnx_int("training_mode", 1);
    onnx_refused("training_mode: expected 0, found 1: export the network after model.eval()");
}

/* What looks like a layer's biases is none where the output has other dimensions since. */
TEST(biases_have_the_dimensions_of_their_layer)
{
    onnx_begin();
    onnx_tensor("w", 2, 2, 3);
    onnx_tensor("b", 1, 3);
    onnx_whole("axes", 1, 2);
    onnx_node("MatMul", "x,w", "rows");
    onnx_node("Unsqueeze", "rows,axes", "columns");
    onnx_node("Add", "columns,b", "out"); /* [N, 3, 1] + [3] is [N, 3, 3] */
    onnx_data(2, 1, 1, 0, "squared");
    onnx_refused("node \"out\" (Add): expected constants that fit [N, 3, 1], found [3]");
    onnx_begin();
    onnx_tensor("w", 4, 3, 2, 1, 3);
    onnx_tensor("b", 3, 3, 1, 1);
    onnx_node("Conv", "x,w", "image");
    onnx_node("Flatten", "image", "rows");
    onnx_node("Add", "rows,b", "out"); /* [N, 3] + [3, 1, 1] is [3, N, 3] */
    onnx_data(2, 1, 3, 0, "squared");
    onnx_refused("node \"out\" (Add): expected constants that fit [N, 3], found [3, 1, 1]");
}

/* A network whose outputs are labels is what they are made of, whatever else the file computes. */
TEST(labels_are_of_what_they_are_made_of)
{
    drove_graph g;
    onnx_begin();
    onnx_tensor("w", 2, 2, 3);
    onnx_tensor("v", 2, 2, 3);
    onnx_node("MatMul", "x,v", "unread");
    onnx_node("Relu", "unread", "unread2");
    onnx_node("MatMul", "x,w", "scores");
    onnx_node("Sigmoid", "unread2", "unread3");
    onnx_node("ArgMax", "scores", "class");
    onnx_int("axis", 1);
    onnx_node("Cast", "class", "out");
    onnx_int("to", 6);
    onnx_data(2, 1, 1, 3, "softmax");
    g = onnx_accepted();
    assert_int_equal(g.n_nodes, 1);
    assert_string_equal(g.node[0].name, "w");
    drove__graph_fini(&g);
    onnx_begin(); /* what is computed of labels is none */
    onnx_tensor("w", 2, 2, 3);
    onnx_tensor("two", 0);
    onnx_node("MatMul", "x,w", "scores");
    onnx_node("ArgMax", "scores", "class");
    onnx_int("axis", 1);
    onnx_node("Mul", "class,two", "out");
    onnx_data(2, 1, 1, 3, "softmax");
    onnx_refused("node \"out\" (Mul): expected a part of the network and a constant");
    onnx_begin(); /* nor columns that another part of the network names */
    onnx_node("Relu", "x", "columns");
    onnx_node("ArrayFeatureExtractor", "x,columns", "out");
    onnx_domain("ai.onnx.ml");
    onnx_data(2, 1, 1, 3, "softmax");
    onnx_refused("node \"out\" (ArrayFeatureExtractor): expected labels as its input");
    for (int column = 0; column < 2; column++) { /* of two classes: the second is the network's */
        static const float rows[] = {-1, 2, 1, -2}, biases[] = {-3, 3};
        onnx_begin();
        onnx_whole("column", 1, column);
        onnx_node("LinearClassifier", "x", "label,scores");
        onnx_domain("ai.onnx.ml");
        onnx_reals("coefficients", 4, rows);
        onnx_reals("intercepts", 2, biases);
        onnx_node("ArrayFeatureExtractor", "scores,column", "out");
        onnx_domain("ai.onnx.ml");
        onnx_data(2, 1, 1, 2, "hinge");
        if (column == 0) {
            onnx_refused("node \"out\" (ArrayFeatureExtractor): expected labels as its input");
            continue;
        }
        g = onnx_accepted();
        assert_int_equal(g.n_nodes, 1);
        assert_true(g.node[0].values.w[0] == 1 && g.node[0].values.b[0] == 3);
        drove__graph_fini(&g);
    }
    onnx_begin(); /* sizes by an operator of another domain are not known */
    onnx_whole("first", 1, 0);
    onnx_node("Shape", "x", "sides");
    onnx_node("Gather", "sides,first", "out");
    onnx_domain("com.example");
    onnx_data(2, 1, 1, 3, "softmax");
    onnx_refused("node \"out\" (Gather): drove has no layer for this operator");
}

/* What the loss computes goes; another end stays, or is refused. */
TEST(the_end_suits_the_loss)
{
    static const struct {
        const char *op, *loss, *refused;
        size_t n_classes, n_layers;
    } cases[] = {
        {"Softmax", "softmax", NULL, 3, 1},
        {"Softmax", "squared", NULL, 0, 2},
        {"LogSoftmax", "softmax", NULL, 3, 1},
        {"LogSoftmax", "squared", "expected it at the end of the network, with data of classes", 0,
         0},
        {"Sigmoid", "squared", NULL, 0, 2},
    };
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        onnx_tensor("w", 2, 4, 3);
        onnx_node("MatMul", "x,w", "y");
        onnx_node(cases[c].op, "y", "out");
        onnx_data(4, 1, 1, cases[c].n_classes, cases[c].loss);
        if (cases[c].refused != NULL) {
            onnx_refused(cases[c].refused);
            continue;
        }
        drove_graph g = onnx_accepted();
        assert_int_equal(g.n_nodes, cases[c].n_layers);
        drove__graph_fini(&g);
    }
    onnx_begin(); /* as scikit-learn's classifiers end: the norm of probabilities is 1 */
    onnx_tensor("w", 2, 4, 3);
    onnx_node("MatMul", "x,w", "y");
    onnx_node("Softmax", "y", "p");
    onnx_node("Normalizer", "p", "out");
    onnx_domain("ai.onnx.ml");
    onnx_word("norm", "L1");
    onnx_data(4, 1, 1, 3, "softmax");
    drove_graph g = onnx_accepted();
    assert_int_equal(g.n_nodes, 1);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("w", 2, 4, 3);
    onnx_tensor("two", 0);
    onnx_node("MatMul", "x,w", "y");
    onnx_node("Softmax", "y", "p");
    onnx_node("Mul", "p,two", "out");
    onnx_data(4, 1, 1, 3, "softmax");
    assert_int_equal(onnx_read(&g), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "the network ends in a softmax with layer "
                                               "\"scale3\" as the last"));
    onnx_begin();
    onnx_tensor("w", 2, 4, 1);
    onnx_node("MatMul", "x,w", "y");
    onnx_node("Sigmoid", "y", "p");
    onnx_node("Clip", "p", "out");
    onnx_data(4, 1, 1, 2, "logistic");
    assert_int_equal(onnx_read(&g), DROVE_E_SHAPE);
    assert_non_null(
        strstr(drove_error_text(), "the network ends in a sigmoid with layer \"clip3\""));
    onnx_begin();
    onnx_tensor("w", 2, 4, 3);
    onnx_node("MatMul", "x,w", "y");
    onnx_node("Sigmoid", "y", "out");
    onnx_data(4, 1, 1, 3, "softmax");
    assert_int_equal(onnx_read(&g), DROVE_E_SHAPE);
    assert_non_null(strstr(drove_error_text(), "the network ends in a sigmoid, which the loss "
                                               "softmax does not compute"));
}

static double elu(double v)
{
    return v > 0 ? v : expm1(v);
}
static double selu(double v)
{
    return 1.0507009873554805 * (v > 0 ? v : 1.6732632423543772 * expm1(v));
}
static double hard_sigmoid(double v)
{
    return fmin(fmax(0.2 * v + 0.5, 0), 1);
}
static double hard_swish(double v)
{
    return v * fmin(fmax(v / 6 + 0.5, 0), 1);
}
static double softplus(double v)
{
    return log1p(exp(v));
}
static double logistic(double v)
{
    return 1 / (1 + exp(-v));
}
static double silu(double v)
{
    return v * logistic(v);
}
static double mish(double v)
{
    return v * tanh(softplus(v));
}
static double gelu(double v)
{
    return v * 0.5 * erfc(-v / sqrt(2));
}

/* Each operator with its own number, or the one that ONNX gives it. */
TEST(activations_are_read_with_their_numbers)
{
    static const float x[] = {-4.0f, -0.5f, 0.25f, 7.0f};
    float expected[4];
    static const struct {
        const char *op;
        double (*of)(double v);
    } cases[] = {{"Elu", elu},
                 {"HardSigmoid", hard_sigmoid},
                 {"Softplus", softplus},
                 {"Gelu", gelu},
                 {"HardSwish", hard_swish},
                 {"Swish", silu},
                 {"Erf", erf},
                 {"Mish", mish},
                 {"Selu", selu},
                 {"Sin", sin},
                 {"Sigmoid", logistic}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        onnx_node(cases[c].op, "x", "y"); /* no sigmoid is at the end */
        onnx_node("Mul", "y,y", "out");
        for (size_t i = 0; i < 4; i++) expected[i] = (float)pow(cases[c].of((double)x[i]), 2);
        onnx_computes(4, 1, 1, x, 4, expected);
    }
    onnx_begin();
    onnx_node("Elu", "x", "y");
    onnx_real("alpha", 2.0f);
    onnx_node("Mul", "y,y", "out");
    for (size_t i = 0; i < 4; i++)
        expected[i] = x[i] > 0 ? x[i] * x[i] : (float)pow(2 * expm1((double)x[i]), 2);
    onnx_computes(4, 1, 1, x, 4, expected);
    onnx_begin();
    onnx_node("Gelu", "x", "out");
    onnx_word("approximate", "cubic");
    onnx_refused("approximate: expected none or tanh, found cubic");
    onnx_begin();
    onnx_node("HardSigmoid", "x", "out");
    onnx_real("alpha", 1e9f);
    onnx_refused("alpha: expected -1e6 to 1e6, found 1e+09");
}

/* A description names the numbers of activations that have such, and no others. */
TEST(activations_without_numbers_name_none)
{
    drove_graph g;
    char *text = NULL;
    onnx_begin();
    onnx_node("Relu", "x", "y");
    onnx_node("Gelu", "y", "z");
    onnx_node("Elu", "z", "out");
    onnx_real("alpha", 2.0f);
    onnx_data(4, 1, 1, 0, "squared");
    if (onnx_read(&g) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(drove__graph_print_yaml(&g, &text), DROVE_OK);
    const char *slope = strstr(text, "slope");
    assert_true(slope != NULL && strncmp(slope, "slope: 2}", 9) == 0);
    assert_true(strstr(slope + 1, "slope") == NULL && strstr(text, "level") == NULL);
    free(text);
    drove__graph_fini(&g);
}

/* An image and a number for each of its channels, in either order; no other broadcasting. */
TEST(products_of_two_parts_are_by_number_or_channel)
{
    static const float x[] = {1, 2, 3, 5}, expected[] = {1.5f, 3, 12, 20};
    static const char *const inputs[] = {"x,g", "g,x"};
    for (size_t i = 0; i < DROVE_COUNT(inputs); i++) {
        onnx_begin();
        onnx_node("GlobalAveragePool", "x", "g");
        onnx_node("Mul", inputs[i], "out");
        onnx_computes(2, 1, 2, x, 4, expected);
    }
    onnx_begin();
    onnx_node("Flatten", "x", "f");
    onnx_node("Mul", "x,f", "out");
    onnx_data(2, 1, 2, 0, "squared");
    onnx_refused("expected inputs of one shape, or a number for each channel of the other, found "
                 "[N, 2, 1, 2] and [N, 4]");
}
