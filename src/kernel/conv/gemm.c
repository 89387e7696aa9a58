/* kernel/conv/gemm.c - convolution as matrix products: the windows of some lines of output are the
 * rows of a matrix (im2col), multiplied by the weights.
 *
 * The whole column matrix never exists.  A chunk of lines, small enough for the second-level cache,
 * is written and multiplied, and its output gets bias and activation while it is in the cache.  If
 * the images themselves are such a matrix (1 x 1 windows; windows as large as the image), nothing
 * is copied.  Input as [c][h][w] is converted to [h][w][c] one image at a time.
 *
 * In bf16 some passes take no columns, where that is faster (strips.h): which ones depends on
 * the most images of a batch.
 *
 * Chunks depend on the shape alone, so the bits do not depend on the number of images or threads,
 * but for that choice (the weights' gradient, a sum over the images, depends on their number only).
 */
#include "kernel/conv/columns.h"
#include "kernel/conv/ops.h"
#include "kernel/conv/strips.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)384 << 10) /* of columns, but at least one line */

typedef struct gemm {
    float *col;     /* [chunk lines * ow][k], NULL: the images are the matrix */
    float *image;   /* [h][w][c], NULL: the input has this layout */
    size_t k;       /* kh * kw * c / groups */
    size_t n_lines; /* per chunk */
    bool is_direct;
    drovek_conv_strips strips; /* passes that take no columns */
} gemm;

/* Whether output positions are rows of the input in place. */
static bool is_direct(const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    if (w->ph != 0 || w->pw != 0) return false;
    if (w->kh == 1 && w->kw == 1 && w->sh == 1 && w->sw == 1) return s->oh == s->h && s->ow == s->w;
    return s->groups == 1 && s->oh == 1 && s->ow == 1 && w->kh == s->h && w->kw == s->w &&
           w->dh == 1 && w->dw == 1;
}

/* Lines per chunk: few enough for the cache; whole images if several fit; within one image if
 * images are converted. */
static size_t chunk_lines(const drovek_conv_shape *s, const gemm *g)
{
    size_t row_floats = g->is_direct ? s->o / s->groups : g->k;
    size_t n = CHUNK_BYTES / sizeof(float) / (s->ow * row_floats);
    if (n < 1) n = 1;
    if (n > s->oh) n -= n % s->oh; /* NOLINT(clang-analyzer-core.DivideZero): oh >= 1 */
    if (n > s->oh && g->image != NULL) n = s->oh;
    return n;
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    if (drovek_is_blocked(conv->opt.in) || conv->opt.out != DROVEK_NHWC) {
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: gemm is for plain images");
    }
    gemm *g = conv->state = drove__alloc(1, sizeof *g);
    if (g == NULL) return drove__fail_nomem("convolution", sizeof *g);
    *g = (gemm){.col = NULL};
    g->k = s->window.kh * s->window.kw * (s->c / s->groups);
    g->is_direct = is_direct(s);
    conv->size_bytes = sizeof *g;
    if (conv->opt.in == DROVEK_NCHW && s->c > 1) {
        size_t n = s->c * s->h * s->w;
        g->image = drove__alloc(n, sizeof(float));
        if (g->image == NULL) return drove__fail_nomem("convolution", n * sizeof(float));
        conv->size_bytes += n * sizeof(float);
    }
    g->n_lines = chunk_lines(s, g);
    size_t most = conv->opt.max_rows * s->oh;
    if (g->n_lines > most) g->n_lines = most;
    if (!g->is_direct) {
        size_t n = g->n_lines * s->ow * g->k + DROVEK_COLUMNS_SLACK;
        g->col = drove__alloc(n, sizeof(float));
        if (g->col == NULL) return drove__fail_nomem("convolution", n * sizeof(float));
        conv->size_bytes += n * sizeof(float);
    }
    return g->is_direct ? DROVE_OK : drovek_conv_strips_init(&g->strips, conv);
}

static void destroy(drovek_conv *conv)
{
    gemm *g = conv->state;
    if (g == NULL) return;
    drove__free(g->col);
    drove__free(g->image);
    drovek_conv_strips_fini(&g->strips);
    drove__free(g);
}

/* A chunk of a batch's windows: rows [n][k] of group `group`, step floats apart. */
typedef struct chunk {
    const float *rows;
    size_t step;
} chunk;

typedef struct batch {
    const drovek_conv *conv;
    gemm *g;
    const float *x, *x_end; /* the caller's images */
} batch;

static batch batch_of(const drovek_conv *conv, const float *x, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    return (batch){conv, conv->state, x, x + n_rows * s->c * s->h * s->w};
}

/* Converts the next image if the chunk that begins at `line` is its first. */
static void convert_image(const batch *b, size_t line)
{
    const drovek_conv_shape *s = &b->conv->opt.shape;
    if (b->g->image == NULL || line % s->oh != 0) return;
    drovek_reformat(b->x + line / s->oh * (s->c * s->h * s->w), DROVEK_NCHW, b->g->image,
                    DROVEK_NHWC, 1, s->c, s->h, s->w, false);
}

static chunk take_chunk(const batch *b, size_t group, size_t line, size_t n_lines)
{
    const drovek_conv_shape *s = &b->conv->opt.shape;
    const gemm *g = b->g;
    const float *x = b->x, *end = b->x_end;
    const size_t image = s->c * s->h * s->w;
    size_t first = line;
    if (g->image != NULL) {
        x = g->image;
        end = g->image + image;
        first = line % s->oh;
    }
    if (g->is_direct) {
        size_t step = image / (s->oh * s->ow);
        return (chunk){x + first * s->ow * step + group * (s->c / s->groups), step};
    }
    drovek_columns(s, x, end, group, first, n_lines, g->col);
    return (chunk){g->col, g->k};
}

static size_t lines_left(const batch *b, size_t line, size_t all)
{
    const size_t oh = b->conv->opt.shape.oh;
    size_t n = b->g->n_lines, end = b->g->image != NULL ? line - line % oh + oh : all;
    return end - line < n ? end - line : n;
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const batch all = batch_of(conv, x, n_rows);
    const size_t og = s->o / s->groups, k = all.g->k, n_lines = n_rows * s->oh;
    if (drovek_conv_strips_forward(&all.g->strips, conv, x, w, b, y, n_rows)) return;
    for (size_t line = 0, n; line < n_lines; line += n) {
        float *out = y + line * s->ow * s->o;
        n = lines_left(&all, line, n_lines);
        convert_image(&all, line);
        for (size_t g = 0; g < s->groups; g++) {
            chunk c = take_chunk(&all, g, line, n);
            conv->opt.kernels->gemm_f32(false, false, n * s->ow, og, k, 1.0f, c.rows, c.step,
                                        w + g * k * og, og, 0.0f, out + g * og, s->o);
        }
        conv->opt.kernels->bias_act_f32(out, b, n * s->ow, s->o, conv->opt.act);
    }
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const batch all = batch_of(conv, x, n_rows);
    const size_t og = s->o / s->groups, k = all.g->k, n_lines = n_rows * s->oh;
    if (drovek_conv_strips_weights(&all.g->strips, conv, x, dy, dw, n_rows)) return;
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = lines_left(&all, line, n_lines);
        convert_image(&all, line);
        for (size_t g = 0; g < s->groups; g++) {
            chunk c = take_chunk(&all, g, line, n);
            conv->opt.kernels->gemm_f32(true, false, k, og, n * s->ow, 1.0f, c.rows, c.step,
                                        dy + line * s->ow * s->o + g * og, s->o,
                                        line == 0 ? 0.0f : 1.0f, dw + g * k * og, og);
        }
    }
}

static void data_direct(const drovek_conv *conv, const float *dy, const float *w, float *dx,
                        size_t n, float beta)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const gemm *g = conv->state;
    const size_t og = s->o / s->groups, step = s->c * s->h * s->w / (s->oh * s->ow);
    for (size_t i = 0; i < s->groups; i++) {
        conv->opt.kernels->gemm_f32(false, true, n, g->k, og, 1.0f, dy + i * og, s->o,
                                    w + i * g->k * og, og, beta, dx + i * (s->c / s->groups), step);
    }
}

/* dx of images in [h][w][c]: += the columns' derivatives. */
static void data_columns(const drovek_conv *conv, const float *dy, const float *w, float *dx,
                         size_t n_lines)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const gemm *g = conv->state;
    const size_t og = s->o / s->groups;
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = n_lines - line < g->n_lines ? n_lines - line : g->n_lines;
        for (size_t i = 0; i < s->groups; i++) {
            conv->opt.kernels->gemm_f32(false, true, n * s->ow, g->k, og, 1.0f,
                                        dy + line * s->ow * s->o + i * og, s->o, w + i * g->k * og,
                                        og, 0.0f, g->col, g->k);
            drovek_columns_back(s, g->col, i, line, n, dx);
        }
    }
}

static void data_plain(const drovek_conv *conv, const float *dy, const float *w, float *dx,
                       size_t n_rows, bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const gemm *g = conv->state;
    if (g->is_direct) {
        data_direct(conv, dy, w, dx, n_rows * s->oh * s->ow, adds ? 1.0f : 0.0f);
    } else {
        if (!adds) memset(dx, 0, n_rows * s->c * s->h * s->w * sizeof *dx);
        data_columns(conv, dy, w, dx, n_rows * s->oh);
    }
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    gemm *g = conv->state;
    const size_t in = s->c * s->h * s->w, out = s->o * s->oh * s->ow;
    if (drovek_conv_strips_data(&g->strips, conv, dy, w, dx, n_rows, adds)) return;
    if (g->image == NULL) {
        data_plain(conv, dy, w, dx, n_rows, adds);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        data_plain(conv, dy + i * out, w, g->image, 1, false);
        drovek_reformat(g->image, DROVEK_NHWC, dx + i * in, DROVEK_NCHW, 1, s->c, s->h, s->w, adds);
    }
}

const drovek_conv_ops drovek_conv_gemm = {.name = "gemm",
                                          .create = create,
                                          .destroy = destroy,
                                          .forward = forward,
                                          .data = data,
                                          .weights = weights};
