/* model/normalize.c - each example by its norm: y = x / |x|, with |x| the sum of magnitudes
 * (power 1) or the Euclidean length (power 2).  An example of zeros stays one.
 *
 *   power 1:  dx[i] = (dy[i] - sign(x[i]) sum of dy y) / |x|
 *   power 2:  dx[i] = (dy[i] - y[i] sum of dy y) / |x|
 */
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

static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    (void)opt, (void)l, (void)in;
    want[0] = *out = DROVEK_NHWC;
    return DROVE_OK;
}

static double norm_of(const float *x, size_t n, size_t power)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += power == 1 ? fabs((double)x[i]) : (double)x[i] * x[i];
    return power == 1 ? sum : sqrt(sum);
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = c->bottom[0].x + row * l->n_in;
        float *y = c->y + row * l->n_in;
        const double norm = norm_of(x, l->n_in, l->opt.power);
        for (size_t i = 0; i < l->n_in; i++) y[i] = norm > 0 ? (float)(x[i] / norm) : x[i];
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    if (c->bottom[0].dx == NULL) return;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = c->bottom[0].x + row * l->n_in, *y = c->y + row * l->n_in,
                    *dy = c->dy + row * l->n_in;
        float *dx = c->bottom[0].dx + row * l->n_in;
        const double norm = norm_of(x, l->n_in, l->opt.power);
        double along = 0.0;
        for (size_t i = 0; i < l->n_in; i++) along += (double)dy[i] * (double)y[i];
        for (size_t i = 0; i < l->n_in; i++) {
            const double way = l->opt.power == 2 ? (double)y[i]
                               : x[i] > 0.0f     ? 1.0
                               : x[i] < 0.0f     ? -1.0
                                                 : 0.0;
            const float d = norm > 0 ? (float)((dy[i] - way * along) / norm) : dy[i];
            dx[i] = c->bottom[0].adds ? dx[i] + d : d;
        }
    }
}

const drove_layer_ops drove__layer_normalize = {
    .name = "normalize",
    .help = "each example divided by its norm",
    .source = "ONNX, Normalizer and LpNormalization",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = formats,
    .forward = forward,
    .backward = backward,
};
