/* model/product.c - y = x0 * x1, number by number; or, where x1 has one number a channel, each
 * channel of x0 times its number (the scaling of a squeeze-and-excitation block). */
#include "model/layer.h"

static bool is_same(drove_shape a, drove_shape b)
{
    return a.c == b.c && a.h == b.h && a.w == b.w;
}

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const drove_shape s = bottom[0], factor = bottom[1];
    (void)n_bottoms, (void)n_outputs;
    if (!is_same(s, factor) && !is_same((drove_shape){s.c, 1, 1}, factor))
        return drove__fail(DROVE_E_SHAPE,
                           "expected %zu x %zu x %zu like the first input, or %zu x 1 x 1, found "
                           "%zu x %zu x %zu as input 2",
                           s.c, s.h, s.w, s.c, factor.c, factor.h, factor.w);
    l->in = l->out = s;
    l->n_in = l->n_out = drove__shape_floats(s);
    return DROVE_OK;
}

static uint64_t multiply_adds(const drove_layer *l)
{
    return l->n_in;
}

/* Of the second input. */
static size_t n_factors(const drove_model *model, const drove_layer *l)
{
    return drove__shape_floats(drove__blob_shape(model, l->bottom[1]));
}

/* Inputs of one shape may both have blocks. */
static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    const bool is_one_shape = n_factors(opt->model, l) == l->n_in;
    *out = is_one_shape && drovek_is_blocked(in[0]) && in[0] == in[1] ? in[0] : DROVEK_NHWC;
    want[0] = want[1] = *out;
    return DROVE_OK;
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t n_factor = n_factors(c->pass->model, l), n_channels = l->in.c;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = c->bottom[0].x + row * l->n_in, *f = c->bottom[1].x + row * n_factor;
        float *y = c->y + row * l->n_in;
        if (n_factor == l->n_in) {
            for (size_t i = 0; i < l->n_in; i++) y[i] = x[i] * f[i];
        } else {
            for (size_t i = 0; i < l->n_in; i += n_channels)
                for (size_t k = 0; k < n_channels; k++) y[i + k] = x[i + k] * f[k];
        }
    }
}

/* dx (+)= dy * other, where `other` has a number for each, or for each channel */
static void spread(float *dx, const float *dy, const float *other, size_t n, size_t n_other,
                   bool adds)
{
    for (size_t i = 0; i < n; i += n_other)
        for (size_t k = 0; k < n_other; k++) {
            const float d = dy[i + k] * other[k];
            dx[i + k] = adds ? dx[i + k] + d : d;
        }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_bottom *b = c->bottom;
    const size_t n = l->n_in, n_factor = n_factors(c->pass->model, l);
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = b[0].x + row * n, *f = b[1].x + row * n_factor, *dy = c->dy + row * n;
        if (b[0].dx != NULL) spread(b[0].dx + row * n, dy, f, n, n_factor, b[0].adds);
        if (b[1].dx == NULL) continue;
        float *df = b[1].dx + row * n_factor;
        if (n_factor == n) {
            spread(df, dy, x, n, n, b[1].adds);
            continue;
        }
        for (size_t k = 0; k < n_factor && !b[1].adds; k++) df[k] = 0.0f;
        for (size_t i = 0; i < n; i += n_factor)
            for (size_t k = 0; k < n_factor; k++) df[k] += dy[i + k] * x[i + k];
    }
}

const drove_layer_ops drove__layer_product = {
    .name = "product",
    .help = "product of two inputs, number by number or by channel",
    .source = "Hu et al., CVPR 2018 (squeeze and excitation)",
    .least_bottoms = 2,
    .most_bottoms = 2,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .multiply_adds = multiply_adds,
    .formats = formats,
    .forward = forward,
    .backward = backward,
};
