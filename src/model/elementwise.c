/* model/elementwise.c - activations as layers:
 *
 *   activation   y = act(x), where the layer before it cannot take the activation
 *   clip         y = min(max(x, low), high); the derivative is 1 between the bounds, else 0
 *
 * A NaN stays one. */
#include "model/layer.h"

static void act_forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t first = c->first_row * l->n_in, n = c->last_row * l->n_in - first;
    const float *x = c->bottom[0].x + first;
    if (drovek_is_curve(l->act))
        c->k->curve_f32(c->y + first, x, n, l->act, l->opt.slope, l->opt.level);
    else c->k->act_f32(c->y + first, x, n, l->act);
}

static void act_backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_bottom *b = &c->bottom[0];
    const size_t first = c->first_row * l->n_in, n = c->last_row * l->n_in - first;
    if (b->dx == NULL) return;
    if (drovek_is_curve(l->act))
        c->k->curve_back_f32(b->dx + first, c->dy + first, b->x + first, n, l->act, l->opt.slope,
                             l->opt.level, b->adds);
    else c->k->act_back_f32(b->dx + first, c->dy + first, c->y + first, n, l->act, b->adds);
}

static void clip_forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const float low = c->layer->opt.bounds.low, high = c->layer->opt.bounds.high,
                *x = c->bottom[0].x;
    for (size_t i = first; i < last; i++) {
        const float raised = x[i] < low ? low : x[i];
        c->y[i] = raised > high ? high : raised;
    }
}

static void clip_backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    const float low = c->layer->opt.bounds.low, high = c->layer->opt.bounds.high,
                *x = c->bottom[0].x;
    const drove_bottom *b = &c->bottom[0];
    if (b->dx == NULL) return;
    for (size_t i = first; i < last; i++) {
        const float d = x[i] > low && x[i] < high ? c->dy[i] : 0.0f;
        b->dx[i] = b->adds ? b->dx[i] + d : d;
    }
}

const drove_layer_ops drove__layer_activation = {
    .name = "activation",
    .help = "an activation as a layer (drove list activations)",
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
