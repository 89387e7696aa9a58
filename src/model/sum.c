/* model/sum.c - y = act(sum over the bottoms of coefficient x).  Coefficients that are all 0 count
 * as absent: all 1. */
#include "model/layer.h"

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    bool is_given = false;
    (void)n_outputs;
    for (unsigned i = 0; i < n_bottoms; i++) {
        if (bottom[i].c != bottom[0].c || bottom[i].h != bottom[0].h || bottom[i].w != bottom[0].w)
            return drove__fail(DROVE_E_SHAPE,
                               "expected %zu x %zu x %zu like the first input, found %zu x %zu x "
                               "%zu as input %u",
                               bottom[0].c, bottom[0].h, bottom[0].w, bottom[i].c, bottom[i].h,
                               bottom[i].w, i + 1);
        is_given |= l->opt.coefficient[i] != 0.0f;
    }
    for (unsigned i = 0; i < n_bottoms && !is_given; i++) l->opt.coefficient[i] = 1.0f;
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

static void forward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, n = c->last_row * c->layer->n_in - first;
    const float *factor = c->layer->opt.coefficient;
    float *y = c->y + first;
    const float *second = c->layer->n_bottoms > 1 ? c->bottom[1].x + first : NULL;
    c->k->blend_f32(y, c->bottom[0].x + first, second, n, factor[0], factor[1]);
    for (unsigned i = 2; i < c->layer->n_bottoms; i++)
        c->k->axpy_f32(y, c->bottom[i].x + first, n, factor[i]);
    drove__layer_act(c);
}

static void backward(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_in, n = c->last_row * c->layer->n_in - first;
    drove__layer_act_back(c);
    for (unsigned i = 0; i < c->layer->n_bottoms; i++) {
        const drove_bottom *b = &c->bottom[i];
        float factor = c->layer->opt.coefficient[i];
        if (b->dx == NULL) continue;
        if (b->adds) c->k->axpy_f32(b->dx + first, c->dy + first, n, factor);
        else c->k->blend_f32(b->dx + first, c->dy + first, NULL, n, factor, 0.0f);
    }
}

const drove_layer_ops drove__layer_sum = {
    .name = "sum",
    .help = "weighted sum of its inputs, element by element",
    .source = "He et al., CVPR 2016 (shortcuts)",
    .least_bottoms = 1,
    .most_bottoms = DROVE_LAYER_MOST_BOTTOMS,
    .format = DROVE_FORMAT_SAME,
    .takes_act = true,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
