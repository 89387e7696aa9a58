/* model/flatten.c - an image as a vector, in the order [h][w][c]. */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    l->out = (drove_shape){l->n_out, 1, 1};
    return DROVE_OK;
}

/* Accepts any input format: the layer converts it itself. */
static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    (void)opt, (void)l;
    want[0] = in[0];
    *out = DROVEK_NHWC;
    return DROVE_OK;
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t first = c->first_row * l->n_in, n_rows = c->last_row - c->first_row;
    drovek_reformat(c->bottom[0].x + first, c->bottom[0].format, c->y + first, DROVEK_NHWC, n_rows,
                    l->in.c, l->in.h, l->in.w, false);
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t first = c->first_row * l->n_in, n_rows = c->last_row - c->first_row;
    if (c->bottom[0].dx == NULL) return;
    drovek_reformat(c->dy + first, DROVEK_NHWC, c->bottom[0].dx + first, c->bottom[0].format,
                    n_rows, l->in.c, l->in.h, l->in.w, c->bottom[0].adds);
}

const drove_layer_ops drove__layer_flatten = {
    .name = "flatten",
    .help = "an image as a vector",
    .source = "LeCun et al., Proc. IEEE 1998",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = formats,
    .forward = forward,
    .backward = backward,
};
