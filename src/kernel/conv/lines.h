/* kernel/conv/lines.h - convolutions on lines of the images, without a matrix of windows: of
 * integers kept as bytes, or of floats in bf16 (kernel/strips.h).
 *
 * Rows of a product are images, at one line of the output.  Its terms are the lines of a window,
 * and its columns the numbers of the output's line: strips of 16, each of which meets only the part
 * of a line that its windows cover.  Lines and strips in the padding are left out, which are over
 * half of the derivative at the input of a small image.
 *
 * Images are packed once for all lines of the output.  A line is packed in pieces, each of which
 * begins a tile: what the windows of one block of positions cover, or, for the derivative at the
 * input, a few positions of the derivatives at the output.
 *
 * The gradient of the weights is a sum over images and positions: the images, turned, so that as
 * many of them as a tile has terms are terms, times the derivatives at each position.
 *
 * Without groups and dilation.  Of integers, numbers are those of the matrix of windows
 * (byte_matrix.h): products forward and back to the input are single sums of at most
 * DROVEK_PLANES_K terms, each rounded once.  Those of the gradient of the weights are added in
 * another order.  Strips have zeros: a float that is not finite may show in any output of its
 * image.
 *
 * x, w and dy are arrays of numbers as the strips' `pack` reads them: bytes, or floats.
 *
 * Threads: each of these belongs to one.
 */
#ifndef DROVEK_CONV_LINES_H
#define DROVEK_CONV_LINES_H

#include "kernel/conv/byte_matrix.h"

/* ---- forward, or the derivative at the input ---- */

typedef struct drovek_conv_pieces { /* of a line of w * c numbers of the input */
    size_t n, step, length; /* from one to the next; numbers of one, fewer at the line's end */
    size_t n_tiles;         /* of one */
} drovek_conv_pieces;

typedef struct drovek_conv_lines {
    const drovek_strips_ops *strips;
    drovek_conv_shape        shape; /* of one position each; w, o of the derivative's convolution */
    drovek_conv_pieces       pieces;
    drovek_strip            *strip; /* [n_strips] */
    size_t                   n_strips, n_tiles;
    size_t                   period;     /* strips whose tiles those behind them have as well */
    uint8_t                 *tiles;      /* [planes][n_tiles][DROVEK_TILE]; NULL: not used */
    size_t                   n_together; /* strips of 16 images that are packed at a time */
    uint8_t                 *images;     /* [planes][n_together][h][tiles of a line][DROVEK_TILE] */
    uint8_t                 *columns;    /* of a strip: [16][terms] */
    float                   *bias, *by;  /* [ow * o] of a line; NULL: not used */
} drovek_conv_lines;

/* Forward, for windows within the lines of images; b: s in blocks of positions (of a matrix of
 * windows).  Leaves no tiles if strips is NULL, or if this takes longer than other_cost, the clock
 * cycles of 16 positions by other means.  Adds to *size_bytes.  fini accepts zeros and what a
 * failed init leaves.  Errors: DROVE_E_NOMEM. */
drove_status drovek_conv_lines_init(drovek_conv_lines *l, const drovek_strips_ops *strips,
                                    const drovek_conv_shape *s, const drovek_conv_shape *b,
                                    double other_cost, size_t max_rows, size_t *size_bytes);
/* The same for the derivative at the input, of which t is the convolution. */
drove_status drovek_conv_lines_init_back(drovek_conv_lines *l, const drovek_strips_ops *strips,
                                         const drovek_conv_shape *t, double other_cost,
                                         size_t max_rows, size_t *size_bytes);
void         drovek_conv_lines_fini(drovek_conv_lines *l);

/* Packs weights: as products in blocks need them (drovek_byte_matrix_weights), with a bias [o] or
 * NULL; or those of the convolution, W[kh][kw][c][o], which are turned round. */
drovek_planes drovek_conv_lines_weights(drovek_conv_lines *l, const drovek_table *kernels,
                                        const drovek_conv_shape *b, const drovek_planes *spread,
                                        const float *bias);
drovek_planes drovek_conv_lines_turned(drovek_conv_lines *l, const drovek_planes *w);

/* y[n][oh][ow][o] = (adds: +=) the convolution of x[n][h][w][c] with packed weights. */
void drovek_conv_lines_multiply(const drovek_conv_lines *l, const drovek_planes *x,
                                const drovek_planes *packed, size_t n, bool adds, float *y,
                                drovek_planes_end *end);

/* ---- the gradient of the weights ---- */

typedef struct drovek_conv_places {
    const drovek_strips_ops *strips;
    drovek_conv_shape        shape;             /* in blocks, as of the matrix of windows */
    size_t                   n_lines;           /* of the output, at a time */
    size_t                   row;               /* numbers of a padded line of the input */
    uint8_t                 *images;            /* [planes][h * row][terms]; NULL: not used */
    uint8_t                 *tiles;             /* [planes][n_lines * ow][strips][DROVEK_TILE] */
    size_t                   n_images, n_tiles; /* bytes of a plane of either */
    uint32_t                *places;            /* [2][n_lines * ow] rows of images, and tiles */
    uint8_t                 *pooled;            /* [3][strips][DROVEK_TILE]: see pack_pooled */
} drovek_conv_places;

/* Derivatives behind max pooling whose windows cover the output once. */
typedef struct drovek_conv_pooled {
    const drovek_pool *pool; /* NULL: no pooling */
    const uint8_t     *place;
} drovek_conv_pooled;

/* As drovek_conv_lines_init. */
drove_status drovek_conv_places_init(drovek_conv_places *g, const drovek_strips_ops *strips,
                                     const drovek_conv_shape *s, const drovek_conv_shape *b,
                                     size_t max_rows, size_t *size_bytes);
void         drovek_conv_places_fini(drovek_conv_places *g);

/* dw[k][block * o] as of the matrix of windows: of n images x and derivatives dy; dy->by of block
 * times o columns.  Pooled derivatives, if it can: dw[k][kw][block / kw][o], of windows kh x kw. */
bool drovek_conv_places_can_pool(const drovek_conv_places *g, const drovek_pool *p);
void drovek_conv_places_sum(const drovek_conv_places *g, const drovek_planes *x,
                            const drovek_planes *dy, const drovek_conv_pooled *pooled, size_t n,
                            float *dw);

#endif
