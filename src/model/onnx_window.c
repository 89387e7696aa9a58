/* model/onnx_window.c - ONNX's operators with windows: convolution, pooling, padding.
 *
 * Those of one dimension, over [N][c][l], are of two here, over images of height 1.  Zeros that a
 * Pad puts around an image are taken by the window that reads it.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 16 };

/* Height and width; the height is not in the file if there is one dimension. */
enum { HEIGHT, WIDTH, SIDES };

/* Two numbers of an attribute, or one, of the width; unchanged where there is none. */
static drove_status read_sides(drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                               unsigned n_dims, size_t least, size_t out[SIDES])
{
    return drove__onnx_sizes(r, n, name, n_dims, least, MOST_SIDE, out + SIDES - n_dims);
}

/* ---- where windows lie ---- */

/* strides, dilations and pads of a window of n_dims dimensions, whose size is set. */
static drove_status read_window(drove_onnx_reader *r, const drove_onnx_node *n, unsigned n_dims,
                                drove_layer_options *opt)
{
    const drove_onnx_value *x = &n->input[0];
    drovek_window *w = &opt->window;
    size_t strides[SIDES] = {1, 1}, dilations[SIDES] = {1, 1}, pads[2 * SIDES] = {0};
    size_t before[SIDES] = {0}, behind[SIDES] = {0};
    char padding[32] = "NOTSET";
    DROVE_TRY(read_sides(r, n, "strides", n_dims, 1, strides));
    DROVE_TRY(read_sides(r, n, "dilations", n_dims, 1, dilations));
    DROVE_TRY(drove__onnx_text(r, n, "auto_pad", padding));
    const bool is_upper = strcmp(padding, "SAME_UPPER") == 0;
    const bool is_same = is_upper || strcmp(padding, "SAME_LOWER") == 0;
    if (strcmp(padding, "NOTSET") == 0) {
        DROVE_TRY(drove__onnx_sizes(r, n, "pads", 2 * n_dims, 0, MOST_SIDE, pads));
        for (unsigned i = 0; i < n_dims; i++) {
            before[SIDES - n_dims + i] = pads[i];
            behind[SIDES - n_dims + i] = pads[n_dims + i];
        }
    } else if (!is_same && strcmp(padding, "VALID") != 0) {
        return drove__onnx_fail(r, n,
                                "auto_pad: expected NOTSET, VALID, SAME_UPPER or SAME_LOWER, "
                                "found %s",
                                padding);
    }
    for (unsigned i = SIDES - n_dims; is_same && i < SIDES; i++) {
        /* as many windows as steps: the rest is padding */
        const size_t span = dilations[i] * ((i == HEIGHT ? w->kh : w->kw) - 1) + 1;
        size_t all = span - 1; /* of steps of 1, whatever the side */
        if (strides[i] > 1 && x->rank == 0)
            return drove__onnx_fail(r, n,
                                    "auto_pad: expected NOTSET or VALID where the sides of the "
                                    "input are not known, found %s",
                                    padding);
        if (x->rank == n_dims + 2) {
            const size_t side = x->side[x->rank - SIDES + i];
            const size_t end = ((side + strides[i] - 1) / strides[i] - 1) * strides[i] + span;
            all = end > side ? end - side : 0;
        }
        before[i] = is_upper ? all / 2 : all - all / 2;
        behind[i] = all - before[i];
    }
    w->sh = strides[HEIGHT], w->sw = strides[WIDTH];
    w->dh = dilations[HEIGHT], w->dw = dilations[WIDTH];
    w->ph = before[HEIGHT], w->pw = before[WIDTH];
    opt->padding.below = behind[HEIGHT], opt->padding.right = behind[WIDTH];
    return DROVE_OK;
}

/* The sides of the output of a window; the first input is an image.  Then the window takes the
 * zeros around that image. */
static drove_status settle_window(drove_onnx_reader *r, const drove_onnx_node *n, unsigned n_dims,
                                  drove_layer_options *opt, size_t channels)
{
    const drove_onnx_value *x = &n->input[0];
    drove_onnx_value *y = drove__onnx_result(r, n);
    drovek_window *w = &opt->window;
    const size_t size[SIDES] = {w->dh * (w->kh - 1) + 1, w->dw * (w->kw - 1) + 1};
    const size_t step[SIDES] = {w->sh, w->sw}, before[SIDES] = {w->ph, w->pw};
    const size_t all[SIDES] = {w->ph + opt->padding.below, w->pw + opt->padding.right};
    char text[128];
    if (x->rank == 0 || y == NULL) return DROVE_OK;
    if (x->rank != n_dims + 2)
        return drove__onnx_fail(r, n, "expected an image, [N, channels, %s], found %s",
                                n_dims == 1 ? "length" : "height, width",
                                drove__onnx_shape_text(x, text));
    for (unsigned i = SIDES - n_dims; i < SIDES; i++) {
        const unsigned at = x->rank - SIDES + i;
        const size_t side = x->side[at] + all[i];
        if (side < size[i])
            return drove__onnx_fail(r, n,
                                    "expected an image as large as its window of %zu x %zu, "
                                    "found %s",
                                    size[HEIGHT], size[WIDTH], drove__onnx_shape_text(x, text));
        size_t count = (side - size[i] + (opt->rounds_up ? step[i] - 1 : 0)) / step[i] + 1;
        if (opt->rounds_up && (count - 1) * step[i] >= x->side[at] + before[i]) count--;
        y->side[at] = count;
    }
    if (channels > 0) y->side[1] = channels;
    w->ph += x->zeros.above, w->pw += x->zeros.left;
    opt->padding.below += x->zeros.below, opt->padding.right += x->zeros.right;
    y->zeros = (drove_onnx_zeros){0};
    return DROVE_OK;
}

/* ---- convolution ---- */

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

drove_status drove__onnx_read_conv(drove_onnx_reader *r, const drove_onnx_node *n)
{
    drove_node *node;
    int64_t groups = 1;
    const drove_onnx_value *v = &n->input[1];
    if (n->n_inputs < 2 || v->kind != DROVE_ONNX_CONSTANT || v->rank < 3 || v->rank > 4 ||
        drove__onnx_count(v->tensor) == SIZE_MAX)
        return drove__onnx_fail(r, n,
                                "expected a constant of three or four dimensions as its second "
                                "input: drove convolves sequences and images");
    const size_t *dims = v->side;
    const unsigned n_dims = v->rank - 2;
    size_t kernel[SIDES] = {n_dims == 1 ? 1 : dims[2], dims[v->rank - 1]};
    size_t said[SIDES] = {kernel[HEIGHT], kernel[WIDTH]};
    char text[128];
    DROVE_TRY(drove__onnx_int(r, n, "group", 1, DROVE_ONNX_MOST_CHANNELS, &groups));
    DROVE_TRY(read_sides(r, n, "kernel_shape", n_dims, 1, said));
    if (kernel[HEIGHT] != said[HEIGHT] || kernel[WIDTH] != said[WIDTH] ||
        kernel[HEIGHT] > MOST_SIDE || kernel[WIDTH] > MOST_SIDE || dims[0] % (size_t)groups != 0 ||
        dims[0] > DROVE_ONNX_MOST_CHANNELS)
        return drove__onnx_fail(r, n, "expected weights for a kernel of %zu x %zu in %lld groups",
                                said[HEIGHT], said[WIDTH], (long long)groups);
    if (n->input[0].rank == v->rank && n->input[0].side[1] != dims[1] * (size_t)groups)
        return drove__onnx_fail(r, n, "expected an image of %zu channels, as its weights, found %s",
                                dims[1] * (size_t)groups,
                                drove__onnx_shape_text(&n->input[0], text));
    DROVE_TRY(drove__onnx_claim(r, n, v));
    if (strncmp(v->name, "onnx::Conv_", 11) == 0) r->n_folded++;
    DROVE_TRY(drove__onnx_add(r, n, &drove__layer_convolution, v->name, &node));
    node->opt.n_out = dims[0];
    node->opt.groups = (size_t)groups;
    node->opt.window.kh = kernel[HEIGHT];
    node->opt.window.kw = kernel[WIDTH];
    DROVE_TRY(read_window(r, n, n_dims, &node->opt));
    DROVE_TRY(settle_window(r, n, n_dims, &node->opt, node->opt.n_out));
    DROVE_TRY(take_kernel(r, n, node));
    node->opt.no_bias = !drove__onnx_is_given(n, 2);
    if (node->opt.no_bias) return DROVE_OK;
    node->values.n_b = node->opt.n_out;
    return drove__onnx_take_parameter(r, n, 2, node->opt.n_out, &node->values.b);
}

/* ---- pooling ---- */

/* No number of what the layer makes is below 0. */
static bool is_positive(const drove_node *node)
{
    if (node->ops == &drove__layer_clip) return node->opt.bounds.low >= 0.0f;
    return node->ops == &drove__layer_activation &&
           (node->act == DROVEK_RELU || node->act == DROVEK_SIGMOID ||
            node->act == DROVEK_CURVE_relu6 || node->act == DROVEK_CURVE_softplus);
}

static drove_status read_pool(drove_onnx_reader *r, const drove_onnx_node *n,
                              const drove_layer_ops *ops)
{
    drove_node *node;
    int64_t rounds_up = 0, counts_pad = 0;
    size_t kernel[SIDES] = {1, 0};
    const Drove__Onnx__Attribute *shape = drove__onnx_attribute(n, "kernel_shape");
    if (shape == NULL) return drove__onnx_fail(r, n, "expected a kernel_shape");
    const unsigned n_dims = shape->n_ints == 1 ? 1 : 2;
    DROVE_TRY(read_sides(r, n, "kernel_shape", n_dims, 1, kernel));
    DROVE_TRY(drove__onnx_int(r, n, "ceil_mode", 0, 1, &rounds_up));
    DROVE_TRY(drove__onnx_int(r, n, "count_include_pad", 0, 1, &counts_pad));
    DROVE_TRY(drove__onnx_add(r, n, ops, NULL, &node));
    drovek_window *w = &node->opt.window;
    drove_padding *q = &node->opt.padding;
    w->kh = kernel[HEIGHT], w->kw = kernel[WIDTH];
    node->opt.rounds_up = rounds_up != 0;
    DROVE_TRY(read_window(r, n, n_dims, &node->opt));
    if (w->dh != 1 || w->dw != 1)
        return drove__onnx_fail(r, n, "dilations: expected pooling without");
    const bool is_padded = w->ph > 0 || w->pw > 0 || q->below > 0 || q->right > 0;
    const bool has_zeros = !drove__onnx_has_no_zeros(&n->input[0]);
    q->is_uncounted = ops == &drove__layer_average_pool && counts_pad == 0 && is_padded;
    if (has_zeros && q->is_uncounted)
        return drove__onnx_fail(r, n,
                                "expected count_include_pad 1 behind a Pad, found padding that "
                                "counts and padding that does not");
    /* a zero beside numbers from 0 on is no larger than they are */
    const uint32_t below = n->input[0].node;
    if (has_zeros && ops == &drove__layer_max_pool &&
        (below == DROVE_ONNX_NO_NODE || !is_positive(&r->graph.node[below])))
        return drove__onnx_fail(r, n,
                                "expected numbers from 0 on, as of a Relu, where a Pad puts "
                                "zeros beside them");
    return settle_window(r, n, n_dims, &node->opt, 0);
}

drove_status drove__onnx_read_max_pool(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_pool(r, n, &drove__layer_max_pool);
}

drove_status drove__onnx_read_average_pool(drove_onnx_reader *r, const drove_onnx_node *n)
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
    for (unsigned i = 1; y != NULL && i < y->rank; i++)
        if (i != drove__onnx_channels(y)) y->side[i] = 1;
    return DROVE_OK;
}

drove_status drove__onnx_read_global_max(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_global(r, n, &drove__layer_max_pool);
}

drove_status drove__onnx_read_global_mean(drove_onnx_reader *r, const drove_onnx_node *n)
{
    return read_global(r, n, &drove__layer_average_pool);
}

drove_status drove__onnx_read_mean(drove_onnx_reader *r, const drove_onnx_node *n)
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
    bool is_read = false;
    if (x->rank > 0 && keeps != 0)
        DROVE_TRY(drove__onnx_read_norm_chain(r, n, axes, n_axes, &is_read));
    if (is_read) return DROVE_OK;
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
    const int64_t first = x->is_last ? 1 : 2;
    bool is_global = n_axes > 0 && n_axes + 2 == x->rank;
    for (size_t i = 0; i < n_axes; i++) is_global = is_global && axes[i] == (int64_t)i + first;
    if (!is_global)
        return drove__onnx_fail(r, n,
                                "axes: expected height and width of an image, found %zu axes of %s",
                                n_axes, drove__onnx_shape_text(x, text));
    DROVE_TRY(read_global(r, n, &drove__layer_average_pool));
    drove_onnx_value *y = drove__onnx_result(r, n);
    if (y == NULL || keeps != 0) return DROVE_OK;
    y->side[1] = y->side[drove__onnx_channels(y)];
    y->rank = 2;
    y->is_last = false;
    return DROVE_OK;
}

/* ---- padding ---- */

/* Zeros beside an image, which stay with its value until a window takes them. */
drove_status drove__onnx_read_pad(drove_onnx_reader *r, const drove_onnx_node *n)
{
    const drove_onnx_value *x = &n->input[0];
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, "pads");
    int64_t pads[2 * DROVE_ONNX_MOST_RANK], axes[DROVE_ONNX_MOST_RANK];
    size_t n_pads = 0, n_axes = 0;
    float value = 0.0f;
    char mode[32] = "constant", text[128];
    DROVE_TRY(drove__onnx_text(r, n, "mode", mode));
    DROVE_TRY(drove__onnx_real(r, n, "value", &value));
    if (n->n_inputs == 0 || x->kind != DROVE_ONNX_BLOB || x->rank == 0)
        return drove__onnx_fail(r, n, "expected a part of the network of known sides as its input");
    if (strcmp(mode, "constant") != 0)
        return drove__onnx_fail(r, n, "mode: expected constant, found %s", mode);
    if (drove__onnx_is_given(n, 2)) {
        float *given;
        DROVE_TRY(drove__onnx_take_vector(r, n, 2, 1, &given));
        value = *given;
        free(given);
    }
    if (value != 0.0f) return drove__onnx_fail(r, n, "value: expected 0, found %g", (double)value);
    if (a != NULL && a->n_ints <= DROVE_COUNT(pads)) { /* the sets before 11 */
        n_pads = a->n_ints;
        memcpy(pads, a->ints, n_pads * sizeof *pads);
    } else if (n->n_inputs > 1 && n->input[1].kind == DROVE_ONNX_CONSTANT) {
        DROVE_TRY(drove__onnx_ints_of(r, n, n->input[1].tensor, DROVE_COUNT(pads), pads, &n_pads));
    } else if (n->n_inputs > 1 && n->input[1].kind == DROVE_ONNX_SIZES) {
        n_pads = n->input[1].n_sizes;
        memcpy(pads, n->input[1].size, n_pads * sizeof *pads);
    }
    if (drove__onnx_is_given(n, 3)) {
        if (n->input[3].kind != DROVE_ONNX_CONSTANT)
            return drove__onnx_fail(r, n, "axes: expected constants");
        DROVE_TRY(drove__onnx_ints_of(r, n, n->input[3].tensor, DROVE_COUNT(axes), axes, &n_axes));
    } else {
        for (n_axes = 0; n_axes < x->rank; n_axes++) axes[n_axes] = (int64_t)n_axes;
    }
    if (n_pads == 0 || n_pads != 2 * n_axes)
        return drove__onnx_fail(r, n, "pads: expected %zu constants, found %zu", 2 * n_axes,
                                n_pads);
    drove_onnx_value to = *x;
    for (size_t i = 0; i < n_axes; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + (int64_t)x->rank : axes[i];
        const int64_t before = pads[i], behind = pads[n_axes + i];
        if (before == 0 && behind == 0) continue;
        const int64_t first = x->is_last ? 1 : 2; /* of an image's sides */
        const bool is_side =
            x->rank >= 3 && x->rank <= 4 && axis >= first && axis < first + (int64_t)x->rank - 2;
        if (!is_side || before < 0 || behind < 0 || before > MOST_SIDE || behind > MOST_SIDE)
            return drove__onnx_fail(r, n,
                                    "pads: expected 0 to %d, of the sides of an image alone, found "
                                    "%lld and %lld of axis %lld of %s",
                                    MOST_SIDE, (long long)before, (long long)behind,
                                    (long long)axis, drove__onnx_shape_text(x, text));
        const bool is_width = axis == first + (int64_t)x->rank - 3;
        *(is_width ? &to.zeros.left : &to.zeros.above) += (size_t)before;
        *(is_width ? &to.zeros.right : &to.zeros.below) += (size_t)behind;
        to.side[axis] += (size_t)(before + behind);
    }
    return drove__onnx_alias(r, n, &to);
}
