/* model/onnx_linear.c - ONNX's matrix products and linear models, which become dense layers. */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A constant matrix as w[n_in][n_out]; is_transposed: it is [n_out][n_in] in the file. */
static drove_status take_matrix(drove_onnx_reader *r, const drove_onnx_node *n, bool is_transposed,
                                drove_node_values *to, size_t *n_out)
{
    const drove_onnx_value *v = &n->input[1];
    if (v->kind != DROVE_ONNX_CONSTANT || v->rank != 2 || drove__onnx_count(v->tensor) == SIZE_MAX)
        return drove__onnx_fail(r, n, "expected a constant matrix as its second input");
    is_transposed = is_transposed != v->is_transposed;
    const size_t rows = v->side[0], cols = v->side[1];
    DROVE_TRY(drove__onnx_claim(r, n, v));
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
    if (n_out <= DROVE_ONNX_MOST_CHANNELS) return DROVE_OK;
    return drove__onnx_fail(r, n, "expected at most %d outputs, found %zu",
                            DROVE_ONNX_MOST_CHANNELS, n_out);
}

/* The first input is rows of n_in numbers; then the output is rows of n_out. */
static drove_status check_rows(drove_onnx_reader *r, const drove_onnx_node *n, size_t n_in,
                               size_t n_out)
{
    const drove_onnx_value *x = &n->input[0];
    drove_onnx_value *y = drove__onnx_result(r, n);
    char text[128];
    if (x->rank != 0 && (x->rank != 2 || x->side[1] != n_in))
        return drove__onnx_fail(r, n,
                                "expected an input of [N, %zu], as its weights have rows, found %s",
                                n_in, drove__onnx_shape_text(x, text));
    if (y != NULL && y->rank == 2) y->side[1] = n_out;
    return DROVE_OK;
}

drove_status drove__onnx_read_gemm(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t trans_a = 0, trans_b = 0;
    float alpha = 1, beta = 1;
    drove_node *node;
    if (n->n_inputs < 2) return drove__onnx_fail(r, n, "expected two inputs or three");
    DROVE_TRY(drove__onnx_int(r, n, "transA", 0, 0, &trans_a));
    DROVE_TRY(drove__onnx_int(r, n, "transB", 0, 1, &trans_b));
    DROVE_TRY(drove__onnx_real(r, n, "alpha", &alpha));
    DROVE_TRY(drove__onnx_real(r, n, "beta", &beta));
    if (alpha != 1 || (beta != 1 && drove__onnx_is_given(n, 2)))
        return drove__onnx_fail(r, n, "expected alpha and beta of 1, found %g and %g",
                                (double)alpha, (double)beta);
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_dense, n->input[1].name, &node));
    DROVE_TRY(take_matrix(r, n, trans_b != 0, &node->values, &node->opt.n_out));
    DROVE_TRY(check_units(r, n, node->opt.n_out));
    DROVE_TRY(check_rows(r, n, node->values.n_in, node->opt.n_out));
    node->opt.no_bias = !drove__onnx_is_given(n, 2);
    if (node->opt.no_bias) return DROVE_OK;
    node->values.n_b = node->opt.n_out;
    const drove_onnx_value *c = &n->input[2];
    if (c->kind != DROVE_ONNX_CONSTANT || drove__onnx_count(c->tensor) != 1 || node->opt.n_out == 1)
        return drove__onnx_take_parameter(r, n, 2, node->opt.n_out, &node->values.b);
    float *one; /* for all outputs */
    DROVE_TRY(drove__onnx_take_vector(r, n, 2, 1, &one));
    node->values.b = malloc(node->opt.n_out * sizeof *node->values.b);
    for (size_t i = 0; node->values.b != NULL && i < node->opt.n_out; i++) node->values.b[i] = *one;
    free(one);
    return node->values.b != NULL ? DROVE_OK : drove__fail_nomem("parameters", node->opt.n_out);
}

drove_status drove__onnx_read_matmul(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    if (n->n_inputs != 2) return drove__onnx_fail(r, n, "expected two inputs");
    const drove_onnx_value *x = &n->input[0];
    const bool is_places = x->is_last && x->side[x->rank - 1] != drove__onnx_each(x);
    DROVE_TRY(drove__onnx_add(r, n, is_places ? &drove__layer_convolution : &drove__layer_dense,
                              n->input[1].name, &node));
    node->opt.no_bias = true;
    DROVE_TRY(take_matrix(r, n, false, &node->values, &node->opt.n_out));
    DROVE_TRY(check_units(r, n, node->opt.n_out));
    if (!is_places) return check_rows(r, n, node->values.n_in, node->opt.n_out);

    /* Of the channels of each place: a convolution of 1 x 1, whose weights are the same. */
    drove_onnx_value *y = drove__onnx_result(r, n);
    char text[128];
    if (node->values.n_in != x->side[x->rank - 1])
        return drove__onnx_fail(r, n, "expected an input of %zu channels, as its weights, found %s",
                                node->values.n_in, drove__onnx_shape_text(x, text));
    node->values.n_in = 0;
    if (y != NULL) y->side[x->rank - 1] = node->opt.n_out;
    return DROVE_OK;
}

/* coefficients[n_out][n_in] and intercepts[n_out] of ai.onnx.ml's linear models; two opposite rows
 * of a classifier are those of one output. */
static drove_status read_linear(drove_onnx_reader *r, const drove_onnx_node *n, size_t n_out,
                                const drove_onnx_value *x, bool merges_pair, drove_onnx_value *to)
{
    const Drove__Onnx__Attribute *c = drove__onnx_attribute(n, "coefficients"),
                                 *b = drove__onnx_attribute(n, "intercepts");
    drove_node *node;
    char text[128];
    const size_t n_all = c != NULL ? c->n_floats : 0, n_in = n_out > 0 ? n_all / n_out : 0;
    if (n_in == 0 || n_in * n_out != n_all || (b != NULL && b->n_floats != n_out))
        return drove__onnx_fail(r, n,
                                "expected coefficients and intercepts of %zu outputs, found "
                                "%zu and %zu",
                                n_out, n_all, b != NULL ? b->n_floats : 0);
    if (x->rank != 0 && (x->rank != 2 || x->side[1] != n_in))
        return drove__onnx_fail(r, n, "expected an input of [N, %zu], found %s", n_in,
                                drove__onnx_shape_text(x, text));
    size_t first = merges_pair && n_out == 2 ? 1 : 0;
    for (size_t i = 0; first == 1 && i < n_in; i++) {
        if (c->floats[i] != -c->floats[n_in + i]) first = 0;
    }
    if (b != NULL && first == 1 && b->floats[0] != -b->floats[1]) first = 0;
    n_out -= first;
    DROVE_TRY(check_units(r, n, n_out));
    DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_dense, NULL, x, to, &node));
    if (to->rank == 2) to->side[1] = n_out;
    if (first == 1) to->kind = DROVE_ONNX_PAIR;
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

/* A pair of classes whose scores are opposite is one output: its sigmoid is the probability of the
 * second, as with LOGISTIC; a softmax of both would be another. */
drove_status drove__onnx_read_classifier(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const Drove__Onnx__Attribute *b = drove__onnx_attribute(n, "intercepts");
    Drove__Onnx__Node turned = *n->node;
    drove_onnx_node own = *n;
    drove_onnx_value x, to;
    drove_node *node;
    char *output[2];
    char transform[32] = "NONE";
    DROVE_TRY(drove__onnx_text(r, n, "post_transform", transform));
    const bool is_softmax = strcmp(transform, "SOFTMAX") == 0,
               is_logistic = strcmp(transform, "LOGISTIC") == 0;
    if (n->node->n_output != 2 || b == NULL ||
        (!is_softmax && !is_logistic && strcmp(transform, "NONE") != 0))
        return drove__onnx_fail(r, n,
                                "expected two outputs, intercepts, and a post_transform of NONE, "
                                "SOFTMAX or LOGISTIC, found %s",
                                transform);
    const bool has_classes = r->io == NULL || (r->io->n_classes > 0 && !r->io->is_multi_label);
    output[0] = n->node->output[1];
    output[1] = n->node->output[0];
    turned.output = output;
    own.node = &turned;
    own.others = DROVE_ONNX_ASIDE;
    DROVE_TRY(drove__onnx_take_columns(r, n, &x));
    DROVE_TRY(read_linear(r, &own, b->n_floats, &x, has_classes && !is_softmax, &to));
    if (is_softmax || is_logistic) {
        const drove_onnx_kind kind = to.kind;
        drove_onnx_value scores = to;
        scores.kind = DROVE_ONNX_BLOB;
        DROVE_TRY(drove__onnx_layer(r, n,
                                    is_softmax ? &drove__layer_softmax : &drove__layer_activation,
                                    NULL, &scores, &to, &node));
        if (is_logistic) node->act = DROVEK_SIGMOID;
        to.kind = kind;
    }
    return drove__onnx_alias(r, &own, &to);
}

drove_status drove__onnx_read_regressor(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t targets = 1;
    drove_onnx_value x, to;
    char transform[32] = "NONE";
    DROVE_TRY(drove__onnx_int(r, n, "targets", 1, DROVE_ONNX_MOST_CHANNELS, &targets));
    DROVE_TRY(drove__onnx_text(r, n, "post_transform", transform));
    if (strcmp(transform, "NONE") != 0)
        return drove__onnx_fail(r, n, "post_transform: expected NONE, found %s", transform);
    DROVE_TRY(drove__onnx_take_columns(r, n, &x));
    DROVE_TRY(read_linear(r, n, (size_t)targets, &x, false, &to));
    return drove__onnx_alias(r, n, &to);
}
