/* model/onnx_shape.c - shapes of ONNX's values, what computes them, and what changes them.
 *
 * drove's blobs have no batch dimension and three sides; ONNX's values have any number of
 * dimensions, of which the first is the batch's.  Here each blob keeps the dimensions that it has
 * in the file: an operator with an axis means those, not drove's.  Sizes that a file computes from
 * shapes (Shape, Gather, Concat ...) are computed while it is read; that of the batch is a symbol.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

const char *drove__onnx_shape_text(const drove_onnx_value *v, char into[128])
{
    size_t used = (size_t)snprintf(into, 128, "[");
    for (unsigned i = 0; i < v->rank && used < 100; i++) {
        bool is_batch = i == 0 && v->kind != DROVE_ONNX_CONSTANT;
        if (is_batch) used += (size_t)snprintf(into + used, 128 - used, "N");
        else
            used +=
                (size_t)snprintf(into + used, 128 - used, "%s%zu", i > 0 ? ", " : "", v->side[i]);
    }
    snprintf(into + used, 128 - used, "]");
    return into;
}

size_t drove__onnx_each(const drove_onnx_value *v)
{
    size_t n = 1;
    for (unsigned i = 1; i < v->rank; i++) n *= v->side[i];
    return n;
}

/* The sides of the blob that holds such a value, with its channels in the second dimension.  What
 * has a length alone is an image of height 1. */
static drove_shape shape_of(unsigned rank, const size_t *side)
{
    return (drove_shape){rank > 1 ? side[1] : 1, rank > 3 ? side[2] : 1,
                         rank > 2 ? side[rank - 1] : 1};
}

/* Of a value whose channels are in the second dimension, before and after. */
static drove_status reshape_first(drove_onnx_reader *r, const drove_onnx_node *n,
                                  const drove_onnx_value *from, unsigned rank, const size_t *side,
                                  drove_onnx_value *to)
{
    const drove_shape was = shape_of(from->rank, from->side), is = shape_of(rank, side);
    drove_onnx_value made = *from;
    drove_node *node;
    if (rank > 4)
        return drove__onnx_fail(r, n, "expected at most 4 dimensions, found %u: drove has images",
                                rank);
    if (from->rank == 0 || was.c != is.c || was.h != is.h || was.w != is.w) {
        DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_reshape, NULL, from, &made, &node));
        if (is.h != 1 || is.w != 1) {
            node->opt.n_out = is.c;
            node->opt.sides.height = is.h;
            node->opt.sides.width = is.w;
        }
    }
    made.rank = rank;
    for (unsigned i = 1; i < rank; i++) made.side[i] = side[i];
    *to = made;
    return DROVE_OK;
}

/* A value whose channels are last as a vector in the file's order, which a flatten layer makes. */
static drove_status flatten_last(drove_onnx_reader *r, const drove_onnx_node *n,
                                 const drove_onnx_value *from, drove_onnx_value *to)
{
    drove_node *node;
    *to = *from;
    if (from->side[from->rank - 1] != drove__onnx_each(from))
        DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_flatten, NULL, from, to, &node));
    to->is_last = false;
    to->rank = 2;
    to->side[1] = drove__onnx_each(from);
    return DROVE_OK;
}

drove_status drove__onnx_turn(drove_onnx_reader *r, const drove_onnx_node *n,
                              drove_onnx_value *value)
{
    const drove_onnx_value from = *value;
    if (!from.is_last) return DROVE_OK;
    DROVE_TRY(flatten_last(r, n, &from, value));
    return reshape_first(r, n, value, from.rank, from.side, value);
}

drove_status drove__onnx_reshape(drove_onnx_reader *r, const drove_onnx_node *n,
                                 const drove_onnx_value *from, unsigned rank, const size_t *side,
                                 drove_onnx_value *to)
{
    drove_onnx_value own = *from;
    size_t n_others = 1;
    bool is_same = from->is_last && rank == from->rank;
    for (unsigned i = 1; i < rank; i++) is_same = is_same && side[i] == from->side[i];
    if (is_same) {
        *to = *from;
        return DROVE_OK;
    }
    if (own.is_last) DROVE_TRY(flatten_last(r, n, from, &own));

    /* [N][1][1][c] is a vector, as a number for each channel of what has them last. */
    for (unsigned i = 1; i + 1 < rank; i++) n_others *= side[i];
    if (from->rank == 0 || rank < 3 || rank > 4 || n_others != 1)
        return reshape_first(r, n, &own, rank, side, to);
    const size_t vector[2] = {0, side[rank - 1]};
    DROVE_TRY(reshape_first(r, n, &own, 2, vector, to));
    to->is_last = true;
    to->rank = rank;
    for (unsigned i = 1; i < rank; i++) to->side[i] = side[i];
    return DROVE_OK;
}

/* ---- axes ---- */

static drove_status settle_axis(drove_onnx_reader *r, const drove_onnx_node *n, unsigned rank,
                                int64_t *axis)
{
    const int64_t given = *axis;
    if (rank == 0) return DROVE_OK;
    if (*axis < 0) *axis += rank;
    if (*axis >= 0 && *axis < (int64_t)rank) return DROVE_OK;
    return drove__onnx_fail(r, n, "axis: expected %d to %u, of %u dimensions, found %lld",
                            -(int)rank, rank - 1, rank, (long long)given);
}

drove_status drove__onnx_axis(drove_onnx_reader *r, const drove_onnx_node *n, int64_t usual,
                              unsigned rank, int64_t *axis)
{
    *axis = usual;
    DROVE_TRY(drove__onnx_int(r, n, "axis", INT32_MIN, INT32_MAX, axis));
    return settle_axis(r, n, rank, axis);
}

drove_status drove__onnx_axes(drove_onnx_reader *r, const drove_onnx_node *n, unsigned rank,
                              int64_t axes[DROVE_ONNX_MOST_RANK], size_t *n_axes)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "axes");
    *n_axes = 0;
    if (n->n_inputs > 1 && n->input[1].kind == DROVE_ONNX_CONSTANT) {
        DROVE_TRY(
            drove__onnx_ints_of(r, n, n->input[1].tensor, DROVE_ONNX_MOST_RANK, axes, n_axes));
    } else if (n->n_inputs > 1 && n->input[1].kind != DROVE_ONNX_NONE) {
        return drove__onnx_fail(r, n, "axes: expected constants");
    } else if (a != NULL) {
        if (a->n_ints > DROVE_ONNX_MOST_RANK)
            return drove__onnx_fail(r, n, "axes: expected at most %d", DROVE_ONNX_MOST_RANK);
        *n_axes = a->n_ints;
        for (size_t i = 0; i < a->n_ints; i++) axes[i] = a->ints[i];
    }
    for (size_t i = 0; i < *n_axes; i++) DROVE_TRY(settle_axis(r, n, rank, &axes[i]));
    for (size_t i = 1; i < *n_axes && rank > 0; i++) { /* a few of them */
        for (size_t k = i; k > 0 && axes[k] < axes[k - 1]; k--) {
            const int64_t other = axes[k];
            axes[k] = axes[k - 1];
            axes[k - 1] = other;
        }
    }
    return DROVE_OK;
}

/* ---- sizes that the file computes ---- */

/* An input as whole numbers, also a constant. */
static drove_status take_sizes(drove_onnx_reader *r, const drove_onnx_node *n, size_t input,
                               drove_onnx_value *out)
{
    const drove_onnx_value *v = &n->input[input];
    *out = (drove_onnx_value){.kind = DROVE_ONNX_SIZES};
    if (input >= n->n_inputs) return DROVE_OK;
    if (v->kind == DROVE_ONNX_SIZES) *out = *v;
    if (v->kind != DROVE_ONNX_CONSTANT) return DROVE_OK;
    const int32_t type = v->tensor->has_data_type ? v->tensor->data_type : 0;
    const size_t count = drove__onnx_count(v->tensor);
    if ((type != DROVE_ONNX_T_INT64 && type != DROVE_ONNX_T_INT32) ||
        count > DROVE_ONNX_MOST_SIZES || v->rank > 1)
        return DROVE_OK;
    out->is_scalar = v->rank == 0;
    return drove__onnx_ints_of(r, n, v->tensor, DROVE_ONNX_MOST_SIZES, out->size, &out->n_sizes);
}

static int64_t calculate(char operation, int64_t a, int64_t b)
{
    const bool is_plain = a > INT32_MIN && b > INT32_MIN && a <= INT32_MAX && b <= INT32_MAX;
    if (a == DROVE_ONNX_BATCH && b == (operation == '*' || operation == '/')) return a;
    if (b == DROVE_ONNX_BATCH && a == (operation == '*') && (operation == '*' || operation == '+'))
        return b;
    if (!is_plain || (operation == '/' && b == 0)) return DROVE_ONNX_UNKNOWN;
    switch (operation) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return a / b; /* towards zero, as ONNX's */
    }
}

static void calculate_all(char operation, const drove_onnx_value *a, const drove_onnx_value *b,
                          drove_onnx_value *out)
{
    const size_t count = a->n_sizes > b->n_sizes ? a->n_sizes : b->n_sizes;
    out->is_scalar = a->is_scalar && b->is_scalar;
    if ((a->n_sizes != count && a->n_sizes != 1) || (b->n_sizes != count && b->n_sizes != 1))
        return;
    for (size_t i = 0; i < count; i++) {
        out->size[i] = calculate(operation, a->size[a->n_sizes == 1 ? 0 : i],
                                 b->size[b->n_sizes == 1 ? 0 : i]);
    }
    out->n_sizes = count;
}

static void gather(const drove_onnx_value *from, const drove_onnx_value *at, drove_onnx_value *out)
{
    out->is_scalar = at->is_scalar;
    for (size_t i = 0; i < at->n_sizes; i++) {
        const int64_t place = at->size[i] < 0 ? at->size[i] + (int64_t)from->n_sizes : at->size[i];
        if (place < 0 || place >= (int64_t)from->n_sizes) return;
        out->size[i] = from->size[place];
    }
    out->n_sizes = at->n_sizes;
}

static int64_t clamp(int64_t at, size_t n)
{
    if (at < 0) at += (int64_t)n;
    return at < 0 ? 0 : at > (int64_t)n ? (int64_t)n : at;
}

static void slice(const drove_onnx_value *from, int64_t begin, int64_t end, drove_onnx_value *out)
{
    begin = clamp(begin, from->n_sizes);
    end = clamp(end, from->n_sizes);
    for (int64_t i = begin; i < end; i++) out->size[out->n_sizes++] = from->size[i];
}

/* The rows of two dimensions, the last one first. */
static void reverse(const drove_onnx_value *from, drove_onnx_value *out)
{
    const size_t n_columns = from->n_columns > 0 ? from->n_columns : 1;
    *out = *from;
    for (size_t i = 0; i < from->n_sizes; i++) {
        const size_t row = from->n_sizes / n_columns - 1 - i / n_columns;
        out->size[i] = from->size[row * n_columns + i % n_columns];
    }
}

static drove_status read_slice(drove_onnx_reader *r, const drove_onnx_node *n, drove_onnx_value *in,
                               drove_onnx_value *out)
{
    const Drove__Onnx__Attribute *from = drove__onnx_attribute(n, "starts"),
                                 *to = drove__onnx_attribute(n, "ends");
    drove_onnx_value step;
    if (from != NULL && to != NULL) {
        if (from->n_ints == 1 && to->n_ints == 1) slice(&in[0], from->ints[0], to->ints[0], out);
        return DROVE_OK;
    }
    drove_onnx_value axis;
    DROVE_TRY(take_sizes(r, n, 3, &axis));
    DROVE_TRY(take_sizes(r, n, 4, &step));
    const bool is_first = axis.n_sizes == 0 || (axis.n_sizes == 1 && axis.size[0] == 0);
    if (step.n_sizes == 1 && step.size[0] == -1 && is_first && in[1].n_sizes == 1 &&
        in[2].n_sizes == 1 && in[1].size[0] == -1 && in[2].size[0] < -DROVE_ONNX_MOST_SIZES) {
        reverse(&in[0], out);
        return DROVE_OK;
    }
    if (in[0].n_columns > 0) return DROVE_OK;
    const bool has_step = n->n_inputs > 4 && !(step.n_sizes == 1 && step.size[0] == 1);
    if (in[1].n_sizes == 1 && in[2].n_sizes == 1 && !has_step)
        slice(&in[0], in[1].size[0], in[2].size[0], out);
    return DROVE_OK;
}

drove_status drove__onnx_compute_sizes(drove_onnx_reader *r, const drove_onnx_node *n)
{
    static const struct {
        const char *name;
        char operation;
    } arithmetic[] = {{"Add", '+'}, {"Sub", '-'}, {"Mul", '*'}, {"Div", '/'}};
    const char *op = n->node->op_type;
    drove_onnx_value out = {.kind = DROVE_ONNX_SIZES}, in[3];
    static const char *const of_rows[] = {"Slice", "Transpose", "Reshape", "Cast", "Identity"};
    bool takes_rows = false;
    for (size_t i = 0; i < DROVE_COUNT(of_rows); i++)
        takes_rows = takes_rows || strcmp(op, of_rows[i]) == 0;
    for (size_t i = 0; i < DROVE_COUNT(in); i++) {
        DROVE_TRY(take_sizes(r, n, i, &in[i]));
        if (in[i].n_columns > 0 && !takes_rows) in[i].n_sizes = 0;
    }
    const bool is_known = in[0].n_sizes > 0;
    for (size_t i = 0; i < DROVE_COUNT(arithmetic); i++) {
        if (strcmp(op, arithmetic[i].name) == 0 && is_known && in[1].n_sizes > 0)
            calculate_all(arithmetic[i].operation, &in[0], &in[1], &out);
    }
    if (strcmp(op, "Gather") == 0) gather(&in[0], &in[1], &out);
    if (strcmp(op, "Slice") == 0) DROVE_TRY(read_slice(r, n, in, &out));
    if (strcmp(op, "Identity") == 0) out = in[0];
    if (strcmp(op, "Unsqueeze") == 0 && in[0].is_scalar) {
        out = in[0];
        out.is_scalar = false;
    }
    if (strcmp(op, "Squeeze") == 0 && in[0].n_sizes == 1) {
        out = in[0];
        out.is_scalar = true;
    }
    if (strcmp(op, "Cast") == 0) {
        int64_t to = 0;
        DROVE_TRY(drove__onnx_int(r, n, "to", 0, INT32_MAX, &to));
        if (to == DROVE_ONNX_T_INT64 || to == DROVE_ONNX_T_INT32) out = in[0];
    }
    if (strcmp(op, "Reshape") == 0 && in[1].n_sizes == 1) {
        out = in[0];
        out.is_scalar = false;
        out.n_columns = 0;
    }
    if (strcmp(op, "Reshape") == 0 && in[1].n_sizes == 2 && in[1].size[1] > 0 &&
        in[0].n_sizes % (size_t)in[1].size[1] == 0) {
        out = in[0];
        out.is_scalar = false;
        out.n_columns = (size_t)in[1].size[1];
    }
    if (strcmp(op, "Transpose") == 0 &&
        in[0].n_columns > 0) { /* of two dimensions: the other way */
        const size_t n_columns = in[0].n_columns, n_rows = in[0].n_sizes / n_columns;
        out = in[0];
        out.n_columns = n_rows;
        for (size_t i = 0; i < in[0].n_sizes; i++)
            out.size[i] = in[0].size[i % n_rows * n_columns + i / n_rows];
    }
    if (strcmp(op, "ReduceProd") == 0 && is_known) {
        int64_t keeps = 1, product = 1;
        DROVE_TRY(drove__onnx_int(r, n, "keepdims", 0, 1, &keeps));
        for (size_t i = 0; i < in[0].n_sizes; i++) product = calculate('*', product, in[0].size[i]);
        out.size[0] = product;
        out.n_sizes = 1;
        out.is_scalar = keeps == 0;
    }
    if (strcmp(op, "Concat") == 0) {
        bool is_whole = true;
        for (size_t i = 0; i < n->n_inputs; i++) {
            drove_onnx_value part;
            DROVE_TRY(take_sizes(r, n, i, &part));
            is_whole = is_whole && part.n_sizes > 0 && part.n_columns == 0 &&
                       out.n_sizes + part.n_sizes <= DROVE_ONNX_MOST_SIZES;
            for (size_t k = 0; is_whole && k < part.n_sizes; k++)
                out.size[out.n_sizes++] = part.size[k];
        }
        if (!is_whole) out.n_sizes = 0;
    }
    out.kind = DROVE_ONNX_SIZES;
    return drove__onnx_alias(r, n, &out);
}

/* Whole numbers that are all the same, as many as a constant says. */
drove_status drove__onnx_read_filled(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "value");
    drove_onnx_value out = {.kind = DROVE_ONNX_SIZES}, count;
    int64_t value;
    size_t n_values = 0;
    DROVE_TRY(take_sizes(r, n, 0, &count));
    if (a != NULL && a->t != NULL && a->t->has_data_type && a->t->data_type == DROVE_ONNX_T_INT64)
        DROVE_TRY(drove__onnx_ints_of(r, n, a->t, 1, &value, &n_values));
    if (n_values != 1 || count.n_sizes != 1 || count.size[0] < 1 ||
        count.size[0] > DROVE_ONNX_MOST_SIZES)
        return drove__onnx_fail(r, n, "expected at most %d whole numbers of one dimension",
                                (int)DROVE_ONNX_MOST_SIZES);
    out.n_sizes = (size_t)count.size[0];
    for (size_t i = 0; i < out.n_sizes; i++) out.size[i] = value;
    return drove__onnx_alias(r, n, &out);
}

drove_status drove__onnx_read_shape(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_onnx_value all = {.kind = DROVE_ONNX_SIZES}, out = all;
    int64_t start = 0, end = DROVE_ONNX_MOST_RANK;
    if (n->n_inputs != 1) return drove__onnx_fail(r, n, "expected one input");
    const drove_onnx_value *x = &n->input[0];
    DROVE_TRY(drove__onnx_int(r, n, "start", INT32_MIN, INT32_MAX, &start));
    DROVE_TRY(drove__onnx_int(r, n, "end", INT32_MIN, INT32_MAX, &end));
    all.n_sizes = x->rank;
    for (unsigned i = 0; i < x->rank; i++) {
        const bool is_batch = i == 0 && x->kind == DROVE_ONNX_BLOB;
        all.size[i] = is_batch ? DROVE_ONNX_BATCH : (int64_t)x->side[i];
    }
    slice(&all, start, end, &out);
    return drove__onnx_alias(r, n, &out);
}

/* ---- what changes shapes ---- */

/* A constant with other sides. */
static drove_status reshape_constant(drove_onnx_reader *r, const drove_onnx_node *n, unsigned rank,
                                     const int64_t *side)
{
    drove_onnx_value out = n->input[0];
    size_t count = drove__onnx_count(out.tensor), known = 1;
    unsigned open = UINT32_MAX;
    for (unsigned i = 0; i < rank && rank <= DROVE_ONNX_MOST_RANK; i++) {
        if (side[i] == -1 && open == UINT32_MAX) open = i;
        else if (side[i] > 0 && (size_t)side[i] <= count) known *= (size_t)side[i];
        else known = 0;
        if (known > count) known = 0;
    }
    if (out.is_transposed || rank > DROVE_ONNX_MOST_RANK || known == 0 || count == SIZE_MAX ||
        (open == UINT32_MAX ? known != count : count % known != 0))
        return drove__onnx_fail(r, n, "expected sides that its constant has");
    out.rank = rank;
    for (unsigned i = 0; i < rank; i++) out.side[i] = i == open ? count / known : (size_t)side[i];
    return drove__onnx_alias(r, n, &out);
}

static drove_status want_input(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_kind kind = n->n_inputs > 0 ? n->input[0].kind : DROVE_ONNX_NONE;
    if (kind == DROVE_ONNX_NONE) return drove__onnx_fail(r, n, "expected an input, found none");
    if (kind == DROVE_ONNX_BLOB || kind == DROVE_ONNX_CONSTANT) return DROVE_OK;
    return drove__onnx_fail(r, n, "expected a part of the network as its input");
}

static drove_status flatten_to_vector(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_value *x = &n->input[0];
    const size_t side[2] = {0, x->rank == 0 ? 1 : drove__onnx_each(x)};
    drove_onnx_value to;
    DROVE_TRY(drove__onnx_reshape(r, n, x, 2, side, &to));
    if (x->rank == 0) to.rank = 0;
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_flatten(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axis;
    size_t before = 1;
    DROVE_TRY(want_input(r, n));
    const drove_onnx_value *x = &n->input[0];
    if (x->kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    if (x->rank == 0) {
        axis = 1;
        DROVE_TRY(drove__onnx_int(r, n, "axis", 1, 1, &axis));
        return flatten_to_vector(r, n);
    }
    axis = 1; /* may be the number of dimensions, too */
    DROVE_TRY(drove__onnx_int(r, n, "axis", -(int64_t)x->rank, x->rank, &axis));
    if (axis < 0) axis += x->rank;
    for (int64_t i = 1; i < axis; i++) before *= x->side[i];
    if (axis >= 1 && before == 1) return flatten_to_vector(r, n);
    char text[128];
    return drove__onnx_fail(r, n,
                            "axis: expected 1, which keeps each example apart, found %lld of %s",
                            (long long)axis, drove__onnx_shape_text(x, text));
}

/* The sides of a Reshape's output; those of the input are known. */
static drove_status settle_sides(drove_onnx_reader *r, const drove_onnx_node *n,
                                 const drove_onnx_value *wanted, bool zero_is_zero, size_t *side)
{
    const drove_onnx_value *x = &n->input[0];
    const size_t each = drove__onnx_each(x), rank = wanted->n_sizes;
    const int64_t *s = wanted->size;
    const char *why = "each example to stay one row";
    char text[128];
    size_t known = 1, open = SIZE_MAX;
    bool fits = true;
    for (size_t i = 1; i < rank && fits; i++) {
        side[i] = s[i] > 0 && s[i] <= INT32_MAX               ? (size_t)s[i]
                  : s[i] == 0 && !zero_is_zero && i < x->rank ? x->side[i]
                                                              : 0;
        if (s[i] == -1 && open == SIZE_MAX) open = i;
        else if (side[i] == 0 || side[i] > each || known > each) fits = false;
        else known *= side[i];
    }
    fits = fits && known > 0 && (open == SIZE_MAX ? known == each : each % known == 0);
    if (!fits) why = "the numbers of an example to stay the same";
    if (fits && open != SIZE_MAX) side[open] = each / known;
    const bool keeps_batch = s[0] == DROVE_ONNX_BATCH || (s[0] == 0 && !zero_is_zero) ||
                             (s[0] == -1 && open == SIZE_MAX) ||
                             (x->side[0] > 0 && s[0] == (int64_t)x->side[0]);
    if (fits && keeps_batch) return DROVE_OK;
    char sides[128] = "";
    for (size_t i = 0, used = 0; i < rank && used < 100; i++) {
        if (s[i] == DROVE_ONNX_BATCH)
            used += (size_t)snprintf(sides + used, 28, "%sN", i ? ", " : "");
        else if (s[i] == DROVE_ONNX_UNKNOWN)
            used += (size_t)snprintf(sides + used, 28, "%s?", i ? ", " : "");
        else used += (size_t)snprintf(sides + used, 28, "%s%lld", i ? ", " : "", (long long)s[i]);
    }
    return drove__onnx_fail(r, n, "expected %s, found %s reshaped to [%s]", why,
                            drove__onnx_shape_text(x, text), sides);
}

drove_status drove__onnx_read_reshape(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t zero_is_zero = 0;
    size_t side[DROVE_ONNX_MOST_SIZES];
    drove_onnx_value wanted, to;
    DROVE_TRY(want_input(r, n));
    DROVE_TRY(drove__onnx_int(r, n, "allowzero", 0, 1, &zero_is_zero));
    DROVE_TRY(take_sizes(r, n, 1, &wanted));
    if (n->input[0].kind == DROVE_ONNX_CONSTANT) {
        if (wanted.n_sizes == 0) return drove__onnx_fail(r, n, "expected constant sides");
        return reshape_constant(r, n, (unsigned)wanted.n_sizes, wanted.size);
    }
    const drove_onnx_value *x = &n->input[0];
    if (x->rank == 0) {
        if (wanted.n_sizes == 2 || (n->n_inputs > 1 && n->input[1].kind == DROVE_ONNX_SIZES))
            return flatten_to_vector(r, n);
        return drove__onnx_fail(r, n, "expected a flattened image, of two dimensions");
    }
    if (n->n_inputs < 2 || wanted.n_sizes == 0 || wanted.n_sizes > DROVE_ONNX_MOST_RANK)
        return drove__onnx_fail(r, n,
                                "expected sides that are constants or follow from the input's; "
                                "found \"%.60s\", which does not",
                                n->n_inputs > 1 ? n->node->input[1] : "");
    DROVE_TRY(settle_sides(r, n, &wanted, zero_is_zero != 0, side));
    DROVE_TRY(drove__onnx_reshape(r, n, x, (unsigned)wanted.n_sizes, side, &to));
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_squeeze(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axes[DROVE_ONNX_MOST_RANK];
    size_t n_axes, side[DROVE_ONNX_MOST_RANK];
    int64_t kept[DROVE_ONNX_MOST_RANK];
    unsigned rank = 0;
    char text[128];
    drove_onnx_value to;
    DROVE_TRY(want_input(r, n));
    const drove_onnx_value *x = &n->input[0];
    const bool is_blob = x->kind == DROVE_ONNX_BLOB;
    DROVE_TRY(drove__onnx_axes(r, n, x->rank, axes, &n_axes));
    if (is_blob && x->rank == 0) { /* height and width of a pooled image, or so it seems */
        const bool has_height =
            n_axes == 2 && (axes[0] == 2 || axes[0] == -2 || axes[1] == 2 || axes[1] == -2);
        const bool has_width =
            n_axes == 2 && (axes[0] == 3 || axes[0] == -1 || axes[1] == 3 || axes[1] == -1);
        if (has_height && has_width) return drove__onnx_alias(r, n, x);
        return drove__onnx_fail(r, n, "axes: expected height and width, 2 and 3");
    }
    for (unsigned i = 0; i < x->rank; i++) {
        bool goes = n_axes == 0 && x->side[i] == 1 && (i > 0 || !is_blob);
        for (size_t k = 0; k < n_axes; k++) goes = goes || axes[k] == (int64_t)i;
        if (goes && ((i == 0 && is_blob) || x->side[i] != 1))
            return drove__onnx_fail(r, n,
                                    "axes: expected sides of 1 behind the first, found %u of %s", i,
                                    drove__onnx_shape_text(x, text));
        if (goes) continue;
        kept[rank] = (int64_t)x->side[i];
        side[rank++] = x->side[i];
    }
    if (n_axes == 0 && is_blob && x->side[0] == 1)
        return drove__onnx_fail(r, n, "axes: expected some, as the batch of 1 would go");
    if (!is_blob) return reshape_constant(r, n, rank, kept);
    DROVE_TRY(drove__onnx_reshape(r, n, x, rank, side, &to));
    return drove__onnx_alias(r, n, &to);
}

drove_status drove__onnx_read_unsqueeze(drove_onnx_reader *r, const drove_onnx_node *n)
{
    int64_t axes[DROVE_ONNX_MOST_RANK], kept[DROVE_ONNX_MOST_RANK];
    size_t n_axes, side[DROVE_ONNX_MOST_RANK], at = 0;
    drove_onnx_value to;
    DROVE_TRY(want_input(r, n));
    const drove_onnx_value *x = &n->input[0];
    const bool is_blob = x->kind == DROVE_ONNX_BLOB;
    DROVE_TRY(drove__onnx_axes(r, n, 0, axes, &n_axes));
    const unsigned rank = x->rank + (unsigned)n_axes;
    if (n_axes == 0 || rank > DROVE_ONNX_MOST_RANK || (is_blob && x->rank == 0))
        return drove__onnx_fail(r, n, "axes: expected constant ones of at most %d dimensions",
                                DROVE_ONNX_MOST_RANK);
    DROVE_TRY(drove__onnx_axes(r, n, rank, axes, &n_axes));
    for (unsigned i = 0, k = 0; i < rank; i++) {
        const bool is_new = k < n_axes && axes[k] == (int64_t)i;
        if (is_new && i == 0 && is_blob)
            return drove__onnx_fail(r, n, "axes: expected ones behind the first, found 0");
        if (!is_new && at == x->rank) return drove__onnx_fail(r, n, "axes: expected each once");
        side[i] = is_new ? 1 : x->side[at++];
        kept[i] = (int64_t)side[i];
        k += is_new;
    }
    if (!is_blob) return reshape_constant(r, n, rank, kept);
    DROVE_TRY(drove__onnx_reshape(r, n, x, rank, side, &to));
    return drove__onnx_alias(r, n, &to);
}

/* Of a constant matrix; of a blob whose channels it puts last or first, or whose order it keeps. */
drove_status drove__onnx_read_transpose(drove_onnx_reader *r, const drove_onnx_node *n)
{
    size_t perm[DROVE_ONNX_MOST_RANK];
    char text[128];
    const drove_onnx_value *x = &n->input[0];
    if (n->n_inputs != 1 || x->rank == 0 ||
        (x->kind == DROVE_ONNX_CONSTANT ? x->rank != 2 : x->kind != DROVE_ONNX_BLOB))
        return drove__onnx_fail(r, n, "expected a constant matrix");
    for (unsigned i = 0; i < x->rank; i++) perm[i] = x->rank - 1 - i;
    DROVE_TRY(drove__onnx_sizes(r, n, "perm", x->rank, 0, x->rank - 1, perm));
    if (x->kind == DROVE_ONNX_CONSTANT) {
        drove_onnx_value value = *x;
        if (perm[0] == perm[1]) return drove__onnx_fail(r, n, "perm: expected each axis once");
        if (perm[0] == 1) value.is_transposed = !value.is_transposed;
        return drove__onnx_alias(r, n, &value);
    }
    /* the channels of [N][c][h][w] last, or first again: the same blob */
    drove_onnx_value to = *x;
    bool turns = x->rank >= 3 && x->rank <= 4 && perm[0] == 0;
    for (unsigned i = 1; i < x->rank; i++) {
        to.side[i] = x->side[perm[i]];
        turns = turns && perm[i] == (x->is_last         ? i == 1 ? x->rank - 1 : i - 1
                                     : i + 1 == x->rank ? 1
                                                        : i + 1);
    }
    if (turns) {
        to.is_last = !x->is_last;
        return drove__onnx_alias(r, n, &to);
    }
    /* an image of the data whose channels are last, and that they have not as one */
    if (x->rank == 4 && !x->is_last && perm[0] == 0 && perm[1] == 3 && perm[2] == 1 &&
        perm[3] == 2 && drove__onnx_has_no_zeros(x)) {
        drove_node *node;
        DROVE_TRY(drove__onnx_layer(r, n, &drove__layer_reshape, NULL, x, &to, &node));
        node->opt.n_out = x->side[3];
        node->opt.sides = (drove_image_sides){x->side[1], x->side[2], true};
        for (unsigned i = 1; i < x->rank; i++) to.side[i] = x->side[perm[i]];
        return drove__onnx_alias(r, n, &to);
    }
    if (!drove__onnx_has_no_zeros(x))
        return drove__onnx_fail(r, n, "expected the channels of a padded image last or first");

    /* sides of 1 may go anywhere: the others keep their order */
    size_t side[DROVE_ONNX_MOST_RANK], last = 0, seen = 0;
    bool keeps = perm[0] == 0;
    for (unsigned i = 0; i < x->rank; i++) {
        keeps = keeps && (seen >> perm[i] & 1) == 0 &&
                (x->side[perm[i]] == 1 || i == 0 || perm[i] >= last);
        if (i > 0 && x->side[perm[i]] != 1) last = perm[i];
        seen |= (size_t)1 << perm[i];
        side[i] = x->side[perm[i]];
    }
    if (!keeps)
        return drove__onnx_fail(r, n,
                                "expected images with channels first, and no other order within "
                                "the network; found %s transposed: export the network with "
                                "channels first",
                                drove__onnx_shape_text(x, text));
    DROVE_TRY(drove__onnx_reshape(r, n, x, x->rank, side, &to));
    return drove__onnx_alias(r, n, &to);
}
