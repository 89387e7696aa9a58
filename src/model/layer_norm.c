/* model/layer_norm.c - layer normalisation (Ba, Kiros, Hinton, 2016): of each example by itself,
 *
 *   y = act(gamma (x - mean) / sqrt(variance + epsilon) + beta)
 *
 * Mean and variance are those of a group: the numbers along the sides of an image that `over`
 * names.  All three, the default: one group.  Channels alone: each place is a group (ConvNeXt).
 * Height and width: each channel is one.  gamma is the layer's weights, beta its biases, one for
 * each number of a group, in the order [h][w][c] of the sides that it has.
 *
 * Nothing is kept from forward to backward: means and variances are computed once more.  With
 * u = (x - mean) r, r = 1 / sqrt(variance + epsilon), g = dy gamma, means over the group:
 *
 *   dx = r (g - mean(g) - u mean(g u))     dgamma = sum of dy u     dbeta = sum of dy
 *
 * Parts: each has sums for dgamma and dbeta; after the barrier part 0 adds them in the order of the
 * parts.
 */
#include "model/layer.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer_norm {
    unsigned n_parts;
    size_t step;   /* numbers of a part's memory */
    double *sums;  /* [n_parts][2][padded n] dgamma, dbeta */
    float *groups; /* [n_parts][3][padded n] x, dy, dx of a group whose numbers lie apart */
} layer_norm;

/* ---- groups ---- */

/* Sides [h][w][c] of a group, and of the array of groups. */
typedef struct sides {
    size_t all[3], group[3], groups[3];
    size_t n, n_groups;
    bool is_whole; /* a group's numbers follow each other */
} sides;

static sides sides_of(const drove_layer *l)
{
    const drove_over *over = &l->opt.over;
    const bool is_over[3] = {over->height, over->width, over->channels};
    sides s = {.all = {l->in.h, l->in.w, l->in.c}, .n = 1, .n_groups = 1};
    for (unsigned i = 0; i < 3; i++) {
        s.group[i] = is_over[i] ? s.all[i] : 1;
        s.groups[i] = is_over[i] ? 1 : s.all[i];
        s.n *= s.group[i];
        s.n_groups *= s.groups[i];
    }
    bool is_begun = false; /* behind its outermost side all are */
    s.is_whole = true;
    for (unsigned i = 0; i < 3; i++) {
        s.is_whole = s.is_whole && (!is_begun || s.group[i] == s.all[i]);
        is_begun = is_begun || s.group[i] > 1;
    }
    return s;
}

/* Place in [h][w][c] of number i of an array of these sides. */
static size_t place_of(const sides *s, const size_t side[3], size_t i)
{
    const size_t c = i % side[2], w = i / side[2] % side[1], h = i / side[2] / side[1];
    return (h * s->all[1] + w) * s->all[2] + c;
}

/* The group that begins at x[0]: where it lies, or copied to `to`. */
static const float *gather(const sides *s, const float *x, float *to)
{
    if (s->is_whole) return x;
    for (size_t i = 0; i < s->n; i++) to[i] = x[place_of(s, s->group, i)];
    return to;
}

/* ---- shape ---- */

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    const drove_over *over = &l->opt.over;
    if (!(l->opt.epsilon >= 0.0f) || !isfinite(l->opt.epsilon))
        return drove__fail(DROVE_E_ARG, "expected an epsilon of 0 or more, found %g",
                           (double)l->opt.epsilon);
    if (!over->channels && !over->height && !over->width)
        return drove__fail(DROVE_E_ARG,
                           "expected over_channels, over_height or over_width, found none");
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    l->n_w = l->n_b = sides_of(l).n;
    l->w_shape[0] = l->n_w;
    l->w_rank = 1;
    l->fan_in = l->fan_out = 0; /* excludes it from initialisers: model/init.c */
    return DROVE_OK;
}

/* ---- preparation ---- */

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    return opt->n_parts * drove__pad_floats(l->n_w) * (2 * sizeof(double) + 3 * sizeof(float));
}

static void release(void *own)
{
    layer_norm *n = own;
    if (n == NULL) return;
    drove__free(n->sums);
    drove__free(n->groups);
    free(n);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    const drove_layer *l = &opt->model->layer[index];
    layer_norm *n = calloc(1, sizeof *n);
    (void)pass;
    if (n == NULL) return drove__fail_nomem("layer normalisation", sizeof *n);
    n->n_parts = opt->n_parts;
    n->step = drove__pad_floats(l->n_w);
    n->sums = drove__alloc(n->n_parts * 2 * n->step, sizeof *n->sums);
    n->groups = drove__alloc(n->n_parts * 3 * n->step, sizeof *n->groups);
    if (n->sums == NULL || n->groups == NULL) {
        release(n);
        return drove__fail_nomem("layer normalisation", scratch_bytes(opt, l));
    }
    *own = n;
    return DROVE_OK;
}

/* ---- passes ---- */

/* The mean of x[n], and 1 / sqrt(variance + epsilon). */
static void moments(const float *x, size_t n, double epsilon, double *mean, double *scale)
{
    double sum[4] = {0}, squares[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (unsigned k = 0; k < 4; k++) sum[k] += (double)x[i + k];
    for (; i < n; i++) sum[0] += (double)x[i];
    *mean = (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
    for (i = 0; i + 4 <= n; i += 4) {
        for (unsigned k = 0; k < 4; k++) {
            const double d = (double)x[i + k] - *mean;
            squares[k] += d * d;
        }
    }
    for (; i < n; i++) squares[0] += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *scale = 1.0 / sqrt((squares[0] + squares[1] + squares[2] + squares[3]) / (double)n + epsilon);
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const layer_norm *own = c->own;
    const sides s = sides_of(l);
    const float *gamma = c->theta + l->w_offset, *beta = c->theta + l->b_offset;
    float *copy = own->groups + c->part * 3 * own->step;
    for (size_t row = c->first_row; row < c->last_row; row++) {
        for (size_t g = 0; g < s.n_groups; g++) {
            const size_t first = row * l->n_in + place_of(&s, s.groups, g);
            const float *x = gather(&s, c->bottom[0].x + first, copy);
            float *y = c->y + first;
            double mean, scale;
            moments(x, s.n, (double)l->opt.epsilon, &mean, &scale);
            const float m = (float)mean, r = (float)scale;
            if (s.is_whole) {
                for (size_t i = 0; i < s.n; i++) y[i] = (x[i] - m) * r * gamma[i] + beta[i];
            } else {
                for (size_t i = 0; i < s.n; i++)
                    y[place_of(&s, s.group, i)] = (x[i] - m) * r * gamma[i] + beta[i];
            }
        }
    }
    drove__layer_act(c);
}

/* dx of one group; adds dgamma and dbeta to the sums. */
static void group_back(const float *x, const float *dy, const float *gamma, size_t n,
                       double epsilon, float *dx, double *dgamma, double *dbeta)
{
    double mean, r, sum = 0.0, product = 0.0;
    moments(x, n, epsilon, &mean, &r);
    for (size_t i = 0; i < n; i++) {
        const double u = ((double)x[i] - mean) * r, g = (double)dy[i] * (double)gamma[i];
        dgamma[i] += (double)dy[i] * u;
        dbeta[i] += (double)dy[i];
        sum += g;
        product += g * u;
    }
    sum /= (double)n;
    product /= (double)n;
    for (size_t i = 0; dx != NULL && i < n; i++) {
        const double u = ((double)x[i] - mean) * r, g = (double)dy[i] * (double)gamma[i];
        dx[i] = (float)(r * (g - sum - u * product));
    }
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const layer_norm *own = c->own;
    const sides s = sides_of(l);
    const float *gamma = c->theta + l->w_offset;
    double *dgamma = own->sums + c->part * 2 * own->step, *dbeta = dgamma + own->step;
    float *copy = own->groups + c->part * 3 * own->step, *made = copy + 2 * own->step;
    float *to = c->bottom[0].dx;
    drove__layer_act_back(c);
    memset(dgamma, 0, 2 * own->step * sizeof *dgamma);
    for (size_t row = c->first_row; row < c->last_row; row++) {
        for (size_t g = 0; g < s.n_groups; g++) {
            const size_t first = row * l->n_in + place_of(&s, s.groups, g);
            const float *x = gather(&s, c->bottom[0].x + first, copy);
            const float *dy = gather(&s, c->dy + first, copy + own->step);
            group_back(x, dy, gamma, s.n, (double)l->opt.epsilon, to != NULL ? made : NULL, dgamma,
                       dbeta);
            for (size_t i = 0; to != NULL && i < s.n; i++) {
                float *at = to + first + (s.is_whole ? i : place_of(&s, s.group, i));
                *at = c->bottom[0].adds ? *at + made[i] : made[i];
            }
        }
    }
}

static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const layer_norm *own = c->own;
    if (c->part != 0) return;
    for (size_t i = 0; i < l->n_w; i++) {
        double dgamma = 0.0, dbeta = 0.0;
        for (unsigned part = 0; part < own->n_parts; part++) {
            dgamma += own->sums[part * 2 * own->step + i];
            dbeta += own->sums[(part * 2 + 1) * own->step + i];
        }
        c->grad[l->w_offset + i] = (float)dgamma;
        c->grad[l->b_offset + i] = (float)dbeta;
    }
    drove__layer_zero_gaps(l, c->grad);
}

const drove_layer_ops drove__layer_layer_norm = {
    .name = "layer_norm",
    .help = "each example normalised by itself, with a factor and an offset per number",
    .source = "Ba, Kiros, Hinton, arXiv 1607.06450, 2016",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_OWN,
    .takes_act = true,
    .shape = shape,
    .formats = drove__layer_formats_last,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
    .backward_finish = backward_finish,
};
