/* kernel/conv_columns.c - see conv_columns.h. */
#include "kernel/conv_columns.h"
#include "kernel/conv_ops.h"

#include <string.h>

/* to[n] = from[n].  May write up to 15 floats more, which whoever fills the matrix writes again,
 * and read as many, where they are before `end`. */
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

/* Where a window's row lies: its first element inside, the span, and how far apart elements are. */
typedef struct place {
    size_t row;  /* first float of the image's row */
    size_t step; /* floats between elements */
    bool is_inside;
} place;

static inline place find_row(const drovek_conv_shape *s, size_t line, size_t ky)
{
    const drovek_window *win = &s->window;
    size_t y, image = line / s->oh;
    place out = {.step = win->dw * s->c};
    out.is_inside = drovek_window_inside(line % s->oh * win->sh, ky * win->dh, win->ph, s->h, &y);
    if (out.is_inside) out.row = (image * s->h + y) * s->w * s->c;
    return out;
}

void drovek_columns(const drovek_conv_shape *s, const float *x, const float *x_end, size_t group,
                    size_t line, size_t n_lines, float *col)
{
    const drovek_window *win = &s->window;
    const size_t cg = s->c / s->groups, row = win->kw * cg;
    const bool is_solid = s->groups == 1 && win->dw == 1;
    for (size_t l = line; l < line + n_lines; l++) {
        for (size_t ox = 0; ox < s->ow; ox++) {
            const span in = inside(s, ox);
            for (size_t ky = 0; ky < win->kh; ky++, col += row) {
                place at = find_row(s, l, ky);
                if (!at.is_inside || in.first == in.last) {
                    memset(col, 0, row * sizeof *col);
                    continue;
                }
                const float *from =
                    x + at.row + group * cg + (ox * win->sw + in.first * win->dw - win->pw) * s->c;
                memset(col, 0, in.first * cg * sizeof *col);
                if (is_solid) {
                    copy_piece(col + in.first * cg, from, (in.last - in.first) * cg, x_end);
                } else {
                    for (size_t k = in.first; k < in.last; k++, from += at.step)
                        copy_piece(col + k * cg, from, cg, x_end);
                }
                memset(col + in.last * cg, 0, (win->kw - in.last) * cg * sizeof *col);
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
    const size_t cg = s->c / s->groups, row = win->kw * cg;
    const bool is_solid = s->groups == 1 && win->dw == 1;
    for (size_t l = line; l < line + n_lines; l++) {
        for (size_t ox = 0; ox < s->ow; ox++) {
            const span in = inside(s, ox);
            for (size_t ky = 0; ky < win->kh; ky++, col += row) {
                place at = find_row(s, l, ky);
                if (!at.is_inside || in.first == in.last) continue;
                float *to =
                    dx + at.row + group * cg + (ox * win->sw + in.first * win->dw - win->pw) * s->c;
                if (is_solid) {
                    add_piece(to, col + in.first * cg, (in.last - in.first) * cg);
                } else {
                    for (size_t k = in.first; k < in.last; k++, to += at.step)
                        add_piece(to, col + k * cg, cg);
                }
            }
        }
    }
}
