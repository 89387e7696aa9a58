/* model/pytorch.h - weights in the orders of PyTorch's modules, and of ONNX: images as [c][h][w].
 *
 * Linear: weight [out][in]; Conv2d: [out][in / groups][kh][kw].  Ours are in layer.h.
 */
#ifndef DROVE_MODEL_PYTORCH_H
#define DROVE_MODEL_PYTORCH_H

#include "model/model.h"

/* Is its order the same as a vector and as an image? */
static inline bool drove__pytorch_has_one_order(drove_shape s)
{
    return s.c == 1 || s.h * s.w == 1;
}
/* Is the vector of this blob in another order than that of [c][h][w]? */
bool drove__pytorch_is_reordered(const drove_model *model, uint32_t blob);

typedef enum drove_pytorch_way { DROVE_TO_PYTORCH, DROVE_FROM_PYTORCH } drove_pytorch_way;

/* The image whose numbers a dense layer reads in our order; {0}: it reads them in PyTorch's, or
 * those of no image.  A flatten layer gives that order to the model's input, too.  Errors:
 * DROVE_E_UNSUPPORTED (numbers of a layer with several inputs). */
drove_status drove__pytorch_image(const drove_model *model, const drove_layer *l, drove_shape *out);
/* Copies the weights of a dense layer, or of a convolution, from one order to the other.  from, to:
 * [n_w], not the same; image: of drove__pytorch_image. */
void drove__pytorch_dense(const drove_layer *l, drove_shape image, drove_pytorch_way way,
                          const float *from, float *to);
void drove__pytorch_convolution(const drove_layer *l, drove_pytorch_way way, const float *from,
                                float *to);

/* The same for a layer's numbers that belong to single ones of its input, or to channels or places:
 * prelu's slopes, weights or biases of layer normalisation, [n_w]. */
void drove__pytorch_numbers(const drove_layer *l, drove_pytorch_way way, const float *from,
                            float *to);
/* Whether a layer normalises along the last sides of [c][h][w], as LayerNorm does. */
bool drove__pytorch_norms_last(const drove_layer *l);
/* Their shape: sides[n] of the returned n; 0: PyTorch has no such module. */
unsigned drove__pytorch_numbers_shape(const drove_layer *l, size_t sides[3]);

/* Of a layer that reads the data, and sees them as (x - shift) * factor, but whose module sees x:
 *
 *     W (f (x - s)) + b = (W f) x + (b - (W f) s)
 *
 * w[n_w], b[n_b]: in our order of the weights, changed from the left side to the right, or back.
 * shift, factor: [n_in], NULL: nothing to do.  *why: if that cannot be, what is in the way, and w
 * and b are of no use; else NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__pytorch_scale(const drove_layer *l, const float *shift, const float *factor,
                                  drove_pytorch_way way, float *w, float *b, const char **why);

/* Does the layer read the model's input? */
bool drove__pytorch_reads_data(const drove_layer *l);

#endif
