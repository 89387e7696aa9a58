/* kernel/conv/ref.c - convolution by plain loops: the definition, for all formats.
 *
 * Order of the sums: forward starts with b, then window rows, window columns, channels ascending;
 * weights: images, then positions ascending.  Weights and biases may change meanwhile (HOGWILD!):
 * each element is read through base/racy.h.
 */
#include "kernel/conv/ops.h"

#include "base/mem.h"
#include "base/racy.h"

#include <string.h>

/* Element (channel, position) of image i is at i * c * n + offset(layout, channel, position). */
typedef struct layout {
    size_t c, n, block; /* channels, positions of an image, channels of a block */
} layout;

static layout layout_of(drovek_format format, size_t c, size_t h, size_t w)
{
    return (layout){c, h * w, drovek_block(format, c)};
}

static size_t offset(const layout *l, size_t channel, size_t position)
{
    return channel / l->block * (l->n * l->block) + position * l->block + channel % l->block;
}

/* One element of a window: its position in the input, and its weights. */
typedef struct tap {
    size_t position; /* of the input */
    size_t weights;  /* [c / groups][o / groups] begin here in W */
} tap;

/* Tap q = (ky, kx) of the window of output position p; false: in the padding. */
static bool find_tap(const drovek_conv_shape *s, size_t group, size_t q, size_t p, tap *out)
{
    const drovek_window *win = &s->window;
    size_t ky = q / win->kw, kx = q % win->kw, y, x;
    if (!drovek_window_inside(p / s->ow * win->sh, ky * win->dh, win->ph, s->h, &y) ||
        !drovek_window_inside(p % s->ow * win->sw, kx * win->dw, win->pw, s->w, &x)) {
        return false;
    }
    size_t n_taps = win->kh * win->kw;
    out->position = y * s->w + x;
    out->weights = (group * n_taps + q) * (s->c / s->groups) * (s->o / s->groups);
    return true;
}

/* sum[o / groups] += x of one group's channels times the weights of one tap */
static void add_tap(const drovek_conv_shape *s, const layout *in, const float *x, const float *w,
                    size_t group, const tap *t, float *sum)
{
    size_t cg = s->c / s->groups, og = s->o / s->groups;
    for (size_t c = 0; c < cg; c++) {
        float factor = x[offset(in, group * cg + c, t->position)];
        const float *row = w + t->weights + c * og;
        for (size_t o = 0; o < og; o++) sum[o] += factor * drove__racy_load(row + o);
    }
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const layout in = layout_of(conv->opt.in, s->c, s->h, s->w);
    const layout out = layout_of(conv->opt.out, s->o, s->oh, s->ow);
    size_t og = s->o / s->groups, n_taps = s->window.kh * s->window.kw;
    float *sum = conv->state;
    tap t;
    for (size_t i = 0; i < n_rows; i++, x += in.c * in.n, y += out.c * out.n) {
        for (size_t p = 0; p < out.n; p++) {
            memset(sum, 0, s->o * sizeof *sum);
            for (size_t g = 0; g < s->groups; g++) {
                for (size_t q = 0; q < n_taps; q++) {
                    if (find_tap(s, g, q, p, &t)) add_tap(s, &in, x, w, g, &t, sum + g * og);
                }
            }
            conv->opt.kernels->bias_act_f32(sum, b, 1, s->o, conv->opt.act);
            for (size_t o = 0; o < s->o; o++) y[offset(&out, o, p)] = sum[o];
        }
    }
}

/* dx of one tap += the weights times dy[o / groups] */
static void add_tap_data(const drovek_conv_shape *s, const layout *in, const float *dy,
                         const float *w, size_t group, const tap *t, float *dx)
{
    size_t cg = s->c / s->groups, og = s->o / s->groups;
    for (size_t c = 0; c < cg; c++) {
        const float *row = w + t->weights + c * og;
        float sum = 0.0f;
        for (size_t o = 0; o < og; o++) sum += dy[o] * drove__racy_load(row + o);
        dx[offset(in, group * cg + c, t->position)] += sum;
    }
}

/* Calls visit for every tap inside the image, of every window: the loops that data and weights
 * share.  line: dy of one position, channels side by side. */
typedef void visit_fn(const drovek_conv_shape *s, const layout *in, const float *line,
                      const float *read, size_t group, const tap *t, float *written);

static void for_each_tap(const drovek_conv *conv, const layout *in, const float *dy,
                         const float *read, float *written, visit_fn *visit)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const layout out = layout_of(conv->opt.out, s->o, s->oh, s->ow);
    size_t og = s->o / s->groups, n_taps = s->window.kh * s->window.kw;
    float *line = conv->state;
    tap t;
    for (size_t p = 0; p < out.n; p++) {
        for (size_t o = 0; o < s->o; o++) line[o] = dy[offset(&out, o, p)];
        for (size_t g = 0; g < s->groups; g++) {
            for (size_t q = 0; q < n_taps; q++) {
                if (find_tap(s, g, q, p, &t)) visit(s, in, line + g * og, read, g, &t, written);
            }
        }
    }
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const layout in = layout_of(conv->opt.in, s->c, s->h, s->w);
    if (!adds) memset(dx, 0, n_rows * in.c * in.n * sizeof *dx);
    for (size_t i = 0; i < n_rows; i++, dx += in.c * in.n, dy += s->o * s->oh * s->ow)
        for_each_tap(conv, &in, dy, w, dx, add_tap_data);
}

static void add_tap_weights(const drovek_conv_shape *s, const layout *in, const float *dy,
                            const float *x, size_t group, const tap *t, float *dw)
{
    size_t cg = s->c / s->groups, og = s->o / s->groups;
    for (size_t c = 0; c < cg; c++) {
        float factor = x[offset(in, group * cg + c, t->position)];
        float *row = dw + t->weights + c * og;
        for (size_t o = 0; o < og; o++) row[o] += factor * dy[o];
    }
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const layout in = layout_of(conv->opt.in, s->c, s->h, s->w);
    memset(dw, 0, drovek_conv_n_weights(s) * sizeof *dw);
    for (size_t i = 0; i < n_rows; i++, x += in.c * in.n, dy += s->o * s->oh * s->ow)
        for_each_tap(conv, &in, dy, x, dw, add_tap_weights);
}

static drove_status create(drovek_conv *conv)
{
    size_t n = conv->opt.shape.o;
    conv->state = drove__alloc(n, sizeof(float)); /* one output position */
    if (conv->state == NULL) return drove__fail_nomem("convolution", n * sizeof(float));
    conv->size_bytes = n * sizeof(float);
    return DROVE_OK;
}

static void destroy(drovek_conv *conv)
{
    drove__free(conv->state);
}

const drovek_conv_ops drovek_conv_ref = {.name = "ref",
                                         .create = create,
                                         .destroy = destroy,
                                         .forward = forward,
                                         .data = data,
                                         .weights = weights};
