/* model/batch_norm.c - batch normalisation (Ioffe, Szegedy, ICML 2015): per channel
 *
 *   y = act(gamma (x - mean) / sqrt(variance + epsilon) + beta)
 *
 * In training mean and variance (divided by m, the numbers of a channel in the batch) are those of
 * the whole batch, over all parts.  In inference they are the population's, which theta holds after
 * all layers' parameters: [2][c], the means, then the variances.  The slot `statistics` returns
 * those of the last batch, the variance times m / (m - 1) (Algorithm 2, step 10).  gamma is the
 * layer's weights, beta its biases.
 *
 * Parts: each sums over its rows; after the barrier each adds up all sums in the order of the
 * parts, so all have the same bits.
 */
#include "model/layer.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct part_sums { /* written by one part */
    double *sum, *product; /* [c] */
    float *mean, *scale;   /* [c] of the last pass; scale = 1 / sqrt(variance + epsilon) */
    float *gamma, *shift;  /* [c] gamma of the last pass; the origin of the sums */
    float *a, *b, *c;      /* [c] of a linear combination */
} part_sums;

typedef struct batch_norm {
    unsigned n_parts;
    part_sums *part;   /* [n_parts] */
    float *statistics; /* [2][c] */
    void *memory;      /* one allocation for all */
} batch_norm;

enum { N_DOUBLES = 2, N_FLOATS = 7 };

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    const size_t c = bottom[0].c;
    (void)n_bottoms, (void)n_outputs;
    if (!(l->opt.epsilon >= 0.0f) || !isfinite(l->opt.epsilon))
        return drove__fail(DROVE_E_ARG, "expected an epsilon of 0 or more, found %g",
                           (double)l->opt.epsilon);
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    l->n_w = l->n_b = c;
    l->w_shape[0] = c;
    l->w_rank = 1;
    l->fan_in = l->fan_out = 0; /* excludes it from initialisers: model/init.c */
    l->n_statistics = 2 * c;
    return DROVE_OK;
}

/* ---- preparation ---- */

static size_t part_bytes(size_t c)
{
    size_t step = drove__pad_floats(c);
    return step * (N_DOUBLES * sizeof(double) + N_FLOATS * sizeof(float));
}

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return opt->n_parts * part_bytes(l->in.c) + drove__pad_floats(2 * l->in.c) * sizeof(float);
}

static void release(void *own)
{
    batch_norm *n = own;
    if (n == NULL) return;
    drove__free(n->memory);
    free(n->part);
    free(n);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    batch_norm *n = calloc(1, sizeof *n);
    (void)pass;
    if (n == NULL) return drove__fail_nomem("batch normalisation", sizeof *n);
    n->n_parts = opt->n_parts;
    n->part = calloc(opt->n_parts, sizeof *n->part);
    n->memory = drove__alloc(scratch_bytes(opt, l), 1);
    if (n->part == NULL || n->memory == NULL) {
        release(n);
        return drove__fail_nomem("batch normalisation", scratch_bytes(opt, l));
    }

    /* One allocation, divided among the parts. */
    const size_t step = drove__pad_floats(l->in.c);
    char *next = n->memory;
    for (unsigned i = 0; i < n->n_parts; i++, next += part_bytes(l->in.c)) {
        part_sums *p = &n->part[i];
        float **list[N_FLOATS] = {&p->mean, &p->scale, &p->gamma, &p->shift, &p->a, &p->b, &p->c};
        p->sum = (double *)(void *)next;
        p->product = p->sum + step;
        for (size_t j = 0; j < N_FLOATS; j++)
            *list[j] = (float *)(void *)(p->product + step) + j * step;
    }
    n->statistics = (float *)(void *)next;
    *own = n;
    return DROVE_OK;
}

/* ---- this part's images ---- */

/* [n][positions][block] in the layout of the call. */
typedef struct stretch {
    size_t first, n, places, block, n_blocks;
} stretch;

/* NHWC: all rows are one stretch of positions. */
static stretch stretch_of(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const size_t n_rows = c->last_row - c->first_row, hw = l->in.h * l->in.w;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): an input has channels */
    const size_t block = drovek_block(c->format, l->in.c), n_blocks = l->in.c / block;
    return n_blocks == 1
               ? (stretch){c->first_row * l->n_in, 1, n_rows * hw, block, 1}
               : (stretch){c->first_row * l->n_in, n_rows * n_blocks, hw, block, n_blocks};
}

static void sum_up(const drove_call *c, const float *u, const float *ku, const float *v,
                   const float *kv)
{
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const stretch s = stretch_of(c);
    memset(p->sum, 0, c->layer->in.c * sizeof *p->sum);
    memset(p->product, 0, c->layer->in.c * sizeof *p->product);
    for (size_t i = 0; i < s.n; i++) {
        size_t at = s.first + i * s.places * s.block, ch = i % s.n_blocks * s.block;
        c->k->column_sums_f32(u + at, ku != NULL ? ku + ch : NULL, v + at, kv + ch, s.places,
                              s.block, p->sum + ch, p->product + ch);
    }
}

static void combine(const drove_call *c, float *to, const float *x, const float *y, bool adds)
{
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const stretch s = stretch_of(c);
    for (size_t i = 0; i < s.n; i++) {
        size_t at = s.first + i * s.places * s.block, ch = i % s.n_blocks * s.block;
        c->k->column_combine_f32(to + at, x + at, y != NULL ? y + at : NULL, p->a + ch, p->b + ch,
                                 p->c + ch, s.places, s.block, adds);
    }
}

/* Sums of all parts for channel ch. */
static void total(const batch_norm *n, size_t ch, double *sum, double *product)
{
    *sum = *product = 0.0;
    for (unsigned i = 0; i < n->n_parts; i++) {
        *sum += n->part[i].sum[ch];
        *product += n->part[i].product[ch];
    }
}

/* ---- passes ---- */

/* Sets a and c of y = a x + c for this mean and variance. */
static void settle(const drove_call *c, size_t ch, double mean, double variance, float beta)
{
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    double scale = 1.0 / sqrt(variance + (double)c->layer->opt.epsilon);
    double a = scale * (double)p->gamma[ch];
    p->mean[ch] = (float)mean;
    p->scale[ch] = (float)scale;
    p->a[ch] = (float)a;
    p->c[ch] = (float)((double)beta - mean * a);
}

/* Sums are relative to the batch's first number of each channel, so that the variance is not the
 * difference of two large numbers. */
static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const size_t block = drovek_block(c->format, l->in.c), hw = l->in.h * l->in.w;
    if (!c->pass->is_training) { /* with the population's statistics */
        const size_t channels = l->in.c;
        c->k->copy_f32(p->gamma, c->theta + l->w_offset, channels);
        c->k->copy_f32(p->b, c->theta + l->b_offset, channels);
        c->k->copy_f32(p->mean, c->theta + l->s_offset, channels);
        c->k->copy_f32(p->scale, c->theta + l->s_offset + channels, channels);
        for (size_t ch = 0; ch < channels; ch++)
            settle(c, ch, (double)p->mean[ch], (double)p->scale[ch], p->b[ch]);
        combine(c, c->y, c->bottom[0].x, NULL, false);
        drove__layer_act(c);
        return;
    }
    for (size_t ch = 0; ch < l->in.c; ch++)
        p->shift[ch] = c->bottom[0].x[ch / block * hw * block + ch % block];
    sum_up(c, c->bottom[0].x, p->shift, c->bottom[0].x, p->shift);
}

static void forward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const size_t channels = l->in.c;
    const double m = (double)(c->n_rows * l->in.h * l->in.w);
    if (!c->pass->is_training) return;
    c->k->copy_f32(p->gamma, c->theta + l->w_offset, channels);
    c->k->copy_f32(p->b, c->theta + l->b_offset, channels);
    for (size_t ch = 0; ch < channels; ch++) {
        double sum, squares;
        total(n, ch, &sum, &squares);
        double mean = (double)p->shift[ch] + sum / m;
        double variance = squares / m - (sum / m) * (sum / m);
        if (variance < 0.0) variance = 0.0; /* by rounding; a NaN stays */
        settle(c, ch, mean, variance, p->b[ch]);
        if (c->part != 0) continue;
        n->statistics[ch] = (float)mean;
        n->statistics[channels + ch] = (float)(m > 1.0 ? variance * m / (m - 1.0) : variance);
    }
    combine(c, c->y, c->bottom[0].x, NULL, false);
    drove__layer_act(c);
}

static void backward(const drove_call *c)
{
    const batch_norm *n = c->own;
    drove__layer_act_back(c);
    sum_up(c, c->dy, NULL, c->bottom[0].x, n->part[c->part].mean);
}

/* With s = sum of dy, t = sum of dy (x - mean), r = 1 / sqrt(variance + epsilon):
 *   dgamma = r t, dbeta = s, dx = gamma r (dy - s / m - (x - mean) r^2 t / m) */
static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const double m = (double)(c->n_rows * l->in.h * l->in.w);
    for (size_t ch = 0; ch < l->in.c; ch++) {
        double s, t, r = p->scale[ch], a = r * (double)p->gamma[ch];
        total(n, ch, &s, &t);
        double b = -a * r * r * t / m;
        p->a[ch] = (float)a;
        p->b[ch] = (float)b;
        p->c[ch] = (float)(-a * s / m - b * (double)p->mean[ch]);
        if (c->part != 0) continue;
        c->grad[l->w_offset + ch] = (float)(r * t);
        c->grad[l->b_offset + ch] = (float)s;
    }
    if (c->part == 0) drove__layer_zero_gaps(l, c->grad);
    if (c->bottom[0].dx != NULL)
        combine(c, c->bottom[0].dx, c->dy, c->bottom[0].x, c->bottom[0].adds);
}

static const float *statistics(const void *own)
{
    const batch_norm *n = own;
    return n->statistics;
}

const drove_layer_ops drove__layer_batch_norm = {
    .name = "batch_norm",
    .help = "batch normalisation with a factor and an offset per channel",
    .source = "Ioffe, Szegedy, ICML 2015",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_SAME,
    .takes_act = true,
    .shape = shape,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .forward_finish = forward_finish,
    .backward = backward,
    .backward_finish = backward_finish,
    .statistics = statistics,
};
