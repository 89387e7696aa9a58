/* model/dense.c - the fully connected layer: y = act(x W + b), W[n_in][n_out], x[n_rows][n_in].
 *
 * Backward, with d = dy * act'(y):  dx = d W^T,  dW = x^T d,  db = sum over rows of d.
 *
 * Ways through, chosen by the input:
 *   sparse        every example touches only the rows of W that its indices name
 *   few rows      matrix-vector kernels for each, which skip inputs that are 0
 *   several rows  matrix products
 *   one output    W is a vector: the examples are the matrix
 *
 * Threads: nothing is kept.  With sparse input or few rows, theta is touched through [racy] kernels
 * only; matrix products, and W where it is a vector, are read as they are.
 */
#include "model/layer.h"
#include "model/support.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

/* Up to here matrix-vector kernels win, measured with images, four fifths of whose pixels are 0;
 * with inputs that are never 0 the two are equal at 2 rows. */
enum { FEW_ROWS = 2 };

static size_t row_length(const drove_input *in, size_t i)
{
    return (size_t)(in->last[i] - in->first[i]);
}

static const float *row_values(const drove_input *in, size_t i)
{
    return in->value != NULL ? in->value + in->first[i] : NULL;
}

/* y = x W + b for rows whose W is one column: n_out is 1. */
static void forward_column(const drove_layer *l, const drovek_table *k, const float *theta,
                           const drove_input *in, float *y)
{
    float b;
    k->copy_f32(&b, theta + l->b_offset, 1);
    k->matvec_t_f32(y, theta + l->w_offset, in->dense, in->n_rows, l->n_in);
    for (size_t i = 0; i < in->n_rows; i++) y[i] += b;
}

static void forward_row(const drove_layer *l, const drovek_table *k, const float *theta,
                        const drove_input *in, size_t i, float *y)
{
    const float *w = theta + l->w_offset;
    k->copy_f32(y, theta + l->b_offset, l->n_out);
    if (in->dense != NULL) {
        k->matvec_f32(y, in->dense + i * l->n_in, w, l->n_in, l->n_out);
    } else {
        k->spmatvec_f32(y, in->index + in->first[i], row_values(in, i), row_length(in, i), w,
                        l->n_out);
    }
}

static void forward(const drove_layer *l, const drovek_table *k, const float *theta,
                    const drove_input *in, float *y)
{
    if (in->dense != NULL && l->n_out == 1) {
        forward_column(l, k, theta, in, y);
    } else if (in->dense != NULL && in->n_rows > FEW_ROWS) {
        k->gemm_f32(false, false, in->n_rows, l->n_out, l->n_in, 1.0f, in->dense, l->n_in,
                    theta + l->w_offset, l->n_out, 0.0f, y, l->n_out);
        k->bias_act_f32(y, theta + l->b_offset, in->n_rows, l->n_out, l->act);
        return;
    } else {
        for (size_t i = 0; i < in->n_rows; i++) {
            forward_row(l, k, theta, in, i, y + i * l->n_out);
        }
    }
    drove__act_apply(k, y, in->n_rows * l->n_out, l->act);
}

/* dx[n_rows][n_in] = d W^T */
static void input_gradient(const drove_layer *l, const drovek_table *k, const float *theta,
                           size_t n_rows, const float *d, float *dx)
{
    const float *w = theta + l->w_offset;
    if (n_rows > FEW_ROWS) {
        k->gemm_f32(false, true, n_rows, l->n_in, l->n_out, 1.0f, d, l->n_out, w, l->n_out, 0.0f,
                    dx, l->n_in);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        k->matvec_t_f32(dx + i * l->n_in, d + i * l->n_out, w, l->n_in, l->n_out);
    }
}

/* w[n_in][n_out] -= eta x d for one dense example.  The product is symmetric: a column is stepped
 * as the row that it is in memory. */
static void step_row(const drove_layer *l, const drovek_table *k, float *w, const float *x,
                     const float *d, float eta)
{
    if (l->n_out == 1) {
        k->ger_f32(w, d, x, 1, l->n_in, eta);
    } else {
        k->ger_f32(w, x, d, l->n_in, l->n_out, eta);
    }
}

/* dw[n_in][n_out] = x^T d for a few dense examples. */
static void few_rows_gradient(const drove_layer *l, const drovek_table *k, const drove_input *in,
                              const float *d, float *dw)
{
    if (l->n_out == 1) {
        k->outer_f32(dw, d, in->dense, 1, l->n_in);
    } else {
        k->outer_f32(dw, in->dense, d, l->n_in, l->n_out);
    }
    for (size_t i = 1; i < in->n_rows; i++) {
        step_row(l, k, dw, in->dense + i * l->n_in, d + i * l->n_out, -1.0f);
    }
}

/* dw[n_in][n_out] = x^T d for sparse x.  spans_wanted: rows that no example names keep what they
 * hold. */
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

/* The gaps behind W and behind b: a gradient of zero keeps them zero in theta. */
static void zero_gaps(const drove_layer *l, float *grad)
{
    size_t w_end = l->w_offset + l->n_in * l->n_out, b_end = l->b_offset + l->n_out;
    for (size_t i = w_end; i < l->b_offset; i++) grad[i] = 0.0f;
    for (size_t i = b_end; i < drove__pad_floats(b_end); i++) grad[i] = 0.0f;
}

static void backward(const drove_layer *l, const drovek_table *k, const float *theta,
                     const drove_input *in, const float *y, float *dy, float *dx, float *grad,
                     bool spans_wanted)
{
    float *dw = grad + l->w_offset;
    k->act_grad_f32(dy, grad + l->b_offset, y, in->n_rows, l->n_out, l->act);
    if (dx != NULL) input_gradient(l, k, theta, in->n_rows, dy, dx);
    if (in->dense == NULL) {
        sparse_gradient(l, k, in, dy, dw, spans_wanted);
    } else if (in->n_rows <= FEW_ROWS) {
        few_rows_gradient(l, k, in, dy, dw);
    } else {
        k->gemm_f32(true, false, l->n_in, l->n_out, in->n_rows, 1.0f, in->dense, l->n_in, dy,
                    l->n_out, 0.0f, dw, l->n_out);
    }
    zero_gaps(l, grad);
}

static void backward_fused(const drove_layer *l, const drovek_table *k, float *theta,
                           const drove_input *in, const float *y, float *dy, float *dx, float *db,
                           float eta)
{
    float *w = theta + l->w_offset, *b = theta + l->b_offset;
    k->act_grad_f32(dy, db, y, in->n_rows, l->n_out, l->act);
    if (dx != NULL) input_gradient(l, k, theta, in->n_rows, dy, dx); /* with W as it was */
    if (in->dense == NULL) {
        for (size_t i = 0; i < in->n_rows; i++) {
            k->spger_f32(w, in->index + in->first[i], row_values(in, i), row_length(in, i),
                         dy + i * l->n_out, l->n_out, eta);
        }
    } else if (in->n_rows <= FEW_ROWS) {
        for (size_t i = 0; i < in->n_rows; i++) {
            step_row(l, k, w, in->dense + i * l->n_in, dy + i * l->n_out, eta);
        }
    } else {
        k->gemm_f32(true, false, l->n_in, l->n_out, in->n_rows, -eta, in->dense, l->n_in, dy,
                    l->n_out, 1.0f, w, l->n_out);
    }
    k->sgd_f32(b, b, db, l->n_out, eta);
}

const drove_layer_ops drove__layer_dense = {
    .name = "dense",
    .forward = forward,
    .backward = backward,
    .backward_fused = backward_fused,
};
