/* onnx_run.c - see onnx_run.h. */
#include "onnx_run.h"

#include "support/test.h"
#include "table/murmur.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

onnx_value *onnx_add(onnx_run *run, const char *name, int32_t type, const size_t *dims, size_t rank)
{
    assert_true(run->n < ONNX_MOST_VALUES && rank <= ONNX_MOST_RANK);
    onnx_value *v = &run->value[run->n++];
    *v = (onnx_value){.name = name, .type = type, .rank = rank, .n = 1};
    for (size_t i = 0; i < rank; i++) v->n *= v->dim[i] = dims[i];
    if (type == DROVE_ONNX_STRING) v->text = calloc(v->n + 1, sizeof *v->text);
    else v->number = calloc(v->n + 1, sizeof *v->number);
    return v;
}

const onnx_value *onnx_get(const onnx_run *run, const char *name)
{
    for (size_t i = 0; i < run->n; i++)
        if (strcmp(run->value[i].name, name) == 0) return &run->value[i];
    fail_msg("expected a value %s", name);
    return NULL;
}

void onnx_run_fini(onnx_run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        onnx_value *v = &run->value[i];
        for (size_t k = 0; v->owns_text && k < v->n; k++) free((char *)(uintptr_t)v->text[k]);
        free(v->number);
        free(v->text);
    }
    run->n = 0;
}

static double as_type(double value, int32_t type)
{
    if (type == DROVE_ONNX_FLOAT) return (float)value;
    if (type == DROVE_ONNX_INT64) return trunc(value);
    if (type != DROVE_ONNX_BFLOAT16 || !isfinite(value)) return value;
    const float single = (float)value; /* to the nearest of 8 bits, ties to even */
    uint32_t bits;
    float rounded;
    memcpy(&bits, &single, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&rounded, &bits, sizeof rounded);
    return rounded;
}

static void add_constant(onnx_run *run, const Drove__Onnx__Tensor *t)
{
    size_t dims[ONNX_MOST_RANK];
    assert_true(t->n_dims <= ONNX_MOST_RANK);
    for (size_t i = 0; i < t->n_dims; i++) dims[i] = (size_t)t->dims[i];
    onnx_value *v = onnx_add(run, t->name, t->data_type, dims, t->n_dims);
    v->owns_text = v->text != NULL;
    for (size_t i = 0; i < v->n; i++) {
        const uint8_t *at = t->raw_data.data;
        float single;
        int64_t whole;
        switch (t->data_type) {
        case DROVE_ONNX_FLOAT:
            memcpy(&single, at + i * sizeof single, sizeof single);
            v->number[i] = single;
            break;
        case DROVE_ONNX_INT64:
            memcpy(&whole, at + i * sizeof whole, sizeof whole);
            v->number[i] = (double)whole;
            break;
        case DROVE_ONNX_DOUBLE: memcpy(&v->number[i], at + i * 8, 8); break;
        case DROVE_ONNX_STRING: {
            const ProtobufCBinaryData *from = &t->string_data[i]; /* no zero ends it */
            char *text = calloc(from->len + 1, 1);
            assert_non_null(text);
            memcpy(text, from->data, from->len);
            v->text[i] = text;
            break;
        }
        default: fail_msg("constant %s: type %d", t->name, (int)t->data_type);
        }
    }
}

/* ---- nodes ---- */

typedef struct node {
    onnx_run *run;
    const Drove__Onnx__Node *of;
    const onnx_value *in[ONNX_MOST_RANK + 1];
    size_t n_in;
} node;

static const Drove__Onnx__Attribute *attribute(const node *n, const char *name)
{
    for (size_t i = 0; i < n->of->n_attribute; i++)
        if (strcmp(n->of->attribute[i]->name, name) == 0) return n->of->attribute[i];
    return NULL;
}

static int64_t whole(const node *n, const char *name, int64_t otherwise)
{
    const Drove__Onnx__Attribute *a = attribute(n, name);
    return a != NULL ? a->i : otherwise;
}

static double real(const node *n, const char *name)
{
    const Drove__Onnx__Attribute *a = attribute(n, name);
    if (a == NULL) fail_msg("%s: expected %s", n->of->name, name);
    return a->f;
}

static size_t side(const node *n, const char *name, size_t i, size_t otherwise)
{
    const Drove__Onnx__Attribute *a = attribute(n, name);
    if (a == NULL) return otherwise;
    assert_true(i < a->n_ints);
    return (size_t)a->ints[i];
}

static onnx_value *result(const node *n, int32_t type, const size_t *dims, size_t rank)
{
    return onnx_add(n->run, n->of->output[0], type, dims, rank);
}

/* Where number `at` of out comes from, by the rules of broadcasting. */
static size_t place(const onnx_value *from, const onnx_value *out, size_t at)
{
    size_t index = 0, stride = 1;
    for (size_t i = 0; i < out->rank; i++) {
        const size_t width = out->dim[out->rank - 1 - i], k = at % width;
        at /= width;
        if (i >= from->rank) continue;
        const size_t own = from->dim[from->rank - 1 - i];
        assert_true(own == 1 || own == width);
        if (own > 1) index += k * stride;
        stride *= own;
    }
    return index;
}

typedef double element_fn(const node *n, const double x[3]);

static void each(const node *n, int32_t type, element_fn *fn)
{
    size_t rank = 0, dims[ONNX_MOST_RANK];
    for (size_t k = 0; k < n->n_in; k++) rank = n->in[k]->rank > rank ? n->in[k]->rank : rank;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = 1;
        for (size_t k = 0; k < n->n_in; k++) {
            const onnx_value *v = n->in[k];
            const size_t from = i + v->rank;
            if (from >= rank && v->dim[from - rank] > dims[i]) dims[i] = v->dim[from - rank];
        }
    }
    onnx_value *out = result(n, type, dims, rank);
    for (size_t i = 0; i < out->n; i++) {
        double x[3] = {0};
        for (size_t k = 0; k < n->n_in; k++) x[k] = n->in[k]->number[place(n->in[k], out, i)];
        out->number[i] = as_type(fn(n, x), type);
    }
}

static double add(const node *n, const double x[3])
{
    return (void)n, x[0] + x[1];
}
static double subtract(const node *n, const double x[3])
{
    return (void)n, x[0] - x[1];
}
static double multiply(const node *n, const double x[3])
{
    return (void)n, x[0] * x[1];
}
static double divide(const node *n, const double x[3])
{
    return (void)n, x[0] / x[1];
}
static double is_greater(const node *n, const double x[3])
{
    return (void)n, x[0] > x[1];
}
static double is_no_more(const node *n, const double x[3])
{
    return (void)n, x[0] <= x[1];
}
static double is_equal(const node *n, const double x[3])
{
    return (void)n, x[0] == x[1];
}
static double either(const node *n, const double x[3])
{
    return (void)n, x[0] != 0 || x[1] != 0;
}
static double not(const node *n, const double x[3])
{
    return (void)n, x[0] == 0;
}
static double is_nan(const node *n, const double x[3])
{
    return (void)n, isnan(x[0]) != 0;
}
static double is_inf(const node *n, const double x[3])
{
    return (void)n, isinf(x[0]) != 0;
}
static double absolute(const node *n, const double x[3])
{
    return (void)n, fabs(x[0]);
}
static double round_down(const node *n, const double x[3])
{
    return (void)n, floor(x[0]);
}
static double cosine(const node *n, const double x[3])
{
    return (void)n, cos(x[0]);
}
static double sine(const node *n, const double x[3])
{
    return (void)n, sin(x[0]);
}
static double root(const node *n, const double x[3])
{
    return (void)n, sqrt(x[0]);
}
static double tangent(const node *n, const double x[3])
{
    return (void)n, tanh(x[0]);
}
static double sigmoid(const node *n, const double x[3])
{
    return (void)n, 1 / (1 + exp(-x[0]));
}
static double relu(const node *n, const double x[3])
{
    return (void)n, x[0] > 0 ? x[0] : 0;
}
static double same(const node *n, const double x[3])
{
    return (void)n, x[0];
}
static double choose(const node *n, const double x[3])
{
    return (void)n, x[0] != 0 ? x[1] : x[2];
}
static double clip(const node *n, const double x[3])
{
    return (void)n, x[0] < x[1] ? x[1] : x[0] > x[2] ? x[2] : x[0];
}
static double remainder_of(const node *n, const double x[3])
{
    return (void)n, x[0] - x[1] * floor(x[0] / x[1]); /* the sign of the divisor */
}
static double leaky(const node *n, const double x[3])
{
    return x[0] < 0 ? real(n, "alpha") * x[0] : x[0];
}

static const struct {
    const char *op;
    element_fn *fn;
    int type_of; /* input; -1: bool */
} elements[] = {
    {"Add", add, 0},          {"Sub", subtract, 0},        {"Mul", multiply, 0},
    {"Div", divide, 0},       {"Greater", is_greater, -1}, {"LessOrEqual", is_no_more, -1},
    {"Equal", is_equal, -1},  {"Or", either, -1},          {"Not", not, -1},
    {"IsNaN", is_nan, -1},    {"IsInf", is_inf, -1},       {"Abs", absolute, 0},
    {"Floor", round_down, 0}, {"Cos", cosine, 0},          {"Tanh", tangent, 0},
    {"Sigmoid", sigmoid, 0},  {"Relu", relu, 0},           {"Where", choose, 1},
    {"Clip", clip, 0},        {"Mod", remainder_of, 0},    {"LeakyRelu", leaky, 0},
    {"Sin", sine, 0},         {"Sqrt", root, 0},
};

/* ---- places ---- */

static void copy_to(const node *n, const size_t *dims, size_t rank)
{
    const onnx_value *x = n->in[0];
    onnx_value *out = result(n, x->type, dims, rank);
    assert_int_equal(out->n, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (x->text != NULL) out->text[i] = x->text[i];
        else out->number[i] = x->number[i];
}

static void reshape(const node *n)
{
    size_t dims[ONNX_MOST_RANK], known = 1, open = SIZE_MAX;
    const onnx_value *x = n->in[0], *shape = n->in[1];
    for (size_t i = 0; i < shape->n; i++) {
        if (shape->number[i] == -1) open = i;
        dims[i] = shape->number[i] == 0 ? x->dim[i] : (size_t)shape->number[i];
        if (open != i) known *= dims[i];
    }
    if (open != SIZE_MAX) dims[open] = x->n / known;
    copy_to(n, dims, shape->n);
}

static void flatten(const node *n)
{
    size_t dims[2] = {1, 1};
    const size_t axis = (size_t)whole(n, "axis", 1);
    for (size_t i = 0; i < n->in[0]->rank; i++) dims[i >= axis] *= n->in[0]->dim[i];
    copy_to(n, dims, 2);
}

/* Number `at` of a value of these sides as places in each. */
static void split(const onnx_value *v, size_t at, size_t into[ONNX_MOST_RANK])
{
    for (size_t i = v->rank; i-- > 0;) {
        into[i] = at % v->dim[i];
        at /= v->dim[i];
    }
}

static size_t join(const onnx_value *v, const size_t at[ONNX_MOST_RANK])
{
    size_t index = 0;
    for (size_t i = 0; i < v->rank; i++) {
        assert_true(at[i] < v->dim[i]);
        index = index * v->dim[i] + at[i];
    }
    return index;
}

static void transpose(const node *n)
{
    const onnx_value *x = n->in[0];
    size_t dims[ONNX_MOST_RANK], at[ONNX_MOST_RANK], from[ONNX_MOST_RANK];
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dim[side(n, "perm", i, 0)];
    onnx_value *out = result(n, x->type, dims, x->rank);
    for (size_t i = 0; i < out->n; i++) {
        split(out, i, at);
        for (size_t k = 0; k < x->rank; k++) from[side(n, "perm", k, 0)] = at[k];
        out->number[i] = x->number[join(x, from)];
    }
}

static void pad(const node *n)
{
    const onnx_value *x = n->in[0], *pads = n->in[1];
    size_t dims[ONNX_MOST_RANK], at[ONNX_MOST_RANK];
    assert_int_equal(pads->n, 2 * x->rank);
    for (size_t i = 0; i < x->rank; i++)
        dims[i] = x->dim[i] + (size_t)(pads->number[i] + pads->number[i + x->rank]);
    onnx_value *out = result(n, x->type, dims, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        split(x, i, at);
        for (size_t k = 0; k < x->rank; k++) at[k] += (size_t)pads->number[k];
        out->number[join(out, at)] = x->number[i];
    }
}

static void slice(const node *n)
{
    const onnx_value *x = n->in[0], *first = n->in[1], *end = n->in[2], *axes = n->in[3];
    size_t dims[ONNX_MOST_RANK], at[ONNX_MOST_RANK], skipped[ONNX_MOST_RANK] = {0};
    memcpy(dims, x->dim, sizeof dims);
    for (size_t k = 0; k < axes->n; k++) {
        skipped[(size_t)axes->number[k]] = (size_t)first->number[k];
        dims[(size_t)axes->number[k]] = (size_t)(end->number[k] - first->number[k]);
    }
    onnx_value *out = result(n, x->type, dims, x->rank);
    for (size_t i = 0; i < out->n; i++) {
        split(out, i, at);
        for (size_t k = 0; k < x->rank; k++) at[k] += skipped[k];
        out->number[i] = x->number[join(x, at)];
    }
}

static void concat(const node *n)
{
    const size_t axis = (size_t)whole(n, "axis", -1);
    size_t dims[ONNX_MOST_RANK], at[ONNX_MOST_RANK], begin = 0;
    memcpy(dims, n->in[0]->dim, sizeof dims);
    for (size_t k = 1; k < n->of->n_input; k++)
        dims[axis] += onnx_get(n->run, n->of->input[k])->dim[axis];
    onnx_value *out = result(n, n->in[0]->type, dims, n->in[0]->rank);
    for (size_t k = 0; k < n->of->n_input; k++) {
        const onnx_value *x = onnx_get(n->run, n->of->input[k]);
        assert_int_equal(x->type, out->type);
        for (size_t i = 0; i < x->n; i++) {
            split(x, i, at);
            at[axis] += begin;
            out->number[join(out, at)] = x->number[i];
        }
        begin += x->dim[axis];
    }
}

/* The sides before the axis, those of the list, the sides behind the axis. */
static void gather(const node *n)
{
    const onnx_value *x = n->in[0], *at = n->in[1];
    const size_t axis = (size_t)whole(n, "axis", 0);
    size_t dims[ONNX_MOST_RANK], rank = 0, width = 1;
    for (size_t i = 0; i < axis; i++) dims[rank++] = x->dim[i];
    for (size_t i = 0; i < at->rank; i++) dims[rank++] = at->dim[i];
    for (size_t i = axis + 1; i < x->rank; i++) width *= dims[rank++] = x->dim[i];
    onnx_value *out = result(n, x->type, dims, rank);
    for (size_t i = 0; i < out->n; i++) {
        const double row = at->number[i / width % at->n];
        assert_true(row >= 0 && row < (double)x->dim[axis]);
        const size_t from = (i / width / at->n * x->dim[axis] + (size_t)row) * width + i % width;
        if (x->text != NULL) out->text[i] = x->text[from];
        else out->number[i] = x->number[from];
    }
}

/* Not ended by a NUL, but for the empty one, which has no bytes. */
static const char *key_text(const Drove__Onnx__Attribute *keys, size_t k)
{
    return keys->strings[k].len > 0 ? (const char *)keys->strings[k].data : "";
}

static void encode_label(const node *n)
{
    const onnx_value *x = n->in[0];
    const Drove__Onnx__Attribute *keys = attribute(n, "keys_strings");
    assert_non_null(keys);
    for (size_t i = 0; i < keys->n_strings; i++) /* no text has two numbers */
        for (size_t k = 0; k < i; k++)
            assert_true(keys->strings[i].len != keys->strings[k].len ||
                        strncmp(key_text(keys, i), key_text(keys, k), keys->strings[i].len) != 0);
    onnx_value *out = result(n, DROVE_ONNX_INT64, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        out->number[i] = (double)whole(n, "default_int64", -1);
        for (size_t k = 0; k < keys->n_strings; k++)
            if (strlen(x->text[i]) == keys->strings[k].len &&
                strncmp(x->text[i], key_text(keys, k), keys->strings[k].len) == 0)
                out->number[i] = (double)side(n, "values_int64s", k, 0);
    }
}

static void hash(const node *n)
{
    const onnx_value *x = n->in[0];
    assert_int_equal(whole(n, "positive", 1), 1);
    onnx_value *out = result(n, ONNX_UINT32, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++)
        out->number[i] =
            drove__murmur32(x->text[i], strlen(x->text[i]), (uint32_t)whole(n, "seed", 0));
}

/* ---- products, norms and images ---- */

static void gemm(const node *n)
{
    const onnx_value *x = n->in[0], *w = n->in[1], *b = n->n_in > 2 ? n->in[2] : NULL;
    const size_t dims[] = {x->dim[0], w->dim[1]}, inner = x->dim[1];
    assert_int_equal(inner, w->dim[0]);
    onnx_value *out = result(n, x->type, dims, 2);
    for (size_t i = 0; i < out->n; i++) {
        double sum = b != NULL ? b->number[i % dims[1]] : 0;
        for (size_t k = 0; k < inner; k++)
            sum += x->number[i / dims[1] * inner + k] * w->number[k * dims[1] + i % dims[1]];
        out->number[i] = as_type(sum, x->type);
    }
}

/* Numbers that differ in axis 1 alone, with `width` of them and this far apart. */
static size_t along(const onnx_value *x, size_t *width)
{
    size_t apart = 1;
    for (size_t i = 2; i < x->rank; i++) apart *= x->dim[i];
    *width = x->dim[1];
    return apart;
}

static void softmax(const node *n)
{
    const onnx_value *x = n->in[0];
    size_t width;
    const size_t apart = along(x, &width);
    assert_int_equal(whole(n, "axis", -1), 1);
    onnx_value *out = result(n, x->type, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        const size_t first = i - i / apart % width * apart;
        double sum = 0;
        for (size_t k = 0; k < width; k++) sum += exp(x->number[first + k * apart] - x->number[i]);
        out->number[i] = as_type(1 / sum, x->type);
    }
}

static void normalize(const node *n)
{
    const onnx_value *x = n->in[0];
    size_t width;
    const size_t apart = along(x, &width);
    const double p = (double)whole(n, "p", 2);
    assert_int_equal(whole(n, "axis", -1), 1);
    onnx_value *out = result(n, x->type, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        const size_t first = i - i / apart % width * apart;
        double sum = 0;
        for (size_t k = 0; k < width; k++) sum += pow(fabs(x->number[first + k * apart]), p);
        out->number[i] = as_type(x->number[i] / pow(sum, 1 / p), x->type);
    }
}

static void batch_norm(const node *n)
{
    const onnx_value *x = n->in[0];
    size_t width;
    const size_t apart = along(x, &width);
    onnx_value *out = result(n, x->type, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        const size_t c = i / apart % width;
        out->number[i] =
            as_type((x->number[i] - n->in[3]->number[c]) /
                            sqrt(n->in[4]->number[c] + real(n, "epsilon")) * n->in[1]->number[c] +
                        n->in[2]->number[c],
                    x->type);
    }
}

static void local_norm(const node *n)
{
    const onnx_value *x = n->in[0];
    size_t width;
    const size_t apart = along(x, &width), size = (size_t)whole(n, "size", 0);
    onnx_value *out = result(n, x->type, x->dim, x->rank);
    for (size_t i = 0; i < x->n; i++) {
        const size_t c = i / apart % width;
        double sum = 0;
        for (size_t k = 0; k < width; k++)
            if (k + (size - 1) / 2 >= c && k <= c + size / 2)
                sum += pow(x->number[i + k * apart - c * apart], 2);
        out->number[i] =
            as_type(x->number[i] / pow(real(n, "bias") + real(n, "alpha") / (double)size * sum,
                                       real(n, "beta")),
                    x->type);
    }
}

static void arg_max(const node *n)
{
    const onnx_value *x = n->in[0];
    assert_true(x->rank == 2 && whole(n, "axis", 0) == 1 && whole(n, "keepdims", 1) == 0);
    onnx_value *out = result(n, DROVE_ONNX_INT64, x->dim, 1);
    for (size_t i = 0; i < x->n; i++) {
        double *best = &out->number[i / x->dim[1]];
        const size_t first = i / x->dim[1] * x->dim[1];
        if (x->number[i] > x->number[first + (size_t)*best]) *best = (double)(i - first);
    }
}

/* Windows over an image: products with w, or the mean or largest of their numbers. */
static void windows(const node *n)
{
    const onnx_value *x = n->in[0], *w = NULL, *b = NULL;
    const bool is_max = strcmp(n->of->op_type, "MaxPool") == 0;
    if (strcmp(n->of->op_type, "Conv") == 0) {
        w = n->in[1];
        b = n->n_in > 2 ? n->in[2] : NULL;
    } else assert_true(is_max || whole(n, "count_include_pad", 0) == 1);
    const size_t groups = (size_t)whole(n, "group", 1);
    size_t dims[4] = {x->dim[0], w != NULL ? w->dim[0] : x->dim[1]}, size[2], step[2], gap[2],
           before[2];
    for (size_t i = 0; i < 2; i++) {
        size[i] = side(n, "kernel_shape", i, 0);
        step[i] = side(n, "strides", i, 1);
        gap[i] = side(n, "dilations", i, 1);
        before[i] = side(n, "pads", i, 0);
        assert_true(w == NULL || w->dim[2 + i] == size[i]);
        dims[2 + i] =
            (x->dim[2 + i] + before[i] + side(n, "pads", 2 + i, 0) - gap[i] * (size[i] - 1) - 1) /
                step[i] +
            1;
    }
    const size_t n_inner = w != NULL ? w->dim[1] : 1;
    assert_true(w == NULL || n_inner * groups == x->dim[1]);
    onnx_value *out = result(n, x->type, dims, 4);
    for (size_t i = 0; i < out->n; i++) {
        size_t at[ONNX_MOST_RANK];
        split(out, i, at);
        const size_t begin = w != NULL ? at[1] / (w->dim[0] / groups) * n_inner : at[1];
        double sum = b != NULL ? b->number[at[1]] : is_max ? -INFINITY : 0;
        for (size_t k = 0; k < n_inner * size[0] * size[1]; k++) {
            const size_t row = k / size[1] % size[0], col = k % size[1];
            const size_t y = at[2] * step[0] + row * gap[0], z = at[3] * step[1] + col * gap[1];
            if (y < before[0] || y >= before[0] + x->dim[2] || z < before[1] ||
                z >= before[1] + x->dim[3])
                continue;
            const size_t from[4] = {at[0], begin + k / (size[0] * size[1]), y - before[0],
                                    z - before[1]};
            const double value = x->number[join(x, from)];
            if (is_max) sum = fmax(sum, value);
            else if (w == NULL) sum += value / (double)(size[0] * size[1]);
            else sum += value * w->number[at[1] * n_inner * size[0] * size[1] + k];
        }
        out->number[i] = as_type(sum, x->type);
    }
}

/* ---- the whole ---- */

static void cast(const node *n)
{
    each(n, (int32_t)whole(n, "to", 0), same);
}

static void identity(const node *n)
{
    copy_to(n, n->in[0]->dim, n->in[0]->rank);
}

static const struct {
    const char *op;
    void (*compute)(const node *n);
} others[] = {
    {"Cast", cast},
    {"Identity", identity},
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Transpose", transpose},
    {"Pad", pad},
    {"Slice", slice},
    {"Concat", concat},
    {"Gather", gather},
    {"Gemm", gemm},
    {"LabelEncoder", encode_label},
    {"MurmurHash3", hash},
    {"Softmax", softmax},
    {"LpNormalization", normalize},
    {"BatchNormalization", batch_norm},
    {"LRN", local_norm},
    {"ArgMax", arg_max},
    {"Conv", windows},
    {"MaxPool", windows},
    {"AveragePool", windows},
};

static bool compute(const node *n)
{
    const char *op = n->of->op_type;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (strcmp(elements[i].op, op) != 0) continue;
        each(n, elements[i].type_of < 0 ? ONNX_BOOL : n->in[elements[i].type_of]->type,
             elements[i].fn);
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i].op, op) != 0) continue;
        others[i].compute(n);
        return true;
    }
    if (strcmp(op, "Sum") != 0) return false;
    each(n, n->in[0]->type, n->n_in == 1 ? same : add); /* of one or two */
    return n->of->n_input <= 2;
}

void onnx_compute(onnx_run *run, const Drove__Onnx__Graph *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) add_constant(run, g->initializer[i]);
    for (size_t i = 0; i < g->n_node; i++) {
        node n = {.run = run, .of = g->node[i]};
        for (; n.n_in < g->node[i]->n_input && n.n_in <= ONNX_MOST_RANK; n.n_in++)
            n.in[n.n_in] = onnx_get(run, g->node[i]->input[n.n_in]);
        if (!compute(&n))
            fail_msg("%s: unexpected operator %s", g->node[i]->name, g->node[i]->op_type);
    }
}
