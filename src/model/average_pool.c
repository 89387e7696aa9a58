/* model/average_pool.c - the mean of each window, channel by channel.  As in Caffe the divisor is
 * the area of the window clipped to the image with its padding: padding counts as zeros; the part
 * of a window beyond the padding does not count. */
#include "model/pooling.h"

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    c->k->average_pool_f32(&p, c->bottom[0].x + c->first_row * l->n_in,
                           c->y + c->first_row * l->n_out,
                           drove__blocks(c->format, c->last_row - c->first_row, l->in.c));
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    if (c->bottom[0].dx == NULL) return;
    c->k->average_pool_back_f32(&p, c->dy + c->first_row * l->n_out,
                                c->bottom[0].dx + c->first_row * l->n_in,
                                drove__blocks(c->format, c->last_row - c->first_row, l->in.c),
                                c->bottom[0].adds);
}

const drove_layer_ops drove__layer_average_pool = {
    .name = "average_pool",
    .help = "mean of each window",
    .source = "LeCun et al., Proc. IEEE 1998 (without its weights); sizes and divisor as in Caffe",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = drove__pooling_shape,
    .forward = forward,
    .backward = backward,
};
