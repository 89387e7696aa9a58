/* kernel/conv/byte_columns.c - im2col of bytes: see byte_columns.h. */
#include "kernel/conv/byte_columns.h"
#include "kernel/conv/ops.h"

#include <string.h>

enum { COPY = 16, LONG_PIECE = 256 };

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

void drovek_byte_columns(const drovek_conv_shape *s, const uint8_t *x, size_t group, size_t line,
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
