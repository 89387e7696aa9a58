/* tests/unit/model/one_layer.c - see one_layer.h. */
#include "unit/model/one_layer.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <string.h>

static void describe(const one_layer_options *opt, drove_layer *layers, drove_layer **out)
{
    for (unsigned i = 0; i < opt->n_bottoms; i++) layers[i].out = opt->bottom[i];
    drove_layer *l = &layers[opt->n_bottoms];
    l->ops = opt->ops;
    l->opt = opt->opt;
    l->act = opt->act;
    l->n_bottoms = opt->n_bottoms;
    for (unsigned i = 0; i < opt->n_bottoms; i++) l->bottom[i] = i + 1;
    *out = l;
}

drove_status one_layer_shape(const one_layer_options *opt, drove_layer *l)
{
    drove_layer layers[ONE_LAYER_BOTTOMS + 1], *mine;
    memset(layers, 0, sizeof layers);
    describe(opt, layers, &mine);
    drove_status status = opt->ops->shape(mine, opt->bottom, opt->n_bottoms, 10);
    *l = *mine;
    return status;
}

const drove_layer *one_layer_of(const one_layer *t)
{
    return &t->layers[t->given.n_bottoms];
}

static float *floats(size_t n)
{
    float *p = drove__alloc(n, sizeof *p);
    assert_non_null(p);
    memset(p, 0xff, n * sizeof *p); /* NaN: what is not written shows */
    return p;
}

static void place_parameters(one_layer *t, drove_layer *l)
{
    l->b_offset = drove__pad_floats(l->n_w);
    l->s_offset = l->b_offset + drove__pad_floats(l->n_b);
    t->model.n_params = l->s_offset + drove__pad_floats(l->n_statistics);
    t->theta = floats(t->model.n_params + 1);
    t->grad = floats(t->model.n_params + 1);
    memset(t->theta, 0, t->model.n_params * sizeof *t->theta);
}

void one_layer_init(one_layer *t, const one_layer_options *opt)
{
    drove_layer *l;
    drovek_format want[ONE_LAYER_BOTTOMS], in[ONE_LAYER_BOTTOMS];
    memset(t, 0, sizeof *t);
    t->given = *opt;
    assert_int_equal(drovek_select(&t->kernels, drove__cpu_features(), opt->isa), DROVE_OK);
    describe(opt, t->layers, &l);
    assert_int_equal(opt->ops->shape(l, opt->bottom, opt->n_bottoms, 10), DROVE_OK);
    t->model = (drove_model){.layer = t->layers, .n_layers = opt->n_bottoms + 1};
    place_parameters(t, l);
    t->options = (drove_pass_options){.model = &t->model,
                                      .kernels = &t->kernels,
                                      .rows = opt->n_rows,
                                      .max_rows = opt->n_rows,
                                      .n_parts = opt->n_parts,
                                      .trains = !opt->inference};
    t->pass = (drove_pass){.model = &t->model,
                           .max_rows = opt->n_rows,
                           .n_parts = opt->n_parts,
                           .trains = !opt->inference,
                           .is_training = !opt->inference,
                           .seed = opt->seed,
                           .batch = opt->batch};
    for (unsigned i = 0; i < opt->n_bottoms; i++) in[i] = want[i] = opt->format;
    t->out_format = opt->format;
    if (opt->ops->format == DROVE_FORMAT_PLAIN) want[0] = t->out_format = DROVEK_NHWC;
    if (opt->ops->format == DROVE_FORMAT_OWN)
        assert_int_equal(opt->ops->formats(&t->options, l, in, want, &t->out_format), DROVE_OK);
    for (unsigned i = 0; i < opt->n_bottoms; i++) {
        size_t n = opt->n_rows * drove__shape_floats(opt->bottom[i]);
        t->x[i] = floats(n);
        t->dx[i] = floats(n);
        t->bottom[i] =
            (drove_bottom){.x = t->x[i], .dx = t->dx[i], .adds = opt->adds, .format = want[i]};
    }
    t->y = floats(opt->n_rows * l->n_out);
    t->dy = floats(opt->n_rows * l->n_out);
    if (opt->ops->prepare != NULL)
        assert_int_equal(opt->ops->prepare(&t->options, &t->pass, opt->n_bottoms, &t->own),
                         DROVE_OK);
}

void one_layer_fini(one_layer *t)
{
    if (t->given.ops->release != NULL) t->given.ops->release(t->own);
    for (unsigned i = 0; i < t->given.n_bottoms; i++) {
        drove__free(t->x[i]);
        drove__free(t->dx[i]);
    }
    drove__free(t->y);
    drove__free(t->dy);
    drove__free(t->theta);
    drove__free(t->grad);
}

/* Calls one slot for every part, the last part first. */
static void call(one_layer *t, void (*slot)(const drove_call *c))
{
    const one_layer_options *o = &t->given;
    drove_input input = {.n_rows = o->n_rows};
    for (unsigned part = o->n_parts; slot != NULL && part-- > 0;) {
        drove_call c = {.layer = one_layer_of(t),
                        .index = o->n_bottoms,
                        .k = &t->kernels,
                        .theta = t->theta,
                        .input = &input,
                        .pass = &t->pass,
                        .own = t->own,
                        .n_rows = o->n_rows,
                        .part = part,
                        .n_parts = o->n_parts,
                        .first_row = o->n_rows * part / o->n_parts,
                        .last_row = o->n_rows * (part + 1) / o->n_parts,
                        .bottom = t->bottom,
                        .format = t->out_format,
                        .y = t->y,
                        .dy = t->dy,
                        .grad = t->grad};
        slot(&c);
    }
}

static void convert(const one_layer *t, const float *from, drovek_format from_format, float *to,
                    drovek_format to_format, drove_shape s)
{
    drovek_reformat(from, from_format, to, to_format, t->given.n_rows, s.c, s.h, s.w, false);
}

void one_layer_forward(one_layer *t, float *const *x, float *y)
{
    for (unsigned i = 0; i < t->given.n_bottoms; i++)
        convert(t, x[i], DROVEK_NHWC, t->x[i], t->bottom[i].format, t->given.bottom[i]);
    call(t, t->given.ops->forward);
    call(t, t->given.ops->forward_finish);
    convert(t, t->y, t->out_format, y, DROVEK_NHWC, one_layer_of(t)->out);
}

void one_layer_backward(one_layer *t, const float *dy, float *const *dx)
{
    for (unsigned i = 0; i < t->given.n_bottoms && t->given.adds; i++)
        convert(t, dx[i], DROVEK_NHWC, t->dx[i], t->bottom[i].format, t->given.bottom[i]);
    convert(t, dy, DROVEK_NHWC, t->dy, t->out_format, one_layer_of(t)->out);
    call(t, t->given.ops->backward);
    call(t, t->given.ops->backward_finish);
    call(t, t->given.ops->backward_input);
    for (unsigned i = 0; i < t->given.n_bottoms; i++)
        convert(t, t->dx[i], t->bottom[i].format, dx[i], DROVEK_NHWC, t->given.bottom[i]);
}
