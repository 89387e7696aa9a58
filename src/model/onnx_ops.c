/* model/onnx_ops.c - ONNX's operators that can be imported: how each becomes a layer.
 *
 * A Flatten, or a Reshape to two dimensions, is left out: drove's dense layers read images, and the
 * rows of their weights are put in its order (graph_values.c).
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16, MOST_CHANNELS = 1 << 24 };

/* ---- parameters ---- */

static bool is_given(const drove_onnx_node *n, size_t input)
{
    return n->n_inputs > input && n->input[input].kind != DROVE_ONNX_NONE;
}

/* A constant of n numbers along one side; the others are 1. */
static drove_status take_vector(drove_onnx_reader *r, const drove_onnx_node *n, size_t input,
                                size_t n_wanted, float **out)
{
    const drove_onnx_value *v = &n->input[input];
    if (v->kind != DROVE_ONNX_CONSTANT || drove__onnx_count(v->tensor) != n_wanted)
        return drove__onnx_fail(r, n, "expected %zu constant numbers as input %zu", n_wanted,
                                input + 1);
    return drove__onnx_floats_of(r, n, v->tensor, out);
}

/* A constant matrix as w[n_in][n_out]; is_transposed: it is [n_out][n_in] in the file. */
static drove_status take_matrix(drove_onnx_reader *r, const drove_onnx_node *n, bool is_transposed,
                                drove_node_values *to, size_t *n_out)
{
    const drove_onnx_value *v = &n->input[1];
    if (v->kind != DROVE_ONNX_CONSTANT || v->tensor->n_dims != 2 ||
        drove__onnx_count(v->tensor) == SIZE_MAX)
        return drove__onnx_fail(r, n, "expected a constant matrix as its second input");
    is_transposed = is_transposed != v->is_transposed;
    const size_t rows = (size_t)v->tensor->dims[0], cols = (size_t)v->tensor->dims[1];
    const size_t n_in = is_transposed ? cols : rows;
    *n_out = is_transposed ? rows : cols;
    float *w, *turned;
    DROVE_TRY(drove__onnx_floats_of(r, n, v->tensor, &w));
    to->w = w;
    to->n_w = rows * cols;
    to->n_in = n_in;
    if (!is_transposed) return DROVE_OK;
    turned = malloc(to->n_w * sizeof *turned);
    if (turned == NULL) return drove__fail_nomem("parameters", to->n_w * sizeof *turned);
    for (size_t o = 0; o < rows; o++) {
        for (size_t i = 0; i < cols; i++) turned[i * rows + o] = w[o * cols + i];
    }
    free(w);
    to->w = turned;
    return DROVE_OK;
}

static drove_status check_units(drove_onnx_reader *r, const drove_onnx_node *n, size_t n_out)
{
    if (n_out <= MOST_CHANNELS) return DROVE_OK;
    return drove__onnx_fail(r, n, "expected at most %d outputs, found %zu", MOST_CHANNELS, n_out);
}

/* ---- dense layers ---- */

static drove_status read_gemm(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t trans_a = 0, trans_b = 0;
    float alpha = 1, beta = 1;
    drove_node *node;
    if (n->n_inputs < 2) return drove__onnx_fail(r, n, "expected two inputs or three");
    DROVE_TRY(drove__onnx_int(r, n, "transA", 0, 0, &trans_a));
    DROVE_TRY(drove__onnx_int(r, n, "transB", 0, 1, &trans_b));
    DROVE_TRY(drove__onnx_real(r, n, "alpha", &alpha));
    DROVE_TRY(drove__onnx_real(r, n, "beta", &beta));
    if (alpha != 1 || (beta != 1 && is_given(n, 2)))
        return drove__onnx_fail(r, n, "expected alpha and beta of 1, found %g and %g",
                                (double)alpha, (double)beta);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_dense, n->input[1].name, &node));
    DROVE_TRY(take_matrix(r, n, trans_b != 0, &node->values, &node->opt.n_out));
    DROVE_TRY(check_units(r, n, node->opt.n_out));
    node->opt.no_bias = !is_given(n, 2);
    if (node->opt.no_bias) return DROVE_OK;
    node->values.n_b = node->opt.n_out;
    return take_vector(r, n, 2, node->opt.n_out, &node->values.b);
}

static drove_status read_matmul(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    if (n->n_inputs != 2) return drove__onnx_fail(r, n, "expected two inputs");
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_dense, n->input[1].name, &node));
    node->opt.no_bias = true;
    DROVE_TRY(take_matrix(r, n, false, &node->values, &node->opt.n_out));
    return check_units(r, n, node->opt.n_out);
}

/* Inputs of the node become those of the layer; all are parts of the network. */
static drove_status take_bottoms(drove_onnx_reader *r, const drove_onnx_node *n, drove_node *node)
{
    for (size_t i = 0; i < n->n_inputs; i++) {
        if (n->input[i].kind != DROVE_ONNX_BLOB)
            return drove__onnx_fail(r, n, "expected parts of the network as its inputs");
        memcpy(node->bottom[i], n->input[i].graph, sizeof node->bottom[i]);
    }
    node->n_bottoms = (unsigned)n->n_inputs;
    return DROVE_OK;
}

static drove_status read_sum(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_sum, NULL, &node));
    return take_bottoms(r, n, node);
}

/* The biases of a MatMul; or the sum of two parts of the network. */
static drove_status read_add(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs != 2) return drove__onnx_fail(r, n, "expected two inputs");
    const size_t constant = n->input[0].kind == DROVE_ONNX_CONSTANT ? 0 : 1;
    const drove_onnx_value *of = &n->input[1 - constant];
    if (n->input[constant].kind != DROVE_ONNX_CONSTANT) return read_sum(r, n);
    drove_node *node = of->kind == DROVE_ONNX_BLOB && of->node != DROVE_ONNX_NO_NODE
                           ? &r->graph.node[of->node]
                           : NULL;
    if (node == NULL || node->ops != &drove__layer_dense || !node->opt.no_bias ||
        drove__onnx_count_readers(r, of->name) != 1)
        return drove__onnx_fail(r, n, "expected a constant to be the biases of a MatMul before it");
    DROVE_TRY(take_vector(r, n, constant, node->opt.n_out, &node->values.b));
    node->values.n_b = node->opt.n_out;
    node->opt.no_bias = false;
    return drove__onnx_alias(r, n, of);
}

/* coefficients[n_out][n_in] and intercepts[n_out] of ai.onnx.ml's linear models; two opposite rows
 * of a classifier are those of one output. */
static drove_status read_linear(drove_onnx_reader *r, const drove_onnx_node *n, size_t n_out,
                                bool is_classifier)
{
    const Drove__Onnx__Attribute *c = drove__onnx_attribute(n, "coefficients"),
                                 *b = drove__onnx_attribute(n, "intercepts");
    drove_node *node;
    const size_t n_all = c != NULL ? c->n_floats : 0, n_in = n_out > 0 ? n_all / n_out : 0;
    if (n_in == 0 || n_in * n_out != n_all || (b != NULL && b->n_floats != n_out))
        return drove__onnx_fail(r, n,
                                "expected coefficients and intercepts of %zu outputs, found "
                                "%zu and %zu",
                                n_out, n_all, b != NULL ? b->n_floats : 0);
    size_t first = is_classifier && n_out == 2 ? 1 : 0;
    for (size_t i = 0; first == 1 && i < n_in; i++) {
        if (c->floats[i] != -c->floats[n_in + i]) first = 0;
    }
    n_out -= first;
    DROVE_TRY(check_units(r, n, n_out));
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_dense, NULL, &node));
    node->opt.n_out = n_out;
    node->opt.no_bias = b == NULL;
    node->values = (drove_node_values){.n_w = n_in * n_out,
                                       .n_b = b != NULL ? n_out : 0,
                                       .n_in = n_in,
                                       .w = malloc(n_in * n_out * sizeof(float)),
                                       .b = b != NULL ? malloc(n_out * sizeof(float)) : NULL};
    if (node->values.w == NULL || (b != NULL && node->values.b == NULL))
        return drove__fail_nomem("parameters", n_all * sizeof(float));
    for (size_t o = 0; o < n_out; o++) {
        for (size_t i = 0; i < n_in; i++)
            node->values.w[i * n_out + o] = c->floats[(o + first) * n_in + i];
        if (b != NULL) node->values.b[o] = b->floats[o + first];
    }
    return DROVE_OK;
}

/* The outputs: the label, then the scores. */
static drove_status read_classifier(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const Drove__Onnx__Attribute *b = drove__onnx_attribute(n, "intercepts");
    Drove__Onnx__Node turned = *n->node;
    drove_onnx_node own = *n;
    char *output[2];
    char transform[32] = "NONE";
    DROVE_TRY(drove__onnx_text(r, n, "post_transform", transform));
    if (n->node->n_output != 2 || b == NULL || strncmp(transform, "PROBIT", 6) == 0)
        return drove__onnx_fail(r, n, "expected two outputs, intercepts, and no PROBIT");
    output[0] = n->node->output[1];
    output[1] = n->node->output[0];
    turned.output = output;
    own.node = &turned;
    return read_linear(r, &own, b->n_floats, true);
}

static drove_status read_regressor(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t targets = 1;
    char transform[32] = "NONE";
    DROVE_TRY(drove__onnx_int(r, n, "targets", 1, MOST_CHANNELS, &targets));
    DROVE_TRY(drove__onnx_text(r, n, "post_transform", transform));
    if (strcmp(transform, "NONE") != 0)
        return drove__onnx_fail(r, n, "post_transform: expected NONE, found %s", transform);
    return read_linear(r, n, (size_t)targets, false);
}

/* ---- windows ---- */

/* strides, dilations and pads of a window whose size is set; pads are the same at both ends. */
static drove_status read_window(drove_onnx_reader *r, const drove_onnx_node *n, drovek_window *w)
{
    size_t strides[2] = {1, 1}, dilations[2] = {1, 1}, pads[4] = {0};
    char padding[32] = "NOTSET";
    DROVE_TRY(drove__onnx_sizes(r, n, "strides", 2, 1, MOST_SIDE, strides));
    DROVE_TRY(drove__onnx_sizes(r, n, "dilations", 2, 1, MOST_SIDE, dilations));
    DROVE_TRY(drove__onnx_text(r, n, "auto_pad", padding));
    if (strcmp(padding, "NOTSET") == 0)
        DROVE_TRY(drove__onnx_sizes(r, n, "pads", 4, 0, MOST_SIDE, pads));
    else if (strcmp(padding, "VALID") != 0)
        return drove__onnx_fail(r, n, "auto_pad: expected NOTSET or VALID, found %s", padding);
    if (pads[0] != pads[2] || pads[1] != pads[3])
        return drove__onnx_fail(r, n, "pads: expected the same at both ends of a side");
    w->sh = strides[0], w->sw = strides[1];
    w->dh = dilations[0], w->dw = dilations[1];
    w->ph = pads[0], w->pw = pads[1];
    return DROVE_OK;
}

/* [o][c][kh][kw] -> [groups][kh][kw][c][o of a group] */
static drove_status take_kernel(drove_onnx_reader *r, const drove_onnx_node *n, drove_node *node)
{
    const Drove__Onnx__Tensor *t = n->input[1].tensor;
    const drovek_window *w = &node->opt.window;
    const size_t groups = node->opt.groups, c = (size_t)t->dims[1], each = node->opt.n_out / groups,
                 area = w->kh * w->kw;
    drove_node_values *v = &node->values;
    float *from;
    v->n_w = drove__onnx_count(t);
    DROVE_TRY(drove__onnx_floats_of(r, n, t, &from));
    v->w = malloc(v->n_w * sizeof *v->w);
    for (size_t i = 0; v->w != NULL && i < v->n_w; i++) {
        const size_t at = i % area, channel = i / area % c, out = i / area / c;
        v->w[((out / each * area + at) * c + channel) * each + out % each] = from[i];
    }
    free(from);
    return v->w != NULL ? DROVE_OK : drove__fail_nomem("parameters", v->n_w * sizeof(float));
}

static drove_status read_conv(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t groups = 1;
    const drove_onnx_value *v = &n->input[1];
    if (n->n_inputs < 2 || v->kind != DROVE_ONNX_CONSTANT || v->tensor->n_dims != 4 ||
        drove__onnx_count(v->tensor) == SIZE_MAX)
        return drove__onnx_fail(r, n,
                                "expected a constant of four dimensions as its second input: "
                                "drove convolves images");
    const int64_t *dims = v->tensor->dims;
    size_t kernel[2] = {(size_t)dims[2], (size_t)dims[3]}, said[2] = {kernel[0], kernel[1]};
    DROVE_TRY(drove__onnx_int(r, n, "group", 1, MOST_CHANNELS, &groups));
    DROVE_TRY(drove__onnx_sizes(r, n, "kernel_shape", 2, 1, MOST_SIDE, said));
    if (kernel[0] != said[0] || kernel[1] != said[1] || kernel[0] > MOST_SIDE ||
        kernel[1] > MOST_SIDE || dims[0] % groups != 0 || dims[0] > MOST_CHANNELS)
        return drove__onnx_fail(r, n, "expected weights for a kernel of %zu x %zu in %lld groups",
                                said[0], said[1], (long long)groups);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_convolution, v->name, &node));
    node->opt.n_out = (size_t)dims[0];
    node->opt.groups = (size_t)groups;
    node->opt.window.kh = kernel[0];
    node->opt.window.kw = kernel[1];
    DROVE_TRY(read_window(r, n, &node->opt.window));
    DROVE_TRY(take_kernel(r, n, node));
    node->opt.no_bias = !is_given(n, 2);
    if (node->opt.no_bias) return DROVE_OK;
    node->values.n_b = node->opt.n_out;
    return take_vector(r, n, 2, node->opt.n_out, &node->values.b);
}

static drove_status read_pool(drove_onnx_reader *r, const drove_onnx_node *n,
                              const drove_layer_ops *ops)
{
    drove_node *node;
    int64_t rounds_up = 0, counts_pad = 0;
    size_t kernel[2] = {0, 0};
    DROVE_TRY(drove__onnx_sizes(r, n, "kernel_shape", 2, 1, MOST_SIDE, kernel));
    DROVE_TRY(drove__onnx_int(r, n, "ceil_mode", 0, 1, &rounds_up));
    DROVE_TRY(drove__onnx_int(r, n, "count_include_pad", 0, 1, &counts_pad));
    if (kernel[0] == 0) return drove__onnx_fail(r, n, "expected a kernel_shape");
    DROVE_TRY(drove__onnx_add(r, n, ops, NULL, &node));
    drovek_window *w = &node->opt.window;
    w->kh = kernel[0], w->kw = kernel[1];
    node->opt.rounds_up = rounds_up != 0;
    DROVE_TRY(read_window(r, n, w));
    if (w->dh != 1 || w->dw != 1)
        return drove__onnx_fail(r, n, "dilations: expected pooling without");
    if (ops == &drove__layer_average_pool && counts_pad == 0 && w->ph + w->pw > 0)
        return drove__onnx_fail(r, n,
                                "count_include_pad: expected 1 where there is padding, as "
                                "drove counts it");
    return DROVE_OK;
}

static drove_status read_max_pool(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_pool(r, n, &drove__layer_max_pool);
}

static drove_status read_average_pool(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_pool(r, n, &drove__layer_average_pool);
}

static drove_status read_global(drove_onnx_reader *r, const drove_onnx_node *n,
                                const drove_layer_ops *ops)
{
    drove_node *node;
    DROVE_TRY(drove__onnx_add(r, n, ops, NULL, &node));
    node->opt.is_global = true;
    return DROVE_OK;
}

static drove_status read_global_max(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_global(r, n, &drove__layer_max_pool);
}

static drove_status read_global_mean(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_global(r, n, &drove__layer_average_pool);
}

/* Axes of an attribute, or of a constant as the second input. */
static drove_status read_axes(drove_onnx_reader *r, const drove_onnx_node *n, int64_t axes[4],
                              size_t *n_axes)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "axes");
    *n_axes = 0;
    if (is_given(n, 1) && n->input[1].kind == DROVE_ONNX_CONSTANT)
        return drove__onnx_ints_of(r, n, n->input[1].tensor, 4, axes, n_axes);
    if (a == NULL || a->n_ints > 4) return DROVE_OK;
    *n_axes = a->n_ints;
    for (size_t i = 0; i < a->n_ints; i++) axes[i] = a->ints[i];
    return DROVE_OK;
}

/* Height and width of [N][c][h][w]. */
static bool are_sides(const int64_t axes[4], size_t n_axes)
{
    bool has_height = false, has_width = false;
    for (size_t i = 0; i < n_axes; i++) {
        has_height = has_height || axes[i] == 2 || axes[i] == -2;
        has_width = has_width || axes[i] == 3 || axes[i] == -1;
    }
    return n_axes == 2 && has_height && has_width;
}

static drove_status read_mean(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axes[4];
    size_t n_axes;
    DROVE_TRY(read_axes(r, n, axes, &n_axes));
    if (!are_sides(axes, n_axes))
        return drove__onnx_fail(r, n, "axes: expected height and width, 2 and 3");
    return read_global(r, n, &drove__layer_average_pool);
}

/* ---- element-wise ---- */

static drove_status read_act(drove_onnx_reader *r, const drove_onnx_node *n, drovek_act act)
{
    drove_node *node;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_activation, NULL, &node));
    node->act = act;
    return DROVE_OK;
}

static drove_status read_relu(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_act(r, n, DROVEK_RELU);
}

static drove_status read_sigmoid(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_act(r, n, DROVEK_SIGMOID);
}

static drove_status read_tanh(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_act(r, n, DROVEK_TANH);
}

static drove_status read_lrn(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t size = 0;
    float alpha = 1e-4f, beta = 0.75f, bias = 1;
    DROVE_TRY(drove__onnx_int(r, n, "size", 1, MOST_SIDE, &size));
    DROVE_TRY(drove__onnx_real(r, n, "alpha", &alpha));
    DROVE_TRY(drove__onnx_real(r, n, "beta", &beta));
    DROVE_TRY(drove__onnx_real(r, n, "bias", &bias));
    if (size % 2 == 0 || alpha < 0 || alpha > 1e6f || beta < 0 || beta > 100 || bias < 1e-6f ||
        bias > 1e6f)
        return drove__onnx_fail(r, n,
                                "expected an odd size, alpha from 0, beta from 0 to 100 and "
                                "bias from 1e-6");
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_lrn, NULL, &node));
    node->opt.size = (size_t)size;
    node->opt.alpha = alpha;
    node->opt.beta = beta;
    node->opt.kappa = bias;
    return DROVE_OK;
}

static drove_status read_dropout(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    float ratio = 0.5f, *given = NULL;
    DROVE_TRY(drove__onnx_real(r, n, "ratio", &ratio));
    if (is_given(n, 1)) {
        DROVE_TRY(take_vector(r, n, 1, 1, &given));
        ratio = *given;
        free(given);
    }
    if (!(ratio >= 0 && ratio <= 0.99f))
        return drove__onnx_fail(r, n, "ratio: expected 0 to 0.99, found %g", (double)ratio);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_dropout, NULL, &node));
    node->opt.ratio = ratio;
    return DROVE_OK;
}

static drove_status read_batch_norm(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    float *mean = NULL, *variance = NULL, epsilon = 1e-5f;
    if (n->n_inputs != 5 || n->input[1].kind != DROVE_ONNX_CONSTANT)
        return drove__onnx_fail(r, n, "expected five inputs, four of them constants");
    const size_t c = drove__onnx_count(n->input[1].tensor);
    DROVE_TRY(drove__onnx_real(r, n, "epsilon", &epsilon));
    if (!(epsilon >= 1e-12f && epsilon <= 1) || c > MOST_CHANNELS)
        return drove__onnx_fail(r, n,
                                "expected an epsilon from 1e-12 to 1, and at most %d channels",
                                MOST_CHANNELS);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_batch_norm, n->input[1].name, &node));
    drove_node_values *v = &node->values;
    node->opt.epsilon = epsilon;
    v->n_w = v->n_b = c;
    v->n_statistics = 2 * c;
    v->statistics = malloc(v->n_statistics * sizeof *v->statistics);
    if (v->statistics == NULL) return drove__fail_nomem("parameters", v->n_statistics);
    DROVE_TRY(take_vector(r, n, 1, c, &v->w));
    DROVE_TRY(take_vector(r, n, 2, c, &v->b));
    DROVE_TRY(take_vector(r, n, 3, c, &mean));
    memcpy(v->statistics, mean, c * sizeof *mean);
    free(mean);
    DROVE_TRY(take_vector(r, n, 4, c, &variance));
    memcpy(v->statistics + c, variance, c * sizeof *variance);
    free(variance);
    return DROVE_OK;
}

static drove_status read_concat(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t axis = 1;
    for (size_t i = 0; i < n->n_inputs; i++) { /* the probabilities of two classes */
        if (n->input[i].kind == DROVE_ONNX_ASIDE) return drove__onnx_mark(r, n, DROVE_ONNX_ASIDE);
    }
    DROVE_TRY(drove__onnx_int(r, n, "axis", 1, 1, &axis));
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_concat, NULL, &node));
    return take_bottoms(r, n, node);
}

/* At the end it is left to the loss (drove__graph_drop_probabilities). */
static drove_status read_softmax(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t axis = 1;
    bool is_last = true;
    DROVE_TRY(drove__onnx_int(r, n, "axis", -1, 1, &axis));
    if (axis == 0) return drove__onnx_fail(r, n, "axis: expected 1 or -1, found 0");
    for (size_t i = 0; n->node->n_output > 0 && i < r->model->graph->n_node; i++) {
        const Drove__Onnx__Node *other = r->model->graph->node[i];
        static const char *const of_labels[] = {"ArgMax", "ZipMap", "Cast", "Identity"};
        bool is_label = false;
        for (size_t k = 0; k < DROVE_COUNT(of_labels) && other->op_type != NULL; k++)
            is_label = is_label || strcmp(other->op_type, of_labels[k]) == 0;
        for (size_t k = 0; k < other->n_input; k++)
            is_last = is_last && (is_label || strcmp(other->input[k], n->node->output[0]) != 0);
    }
    if (axis != 1 && !is_last)
        return drove__onnx_fail(r, n, "axis: expected 1 within a network, found %lld",
                                (long long)axis);
    if (!is_last && strcmp(n->node->op_type, "Softmax") != 0)
        return drove__onnx_fail(r, n, "expected it at the end of the network");
    return drove__onnx_add(r, n, &drove__layer_softmax, NULL, &node);
}

/* ---- shapes, constants, labels ---- */

static drove_status read_identity(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs == 0) return drove__onnx_fail(r, n, "expected an input, found none");
    return drove__onnx_alias(r, n, &n->input[0]);
}

static drove_status read_flatten(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axis = 1;
    DROVE_TRY(drove__onnx_int(r, n, "axis", 1, 1, &axis));
    return read_identity(r, n);
}

/* Two dimensions, or one of labels; sizes that are computed are those of a flattened image. */
static drove_status read_reshape(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t sides[4];
    size_t n_sides = 2;
    if (n->n_inputs == 0) return drove__onnx_fail(r, n, "expected an input, found none");
    if (n->input[0].kind == DROVE_ONNX_BLOB && is_given(n, 1) &&
        n->input[1].kind == DROVE_ONNX_CONSTANT)
        DROVE_TRY(drove__onnx_ints_of(r, n, n->input[1].tensor, 4, sides, &n_sides));
    if (n_sides == 2 && n->input[0].kind != DROVE_ONNX_CONSTANT) return read_identity(r, n);
    return drove__onnx_fail(r, n, "expected a flattened image, of two dimensions");
}

/* Height and width of a pooled image; of constants nothing is known to be needed. */
static drove_status read_squeeze(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axes[4];
    size_t n_axes;
    DROVE_TRY(read_axes(r, n, axes, &n_axes));
    if (are_sides(axes, n_axes)) return read_identity(r, n);
    return drove__onnx_fail(r, n, "axes: expected height and width, 2 and 3");
}

static drove_status read_transpose(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs != 1 || n->input[0].kind != DROVE_ONNX_CONSTANT ||
        n->input[0].tensor->n_dims != 2)
        return drove__onnx_fail(r, n, "expected a constant matrix");
    size_t perm[2] = {1, 0};
    DROVE_TRY(drove__onnx_sizes(r, n, "perm", 2, 0, 1, perm));
    drove_onnx_value value = n->input[0];
    if (perm[0] == 1) value.is_transposed = !value.is_transposed;
    return drove__onnx_alias(r, n, &value);
}

static drove_status read_constant(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "value");
    if (a == NULL || a->t == NULL) return drove__onnx_fail(r, n, "expected a tensor as its value");
    const drove_onnx_value value = {.kind = DROVE_ONNX_CONSTANT, .tensor = a->t};
    return drove__onnx_alias(r, n, &value);
}

static drove_status read_shape(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return drove__onnx_mark(r, n, DROVE_ONNX_SIZES);
}

static drove_status read_labels(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return drove__onnx_mark(r, n, DROVE_ONNX_ASIDE);
}

/* 1 - p, the first of two classes' probabilities. */
static drove_status read_sub(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_value *p = n->n_inputs == 2 ? &n->input[1] : NULL;
    bool is_of_sigmoid = p != NULL && p->kind == DROVE_ONNX_BLOB && p->node != DROVE_ONNX_NO_NODE &&
                         r->graph.node[p->node].act == DROVEK_SIGMOID &&
                         n->input[0].kind == DROVE_ONNX_CONSTANT;
    if (is_of_sigmoid) return drove__onnx_mark(r, n, DROVE_ONNX_ASIDE);
    return drove__onnx_fail(r, n, "drove has no layer for this operator");
}

static drove_status read_scaler(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs != 1 || n->input[0].node != DROVE_ONNX_NO_NODE)
        return drove__onnx_fail(r, n, "expected it at the network's input");
    r->notes |= DROVE_ONNX_NOTE_SCALER;
    return read_identity(r, n);
}

const drove_onnx_op drove__onnx_ops[] = {
    {"Gemm", "", read_gemm},
    {"MatMul", "", read_matmul},
    {"Add", "", read_add},
    {"Sum", "", read_sum},
    {"Conv", "", read_conv},
    {"MaxPool", "", read_max_pool},
    {"AveragePool", "", read_average_pool},
    {"GlobalMaxPool", "", read_global_max},
    {"GlobalAveragePool", "", read_global_mean},
    {"ReduceMean", "", read_mean},
    {"Relu", "", read_relu},
    {"Sigmoid", "", read_sigmoid},
    {"Tanh", "", read_tanh},
    {"LRN", "", read_lrn},
    {"Dropout", "", read_dropout},
    {"BatchNormalization", "", read_batch_norm},
    {"Concat", "", read_concat},
    {"Softmax", "", read_softmax},
    {"LogSoftmax", "", read_softmax},
    {"Flatten", "", read_flatten},
    {"Reshape", "", read_reshape},
    {"Squeeze", "", read_squeeze},
    {"Identity", "", read_identity},
    {"Cast", "", read_identity},
    {"Transpose", "", read_transpose},
    {"Constant", "", read_constant},
    {"Shape", "", read_shape},
    {"ArgMax", "", read_labels},
    {"Sub", "", read_sub},
    {"LinearClassifier", "ai.onnx.ml", read_classifier},
    {"LinearRegressor", "ai.onnx.ml", read_regressor},
    {"Scaler", "ai.onnx.ml", read_scaler},
    {"ArrayFeatureExtractor", "ai.onnx.ml", read_labels},
    {"ZipMap", "ai.onnx.ml", read_labels},
    {"Normalizer", "ai.onnx.ml", read_labels},
    {NULL, NULL, NULL},
};
