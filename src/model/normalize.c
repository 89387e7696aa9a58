/* model/normalize.c - each example by its norm: y = x / |x|, with |x| the sum of magnitudes
 * (power 1) or the Euclidean length (power 2).  An example of zeros stays one.
 *
 *   power 1:  dx[i] = (dy[i] - sign(x[i]) sum of dy y) / |x|
 *   power 2:  dx[i] = (dy[i] - y[i] sum of dy y) / |x|
 */
#include "model/layer.h"

#include <math.h>

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
    .shape = drove__layer_shape_same,
    .formats = drove__layer_formats_last,
    .forward = forward,
    .backward = backward,
};
