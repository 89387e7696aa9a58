/* model/layers_pending.c - kinds of layers that have shapes but no arithmetic yet: networks can be
 * built and described with them, a pass is refused.  A kind's line goes when its own file comes.
 */
#include "model/layer.h"

static drove_status same(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                         size_t n_outputs)
{
    (void)n_bottoms;
    (void)n_outputs;
    l->in = l->out = bottom[0];
    return DROVE_OK;
}

static drove_status flat(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                         size_t n_outputs)
{
    DROVE_TRY(same(l, bottom, n_bottoms, n_outputs));
    l->out = (drove_shape){drove__shape_floats(l->in), 1, 1};
    return DROVE_OK;
}

static drove_status joined(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                           size_t n_outputs)
{
    DROVE_TRY(same(l, bottom, n_bottoms, n_outputs));
    for (unsigned i = 1; i < n_bottoms; i++) {
        if (bottom[i].h != l->in.h || bottom[i].w != l->in.w)
            return drove__fail(DROVE_E_SHAPE, "expected inputs of one height and width");
        l->out.c += bottom[i].c;
    }
    return DROVE_OK;
}

/* Places of a pooling window; a last one that would begin behind the image is left out. */
static size_t places(size_t n, size_t k, size_t s, size_t p, bool up)
{
    if (k > n + 2 * p) return 0;
    size_t o = (n + 2 * p - k + (up ? s - 1 : 0)) / s + 1;
    return up && (o - 1) * s >= n + p ? o - 1 : o;
}

static drove_status pooled(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                           size_t n_outputs)
{
    const drovek_window *v = &l->opt.window;
    DROVE_TRY(same(l, bottom, n_bottoms, n_outputs));
    l->out.h = l->opt.is_global ? 1 : places(l->in.h, v->kh, v->sh, v->ph, l->opt.rounds_up);
    l->out.w = l->opt.is_global ? 1 : places(l->in.w, v->kw, v->sw, v->pw, l->opt.rounds_up);
    if (l->out.h > 0 && l->out.w > 0) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE, "a window of %zu x %zu is larger than its input of %zu x %zu",
                       v->kh, v->kw, l->in.h, l->in.w);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    (void)pass;
    (void)own;
    const drove_layer *l = &opt->model->layer[index];
    return drove__fail(DROVE_E_UNSUPPORTED, "layer \"%s\": %s is not computed yet", l->name,
                       l->ops->name);
}

#define PENDING(kind, word, most, acts, how)                                                       \
    const drove_layer_ops drove__layer_##kind = {.name = (word),                                   \
                                                 .help = "",                                       \
                                                 .source = "",                                     \
                                                 .least_bottoms = 1,                               \
                                                 .most_bottoms = (most),                           \
                                                 .takes_act = (acts),                              \
                                                 .shape = (how),                                   \
                                                 .prepare = prepare};
PENDING(max_pool, "max_pool", 1, false, pooled)
PENDING(average_pool, "average_pool", 1, false, pooled)
PENDING(lrn, "lrn", 1, false, same)
PENDING(dropout, "dropout", 1, false, same)
PENDING(batch_norm, "batch_norm", 1, true, same)
PENDING(concat, "concat", DROVE_LAYER_MOST_BOTTOMS, false, joined)
PENDING(sum, "sum", DROVE_LAYER_MOST_BOTTOMS, true, same)
PENDING(flatten, "flatten", 1, false, flat)
PENDING(activation, "activation", 1, false, same)
PENDING(softmax, "softmax", 1, false, same)
