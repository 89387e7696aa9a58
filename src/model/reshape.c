/* model/reshape.c - an image or a vector as one of other sides, in the order [c][h][w] of files.
 *
 * A flatten layer keeps the order [h][w][c] that images have here; this one numbers an image as
 * ONNX and PyTorch do, so that whatever reads the result sees the numbers where those tools have
 * them.  Where its sides are `is_last`, the output is numbered [h][w][c], as a file of TensorFlow
 * has images. */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    l->out = l->opt.n_out == 0
                 ? (drove_shape){l->n_in, 1, 1}
                 : (drove_shape){l->opt.n_out, l->opt.sides.height, l->opt.sides.width};
    if (drove__shape_floats(l->out) == l->n_in) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "expected %zu x %zu x %zu, %zu numbers, as its input, found %zu x %zu x %zu",
                       l->out.c, l->out.h, l->out.w, drove__shape_floats(l->out), l->in.c, l->in.h,
                       l->in.w);
}

/* Position in [h][w][c] of each number in turn of [c][h][w]. */
typedef struct place {
    size_t c, hw, channel, position;
} place;

static inline size_t next(place *p)
{
    const size_t at = p->position * p->c + p->channel;
    if (++p->position == p->hw) {
        p->position = 0;
        p->channel++;
    }
    return at;
}

/* Of the output's numbers; in the order [h][w][c] one follows the other. */
static place output_of(const drove_layer *l)
{
    if (l->opt.sides.is_last) return (place){.c = 1, .hw = l->n_out};
    return (place){.c = l->out.c, .hw = l->out.h * l->out.w};
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = c->bottom[0].x + row * l->n_in;
        float *y = c->y + row * l->n_out;
        place from = {.c = l->in.c, .hw = l->in.h * l->in.w};
        place to = output_of(l);
        for (size_t i = 0; i < l->n_in; i++) y[next(&to)] = x[next(&from)];
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    if (c->bottom[0].dx == NULL) return;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        float *dx = c->bottom[0].dx + row * l->n_in;
        const float *dy = c->dy + row * l->n_out;
        place from = {.c = l->in.c, .hw = l->in.h * l->in.w};
        place to = output_of(l);
        for (size_t i = 0; i < l->n_in; i++) {
            const float d = dy[next(&to)];
            const size_t at = next(&from);
            dx[at] = c->bottom[0].adds ? dx[at] + d : d;
        }
    }
}

const drove_layer_ops drove__layer_reshape = {
    .name = "reshape",
    .help = "the same numbers with other sides, in the order of files",
    .source = "ONNX, Reshape and Flatten",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = drove__layer_formats_last,
    .forward = forward,
    .backward = backward,
};
