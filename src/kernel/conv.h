/* kernel/conv.h - convolution: one shape, prepared once, computed many times.
 *
 *   y[i][p][o] = act(b[o] + sum over window positions q and channels c of its group of
 *                    x[i][p * stride - pad + q * dilation][c] W[g][q][c][o])
 *
 * Ways to compute it (rows of a table; which is fastest depends on the shape):
 *   ref     plain C loops, the definition
 *   gemm    im2col, then the table's matrix product
 *   windows products on the images as they lie in memory, for few channels
 *   onednn  primitives of oneDNN, on plain or blocked images
 *
 * Images in memory are plain or blocked (drovek_format); weights always are W[groups][kh][kw]
 * [c / groups][o / groups], bias b[o]: what stands in theta does not depend on the way.
 *
 * Threads: a drovek_conv has scratch of its own and is used by one thread at a time.  W and b may
 * be changing (HOGWILD!): a way reads each of their elements once or more, through a copy or not
 * (docs/memory-model.md).
 */
#ifndef DROVEK_CONV_H
#define DROVEK_CONV_H

#include "kernel/kernel.h"

/* Of one image [c][h][w], as it lies in memory. */
typedef enum drovek_format {
    DROVEK_NCHW,   /* [c][h][w]: a model's input, as image files have it                        */
    DROVEK_NHWC,   /* [h][w][c]: everywhere else, unless a convolution is faster on             */
    DROVEK_NCHW16, /* [c / 16][h][w][16]; c is a multiple of 16                                 */
    DROVEK_N_FORMATS
} drovek_format;

typedef struct drovek_window { /* a window that moves over images */
    size_t kh, kw;             /* its size, >= 1 */
    size_t sh, sw;             /* steps, >= 1 */
    size_t ph, pw;             /* zeros that are thought above and left; below and right: as many as
                                  the last window needs */
    size_t dh, dw;             /* distance of its elements, >= 1 */
} drovek_window;

typedef struct drovek_conv_shape {
    size_t        c, h, w;   /* of the input  */
    size_t        o, oh, ow; /* of the output */
    size_t        groups;    /* divides c and o */
    drovek_window window;
} drovek_conv_shape;

/* What a convolution does in a training step; a bit each.  ADDS: drovek_conv_data will mostly be
 * asked to add (it can without, but more slowly). */
enum {
    DROVEK_CONV_FORWARD = 1,
    DROVEK_CONV_DATA = 2,
    DROVEK_CONV_WEIGHTS = 4,
    DROVEK_CONV_ADDS = 8
};

typedef struct drovek_conv drovek_conv;

typedef struct drovek_conv_options {
    drovek_conv_shape   shape;
    drovek_act          act;
    size_t              rows;     /* usual number of images of a call */
    size_t              max_rows; /* most */
    unsigned            passes;   /* of DROVEK_CONV_*: which will be asked for */
    drovek_format       in, out;  /* out: NHWC or NCHW16 */
    const char         *way;      /* "gemm" ...; NULL: by drovek_conv_choose */
    const drovek_table *kernels;  /* borrowed */
} drovek_conv_options;

/* Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (this way does not do this shape or these formats,
 * or is not built in). */
drove_status drovek_conv_create(const drovek_conv_options *opt, drovek_conv **out);
void         drovek_conv_destroy(drovek_conv *conv);     /* NULL accepted */
const char  *drovek_conv_way(const drovek_conv *conv);   /* "gemm", "onednn jit:avx512_core" ... */
size_t       drovek_conv_bytes(const drovek_conv *conv); /* scratch and copies that it holds */

/* n_rows <= max_rows images.  x, y, dx, dy in the formats of the options; b NULL: none.
 * [racy: w, b] */
void drovek_conv_forward(drovek_conv *conv, const float *x, const float *w, const float *b,
                         float *y, size_t n_rows);
/* dy is the derivative before the activation.  dx = (adds: +=) its derivative at the input. */
void drovek_conv_data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                      bool adds);
/* dw, in the layout of w, is written: summed over images and positions (zeros for no images).
 * (The bias's gradient and the activation's derivative are act_grad_f32's affair: dy as rows of
 * channels.) */
void drovek_conv_weights(drovek_conv *conv, const float *x, const float *dy, float *dw,
                         size_t n_rows);

/* ---- which way ---- */

typedef struct drovek_conv_choice {
    char          way[16];
    drovek_format in, out; /* in: NCHW only where the options' input is that */
    double        step_s;  /* of `rows` images, forward, data and weights as far as asked for */
} drovek_conv_choice;

/* The faster way for each pair of formats that comes into question, fastest first: *n_out of at
 * most `most` rows.  opt->way, in, out are not read, but for in == NCHW: this is the model's
 * input.  The first process that asks on a machine measures (some milliseconds for each shape);
 * what it finds is kept in a file of the user's cache folder, by processor, tier and shape, so that
 * later runs choose the same and compute the same bits.  A build or a tier without a library has
 * one answer and measures nothing.  Thread-safe.  Errors: DROVE_E_NOMEM. */
drove_status drovek_conv_choose(const drovek_conv_options *opt, drovek_conv_choice *out,
                                size_t most, size_t *n_out);

/* to = from, `n_rows` images of c x h x w, from one format to another; adds: to += from. */
void drovek_reformat(const float *from, drovek_format from_format, float *to,
                     drovek_format to_format, size_t n_rows, size_t c, size_t h, size_t w,
                     bool adds);

#endif
