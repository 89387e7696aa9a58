/* kernel/conv/byte_matrix.h - the windows of images of bytes as rows of a matrix, chunk by chunk,
 * and the weights that it is multiplied with.
 *
 * Blocks: a row of the matrix may hold the windows of several positions side by side.  They
 * overlap, so the matrix is smaller, and the products have more columns, one for each position and
 * output, which fill more of the registers.  The weights are then a matrix with zeros: weight
 * (ky, kx, c, o) stands at row (ky, g sw + kx, c) and column (g, o) for each position g of a block.
 *
 * Threads: a matrix belongs to one.
 */
#ifndef DROVEK_CONV_BYTE_MATRIX_H
#define DROVEK_CONV_BYTE_MATRIX_H

#include "kernel/conv/conv.h"

/* A matrix of windows and the weights it is multiplied with; or, of floats, blocks and their
 * weights alone. */
typedef struct drovek_byte_matrix {
    drovek_conv_shape shape; /* of a convolution whose positions are blocks, outputs block * o */
    size_t            block; /* positions of a row */
    size_t            number_bytes;    /* 1; of floats 4 */
    size_t            k;               /* numbers of a row, of one group */
    size_t            stride, n_lines; /* bytes from row to row; lines of a chunk */
    bool              is_direct;       /* the images are the matrix */
    uint8_t          *col; /* [planes][col_bytes], col[n_lines * ow][stride]; direct: NULL */
    size_t            col_bytes;
    drovek_conv_shape padded; /* the same without padding, of images with zeros around them */
    uint8_t          *zeros;  /* [padded.h][padded.w][c] such an image; NULL: not used */
    uint8_t *weight; /* [planes][weight_bytes] in the order that blocks need; NULL: as they are */
    size_t   weight_bytes;
} drovek_byte_matrix;

/* Numbers of a window, of one group. */
size_t drovek_byte_matrix_k(const drovek_conv_shape *s);

/* Lines that take `most` bytes, at least one: whole images if several fit, or within one. */
size_t drovek_byte_matrix_lines(const drovek_conv_shape *s, size_t max_rows, size_t line_bytes,
                                size_t most);

/* Clock cycles of 16 positions, roughly. */
double drovek_byte_matrix_cost(const drovek_byte_matrix *v, const drovek_planes_cost *cost);

/* For windows of s, of at most max_rows images, one at a time if by_image; in the blocks that cost
 * least.  reorders: the weights get an order of their own even without blocks.  Adds to
 * *size_bytes.  fini accepts what a failed init leaves, and zeros.  Errors: DROVE_E_NOMEM. */
drove_status drovek_byte_matrix_init(drovek_byte_matrix *v, const drovek_conv_shape *s,
                                     const drovek_planes_cost *cost, size_t max_rows, bool by_image,
                                     bool reorders, size_t *size_bytes);
/* Blocks and their weights alone, for numbers of so many bytes. */
drove_status drovek_byte_matrix_init_blocks(drovek_byte_matrix *v, const drovek_conv_shape *s,
                                            const drovek_planes_cost *cost, size_t number_bytes,
                                            size_t *size_bytes);
void         drovek_byte_matrix_fini(drovek_byte_matrix *v);

/* The weights w of the convolution s as v's products need them: of v for s, [k][block * o] of each
 * group; of v for s turned round, [block * c][k] of each group, turned round as well. */
drovek_planes drovek_byte_matrix_weights(const drovek_byte_matrix *v, const drovek_conv_shape *s,
                                         const drovek_planes *w);
drovek_planes drovek_byte_matrix_turned(const drovek_byte_matrix *v, const drovek_conv_shape *s,
                                        const drovek_planes *w);

/* dw, the gradient of the weights of s, [kh][kw][c][o] = the sum over the positions of a block of
 * that of the weights in blocks, from[k][block * o].  n of a block's positions are together there:
 * first those whose number is a multiple of n, then those that follow each of them. */
void drovek_byte_matrix_fold(const drovek_byte_matrix *v, const drovek_table *kernels,
                             const drovek_conv_shape *s, const float *from, size_t n, float *dw);

/* The convolution of derivatives at the output that gives those at the input; and whether there is
 * one: where windows move by 1. */
drovek_conv_shape drovek_conv_turned_round(const drovek_conv_shape *s);
bool              drovek_conv_can_turn_round(const drovek_conv_shape *s);

/* Clock cycles, roughly, of copies of n pieces of n_bytes. */
double drovek_byte_copy_cost(size_t n, size_t n_bytes);

/* *to, a pointer, = memory of zeros, which drove__free takes; counted in *size_bytes.
 * Errors: DROVE_E_NOMEM. */
drove_status drovek_byte_allocate(void *to, size_t n_bytes, size_t *size_bytes);

/* The windows of a chunk of the images x as rows, *step bytes apart: n_lines lines of blocks from
 * line `line` on.  is_there: the last call wrote them. */
drovek_planes drovek_byte_matrix_chunk(const drovek_byte_matrix *v, const drovek_planes *x,
                                       size_t group, size_t line, size_t n_lines, bool is_there,
                                       size_t *step);

#endif
