/* model/onnx_norm.c - operators of ONNX that normalise, and PRelu: layers with parameters that
 * belong to channels or to single numbers. */
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

/* Has a constant the sides of x from `axis` on, and none but 1 before them? */
static bool has_sides_from(const drove_onnx_value *x, int64_t axis, const drove_onnx_value *v)
{
    if (v->kind != DROVE_ONNX_CONSTANT || v->is_transposed || v->rank == 0) return false;
    bool fits = true;
    for (unsigned i = 1; i <= v->rank; i++) { /* from the end */
        const int64_t at = (int64_t)x->rank - i;
        const size_t wanted = at < axis || at < 1 ? 1 : x->side[at];
        const bool is_any = x->rank == 0 && i == 1; /* a vector of unknown length */
        fits = fits && (is_any || v->side[v->rank - i] == wanted);
    }
    return fits;
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
    for (size_t i = 1; i < n->n_inputs; i++) { /* scale; bias, which may be none */
        const drove_onnx_value *v = &n->input[i];
        if (!drove__onnx_is_given(n, i)) continue;
        if (has_sides_from(x, axis, v) && drove__onnx_count(v->tensor) == wanted) continue;
        return drove__onnx_fail(r, n,
                                "expected a constant %s with the sides that %s has from axis %lld "
                                "on, found %s",
                                i == 1 ? "scale" : "bias", drove__onnx_shape_text(x, text),
                                (long long)axis, drove__onnx_shape_text(v, found));
    }
    if (wanted > DROVE_ONNX_MOST_CHANNELS)
        return drove__onnx_fail(r, n, "expected a scale of at most %d numbers, found %zu",
                                DROVE_ONNX_MOST_CHANNELS, wanted);
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

/* ---- layer normalisation as nine operators ---- */

/* The node of this operator that reads a value, which has so many readers. */
static const Drove__Onnx__Node *reader_of(const drove_onnx_reader *r, const char *value,
                                          const char *op, size_t n_readers)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    if (drove__onnx_count_readers(r, value) != n_readers) return NULL;
    for (size_t i = 0; i < g->n_node; i++) {
        const Drove__Onnx__Node *node = g->node[i];
        if (node->op_type == NULL || strcmp(node->op_type, op) != 0 || node->n_output != 1)
            continue;
        for (size_t k = 0; k < node->n_input; k++)
            if (strcmp(node->input[k], value) == 0) return node;
    }
    return NULL;
}

/* The tensor of this name, of a Constant that may come later, too; NULL: it is something else. */
static const Drove__Onnx__Tensor *tensor_of(const drove_onnx_reader *r, const char *name)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    const drove_onnx_value *v = drove__onnx_find(r, name);
    if (v != NULL) return v->kind == DROVE_ONNX_CONSTANT ? v->tensor : NULL;
    for (size_t i = 0; i < g->n_node; i++) {
        const drove_onnx_node own = {.node = g->node[i]};
        if (own.node->op_type == NULL || strcmp(own.node->op_type, "Constant") != 0 ||
            own.node->n_output != 1 || strcmp(own.node->output[0], name) != 0)
            continue;
        const Drove__Onnx__Attribute *a = drove__onnx_attribute(&own, "value");
        return a != NULL ? a->t : NULL;
    }
    return NULL;
}

/* The other input of an operator with two. */
static const char *other_input(const Drove__Onnx__Node *node, const char *value)
{
    if (node->n_input != 2) return "";
    return strcmp(node->input[0], value) == 0 ? node->input[1] : node->input[0];
}

/* A constant of one number. */
static bool is_number(drove_onnx_reader *r, const drove_onnx_node *n, const char *name, float *out)
{
    const Drove__Onnx__Tensor *t = tensor_of(r, name);
    float *value;
    if (t == NULL || drove__onnx_count(t) != 1) return false;
    if (drove__onnx_floats_of(r, n, t, &value) != DROVE_OK) return false;
    *out = *value;
    free(value);
    return true;
}

/* Means along the same axes. */
static bool is_same_mean(drove_onnx_reader *r, const Drove__Onnx__Node *node, unsigned rank,
                         const int64_t *axes, size_t n_axes)
{
    drove_onnx_node own = {.node = node, .n_inputs = node->n_input};
    int64_t found[DROVE_ONNX_MOST_RANK], keeps = 1;
    size_t n_found;
    if (node->n_input > 2) return false;
    if (node->n_input == 2) {
        const Drove__Onnx__Tensor *t = tensor_of(r, node->input[1]);
        if (t == NULL) return false;
        drove__onnx_constant(t, &own.input[1]);
    }
    if (drove__onnx_axes(r, &own, rank, found, &n_found) != DROVE_OK ||
        drove__onnx_int(r, &own, "keepdims", 0, 1, &keeps) != DROVE_OK)
        return false;
    return keeps == 1 && n_found == n_axes && memcmp(found, axes, n_axes * sizeof *axes) == 0;
}

drove_status drove__onnx_read_norm_chain(drove_onnx_reader *r, const drove_onnx_node *n,
                                         const int64_t *axes, size_t n_axes, bool *is_read)
{
    enum { STEPS = 8 };
    const drove_onnx_value *x = &n->input[0];
    const Drove__Onnx__Node *step[STEPS] = {NULL};
    const char *const from = n->node->input[0];
    float two = 0, epsilon = 0;
    *is_read = false;

    /* The last axes; x - mean; its square by Pow or Mul; the variance; its root; the quotient. */
    if (n_axes == 0 || n->node->n_output != 1) return DROVE_OK;
    for (size_t i = 0; i < n_axes; i++)
        if (axes[i] != (int64_t)(x->rank - n_axes + i) || axes[i] == 0) return DROVE_OK;
    step[0] = reader_of(r, n->node->output[0], "Sub", 1);
    if (step[0] == NULL || strcmp(step[0]->input[0], from) != 0) return DROVE_OK;
    const char *const centred = step[0]->output[0];
    step[1] = reader_of(r, centred, "Pow", 2);
    if (step[1] != NULL && (strcmp(step[1]->input[0], centred) != 0 ||
                            !is_number(r, n, other_input(step[1], centred), &two) || two != 2.0f))
        return DROVE_OK;
    if (step[1] == NULL) step[1] = reader_of(r, centred, "Mul", 3);
    if (step[1] == NULL || (two == 0.0f && strcmp(other_input(step[1], centred), centred) != 0))
        return DROVE_OK;
    static const char *const ops[STEPS] = {
        [2] = "ReduceMean", [3] = "Add", [4] = "Sqrt", [5] = "Div", [6] = "Mul", [7] = "Add"};
    for (unsigned i = 2; i < STEPS; i++) {
        step[i] = reader_of(r, step[i - 1]->output[0], ops[i], 1);
        if (step[i] == NULL) return DROVE_OK;
    }
    if (!is_same_mean(r, step[2], x->rank, axes, n_axes) ||
        !is_number(r, n, other_input(step[3], step[2]->output[0]), &epsilon) ||
        strcmp(step[5]->input[0], centred) != 0)
        return DROVE_OK;
    const drove_onnx_value *scale = drove__onnx_find(r, other_input(step[6], step[5]->output[0])),
                           *bias = drove__onnx_find(r, other_input(step[7], step[6]->output[0]));
    if (scale == NULL || bias == NULL || scale->kind != DROVE_ONNX_CONSTANT ||
        bias->kind != DROVE_ONNX_CONSTANT)
        return DROVE_OK;

    /* The one operator that they are. */
    Drove__Onnx__Attribute axis = DROVE__ONNX__ATTRIBUTE__INIT, deviation = axis;
    Drove__Onnx__Attribute *attributes[] = {&axis, &deviation};
    Drove__Onnx__Node made = *n->node;
    drove_onnx_node own = {.node = &made, .n_inputs = 3, .others = n->others};
    char axis_name[] = "axis", epsilon_name[] = "epsilon";
    axis.name = axis_name;
    axis.has_i = true;
    axis.i = axes[0];
    deviation.name = epsilon_name;
    deviation.has_f = true;
    deviation.f = epsilon;
    made.attribute = attributes;
    made.n_attribute = DROVE_COUNT(attributes);
    made.output = step[STEPS - 1]->output;
    own.input[0] = *x;
    own.input[1] = *scale;
    own.input[2] = *bias;
    DROVE_TRY(drove__onnx_read_layer_norm(r, &own));
    for (size_t i = 0; i < r->model->graph->n_node; i++) {
        for (unsigned k = 0; k < STEPS; k++)
            r->is_done[i] = r->is_done[i] || r->model->graph->node[i] == step[k];
    }
    *is_read = true;
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
