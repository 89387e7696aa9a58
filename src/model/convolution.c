/* model/convolution.c - y = act(conv(x, W) + b): kernel/conv/conv.h in a graph of layers.
 *
 * Parts: each part convolves its examples with its own prepared convolution.  Its gradient of W
 * goes to part 0's buffer or to scratch; after the barrier each part adds up its share of W in the
 * order of the parts.
 */
#include "model/integers.h"
#include "model/pooling.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHOICES = 12 };

typedef struct convolution {
    unsigned n_parts;
    drovek_conv **conv; /* [n_parts] */
    float *dw;          /* [n_parts - 1][padded n_w] */
    float *db;          /* [n_parts][padded o] */
    float *zero;        /* [padded o] biases for a layer without any; else NULL */
    size_t w_step, b_step;
} convolution;

static size_t at_least_1(size_t n)
{
    return n > 0 ? n : 1;
}

/* ---- shape ---- */

static drovek_window window_of(const drove_layer_options *o)
{
    drovek_window w = o->window;
    w.kh = at_least_1(w.kh);
    w.kw = at_least_1(w.kw);
    w.sh = at_least_1(w.sh);
    w.sw = at_least_1(w.sw);
    w.dh = at_least_1(w.dh);
    w.dw = at_least_1(w.dw);
    return w;
}

/* Positions of a window of k elements, dilation d, along n numbers with those zeros beside them; 0:
 * it does not fit. */
static size_t n_places(size_t n, size_t k, size_t s, size_t zeros, size_t d)
{
    size_t span = (k - 1) * d + 1;
    return span > n + zeros ? 0 : (n + zeros - span) / s + 1;
}

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const drovek_window w = window_of(&l->opt);
    const size_t groups = at_least_1(l->opt.groups),
                 o = l->opt.n_out > 0 ? l->opt.n_out : n_outputs;
    (void)n_bottoms;
    l->in = bottom[0];
    if (l->in.c % groups != 0 || o % groups != 0)
        return drove__fail(DROVE_E_SHAPE,
                           "expected channels that %zu groups divide, found %zu in and %zu out",
                           groups, l->in.c, o);
    const size_t high = w.ph + l->opt.padding.below, wide = w.pw + l->opt.padding.right;
    l->out = (drove_shape){o, n_places(l->in.h, w.kh, w.sh, high, w.dh),
                           n_places(l->in.w, w.kw, w.sw, wide, w.dw)};
    if (l->out.h == 0 || l->out.w == 0)
        return drove__fail(DROVE_E_SHAPE,
                           "a window of %zu x %zu, dilation %zu x %zu, is larger than its input of "
                           "%zu x %zu, %zu x %zu with padding",
                           w.kh, w.kw, w.dh, w.dw, l->in.h, l->in.w, l->in.h + high,
                           l->in.w + wide);
    const size_t most = SIZE_MAX / 64, c = l->in.c / groups;
    if (w.kh > most / w.kw || w.kh * w.kw > most / c || w.kh * w.kw * c > most / o ||
        l->out.h > most / l->out.w || l->out.h * l->out.w > most / o)
        return drove__fail(DROVE_E_ARG, "convolution of %zu x %zu x %zu x %zu is too large", o, c,
                           w.kh, w.kw);
    l->n_in = drove__shape_floats(l->in);
    l->n_out = drove__shape_floats(l->out);
    l->fan_in = w.kh * w.kw * c;
    l->fan_out = w.kh * w.kw * (o / groups);
    l->n_w = l->fan_in * o;
    l->n_b = l->opt.no_bias ? 0 : o;
    l->w_rank = 5;
    const size_t dims[5] = {groups, w.kh, w.kw, c, o / groups};
    for (int i = 0; i < 5; i++) l->w_shape[i] = dims[i];
    return DROVE_OK;
}

static uint64_t multiply_adds(const drove_layer *l)
{
    return (uint64_t)l->n_w * l->out.h * l->out.w;
}

/* ---- preparation ---- */

static drovek_conv_options conv_options(const drove_pass_options *opt, const drove_layer *l)
{
    const size_t parts = opt->n_parts, rows = opt->rows > 0 ? opt->rows : opt->max_rows;
    bool wants_data = opt->trains && l->bottom[0] != 0;
    return (drovek_conv_options){.shape = (drovek_conv_shape){.c = l->in.c,
                                                              .h = l->in.h,
                                                              .w = l->in.w,
                                                              .o = l->out.c,
                                                              .oh = l->out.h,
                                                              .ow = l->out.w,
                                                              .groups = at_least_1(l->opt.groups),
                                                              .window = window_of(&l->opt)},
                                 .act = l->act,
                                 .rows = (rows + parts - 1) / parts,
                                 .max_rows = (opt->max_rows + parts - 1) / parts,
                                 .passes = DROVEK_CONV_FORWARD |
                                           (wants_data ? DROVEK_CONV_DATA : 0u) |
                                           (opt->trains ? DROVEK_CONV_WEIGHTS : 0u),
                                 .kernels = opt->kernels};
}

static drove_status formats(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out)
{
    drovek_conv_options conv = conv_options(opt, l);
    drovek_conv_choice choice[MOST_CHOICES];
    size_t n = 0, best = 0;
    double best_s = 0;
    conv.in = in[0];
    DROVE_TRY(drovek_conv_choose(&conv, choice, MOST_CHOICES, &n));

    /* Estimated seconds to convert a bottom to another format, and its derivative back. */
    const double bytes_per_s = 8e9;
    const double bytes =
        8.0 * (double)conv.rows * (double)(conv.shape.c * conv.shape.h * conv.shape.w);
    const double conversion_s = (opt->trains ? 2 : 1) * bytes / bytes_per_s;
    for (size_t i = 0; i < n; i++) {
        double s = choice[i].step_s;
        if (choice[i].in != in[0]) s += conversion_s;
        if (i > 0 && s >= best_s) continue;
        best = i;
        best_s = s;
    }
    want[0] = choice[best].in;
    *out = choice[best].out;
    return DROVE_OK;
}

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    size_t floats = (opt->n_parts + (l->n_b == 0)) * drove__pad_floats(l->out.c);
    if (opt->trains) floats += (opt->n_parts - 1) * drove__pad_floats(l->n_w);
    return floats * sizeof(float);
}

static void release(void *own)
{
    convolution *v = own;
    if (v == NULL) return;
    for (unsigned i = 0; v->conv != NULL && i < v->n_parts; i++) drovek_conv_destroy(v->conv[i]);
    drove__free(v->dw);
    drove__free(v->db);
    drove__free(v->zero);
    free(v->conv);
    free(v);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    drovek_conv_options conv = conv_options(opt, l);
    drovek_conv_choice choice[MOST_CHOICES];
    conv.in = pass->bottom[index * DROVE_LAYER_MOST_BOTTOMS].format;
    conv.out = pass->format[index + 1];

    /* The way that `formats` chose, by the formats that resulted. */
    size_t n = 0, found = 0;
    DROVE_TRY(drovek_conv_choose(&conv, choice, MOST_CHOICES, &n));
    while (found < n && (choice[found].in != conv.in || choice[found].out != conv.out)) found++;
    if (found == n)
        return drove__fail(DROVE_E_UNSUPPORTED, "no convolution supports these formats");
    conv.way = choice[found].way;

    convolution *v = calloc(1, sizeof *v);
    if (v == NULL) return drove__fail_nomem("a convolution", sizeof *v);
    drove_status status = DROVE_OK;
    v->n_parts = opt->n_parts;
    v->w_step = drove__pad_floats(l->n_w);
    v->b_step = drove__pad_floats(l->out.c);
    v->conv = calloc(opt->n_parts, sizeof *v->conv);
    v->db = drove__alloc(opt->n_parts * v->b_step, sizeof *v->db);
    if (l->n_b == 0) v->zero = drove__alloc(v->b_step, sizeof *v->zero);
    if (v->conv == NULL || v->db == NULL || (l->n_b == 0 && v->zero == NULL)) {
        status = drove__fail_nomem("a convolution", v->b_step * 4);
        goto fail;
    }
    if (v->zero != NULL) memset(v->zero, 0, v->b_step * sizeof *v->zero);
    if (opt->trains && opt->n_parts > 1) {
        v->dw = drove__alloc((opt->n_parts - 1) * v->w_step, sizeof *v->dw);
        if (v->dw == NULL) {
            status = drove__fail_nomem("gradients of the parts", v->w_step * 4);
            goto fail;
        }
    }
    for (unsigned i = 0; i < opt->n_parts; i++)
        if ((status = drovek_conv_create(&conv, &v->conv[i])) != DROVE_OK) goto fail;
    *own = v;
    return DROVE_OK;
fail:
    release(v);
    return status;
}

/* ---- passes ---- */

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const convolution *v = c->own;
    const float *b = l->n_b > 0 ? c->theta + l->b_offset : v->zero;
    if (c->last_row == c->first_row) return;
    drovek_pool pool;
    if (c->integers != NULL) {
        drovek_conv *conv = v->conv[c->part];
        drovek_conv_take(conv, c->integers->x, c->integers->w, NULL);
        /* The pass also does the work of the max pooling that alone reads the output, if it can. */
        drove_layer_integers *layer = c->pass->integers->layer;
        const size_t reader = layer[c->index].pooled_by;
        if (reader != 0 && drovek_conv_can_pool(conv)) {
            uint8_t *place;
            drove__max_pool_of(c->pass, reader, &pool, &place);
            drovek_conv_pool(conv, &pool, c->pass->out[reader], place);
            layer[reader].is_made = true;
            layer[c->index].takes_pooled = drovek_conv_can_take_pooled(conv, &pool);
        }
    }
    drovek_conv_forward(v->conv[c->part], c->bottom[0].x + c->first_row * l->n_in,
                        c->theta + l->w_offset, b, c->y + c->first_row * l->n_out,
                        c->last_row - c->first_row);
    if (c->integers != NULL) c->integers->largest = drovek_conv_largest(v->conv[c->part]);
}

/* dy becomes the derivative before the activation; db[o] the sum of this part's rows. */
static void activation_gradient(const drove_call *c, float *db)
{
    const drove_layer *l = c->layer;
    const size_t n_rows = c->last_row - c->first_row, n_places = l->out.h * l->out.w;
    float *dy = c->dy + c->first_row * l->n_out;
    const float *y = c->y + c->first_row * l->n_out;
    if (l->act == DROVEK_LINEAR && l->n_b == 0 && c->integers == NULL) return;
    if (c->integers != NULL) {
        c->k->planes->back(c->integers->dy, c->integers->y, n_rows * n_places, l->out.c,
                           l->act == DROVEK_RELU, db);
        drovek_conv_take(((const convolution *)c->own)->conv[c->part], NULL, NULL, c->integers->dy);
        return;
    }
    if (c->format == DROVEK_NHWC) {
        c->k->act_grad_f32(dy, db, y, n_rows * n_places, l->out.c, l->act);
        return;
    }
    enum { WIDEST = 16 };
    const size_t width = drovek_block(c->format, l->out.c), n_blocks = l->out.c / width;
    for (size_t o = 0; o < l->out.c; o++) db[o] = 0.0f;
    for (size_t block = 0; block < n_rows * n_blocks; block++) {
        float sum[WIDEST], *to = db + block % n_blocks * width;
        size_t at = block * n_places * width;
        c->k->act_grad_f32(dy + at, sum, y + at, n_places, width, l->act);
        for (size_t i = 0; i < width; i++) to[i] += sum[i];
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const convolution *v = c->own;
    const size_t n_rows = c->last_row - c->first_row;
    float *dw = c->part == 0 ? c->grad + l->w_offset : v->dw + (c->part - 1) * v->w_step;
    float *dy = c->dy + c->first_row * l->n_out;
    drovek_pool pool;
    float *db = v->db + c->part * v->b_step;
    if (c->integers != NULL && c->integers->takes_pooled) {
        /* The derivatives behind the max pooling that alone reads the output, which is linear, for
         * those at the output; db[o] = their sum. */
        const size_t reader = c->integers->pooled_by;
        const drovek_planes *behind = c->pass->integers->layer[reader].dy;
        uint8_t *place;
        drove__max_pool_of(c->pass, reader, &pool, &place);
        c->k->planes->back(behind, behind, c->n_rows * pool.oh * pool.ow, pool.c, false, db);
        drovek_conv_take_pooled(v->conv[c->part], &pool, behind, place);
    } else activation_gradient(c, db);
    if (c->bottom[0].dx != NULL && n_rows > 0) {
        drovek_conv_data(v->conv[c->part], dy, c->theta + l->w_offset,
                         c->bottom[0].dx + c->first_row * l->n_in, n_rows, c->bottom[0].adds);
        if (c->integers != NULL)
            drove__integers_tell_largest(c, drovek_conv_largest_dx(v->conv[c->part]));
    }
    if (l->training.is_frozen) return;
    drovek_conv_weights(v->conv[c->part], c->bottom[0].x + c->first_row * l->n_in, dy, dw, n_rows);
}

/* This part's share of W, and, part 0, b. */
static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const convolution *v = c->own;
    size_t from = l->n_w * c->part / c->n_parts, to = l->n_w * (c->part + 1) / c->n_parts;
    if (l->training.is_frozen) return;
    for (unsigned i = 1; i < c->n_parts; i++)
        c->k->axpy_f32(c->grad + l->w_offset + from, v->dw + (i - 1) * v->w_step + from, to - from,
                       1.0f);
    if (c->part != 0) return;
    drove__layer_sum_parts(c, v->db, v->b_step, l->n_b, c->grad + l->b_offset);
    drove__layer_zero_gaps(l, c->grad);
}

const drove_layer_ops drove__layer_convolution = {
    .name = "convolution",
    .help = "convolution with stride, padding, dilation and groups",
    .source = "LeCun et al., Neural Computation 1989; groups: Krizhevsky et al., NIPS 2012",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .takes_act = true,
    .integers = &(const drove_integer_ops){.takes_planes = true},
    .shape = shape,
    .multiply_adds = multiply_adds,
    .formats = formats,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
    .backward_finish = backward_finish,
};
