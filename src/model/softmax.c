/* model/softmax.c - softmax over the channels of each position: y[c] = e^(x[c] - m) / sum over j of
 * e^(x[j] - m), with m the largest, so that nothing overflows.  (The loss `softmax` has its own,
 * combined with the logarithm; this layer is for networks that use probabilities inside.) */
#include "model/layer.h"

#include <math.h>

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t hw = l->in.h * l->in.w;
    for (size_t at = c->first_row * hw; at < c->last_row * hw; at++) {
        const size_t n = l->in.c;
        const float *x = c->bottom[0].x + at * n;
        float *y = c->y + at * n, largest = x[0];
        double sum = 0.0;
        for (size_t i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
        for (size_t i = 0; i < n; i++) sum += y[i] = expf(x[i] - largest);
        for (size_t i = 0; i < n; i++) y[i] = (float)(y[i] / sum);
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t hw = l->in.h * l->in.w;
    if (c->bottom[0].dx == NULL) return;
    for (size_t at = c->first_row * hw; at < c->last_row * hw; at++) {
        /* dx = y (dy - sum of dy y) */
        const size_t n = l->in.c;
        const float *dy = c->dy + at * n, *y = c->y + at * n;
        float *dx = c->bottom[0].dx + at * n;
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) sum += (double)dy[i] * (double)y[i];
        for (size_t i = 0; i < n; i++) {
            float d = (float)(y[i] * (dy[i] - sum));
            dx[i] = c->bottom[0].adds ? dx[i] + d : d;
        }
    }
}

/* Channels must be contiguous. */
const drove_layer_ops drove__layer_softmax = {
    .name = "softmax",
    .help = "probabilities over the channels",
    .source = "Bridle, NIPS 1989",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = drove__layer_shape_same,
    .formats = drove__layer_formats_last,
    .forward = forward,
    .backward = backward,
};
