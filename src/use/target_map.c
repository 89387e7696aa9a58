/* use/target_map.c - see target_map.h. */
#include "use/target_map.h"

const drove_layer *drove__targets_layer(const drove_model *model)
{
    const drove_layer *l = &model->layer[model->head[model->n_heads - 1].layer];
    bool is_affine =
        !l->training.is_frozen && l->n_w > 0 && l->n_b == l->n_out && l->act == DROVEK_LINEAR;
    bool is_dense = l->w_rank == 2 && l->w_shape[1] == l->n_out;
    return model->n_heads == 1 && is_affine && (l->n_out == 1 || is_dense) ? l : NULL;
}

void drove__targets_change(drove_storage *s, const double *shift, const double *scale)
{
    const size_t n_values = drove__storage_n_values(s);
    for (size_t i = 0; i < s->n_rows * n_values; i++) {
        size_t k = i % n_values;
        s->y_value[i] = (float)drove__targets_mapped((double)s->y_value[i], shift[k], scale[k]);
    }
}

void drove__targets_map_out(const drove_layer *l, const double *shift, const double *scale,
                            float *theta)
{
    float *w = theta + l->w_offset, *b = theta + l->b_offset;
    for (size_t i = 0; i < l->n_w; i++) w[i] = (float)((double)w[i] * scale[i % l->n_out]);
    for (size_t i = 0; i < l->n_b; i++) b[i] = (float)((double)b[i] * scale[i] + shift[i]);
}

void drove__targets_map_in(const drove_layer *l, const double *shift, const double *scale,
                           float *theta)
{
    float *w = theta + l->w_offset, *b = theta + l->b_offset;
    for (size_t i = 0; i < l->n_w; i++)
        w[i] = (float)drove__targets_mapped((double)w[i], 0.0, scale[i % l->n_out]);
    for (size_t i = 0; i < l->n_b; i++)
        b[i] = (float)drove__targets_mapped((double)b[i], shift[i], scale[i]);
}
