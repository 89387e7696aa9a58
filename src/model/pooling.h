/* model/pooling.h - sizes and geometry of max and average pooling.
 *
 * Number of windows along one side of n positions with padding p before and q behind them, size k,
 * step s: (n + p + q - k) / s, rounded down or up (`rounds_up`, Caffe), + 1.  Rounded up, the last
 * window may extend beyond the edge, but must begin in the image or in the padding before it, else
 * it is dropped (Caffe drops it only with padding; without padding the sizes differ only for steps
 * larger than windows, where Caffe would pool nothing).
 */
#ifndef DROVE_MODEL_POOLING_H
#define DROVE_MODEL_POOLING_H

#include "model/layer.h"

/* Slot `shape`; completes l->opt.window.  Errors: DROVE_E_SHAPE (the window is
 * larger than its input, the padding as large as the window), DROVE_E_ARG (dilation). */
drove_status drove__pooling_shape(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                                  size_t n_outputs);

/* For the kernels, which see one block as one image. */
drovek_pool drove__pooling_geometry(const drove_layer *l, drovek_format format);

/* Number of blocks in n_rows images of c channels. */
static inline size_t drove__blocks(drovek_format format, size_t n_rows, size_t c)
{
    return n_rows * (c / drovek_block(format, c));
}

/* Of layer `index`, a max pooling whose places fit a byte: its geometry, and the memory for the
 * places of its maxima, [max_rows][n_out]. */
void drove__max_pool_of(const drove_pass *pass, size_t index, drovek_pool *p, uint8_t **place);

#endif
