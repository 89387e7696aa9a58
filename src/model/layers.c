/* model/layers.c - the table of kinds of layers, and functions that several share. */
#include "model/layer.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const drove_layer_ops *const drove__layer_kinds[] = {
#define X(name) &drove__layer_##name,
    DROVE_LAYER_KINDS(X)
#undef X
        NULL,
};

static void *copy_bytes(const void *from, size_t n_bytes)
{
    void *to = from != NULL ? malloc(n_bytes) : NULL;
    if (to != NULL) memcpy(to, from, n_bytes);
    return to;
}

drove_status drove__layer_lists_copy(drove_layer_options *o)
{
    const drove_floats *offset = &o->offset, *factor = &o->factor;
    const drove_indices *index = &o->index;
    float *offsets = copy_bytes(offset->value, offset->n * sizeof *offsets);
    float *factors = copy_bytes(factor->value, factor->n * sizeof *factors);
    uint32_t *indices = copy_bytes(index->value, index->n * sizeof *indices);
    const bool is_whole = (offsets != NULL || offset->n == 0) &&
                          (factors != NULL || factor->n == 0) && (indices != NULL || index->n == 0);
    const size_t n = offset->n + factor->n + index->n;
    o->offset.value = offsets;
    o->factor.value = factors;
    o->index.value = indices;
    if (is_whole) return DROVE_OK;
    drove__layer_lists_free(o);
    return drove__fail_nomem("numbers of a layer", n * sizeof *offsets);
}

void drove__layer_lists_free(drove_layer_options *o)
{
    free(o->offset.value);
    free(o->factor.value);
    free(o->index.value);
    o->offset = o->factor = (drove_floats){0};
    o->index = (drove_indices){0};
}

void drove__layer_sum_parts(const drove_call *c, const float *from, size_t stride, size_t n,
                            float *to)
{
    c->k->copy_f32(to, from, n);
    for (unsigned i = 1; i < c->n_parts; i++) c->k->axpy_f32(to, from + i * stride, n, 1.0f);
}

void drove__layer_act(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_out, last = c->last_row * c->layer->n_out;
    if (c->layer->act == DROVEK_LINEAR) return;
    c->k->act_f32(c->y + first, c->y + first, last - first, c->layer->act);
}

void drove__layer_act_back(const drove_call *c)
{
    const size_t first = c->first_row * c->layer->n_out, last = c->last_row * c->layer->n_out;
    if (c->layer->act == DROVEK_LINEAR) return;
    c->k->act_back_f32(c->dy + first, c->dy + first, c->y + first, last - first, c->layer->act,
                       false);
}

/* A gradient of zero keeps the gaps zero in theta. */
void drove__layer_zero_gaps(const drove_layer *l, float *grad)
{
    size_t w_end = l->w_offset + l->n_w, b_end = l->b_offset + l->n_b;
    for (size_t i = w_end; i < l->b_offset; i++) grad[i] = 0.0f;
    for (size_t i = b_end; i < l->b_offset + drove__pad_floats(l->n_b); i++) grad[i] = 0.0f;
}
