/* model/prelu.c - the parametric rectifier (He, Zhang, Ren, Sun, ICCV 2015): y = x, below 0 a x,
 * with slopes a that are learned: one a channel, one for all, or one a number, [h][w][c].
 *
 *   dx = dy, below 0 a dy     da = sum of dy x over the x below 0 that a belongs to
 *
 * The slopes are the layer's weights.  Parts: each has sums for da; after the barrier part 0 adds
 * them in the order of the parts.
 */
#include "model/layer.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef struct prelu {
    unsigned n_parts;
    size_t step;
    double *sums; /* [n_parts][padded n_w] */
} prelu;

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const size_t c = bottom[0].c, all = drove__shape_floats(bottom[0]), n = l->opt.n_out;
    const char *start = l->opt.w_filler.kind;
    (void)n_bottoms, (void)n_outputs;
    if (n > 1 && n != c && n != all)
        return drove__fail(DROVE_E_SHAPE,
                           "expected 1, %zu or %zu slopes for %zu x %zu x %zu numbers, found %zu",
                           c, all, c, bottom[0].h, bottom[0].w, n);
    if (start != NULL && strcmp(start, "constant") != 0)
        return drove__fail(DROVE_E_ARG, "expected slopes that start as constant, found %s", start);
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = all;
    l->n_w = n > 0 ? n : c;
    l->w_shape[0] = l->n_w;
    l->w_rank = 1;
    l->fan_in = l->fan_out = 0; /* excludes it from initialisers: model/init.c */
    return DROVE_OK;
}

/* Blocks suit all but slopes of each number, whose order is that of channels last. */
static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    (void)opt;
    *out = drovek_is_blocked(in[0]) && l->n_w <= l->in.c ? in[0] : DROVEK_NHWC;
    want[0] = *out;
    return DROVE_OK;
}

/* ---- preparation ---- */

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return opt->n_parts * drove__pad_floats(l->n_w) * sizeof(double);
}

static void release(void *own)
{
    prelu *p = own;
    if (p == NULL) return;
    drove__free(p->sums);
    free(p);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    prelu *p = calloc(1, sizeof *p);
    (void)pass;
    if (p == NULL) return drove__fail_nomem("prelu", sizeof *p);
    p->n_parts = opt->n_parts;
    p->step = drove__pad_floats(l->n_w);
    p->sums = drove__alloc(p->n_parts * p->step, sizeof *p->sums);
    if (p->sums == NULL) {
        release(p);
        return drove__fail_nomem("prelu", scratch_bytes(opt, l));
    }
    *own = p;
    return DROVE_OK;
}

/* ---- passes ---- */

/* This part's numbers as rows of `width` that each have slopes of their own, or share one. */
typedef struct rows {
    size_t first, n, width;
    size_t n_each, n_lists; /* rows that have one list of slopes; lists */
} rows;

static rows rows_of(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t n_examples = c->last_row - c->first_row, n = n_examples * l->n_in;
    rows r = {.first = c->first_row * l->n_in, .width = l->n_w, .n_each = 1, .n_lists = 1};
    if (l->n_w > 1 && l->n_w == l->in.c) { /* of blocks, one after the other */
        r.width = drovek_block(c->format, l->in.c);
        r.n_each = l->in.h * l->in.w;
        r.n_lists = l->in.c / r.width;
    }
    r.n = n / r.width;
    return r;
}

static void forward(const drove_call *c)
{
    const rows r = rows_of(c);
    const float *x = c->bottom[0].x + r.first, *a = c->theta + c->layer->w_offset;
    float *y = c->y + r.first;
    for (size_t i = 0; i < r.n; i++, x += r.width, y += r.width) {
        const float *slope = a + i / r.n_each % r.n_lists * r.width;
        for (size_t k = 0; k < r.width; k++) y[k] = x[k] < 0.0f ? slope[k] * x[k] : x[k];
    }
}

static void backward(const drove_call *c)
{
    const rows r = rows_of(c);
    const prelu *p = c->own;
    const drove_bottom *b = &c->bottom[0];
    const float *x = b->x + r.first, *dy = c->dy + r.first, *a = c->theta + c->layer->w_offset;
    float *dx = b->dx != NULL ? b->dx + r.first : NULL;
    double *sums = p->sums + c->part * p->step;
    memset(sums, 0, p->step * sizeof *sums);
    for (size_t i = 0; i < r.n; i++) {
        const size_t list = i / r.n_each % r.n_lists * r.width, at = i * r.width;
        for (size_t k = 0; k < r.width; k++) {
            const bool is_below = x[at + k] < 0.0f;
            if (is_below) sums[list + k] += (double)dy[at + k] * (double)x[at + k];
            if (dx == NULL) continue;
            const float d = is_below ? a[list + k] * dy[at + k] : dy[at + k];
            dx[at + k] = b->adds ? dx[at + k] + d : d;
        }
    }
}

static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const prelu *p = c->own;
    if (c->part != 0) return;
    for (size_t i = 0; i < l->n_w; i++) {
        double sum = 0.0;
        for (unsigned part = 0; part < p->n_parts; part++) sum += p->sums[part * p->step + i];
        c->grad[l->w_offset + i] = (float)sum;
    }
    drove__layer_zero_gaps(l, c->grad);
}

const drove_layer_ops drove__layer_prelu = {
    .name = "prelu",
    .help = "relu whose slopes below 0 are learned",
    .source = "He, Zhang, Ren, Sun, ICCV 2015",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .shape = shape,
    .formats = formats,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
    .backward_finish = backward_finish,
};
