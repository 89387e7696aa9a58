/* model/lrn.c - local response normalisation across channels:
 *
 *   y[c] = x[c] (kappa + alpha / size * sum of x[j]^2 over the size channels around c)^-beta
 *
 * Krizhevsky, Sutskever, Hinton, NIPS 2012, section 3.3, with alpha divided by the size of the
 * window, as in Caffe (AlexNet there: size 5, alpha 1e-4, beta 0.75, kappa 1).  Nothing is kept for
 * the backward pass: computing the sums again costs less than reading them.
 */
#include "model/layer.h"

#include <math.h>

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const drove_lrn *o = &l->opt.lrn;
    (void)n_bottoms, (void)n_outputs;
    if (o->size % 2 == 0)
        return drove__fail(DROVE_E_ARG, "expected an odd number of channels as size, found %zu",
                           o->size);
    if (!(o->kappa > 0.0f) || !(o->alpha >= 0.0f) || !isfinite(o->alpha) || !isfinite(o->beta) ||
        !isfinite(o->kappa))
        return drove__fail(DROVE_E_ARG,
                           "expected kappa above 0 and alpha of 0 or more, found %g and %g",
                           (double)o->kappa, (double)o->alpha);
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

static drovek_lrn settings(const drove_call *c)
{
    const drove_layer *l = c->layer;
    return (drovek_lrn){.c = l->in.c,
                        .hw = l->in.h * l->in.w,
                        .block = drovek_block(c->format, l->in.c),
                        .reach = (l->opt.lrn.size - 1) / 2,
                        .factor = l->opt.lrn.alpha / (float)l->opt.lrn.size,
                        .beta = l->opt.lrn.beta,
                        .kappa = l->opt.lrn.kappa};
}

static void forward(const drove_call *c)
{
    size_t first = c->first_row * c->layer->n_in;
    drovek_lrn l = settings(c);
    c->k->lrn_f32(&l, c->bottom[0].x + first, c->y + first, c->last_row - c->first_row);
}

static void backward(const drove_call *c)
{
    size_t first = c->first_row * c->layer->n_in;
    drovek_lrn l = settings(c);
    if (c->bottom[0].dx == NULL) return;
    c->k->lrn_back_f32(&l, c->bottom[0].x + first, c->dy + first, c->bottom[0].dx + first,
                       c->last_row - c->first_row, c->bottom[0].adds);
}

const drove_layer_ops drove__layer_lrn = {
    .name = "lrn",
    .help = "local response normalisation across channels",
    .source = "Krizhevsky et al., NIPS 2012, section 3.3",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
