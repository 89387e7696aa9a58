/* kernel/conv/strips.h - passes of a convolution of floats in bf16 on lines of images
 * (lines.h).  They take the place of those by columns (gemm.c) where they are faster, in
 * a table that has packed factors.
 *
 * Threads: a drovek_conv_strips belongs to one.  The weights may change meanwhile: each pass copies
 * them once.
 */
#ifndef DROVEK_CONV_STRIPS_H
#define DROVEK_CONV_STRIPS_H

#include "kernel/conv/lines.h"
#include "kernel/conv/ops.h"

typedef struct drovek_conv_strips {
    drovek_byte_matrix blocks;            /* positions together, of all but the derivative at x */
    drovek_conv_lines  lines, lines_back; /* forward; the derivative at the input */
    drovek_conv_places places;            /* the gradient of the weights */
    float             *w;                 /* [weights] a copy */
    float             *wide; /* [blocks.k][blocks.block * o] gradient in blocks; NULL: no blocks */
} drovek_conv_strips;

/* For conv->opt; adds to conv->size_bytes.  Leaves out each pass that is not faster.  fini accepts
 * zeros and what a failed init leaves.  Errors: DROVE_E_NOMEM. */
drove_status drovek_conv_strips_init(drovek_conv_strips *v, drovek_conv *conv);
void         drovek_conv_strips_fini(drovek_conv_strips *v);

/* As the functions of drovek_conv_ops; false: this pass is left out. */
bool drovek_conv_strips_forward(drovek_conv_strips *v, const drovek_conv *conv, const float *x,
                                const float *w, const float *b, float *y, size_t n_rows);
bool drovek_conv_strips_data(drovek_conv_strips *v, const drovek_conv *conv, const float *dy,
                             const float *w, float *dx, size_t n_rows, bool adds);
bool drovek_conv_strips_weights(drovek_conv_strips *v, const drovek_conv *conv, const float *x,
                                const float *dy, float *dw, size_t n_rows);

#endif
