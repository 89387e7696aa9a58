/* model/onnx_ops.c - ONNX's operators that can be imported: how each becomes a layer.
 *
 * Windows are in onnx_window.c, normalisation in onnx_norm.c, dense layers in onnx_linear.c,
 * operators that change shapes in onnx_shape.c, arithmetic in onnx_scale.c.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const unsigned along = drove__onnx_channels(x);
    if (axis != along)
        return drove__onnx_fail(r, n, "axis: expected that of the channels, %u, found %lld of %s",
                                along, (long long)axis, drove__onnx_shape_text(x, first));
    for (size_t i = 0; i < n->n_inputs; i++) {
        const drove_onnx_value *v = &n->input[i];
        bool fits = v->rank == x->rank || v->kind != DROVE_ONNX_BLOB; /* those: below */
        for (unsigned k = 1; fits && v->kind == DROVE_ONNX_BLOB && k < x->rank; k++)
            fits = k == along || v->side[k] == x->side[k];
        if (!fits)
            return drove__onnx_fail(r, n,
                                    "expected inputs that differ in axis %u alone, found %s and "
                                    "%s",
                                    along, drove__onnx_shape_text(x, first),
                                    drove__onnx_shape_text(v, other));
        channels += v->side[along];
    }
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_concat, NULL, &node));
    DROVE_TRY(drove__onnx_take_bottoms(r, n, node));
    drove_onnx_value *y = drove__onnx_result(r, n);
    if (y != NULL && y->rank > 1) y->side[along] = channels;
    return DROVE_OK;
}

/* Over an axis; in the sets before 13 over it and all behind it.  Numbers before it must be one: a
 * layer's softmax is over channels.  At the end it may be left to the loss (onnx.c). */
static drove_status read_softmax(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_onnx_value own = n->input[0], *x = &own;
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
    if (x->is_last && axis == (int64_t)x->rank - 1 && !is_log)
        return drove__onnx_add(r, n, &drove__layer_softmax, NULL, &node); /* over channels */
    DROVE_TRY(drove__onnx_turn(r, n, x));
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

/* Columns of a vector by a constant list of their numbers; else labels, as above. */
static drove_status read_gather(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const bool is_column = strcmp(n->node->op_type, "ArrayFeatureExtractor") == 0;
    const drove_onnx_value *x = &n->input[0], *list = &n->input[1];
    int64_t axis = 1;
    char text[128];
    if (n->n_inputs != 2 || x->kind != DROVE_ONNX_BLOB || list->kind != DROVE_ONNX_CONSTANT)
        return read_labels(r, n);
    if (!is_column && x->rank > 0) DROVE_TRY(drove__onnx_axis(r, n, 0, x->rank, &axis));
    else if (!is_column) DROVE_TRY(drove__onnx_int(r, n, "axis", 1, 1, &axis));
    if (axis != 1 || (x->rank != 0 && x->rank != 2) || (list->rank != 1 && !is_column))
        return drove__onnx_fail(r, n,
                                "expected a vector and a list of places along axis 1, found %s, a "
                                "constant of %u dimensions and axis %lld",
                                drove__onnx_shape_text(x, text), list->rank, (long long)axis);
    const size_t count = drove__onnx_count(list->tensor), n_in = x->rank == 2 ? x->side[1] : 0;
    if (count > DROVE_GRAPH_MOST_LIST)
        return drove__onnx_fail(r, n, "expected 1 to %d places, found another number of them",
                                DROVE_GRAPH_MOST_LIST);
    int64_t *place = malloc(count * sizeof *place);
    uint32_t *value = malloc(count * sizeof *value);
    drove_node *node = NULL;
    size_t n_places;
    drove_status status = place == NULL || value == NULL
                              ? drove__fail_nomem("places", count * sizeof *place)
                              : drove__onnx_ints_of(r, n, list->tensor, count, place, &n_places);
    for (size_t i = 0; i < count && status == DROVE_OK; i++) {
        const int64_t from = place[i] < 0 && !is_column ? (int64_t)n_in : 0;
        if (place[i] < -from || place[i] > UINT32_MAX || (n_in > 0 && place[i] >= (int64_t)n_in))
            status = drove__onnx_fail(r, n, "expected places in %s, found %lld",
                                      drove__onnx_shape_text(x, text), (long long)place[i]);
        else value[i] = (uint32_t)(place[i] + from);
    }
    free(place);
    if (status == DROVE_OK) status = drove__onnx_add(r, n, &drove__layer_gather, NULL, &node);
    if (status != DROVE_OK) {
        free(value);
        return status;
    }
    node->opt.index = (drove_indices){.n = count, .value = value};
    drove_onnx_value *y = drove__onnx_result(r, n);
    if (y != NULL && y->rank > 1) y->side[1] = count;
    return DROVE_OK;
}

enum { LAST = DROVE_ONNX_TAKES_LAST, PADDED = DROVE_ONNX_TAKES_PADDED, ANY = LAST | PADDED };

const drove_onnx_op drove__onnx_ops[] = {
    {"Gemm", "", "alpha beta transA transB", 0, drove__onnx_read_gemm},
    {"MatMul", "", "", LAST, drove__onnx_read_matmul},
    {"Add", "", "", LAST, drove__onnx_read_add},
    {"Sum", "", "", LAST, drove__onnx_read_sum},
    {"Sub", "", "", LAST, drove__onnx_read_sub},
    {"Mul", "", "", LAST, drove__onnx_read_mul},
    {"Div", "", "", LAST, drove__onnx_read_div},
    {"Conv", "", "auto_pad dilations group kernel_shape pads strides", PADDED,
     drove__onnx_read_conv},
    {"MaxPool", "",
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads storage_order strides",
     PADDED, drove__onnx_read_max_pool},
    {"AveragePool", "", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     PADDED, drove__onnx_read_average_pool},
    {"GlobalMaxPool", "", "", 0, drove__onnx_read_global_max},
    {"GlobalAveragePool", "", "", 0, drove__onnx_read_global_mean},
    {"ReduceMean", "", "axes keepdims noop_with_empty_axes", LAST, drove__onnx_read_mean},
    {"Pad", "", "mode pads value", ANY, drove__onnx_read_pad},
    {"Relu", "", "", LAST, read_act},
    {"LeakyRelu", "", "alpha", LAST, read_act},
    {"Elu", "", "alpha", LAST, read_act},
    {"Selu", "", "alpha gamma", LAST, read_act},
    {"Gelu", "", "approximate", LAST, read_gelu},
    {"Swish", "", "alpha", LAST, read_act},
    {"Mish", "", "", LAST, read_act},
    {"Softplus", "", "", LAST, read_act},
    {"HardSwish", "", "", LAST, read_act},
    {"HardSigmoid", "", "alpha beta", LAST, read_act},
    {"Erf", "", "", LAST, read_act},
    {"Sin", "", "", LAST, read_act},
    {"Clip", "", "min max", LAST, drove__onnx_read_clip},
    {"Sigmoid", "", "", LAST, read_act},
    {"Tanh", "", "", LAST, read_act},
    {"LRN", "", "alpha beta bias size", 0, drove__onnx_read_lrn},
    {"LpNormalization", "", "axis p", 0, drove__onnx_read_lp},
    {"Dropout", "", "ratio seed", LAST, read_dropout},
    {"BatchNormalization", "", "epsilon momentum training_mode spatial", 0,
     drove__onnx_read_batch_norm},
    {"LayerNormalization", "", "axis epsilon stash_type", LAST, drove__onnx_read_layer_norm},
    {"PRelu", "", "", LAST, drove__onnx_read_prelu},
    {"Concat", "", "axis", LAST, read_concat},
    {"Softmax", "", "axis", LAST, read_softmax},
    {"LogSoftmax", "", "axis", LAST, read_softmax},
    {"Flatten", "", "axis", LAST, drove__onnx_read_flatten},
    {"Reshape", "", "allowzero", LAST, drove__onnx_read_reshape},
    {"Squeeze", "", "axes", LAST, drove__onnx_read_squeeze},
    {"Unsqueeze", "", "axes", LAST, drove__onnx_read_unsqueeze},
    {"Identity", "", "", ANY, read_identity},
    {"Cast", "", "to saturate round_mode", ANY, read_cast},
    {"Transpose", "", "perm", ANY, drove__onnx_read_transpose},
    {"Constant", "", "value value_int value_ints", 0, read_constant},
    {"Shape", "", "start end", ANY, drove__onnx_read_shape},
    {"ConstantOfShape", "", "value", 0, drove__onnx_read_filled},
    {"ArgMax", "", "axis keepdims select_last_index", 0, read_arg_max},
    {"LinearClassifier", "ai.onnx.ml",
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform", 0,
     drove__onnx_read_classifier},
    {"LinearRegressor", "ai.onnx.ml", "coefficients intercepts post_transform targets", 0,
     drove__onnx_read_regressor},
    {"Scaler", "ai.onnx.ml", "offset scale", 0, drove__onnx_read_scaler},
    {"Normalizer", "ai.onnx.ml", "norm", 0, drove__onnx_read_normalizer},
    {"Gather", "", "axis", 0, read_gather},
    {"ArrayFeatureExtractor", "ai.onnx.ml", "", 0, read_gather},
    {"ZipMap", "ai.onnx.ml", "classlabels_int64s classlabels_strings", 0, read_identity},
    {NULL, NULL, NULL, 0, NULL},
};
