/* kernel/conv/taps.c - convolution of images of few positions, without the zeros around them: for
 * each output position and each tap of its window that lies inside, the product of one position of
 * all images and the weights of that tap.
 *
 * At 2 x 2 positions and windows of 3 x 3 with padding, five of nine taps multiply zeros.  Other
 * ways multiply them, or skip those above and below alone.  Taps side by side in a row of the
 * window are one product, both in the image and in W[kh][kw][c][o]: nothing is copied.
 *
 * The order of the sums depends on the shape and the number of images alone.
 */
#include "kernel/conv/ops.h"

#include <string.h>

enum { MOST_POSITIONS = 16 };

typedef struct span {
    size_t begin, end; /* taps of a window, along one side, that lie inside the image */
} span;

/* Of output position `at`, with window, step and padding along this side. */
static span span_of(size_t at, size_t k, size_t step, size_t padding, size_t side)
{
    const size_t begin = at * step, last = side + padding;
    return (span){begin < padding ? padding - begin : 0, begin + k <= last ? k
                                                         : begin < last    ? last - begin
                                                                           : 0};
}

/* Taps inside, summed over the positions along one side. */
static size_t n_inside(size_t n_positions, size_t k, size_t step, size_t padding, size_t side)
{
    size_t n = 0;
    for (size_t at = 0; at < n_positions; at++) {
        const span s = span_of(at, k, step, padding, side);
        n += s.end > s.begin ? s.end - s.begin : 0;
    }
    return n;
}

bool drovek_conv_has_few_taps(const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    const size_t all = s->oh * w->kh * s->ow * w->kw;
    return s->groups == 1 && w->dh == 1 && w->dw == 1 && s->oh * s->ow <= MOST_POSITIONS &&
           n_inside(s->oh, w->kh, w->sh, w->ph, s->h) * n_inside(s->ow, w->kw, w->sw, w->pw, s->w) <
               all * 3 / 4;
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_options *opt = &conv->opt;
    const bool turns = opt->in == DROVEK_NCHW && opt->shape.c > 1;
    if (drovek_is_blocked(opt->in) || turns || opt->out != DROVEK_NHWC ||
        !drovek_conv_has_few_taps(&opt->shape))
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: taps are for few positions");
    return DROVE_OK;
}

static void destroy(drovek_conv *conv)
{
    (void)conv;
}

/* One product: an output position, and the taps of a row of its window. */
typedef struct product {
    size_t y;    /* offset of the position in an output image */
    size_t x, k; /* offset of the first tap in an input image; floats of all taps */
    size_t w;    /* offset of their weights */
} product;

typedef void visit(drovek_conv *conv, const product *p, void *context);

static void for_each(drovek_conv *conv, visit *each, void *context)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_window *w = &s->window;
    for (size_t at = 0; at < s->oh * s->ow; at++) {
        const size_t oy = at / s->ow, ox = at % s->ow;
        const span rows = span_of(oy, w->kh, w->sh, w->ph, s->h);
        const span taps = span_of(ox, w->kw, w->sw, w->pw, s->w);
        for (size_t ky = rows.begin; ky < rows.end && taps.begin < taps.end; ky++) {
            const size_t first = ky * w->kw + taps.begin, n_taps = taps.end - taps.begin;
            const size_t y = oy * w->sh + ky - w->ph, x = ox * w->sw + taps.begin - w->pw;
            each(conv,
                 &(product){.y = at * s->o,
                            .x = (y * s->w + x) * s->c,
                            .k = n_taps * s->c,
                            .w = first * s->c * s->o},
                 context);
        }
    }
}

/* Arrays of a pass: read, read, written. */
typedef struct arrays {
    const float *a, *b;
    float *to;
    size_t n_rows;
} arrays;

static void forward_product(drovek_conv *conv, const product *p, void *context)
{
    const arrays *t = context;
    const drovek_conv_shape *s = &conv->opt.shape;
    conv->opt.kernels->gemm_f32(false, false, t->n_rows, s->o, p->k, 1.0f, t->a + p->x,
                                s->c * s->h * s->w, t->b + p->w, s->o, 1.0f, t->to + p->y,
                                s->o * s->oh * s->ow);
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const size_t n = n_rows * s->oh * s->ow;
    memset(y, 0, n * s->o * sizeof *y);
    for_each(conv, forward_product, &(arrays){.a = x, .b = w, .to = y, .n_rows = n_rows});
    conv->opt.kernels->bias_act_f32(y, b, n, s->o, conv->opt.act);
}

static void data_product(drovek_conv *conv, const product *p, void *context)
{
    const arrays *t = context;
    const drovek_conv_shape *s = &conv->opt.shape;
    conv->opt.kernels->gemm_f32(false, true, t->n_rows, p->k, s->o, 1.0f, t->a + p->y,
                                s->o * s->oh * s->ow, t->b + p->w, s->o, 1.0f, t->to + p->x,
                                s->c * s->h * s->w);
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    if (!adds) memset(dx, 0, n_rows * s->c * s->h * s->w * sizeof *dx);
    for_each(conv, data_product, &(arrays){.a = dy, .b = w, .to = dx, .n_rows = n_rows});
}

static void weights_product(drovek_conv *conv, const product *p, void *context)
{
    const arrays *t = context;
    const drovek_conv_shape *s = &conv->opt.shape;
    conv->opt.kernels->gemm_f32(true, false, p->k, s->o, t->n_rows, 1.0f, t->a + p->x,
                                s->c * s->h * s->w, t->b + p->y, s->o * s->oh * s->ow, 1.0f,
                                t->to + p->w, s->o);
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    memset(dw, 0, drovek_conv_n_weights(&conv->opt.shape) * sizeof *dw);
    for_each(conv, weights_product, &(arrays){.a = x, .b = dy, .to = dw, .n_rows = n_rows});
}

const drovek_conv_ops drovek_conv_taps = {.name = "taps",
                                          .create = create,
                                          .destroy = destroy,
                                          .forward = forward,
                                          .data = data,
                                          .weights = weights};
