/* kernel/ref/columns.c - dropout and per-column (channel) work in plain C: the definition. */
#include "kernel/tiers.h"

#include <math.h>

void drovek_dropout_f32_ref(const drovek_dropout *d, float *to, const float *from, size_t rows,
                            size_t cols, size_t first, size_t stride, bool adds)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++, to++, from++) {
            bool keeps = drovek_dropout_keeps(d, (uint32_t)(first + i * stride + j));
            float v = keeps ? d->factor * *from : 0.0f;
            *to = adds ? *to + v : v;
        }
    }
}

void drovek_column_sums_f32_ref(const float *u, const float *ku, const float *v, const float *kv,
                                size_t rows, size_t cols, double *sum, double *product)
{
    for (size_t i = 0; i < rows; i++, u += cols, v += cols) {
        for (size_t j = 0; j < cols; j++) {
            double first = (double)u[j] - (ku != NULL ? (double)ku[j] : 0.0);
            sum[j] += first;
            product[j] += first * ((double)v[j] - (double)kv[j]);
        }
    }
}

void drovek_column_combine_f32_ref(float *to, const float *x, const float *y, const float *a,
                                   const float *b, const float *c, size_t rows, size_t cols,
                                   bool adds)
{
    for (size_t at = 0; at < rows * cols; at++) {
        size_t j = at % cols;
        float rest = y != NULL ? fmaf(b[j], y[at], c[j]) : c[j];
        float v = fmaf(a[j], x[at], rest);
        to[at] = adds ? to[at] + v : v;
    }
}

void drovek_copy_rows_f32_ref(float *to, size_t to_stride, const float *from, size_t from_stride,
                              size_t rows, size_t cols, bool adds)
{
    for (size_t i = 0; i < rows; i++, to += to_stride, from += from_stride) {
        for (size_t j = 0; j < cols; j++) to[j] = adds ? to[j] + from[j] : from[j];
    }
}
