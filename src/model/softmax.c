/* model/softmax.c - softmax over the channels of each position: y[c] = e^(x[c] - m) / sum over j of
 * e^(x[j] - m), with m the largest, so that nothing overflows.  (The loss `softmax` has its own,
 * combined with the logarithm; this layer is for networks that use probabilities inside.) */
#include "model/layer.h"

#include <math.h>

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
static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    (void)opt, (void)l, (void)in;
    want[0] = *out = DROVEK_NHWC;
    return DROVE_OK;
}

const drove_layer_ops drove__layer_softmax = {
    .name = "softmax",
    .help = "probabilities over the channels",
    .source = "Bridle, NIPS 1989",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = formats,
    .forward = forward,
    .backward = backward,
};
