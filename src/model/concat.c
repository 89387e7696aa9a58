/* model/concat.c - concatenates the channels of several images of one size. */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    size_t channels = 0;
    (void)n_outputs;
    for (unsigned i = 0; i < n_bottoms; i++) {
        if (bottom[i].h != bottom[0].h || bottom[i].w != bottom[0].w)
            return drove__fail(DROVE_E_SHAPE,
                               "expected images of %zu x %zu like the first input, found %zu x "
                               "%zu as input %u",
                               bottom[0].h, bottom[0].w, bottom[i].h, bottom[i].w, i + 1);
        if (bottom[i].c > SIZE_MAX / 64 - channels)
            return drove__fail(DROVE_E_SHAPE, "the inputs together have too many channels");
        channels += bottom[i].c;
    }
    l->in = bottom[0];
    l->out = (drove_shape){channels, bottom[0].h, bottom[0].w};
    l->n_in = drove__shape_floats(l->in);
    l->n_out = drove__shape_floats(l->out);
    return DROVE_OK;
}

/* Copies the rows of each bottom, first to last; forward: from it, else to it. */
static void walk(const drove_call *c, bool is_forward)
{
    const drove_layer *l = c->layer;
    const size_t hw = l->out.h * l->out.w, n_rows = c->last_row - c->first_row;
    const bool is_blocked = drovek_is_blocked(c->format);
    size_t begin = 0; /* of the bottom's channels in a row of the output */
    for (unsigned i = 0; i < l->n_bottoms; i++) {
        const drove_bottom *b = &c->bottom[i];
        const size_t channels = drove__blob_shape(c->pass->model, l->bottom[i]).c;
        /* blocked: one bottom's planes of a row are contiguous; else its channels of a position */
        const size_t n = is_blocked ? n_rows : n_rows * hw;
        const size_t cols = is_blocked ? channels * hw : channels;
        const size_t stride = is_blocked ? l->n_out : l->out.c;
        const size_t at = c->first_row * l->n_out + begin, own = c->first_row * channels * hw;
        begin += cols;
        if (is_forward) c->k->copy_rows_f32(c->y + at, stride, b->x + own, cols, n, cols, false);
        else if (b->dx != NULL)
            c->k->copy_rows_f32(b->dx + own, cols, c->dy + at, stride, n, cols, b->adds);
    }
}

static void forward(const drove_call *c)
{
    walk(c, true);
}

static void backward(const drove_call *c)
{
    walk(c, false);
}

const drove_layer_ops drove__layer_concat = {
    .name = "concat",
    .help = "channels of several images, one after the other",
    .source = "Szegedy et al., CVPR 2015 (filter concatenation)",
    .least_bottoms = 1,
    .most_bottoms = DROVE_LAYER_MOST_BOTTOMS,
    .format = DROVE_FORMAT_SAME,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
