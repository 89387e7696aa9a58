/* model/custom_layer.c - a kind of layer of the program's own.
 *
 * Images reach the program's functions as [row][column][channel].  Forward is divided among the
 * parts of a team; backward of all examples is part 0's, as the gradient is one sum.
 */
#include "model/custom.h"

#include "base/mem.h"

#include <string.h>

static const size_t MOST_FLOATS = SIZE_MAX / 4096; /* as model/graph_build.c */

static drove_layer_shape shape_of(drove_shape s)
{
    return (drove_layer_shape){.channels = s.c, .height = s.h, .width = s.w};
}

static drove_layer_sizes sizes_of(const drove_layer *l)
{
    return (drove_layer_sizes){.in = shape_of(l->in),
                               .units = l->opt.n_out,
                               .out = shape_of(l->out),
                               .n_parameters = l->n_w};
}

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const drove_custom_layer *custom = l->ops->custom;
    char why[512] = "";
    (void)n_bottoms, (void)n_outputs;
    l->in = bottom[0];
    drove_layer_sizes sizes = {.in = shape_of(l->in), .units = l->opt.n_out};
    drove_status status = custom->shape(custom->context, &sizes, why, sizeof why);
    why[sizeof why - 1] = '\0';
    if (status != DROVE_OK) return drove__custom_fail_now("layer", l->ops->name, status, why);
    l->out = (drove_shape){sizes.out.channels, sizes.out.height, sizes.out.width};
    if (l->out.c == 0 || l->out.h == 0 || l->out.w == 0 || sizes.n_parameters > MOST_FLOATS)
        return drove__fail(DROVE_E_ARG,
                           "layer %s: expected an output of 1 x 1 x 1 at least and fewer "
                           "parameters than memory could hold, found %zu x %zu x %zu and %zu",
                           l->ops->name, l->out.c, l->out.h, l->out.w, sizes.n_parameters);
    l->n_w = sizes.n_parameters;
    l->w_rank = 1;
    l->w_shape[0] = l->n_w;
    return DROVE_OK;
}

/* The program writes derivatives; here they are added to those that are there already. */
static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return opt->trains && l->adds[0] ? opt->max_rows * l->n_in * sizeof(float) : 0;
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const size_t n_bytes = scratch_bytes(opt, &opt->model->layer[index]);
    (void)pass;
    if (n_bytes == 0) return DROVE_OK;
    *own = drove__alloc(n_bytes, 1);
    return *own != NULL ? DROVE_OK : drove__fail_nomem("derivatives of a layer", n_bytes);
}

static void release(void *own)
{
    drove__free(own);
}

/* A splitmix64 step (Steele, Lea, Flood, OOPSLA 2014): batches and layers get other seeds. */
static uint64_t seed_of(const drove_call *c)
{
    uint64_t z = c->pass->seed + 0x9e3779b97f4a7c15u * (c->pass->batch * 257 + c->index + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static drove_layer_batch batch_of(const drove_call *c, const drove_layer_sizes *sizes, char *why,
                                  size_t why_size)
{
    const drove_layer *l = c->layer;
    why[0] = '\0';
    return (drove_layer_batch){.sizes = sizes,
                               .parameters = c->theta + l->w_offset,
                               .is_training = c->pass->is_training,
                               .seed = seed_of(c),
                               .why = why,
                               .why_size = why_size};
}

static void fail(const drove_call *c, drove_status status, char *why, size_t why_size)
{
    why[why_size - 1] = '\0';
    drove__custom_fail(c->pass, "layer", c->layer->ops->name, status, why);
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_custom_layer *custom = l->ops->custom;
    const drove_layer_sizes sizes = sizes_of(l);
    char why[512];
    if (c->first_row == c->last_row) return;
    drove_layer_batch b = batch_of(c, &sizes, why, sizeof why);
    b.n_rows = c->last_row - c->first_row;
    b.first_row = c->first_row;
    b.x = c->bottom[0].x + c->first_row * l->n_in;
    b.y = c->y + c->first_row * l->n_out;
    drove_status status = custom->forward(custom->context, &b);
    if (status != DROVE_OK) fail(c, status, why, sizeof why);
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drove_custom_layer *custom = l->ops->custom;
    const drove_layer_sizes sizes = sizes_of(l);
    const drove_bottom *bottom = &c->bottom[0];
    const bool adds = bottom->dx != NULL && bottom->adds;
    char why[512];
    if (c->part != 0) return;
    drove_layer_batch b = batch_of(c, &sizes, why, sizeof why);
    b.n_rows = c->n_rows;
    b.x = bottom->x;
    b.y = c->y;
    b.dy = c->dy;
    b.dx = adds ? c->own : bottom->dx;
    b.gradient = c->grad + l->w_offset;
    drove_status status = custom->backward(custom->context, &b);
    if (status != DROVE_OK) fail(c, status, why, sizeof why);
    else if (adds) c->k->axpy_f32(bottom->dx, c->own, c->n_rows * l->n_in, 1.0f);
    drove__layer_zero_gaps(l, c->grad);
}

void drove__custom_layer_init(const drove_custom *custom, unsigned which, drove_layer_ops *out)
{
    *out = (drove_layer_ops){.name = custom->layer_name[which],
                             .help = "a layer of the program's own",
                             .source = "the program",
                             .least_bottoms = 1,
                             .most_bottoms = 1,
                             .format = DROVE_FORMAT_OWN,
                             .shape = shape,
                             .formats = drove__layer_formats_last,
                             .scratch_bytes = scratch_bytes,
                             .prepare = prepare,
                             .release = release,
                             .forward = forward,
                             .backward = backward,
                             .custom = &custom->layer[which]};
}

drove_status drove__custom_layer_start(const drove_layer *l, uint64_t seed, float *parameters)
{
    const drove_custom_layer *custom = l->ops->custom;
    const drove_layer_sizes sizes = sizes_of(l);
    char why[512] = "";
    if (custom->start == NULL) return DROVE_OK; /* they are 0 */
    drove_status status = custom->start(custom->context, &sizes, seed, parameters, why, sizeof why);
    why[sizeof why - 1] = '\0';
    return status == DROVE_OK ? DROVE_OK
                              : drove__custom_fail_now("layer", l->ops->name, status, why);
}
