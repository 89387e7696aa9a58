/* kernel/conv/conv.h - convolution: one shape, prepared once, computed many times.
 *
 *   y[i][p][o] = act(b[o] + sum over window positions q and channels c of its group of
 *                    x[i][p * stride - pad + q * dilation][c] W[g][q][c][o])
 *
 * Ways to compute it (rows of a table; the fastest depends on the shape):
 *   ref     plain C loops, the definition
 *   gemm    im2col, then the table's matrix product; in bf16 lines of the images, where faster
 *   windows products on the images in place, for few channels
 *   taps    products of single positions of all images, for images of few positions
 *   depthwise  each channel by itself, where groups have one
 *   onednn  primitives of oneDNN, on plain or blocked images
 *   planes  im2col of several positions to a row, and products of integers kept as bytes
 *           (kernel/planes.h), in a table that has them
 *
 * Images in memory are plain or blocked (drovek_format).  Weights always are W[groups][kh][kw]
 * [c / groups][o / groups], bias b[o]: the layout of theta does not depend on the way.
 *
 * Threads: a drovek_conv has its own scratch and is used by one thread at a time.  W and b may
 * change meanwhile (HOGWILD!): a way reads each of their elements once or more, directly or through
 * a copy (docs/inside/memory-model.md).
 */
#ifndef DROVEK_CONV_H
#define DROVEK_CONV_H

#include "kernel/kernel.h"

/* Memory layout of one image [c][h][w]. */
typedef enum drovek_format {
    DROVEK_NCHW,   /* [c][h][w]: a model's input, as in image files                             */
    DROVEK_NHWC,   /* [h][w][c]: everywhere else, unless blocks make a convolution faster       */
    DROVEK_NCHW8,  /* [c / 8][h][w][8]; c is a multiple of 8: the library's blocks by AVX2      */
    DROVEK_NCHW16, /* [c / 16][h][w][16]; c is a multiple of 16: its blocks by AVX-512          */
    DROVEK_N_FORMATS
} drovek_format;

static inline bool drovek_is_blocked(drovek_format format)
{
    return format == DROVEK_NCHW8 || format == DROVEK_NCHW16;
}

/* Channels of a block: all three are [c / block][h * w][block]. */
static inline size_t drovek_block(drovek_format format, size_t c)
{
    return format == DROVEK_NCHW ? 1 : format == DROVEK_NHWC ? c : format == DROVEK_NCHW8 ? 8 : 16;
}

typedef struct drovek_window { /* a window that moves over images */
    size_t kh, kw;             /* its size, >= 1 */
    size_t sh, sw;             /* steps, >= 1 */
    size_t ph, pw;             /* zeros added above and left; below and right as many as the last
                                  window needs */
    size_t dh, dw;             /* dilation: distance of its elements, >= 1 */
} drovek_window;

typedef struct drovek_conv_shape {
    size_t        c, h, w;   /* of the input  */
    size_t        o, oh, ow; /* of the output */
    size_t        groups;    /* divides c and o */
    drovek_window window;
} drovek_conv_shape;

/* The passes of a convolution in a training step; a bit each.  ADDS: drovek_conv_data will mostly
 * be called with `adds` (it always can be, but more slowly). */
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
    size_t              max_rows; /* largest number */
    unsigned            passes;   /* of DROVEK_CONV_*: the ones that will be used */
    drovek_format       in, out;  /* out: not NCHW */
    const char         *way;      /* "gemm" ...; NULL: by drovek_conv_choose */
    const drovek_table *kernels;  /* borrowed */
} drovek_conv_options;

/* Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (this way does not support the shape or formats,
 * or is not built in). */
drove_status drovek_conv_create(const drovek_conv_options *opt, drovek_conv **out);
void         drovek_conv_destroy(drovek_conv *conv);     /* NULL accepted */
const char  *drovek_conv_way(const drovek_conv *conv);   /* "gemm", "onednn jit:avx512_core" ... */
size_t       drovek_conv_bytes(const drovek_conv *conv); /* of its scratch and copies */

/* A convolution by `planes` reads integers in place of x, w and dy: those given here (NULL: as
 * before), with the shapes of x, w and dy, borrowed until the next passes are over; x stays the
 * same from the forward pass to that of the weights.  largest: of the y of its last forward pass,
 * as by largest_f32; largest_dx: of the dx of its last pass of data, UINT32_MAX: not known. */
bool     drovek_conv_takes_planes(const drovek_conv *conv);
void     drovek_conv_take(drovek_conv *conv, const drovek_planes *x, const drovek_planes *w,
                          const drovek_planes *dy);
uint32_t drovek_conv_largest(const drovek_conv *conv);
uint32_t drovek_conv_largest_dx(const drovek_conv *conv);

/* The next forward pass writes to and place, the maxima of y's windows and where they are, as by
 * max_pool_f32, and leaves no y: its memory is scratch.  Of a convolution that can: by `planes`, of
 * one group, a chunk of whose windows holds an image. */
bool drovek_conv_can_pool(const drovek_conv *conv);
void drovek_conv_pool(drovek_conv *conv, const drovek_pool *p, float *to, uint8_t *place);

/* The next pass of weights takes dy, the derivatives behind max pooling, and place, where its
 * maxima were, for those at y: 0 but at the maxima; all borrowed until that pass is over.  Of a
 * convolution that can: by `planes` and lines of images, without a pass of data, and windows that
 * cover y once. */
bool drovek_conv_can_take_pooled(const drovek_conv *conv, const drovek_pool *p);
void drovek_conv_take_pooled(drovek_conv *conv, const drovek_pool *p, const drovek_planes *dy,
                             const uint8_t *place);

/* n_rows <= max_rows images.  x, y, dx, dy in the formats of the options; b NULL: none.
 * [racy: w, b] */
void drovek_conv_forward(drovek_conv *conv, const float *x, const float *w, const float *b,
                         float *y, size_t n_rows);
/* dy is the derivative before the activation.  dx = (adds: +=) the derivative at the input. */
void drovek_conv_data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                      bool adds);
/* Writes dw, in the layout of w: summed over images and positions (zeros for no images).  The
 * bias's gradient and the activation's derivative come from act_grad_f32, with dy as rows of
 * channels. */
void drovek_conv_weights(drovek_conv *conv, const float *x, const float *dy, float *dw,
                         size_t n_rows);

/* ---- choosing a way ---- */

typedef struct drovek_conv_choice {
    char          way[16];
    drovek_format in, out; /* in: NCHW only if that is the options' input */
    double        step_s;  /* for `rows` images: the requested passes */
} drovek_conv_choice;

/* The fastest way for each usable pair of formats, fastest pair first: *n_out of at most `most`
 * rows.  Ignores opt->way, in and out, except in == NCHW: this is the model's input.  The first
 * process on a machine measures (some milliseconds per shape) and keeps the result in a file of the
 * user's cache folder, by processor, tier and shape, so that later runs choose the same way and
 * compute the same bits.  Without a library in the build or tier there is only one answer, and
 * nothing is measured.  Thread-safe.  Errors: DROVE_E_NOMEM. */
drove_status drovek_conv_choose(const drovek_conv_options *opt, drovek_conv_choice *out,
                                size_t most, size_t *n_out);

/* to = from, `n_rows` images of c x h x w, from one format to another; adds: to += from. */
void drovek_reformat(const float *from, drovek_format from_format, float *to,
                     drovek_format to_format, size_t n_rows, size_t c, size_t h, size_t w,
                     bool adds);

#endif
