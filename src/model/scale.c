/* model/scale.c - y = (x - offset) * factor, with fixed numbers: no step changes them.
 *
 * A network from elsewhere that normalises its input brings these numbers with it.  In training
 * they stay as they are, so they are options of the layer and no parameters. */
#include "model/layer.h"

static drove_status check_list(const drove_floats *list, const char *what, drove_shape s)
{
    const size_t n = list->n;
    if (n <= 1 || n == s.c || n == drove__shape_floats(s)) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "expected 1, %zu or %zu %s for %zu x %zu x %zu numbers, found %zu", s.c,
                       drove__shape_floats(s), what, s.c, s.h, s.w, n);
}

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    DROVE_TRY(check_list(&l->opt.offset, "offsets", l->in));
    return check_list(&l->opt.factor, "factors", l->in);
}

/* The list's number for a channel of a position. */
static inline float number(const drove_floats *list, float none, const drove_shape *s,
                           size_t channel, size_t position)
{
    if (list->n == 0) return none;
    if (list->n == 1) return list->value[0];
    if (list->n == s->c) return list->value[channel];
    return list->value[channel * s->h * s->w + position];
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_shape *s = &l->in;
    const drove_floats *offset = &l->opt.offset, *factor = &l->opt.factor;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        const float *x = c->bottom[0].x + row * l->n_in;
        float *y = c->y + row * l->n_in;
        for (size_t at = 0, p = 0; p < s->h * s->w; p++) {
            for (size_t k = 0; k < s->c; k++, at++)
                y[at] = (x[at] - number(offset, 0.0f, s, k, p)) * number(factor, 1.0f, s, k, p);
        }
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_shape *s = &l->in;
    if (c->bottom[0].dx == NULL) return;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        float *dx = c->bottom[0].dx + row * l->n_in;
        const float *dy = c->dy + row * l->n_in;
        for (size_t at = 0, p = 0; p < s->h * s->w; p++) {
            for (size_t k = 0; k < s->c; k++, at++) {
                const float d = dy[at] * number(&l->opt.factor, 1.0f, s, k, p);
                dx[at] = c->bottom[0].adds ? dx[at] + d : d;
            }
        }
    }
}

const drove_layer_ops drove__layer_scale = {
    .name = "scale",
    .help = "(x - offset) * factor, by fixed numbers",
    .source = "ONNX, Sub, Div and Scaler",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = drove__layer_formats_last,
    .forward = forward,
    .backward = backward,
};
