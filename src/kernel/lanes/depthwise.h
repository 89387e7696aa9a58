/* kernel/lanes/depthwise.h - depthwise convolution, vectorised over the channels of one position.
 *
 * Forward and backward to the input are one loop.  Along each side, output i sums over its taps m
 *
 *     from[first + i * step + m * direction] w[m]
 *
 * forward with first = -pad and direction 1.  Backward, input positions fall into `step` phases
 * (at + pad = q * step + phase), which meet the taps phase, phase + step, ... alone, and read
 * windows q, q - 1, ...: first = q of the first one, step 1, direction -1.
 *
 * Where a run of neighbours has all its taps inside, DW_RUN of them share a load of the weights;
 * at the edges the taps outside are left out, not multiplied by zero.  Sums are in the order of the
 * taps, whatever is computed together.
 */
#ifndef DROVEK_LANES_DEPTHWISE_H
#define DROVEK_LANES_DEPTHWISE_H

#include "kernel/lanes/blocks.h"
#include "kernel/tiers.h"

#include <stddef.h>

enum { DW_RUN = 4, DW_VECS = 2, DW_EDGE_VECS = 4 };

typedef struct dw_side {
    ptrdiff_t first, step, direction; /* as above */
    size_t    n_taps, n_from, n;      /* positions read; positions written */
    size_t    to_first, to_step;      /* where position i is written */
    size_t    tap_first, tap_step;    /* where tap m is in the window */
} dw_side;

typedef struct dw_taps {
    size_t first, last; /* [first, last) of n_taps */
} dw_taps;

/* The taps of position i that are inside. */
INLINE dw_taps dw_inside(const dw_side *s, size_t i)
{
    const ptrdiff_t at = s->first + (ptrdiff_t)i * s->step, n = (ptrdiff_t)s->n_from;
    ptrdiff_t       first = s->direction > 0 ? -at : at - n + 1;
    ptrdiff_t       last = s->direction > 0 ? n - at : at + 1;
    if (first < 0) first = 0;
    if (first > (ptrdiff_t)s->n_taps) first = (ptrdiff_t)s->n_taps;
    if (last > (ptrdiff_t)s->n_taps) last = (ptrdiff_t)s->n_taps;
    return (dw_taps){(size_t)first, (size_t)(last > first ? last : first)};
}

INLINE dw_side dw_forward_side(size_t k, size_t step, size_t pad, size_t n_from, size_t n)
{
    return (dw_side){.first = -(ptrdiff_t)pad,
                     .step = (ptrdiff_t)step,
                     .direction = 1,
                     .n_taps = k,
                     .n_from = n_from,
                     .n = n,
                     .to_step = 1,
                     .tap_step = 1};
}

/* n: positions of the input, n_from: of the output */
INLINE dw_side dw_back_side(size_t k, size_t step, size_t pad, size_t n_from, size_t n,
                            size_t phase)
{
    const size_t first = (phase + step - pad % step) % step; /* at + pad = q step + phase */
    return (dw_side){.first = (ptrdiff_t)((first + pad) / step),
                     .step = 1,
                     .direction = -1,
                     .n_taps = phase < k ? (k - phase + step - 1) / step : 0,
                     .n_from = n_from,
                     .n = first < n ? (n - first + step - 1) / step : 0,
                     .to_first = first,
                     .to_step = step,
                     .tap_first = phase,
                     .tap_step = step};
}

/* A run of outputs along a line: strides in floats. */
typedef struct dw_run {
    const float *from, *w, *b;   /* of its first tap; b NULL: 0 */
    size_t       n_rows, n_cols; /* taps */
    ptrdiff_t    row, col, next; /* in `from`: to the next row and column of taps, output */
    size_t       w_row, w_col;   /* in w */
    float       *to;
    size_t       to_next;
    bool         adds;
} dw_run;

INLINE void dw_sum(const dw_run *r, size_t at, size_t n_run, size_t n_vec, size_t last)
{
    vec sum[DW_RUN][DW_EDGE_VECS];
    UNROLL
    for (size_t i = 0; i < n_run; i++) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            const size_t j = at + v * LANES, count = block_count(v, n_vec, last);
            sum[i][v] = r->adds        ? vec_load(r->to + i * r->to_next + j, count)
                        : r->b != NULL ? vec_load(r->b + j, count)
                                       : vec_set(0.0f);
        }
    }
    for (size_t ky = 0; ky < r->n_rows; ky++) {
        const float *from = r->from + (ptrdiff_t)ky * r->row + (ptrdiff_t)at;
        const float *w = r->w + ky * r->w_row + at;
        for (size_t kx = 0; kx < r->n_cols; kx++, from += r->col, w += r->w_col) {
            UNROLL
            for (size_t v = 0; v < n_vec; v++) {
                const size_t count = block_count(v, n_vec, last);
                const vec    weight = vec_load(w + v * LANES, count);
                UNROLL
                for (size_t i = 0; i < n_run; i++) {
                    const float *x = from + (ptrdiff_t)i * r->next + (ptrdiff_t)(v * LANES);
                    sum[i][v] = vec_fma(vec_load(x, count), weight, sum[i][v]);
                }
            }
        }
    }
    UNROLL
    for (size_t i = 0; i < n_run; i++)
        block_store(r->to + i * r->to_next + at, sum[i], n_vec, last);
}

/* All channels. */
INLINE void dw_sum_run(const dw_run *r, size_t c)
{
    size_t j = 0;
    for (; j + DW_VECS * LANES <= c; j += DW_VECS * LANES) dw_sum(r, j, DW_RUN, DW_VECS, LANES);
    for (; j + LANES <= c; j += LANES) dw_sum(r, j, DW_RUN, 1, LANES);
    if (j < c) dw_sum(r, j, DW_RUN, 1, c - j);
}

INLINE void dw_sum_one(const dw_run *r, size_t c)
{
    size_t j = 0;
    for (; j + DW_EDGE_VECS * LANES <= c; j += DW_EDGE_VECS * LANES)
        dw_sum(r, j, 1, DW_EDGE_VECS, LANES);
    for (; j + LANES <= c; j += LANES) dw_sum(r, j, 1, 1, LANES);
    if (j < c) dw_sum(r, j, 1, 1, c - j);
}

/* A pass over one image: from[.][w_from][c], w[.][kw][c], to[.][w_to][c]. */
typedef struct dw_pass {
    const float *from, *w, *b;
    float       *to;
    size_t       w_from, w_to, kw, c;
    bool         adds;
} dw_pass;

/* One phase of each side. */
INLINE void dw_phase(const dw_pass *p, const dw_side *rows, const dw_side *cols)
{
    const size_t c = p->c;
    dw_run       r = {.b = p->b,
                      .row = rows->direction * (ptrdiff_t)(p->w_from * c),
                      .col = cols->direction * (ptrdiff_t)c,
                      .next = cols->step * (ptrdiff_t)c,
                      .w_row = rows->tap_step * p->kw * c,
                      .w_col = cols->tap_step * c,
                      .to_next = cols->to_step * c,
                      .adds = p->adds};
    for (size_t i = 0; i < rows->n; i++) {
        const dw_taps   y = dw_inside(rows, i);
        const ptrdiff_t line =
            rows->first + (ptrdiff_t)i * rows->step + (ptrdiff_t)y.first * rows->direction;
        float       *to_line = p->to + (rows->to_first + i * rows->to_step) * p->w_to * c;
        const float *w_line = p->w + (rows->tap_first + y.first * rows->tap_step) * p->kw * c;
        r.n_rows = y.last - y.first;
        for (size_t k = 0, n_run; k < cols->n; k += n_run) {
            const dw_taps   x = dw_inside(cols, k);
            const ptrdiff_t at =
                cols->first + (ptrdiff_t)k * cols->step + (ptrdiff_t)x.first * cols->direction;
            n_run = 1;
            if (x.last - x.first == cols->n_taps && k + DW_RUN <= cols->n) {
                const dw_taps far = dw_inside(cols, k + DW_RUN - 1);
                if (far.last - far.first == cols->n_taps) n_run = DW_RUN;
            }
            r.n_cols = x.last - x.first;
            r.from = p->from + (line * (ptrdiff_t)p->w_from + at) * (ptrdiff_t)c;
            r.w = w_line + (cols->tap_first + x.first * cols->tap_step) * c;
            r.to = to_line + (cols->to_first + k * cols->to_step) * c;
            if (n_run == DW_RUN) dw_sum_run(&r, c);
            else dw_sum_one(&r, c);
        }
    }
}

static void depthwise_f32(const drovek_pool *p, const float *x, const float *w, const float *b,
                          float *y, size_t n)
{
    const dw_side rows = dw_forward_side(p->kh, p->sh, p->ph, p->h, p->oh);
    const dw_side cols = dw_forward_side(p->kw, p->sw, p->pw, p->w, p->ow);
    for (size_t i = 0; i < n; i++) {
        const dw_pass one = {.from = x + i * p->h * p->w * p->c,
                             .w = w,
                             .b = b,
                             .to = y + i * p->oh * p->ow * p->c,
                             .w_from = p->w,
                             .w_to = p->ow,
                             .kw = p->kw,
                             .c = p->c};
        dw_phase(&one, &rows, &cols);
    }
}

static void depthwise_back_f32(const drovek_pool *p, const float *dy, const float *w, float *dx,
                               size_t n, bool adds)
{
    for (size_t i = 0; i < n; i++) {
        const dw_pass one = {.from = dy + i * p->oh * p->ow * p->c,
                             .w = w,
                             .to = dx + i * p->h * p->w * p->c,
                             .w_from = p->ow,
                             .w_to = p->w,
                             .kw = p->kw,
                             .c = p->c,
                             .adds = adds};
        for (size_t phase = 0; phase < p->sh * p->sw; phase++) {
            const dw_side rows = dw_back_side(p->kh, p->sh, p->ph, p->oh, p->h, phase / p->sw);
            const dw_side cols = dw_back_side(p->kw, p->sw, p->pw, p->ow, p->w, phase % p->sw);
            dw_phase(&one, &rows, &cols);
        }
    }
}

/* ---- the weights' gradient ---- */

enum { DW_TAPS = 5 }; /* columns of a window that are summed at once */

/* n outputs side by side, whose windows have the same columns inside: the first of these, in one
 * line of x. */
typedef struct dw_outputs {
    const float *x, *dy;
    size_t       n, next, c; /* next: floats of x to the next output's window */
} dw_outputs;

/* dw[n_taps][c] += sum over the outputs of x[tap][c] dy[c] */
INLINE void dw_add_block(const dw_outputs *o, float *dw, size_t n_taps, size_t at, size_t n_vec,
                         size_t last)
{
    const float *x = o->x + at, *dy = o->dy + at;
    vec          sum[DW_TAPS][DW_VECS];
    UNROLL
    for (size_t t = 0; t < n_taps; t++) block_load(sum[t], dw + t * o->c + at, n_vec, last);
    for (size_t i = 0; i < o->n; i++, x += o->next, dy += o->c) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            const size_t count = block_count(v, n_vec, last);
            const vec    d = vec_load(dy + v * LANES, count);
            UNROLL
            for (size_t t = 0; t < n_taps; t++)
                sum[t][v] = vec_fma(vec_load(x + t * o->c + v * LANES, count), d, sum[t][v]);
        }
    }
    UNROLL
    for (size_t t = 0; t < n_taps; t++) block_store(dw + t * o->c + at, sum[t], n_vec, last);
}

INLINE void dw_add_taps(const dw_outputs *o, float *dw, size_t n_taps)
{
    size_t j = 0;
    for (; j + DW_VECS * LANES <= o->c; j += DW_VECS * LANES)
        dw_add_block(o, dw, n_taps, j, DW_VECS, LANES);
    for (; j + LANES <= o->c; j += LANES) dw_add_block(o, dw, n_taps, j, 1, LANES);
    if (j < o->c) dw_add_block(o, dw, n_taps, j, 1, o->c - j);
}

static void dw_add(dw_outputs o, float *dw, size_t n_taps)
{
    for (; n_taps >= DW_TAPS; n_taps -= DW_TAPS, o.x += DW_TAPS * o.c, dw += DW_TAPS * o.c)
        dw_add_taps(&o, dw, DW_TAPS);
    switch (n_taps) {
    case 4: dw_add_taps(&o, dw, 4); break;
    case 3: dw_add_taps(&o, dw, 3); break;
    case 2: dw_add_taps(&o, dw, 2); break;
    case 1: dw_add_taps(&o, dw, 1); break;
    default: break;
    }
}

static void depthwise_weights_f32(const drovek_pool *p, const float *x, const float *dy, float *dw,
                                  size_t n)
{
    const size_t  c = p->c;
    const dw_side rows = dw_forward_side(p->kh, p->sh, p->ph, p->h, p->oh);
    const dw_side cols = dw_forward_side(p->kw, p->sw, p->pw, p->w, p->ow);
    for (size_t i = 0; i < n; i++, x += p->h * p->w * c) {
        for (size_t oy = 0; oy < p->oh; oy++, dy += p->ow * c) {
            const dw_taps y = dw_inside(&rows, oy);
            for (size_t ox = 0, n_same; ox < p->ow; ox += n_same) {
                const dw_taps t = dw_inside(&cols, ox);
                for (n_same = 1; ox + n_same < p->ow; n_same++) {
                    const dw_taps next = dw_inside(&cols, ox + n_same);
                    if (next.first != t.first || next.last != t.last) break;
                }
                for (size_t ky = y.first; ky < y.last; ky++) {
                    const size_t line = oy * p->sh + ky - p->ph;
                    const size_t col = ox * p->sw + t.first - p->pw;
                    dw_add((dw_outputs){.x = x + (line * p->w + col) * c,
                                        .dy = dy + ox * c,
                                        .n = n_same,
                                        .next = p->sw * c,
                                        .c = c},
                           dw + (ky * p->kw + t.first) * c, t.last - t.first);
                }
            }
        }
    }
}

#endif
