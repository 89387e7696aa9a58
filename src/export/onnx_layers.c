/* export/onnx_layers.c - the layers of a network as nodes of ONNX.
 *
 * drove's vectors of an image are in the order [h][w][c], ONNX's images are [c][h][w]: where a
 * vector is made of an image, a Transpose stands before it.  The model's input is as the data have
 * it, [c][h][w], also where a dense layer reads it.
 */
#include "export/export.h"

#include "base/mem.h"
#include "kernel/bf16.h"
#include "model/layer.h"
#include "model/pytorch.h"

#include <stdlib.h>

typedef struct value { /* of a blob */
    const char *name;
    bool is_image; /* [N][c][h][w]; else [N][n] */
} value;

typedef struct network {
    drove_onnx *g;
    const drove_model *model;
    const float *theta;
    value *blob; /* [n_layers + 1] */
} network;

/* ---- images and vectors ---- */

static const char *flatten(drove_onnx *g, const char *image, bool transposes)
{
    static const int64_t channels_last[] = {0, 2, 3, 1};
    if (transposes) {
        image = drove__onnx_node(g, "Transpose", image, NULL, NULL);
        drove__onnx_set_ints(g, "perm", channels_last, DROVE_COUNT(channels_last));
    }
    const char *vector = drove__onnx_node(g, "Flatten", image, NULL, NULL);
    drove__onnx_set_int(g, "axis", 1);
    return vector;
}

static const char *as_vector(const network *n, uint32_t blob)
{
    const value *v = &n->blob[blob];
    if (!v->is_image) return v->name;
    return flatten(n->g, v->name, drove__pytorch_is_reordered(n->model, blob));
}

static const char *as_image(const network *n, uint32_t blob)
{
    const value *v = &n->blob[blob];
    if (v->is_image) return v->name;
    const drove_shape s = drove__blob_shape(n->model, blob);
    const int64_t sides[4] = {0, (int64_t)s.c, (int64_t)s.h, (int64_t)s.w};
    const size_t n_sides = DROVE_COUNT(sides);
    return drove__onnx_node(n->g, "Reshape", v->name, drove__onnx_ints(n->g, sides, &n_sides, 1),
                            NULL);
}

/* ---- products ---- */

static bool rounds(const network *n)
{
    return n->model->factors == DROVEK_FACTORS_BF16;
}

/* The factor as a product reads it. */
static const char *factor(const network *n, const char *x)
{
    if (!rounds(n)) return x;
    return drove__onnx_cast(n->g, drove__onnx_cast(n->g, x, DROVE_ONNX_BFLOAT16), DROVE_ONNX_FLOAT);
}

static const char *biases(const network *n, const drove_layer *l)
{
    return l->n_b > 0 ? drove__onnx_floats(n->g, n->theta + l->b_offset, &l->n_b, 1) : NULL;
}

static value add_dense(const network *n, const drove_layer *l)
{
    const size_t dims[] = {l->n_in, l->n_out};
    const float *w = n->theta + l->w_offset;
    const char *x = factor(n, as_vector(n, l->bottom[0]));
    if (rounds(n)) {
        float *rounded = drove__onnx_take(n->g, l->n_w, sizeof *rounded);
        for (size_t i = 0; rounded != NULL && i < l->n_w; i++) rounded[i] = drovek_bf16(w[i]);
        w = rounded;
    }
    const char *b = biases(n, l), *weights = drove__onnx_floats(n->g, w, dims, 2);
    return (value){.name = drove__onnx_node(n->g, "Gemm", x, weights, b)};
}

static void set_pair(drove_onnx *g, const char *name, size_t h, size_t w)
{
    const int64_t sides[] = {(int64_t)h, (int64_t)w};
    drove__onnx_set_ints(g, name, sides, DROVE_COUNT(sides));
}

static value add_convolution(const network *n, const drove_layer *l)
{
    const drovek_window *w = &l->opt.window;
    const int64_t pads[] = {(int64_t)w->ph, (int64_t)w->pw, (int64_t)l->opt.padding.below,
                            (int64_t)l->opt.padding.right};
    const char *x = factor(n, as_image(n, l->bottom[0]));
    const size_t dims[] = {l->w_shape[0] * l->w_shape[4], l->w_shape[3], l->w_shape[1],
                           l->w_shape[2]};
    float *to = drove__onnx_take(n->g, l->n_w, sizeof *to);
    if (to != NULL) drove__pytorch_convolution(l, DROVE_TO_PYTORCH, n->theta + l->w_offset, to);
    for (size_t i = 0; to != NULL && rounds(n) && i < l->n_w; i++) to[i] = drovek_bf16(to[i]);
    const char *b = biases(n, l);
    const char *weights = drove__onnx_floats(n->g, to, dims, DROVE_COUNT(dims));
    const char *y = drove__onnx_node(n->g, "Conv", x, weights, b);
    set_pair(n->g, "kernel_shape", l->w_shape[1], l->w_shape[2]);
    set_pair(n->g, "strides", w->sh > 0 ? w->sh : 1, w->sw > 0 ? w->sw : 1);
    set_pair(n->g, "dilations", w->dh > 0 ? w->dh : 1, w->dw > 0 ? w->dw : 1);
    drove__onnx_set_ints(n->g, "pads", pads, DROVE_COUNT(pads));
    drove__onnx_set_int(n->g, "group", (int64_t)l->w_shape[0]);
    return (value){.name = y, .is_image = true};
}

/* ---- pooling ---- */

/* Padding that the last of n_out windows needs behind a side of n numbers; it begins before their
 * end. */
static size_t pad_behind(size_t n, size_t n_out, size_t size, size_t stride, size_t before)
{
    size_t end = (n_out - 1) * stride + size;
    return end > n + before ? end - n - before : 0;
}

/* Numbers of window i that lie in the n of the image and its padding. */
static size_t counted(size_t i, size_t n, size_t size, size_t stride)
{
    size_t begin = i * stride, end = begin + size;
    return (end < n ? end : n) - begin;
}

/* ONNX divides by the area of a window, but one that hangs over the padding counts fewer numbers:
 * factors that correct it.  NULL: no window does. */
static const char *mean_factors(const network *n, const drove_layer *l)
{
    const drovek_window *w = &l->opt.window;
    const size_t dims[] = {1, 1, l->out.h, l->out.w};
    float *f = drove__onnx_take(n->g, l->out.h * l->out.w, sizeof *f);
    bool is_needed = false;
    for (size_t i = 0; f != NULL && i < l->out.h * l->out.w; i++) {
        size_t area = counted(i / l->out.w, l->in.h + w->ph + l->opt.padding.below, w->kh, w->sh) *
                      counted(i % l->out.w, l->in.w + w->pw + l->opt.padding.right, w->kw, w->sw);
        f[i] = (float)(w->kh * w->kw) / (float)area;
        is_needed = is_needed || area != w->kh * w->kw;
    }
    return is_needed ? drove__onnx_floats(n->g, f, dims, DROVE_COUNT(dims)) : NULL;
}

static value add_pool(const network *n, const drove_layer *l)
{
    const drovek_window *w = &l->opt.window;
    const bool is_mean = l->ops == &drove__layer_average_pool;
    const int64_t pads[] = {(int64_t)w->ph, (int64_t)w->pw,
                            (int64_t)pad_behind(l->in.h, l->out.h, w->kh, w->sh, w->ph),
                            (int64_t)pad_behind(l->in.w, l->out.w, w->kw, w->sw, w->pw)};
    const char *x = as_image(n, l->bottom[0]);
    const char *y = drove__onnx_node(n->g, is_mean ? "AveragePool" : "MaxPool", x, NULL, NULL);
    set_pair(n->g, "kernel_shape", w->kh, w->kw);
    set_pair(n->g, "strides", w->sh, w->sw);
    drove__onnx_set_ints(n->g, "pads", pads, DROVE_COUNT(pads));
    if (is_mean) drove__onnx_set_int(n->g, "count_include_pad", !l->opt.padding.is_uncounted);
    if (is_mean && !l->opt.padding.is_uncounted) {
        const char *factors = mean_factors(n, l);
        if (factors != NULL) y = drove__onnx_node(n->g, "Mul", y, factors, NULL);
    }
    return (value){.name = y, .is_image = true};
}

/* ---- the others ---- */

static value add_lrn(const network *n, const drove_layer *l)
{
    const char *y = drove__onnx_node(n->g, "LRN", as_image(n, l->bottom[0]), NULL, NULL);
    drove__onnx_set_int(n->g, "size", (int64_t)l->opt.lrn.size);
    drove__onnx_set_float(n->g, "alpha", l->opt.lrn.alpha);
    drove__onnx_set_float(n->g, "beta", l->opt.lrn.beta);
    drove__onnx_set_float(n->g, "bias", l->opt.lrn.kappa);
    return (value){.name = y, .is_image = true};
}

static value add_batch_norm(const network *n, const drove_layer *l)
{
    const value x = n->blob[l->bottom[0]];
    const float *theta = n->theta;
    const size_t c = l->n_w;
    const char *const input[] = {
        as_image(n, l->bottom[0]),
        drove__onnx_floats(n->g, theta + l->w_offset, &c, 1),
        drove__onnx_floats(n->g, theta + l->b_offset, &c, 1),
        drove__onnx_floats(n->g, theta + l->s_offset, &c, 1),
        drove__onnx_floats(n->g, theta + l->s_offset + c, &c, 1),
    };
    const char *y = drove__onnx_node_of(n->g, "BatchNormalization", input, DROVE_COUNT(input));
    drove__onnx_set_float(n->g, "epsilon", l->opt.epsilon);
    if (!x.is_image) y = flatten(n->g, y, false);
    return (value){.name = y, .is_image = x.is_image};
}

/* Parameters of a layer, a number for each of an image or for a part of its sides. */
static const char *numbers(const network *n, const drove_layer *l, const float *from,
                           const size_t *dims, size_t rank)
{
    float *to = drove__onnx_take(n->g, l->n_w, sizeof *to);
    if (to != NULL) drove__pytorch_numbers(l, DROVE_TO_PYTORCH, from, to);
    return drove__onnx_floats(n->g, to, dims, rank);
}

/* ONNX normalises along the last sides of [N][c][h][w]: where these are not the ones, a Transpose
 * puts the others before them, and another one puts all back. */
static value add_layer_norm(const network *n, const drove_layer *l)
{
    const bool is_vector = !n->blob[l->bottom[0]].is_image && l->in.h * l->in.w == 1;
    const bool is_image = !is_vector || !l->opt.over.channels; /* of one number a group */
    const char *x = is_image ? as_image(n, l->bottom[0]) : n->blob[l->bottom[0]].name;
    const bool is_turned = is_image && !drove__pytorch_norms_last(l);
    const size_t side[] = {l->in.c, l->in.h, l->in.w};
    const drove_over *o = &l->opt.over; /* sides of 1 do not count where all stay in their places */
    const bool over[] = {o->channels && (is_turned || side[0] > 1),
                         o->height && (is_turned || side[1] > 1),
                         o->width && (is_turned || side[2] > 1)};
    static const unsigned by_place[] = {1, 2, 0}; /* h, w, c, as the parameters are */
    int64_t perm[4] = {0}, back[4] = {0};
    size_t dims[3] = {l->n_w}, n_perm = 1, rank = 0;
    for (unsigned i = 0; i < 3 && is_turned; i++) /* the sides before, then those along which */
        if (!over[i]) perm[n_perm++] = i + 1;
    for (unsigned i = 0; i < 3 && is_turned; i++) {
        if (!over[by_place[i]]) continue;
        dims[rank++] = side[by_place[i]];
        perm[n_perm++] = by_place[i] + 1;
    }
    for (int64_t i = 1; i < 4 && is_turned; i++) back[perm[i]] = i;
    for (unsigned i = 0; i < 3 && is_image && !is_turned; i++) /* from the first of them on */
        if (over[i] || rank > 0 || i == 2) dims[rank++] = side[i];
    if (!is_image) rank = 1;
    const int64_t axis = is_image ? 4 - (int64_t)rank : 1;
    if (is_turned) {
        x = drove__onnx_node(n->g, "Transpose", x, NULL, NULL);
        drove__onnx_set_ints(n->g, "perm", perm, DROVE_COUNT(perm));
    }
    const char *gamma = numbers(n, l, n->theta + l->w_offset, dims, rank),
               *beta = numbers(n, l, n->theta + l->b_offset, dims, rank);
    n->g->is_new = true;
    const char *y = drove__onnx_node(n->g, "LayerNormalization", x, gamma, beta);
    drove__onnx_set_int(n->g, "axis", axis);
    drove__onnx_set_float(n->g, "epsilon", l->opt.epsilon);
    if (is_turned) {
        y = drove__onnx_node(n->g, "Transpose", y, NULL, NULL);
        drove__onnx_set_ints(n->g, "perm", back, DROVE_COUNT(back));
    }
    return (value){.name = y, .is_image = is_image};
}

static value add_prelu(const network *n, const drove_layer *l)
{
    const bool is_image = n->blob[l->bottom[0]].is_image || l->in.h * l->in.w > 1;
    const char *x = is_image ? as_image(n, l->bottom[0]) : n->blob[l->bottom[0]].name;
    const bool is_whole = l->n_w > 1 && l->n_w == l->n_in;
    const size_t dims[] = {l->n_w == 1 ? 1 : l->in.c, is_whole ? l->in.h : 1,
                           is_whole ? l->in.w : 1};
    const char *slopes = numbers(n, l, n->theta + l->w_offset, dims, is_image ? 3 : 1);
    return (value){.name = drove__onnx_node(n->g, "PRelu", x, slopes, NULL), .is_image = is_image};
}

/* All inputs of a layer in one form: as images, unless all are vectors. */
static bool list_inputs(const network *n, const drove_layer *l, const char **input)
{
    bool is_image = false;
    for (unsigned i = 0; i < l->n_bottoms; i++)
        is_image = is_image || n->blob[l->bottom[i]].is_image;
    for (unsigned i = 0; i < l->n_bottoms; i++)
        input[i] = is_image ? as_image(n, l->bottom[i]) : n->blob[l->bottom[i]].name;
    return is_image;
}

static value add_concat(const network *n, const drove_layer *l)
{
    const char *input[DROVE_LAYER_MOST_BOTTOMS];
    bool is_image = list_inputs(n, l, input);
    return (value){.name = drove__onnx_join(n->g, input, l->n_bottoms), .is_image = is_image};
}

static value add_sum(const network *n, const drove_layer *l)
{
    const char *input[DROVE_LAYER_MOST_BOTTOMS];
    bool is_image = list_inputs(n, l, input);
    for (unsigned i = 0; i < l->n_bottoms; i++) {
        const float c = l->opt.coefficient[i];
        if (c != 1.0f)
            input[i] = drove__onnx_node(n->g, "Mul", input[i], drove__onnx_float(n->g, c), NULL);
    }
    return (value){.name = drove__onnx_node_of(n->g, "Sum", input, l->n_bottoms),
                   .is_image = is_image};
}

static value add_product(const network *n, const drove_layer *l)
{
    const char *input[DROVE_LAYER_MOST_BOTTOMS];
    bool is_image = list_inputs(n, l, input);
    return (value){.name = drove__onnx_node(n->g, "Mul", input[0], input[1], NULL),
                   .is_image = is_image};
}

/* The vector is [h][w][c], also that of the input. */
static value add_flatten(const network *n, const drove_layer *l)
{
    const value *x = &n->blob[l->bottom[0]];
    if (!x->is_image) return *x;
    return (value){.name = flatten(n->g, x->name, !drove__pytorch_has_one_order(l->in))};
}

static value add_softmax(const network *n, const drove_layer *l)
{
    const value x = n->blob[l->bottom[0]];
    value y = {.name = drove__onnx_node(n->g, "Softmax", x.name, NULL, NULL),
               .is_image = x.is_image};
    drove__onnx_set_int(n->g, "axis", 1);
    return y;
}

static value add_reshape(const network *n, const drove_layer *l)
{
    const value x = n->blob[l->bottom[0]];
    const drove_shape s = l->out;
    if (s.h * s.w == 1) return (value){.name = x.is_image ? flatten(n->g, x.name, false) : x.name};
    const int64_t sides[4] = {0, (int64_t)s.c, (int64_t)s.h, (int64_t)s.w};
    const int64_t last[4] = {0, (int64_t)s.h, (int64_t)s.w, (int64_t)s.c};
    static const int64_t channels_first[] = {0, 3, 1, 2};
    const bool is_last = l->opt.sides.is_last;
    const size_t n_sides = DROVE_COUNT(sides);
    const char *y =
        drove__onnx_node(n->g, "Reshape", x.name,
                         drove__onnx_ints(n->g, is_last ? last : sides, &n_sides, 1), NULL);
    if (is_last) {
        y = drove__onnx_node(n->g, "Transpose", y, NULL, NULL);
        drove__onnx_set_ints(n->g, "perm", channels_first, DROVE_COUNT(channels_first));
    }
    return (value){.name = y, .is_image = true};
}

/* Fixed numbers of a layer, along an image's channels or all of it. */
static const char *fixed_numbers(const network *n, const drove_layer *l, const drove_floats *list,
                                 bool is_image)
{
    const drove_shape s = l->in;
    const bool is_whole = list->n == drove__shape_floats(s), is_one = list->n == 1;
    const size_t image[] = {is_one ? 1 : s.c, is_whole ? s.h : 1, is_whole ? s.w : 1};
    return drove__onnx_floats(n->g, list->value, is_image ? image : &list->n, is_image ? 3 : 1);
}

static value add_scale(const network *n, const drove_layer *l)
{
    const drove_floats *offset = &l->opt.offset, *factor = &l->opt.factor;
    value y = n->blob[l->bottom[0]];
    if (offset->n > 0)
        y.name =
            drove__onnx_node(n->g, "Sub", y.name, fixed_numbers(n, l, offset, y.is_image), NULL);
    if (factor->n > 0)
        y.name =
            drove__onnx_node(n->g, "Mul", y.name, fixed_numbers(n, l, factor, y.is_image), NULL);
    return y;
}

/* ONNX's norm is along one axis: over an image it is that of a vector. */
static value add_normalize(const network *n, const drove_layer *l)
{
    const value x = n->blob[l->bottom[0]];
    const char *vector = x.is_image ? flatten(n->g, x.name, false) : x.name;
    value y = {.name = drove__onnx_node(n->g, "LpNormalization", vector, NULL, NULL)};
    drove__onnx_set_int(n->g, "axis", 1);
    drove__onnx_set_int(n->g, "p", (int64_t)l->opt.power);
    if (!x.is_image) return y;
    const int64_t sides[4] = {0, (int64_t)l->in.c, (int64_t)l->in.h, (int64_t)l->in.w};
    const size_t n_sides = DROVE_COUNT(sides);
    y.name =
        drove__onnx_node(n->g, "Reshape", y.name, drove__onnx_ints(n->g, sides, &n_sides, 1), NULL);
    y.is_image = true;
    return y;
}

static value add_clip(const network *n, const drove_layer *l)
{
    value y = n->blob[l->bottom[0]];
    y.name = drove__onnx_node(n->g, "Clip", y.name, drove__onnx_float(n->g, l->opt.bounds.low),
                              drove__onnx_float(n->g, l->opt.bounds.high));
    return y;
}

/* A list for an image is of [c][h][w], as ONNX flattens it. */
static value add_gather(const network *n, const drove_layer *l)
{
    const value x = n->blob[l->bottom[0]];
    const drove_indices *index = &l->opt.index;
    const char *vector = x.is_image ? flatten(n->g, x.name, false) : x.name;
    int64_t *place = drove__onnx_take(n->g, index->n, sizeof *place);
    for (size_t i = 0; place != NULL && i < index->n; i++) place[i] = (int64_t)index->value[i];
    const char *places = drove__onnx_ints(n->g, place, &index->n, 1);
    value y = {.name = drove__onnx_node(n->g, "Gather", vector, places, NULL)};
    drove__onnx_set_int(n->g, "axis", 1);
    return y;
}

static value add_nothing(const network *n, const drove_layer *l)
{
    return n->blob[l->bottom[0]];
}

static const struct {
    const drove_layer_ops *ops;
    value (*add)(const network *n, const drove_layer *l);
} kinds[] = {
    {&drove__layer_dense, add_dense},
    {&drove__layer_convolution, add_convolution},
    {&drove__layer_max_pool, add_pool},
    {&drove__layer_average_pool, add_pool},
    {&drove__layer_lrn, add_lrn},
    {&drove__layer_dropout, add_nothing}, /* the identity in inference */
    {&drove__layer_batch_norm, add_batch_norm},
    {&drove__layer_layer_norm, add_layer_norm},
    {&drove__layer_concat, add_concat},
    {&drove__layer_sum, add_sum},
    {&drove__layer_product, add_product},
    {&drove__layer_flatten, add_flatten},
    {&drove__layer_activation, add_nothing}, /* that of any layer, below */
    {&drove__layer_prelu, add_prelu},
    {&drove__layer_softmax, add_softmax},
    {&drove__layer_reshape, add_reshape},
    {&drove__layer_scale, add_scale},
    {&drove__layer_normalize, add_normalize},
    {&drove__layer_clip, add_clip},
    {&drove__layer_gather, add_gather},
};

static const char *times(drove_onnx *g, const char *x, float factor)
{
    return drove__onnx_node(g, "Mul", x, drove__onnx_float(g, factor), NULL);
}

static const char *plus(drove_onnx *g, const char *x, float number)
{
    return drove__onnx_node(g, "Add", x, drove__onnx_float(g, number), NULL);
}

/* x f, f an operator of x. */
static const char *times_x(drove_onnx *g, const char *x, const char *f)
{
    return drove__onnx_node(g, "Mul", x, f, NULL);
}

/* Curves that the operators of this set have no name for. */
static const char *add_curve(drove_onnx *g, const drove_layer *l, const char *x)
{
    const char *inner;
    switch (l->act) {
    case DROVEK_CURVE_relu6:
        return drove__onnx_node(g, "Clip", x, drove__onnx_float(g, 0.0f),
                                drove__onnx_float(g, 6.0f));
    case DROVEK_CURVE_silu: /* x sigmoid(slope x) */
        inner = l->opt.slope == 1.0f ? x : times(g, x, l->opt.slope);
        return times_x(g, x, drove__onnx_node(g, "Sigmoid", inner, NULL, NULL));
    case DROVEK_CURVE_gelu: /* x (0.5 + 0.5 erf(x / sqrt(2))) */
        inner = drove__onnx_node(g, "Erf", times(g, x, 0.70710678f), NULL, NULL);
        return times_x(g, x, plus(g, times(g, inner, 0.5f), 0.5f));
    case DROVEK_CURVE_gelu_tanh: /* x sigmoid(1.5957... (x + 0.044715 x^3)) */
        inner = plus(g, times(g, drove__onnx_node(g, "Mul", x, x, NULL), 0.044715f), 1.0f);
        inner = times(g, times_x(g, x, inner), 1.59576912f);
        return times_x(g, x, drove__onnx_node(g, "Sigmoid", inner, NULL, NULL));
    case DROVEK_CURVE_hard_swish: /* x min(max(x / 6 + 0.5, 0), 1) */
        inner = drove__onnx_node(g, "HardSigmoid", x, NULL, NULL);
        drove__onnx_set_float(g, "alpha", 1.0f / 6);
        drove__onnx_set_float(g, "beta", 0.5f);
        return times_x(g, x, inner);
    case DROVEK_CURVE_mish: /* x tanh(log(1 + exp(x))) */
        inner = drove__onnx_node(g, "Softplus", x, NULL, NULL);
        return times_x(g, x, drove__onnx_node(g, "Tanh", inner, NULL, NULL));
    case DROVEK_CURVE_softplus: /* log(1 + exp(slope x)) / slope */
        if (l->opt.slope == 1.0f) return drove__onnx_node(g, "Softplus", x, NULL, NULL);
        inner = drove__onnx_node(g, "Softplus", times(g, x, l->opt.slope), NULL, NULL);
        return times(g, inner, 1.0f / l->opt.slope);
    case DROVEK_CURVE_smooth_clip: /* level u / sqrt(1 + u^2), u = x / level to 1e5 */
        x = drove__onnx_node(g, "Clip", times(g, x, 1.0f / l->opt.level),
                             drove__onnx_float(g, -1e5f), drove__onnx_float(g, 1e5f));
        inner = drove__onnx_node(g, "Sqrt", plus(g, times_x(g, x, x), 1.0f), NULL, NULL);
        return times(g, drove__onnx_node(g, "Div", x, inner, NULL), l->opt.level);
    case DROVEK_CURVE_sin:
        return drove__onnx_node(g, "Sin", l->opt.slope == 1.0f ? x : times(g, x, l->opt.slope),
                                NULL, NULL);
    default: return NULL;
    }
}

static const char *add_act(drove_onnx *g, const drove_layer *l, const char *x)
{
    const drove_activation *a = drove__activation(l->act);
    if (a == NULL) return x;
    const char *curve = add_curve(g, l, x);
    if (curve != NULL) return curve;
    curve = drove__onnx_node(g, a->onnx, x, NULL, NULL);
    if (a->slope.attribute != NULL) drove__onnx_set_float(g, a->slope.attribute, l->opt.slope);
    if (a->level.attribute != NULL) drove__onnx_set_float(g, a->level.attribute, l->opt.level);
    return curve;
}

static drove_status add_layer(const network *n, size_t at)
{
    const drove_layer *l = &n->model->layer[at];
    value *y = &n->blob[at + 1];
    n->g->scope = l->name;
    for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
        if (kinds[k].ops == l->ops) *y = kinds[k].add(n, l);
    }
    if (y->name == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "layer %s: ONNX files of drove have no %s layers",
                           l->name, l->ops->name);
    y->name = add_act(n->g, l, y->name);
    return DROVE_OK;
}

drove_status drove__onnx_network(drove_onnx *g, const drove_model *model, const float *theta,
                                 const char *input, bool is_image, const char **outputs)
{
    network n = {.g = g, .model = model, .theta = theta};
    const size_t last = model->head[model->n_heads - 1].layer;
    drove_status status = DROVE_OK;
    n.blob = calloc(model->n_layers + 1, sizeof *n.blob);
    if (n.blob == NULL) return drove__fail_nomem("layers", model->n_layers * sizeof *n.blob);
    n.blob[0] = (value){.name = input, .is_image = is_image};
    for (size_t l = 0; l <= last && status == DROVE_OK; l++) {
        if (!model->layer[l].training.is_only) status = add_layer(&n, l);
    }
    if (status == DROVE_OK) {
        g->scope = "outputs";
        *outputs = as_vector(&n, (uint32_t)last + 1);
    }
    free(n.blob);
    return status;
}
