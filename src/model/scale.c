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

/* Numbers for the channels of a place: number[k * step], k < c. */
typedef struct row {
    const float *number;
    size_t step;
} row;

static row row_at(const drove_floats *list, const float *none, const drove_shape *s,
                  size_t position)
{
    if (list->n == 0) return (row){none, 0};
    if (list->n == 1) return (row){list->value, 0};
    if (list->n == s->c) return (row){list->value, 1};
    return (row){list->value + position, s->h * s->w};
}

/* y[n] = (x - offset) * factor; the first two loops are those that become vectors. */
static void apply(const float *x, row offset, row factor, size_t n, float *y)
{
    if (offset.step == 1 && factor.step == 1) {
        const float *restrict o = offset.number, *restrict f = factor.number;
        for (size_t k = 0; k < n; k++) y[k] = (x[k] - o[k]) * f[k];
    } else if (offset.step == 0 && factor.step == 0) {
        const float o = offset.number[0], f = factor.number[0];
        for (size_t k = 0; k < n; k++) y[k] = (x[k] - o) * f;
    } else {
        for (size_t k = 0; k < n; k++)
            y[k] = (x[k] - offset.number[k * offset.step]) * factor.number[k * factor.step];
    }
}

static void forward(const drove_call *c)
{
    static const float zero = 0.0f, one = 1.0f;
    const drove_layer *l = c->layer;
    const drove_shape *s = &l->in;
    const float *x = c->bottom[0].x + c->first_row * l->n_in;
    float *y = c->y + c->first_row * l->n_in;
    for (size_t i = c->first_row; i < c->last_row; i++) {
        for (size_t p = 0; p < s->h * s->w; p++, x += s->c, y += s->c)
            apply(x, row_at(&l->opt.offset, &zero, s, p), row_at(&l->opt.factor, &one, s, p), s->c,
                  y);
    }
}

static void backward(const drove_call *c)
{
    static const float one = 1.0f;
    const drove_layer *l = c->layer;
    const drove_shape *s = &l->in;
    if (c->bottom[0].dx == NULL) return;
    float *dx = c->bottom[0].dx + c->first_row * l->n_in;
    const float *dy = c->dy + c->first_row * l->n_in;
    for (size_t i = c->first_row; i < c->last_row; i++) {
        for (size_t p = 0; p < s->h * s->w; p++, dx += s->c, dy += s->c) {
            const row factor = row_at(&l->opt.factor, &one, s, p);
            for (size_t k = 0; k < s->c; k++) {
                const float d = dy[k] * factor.number[k * factor.step];
                dx[k] = c->bottom[0].adds ? dx[k] + d : d;
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
