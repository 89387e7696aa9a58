/* model/onnx_scale.c - ONNX's arithmetic, bounds and norms.
 *
 * Numbers that a file adds to, or multiplies by, a part of the network stay as they are in
 * training: they become a layer `scale`, y = (x - offset) * factor.  Operators in a row become one
 * such layer where this is the same: x - mean, then / deviation.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants along a blob ---- */

drove_status drove__onnx_broadcast(drove_onnx_reader *r, const drove_onnx_node *n,
                                   const drove_onnx_value *x, const drove_onnx_value *constant,
                                   size_t most, drove_floats *out)
{
    const drove_onnx_value *k = constant;
    size_t stride[DROVE_ONNX_MOST_RANK] = {0}, varied = 0, step = 1;
    char text[128], found[128];
    float *value;
    if (!drove__onnx_is_float(k->type))
        return drove__onnx_fail(r, n, "\"%.60s\": expected floats, found %s", k->name,
                                drove__onnx_type_name(k->type));
    bool fits = k->rank <= x->rank && !k->is_transposed;
    for (unsigned i = k->rank; fits && i-- > 0;) {
        const unsigned at = i + x->rank - k->rank; /* aligned at the end */
        fits = k->side[i] == 1 || (at > 0 && k->side[i] == x->side[at]);
        if (k->side[i] != 1) stride[at] = step, varied |= (size_t)1 << at;
        step *= k->side[i];
    }
    if (!fits && x->rank == 0 && drove__onnx_count(k->tensor) == 1) fits = true;
    if (!fits)
        return drove__onnx_fail(r, n, "expected constants that fit %s, found %s",
                                drove__onnx_shape_text(x, text), drove__onnx_shape_text(k, found));
    const size_t each = drove__onnx_each(x);
    const unsigned channels = drove__onnx_channels(x);
    const size_t count = varied == 0                       ? 1
                         : varied == (size_t)1 << channels ? x->side[channels]
                                                           : each;
    if (count > most)
        return drove__onnx_fail(r, n, "expected at most %zu constants, found %zu", most, count);
    DROVE_TRY(drove__onnx_floats_of(r, n, k->tensor, &value));
    out->value = malloc(count * sizeof *out->value);
    if (out->value == NULL) {
        free(value);
        return drove__fail_nomem("constants", count * sizeof *out->value);
    }
    out->n = count;
    bool is_finite = true;
    for (size_t i = 0; i < count; i++) {
        size_t rest = count == each ? i : i * (each / count), at = 0;
        for (unsigned d = x->rank; d-- > 1;) {
            const unsigned axis = x->is_last ? (d == 1 ? channels : d - 1) : d;
            at += rest % x->side[axis] * stride[axis];
            rest /= x->side[axis];
        }
        out->value[i] = value[at];
        is_finite = is_finite && isfinite(value[at]);
    }
    free(value);
    if (is_finite) return DROVE_OK;
    free(out->value);
    *out = (drove_floats){0};
    return drove__onnx_fail(r, n, "expected finite constants");
}

drove_status drove__onnx_scale(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *x, const drove_onnx_value *constant,
                               char operation)
{
    drove_floats list = {0};
    const bool is_factor = operation == '*' || operation == '/';
    DROVE_TRY(drove__onnx_broadcast(r, n, x, constant, DROVE_GRAPH_MOST_LIST, &list));
    for (size_t i = 0; i < list.n; i++) {
        float *v = &list.value[i];
        if (operation == '+') *v = -*v;
        if (operation == '/') *v = 1.0f / *v;
        if (isfinite(*v)) continue;
        free(list.value);
        return drove__onnx_fail(r, n, "expected constants other than 0 to divide by");
    }

    /* A factor joins the scale that makes x, if nothing else reads that one. */
    drove_node *node = x->node != DROVE_ONNX_NO_NODE ? &r->graph.node[x->node] : NULL;
    if (node != NULL && drove__onnx_count_readers(r, x->name) == 1 &&
        node->ops == &drove__layer_scale && is_factor && node->opt.factor.n == 0) {
        node->opt.factor = list;
        return drove__onnx_alias(r, n, x);
    }
    drove_onnx_value to;
    drove_status status = drove__onnx_layer(r, n, &drove__layer_scale, NULL, x, &to, &node);
    if (status != DROVE_OK) {
        free(list.value);
        return status;
    }
    if (is_factor) node->opt.factor = list;
    else node->opt.offset = list;
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_sum(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    for (size_t i = 1; i < n->n_inputs; i++) {
        const drove_onnx_value *a = &n->input[0], *b = &n->input[i];
        char first[128], other[128];
        if (a->kind != DROVE_ONNX_BLOB || b->kind != DROVE_ONNX_BLOB || a->rank * b->rank == 0)
            continue; /* below, and when shapes are known */
        bool is_same = a->rank == b->rank;
        for (unsigned k = 1; is_same && k < a->rank; k++) is_same = a->side[k] == b->side[k];
        if (!is_same)
            return drove__onnx_fail(r, n, "expected inputs of one shape, found %s and %s",
                                    drove__onnx_shape_text(a, first),
                                    drove__onnx_shape_text(b, other));
    }
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_sum, NULL, &node));
    return drove__onnx_take_bottoms(r, n, node);
}

/* The biases of the layer before it; numbers that are added; or the sum of two parts. */
drove_status drove__onnx_read_add(drove_onnx_reader *r, const drove_onnx_node *n)
{
    if (n->n_inputs != 2) return drove__onnx_fail(r, n, "expected two inputs");
    const size_t constant = n->input[0].kind == DROVE_ONNX_CONSTANT ? 0 : 1;
    const drove_onnx_value *of = &n->input[1 - constant], *c = &n->input[constant];
    if (c->kind != DROVE_ONNX_CONSTANT) return drove__onnx_read_sum(r, n);
    if (of->kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as an input");
    drove_node *node = of->node != DROVE_ONNX_NO_NODE ? &r->graph.node[of->node] : NULL;
    const bool is_dense = node != NULL && node->ops == &drove__layer_dense;
    const bool is_conv = node != NULL && node->ops == &drove__layer_convolution;
    /* biases: [n] or [1, n] behind a matrix, [n, 1, 1] or [1, n, 1, 1] behind a convolution, [n] if
     * its channels are last, where what is added to still has the dimensions of that layer's output
     * (0: not known) */
    const unsigned rank = of->rank > 0 ? of->rank : is_conv ? 4 : 2;
    const unsigned from_end = rank - drove__onnx_channels(of);
    bool fits = ((is_dense && rank == 2) || (is_conv && rank >= 3)) && c->rank >= from_end &&
                c->rank <= rank;
    const unsigned at = fits ? c->rank - from_end : 0;
    for (unsigned i = 0; fits && i < c->rank; i++)
        fits = c->side[i] == (i == at ? node->opt.n_out : 1);
    if (!fits || !node->opt.no_bias || drove__onnx_count_readers(r, of->name) != 1)
        return drove__onnx_scale(r, n, of, c, '+');
    DROVE_TRY(drove__onnx_take_vector(r, n, constant, node->opt.n_out, &node->values.b));
    DROVE_TRY(drove__onnx_claim(r, n, c));
    node->values.n_b = node->opt.n_out;
    node->opt.no_bias = false;
    return drove__onnx_alias(r, n, of);
}

/* One blob and one constant; *constant: which of the two. */
static drove_status with_constant(drove_onnx_reader *r, const drove_onnx_node *n, size_t *constant)
{
    const bool has_two = n->n_inputs == 2;
    for (size_t i = 0; has_two && i < 2; i++) {
        if (n->input[i].kind != DROVE_ONNX_CONSTANT || n->input[1 - i].kind != DROVE_ONNX_BLOB)
            continue;
        *constant = i;
        return DROVE_OK;
    }
    return drove__onnx_fail(r, n,
                            "expected a part of the network and a constant: drove has no layer for "
                            "two parts of it");
}

/* ---- arithmetic ---- */

/* 1 - p, read only by a Concat with p: the probabilities of two classes, of which the network has
 * the second. */
static bool is_pair(const drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_value *p = &n->input[1];
    const bool is_sigmoid = p->kind == DROVE_ONNX_BLOB && p->node != DROVE_ONNX_NO_NODE &&
                            r->graph.node[p->node].act == DROVEK_SIGMOID &&
                            (p->rank == 0 || drove__onnx_each(p) == 1);
    const bool is_logistic =
        r->loss == NULL || strcmp(r->loss, "logistic") == 0 || strcmp(r->loss, "hinge") == 0;
    float *one = NULL;
    if (!is_sigmoid || !is_logistic || drove__onnx_count(n->input[0].tensor) != 1) return false;
    if (drove__onnx_floats_of(r, n, n->input[0].tensor, &one) != DROVE_OK) return false;
    bool is_right = r->loss == NULL || *one == 1.0f;
    free(one);
    const Drove__Onnx__Graph *g = r->model->graph;
    for (size_t i = 0; r->loss != NULL && i < g->n_node && n->node->n_output > 0; i++) {
        bool reads = false, reads_p = false;
        for (size_t k = 0; k < g->node[i]->n_input; k++) {
            reads = reads || strcmp(g->node[i]->input[k], n->node->output[0]) == 0;
            reads_p = reads_p || strcmp(g->node[i]->input[k], n->node->input[1]) == 0;
        }
        if (reads) is_right = is_right && reads_p && strcmp(g->node[i]->op_type, "Concat") == 0;
    }
    return is_right;
}

drove_status drove__onnx_read_sub(drove_onnx_reader *r, const drove_onnx_node *n)
{
    size_t constant;
    DROVE_TRY(with_constant(r, n, &constant));
    if (constant == 1) return drove__onnx_scale(r, n, &n->input[0], &n->input[1], '-');
    if (is_pair(r, n)) {
        drove_onnx_value pair = n->input[1];
        pair.kind = DROVE_ONNX_PAIR;
        return drove__onnx_alias(r, n, &pair);
    }
    /* k - x = (x - k) * -1 */
    DROVE_TRY(drove__onnx_scale(r, n, &n->input[1], &n->input[0], '-'));
    const drove_onnx_value *y = drove__onnx_result(r, n);
    drove_node *node = y != NULL ? &r->graph.node[y->node] : NULL;
    if (node == NULL) return DROVE_OK;
    node->opt.factor.value = malloc(sizeof(float));
    if (node->opt.factor.value == NULL) return drove__fail_nomem("constants", sizeof(float));
    node->opt.factor.value[0] = -1.0f;
    node->opt.factor.n = 1;
    return DROVE_OK;
}

/* Of one shape, or a number for each channel; true where shapes are not known. */
static bool is_factor_of(const drove_onnx_value *factor, const drove_onnx_value *x)
{
    bool is_same = x->rank == factor->rank, is_one = is_same;
    if (x->rank * factor->rank == 0) return true;
    for (unsigned k = 1; k < x->rank && k < factor->rank; k++) {
        is_same = is_same && factor->side[k] == x->side[k];
        is_one = is_one && factor->side[k] == (k == drove__onnx_channels(x) ? x->side[k] : 1);
    }
    return is_same || is_one;
}

/* Two parts of the network, in either order. */
static drove_status read_product(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_onnx_value to;
    drove_node *node;
    const size_t whole = drove__onnx_each(&n->input[1]) > drove__onnx_each(&n->input[0]) ? 1 : 0;
    const drove_onnx_value *x = &n->input[whole], *factor = &n->input[1 - whole];
    if (!is_factor_of(factor, x)) {
        char first[128], other[128];
        return drove__onnx_fail(r, n,
                                "expected inputs of one shape, or a number for each channel of "
                                "the other, found %s and %s",
                                drove__onnx_shape_text(&n->input[0], first),
                                drove__onnx_shape_text(&n->input[1], other));
    }
    DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_product, NULL, x, &to, &node));
    memcpy(node->bottom[0], x->graph, sizeof node->bottom[0]);
    memcpy(node->bottom[1], factor->graph, sizeof node->bottom[1]);
    node->n_bottoms = 2;
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_mul(drove_onnx_reader *r, const drove_onnx_node *n)
{
    size_t constant;
    if (n->n_inputs == 2 && n->input[0].kind == DROVE_ONNX_BLOB &&
        n->input[1].kind == DROVE_ONNX_BLOB)
        return read_product(r, n);
    DROVE_TRY(with_constant(r, n, &constant));
    return drove__onnx_scale(r, n, &n->input[1 - constant], &n->input[constant], '*');
}

drove_status drove__onnx_read_div(drove_onnx_reader *r, const drove_onnx_node *n)
{
    size_t constant;
    DROVE_TRY(with_constant(r, n, &constant));
    if (constant == 0)
        return drove__onnx_fail(r, n,
                                "expected a part of the network divided by a constant, found "
                                "a constant divided by one");
    return drove__onnx_scale(r, n, &n->input[0], &n->input[1], '/');
}

/* ---- ai.onnx.ml: at the input of pipelines ---- */

/* An attribute's numbers: one, or one for each of the columns. */
static drove_status take_list(drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                              drove_floats *out)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, name);
    const drove_onnx_value *x = &n->input[0];
    const size_t count = a != NULL ? a->n_floats : 0;
    if (count == 0) return DROVE_OK;
    if (count > DROVE_GRAPH_MOST_LIST || (count != 1 && x->rank == 2 && count != x->side[1]))
        return drove__onnx_fail(r, n, "%s: expected 1 number or %zu, found %zu", name,
                                x->rank == 2 ? x->side[1] : (size_t)DROVE_GRAPH_MOST_LIST, count);
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a->floats[i]))
            return drove__onnx_fail(r, n, "%s: expected finite numbers", name);
    }
    out->value = malloc(count * sizeof *out->value);
    if (out->value == NULL) return drove__fail_nomem("constants", count * sizeof *out->value);
    memcpy(out->value, a->floats, count * sizeof *out->value);
    out->n = count;
    return DROVE_OK;
}

drove_status drove__onnx_take_columns(drove_onnx_reader *r, const drove_onnx_node *n,
                                      drove_onnx_value *x)
{
    if (n->n_inputs != 1 || n->input[0].kind != DROVE_ONNX_BLOB || n->input[0].rank > 2)
        return drove__onnx_fail(r, n,
                                "expected one part of the network as its input, of two "
                                "dimensions");
    *x = n->input[0];
    x->type = DROVE_ONNX_T_FLOAT;
    return DROVE_OK;
}

drove_status drove__onnx_read_scaler(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_onnx_value x, to;
    drove_node *node;
    DROVE_TRY(drove__onnx_take_columns(r, n, &x));
    DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_scale, NULL, &x, &to, &node));
    DROVE_TRY(take_list(r, n, "offset", &node->opt.offset));
    DROVE_TRY(take_list(r, n, "scale", &node->opt.factor));
    return drove__onnx_alias(r, n, &to);
}

static drove_status add_norm(drove_onnx_reader *r, const drove_onnx_node *n,
                             const drove_onnx_value *x, size_t power)
{
    drove_onnx_value to;
    drove_node *node;
    DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_normalize, NULL, x, &to, &node));
    node->opt.power = power;
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_normalizer(drove_onnx_reader *r, const drove_onnx_node *n)
{
    char norm[32] = "MAX";
    drove_onnx_value x;
    DROVE_TRY(drove__onnx_text(r, n, "norm", norm));
    if (n->n_inputs == 1 && n->input[0].kind == DROVE_ONNX_PAIR && strcmp(norm, "L1") == 0)
        return drove__onnx_alias(r, n, &n->input[0]); /* they add up to 1 */
    DROVE_TRY(drove__onnx_take_columns(r, n, &x));
    const drove_node *before = x.node != DROVE_ONNX_NO_NODE ? &r->graph.node[x.node] : NULL;
    if (before != NULL && before->ops == &drove__layer_softmax && strcmp(norm, "L1") == 0)
        return drove__onnx_alias(r, n, &x); /* their sum is 1 */
    if (strcmp(norm, "L1") != 0 && strcmp(norm, "L2") != 0)
        return drove__onnx_fail(r, n, "norm: expected L1 or L2, found %s", norm);
    return add_norm(r, n, &x, norm[1] == '1' ? 1 : 2);
}

drove_status drove__onnx_read_lp(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t power = 2, axis;
    char text[128];
    if (n->n_inputs != 1 || n->input[0].kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    const drove_onnx_value *x = &n->input[0];
    DROVE_TRY(drove__onnx_int(r, n, "p", 1, 2, &power));
    DROVE_TRY(drove__onnx_axis(r, n, -1, x->rank, &axis));
    if (x->rank == 0 || axis == 0 || x->side[axis] != drove__onnx_each(x))
        return drove__onnx_fail(r, n,
                                "axis: expected that of all numbers of an example, found "
                                "%lld of %s",
                                (long long)axis, drove__onnx_shape_text(x, text));
    return add_norm(r, n, x, (size_t)power);
}

/* ---- bounds ---- */

/* A bound as an attribute (sets before 11) or a constant; unchanged where none is given. */
static drove_status take_bound(drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                               size_t input, float *out)
{
    float *value;
    DROVE_TRY(drove__onnx_real(r, n, name, out));
    if (n->n_inputs <= input || n->input[input].kind == DROVE_ONNX_NONE) return DROVE_OK;
    const drove_onnx_value *v = &n->input[input];
    if (v->kind != DROVE_ONNX_CONSTANT || drove__onnx_count(v->tensor) != 1)
        return drove__onnx_fail(r, n, "%s: expected a constant number", name);
    DROVE_TRY(drove__onnx_floats_of(r, n, v->tensor, &value));
    *out = fmaxf(-FLT_MAX, fminf(FLT_MAX, *value));
    const bool is_number = !isnan(*value);
    free(value);
    return is_number ? DROVE_OK : drove__onnx_fail(r, n, "%s: expected a number, found NaN", name);
}

drove_status drove__onnx_read_clip(drove_onnx_reader *r, const drove_onnx_node *n)
{
    float low = -FLT_MAX, high = FLT_MAX;
    drove_node *node;
    DROVE_TRY(take_bound(r, n, "min", 1, &low));
    DROVE_TRY(take_bound(r, n, "max", 2, &high));
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_clip, NULL, &node));
    node->opt.bounds.low = low;
    node->opt.bounds.high = high;
    return DROVE_OK;
}
