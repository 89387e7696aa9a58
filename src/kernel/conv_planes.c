/* kernel/conv_planes.c - convolution of integers kept as bytes (planes.h), as matrix products: the
 * windows of some lines of output are the rows of a matrix of bytes.
 *
 * As in conv_gemm.c a chunk of lines is written and multiplied, and its output gets bias and
 * activation while it is in the cache.  Rows of the matrix begin on cache lines.  Copies may read
 * and write up to 47 bytes too much: behind an image and behind the matrix there is room.
 *
 * Integers come by drovek_conv_take.  The derivative at the input is summed up as singles.
 */
#include "kernel/conv_columns.h"
#include "kernel/conv_ops.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)768 << 10) /* of columns, but at least one line */

enum { MOST_PLANES = 2, COPY = 16, LONG_PIECE = 256 };

typedef struct integer_conv {
    uint8_t *col;   /* [planes][n_lines * ow][stride]; NULL: the images are the matrix */
    uint8_t *image; /* [planes][h][w][c]; NULL: the input has this layout */
    float *back;    /* [n_back * ow][k] derivatives of columns; NULL: not wanted, or direct */
    size_t k;       /* kh * kw * c / groups */
    size_t stride;  /* k, to a whole line */
    size_t n_lines, n_back;        /* per chunk, forward and back */
    size_t col_bytes, image_bytes; /* of one plane */
    bool is_direct;
} integer_conv;

/* Whether output positions are rows of the input in place. */
static bool is_direct(const drovek_conv_shape *s)
{
    const drovek_window *w = &s->window;
    return w->ph == 0 && w->pw == 0 && w->kh == 1 && w->kw == 1 && w->sh == 1 && w->sw == 1 &&
           s->oh == s->h && s->ow == s->w;
}

/* Lines that take `most` bytes; whole images if several fit, or within one. */
static size_t lines_of(const drovek_conv *conv, const integer_conv *v, size_t line_bytes,
                       size_t most)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    size_t n = most / line_bytes, all = conv->opt.max_rows * s->oh;
    if (n < 1) n = 1;
    if (n > s->oh) n -= n % s->oh;
    if (n > s->oh && v->image != NULL) n = s->oh;
    return n < all ? n : all;
}

static drove_status allocate(drovek_conv *conv, void *to, size_t n_bytes)
{
    void *memory = drove__alloc(n_bytes, 1);
    if (memory == NULL) return drove__fail_nomem("convolution", n_bytes);
    memcpy(to, &memory, sizeof memory);
    conv->size_bytes += n_bytes;
    return DROVE_OK;
}

static drove_status create(drovek_conv *conv)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    if (conv->opt.kernels->planes == NULL || conv->opt.in == DROVEK_NCHW16 ||
        conv->opt.out != DROVEK_NHWC ||
        (conv->opt.in == DROVEK_NCHW && s->c > 1 && (conv->opt.passes & DROVEK_CONV_DATA)))
        return drove__fail(DROVE_E_UNSUPPORTED, "convolution: planes is for plain integers");
    integer_conv *v = conv->state = drove__alloc(1, sizeof *v);
    if (v == NULL) return drove__fail_nomem("convolution", sizeof *v);
    *v = (integer_conv){.k = s->window.kh * s->window.kw * (s->c / s->groups),
                        .is_direct = is_direct(s)};
    conv->size_bytes = sizeof *v;
    v->image_bytes = s->c * s->h * s->w + DROVE_CACHE_LINE;
    if (conv->opt.in == DROVEK_NCHW && s->c > 1)
        DROVE_TRY(allocate(conv, &v->image, MOST_PLANES * v->image_bytes));
    v->stride = (v->k + DROVE_CACHE_LINE - 1) / DROVE_CACHE_LINE * DROVE_CACHE_LINE;
    v->n_lines = lines_of(conv, v, s->ow * v->stride, CHUNK_BYTES);
    v->col_bytes = v->n_lines * s->ow * v->stride + DROVE_CACHE_LINE;
    v->n_back = lines_of(conv, v, s->ow * v->k * sizeof(float), CHUNK_BYTES);
    if (!v->is_direct) DROVE_TRY(allocate(conv, &v->col, MOST_PLANES * v->col_bytes));
    if (v->is_direct || (conv->opt.passes & DROVEK_CONV_DATA) == 0) return DROVE_OK;
    return allocate(conv, &v->back,
                    (v->n_back * s->ow * v->k + DROVEK_COLUMNS_SLACK) * sizeof(float));
}

static void destroy(drovek_conv *conv)
{
    integer_conv *v = conv->state;
    if (v == NULL) return;
    drove__free(v->col);
    drove__free(v->image);
    drove__free(v->back);
    drove__free(v);
}

/* ---- columns ---- */

/* to[n] = from[n], in pieces of COPY. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n <= 8) memcpy(to, from, 8);
    else if (n > LONG_PIECE) memcpy(to, from, n);
    else
        for (size_t k = 0; k < n; k += COPY) memcpy(to + k, from + k, COPY);
}

/* Elements [*first, *last) of a window's row that are inside the image. */
static void find_inside(const drovek_conv_shape *s, size_t ox, size_t *first, size_t *last)
{
    const drovek_window *w = &s->window;
    const size_t begin = ox * w->sw;
    size_t x;
    *first = 0;
    *last = w->kw;
    while (*first < w->kw && !drovek_window_inside(begin, *first * w->dw, w->pw, s->w, &x))
        ++*first;
    while (*last > *first && !drovek_window_inside(begin, (*last - 1) * w->dw, w->pw, s->w, &x))
        --*last;
}

/* Whether no window of the line leaves the image. */
static bool is_inner(const drovek_conv_shape *s, size_t oy)
{
    const drovek_window *w = &s->window;
    return w->pw == 0 && w->dw == 1 && (s->ow - 1) * w->sw + w->kw <= s->w && oy * w->sh >= w->ph &&
           oy * w->sh - w->ph + (w->kh - 1) * w->dh < s->h;
}

/* A line of windows inside the image, which begins at `from`: rows of at most `most` bytes, a
 * constant, are copied as so many. */
static inline void put_short(const drovek_conv_shape *s, const uint8_t *from, uint8_t *col,
                             size_t stride, size_t most)
{
    const size_t pitch = s->window.dh * s->w * s->c, row = s->window.kw * s->c;
    for (size_t ox = 0; ox < s->ow; ox++, from += s->window.sw * s->c, col += stride)
        for (size_t ky = 0; ky < s->window.kh; ky++)
            memcpy(col + ky * row, from + ky * pitch, most);
}

/* The same for any rows; cg: channels of the group. */
static void put_inner(const drovek_conv_shape *s, const uint8_t *from, size_t cg, uint8_t *col,
                      size_t stride)
{
    const size_t pitch = s->window.dh * s->w * s->c, row = s->window.kw * cg;
    if (cg == s->c && row <= 8) put_short(s, from, col, stride, 8);
    else if (cg == s->c && row <= 16) put_short(s, from, col, stride, 16);
    else if (cg == s->c && row <= 48) put_short(s, from, col, stride, 48);
    else if (cg == s->c && row <= 112 && row > 64) put_short(s, from, col, stride, 112);
    else
        for (size_t ox = 0; ox < s->ow; ox++, from += s->window.sw * s->c, col += stride) {
            for (size_t ky = 0; ky < s->window.kh; ky++) {
                const uint8_t *at = from + ky * pitch;
                uint8_t *to = col + ky * row;
                if (cg == s->c) copy_bytes(to, at, row);
                else
                    for (size_t kx = 0; kx < s->window.kw; kx++)
                        copy_bytes(to + kx * cg, at + kx * s->c, cg);
            }
        }
}

/* Row ky of the window at (oy, ox), of which the elements [first, last) are inside the image. */
static void put_row(const drovek_conv_shape *s, const uint8_t *image, size_t cg, size_t y,
                    size_t ox, size_t first, size_t last, uint8_t *to)
{
    const drovek_window *w = &s->window;
    const uint8_t *from = image + (y * s->w + ox * w->sw + first * w->dw - w->pw) * s->c;
    memset(to, 0, first * cg);
    if (cg == s->c && w->dw == 1) copy_bytes(to + first * cg, from, (last - first) * cg);
    else
        for (size_t kx = first; kx < last; kx++, from += w->dw * s->c)
            copy_bytes(to + kx * cg, from, cg);
    memset(to + last * cg, 0, (w->kw - last) * cg);
}

static void put_windows(const drovek_conv_shape *s, const uint8_t *image, size_t cg, size_t oy,
                        uint8_t *col, size_t stride)
{
    const drovek_window *w = &s->window;
    for (size_t ox = 0; ox < s->ow; ox++, col += stride) {
        size_t first, last, y;
        find_inside(s, ox, &first, &last);
        for (size_t ky = 0; ky < w->kh; ky++) {
            uint8_t *to = col + ky * w->kw * cg;
            if (first < last && drovek_window_inside(oy * w->sh, ky * w->dh, w->ph, s->h, &y))
                put_row(s, image, cg, y, ox, first, last, to);
            else memset(to, 0, w->kw * cg);
        }
    }
}

/* One plane: n_lines lines of output positions from line `line` on, through all images of x. */
static void put_columns(const drovek_conv_shape *s, const uint8_t *x, size_t group, size_t line,
                        size_t n_lines, uint8_t *col, size_t stride)
{
    const size_t cg = s->c / s->groups;
    for (size_t l = line; l < line + n_lines; l++, col += s->ow * stride) {
        const size_t oy = l % s->oh;
        const uint8_t *image = x + l / s->oh * (s->h * s->w * s->c) + group * cg;
        if (is_inner(s, oy))
            put_inner(s, image + (oy * s->window.sh - s->window.ph) * s->w * s->c, cg, col, stride);
        else put_windows(s, image, cg, oy, col, stride);
    }
}

/* ---- chunks ---- */

/* Converts the next image if the chunk that begins at `line` is its first. */
static void convert_image(const drovek_conv *conv, size_t line)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const integer_conv *v = conv->state;
    const drovek_planes *x = &conv->taken.x;
    const size_t first = line / s->oh * (s->c * s->h * s->w);
    drovek_planes_turn_fn *turn = conv->opt.kernels->planes->turn;
    if (v->image == NULL || line % s->oh != 0) return;
    turn(v->image, x->high + first, s->c, s->h * s->w);
    if (x->low != NULL) turn(v->image + v->image_bytes, x->low + first, s->c, s->h * s->w);
}

/* The windows of a chunk as rows of a matrix, *step bytes apart. */
static drovek_planes take_chunk(const drovek_conv *conv, size_t group, size_t line, size_t n_lines,
                                size_t *step)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const integer_conv *v = conv->state;
    drovek_planes x = conv->taken.x, col = x;
    const bool is_wide = x.low != NULL;
    if (v->image != NULL) {
        x.high = v->image;
        if (is_wide) x.low = v->image + v->image_bytes;
        line %= s->oh;
    }
    *step = v->is_direct ? s->c : v->stride;
    if (v->is_direct)
        return drovek_planes_from(&x, line * s->ow * s->c + group * (s->c / s->groups));
    col.high = v->col;
    put_columns(s, x.high, group, line, n_lines, col.high, v->stride);
    if (!is_wide) return col;
    col.low = v->col + v->col_bytes;
    put_columns(s, x.low, group, line, n_lines, col.low, v->stride);
    return col;
}

static size_t lines_left(const drovek_conv *conv, size_t line, size_t all)
{
    const integer_conv *v = conv->state;
    const size_t oh = conv->opt.shape.oh;
    const size_t end = v->image != NULL ? line - line % oh + oh : all;
    return end - line < v->n_lines ? end - line : v->n_lines;
}

/* ---- passes ---- */

static void forward(drovek_conv *conv, const float *x, const float *w, const float *b, float *y,
                    size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_table *t = conv->opt.kernels;
    const integer_conv *v = conv->state;
    const size_t og = s->o / s->groups, n_lines = n_rows * s->oh;
    (void)x, (void)w;
    drovek_planes_end end = {.relu = conv->opt.act == DROVEK_RELU};
    for (size_t line = 0, n; line < n_lines; line += n) {
        float *out = y + line * s->ow * s->o;
        n = lines_left(conv, line, n_lines);
        convert_image(conv, line);
        for (size_t g = 0; g < s->groups; g++) {
            size_t step;
            const drovek_planes c = take_chunk(conv, g, line, n, &step);
            const drovek_planes from = drovek_planes_columns(&conv->taken.w, g * v->k * og, g * og);
            end.bias = b + g * og;
            t->planes->gemm(false, false, n * s->ow, og, v->k, &c, step, &from, og, false,
                            out + g * og, s->o, &end);
        }
    }
    conv->largest = end.largest;
}

static void weights(drovek_conv *conv, const float *x, const float *dy, float *dw, size_t n_rows)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const integer_conv *v = conv->state;
    const size_t og = s->o / s->groups, n_lines = n_rows * s->oh;
    (void)x, (void)dy;
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = lines_left(conv, line, n_lines);
        convert_image(conv, line);
        for (size_t g = 0; g < s->groups; g++) {
            size_t step;
            const drovek_planes c = take_chunk(conv, g, line, n, &step);
            const drovek_planes d =
                drovek_planes_columns(&conv->taken.dy, line * s->ow * s->o + g * og, g * og);
            conv->opt.kernels->planes->gemm(true, false, v->k, og, n * s->ow, &c, step, &d, s->o,
                                            line > 0, dw + g * v->k * og, og, NULL);
        }
    }
}

static void data(drovek_conv *conv, const float *dy, const float *w, float *dx, size_t n_rows,
                 bool adds)
{
    const drovek_conv_shape *s = &conv->opt.shape;
    const drovek_planes_ops *ops = conv->opt.kernels->planes;
    const integer_conv *v = conv->state;
    const size_t og = s->o / s->groups, cg = s->c / s->groups, n_lines = n_rows * s->oh;
    (void)dy, (void)w;
    if (!v->is_direct && !adds) memset(dx, 0, n_rows * s->c * s->h * s->w * sizeof *dx);
    for (size_t line = 0, n; line < n_lines; line += n) {
        n = n_lines - line < v->n_back ? n_lines - line : v->n_back;
        for (size_t g = 0; g < s->groups; g++) {
            const size_t at = line * s->ow * s->o + g * og;
            const drovek_planes d = drovek_planes_from(&conv->taken.dy, at),
                                own = drovek_planes_from(&conv->taken.w, g * v->k * og);
            float *to = v->is_direct ? dx + line * s->ow * s->c + g * cg : v->back;
            ops->gemm(false, true, n * s->ow, v->k, og, &d, s->o, &own, og, v->is_direct && adds,
                      to, v->is_direct ? s->c : v->k, NULL);
            if (!v->is_direct) drovek_columns_back(s, v->back, g, line, n, dx);
        }
    }
}

const drovek_conv_ops drovek_conv_planes = {.name = "planes",
                                            .create = create,
                                            .destroy = destroy,
                                            .forward = forward,
                                            .data = data,
                                            .weights = weights};
