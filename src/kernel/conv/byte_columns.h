/* kernel/conv/byte_columns.h - the windows of an image of bytes as rows of a matrix (im2col).
 *
 * The column matrix of one group: col[p][stride], of which the first kh kw c / groups bytes of a
 * row are the window at output position p, [kh][kw][c / groups].
 */
#ifndef DROVEK_CONV_BYTE_COLUMNS_H
#define DROVEK_CONV_BYTE_COLUMNS_H

#include "kernel/conv/conv.h"

/* Bytes that may be read behind the images, and written behind the last row. */
enum { DROVEK_BYTE_COLUMNS_SLACK = 47 };

/* n_lines lines of output positions from line `line` on; lines are counted through all images of x,
 * oh per image.  x: images NHWC.  group: selects the channels. */
void drovek_byte_columns(const drovek_conv_shape *s, const uint8_t *x, size_t group, size_t line,
                         size_t n_lines, uint8_t *col, size_t stride);

#endif
