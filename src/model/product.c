/* model/product.c - y = x0 * x1, number by number; or, where x1 has one number a channel, each
 * channel of x0 times its number (the scaling of a squeeze-and-excitation block). */
#include "model/layer.h"

#include "base/mem.h"

#include <string.h>

/* Of one part, where the second input has a number a channel: rows of that many. */
typedef struct channels {
    double *sum, *product; /* of one example's derivatives, and times its inputs */
    float *zero;
} channels;

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

static bool is_by_channel(const drove_pass_options *opt, const drove_layer *l)
{
    return n_factors(opt->model, l) != l->n_in;
}

/* Of one part. */
static size_t part_bytes(const drove_layer *l)
{
    return drove__pad_floats(l->in.c) * (2 * sizeof(double) + sizeof(float));
}

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return is_by_channel(opt, l) ? opt->n_parts * part_bytes(l) : 0;
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    const size_t size_bytes = scratch_bytes(opt, l);
    (void)pass;
    if (size_bytes == 0) return DROVE_OK;
    *own = drove__alloc(size_bytes, 1); /* zeroed */
    return *own != NULL ? DROVE_OK : drove__fail_nomem("a product", size_bytes);
}

static channels channels_of(const drove_call *c)
{
    const size_t n = drove__pad_floats(c->layer->in.c);
    double *sum = (double *)(void *)((char *)c->own + c->part * part_bytes(c->layer));
    return (channels){.sum = sum, .product = sum + n, .zero = (float *)(void *)(sum + 2 * n)};
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
            c->k->column_combine_f32(y, x, NULL, f, NULL, channels_of(c).zero, l->in.h * l->in.w,
                                     n_channels, false);
        }
    }
}

/* dx (+)= dy * other */
static void spread(float *dx, const float *dy, const float *other, size_t n, bool adds)
{
    for (size_t i = 0; i < n; i++) dx[i] = (adds ? dx[i] : 0.0f) + dy[i] * other[i];
}

/* One example, of one number a channel. */
static void backward_by_channel(const drove_call *c, const float *x, const float *f,
                                const float *dy, float *dx, float *df)
{
    const channels by = channels_of(c);
    const drove_bottom *b = c->bottom;
    const size_t n = c->layer->in.c, n_places = c->layer->in.h * c->layer->in.w;
    if (df != NULL) {
        memset(by.sum, 0, n * sizeof *by.sum);
        memset(by.product, 0, n * sizeof *by.product);
        c->k->column_sums_f32(dy, NULL, x, by.zero, n_places, n, by.sum, by.product);
        for (size_t k = 0; k < n; k++) df[k] = (b[1].adds ? df[k] : 0.0f) + (float)by.product[k];
    }
    if (dx != NULL)
        c->k->column_combine_f32(dx, dy, NULL, f, NULL, by.zero, n_places, n, b[0].adds);
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_bottom *b = c->bottom;
    const size_t n = l->n_in, n_factor = n_factors(c->pass->model, l);
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = b[0].x + row * n, *f = b[1].x + row * n_factor, *dy = c->dy + row * n;
        float *dx = b[0].dx != NULL ? b[0].dx + row * n : NULL;
        float *df = b[1].dx != NULL ? b[1].dx + row * n_factor : NULL;
        if (n_factor != n) {
            backward_by_channel(c, x, f, dy, dx, df);
            continue;
        }
        if (dx != NULL) spread(dx, dy, f, n, b[0].adds);
        if (df != NULL) spread(df, dy, x, n, b[1].adds);
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
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = drove__free,
    .forward = forward,
    .backward = backward,
};
