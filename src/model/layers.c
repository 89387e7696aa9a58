/* model/layers.c - the kinds of layers, and what several of them share. */
#include "model/layer.h"

#include "base/mem.h"

#include <string.h>

const drove_layer_ops *const drove__layer_kinds[] = {
    &drove__layer_dense,
    &drove__layer_convolution,
    NULL,
};

void drove__layer_sum_parts(const drove_call *c, const float *from, size_t stride, size_t n,
                            float *to)
{
    c->k->copy_f32(to, from, n);
    for (unsigned i = 1; i < c->n_parts; i++) c->k->axpy_f32(to, from + i * stride, n, 1.0f);
}

/* A gradient of zero keeps the gaps zero in theta. */
void drove__layer_zero_gaps(const drove_layer *l, float *grad)
{
    size_t w_end = l->w_offset + l->n_w, b_end = l->b_offset + l->n_b;
    for (size_t i = w_end; i < l->b_offset; i++) grad[i] = 0.0f;
    for (size_t i = b_end; i < l->b_offset + drove__pad_floats(l->n_b); i++) grad[i] = 0.0f;
}
