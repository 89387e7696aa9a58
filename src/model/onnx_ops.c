/* model/onnx_ops.c - ONNX's operators that can be imported: how each becomes a layer.
 *
 * Dense layers are in onnx_linear.c, operators that change shapes in onnx_shape.c, arithmetic in
 * onnx_scale.c.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16 };

/* ---- windows ---- */

/* strides, dilations and pads of a window whose size is set; pads are the same at both ends. */
static drove_status read_window(drove_onnx_reader *r, const drove_onnx_node *n, drovek_window *w)
{
    const drove_onnx_value *x = &n->input[0];
    size_t strides[2] = {1, 1}, dilations[2] = {1, 1}, pads[4] = {0};
    char padding[32] = "NOTSET";
    DROVE_TRY(drove__onnx_sizes(r, n, "strides", 2, 1, MOST_SIDE, strides));
    DROVE_TRY(drove__onnx_sizes(r, n, "dilations", 2, 1, MOST_SIDE, dilations));
    DROVE_TRY(drove__onnx_text(r, n, "auto_pad", padding));
    if (strcmp(padding, "NOTSET") == 0)
        DROVE_TRY(drove__onnx_sizes(r, n, "pads", 4, 0, MOST_SIDE, pads));
    else if (strncmp(padding, "SAME_", 5) == 0 && x->rank == 4) {
        const size_t kernel[2] = {w->kh, w->kw};
        for (size_t i = 0; i < 2; i++) { /* as many windows as steps: the rest is padding */
            const size_t n_out = (x->side[i + 2] + strides[i] - 1) / strides[i];
            const size_t end = (n_out - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1;
            const size_t all = end > x->side[i + 2] ? end - x->side[i + 2] : 0;
            pads[i] = padding[5] == 'U' ? all / 2 : all - all / 2;
            pads[i + 2] = all - pads[i];
        }
    } else if (strcmp(padding, "VALID") != 0)
        return drove__onnx_fail(r, n, "auto_pad: expected NOTSET or VALID, found %s", padding);
    if (pads[0] != pads[2] || pads[1] != pads[3])
        return drove__onnx_fail(r, n,
                                "pads: expected the same at both ends of a side, found %zu and %zu "
                                "of the height, %zu and %zu of the width",
                                pads[0], pads[2], pads[1], pads[3]);
    w->sh = strides[0], w->sw = strides[1];
    w->dh = dilations[0], w->dw = dilations[1];
    w->ph = pads[0], w->pw = pads[1];
    return DROVE_OK;
}

/* The sides of the output of a window; the first input is an image. */
static drove_status set_window_shape(drove_onnx_reader *r, const drove_onnx_node *n,
                                     const drovek_window *w, bool rounds_up, size_t channels)
{
    const drove_onnx_value *x = &n->input[0];
    drove_onnx_value *y = drove__onnx_result(r, n);
    const size_t size[2] = {w->dh * (w->kh - 1) + 1, w->dw * (w->kw - 1) + 1};
    const size_t step[2] = {w->sh, w->sw}, pad[2] = {w->ph, w->pw};
    char text[128];
    if (x->rank == 0 || y == NULL) return DROVE_OK;
    if (x->rank != 4)
        return drove__onnx_fail(r, n, "expected an image, [N, channels, height, width], found %s",
                                drove__onnx_shape_text(x, text));
    for (size_t i = 0; i < 2; i++) {
        const size_t side = x->side[i + 2] + 2 * pad[i];
        if (side < size[i])
            return drove__onnx_fail(r, n,
                                    "expected an image as large as its window of %zu x %zu, "
                                    "found %s",
                                    size[0], size[1], drove__onnx_shape_text(x, text));
        size_t count = (side - size[i] + (rounds_up ? step[i] - 1 : 0)) / step[i] + 1;
        if (rounds_up && (count - 1) * step[i] >= x->side[i + 2] + pad[i]) count--;
        y->side[i + 2] = count;
    }
    if (channels > 0) y->side[1] = channels;
    return DROVE_OK;
}

/* [o][c][kh][kw] -> [groups][kh][kw][c][o of a group] */
static drove_status take_kernel(drove_onnx_reader *r, const drove_onnx_node *n, drove_node *node)
{
    const Drove__Onnx__Tensor *t = n->input[1].tensor;
    const drovek_window *w = &node->opt.window;
    const size_t groups = node->opt.groups, c = n->input[1].side[1],
                 each = node->opt.n_out / groups, area = w->kh * w->kw;
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
    if (n->n_inputs < 2 || v->kind != DROVE_ONNX_CONSTANT || v->rank != 4 ||
        drove__onnx_count(v->tensor) == SIZE_MAX)
        return drove__onnx_fail(r, n,
                                "expected a constant of four dimensions as its second input: "
                                "drove convolves images");
    const size_t *dims = v->side;
    size_t kernel[2] = {dims[2], dims[3]}, said[2] = {kernel[0], kernel[1]};
    char text[128];
    DROVE_TRY(drove__onnx_int(r, n, "group", 1, DROVE_ONNX_MOST_CHANNELS, &groups));
    DROVE_TRY(drove__onnx_sizes(r, n, "kernel_shape", 2, 1, MOST_SIDE, said));
    if (kernel[0] != said[0] || kernel[1] != said[1] || kernel[0] > MOST_SIDE ||
        kernel[1] > MOST_SIDE || dims[0] % (size_t)groups != 0 ||
        dims[0] > DROVE_ONNX_MOST_CHANNELS)
        return drove__onnx_fail(r, n, "expected weights for a kernel of %zu x %zu in %lld groups",
                                said[0], said[1], (long long)groups);
    if (n->input[0].rank == 4 && n->input[0].side[1] != dims[1] * (size_t)groups)
        return drove__onnx_fail(r, n, "expected an image of %zu channels, as its weights, found %s",
                                dims[1] * (size_t)groups,
                                drove__onnx_shape_text(&n->input[0], text));
    DROVE_TRY(drove__onnx_claim(r, n, v));
    if (strncmp(v->name, "onnx::Conv_", 11) == 0) r->n_folded++;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_convolution, v->name, &node));
    node->opt.n_out = dims[0];
    node->opt.groups = (size_t)groups;
    node->opt.window.kh = kernel[0];
    node->opt.window.kw = kernel[1];
    DROVE_TRY(read_window(r, n, &node->opt.window));
    DROVE_TRY(set_window_shape(r, n, &node->opt.window, false, node->opt.n_out));
    DROVE_TRY(take_kernel(r, n, node));
    node->opt.no_bias = !drove__onnx_is_given(n, 2);
    if (node->opt.no_bias) return DROVE_OK;
    node->values.n_b = node->opt.n_out;
    return drove__onnx_take_parameter(r, n, 2, node->opt.n_out, &node->values.b);
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
    return set_window_shape(r, n, w, rounds_up != 0, 0);
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
    char text[128];
    if (n->n_inputs > 0 && n->input[0].rank > 0 && n->input[0].rank < 3)
        return drove__onnx_fail(r, n, "expected an image, [N, channels, height, width], found %s",
                                drove__onnx_shape_text(&n->input[0], text));
    DROVE_TRY(drove__onnx_add(r, n, ops, NULL, &node));
    node->opt.is_global = true;
    drove_onnx_value *y = drove__onnx_result(r, n);
    for (unsigned i = 2; y != NULL && i < y->rank; i++) y->side[i] = 1;
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

static drove_status read_mean(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axes[DROVE_ONNX_MOST_RANK], keeps = 1, does_nothing = 0;
    size_t n_axes;
    char text[128];
    const drove_onnx_value *x = &n->input[0];
    if (n->n_inputs == 0 || x->kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    DROVE_TRY(drove__onnx_axes(r, n, x->rank, axes, &n_axes));
    DROVE_TRY(drove__onnx_int(r, n, "keepdims", 0, 1, &keeps));
    DROVE_TRY(drove__onnx_int(r, n, "noop_with_empty_axes", 0, 1, &does_nothing));
    if (x->rank == 0) {
        /* Height and width of [N][c][h][w]. */
        bool has_height = false, has_width = false;
        for (size_t i = 0; i < n_axes; i++) {
            has_height = has_height || axes[i] == 2 || axes[i] == -2;
            has_width = has_width || axes[i] == 3 || axes[i] == -1;
        }
        if (!(n_axes == 2 && has_height && has_width))
            return drove__onnx_fail(r, n, "axes: expected height and width, 2 and 3");
        return read_global(r, n, &drove__layer_average_pool);
    }
    bool is_global = n_axes > 0 && n_axes + 2 == x->rank;
    for (size_t i = 0; i < n_axes; i++) is_global = is_global && axes[i] == (int64_t)i + 2;
    if (!is_global)
        return drove__onnx_fail(r, n,
                                "axes: expected height and width, 2 and 3, of an image, found "
                                "%zu axes of %s",
                                n_axes, drove__onnx_shape_text(x, text));
    DROVE_TRY(read_global(r, n, &drove__layer_average_pool));
    drove_onnx_value *y = drove__onnx_result(r, n);
    if (y != NULL && keeps == 0) y->rank = 2;
    return DROVE_OK;
}

/* ---- element-wise ---- */

static drove_status add_act(drove_onnx_reader *r, const drove_onnx_node *n, drovek_act act,
                            float slope, float level)
{
    drove_node *node;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_activation, NULL, &node));
    node->act = act;
    node->opt.slope = slope;
    node->opt.level = level;
    return DROVE_OK;
}

static drove_status read_number(const drove_onnx_reader *r, const drove_onnx_node *n,
                                const drove_act_number *number, float *out)
{
    *out = number->value != 0.0f ? number->onnx_value : DROVE_ACT_OWN; /* 0: it has none */
    if (number->attribute == NULL) return DROVE_OK;
    DROVE_TRY(drove__onnx_real(r, n, number->attribute, out));
    if (fabsf(*out) <= 1e6f) return DROVE_OK;
    return drove__onnx_fail(r, n, "%s: expected -1e6 to 1e6, found %g", number->attribute,
                            (double)*out);
}

/* The operator is a row of the table of activations. */
static drove_status read_act(drove_onnx_reader *r, const drove_onnx_node *n)
{
    float slope, level;
    const drove_activation *a = drove__activations;
    while (a->onnx == NULL || strcmp(a->onnx, n->node->op_type) != 0) a++;
    DROVE_TRY(read_number(r, n, &a->slope, &slope));
    DROVE_TRY(read_number(r, n, &a->level, &level));
    return add_act(r, n, a->act, slope, level);
}

static drove_status read_gelu(drove_onnx_reader *r, const drove_onnx_node *n)
{
    char how[32] = "none";
    DROVE_TRY(drove__onnx_text(r, n, "approximate", how));
    if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0)
        return drove__onnx_fail(r, n, "approximate: expected none or tanh, found %s", how);
    return add_act(r, n, how[0] == 'n' ? DROVEK_CURVE_gelu : DROVEK_CURVE_gelu_tanh, DROVE_ACT_OWN,
                   DROVE_ACT_OWN);
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
    if (n->n_inputs > 0 && n->input[0].rank > 0 && n->input[0].rank != 4)
        return drove__onnx_fail(r, n, "expected an image as its input");
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_lrn, NULL, &node));
    node->opt.lrn = (drove_lrn){.size = (size_t)size, .alpha = alpha, .beta = beta, .kappa = bias};
    return DROVE_OK;
}

static drove_status read_dropout(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    float ratio = 0.5f, *given = NULL;
    DROVE_TRY(drove__onnx_real(r, n, "ratio", &ratio));
    if (drove__onnx_is_given(n, 1)) {
        DROVE_TRY(drove__onnx_take_vector(r, n, 1, 1, &given));
        ratio = *given;
        free(given);
    }
    if (drove__onnx_is_given(n, 2)) { /* the definition would draw here, too */
        float *trains;
        DROVE_TRY(drove__onnx_take_vector(r, n, 2, 1, &trains));
        const bool is_training = *trains != 0.0f;
        free(trains);
        if (is_training && ratio > 0)
            return drove__onnx_fail(r, n,
                                    "training_mode: expected false, found true: export the "
                                    "network for inference");
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
    int64_t training = 0, spatial = 1;
    DROVE_TRY(drove__onnx_real(r, n, "epsilon", &epsilon));
    DROVE_TRY(drove__onnx_int(r, n, "training_mode", 0, 1, &training));
    DROVE_TRY(drove__onnx_int(r, n, "spatial", 1, 1, &spatial));
    if (training != 0)
        return drove__onnx_fail(r, n,
                                "training_mode: expected 0, found 1: export the network after "
                                "model.eval(), with training=TrainingMode.PRESERVE");
    /* the sets before 14 say so by outputs: the batch's mean and variance */
    for (size_t i = 1; i < n->node->n_output && r->version != 0 && r->version < 14; i++) {
        if (n->node->output[i][0] != '\0')
            return drove__onnx_fail(r, n,
                                    "expected one output, found %zu, which mean training: export "
                                    "the network after model.eval(), with "
                                    "training=TrainingMode.PRESERVE",
                                    n->node->n_output);
    }
    if (n->input[0].rank > 0 && (n->input[0].rank < 2 || n->input[0].side[1] != c))
        return drove__onnx_fail(r, n, "expected an input of %zu channels, as its scale has", c);
    if (!(epsilon >= 1e-12f && epsilon <= 1) || c > DROVE_ONNX_MOST_CHANNELS)
        return drove__onnx_fail(r, n,
                                "expected an epsilon from 1e-12 to 1, and at most %d channels",
                                DROVE_ONNX_MOST_CHANNELS);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_batch_norm, n->input[1].name, &node));
    drove_node_values *v = &node->values;
    node->opt.epsilon = epsilon;
    v->n_w = v->n_b = c;
    v->n_statistics = 2 * c;
    v->statistics = malloc(v->n_statistics * sizeof *v->statistics);
    if (v->statistics == NULL) return drove__fail_nomem("parameters", v->n_statistics);
    DROVE_TRY(drove__onnx_take_parameter(r, n, 1, c, &v->w));
    DROVE_TRY(drove__onnx_take_parameter(r, n, 2, c, &v->b));
    DROVE_TRY(drove__onnx_take_parameter(r, n, 3, c, &mean));
    memcpy(v->statistics, mean, c * sizeof *mean);
    free(mean);
    DROVE_TRY(drove__onnx_take_parameter(r, n, 4, c, &variance));
    memcpy(v->statistics + c, variance, c * sizeof *variance);
    free(variance);
    return DROVE_OK;
}

static drove_status read_concat(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t axis = 1;
    size_t channels = 0;
    char first[128], other[128];
    const drove_onnx_value *x = &n->input[0];
    if (n->n_inputs == 2 && n->input[0].kind == DROVE_ONNX_PAIR && /* 1 - p, p */
        n->input[1].kind == DROVE_ONNX_BLOB && n->input[1].node == n->input[0].node)
        return drove__onnx_alias(r, n, &n->input[0]);
    if (n->n_inputs == 0) return drove__onnx_fail(r, n, "expected inputs");
    if (x->rank == 0) DROVE_TRY(drove__onnx_int(r, n, "axis", 1, 1, &axis));
    else DROVE_TRY(drove__onnx_axis(r, n, 1, x->rank, &axis));
    if (axis != 1)
        return drove__onnx_fail(r, n, "axis: expected that of the channels, 1, found %lld of %s",
                                (long long)axis, drove__onnx_shape_text(x, first));
    for (size_t i = 0; i < n->n_inputs; i++) {
        const drove_onnx_value *v = &n->input[i];
        bool fits = v->rank == x->rank || v->kind != DROVE_ONNX_BLOB; /* those: below */
        for (unsigned k = 2; fits && v->kind == DROVE_ONNX_BLOB && k < x->rank; k++)
            fits = v->side[k] == x->side[k];
        if (!fits)
            return drove__onnx_fail(r, n,
                                    "expected inputs that differ in axis 1 alone, found %s and "
                                    "%s",
                                    drove__onnx_shape_text(x, first),
                                    drove__onnx_shape_text(v, other));
        channels += v->side[1];
    }
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_concat, NULL, &node));
    DROVE_TRY(drove__onnx_take_bottoms(r, n, node));
    drove_onnx_value *y = drove__onnx_result(r, n);
    if (y != NULL && y->rank > 1) y->side[1] = channels;
    return DROVE_OK;
}

/* Over an axis; in the sets before 13 over it and all behind it.  Numbers before it must be one: a
 * layer's softmax is over channels.  At the end it may be left to the loss (onnx.c). */
static drove_status read_softmax(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_value *x = &n->input[0];
    const bool is_log = strcmp(n->node->op_type, "LogSoftmax") == 0;
    const bool is_end = n->node->n_output > 0 && drove__onnx_is_last(r, n->node->output[0]);
    const bool is_new = r->version >= 13 || r->version == 0;
    const bool suits_loss =
        r->loss == NULL || strcmp(r->loss, "softmax") == 0 || strcmp(r->loss, "hinge") == 0;
    int64_t axis;
    size_t before = 1, within = 1, behind = 1;
    char text[128];
    drove_onnx_value from, to;
    drove_node *node;
    if (n->n_inputs != 1 || x->kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    if (is_log && (!is_end || !suits_loss))
        return drove__onnx_fail(r, n, "expected it at the end of the network, with %s",
                                is_end ? "data of classes" : "nothing behind it");
    if (x->rank == 0) { /* shapes are not known */
        axis = 1;
        DROVE_TRY(drove__onnx_int(r, n, "axis", -1, 1, &axis));
        if (axis == 0) return drove__onnx_fail(r, n, "axis: expected 1 or -1, found 0");
        if (axis != 1 && !is_end)
            return drove__onnx_fail(r, n, "axis: expected 1 within a network, found %lld",
                                    (long long)axis);
        return drove__onnx_add(r, n, &drove__layer_softmax, NULL, &node);
    }
    DROVE_TRY(drove__onnx_axis(r, n, is_new ? -1 : 1, x->rank, &axis));
    for (unsigned i = 1; i < x->rank; i++) {
        if ((int64_t)i < axis) before *= x->side[i];
        else if ((int64_t)i == axis || !is_new) within *= x->side[i];
        else behind *= x->side[i];
    }
    if (axis == 0 || before != 1)
        return drove__onnx_fail(
            r, n,
            "axis: expected that of the channels, 1, found %lld of %s in set %lld "
            "of operators",
            (long long)axis, drove__onnx_shape_text(x, text), (long long)r->version);
    const size_t side[3] = {0, within, behind};
    from = *x; /* over channels as they are, or over all numbers */
    if (behind == 1) DROVE_TRY(drove__onnx_reshape(r, n, x, 2, side, &from));
    else if (x->side[1] != within) DROVE_TRY(drove__onnx_reshape(r, n, x, 3, side, &from));
    DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_softmax, NULL, &from, &to, &node));
    if (is_log && behind != 1)
        return drove__onnx_fail(r, n, "expected it over all numbers of an example, found %s",
                                drove__onnx_shape_text(x, text));
    if (is_end && behind == 1) return drove__onnx_alias(r, n, &to); /* it stays the last layer */
    DROVE_TRY(drove__onnx_reshape(r, n, &to, x->rank, x->side, &from));
    return drove__onnx_alias(r, n, &from);
}

/* ---- copies, constants, labels ---- */

static drove_status read_identity(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs == 0) return drove__onnx_fail(r, n, "expected an input, found none");
    return drove__onnx_alias(r, n, &n->input[0]);
}

/* To floats, which drove's numbers are; what rounds or cuts numbers is refused. */
static drove_status read_cast(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t to = DROVE_ONNX_T_FLOAT;
    if (n->n_inputs != 1) return drove__onnx_fail(r, n, "expected an input, found none");
    drove_onnx_value value = n->input[0];
    DROVE_TRY(drove__onnx_int(r, n, "to", 0, INT32_MAX, &to));
    const bool is_half = to == DROVE_ONNX_T_FLOAT16 || to == DROVE_ONNX_T_BFLOAT16;
    const bool is_wide = to == DROVE_ONNX_T_FLOAT || to == DROVE_ONNX_T_DOUBLE;
    /* a network of halves has its input made one */
    if (to != value.type && !is_wide && !(is_half && r->has_half))
        return drove__onnx_fail(
            r, n,
            "to: expected float or double, found %s: drove computes with floats "
            "alone",
            drove__onnx_type_name((int32_t)to));
    value.type = (int32_t)to;
    return drove__onnx_alias(r, n, &value);
}

static drove_status read_constant(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "value");
    if (a != NULL && a->t != NULL) {
        drove_onnx_value value = {0};
        drove__onnx_constant(a->t, &value);
        return drove__onnx_alias(r, n, &value);
    }
    const Drove__Onnx__Attribute *whole = drove__onnx_attribute(n, "value_int"),
                                 *list = drove__onnx_attribute(n, "value_ints");
    drove_onnx_value sizes = {.kind = DROVE_ONNX_SIZES, .is_scalar = whole != NULL};
    if (whole != NULL) sizes.size[sizes.n_sizes++] = whole->i;
    for (size_t i = 0; list != NULL && i < list->n_ints && i < DROVE_ONNX_MOST_SIZES; i++)
        sizes.size[sizes.n_sizes++] = list->ints[i];
    if (sizes.n_sizes > 0 && (list == NULL || list->n_ints <= DROVE_ONNX_MOST_SIZES))
        return drove__onnx_alias(r, n, &sizes);
    return drove__onnx_fail(r, n, "expected a tensor as its value");
}

/* The first largest of an example's numbers is its class. */
static drove_status read_arg_max(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axis, last = 0, keeps;
    if (n->n_inputs != 1) return drove__onnx_fail(r, n, "expected one input");
    const drove_onnx_value *x = &n->input[0];
    DROVE_TRY(drove__onnx_axis(r, n, 0, x->kind == DROVE_ONNX_BLOB ? x->rank : 0, &axis));
    DROVE_TRY(drove__onnx_int(r, n, "keepdims", 0, 1, &keeps));
    DROVE_TRY(drove__onnx_int(r, n, "select_last_index", 0, 0, &last));
    if (x->kind != DROVE_ONNX_BLOB && x->kind != DROVE_ONNX_PAIR)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    if (x->kind == DROVE_ONNX_BLOB && x->rank > 0 &&
        (axis == 0 || x->side[axis] != drove__onnx_each(x)))
        return drove__onnx_fail(r, n, "axis: expected that of the classes, 1, found %lld",
                                (long long)axis);
    drove_onnx_value labels = *x;
    labels.kind = DROVE_ONNX_ASIDE;
    return drove__onnx_alias(r, n, &labels);
}

/* Labels as others: of classes by number, by name.  Of a pair of classes the second is what the
 * network makes. */
static drove_status read_labels(drove_onnx_reader *r, const drove_onnx_node *n)
{
    for (size_t i = 0; i < n->n_inputs; i++) {
        if (n->input[i].kind == DROVE_ONNX_ASIDE) return drove__onnx_alias(r, n, &n->input[i]);
    }
    int64_t column = 0;
    size_t n_columns = 0;
    if (n->n_inputs == 2 && n->input[0].kind == DROVE_ONNX_PAIR &&
        n->input[1].kind == DROVE_ONNX_CONSTANT && drove__onnx_count(n->input[1].tensor) == 1 &&
        strcmp(n->node->op_type, "ArrayFeatureExtractor") == 0)
        DROVE_TRY(drove__onnx_ints_of(r, n, n->input[1].tensor, 1, &column, &n_columns));
    if (n_columns == 1 && column == 1) {
        drove_onnx_value second = n->input[0];
        second.kind = DROVE_ONNX_BLOB;
        return drove__onnx_alias(r, n, &second);
    }
    return drove__onnx_fail(r, n, "expected labels as its input, the numbers of classes");
}

const drove_onnx_op drove__onnx_ops[] = {
    {"Gemm", "", "alpha beta transA transB", drove__onnx_read_gemm},
    {"MatMul", "", "", drove__onnx_read_matmul},
    {"Add", "", "", drove__onnx_read_add},
    {"Sum", "", "", drove__onnx_read_sum},
    {"Sub", "", "", drove__onnx_read_sub},
    {"Mul", "", "", drove__onnx_read_mul},
    {"Div", "", "", drove__onnx_read_div},
    {"Conv", "", "auto_pad dilations group kernel_shape pads strides", read_conv},
    {"MaxPool", "",
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides",
     read_max_pool},
    {"AveragePool", "", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     read_average_pool},
    {"GlobalMaxPool", "", "", read_global_max},
    {"GlobalAveragePool", "", "", read_global_mean},
    {"ReduceMean", "", "axes keepdims noop_with_empty_axes", read_mean},
    {"Relu", "", "", read_act},
    {"LeakyRelu", "", "alpha", read_act},
    {"Elu", "", "alpha", read_act},
    {"Selu", "", "alpha gamma", read_act},
    {"Gelu", "", "approximate", read_gelu},
    {"Swish", "", "alpha", read_act},
    {"Mish", "", "", read_act},
    {"Softplus", "", "", read_act},
    {"HardSwish", "", "", read_act},
    {"HardSigmoid", "", "alpha beta", read_act},
    {"Erf", "", "", read_act},
    {"Clip", "", "min max", drove__onnx_read_clip},
    {"Sigmoid", "", "", read_act},
    {"Tanh", "", "", read_act},
    {"LRN", "", "alpha beta bias size", read_lrn},
    {"LpNormalization", "", "axis p", drove__onnx_read_lp},
    {"Dropout", "", "ratio seed", read_dropout},
    {"BatchNormalization", "", "epsilon momentum training_mode spatial", read_batch_norm},
    {"Concat", "", "axis", read_concat},
    {"Softmax", "", "axis", read_softmax},
    {"LogSoftmax", "", "axis", read_softmax},
    {"Flatten", "", "axis", drove__onnx_read_flatten},
    {"Reshape", "", "allowzero", drove__onnx_read_reshape},
    {"Squeeze", "", "axes", drove__onnx_read_squeeze},
    {"Unsqueeze", "", "axes", drove__onnx_read_unsqueeze},
    {"Identity", "", "", read_identity},
    {"Cast", "", "to saturate round_mode", read_cast},
    {"Transpose", "", "perm", drove__onnx_read_transpose},
    {"Constant", "", "value value_int value_ints", read_constant},
    {"Shape", "", "start end", drove__onnx_read_shape},
    {"ArgMax", "", "axis keepdims select_last_index", read_arg_max},
    {"LinearClassifier", "ai.onnx.ml",
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     drove__onnx_read_classifier},
    {"LinearRegressor", "ai.onnx.ml", "coefficients intercepts post_transform targets",
     drove__onnx_read_regressor},
    {"Scaler", "ai.onnx.ml", "offset scale", drove__onnx_read_scaler},
    {"Normalizer", "ai.onnx.ml", "norm", drove__onnx_read_normalizer},
    {"Gather", "", "axis", read_labels},
    {"ArrayFeatureExtractor", "ai.onnx.ml", "", read_labels},
    {"ZipMap", "ai.onnx.ml", "classlabels_int64s classlabels_strings", read_identity},
    {NULL, NULL, NULL, NULL},
};
