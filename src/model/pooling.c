/* model/pooling.c - shape and geometry of pooling layers; the mean of each window, channel by
 * channel.  As in Caffe the mean's divisor is the area of the window clipped to the image with its
 * padding: padding counts as zeros; the part of a window beyond the padding does not count.  Where
 * padding is uncounted (TensorFlow, ONNX), the divisor is the area inside the image. */
#include "model/pooling.h"

static size_t at_least_1(size_t n)
{
    return n > 0 ? n : 1;
}

/* k <= n + p + q, p < k, q < k */
static size_t n_windows(size_t n, size_t k, size_t s, size_t p, size_t q, bool rounds_up)
{
    size_t rest = n + p + q - k, count = rest / s + 1;
    if (rounds_up && rest % s != 0 && count * s < n + p) count++;
    return count;
}

drove_status drove__pooling_shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                                  size_t n_outputs)
{
    const drove_shape in = bottom[0];
    const drovek_window *said = &l->opt.window;
    const drovek_window whole = {.kh = in.h, .kw = in.w, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    const drovek_window own = {.kh = at_least_1(said->kh),
                               .kw = at_least_1(said->kw),
                               .sh = at_least_1(said->sh),
                               .sw = at_least_1(said->sw),
                               .ph = said->ph,
                               .pw = said->pw,
                               .dh = at_least_1(said->dh),
                               .dw = at_least_1(said->dw)};
    const drovek_window w = l->opt.is_global ? whole : own;
    if (l->opt.is_global) l->opt.padding = (drove_padding){0};
    const drove_padding q = l->opt.padding;
    (void)n_bottoms, (void)n_outputs;
    if (w.dh != 1 || w.dw != 1)
        return drove__fail(DROVE_E_ARG, "expected pooling without dilation, found %zu x %zu", w.dh,
                           w.dw);
    if (w.ph >= w.kh || w.pw >= w.kw || q.below >= w.kh || q.right >= w.kw)
        return drove__fail(DROVE_E_SHAPE,
                           "expected padding smaller than the window of %zu x %zu, found %zu x %zu",
                           w.kh, w.kw, w.ph > q.below ? w.ph : q.below,
                           w.pw > q.right ? w.pw : q.right);
    if (w.kh > in.h + w.ph + q.below || w.kw > in.w + w.pw + q.right)
        return drove__fail(DROVE_E_SHAPE,
                           "a window of %zu x %zu is larger than its input of %zu x %zu, %zu x %zu "
                           "with padding",
                           w.kh, w.kw, in.h, in.w, in.h + w.ph + q.below, in.w + w.pw + q.right);
    if (w.kw > DROVEK_POOL_MOST / w.kh)
        return drove__fail(DROVE_E_SHAPE,
                           "expected a window of at most %d elements, found %zu x %zu",
                           (int)DROVEK_POOL_MOST, w.kh, w.kw);
    l->opt.window = w;
    l->in = in;
    l->out = (drove_shape){in.c, n_windows(in.h, w.kh, w.sh, w.ph, q.below, l->opt.rounds_up),
                           n_windows(in.w, w.kw, w.sw, w.pw, q.right, l->opt.rounds_up)};
    l->n_in = drove__shape_floats(l->in);
    l->n_out = drove__shape_floats(l->out);
    return DROVE_OK;
}

drovek_pool drove__pooling_geometry(const drove_layer *l, drovek_format format)
{
    const drovek_window *w = &l->opt.window;
    const drove_padding *q = &l->opt.padding;
    const bool counts = !q->is_uncounted;
    return (drovek_pool){.c = drovek_block(format, l->in.c),
                         .h = l->in.h,
                         .w = l->in.w,
                         .oh = l->out.h,
                         .ow = l->out.w,
                         .kh = w->kh,
                         .kw = w->kw,
                         .sh = w->sh,
                         .sw = w->sw,
                         .ph = w->ph,
                         .pw = w->pw,
                         .y0 = counts ? 0 : w->ph,
                         .x0 = counts ? 0 : w->pw,
                         .y1 = l->in.h + w->ph + (counts ? q->below : 0),
                         .x1 = l->in.w + w->pw + (counts ? q->right : 0)};
}

/* ---- the mean ---- */

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    c->k->average_pool_f32(&p, c->bottom[0].x + c->first_row * l->n_in,
                           c->y + c->first_row * l->n_out,
                           drove__blocks(c->format, c->last_row - c->first_row, l->in.c));
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    if (c->bottom[0].dx == NULL) return;
    c->k->average_pool_back_f32(&p, c->dy + c->first_row * l->n_out,
                                c->bottom[0].dx + c->first_row * l->n_in,
                                drove__blocks(c->format, c->last_row - c->first_row, l->in.c),
                                c->bottom[0].adds);
}

const drove_layer_ops drove__layer_average_pool = {
    .name = "average_pool",
    .help = "mean of each window",
    .source = "LeCun et al., Proc. IEEE 1998 (without its weights); sizes and divisor as in Caffe",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = drove__pooling_shape,
    .forward = forward,
    .backward = backward,
};
