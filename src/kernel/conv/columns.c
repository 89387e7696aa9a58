/* kernel/conv/columns.c - im2col and its reverse. */
#include "kernel/conv/columns.h"
#include "kernel/conv/ops.h"

#include <string.h>

/* to[n] = from[n].  May write up to 15 floats more, which later writes to the matrix replace, and
 * read as many if they are before `end`. */
static inline void copy_piece(float *to, const float *from, size_t n, const float *end)
{
    if (n > 64 || (size_t)(end - from) < n + 15) {
        memcpy(to, from, n * sizeof *to);
    } else if (n <= 8) {
        memcpy(to, from, 8 * sizeof *to);
    } else {
        for (size_t k = 0; k < n; k += 16) memcpy(to + k, from + k, 16 * sizeof *to);
    }
}

/* The elements of a window's row that are inside the image: [first, last) of kw. */
typedef struct span {
    size_t first, last;
} span;

static inline span inside(const drovek_conv_shape *s, size_t ox)
{
    const drovek_window *win = &s->window;
    size_t begin = ox * win->sw, x;
    span out = {0, win->kw};
    while (out.first < win->kw &&
           !drovek_window_inside(begin, out.first * win->dw, win->pw, s->w, &x))
        out.first++;
    while (out.last > out.first &&
           !drovek_window_inside(begin, (out.last - 1) * win->dw, win->pw, s->w, &x))
        out.last--;
    return out;
}

/* Start of the windows of a line of output positions. */
typedef struct line_place {
    size_t image; /* first float */
    size_t begin; /* row of the padded image */
} line_place;

static inline line_place find_line(const drovek_conv_shape *s, size_t line)
{
    return (line_place){line / s->oh * (s->h * s->w * s->c), line % s->oh * s->window.sh};
}

/* One window's row: elements [in.first, in.last) from `from` on, zeros around them. */
static inline void put_row(float *col, const float *from, span in, size_t kw, size_t cg,
                           size_t step, const float *end)
{
    if (in.first > 0) memset(col, 0, in.first * cg * sizeof *col);
    if (step == cg) {
        copy_piece(col + in.first * cg, from, (in.last - in.first) * cg, end);
    } else {
        for (size_t k = in.first; k < in.last; k++, from += step)
            copy_piece(col + k * cg, from, cg, end);
    }
    if (in.last < kw) memset(col + in.last * cg, 0, (kw - in.last) * cg * sizeof *col);
}

/* A whole line of windows with short rows (up to `most` floats, a constant), inside the image and
 * without dilation: image rows `pitch` floats apart, from `from` on.  Copies each row as `most`
 * floats; the next row overwrites the excess. */
static inline float *put_short(const drovek_conv_shape *s, const float *from, float *col,
                               size_t most)
{
    const size_t row = s->window.kw * s->c, pitch = s->window.dh * s->w * s->c;
    for (size_t ox = 0; ox < s->ow; ox++, from += s->window.sw * s->c) {
        const float *at = from;
        for (size_t ky = 0; ky < s->window.kh; ky++, at += pitch, col += row)
            memcpy(col, at, most * sizeof *col);
    }
    return col;
}

/* Whether put_short applies to a line with n floats from its first window on: no window has
 * padding, on any side. */
static inline bool is_short(const drovek_conv_shape *s, size_t n)
{
    const drovek_window *win = &s->window;
    const size_t last = (win->kh - 1) * win->dh * s->w * s->c + (s->ow - 1) * win->sw * s->c;
    return s->groups == 1 && win->dw == 1 && win->kw * s->c <= 16 && win->ph == 0 && win->pw == 0 &&
           (s->ow - 1) * win->sw + win->kw <= s->w &&
           (s->oh - 1) * win->sh + (win->kh - 1) * win->dh < s->h && last + 16 <= n;
}

void drovek_columns(const drovek_conv_shape *s, const float *x, const float *x_end, size_t group,
                    size_t line, size_t n_lines, float *col)
{
    const drovek_window *win = &s->window;
    const size_t cg = s->c / s->groups, row = win->kw * cg, step = win->dw * s->c;
    for (size_t l = line; l < line + n_lines; l++) {
        const line_place at = find_line(s, l);
        const size_t first = at.image + at.begin * s->w * s->c;
        if (is_short(s, (size_t)(x_end - x) - first)) {
            col = row <= 8 ? put_short(s, x + first, col, 8) : put_short(s, x + first, col, 16);
            continue;
        }
        for (size_t ox = 0; ox < s->ow; ox++) {
            const span in = inside(s, ox);
            if (in.first == in.last) { /* the windows are all padding */
                memset(col, 0, win->kh * row * sizeof *col);
                col += win->kh * row;
                continue;
            }
            const float *from =
                x + at.image + group * cg + (ox * win->sw + in.first * win->dw - win->pw) * s->c;
            for (size_t ky = 0; ky < win->kh; ky++, col += row) {
                size_t y;
                if (drovek_window_inside(at.begin, ky * win->dh, win->ph, s->h, &y)) {
                    put_row(col, from + y * s->w * s->c, in, win->kw, cg, step, x_end);
                } else {
                    memset(col, 0, row * sizeof *col);
                }
            }
        }
    }
}

static inline void add_piece(float *to, const float *from, size_t n)
{
    for (size_t k = 0; k < n; k++) to[k] += from[k];
}

void drovek_columns_back(const drovek_conv_shape *s, const float *col, size_t group, size_t line,
                         size_t n_lines, float *dx)
{
    const drovek_window *win = &s->window;
    const size_t cg = s->c / s->groups, row = win->kw * cg, step = win->dw * s->c;
    for (size_t l = line; l < line + n_lines; l++) {
        const line_place at = find_line(s, l);
        for (size_t ox = 0; ox < s->ow; ox++) {
            const span in = inside(s, ox);
            if (in.first == in.last) {
                col += win->kh * row;
                continue;
            }
            float *image =
                dx + at.image + group * cg + (ox * win->sw + in.first * win->dw - win->pw) * s->c;
            for (size_t ky = 0; ky < win->kh; ky++, col += row) {
                size_t y;
                if (!drovek_window_inside(at.begin, ky * win->dh, win->ph, s->h, &y)) continue;
                float *to = image + y * s->w * s->c;
                if (step == cg) {
                    add_piece(to, col + in.first * cg, (in.last - in.first) * cg);
                } else {
                    for (size_t k = in.first; k < in.last; k++, to += step)
                        add_piece(to, col + k * cg, cg);
                }
            }
        }
    }
}
