/* model/max_pool.c - the maximum of each window, channel by channel.  For the backward pass it
 * keeps the position of the maximum in the window, in one byte (two if windows have more than 256
 * elements). */
#include "model/integers.h"
#include "model/pooling.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct max_pool {
    uint8_t *place; /* [max_rows][n_out] of place_bytes each; NULL: no backward pass */
} max_pool;

static size_t place_bytes(const drove_layer *l)
{
    return l->opt.window.kh * l->opt.window.kw <= DROVEK_POOL_BYTE ? 1 : 2;
}

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return opt->trains ? opt->max_rows * l->n_out * place_bytes(l) : 0;
}

static void release(void *own)
{
    max_pool *m = own;
    if (m == NULL) return;
    drove__free(m->place);
    free(m);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    size_t n_bytes = scratch_bytes(opt, &opt->model->layer[index]);
    max_pool *m = calloc(1, sizeof *m);
    (void)pass;
    if (m == NULL) return drove__fail_nomem("max pooling", sizeof *m);
    if (n_bytes > 0) {
        m->place = drove__alloc(n_bytes, 1);
        if (m->place == NULL) {
            free(m);
            return drove__fail_nomem("places of maxima", n_bytes);
        }
    }
    *own = m;
    return DROVE_OK;
}

/* This part's positions of maxima. */
static uint8_t *places(const drove_call *c)
{
    const max_pool *m = c->own;
    if (m->place == NULL) return NULL;
    return m->place + c->first_row * c->layer->n_out * place_bytes(c->layer);
}

/* Windows that do not overlap, and whose places fit a byte. */
static bool keeps_derivatives(const drove_layer *l)
{
    const drovek_window *w = &l->opt.window;
    return w->sh >= w->kh && w->sw >= w->kw && place_bytes(l) == 1;
}

void drove__max_pool_of(const drove_pass *pass, size_t index, drovek_pool *p, uint8_t **place)
{
    const max_pool *m = pass->own[index];
    *p = drove__pooling_geometry(&pass->model->layer[index], pass->format[index + 1]);
    *place = m->place;
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_layer_integers *integers = c->integers;
    if (integers != NULL && integers->is_made) return;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    if (integers != NULL && integers->x != NULL) {
        c->k->planes->max_pool(&p, integers->x, integers->y, places(c), c->n_rows);
        return;
    }
    c->k->max_pool_f32(&p, c->bottom[0].x + c->first_row * l->n_in, c->y + c->first_row * l->n_out,
                       c->pass->is_training ? places(c) : NULL,
                       drove__blocks(c->format, c->last_row - c->first_row, l->in.c));
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    drovek_pool p = drove__pooling_geometry(l, c->format);
    if (c->integers != NULL) {
        if (c->pass->integers->layer[l->bottom[0] - 1].takes_pooled) return;
        c->k->planes->max_pool_back(&p, c->integers->dy, places(c), c->integers->dx, c->n_rows);
        return;
    }
    if (c->bottom[0].dx == NULL) return;
    c->k->max_pool_back_f32(&p, c->dy + c->first_row * l->n_out, places(c),
                            c->bottom[0].dx + c->first_row * l->n_in,
                            drove__blocks(c->format, c->last_row - c->first_row, l->in.c),
                            c->bottom[0].adds);
}

const drove_layer_ops drove__layer_max_pool = {
    .name = "max_pool",
    .help = "maximum of each window",
    .source = "Ranzato et al., CVPR 2007; sizes as in Caffe",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .integers =
        &(const drove_integer_ops){.keeps_numbers = true, .keeps_derivatives = keeps_derivatives},
    .shape = drove__pooling_shape,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
};
