/* kernel/conv/columns.h - the windows of an image as rows of a matrix (im2col), and back.
 *
 * The column matrix of one group: col[p][kh][kw][c / groups], p output positions row by row; its
 * rows are multiplied with W[kh * kw * c / groups][o / groups].
 */
#ifndef DROVEK_CONV_COLUMNS_H
#define DROVEK_CONV_COLUMNS_H

#include "kernel/conv/conv.h"

/* Floats that drovek_columns may write after the matrix. */
enum { DROVEK_COLUMNS_SLACK = 16 };

/* n_lines lines of output positions from line `line` on; lines are counted through all images, oh
 * per image.  x: images NHWC; x_end: their end.  group: selects the channels. */
void drovek_columns(const drovek_conv_shape *s, const float *x, const float *x_end, size_t group,
                    size_t line, size_t n_lines, float *col);

/* dx += the columns, each element at the place it came from. */
void drovek_columns_back(const drovek_conv_shape *s, const float *col, size_t group, size_t line,
                         size_t n_lines, float *dx);

#endif
