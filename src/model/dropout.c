/* model/dropout.c - in training each number becomes 0 with probability `ratio`, else is multiplied
 * by 1 / (1 - ratio) (inverted dropout: inference is then the identity).
 *
 * Masks are a function of (seed, batch, layer, row of the batch, element in the order [h][w][c]),
 * see kernel/image.h: parts, engines and formats agree.  Nothing is stored for the backward pass,
 * which computes the mask again.
 */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    if (!(l->opt.ratio >= 0.0f && l->opt.ratio < 1.0f))
        return drove__fail(DROVE_E_ARG, "expected a ratio of at least 0 and below 1, found %g",
                           (double)l->opt.ratio);
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

/* Masks this part's rows, block by block. */
static void mask(const drove_call *c, float *to, const float *from, bool adds)
{
    const drove_layer *l = c->layer;
    const size_t block = drovek_block(c->format, l->in.c), n_blocks = l->in.c / block;
    const size_t hw = l->in.h * l->in.w;
    drovek_dropout d = {.threshold = (uint32_t)((double)l->opt.ratio * 0x1p24),
                        .factor = 1.0f / (1.0f - l->opt.ratio)};
    for (size_t row = c->first_row; row < c->last_row; row++) {
        d.key = drovek_dropout_key(c->pass->seed, c->pass->batch, c->index, row);
        for (size_t b = 0; b < n_blocks; b++) {
            size_t at = row * l->n_in + b * hw * block;
            if (n_blocks == 1) c->k->dropout_f32(&d, to + at, from + at, 1, l->n_in, 0, 0, adds);
            else c->k->dropout_f32(&d, to + at, from + at, hw, block, b * block, l->in.c, adds);
        }
    }
}

static void forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, last = c->last_row * c->layer->n_in;
    if (c->pass->is_training) mask(c, c->y, c->bottom[0].x, false);
    else c->k->copy_f32(c->y + first, c->bottom[0].x + first, last - first);
}

static void backward(const drove_call *c)
{
    if (c->bottom[0].dx != NULL) mask(c, c->bottom[0].dx, c->dy, c->bottom[0].adds);
}

const drove_layer_ops drove__layer_dropout = {
    .name = "dropout",
    .help = "sets random numbers to 0 in training",
    .source = "Srivastava et al., JMLR 2014 (inverted: scaled in training)",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
