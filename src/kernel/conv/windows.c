/* kernel/conv/windows.c - convolution of few channels: products on the images in place, whose
 * windows are overlapping rows of a matrix (windows_f32).  Only images that need padding or
 * conversion are copied.
 *
 * Forward takes a line of output positions at a time and sums over the window's rows; the weights'
 * gradient takes a window's row at a time and sums over the positions of an image.  The derivative
 * at the input takes a line of positions at a time, too: their columns stay in the nearest cache,
 * and the weights are transposed once for all images.
 *
 * Why: at LeNet's first convolution copying the columns takes half as long as multiplying them.
 *
 * A few outputs beyond whole registers (LeNet's 50 = 48 + 2) would cost as much as a whole register
 * of them.  They are computed separately, with the two sides of the product swapped: forward sums
 * along the window, the weights' gradient has the window across.
 */
#include "kernel/conv/columns.h"
#include "kernel/conv/ops.h"

#include "base/mem.h"

#include <string.h>

enum {
    MOST_K = 640,  /* kh kw c: above, the weights do not stay in the nearest caches */
    REGISTER = 16, /* floats of the widest register */
    MOST_REST = 4, /* outputs beyond whole registers that are computed separately ... */
    LONG_ROW = 32  /* ... if a window's row kw c is at least this */
};

typedef struct windows {
    float *padded;     /* [h][w][c] with the padding; NULL: images are used in place */
    size_t h, w;       /* of an image, with its padding */
    float *transposed; /* [o][kh kw c] weights for the derivative at the input */
    float *col;        /* [ow][kh kw c]; NULL: that pass is not used */
    float *image;      /* [h][w][c] of that derivative; NULL: it is written in place */
    size_t n_rest;     /* outputs computed separately, the last ones */
    float *rest_w;     /* [n_rest][kh][kw c]: their weights, or the gradient of these */
    float *rest_y;     /* [n_rest][ow] */
} windows;

bool drovek_conv_has_few_channels(const drovek_conv_shape *s)
{
    return s->groups == 1 && s->window.dw == 1 && s->window.kh * s->window.kw * s->c <= MOST_K;
}

static size_t padded_size(size_t size, size_t n_out, size_t step, size_t k, size_t distance,
                          size_t padding)
{
    size_t need = (n_out - 1) * step + (k - 1) * distance + 1;
    return need > size + padding ? need : size + padding;
}

static drove_status make_columns(drovek_conv *conv, windows *w)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    size_t k = s->window.kh * s->window.kw * s->c, n_transposed = drove__pad_floats(s->o * k);
    size_t n_columns = drove__pad_floats(s->ow * k + DROVEK_COLUMNS_SLACK);
    size_t n_image = conv->opt.in == DROVEK_NCHW && s->c > 1 ? s->c * s->h * s->w : 0;
    w->transposed = drove__alloc(n_transposed + n_columns + n_image, sizeof(float));
    if (w->transposed == NULL)
        return drove__fail_nomem("convolution",
                                 (n_transposed + n_columns + n_image) * sizeof(float));
    w->col = w->transposed + n_transposed;
    if (n_image > 0) w->image = w->col + n_columns;
    conv->size_bytes += (n_transposed + n_columns + n_image) * sizeof(float);
    return DROVE_OK;
}

static drove_status make_rest(drovek_conv *conv, windows *w)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    size_t row = s->window.kw * s->c, over = s->o % REGISTER;
    if (s->o < REGISTER || over > MOST_REST || row < LONG_ROW) return DROVE_OK;
    size_t n_weights = drove__pad_floats(over * s->window.kh * row);
    size_t n = n_weights + over * s->ow;
    w->n_rest = over;
    if (over == 0) return DROVE_OK;
    w->rest_w = drove__alloc(n, sizeof(float));
    if (w->rest_w == NULL) return drove__fail_nomem("convolution", n * sizeof(float));
    w->rest_y = w->rest_w + n_weights;
    conv->size_bytes += n * sizeof(float);
    return DROVE_OK;
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_options *opt = &conv->opt;
    const drovek_conv_shape *s = &opt->shape;
    const drovek_window *win = &s->window;
    if (drovek_is_blocked(opt->in) || opt->out != DROVEK_NHWC || !drovek_conv_has_few_channels(s)) {
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: windows are for few channels");
    }
    windows *w = conv->state = drove__alloc(1, sizeof *w);
    if (w == NULL) return drove__fail_nomem("convolution", sizeof *w);
    conv->size_bytes = sizeof *w;
    w->h = padded_size(s->h, s->oh, win->sh, win->kh, win->dh, win->ph);
    w->w = padded_size(s->w, s->ow, win->sw, win->kw, win->dw, win->pw);
    if (w->h > s->h || w->w > s->w || (opt->in == DROVEK_NCHW && s->c > 1)) {
        size_t n = w->h * w->w * s->c;
        w->padded = drove__alloc(n, sizeof(float)); /* the padding is 0 and stays 0 */
        if (w->padded == NULL) return drove__fail_nomem("convolution", n * sizeof(float));
        conv->size_bytes += n * sizeof(float);
    }
    DROVE_TRY(make_rest(conv, w));
    if (!(opt->passes & DROVEK_CONV_DATA)) return DROVE_OK;
    return make_columns(conv, w);
}

static void destroy(drovek_conv *conv)
{
    windows *w = conv->state;
    if (w == NULL) return;
    drove__free(w->transposed);
    drove__free(w->padded);
    drove__free(w->rest_w);
    drove__free(w);
}

/* An image as [h][w][c] with its padding. */
static const float *prepare(const drovek_conv *conv, const float *x)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *w = conv->state;
    if (w->padded == NULL) return x;
    for (size_t y = 0; y < s->h; y++) {
        float *to = w->padded + ((y + s->window.ph) * w->w + s->window.pw) * s->c;
        if (conv->opt.in == DROVEK_NHWC) {
            memcpy(to, x + y * s->w * s->c, s->w * s->c * sizeof *to);
            continue;
        }
        for (size_t c = 0; c < s->c; c++) {
            const float *from = x + (c * s->h + y) * s->w;
            for (size_t k = 0; k < s->w; k++) to[k * s->c + c] = from[k];
        }
    }
    return w->padded;
}

/* rest_w = the weights of the last outputs, output by output. */
static void gather_rest(const drovek_conv *conv, const float *w)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    size_t n = s->window.kh * s->window.kw * s->c, first = s->o - state->n_rest;
    for (size_t q = 0; q < state->n_rest; q++) {
        for (size_t p = 0; p < n; p++) state->rest_w[q * n + p] = w[p * s->o + first + q];
    }
}

/* The last outputs of the line of positions that `line` computes. */
static void forward_rest(const drovek_conv *conv, const drovek_windows *line)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    size_t first = s->o - state->n_rest;
    drovek_windows t = {.m = state->n_rest,
                        .n = line->m,
                        .k = line->k,
                        .n_segments = line->n_segments,
                        .a = state->rest_w,
                        .a_row = line->n_segments * line->k,
                        .a_step = 1,
                        .a_segment = line->k,
                        .b = line->a,
                        .b_step = 1,
                        .b_segment = line->a_segment,
                        .b_column = line->a_row,
                        .c = state->rest_y,
                        .c_row = s->ow};
    conv->opt.kernels->windows_f32(&t);
    for (size_t i = 0; i < line->m; i++) {
        for (size_t q = 0; q < state->n_rest; q++)
            line->c[i * s->o + first + q] = state->rest_y[q * s->ow + i];
    }
}

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_window *win = &s->window;
    const windows *state = conv->state;
    const size_t pitch = state->w * s->c;
    drovek_windows t = {.m = s->ow,
                        .n = s->o - state->n_rest,
                        .k = win->kw * s->c,
                        .n_segments = win->kh,
                        .a_row = win->sw * s->c,
                        .a_step = 1,
                        .a_segment = win->dh * pitch,
                        .b = w,
                        .b_step = s->o,
                        .b_segment = win->kw * s->c * s->o,
                        .b_column = 1,
                        .c_row = s->o};
    gather_rest(conv, w);
    for (size_t i = 0; i < n_rows; i++, x += s->c * s->h * s->w, y += s->oh * s->ow * s->o) {
        const float *image = prepare(conv, x);
        for (size_t line = 0; line < s->oh; line++) {
            t.a = image + line * win->sh * pitch;
            t.c = y + line * s->ow * s->o;
            conv->opt.kernels->windows_f32(&t);
            if (state->n_rest > 0) forward_rest(conv, &t);
        }
        conv->opt.kernels->bias_act_f32(y, b, s->oh * s->ow, s->o, conv->opt.act);
    }
}

/* transposed[o][k] = w[k][o] */
static void transpose_weights(const drovek_conv *conv, const float *w)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    size_t n = s->window.kh * s->window.kw * s->c;
    for (size_t p = 0; p < n; p++) {
        for (size_t j = 0; j < s->o; j++) state->transposed[j * n + p] = w[p * s->o + j];
    }
}

/* dx += the derivative of one image, [h][w][c] */
static void data_image(const drovek_conv *conv, const float *dy, float *dx)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    size_t n = s->window.kh * s->window.kw * s->c;
    for (size_t line = 0; line < s->oh; line++, dy += s->ow * s->o) {
        conv->opt.kernels->gemm_f32(false, false, s->ow, n, s->o, 1.0f, dy, s->o, state->transposed,
                                    n, 0.0f, state->col, n);
        drovek_columns_back(s, state->col, 0, line, 1, dx);
    }
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    const size_t in = s->c * s->h * s->w, out = s->o * s->oh * s->ow;
    transpose_weights(conv, w);
    for (size_t i = 0; i < n_rows; i++, dx += in, dy += out) {
        float *to = state->image != NULL ? state->image : dx;
        if (!adds || to != dx) memset(to, 0, in * sizeof *to);
        data_image(conv, dy, to);
        if (to != dx) drovek_reformat(to, DROVEK_NHWC, dx, DROVEK_NCHW, 1, s->c, s->h, s->w, adds);
    }
}

/* Row `ky` of the last outputs' window, summed over the positions of an image: rest_w (+)= it. */
static void weights_rest(const drovek_conv *conv, const drovek_windows *row, size_t ky)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    drovek_windows t = {.m = state->n_rest,
                        .n = row->m,
                        .k = row->k,
                        .n_segments = row->n_segments,
                        .a = row->b + s->o - state->n_rest,
                        .a_row = 1,
                        .a_step = row->b_step,
                        .a_segment = row->b_segment,
                        .b = row->a,
                        .b_step = row->a_step,
                        .b_segment = row->a_segment,
                        .b_column = 1,
                        .c = state->rest_w + ky * row->m,
                        .c_row = s->window.kh * row->m,
                        .adds = row->adds};
    conv->opt.kernels->windows_f32(&t);
}

static void scatter_rest(const drovek_conv *conv, float *dw)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const windows *state = conv->state;
    size_t n = s->window.kh * s->window.kw * s->c, first = s->o - state->n_rest;
    for (size_t q = 0; q < state->n_rest; q++) {
        for (size_t p = 0; p < n; p++) dw[p * s->o + first + q] = state->rest_w[q * n + p];
    }
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_window *win = &s->window;
    const windows *state = conv->state;
    const size_t pitch = state->w * s->c, row = win->kw * s->c;
    drovek_windows t = {.m = row,
                        .n = s->o - state->n_rest,
                        .k = s->ow,
                        .n_segments = s->oh,
                        .a_row = 1,
                        .a_step = win->sw * s->c,
                        .a_segment = win->sh * pitch,
                        .b_step = s->o,
                        .b_segment = s->ow * s->o,
                        .b_column = 1,
                        .c_row = s->o};
    for (size_t i = 0; i < n_rows; i++, x += s->c * s->h * s->w) {
        const float *image = prepare(conv, x);
        t.b = dy + i * s->oh * s->ow * s->o;
        t.adds = i > 0;
        for (size_t ky = 0; ky < win->kh; ky++) {
            t.a = image + ky * win->dh * pitch;
            t.c = dw + ky * row * s->o;
            conv->opt.kernels->windows_f32(&t);
            if (state->n_rest > 0) weights_rest(conv, &t, ky);
        }
    }
    scatter_rest(conv, dw);
}

const drovek_conv_ops drovek_conv_windows = {.name = "windows",
                                             .create = create,
                                             .destroy = destroy,
                                             .forward = forward,
                                             .data = data,
                                             .weights = weights};
