/* model/pytorch.c - see pytorch.h. */
#include "model/pytorch.h"

#include "base/mem.h"
#include "model/layer.h"

#include <stdbool.h>

bool drove__pytorch_is_reordered(const drove_model *model, uint32_t blob)
{
    return blob != 0 && !drove__pytorch_has_one_order(drove__blob_shape(model, blob));
}

/* ---- orders ---- */

drove_status drove__pytorch_image(const drove_model *model, const drove_layer *l, drove_shape *out)
{
    uint32_t blob = l->bottom[0];
    *out = (drove_shape){0};
    while (!drove__pytorch_is_reordered(model, blob)) {
        const drove_layer *below = blob > 0 ? &model->layer[blob - 1] : NULL;
        /* Other numbers than those that it reads, or another order: of weights, pooling, gather. */
        if (below == NULL || below->n_w > 0 || below->ops == &drove__layer_gather ||
            drove__shape_floats(below->in) != drove__shape_floats(below->out))
            return DROVE_OK;
        if (below->n_bottoms > 1)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "layer %s: expected numbers of one layer, found those of %s, which "
                               "has several inputs (ONNX has it)",
                               l->name, below->name);
        blob = below->bottom[0];
        if (below->ops == &drove__layer_flatten && !drove__pytorch_has_one_order(below->in)) {
            *out = below->in;
            return DROVE_OK;
        }
    }
    *out = drove__blob_shape(model, blob);
    return DROVE_OK;
}

/* W[in][out] and [out][in], images as [c][h][w]. */
void drove__pytorch_dense(const drove_layer *l, drove_shape image, drove_pytorch_way way,
                          const float *from, float *to)
{
    for (size_t i = 0; i < l->n_in; i++) {
        size_t there = i;
        if (image.c > 0) there = i % image.c * image.h * image.w + i / image.c;
        for (size_t k = 0; k < l->n_out; k++) {
            const size_t ours = i * l->n_out + k, theirs = k * l->n_in + there;
            if (way == DROVE_TO_PYTORCH) to[theirs] = from[ours];
            else to[ours] = from[theirs];
        }
    }
}

void drove__pytorch_convolution(const drove_layer *l, drove_pytorch_way way, const float *from,
                                float *to)
{
    const size_t kh = l->w_shape[1], kw = l->w_shape[2], c = l->w_shape[3], o = l->w_shape[4];
    for (size_t i = 0; i < l->n_w; i++) {
        const size_t out = i % o, in = i / o % c, x = i / o / c % kw, y = i / o / c / kw % kh,
                     group = i / o / c / kw / kh;
        const size_t theirs = (((group * o + out) * c + in) * kh + y) * kw + x;
        if (way == DROVE_TO_PYTORCH) to[theirs] = from[i];
        else to[i] = from[theirs];
    }
}

void drove__pytorch_numbers(const drove_layer *l, drove_pytorch_way way, const float *from,
                            float *to)
{
    const size_t c = l->in.c, places = l->in.h * l->in.w;
    const bool is_whole = l->n_w == c * places;
    for (size_t i = 0; i < l->n_w; i++) { /* c alone, or places alone, are in one order */
        const size_t theirs = is_whole ? i % c * places + i / c : i;
        if (way == DROVE_TO_PYTORCH) to[theirs] = from[i];
        else to[i] = from[theirs];
    }
}

bool drove__pytorch_norms_last(const drove_layer *l)
{
    const drove_over *over = &l->opt.over; /* sides of 1 are what they need to be */
    const bool has_width = over->width || l->in.w == 1, has_height = over->height || l->in.h == 1;
    return has_width && (has_height || !over->channels || l->in.c == 1);
}

unsigned drove__pytorch_numbers_shape(const drove_layer *l, size_t sides[3])
{
    const drove_over *over = &l->opt.over;
    unsigned n = 0;
    sides[0] = l->n_w;
    if (l->ops == &drove__layer_prelu) return l->n_w == 1 || l->n_w == l->in.c ? 1 : 0;
    if (l->in.h * l->in.w == 1) return 1;
    if (!drove__pytorch_norms_last(l)) return over->channels && l->n_w == l->in.c ? 1 : 0;
    if (over->channels) sides[n++] = l->in.c;
    if (over->height) sides[n++] = l->in.h;
    if (over->width) sides[n++] = l->in.w;
    return n;
}

/* ---- the scaling of the inputs, in our own order of the weights ---- */

/* The input that weight i of the layer is multiplied by; of a convolution, the first of its
 * channel. */
static size_t input_of(const drove_layer *l, size_t i)
{
    if (l->ops == &drove__layer_dense) return i / l->n_out;
    const size_t c = l->w_shape[3], o = l->w_shape[4];
    const size_t group = i / (l->n_w / l->w_shape[0]);
    return (group * c + i / o % c) * l->in.h * l->in.w;
}

static size_t output_of(const drove_layer *l, size_t i)
{
    if (l->ops == &drove__layer_dense) return i % l->n_out;
    const size_t o = l->w_shape[4];
    return i / (l->n_w / l->w_shape[0]) * o + i % o;
}

/* A convolution's window meets all places of a channel, and zeros beyond the edge. */
static const char *channels_prevent(const drove_layer *l, const float *shift, const float *factor)
{
    const size_t n = l->in.h * l->in.w;
    bool shifts = false;
    for (size_t i = 0; i < l->n_in; i++) {
        const size_t first = i / n * n;
        if (shift[i] != shift[first] || factor[i] != factor[first])
            return "it differs within a channel";
        shifts |= shift[i] != 0.0f;
    }
    const drovek_window *w = &l->opt.window;
    const drove_padding *q = &l->opt.padding;
    const bool has_padding = w->ph > 0 || w->pw > 0 || q->below > 0 || q->right > 0;
    return shifts && has_padding ? "its padding would be shifted, too" : NULL;
}

drove_status drove__pytorch_scale(const drove_layer *l, const float *shift, const float *factor,
                                  drove_pytorch_way way, float *w, float *b, const char **why)
{
    *why = NULL;
    if (factor == NULL) return DROVE_OK;
    if (l->ops != &drove__layer_dense) *why = channels_prevent(l, shift, factor);
    if (*why != NULL) return DROVE_OK;
    double *moved = drove__alloc(l->n_w / l->fan_in, sizeof *moved);
    if (moved == NULL) return drove__fail_nomem("biases", l->n_w / l->fan_in * sizeof *moved);
    const double sign = way == DROVE_TO_PYTORCH ? -1.0 : 1.0;
    bool shifts = false;
    for (size_t i = 0; i < l->n_w; i++) {
        const size_t input = input_of(l, i);
        const double f = (double)factor[input], old = (double)w[i];
        const double theirs = way == DROVE_TO_PYTORCH ? old * f : old;
        moved[output_of(l, i)] += theirs * (double)shift[input];
        shifts |= shift[input] != 0.0f;
        /* An input that is always 0 for us has a weight of 0. */
        w[i] = (float)(way == DROVE_TO_PYTORCH ? theirs : (f != 0.0 ? old / f : 0.0));
    }
    for (size_t k = 0; k < l->n_b; k++) b[k] = (float)((double)b[k] + sign * moved[k]);
    drove__free(moved);
    if (shifts && l->n_b == 0) *why = "it has no bias";
    return DROVE_OK;
}

bool drove__pytorch_reads_data(const drove_layer *l)
{
    for (unsigned i = 0; i < l->n_bottoms; i++)
        if (l->bottom[i] == 0) return true;
    return false;
}
