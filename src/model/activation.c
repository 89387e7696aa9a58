/* model/activation.c - a stand-alone activation, y = act(x), for an activation that cannot be
 * merged into the layer before it. */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

static void forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    c->k->act_f32(c->y + first, c->bottom[0].x + first, last - first, c->layer->act);
}

static void backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    if (c->bottom[0].dx == NULL) return;
    c->k->act_back_f32(c->bottom[0].dx + first, c->dy + first, c->y + first, last - first,
                       c->layer->act, c->bottom[0].adds);
}

const drove_layer_ops drove__layer_activation = {
    .name = "activation",
    .help = "relu, sigmoid or tanh as a layer",
    .source = "Nair, Hinton, ICML 2010 (relu)",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
