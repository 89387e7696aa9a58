/* kernel/ref/matvec.c - one example at a time: matrix-vector and outer products, dense and sparse
 * input.
 *
 * W[n_in][n_out] is shared with other threads: each element is loaded and stored once, through
 * base/racy.h.  All tiers use fused multiply-add, so their results are equal bit for bit (except
 * matvec_t, whose sums each tier may order as it likes).
 */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>

/* y[n] += value * row[n], row shared */
static void add_row(float *y, float value, const float *row, size_t n)
{
    for (size_t o = 0; o < n; o++) y[o] = fmaf(value, drove__racy_load(row + o), y[o]);
}

/* row[n] -= eta * round(value * dy[n]), row shared */
static void step_row(float *row, float value, const float *dy, size_t n, float eta)
{
    for (size_t o = 0; o < n; o++) {
        float gradient = value * dy[o];
        drove__racy_store(row + o, fmaf(-eta, gradient, drove__racy_load(row + o)));
    }
}

void drovek_matvec_f32_ref(float *y, const float *x, const float *w, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        if (x[j] != 0.0f) add_row(y, x[j], w + j * n_out, n_out);
    }
}

void drovek_matvec_t_f32_ref(float *dx, const float *dy, const float *w, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        float sum = 0.0f;
        for (size_t o = 0; o < n_out; o++)
            sum = fmaf(drove__racy_load(w + j * n_out + o), drove__racy_load(dy + o), sum);
        dx[j] = sum;
    }
}

void drovek_ger_f32_ref(float *w, const float *x, const float *dy, size_t n_in, size_t n_out,
                        float eta)
{
    for (size_t j = 0; j < n_in; j++) {
        if (x[j] != 0.0f) step_row(w + j * n_out, x[j], dy, n_out, eta);
    }
}

void drovek_outer_f32_ref(float *g, const float *x, const float *dy, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        for (size_t o = 0; o < n_out; o++) g[j * n_out + o] = x[j] * dy[o];
    }
}

void drovek_spmatvec_f32_ref(float *y, const uint32_t *index, const float *value, size_t nnz,
                             const float *w, size_t n_out)
{
    for (size_t k = 0; k < nnz; k++)
        add_row(y, value ? value[k] : 1.0f, w + index[k] * n_out, n_out);
}

void drovek_spger_f32_ref(float *w, const uint32_t *index, const float *value, size_t nnz,
                          const float *dy, size_t n_out, float eta)
{
    for (size_t k = 0; k < nnz; k++)
        step_row(w + index[k] * n_out, value ? value[k] : 1.0f, dy, n_out, eta);
}

void drovek_spouter_f32_ref(float *g, const uint32_t *index, const float *value, size_t nnz,
                            const float *dy, size_t n_out)
{
    for (size_t k = 0; k < nnz; k++) {
        float *row = g + index[k] * n_out;
        float factor = value ? value[k] : 1.0f;
        for (size_t o = 0; o < n_out; o++) row[o] = fmaf(factor, dy[o], row[o]);
    }
}
