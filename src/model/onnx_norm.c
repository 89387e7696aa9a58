/* model/onnx_norm.c - ONNX's operators that normalise, and PRelu: layers with parameters that belong
 * to channels, or to single numbers. */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16 };

drove_status drove__onnx_read_lrn(drove_onnx_reader *r, const drove_onnx_node *n)
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

drove_status drove__onnx_read_batch_norm(drove_onnx_reader *r, const drove_onnx_node *n)
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

/* The side of an image that an axis of its value is. */
static drove_over side_of(const drove_onnx_value *x, unsigned axis)
{
    const unsigned width = x->is_last ? x->rank - 2 : x->rank - 1;
    return (drove_over){.channels = axis == drove__onnx_channels(x),
                        .height = x->rank == 4 && axis + 1 == width,
                        .width = x->rank > 2 && axis == width};
}

drove_status drove__onnx_read_layer_norm(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t axis = -1, stash = 1;
    float epsilon = 1e-5f;
    const drove_onnx_value *x = &n->input[0], *scale = &n->input[1];
    char text[128], found[128];
    if (n->n_inputs < 2 || n->n_inputs > 3 || x->kind != DROVE_ONNX_BLOB ||
        scale->kind != DROVE_ONNX_CONSTANT)
        return drove__onnx_fail(
            r, n, "expected a part of the network and a constant scale as its inputs");
    DROVE_TRY(drove__onnx_axis(r, n, -1, x->rank, &axis));
    DROVE_TRY(drove__onnx_real(r, n, "epsilon", &epsilon));
    DROVE_TRY(drove__onnx_int(r, n, "stash_type", 1, 1, &stash));
    if (!(epsilon >= 1e-12f && epsilon <= 1))
        return drove__onnx_fail(r, n, "epsilon: expected 1e-12 to 1, found %g", (double)epsilon);
    if (axis == 0 || (x->rank == 0 && axis != -1))
        return drove__onnx_fail(r, n,
                                "axis: expected one behind that of the batch, found %lld of %s",
                                (long long)axis, drove__onnx_shape_text(x, text));

    /* Along which sides, and how many numbers they have. */
    const size_t count = drove__onnx_count(scale->tensor);
    drove_over over = {true, true, true};
    size_t wanted = x->rank == 0 ? count : 1;
    for (unsigned i = 1; i < x->rank; i++) {
        const drove_over side = side_of(x, i);
        if ((int64_t)i >= axis) wanted *= x->side[i];
        else {
            over.channels = over.channels && !side.channels;
            over.height = over.height && !side.height;
            over.width = over.width && !side.width;
        }
    }
    if (count != wanted || count > DROVE_ONNX_MOST_CHANNELS)
        return drove__onnx_fail(r, n,
                                "expected a scale of %zu numbers, as %s has from axis %lld on, "
                                "found %s",
                                wanted, drove__onnx_shape_text(x, text), (long long)axis,
                                drove__onnx_shape_text(scale, found));
    const bool is_image = axis == 1 && x->rank > 2 && !x->is_last;
    const size_t n_channels = is_image ? x->side[1] : 1, n_places = count / n_channels;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_layer_norm, scale->name, &node));
    drove_node_values *v = &node->values;
    node->opt.epsilon = epsilon;
    node->opt.over = over;
    v->n_w = v->n_b = count;
    float *numbers[2] = {NULL, NULL};
    v->w = malloc(count * sizeof *v->w);
    v->b = calloc(count, sizeof *v->b);
    if (v->w == NULL || v->b == NULL) return drove__fail_nomem("parameters", count);
    for (unsigned i = 0; i < 2; i++) { /* scale; bias, which may be none */
        float *to = i == 0 ? v->w : v->b;
        if (!drove__onnx_is_given(n, i + 1)) continue;
        DROVE_TRY(drove__onnx_take_vector(r, n, i + 1, count, &numbers[i]));
        for (size_t k = 0; k < count; k++) /* [c][h][w] as [h][w][c] */
            to[k % n_places * n_channels + k / n_places] = numbers[i][k];
        free(numbers[i]);
        DROVE_TRY(drove__onnx_claim(r, n, &n->input[i + 1]));
    }
    return DROVE_OK;
}

drove_status drove__onnx_read_prelu(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    const drove_onnx_value *x = &n->input[0];
    drove_floats list = {0};
    if (n->n_inputs != 2 || x->kind != DROVE_ONNX_BLOB || n->input[1].kind != DROVE_ONNX_CONSTANT)
        return drove__onnx_fail(r, n, "expected a part of the network and a constant slope");
    DROVE_TRY(drove__onnx_broadcast(r, n, x, &n->input[1], DROVE_ONNX_MOST_CHANNELS, &list));
    const drove_status status = drove__onnx_add(r, n, &drove__layer_prelu, n->input[1].name, &node);
    drove_floats own = {.n = list.n, .value = malloc(list.n * sizeof *own.value)};
    const size_t n_channels = x->rank > 0 ? x->side[drove__onnx_channels(x)] : 1;
    const size_t n_places = list.n > n_channels ? list.n / n_channels : 1;
    for (size_t i = 0; own.value != NULL && i < list.n; i++) /* [c][h][w] as [h][w][c] */
        own.value[i % n_places * (list.n / n_places) + i / n_places] = list.value[i];
    free(list.value);
    if (status != DROVE_OK || own.value == NULL) {
        free(own.value);
        return status != DROVE_OK ? status : drove__fail_nomem("parameters", own.n);
    }
    node->opt.n_out = own.n;
    node->values.w = own.value;
    node->values.n_w = own.n;
    return drove__onnx_claim(r, n, &n->input[1]);
}
