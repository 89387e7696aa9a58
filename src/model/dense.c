/* model/dense.c - the fully connected layer: y = act(x W + b), W[n_in][n_out], x[n_rows][n_in].  An
 * image is read as the vector [h][w][c] of its memory layout; the model's input in the layout of
 * the data.
 *
 * Backward, with d = dy * act'(y):  dx = d W^T,  dW = x^T d,  db = sum over rows of d.
 *
 * Algorithms, chosen by the input:
 *   sparse        each example touches only the rows of W that its indices name
 *   few rows      matrix-vector kernels per row, which skip inputs that are 0
 *   several rows  matrix products
 *   one output    W is a vector: the examples are the matrix
 *
 * Several parts: a large W is divided, by columns forward and by rows backward, so that each part
 * reads its share of it once; with a small W the examples are divided and all parts read W.  Part 0
 * alone handles sparse input and few rows.
 *
 * Threads: the only state is the parts' bias gradients.  With sparse input or few rows, theta is
 * accessed through [racy] kernels only; matrix products, and W as a vector, read it directly.
 */
#include "model/integers.h"
#include "model/support.h"

#include "base/mem.h"

#include <string.h>

/* Up to this many rows matrix-vector kernels win, measured with images of which four fifths of the
 * pixels are 0; if no input is 0 the two are equal at 2 rows. */
enum { FEW_ROWS = 2 };
/* From this size on W is divided among the parts: it no longer fits a core's own cache. */
enum { LARGE_W = 1 << 18 };
enum { LINE = 16 }; /* floats of a cache line: shares start on one */

/* The layer's input as input_gradient and others read it. */
static drove_input input_of(const drove_call *c)
{
    if (c->bottom[0].x == NULL) return *c->input;
    return (drove_input){.n_rows = c->n_rows, .dense = c->bottom[0].x};
}

/* Share number `part` of n_parts of n; shares start on cache lines. */
static void share_of(size_t n, unsigned part, unsigned n_parts, size_t *first, size_t *end)
{
    size_t lines = (n + LINE - 1) / LINE;
    *first = lines * part / n_parts * LINE;
    *end = lines * (part + 1) / n_parts * LINE;
    if (*end > n) *end = n;
    if (*first > n) *first = n;
}

/* True if part 0 does all the work. */
static bool is_whole(const drove_call *c)
{
    return c->n_parts == 1 || c->bottom[0].x == NULL || c->n_rows <= FEW_ROWS ||
           c->layer->n_out == 1;
}

static bool shares_w(const drove_call *c)
{
    return c->layer->n_w >= LARGE_W;
}

static size_t row_length(const drove_input *in, size_t i)
{
    return (size_t)(in->last[i] - in->first[i]);
}

static const float *row_values(const drove_input *in, size_t i)
{
    return in->value != NULL ? in->value + in->first[i] : NULL;
}

/* own: [n_parts][padded n_out] bias gradients of the parts' rows, which nobody reads of a layer
 * without biases; then that layer's biases, zeros. */
static const float *biases(const drove_call *c)
{
    const drove_layer *l = c->layer;
    if (l->n_b > 0) return c->theta + l->b_offset;
    return (const float *)c->own + c->n_parts * drove__pad_floats(l->n_out);
}

static void forward_whole(const drove_call *c, const drove_input *in)
{
    const drove_layer *l = c->layer;
    const drovek_table *k = c->k;
    const float *theta = c->theta, *bias = biases(c);
    float *y = c->y;
    if (in->dense != NULL && l->n_out == 1) {
        /* y = x W + b for rows whose W is one column: n_out is 1. */
        float b;
        k->copy_f32(&b, bias, 1);
        k->matvec_t_f32(y, theta + l->w_offset, in->dense, in->n_rows, l->n_in);
        for (size_t i = 0; i < in->n_rows; i++) y[i] += b;
    } else if (c->words != NULL) {
        k->words->gemm(false, in->n_rows, l->n_out, l->n_in, in->dense, l->n_in, c->words, 0.0f, y,
                       l->n_out);
        k->bias_act_f32(y, bias, in->n_rows, l->n_out, l->act);
        return;
    } else if (in->dense != NULL && in->n_rows > FEW_ROWS) {
        k->gemm_f32(false, false, in->n_rows, l->n_out, l->n_in, 1.0f, in->dense, l->n_in,
                    theta + l->w_offset, l->n_out, 0.0f, y, l->n_out);
        k->bias_act_f32(y, bias, in->n_rows, l->n_out, l->act);
        return;
    } else {
        const float *w = theta + l->w_offset;
        for (size_t i = 0; i < in->n_rows; i++) {
            float *row = y + i * l->n_out;
            k->copy_f32(row, bias, l->n_out);
            if (in->dense != NULL)
                k->matvec_f32(row, in->dense + i * l->n_in, w, l->n_in, l->n_out);
            else
                k->spmatvec_f32(row, in->index + in->first[i], row_values(in, i), row_length(in, i),
                                w, l->n_out);
        }
    }
    drove__act_apply(k, y, in->n_rows * l->n_out, l->act);
}

static void bias_rows(const drove_call *c)
{
    const drove_layer *l = c->layer;
    c->k->bias_act_f32(c->y + c->first_row * l->n_out, biases(c), c->last_row - c->first_row,
                       l->n_out, l->act);
}

static void forward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    if (c->integers != NULL) {
        /* With integers kept as bytes. */
        drovek_planes_end end = {.bias = biases(c), .relu = l->act == DROVEK_RELU};
        c->k->planes->gemm(false, false, c->n_rows, l->n_out, l->n_in, c->integers->x, l->n_in,
                           c->integers->w, l->n_out, false, c->y, l->n_out, &end);
        c->integers->largest = end.largest;
        return;
    }
    const drove_input in = input_of(c);
    if (is_whole(c)) {
        if (c->part == 0) forward_whole(c, &in);
        return;
    }
    size_t first = c->first_row, n_rows = c->last_row - first, from = 0, to = l->n_out;
    if (shares_w(c)) {
        share_of(l->n_out, c->part, c->n_parts, &from, &to);
        first = 0;
        n_rows = c->n_rows;
    }
    c->k->gemm_f32(false, false, n_rows, to - from, l->n_in, 1.0f, in.dense + first * l->n_in,
                   l->n_in, c->theta + l->w_offset + from, l->n_out, 0.0f,
                   c->y + first * l->n_out + from, l->n_out);
    if (!shares_w(c)) bias_rows(c);
}

static void forward_finish(const drove_call *c)
{
    if (c->integers == NULL && !is_whole(c) && shares_w(c)) bias_rows(c);
}

/* dx[n_rows][n_in] = d W^T, or += */
static void input_gradient(const drove_layer *l, const drovek_table *k, const float *theta,
                           size_t n_rows, const float *d, float *dx, bool adds)
{
    const float *w = theta + l->w_offset;
    if (n_rows > FEW_ROWS || adds) {
        k->gemm_f32(false, true, n_rows, l->n_in, l->n_out, 1.0f, d, l->n_out, w, l->n_out,
                    adds ? 1.0f : 0.0f, dx, l->n_in);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        k->matvec_t_f32(dx + i * l->n_in, d + i * l->n_out, w, l->n_in, l->n_out);
    }
}

/* w[n_in][n_out] -= eta x d for one dense example.  The product is symmetric: a W of one column is
 * updated as a row, which is its memory layout. */
static void step_row(const drove_layer *l, const drovek_table *k, float *w, const float *x,
                     const float *d, float eta)
{
    if (l->n_out == 1) {
        k->ger_f32(w, d, x, 1, l->n_in, eta);
    } else {
        k->ger_f32(w, x, d, l->n_in, l->n_out, eta);
    }
}

/* dw[n_in][n_out] = x^T d for sparse x.  spans_wanted: rows that no example names stay as is. */
static void sparse_gradient(const drove_layer *l, const drovek_table *k, const drove_input *in,
                            const float *d, float *dw, bool spans_wanted)
{
    const size_t row_bytes = l->n_out * sizeof *dw;
    if (!spans_wanted) {
        memset(dw, 0, l->n_in * row_bytes);
    } else {
        for (size_t i = 0; i < in->n_rows; i++) {
            for (uint64_t at = in->first[i]; at < in->last[i]; at++) {
                if (l->n_out == 1) {
                    dw[in->index[at]] = 0.0f;
                } else {
                    memset(dw + in->index[at] * l->n_out, 0, row_bytes);
                }
            }
        }
    }
    for (size_t i = 0; i < in->n_rows; i++) {
        k->spouter_f32(dw, in->index + in->first[i], row_values(in, i), row_length(in, i),
                       d + i * l->n_out, l->n_out);
    }
}

/* The gradient of rows [from, from + n) of W, from x[n_rows][n_in] and the derivative. */
typedef void rows_gradient_fn(const drove_call *c, size_t from, size_t n, float *dw);

static void rows_of_floats(const drove_call *c, size_t from, size_t n, float *dw)
{
    const drove_layer *l = c->layer;
    c->k->gemm_f32(true, false, n, l->n_out, c->n_rows, 1.0f, c->bottom[0].x + from, l->n_in, c->dy,
                   l->n_out, c->adds ? 1.0f : 0.0f, dw, l->n_out);
}

static void rows_of_planes(const drove_call *c, size_t from, size_t n, float *dw)
{
    const drove_layer *l = c->layer;
    const drovek_planes x = drovek_planes_from(c->integers->x, from);
    c->k->planes->gemm(true, false, n, l->n_out, c->n_rows, &x, l->n_in, c->integers->dy, l->n_out,
                       false, dw, l->n_out, NULL);
}

/* The one that takes gradients at once.  NULL: they stay where they are, since a step size of the
 * layer's own will scale them. */
static const drove_taker *taker_of(const drove_call *c)
{
    const bool is_scaled = c->layer->opt.w_lr != 0.0f && c->layer->opt.w_lr != 1.0f;
    return is_scaled ? NULL : c->pass->taker;
}

/* Pieces of the gradient are written to the same memory one after the other, and taken there while
 * they are in the cache. */
static void gradient_in_pieces(const drove_call *c, const drove_taker *t, rows_gradient_fn *rows)
{
    enum { PIECE = 32768, LEAST = 64 }; /* numbers, rows */
    const drove_layer *l = c->layer;
    const size_t each = PIECE / l->n_out > LEAST ? PIECE / l->n_out / LEAST * LEAST : LEAST;
    float *dw = c->grad + l->w_offset;
    for (size_t from = 0, n; from < l->n_in; from += n) {
        n = l->n_in - from < each ? l->n_in - from : each;
        rows(c, from, n, dw);
        t->gradient(t->context, c->index, from * l->n_out, dw, n * l->n_out);
    }
}

/* dw[n_in][n_out] = x^T d for dense examples.  What is rounded is taken layer by layer in any
 * case: so random bits come in the order that products of integers kept as bytes have. */
static void floats_gradient(const drove_call *c, const drove_input *in, float *dw)
{
    const drove_layer *l = c->layer;
    const drove_taker *t = taker_of(c);
    const bool is_few = in->n_rows <= FEW_ROWS && (t == NULL || c->pass->integers == NULL);
    if (t != NULL && c->words != NULL &&
        t->words_product(t->context, c->index, in->dense, c->dy, in->n_rows))
        return;
    if (is_few) {
        if (l->n_out == 1) c->k->outer_f32(dw, c->dy, in->dense, 1, l->n_in);
        else c->k->outer_f32(dw, in->dense, c->dy, l->n_in, l->n_out);
        for (size_t i = 1; i < in->n_rows; i++)
            step_row(l, c->k, dw, in->dense + i * l->n_in, c->dy + i * l->n_out, -1.0f);
    } else if (t != NULL) gradient_in_pieces(c, t, rows_of_floats);
    else rows_of_floats(c, 0, l->n_in, dw);
}

static void whole_input_gradient(const drove_call *c)
{
    const drove_layer *l = c->layer;
    float *dx = c->bottom[0].dx;
    if (dx != NULL && c->words != NULL)
        c->k->words->gemm(true, c->n_rows, l->n_in, l->n_out, c->dy, l->n_out, c->words,
                          c->bottom[0].adds ? 1.0f : 0.0f, dx, l->n_in);
    else if (dx != NULL) input_gradient(l, c->k, c->theta, c->n_rows, c->dy, dx, c->bottom[0].adds);
}

static void backward_whole(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drovek_table *k = c->k;
    const drove_input in = input_of(c);
    float *dw = c->grad + l->w_offset;
    float *own_db = l->n_b > 0 ? c->grad + l->b_offset : c->own;
    float *db = c->adds ? c->pass->db : own_db;
    k->act_grad_f32(c->dy, db, c->y, c->n_rows, l->n_out, l->act);
    if (c->adds) k->axpy_f32(own_db, db, l->n_b, 1.0f);
    if (c->pass->taker != NULL) whole_input_gradient(c); /* before it changes the weights */
    if (l->training.is_frozen) return;
    if (in.dense == NULL) sparse_gradient(l, k, &in, c->dy, dw, c->spans_wanted);
    else floats_gradient(c, &in, dw);
    drove__layer_zero_gaps(l, c->grad);
}

static void backward_planes(const drove_call *c)
{
    const drove_layer *l = c->layer;
    const drovek_planes_ops *ops = c->k->planes;
    const drove_bottom *b = &c->bottom[0];
    ops->back(c->integers->dy, c->integers->y, c->n_rows, l->n_out, l->act == DROVEK_RELU,
              l->n_b > 0 ? c->grad + l->b_offset : c->own);
    if (b->dx != NULL) {
        drovek_planes_end end = {.bias = NULL};
        ops->gemm(false, true, c->n_rows, l->n_in, l->n_out, c->integers->dy, l->n_out,
                  c->integers->w, l->n_out, b->adds, b->dx, l->n_in, &end);
        drove__integers_tell_largest(c, end.largest);
    }

    /* The gradient of W is taken by a product that writes weights, or piece by piece, or left. */
    const drove_taker *t = taker_of(c);
    if (t == NULL) rows_of_planes(c, 0, l->n_in, c->grad + l->w_offset);
    else if (!t->product(t->context, c->index, c->integers->x, c->integers->dy, c->n_rows))
        gradient_in_pieces(c, t, rows_of_planes);
    drove__layer_zero_gaps(l, c->grad);
}

static void backward(const drove_call *c)
{
    const drove_layer *l = c->layer;
    if (c->integers != NULL) {
        backward_planes(c);
        return;
    }
    if (is_whole(c)) {
        if (c->part == 0) backward_whole(c);
        return;
    }
    float *db = (float *)c->own + c->part * drove__pad_floats(l->n_out);
    size_t first = c->first_row * l->n_out;
    c->k->act_grad_f32(c->dy + first, db, c->y + first, c->last_row - c->first_row, l->n_out,
                       l->act);
}

/* This part's rows of W, and the matching columns of x and dx. */
static void backward_finish(const drove_call *c)
{
    const drove_layer *l = c->layer;
    size_t from, to;
    if (is_whole(c) || c->integers != NULL) return;
    share_of(l->n_in, c->part, c->n_parts, &from, &to);
    const drove_bottom *b = &c->bottom[0];
    const float *w = c->theta + l->w_offset + from * l->n_out;
    if (b->dx != NULL)
        c->k->gemm_f32(false, true, c->n_rows, to - from, l->n_out, 1.0f, c->dy, l->n_out, w,
                       l->n_out, b->adds ? 1.0f : 0.0f, b->dx + from, l->n_in);
    if (l->training.is_frozen) return;
    c->k->gemm_f32(true, false, to - from, l->n_out, c->n_rows, 1.0f, b->x + from, l->n_in, c->dy,
                   l->n_out, 0.0f, c->grad + l->w_offset + from * l->n_out, l->n_out);
    if (c->part != 0) return;
    drove__layer_sum_parts(c, (const float *)c->own, drove__pad_floats(l->n_out), l->n_b,
                           c->grad + l->b_offset);
    drove__layer_zero_gaps(l, c->grad);
}

/* Behind the gradient of W, which may be on its way to other workers. */
static void backward_input(const drove_call *c)
{
    const bool is_left = is_whole(c) && c->integers == NULL && c->pass->taker == NULL;
    if (is_left && c->part == 0) whole_input_gradient(c);
}

static void backward_fused(const drove_call *c, float *theta, float *db, float eta)
{
    const drove_layer *l = c->layer;
    const drovek_table *k = c->k;
    const drove_input in = input_of(c);
    float *w = theta + l->w_offset, *b = theta + l->b_offset, *dx = c->bottom[0].dx;
    k->act_grad_f32(c->dy, db, c->y, in.n_rows, l->n_out, l->act);
    /* with W before its update */
    if (dx != NULL) input_gradient(l, k, theta, in.n_rows, c->dy, dx, c->bottom[0].adds);
    if (in.dense == NULL) {
        for (size_t i = 0; i < in.n_rows; i++) {
            k->spger_f32(w, in.index + in.first[i], row_values(&in, i), row_length(&in, i),
                         c->dy + i * l->n_out, l->n_out, eta);
        }
    } else if (in.n_rows <= FEW_ROWS) {
        for (size_t i = 0; i < in.n_rows; i++) {
            step_row(l, k, w, in.dense + i * l->n_in, c->dy + i * l->n_out, eta);
        }
    } else {
        k->gemm_f32(true, false, l->n_in, l->n_out, in.n_rows, -eta, in.dense, l->n_in, c->dy,
                    l->n_out, 1.0f, w, l->n_out);
    }
    k->sgd_f32(b, b, db, l->n_b, eta);
}

static bool fuses_exactly(const drove_layer *l, size_t n_rows)
{
    return n_rows == 1 ||
           (n_rows > FEW_ROWS && n_rows <= DROVEK_STEP_K && l->n_out <= DROVEK_STEP_N);
}

/* ---- shape and scratch ---- */

static drove_status shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs)
{
    (void)n_bottoms;
    l->in = bottom[0];
    l->n_in = drove__shape_floats(l->in);
    l->n_out = l->opt.n_out > 0 ? l->opt.n_out : n_outputs;
    l->out = (drove_shape){l->n_out, 1, 1};
    if (l->n_in > SIZE_MAX / 64 / l->n_out)
        return drove__fail(DROVE_E_ARG, "dense layer of %zu x %zu is too large", l->n_in, l->n_out);
    l->n_w = l->n_in * l->n_out;
    l->n_b = l->opt.no_bias ? 0 : l->n_out;
    l->w_rank = 2;
    l->w_shape[0] = l->fan_in = l->n_in;
    l->w_shape[1] = l->fan_out = l->n_out;
    return DROVE_OK;
}

static uint64_t multiply_adds(const drove_layer *l)
{
    return (uint64_t)l->n_w;
}

static size_t scratch_bytes(const drove_pass_options *opt, const drove_layer *l)
{
    const size_t n_parts = opt->n_parts > 0 ? opt->n_parts : 1;
    if (l->n_b > 0 && n_parts == 1) return 0;
    return (n_parts + (l->n_b == 0)) * drove__pad_floats(l->n_out) * sizeof(float);
}

static drove_status prepare(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own)
{
    (void)pass;
    size_t n_bytes = scratch_bytes(opt, &opt->model->layer[index]);
    if (n_bytes == 0) return DROVE_OK;
    *own = drove__alloc(n_bytes, 1);
    if (*own == NULL) return drove__fail_nomem("bias gradients", n_bytes);
    memset(*own, 0, n_bytes);
    return DROVE_OK;
}

static void release(void *own)
{
    drove__free(own);
}

const drove_layer_ops drove__layer_dense = {
    .name = "dense",
    .help = "fully connected: y = act(x W + b)",
    .source = "Rosenblatt, Psychological Review 1958",
    .least_bottoms = 1,
    .most_bottoms = 1,
    .format = DROVE_FORMAT_PLAIN,
    .takes_act = true,
    .integers = &(const drove_integer_ops){.takes_planes = true},
    .reads_words = true,
    .shape = shape,
    .multiply_adds = multiply_adds,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .forward_finish = forward_finish,
    .backward = backward,
    .backward_finish = backward_finish,
    .backward_input = backward_input,
    .backward_fused = backward_fused,
    .fuses_exactly = fuses_exactly,
};
