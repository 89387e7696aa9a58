/* model/batch_norm.c - batch normalisation (Ioffe, Szegedy, ICML 2015): per channel
 *
 *   y = act(gamma (x - mean) / sqrt(variance + epsilon) + beta)
 *
 * In training, unless the layer is frozen, mean and variance (divided by m, the numbers of a
 * channel in the batch) are those of the whole batch, over all parts.  Else they are the
 * population's, which lie in theta after all layers' parameters, or, of a frozen layer, after its
 * own: [2][c], the means, then the variances.  The slot `statistics` returns those of the last
 * batch, the variance times m / (m - 1) (Algorithm 2, step 10).  gamma is the
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

/* A piece of them: positions of one block of channels, side by side. */
typedef struct piece {
    size_t at;      /* offset of its first float in the arrays of the call */
    size_t channel; /* its first one */
    size_t places, block;
} piece;

/* Floats of a piece, which stays in the first cache from one pass over it to the next. */
enum { PIECE_FLOATS = 2048 };

typedef void visit_fn(const drove_call *c, const part_sums *p, const piece *of);

/* NHWC: all positions of all rows are one array. */
static void for_each_piece(const drove_call *c, visit_fn *visit)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const size_t n_rows = c->last_row - c->first_row, hw = l->in.h * l->in.w;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): an input has channels */
    const size_t block = drovek_block(c->format, l->in.c), n_blocks = l->in.c / block;
    const size_t n_arrays = n_blocks == 1 ? 1 : n_rows * n_blocks;
    const size_t places = n_blocks == 1 ? n_rows * hw : hw;
    const size_t most = (PIECE_FLOATS / block / DROVEK_COLUMN_RUN + 1) * DROVEK_COLUMN_RUN;
    for (size_t i = 0; i < n_arrays; i++) {
        const size_t first = c->first_row * l->n_in + i * places * block;
        for (size_t done = 0; done < places; done += most)
            visit(c, &n->part[c->part],
                  &(piece){.at = first + done * block,
                           .channel = i % n_blocks * block,
                           .places = places - done < most ? places - done : most,
                           .block = block});
    }
}

static void clear_sums(const drove_call *c)
{
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    memset(p->sum, 0, c->layer->in.c * sizeof *p->sum);
    memset(p->product, 0, c->layer->in.c * sizeof *p->product);
}

static void add_inputs(const drove_call *c, const part_sums *p, const piece *of)
{
    const float *x = c->bottom[0].x + of->at, *shift = p->shift + of->channel;
    c->k->column_sums_f32(x, shift, x, shift, of->places, of->block, p->sum + of->channel,
                          p->product + of->channel);
}

static void normalise(const drove_call *c, const part_sums *p, const piece *of)
{
    float *y = c->y + of->at;
    c->k->column_combine_f32(y, c->bottom[0].x + of->at, NULL, p->a + of->channel, NULL,
                             p->c + of->channel, of->places, of->block, false);
    if (c->layer->act != DROVEK_LINEAR) c->k->act_f32(y, y, of->places * of->block, c->layer->act);
}

/* dy becomes the derivative before the activation. */
static void add_slopes(const drove_call *c, const part_sums *p, const piece *of)
{
    float *dy = c->dy + of->at;
    if (c->layer->act != DROVEK_LINEAR)
        c->k->act_back_f32(dy, dy, c->y + of->at, of->places * of->block, c->layer->act, false);
    c->k->column_sums_f32(dy, NULL, c->bottom[0].x + of->at, p->mean + of->channel, of->places,
                          of->block, p->sum + of->channel, p->product + of->channel);
}

static void write_dx(const drove_call *c, const part_sums *p, const piece *of)
{
    c->k->column_combine_f32(c->bottom[0].dx + of->at, c->dy + of->at, c->bottom[0].x + of->at,
                             p->a + of->channel, p->b + of->channel, p->c + of->channel, of->places,
                             of->block, c->bottom[0].adds);
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

/* Whether mean and variance are those of the batch: a frozen layer computes as in inference. */
static bool is_of_batch(const drove_call *c)
{
    return c->pass->is_training && !c->layer->training.is_frozen;
}

/* Sums are relative to the batch's first number of each channel, so that the variance is not the
 * difference of two large numbers. */
static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const size_t block = drovek_block(c->format, l->in.c), hw = l->in.h * l->in.w;
    if (!is_of_batch(c)) { /* with the population's statistics */
        const size_t channels = l->in.c;
        c->k->copy_f32(p->gamma, c->theta + l->w_offset, channels);
        c->k->copy_f32(p->b, c->theta + l->b_offset, channels);
        c->k->copy_f32(p->mean, c->theta + l->s_offset, channels);
        c->k->copy_f32(p->scale, c->theta + l->s_offset + channels, channels);
        for (size_t ch = 0; ch < channels; ch++)
            settle(c, ch, (double)p->mean[ch], (double)p->scale[ch], p->b[ch]);
        for_each_piece(c, normalise);
        return;
    }
    for (size_t ch = 0; ch < l->in.c; ch++)
        p->shift[ch] = c->bottom[0].x[ch / block * hw * block + ch % block];
    clear_sums(c);
    for_each_piece(c, add_inputs);
}

static void forward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const size_t channels = l->in.c;
    const double m = (double)(c->n_rows * l->in.h * l->in.w);
    if (!is_of_batch(c)) return;
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
    for_each_piece(c, normalise);
}

static void backward(const drove_call *c)
{
    if (!is_of_batch(c)) {
        drove__layer_act_back(c);
        return;
    }
    clear_sums(c);
    for_each_piece(c, add_slopes);
}

/* With s = sum of dy, t = sum of dy (x - mean), r = 1 / sqrt(variance + epsilon):
 *   dgamma = r t, dbeta = s, dx = gamma r (dy - s / m - (x - mean) r^2 t / m)
 * and with the population's mean and variance, which are constants, dx = gamma r dy. */
static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const batch_norm *n = c->own;
    const part_sums *p = &n->part[c->part];
    const double m = (double)(c->n_rows * l->in.h * l->in.w);
    if (!is_of_batch(c)) {
        memset(p->b, 0, l->in.c * sizeof *p->b);
        memset(p->c, 0, l->in.c * sizeof *p->c);
        if (c->bottom[0].dx != NULL) for_each_piece(c, write_dx);
        return;
    }
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
    if (c->bottom[0].dx != NULL) for_each_piece(c, write_dx);
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
