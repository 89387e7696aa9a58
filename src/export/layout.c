/* export/layout.c - from the order of drove's numbers to that of others: see export.h. */
#include "export/export.h"

bool drove__export_is_reordered(const drove_model *model, uint32_t blob)
{
    return blob != 0 && !drove__export_has_one_order(drove__blob_shape(model, blob));
}

void drove__export_convolution(const drove_layer *l, const float *from, float *to)
{
    const size_t kh = l->w_shape[1], kw = l->w_shape[2], c = l->w_shape[3], o = l->w_shape[4];
    for (size_t i = 0; i < l->n_w; i++) {
        const size_t out = i % o, in = i / o % c, x = i / o / c % kw, y = i / o / c / kw % kh,
                     group = i / o / c / kw / kh;
        to[(((group * o + out) * c + in) * kh + y) * kw + x] = from[i];
    }
}
