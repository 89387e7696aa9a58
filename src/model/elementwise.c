/* model/elementwise.c - activations as layers:
 *
 *   activation   y = act(x), where the layer before it cannot take the activation
 *   clip         y = min(max(x, low), high); the derivative is 1 between the bounds, else 0
 *   leaky_relu   y = x, below 0 slope * x
 *
 * A NaN stays one. */
#include "model/layer.h"

static void act_forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    c->k->act_f32(c->y + first, c->bottom[0].x + first, last - first, c->layer->act);
}

static void act_backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    if (c->bottom[0].dx == NULL) return;
    c->k->act_back_f32(c->bottom[0].dx + first, c->dy + first, c->y + first, last - first,
                       c->layer->act, c->bottom[0].adds);
}

static void clip_forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const float low = c->layer->opt.low, high = c->layer->opt.high, *x = c->bottom[0].x;
    for (size_t i = first; i < last; i++) {
        const float raised = x[i] < low ? low : x[i];
        c->y[i] = raised > high ? high : raised;
    }
}

static void clip_backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const float low = c->layer->opt.low, high = c->layer->opt.high, *x = c->bottom[0].x;
    const drove_bottom *b = &c->bottom[0];
    if (b->dx == NULL) return;
    for (size_t i = first; i < last; i++) {
        const float d = x[i] > low && x[i] < high ? c->dy[i] : 0.0f;
        b->dx[i] = b->adds ? b->dx[i] + d : d;
    }
}

static void leaky_forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const float *x = c->bottom[0].x;
    for (size_t i = first; i < last; i++) c->y[i] = x[i] < 0.0f ? c->layer->opt.slope * x[i] : x[i];
}

static void leaky_backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const drove_bottom *b = &c->bottom[0];
    if (b->dx == NULL) return;
    for (size_t i = first; i < last; i++) {
        const float d = b->x[i] < 0.0f ? c->layer->opt.slope * c->dy[i] : c->dy[i];
        b->dx[i] = b->adds ? b->dx[i] + d : d;
    }
}

const drove_layer_ops drove__layer_activation = {
    .name = "activation",
    .help = "relu, sigmoid or tanh as a layer",
    .source = "Nair, Hinton, ICML 2010 (relu)",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = drove__layer_shape_same,
    .forward = act_forward,
    .backward = act_backward,
};

const drove_layer_ops drove__layer_clip = {
    .name = "clip",
    .help = "numbers between two bounds",
    .source = "Krizhevsky, Convolutional deep belief networks, 2010 (relu6)",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = drove__layer_shape_same,
    .forward = clip_forward,
    .backward = clip_backward,
};

const drove_layer_ops drove__layer_leaky_relu = {
    .name = "leaky_relu",
    .help = "x, below 0 times a slope",
    .source = "Maas et al., ICML 2013",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = drove__layer_shape_same,
    .forward = leaky_forward,
    .backward = leaky_backward,
};
