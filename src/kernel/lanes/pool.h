/* kernel/lanes/pool.h - max and average pooling forward, vectorised: window by window, over the
 * channels of one position.  If these do not fill whole registers, the last register starts earlier
 * and repeats some of them, unless there are fewer than one register holds.  Backward: pool_back.h.
 */
#ifndef DROVEK_LANES_POOL_H
#define DROVEK_LANES_POOL_H

#include "kernel/lanes/blocks.h"
#include "kernel/tiers.h"

#include <math.h>

enum { POOL_VECS = 4 };

typedef struct pool_range {
    size_t first, last; /* [first, last) */
} pool_range;

/* Elements of window `o` along one side that are in the image. */
INLINE pool_range pool_inside(size_t o, size_t k, size_t step, size_t pad, size_t side)
{
    size_t     start = o * step;
    pool_range r = {start < pad ? pad - start : 0, k};
    if (start + k > side + pad) r.last = side + pad - start;
    return r;
}

/* One window: x is its first element that is in the image. */
typedef struct pool_window {
    size_t rows, cols, row_step, c; /* its part in the image; floats to the next row, position */
    size_t tap, kw;                 /* number of the first element; elements of a whole row */
    float  factor;                  /* average: 1 / area */
} pool_window;

INLINE void max_block(const pool_window *t, const float *x, float *y, uint8_t *place, size_t n_vec,
                      size_t last)
{
    vec best[POOL_VECS], which[POOL_VECS], one = vec_set(1.0f);
    UNROLL
    for (size_t v = 0; v < n_vec; v++) {
        best[v] = vec_set(-INFINITY);
        which[v] = vec_set((float)t->tap);
    }
    for (size_t ky = 0; ky < t->rows; ky++, x += t->row_step) {
        vec tap = vec_set((float)(t->tap + ky * t->kw));
        for (size_t kx = 0; kx < t->cols; kx++, tap = vec_add(tap, one)) {
            UNROLL
            for (size_t v = 0; v < n_vec; v++) {
                vec      value = vec_load(x + kx * t->c + v * LANES, block_count(v, n_vec, last));
                vec_bool wins = vec_exceeds(value, best[v]);
                best[v] = vec_select(wins, value, best[v]);
                if (place != NULL) which[v] = vec_select(wins, tap, which[v]);
            }
        }
    }
    block_store(y, best, n_vec, last);
    if (place == NULL) return;
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        vec_store_u8(place + v * LANES, which[v], block_count(v, n_vec, last));
}

INLINE void average_block(const pool_window *t, const float *x, float *y, size_t n_vec, size_t last)
{
    vec sum[POOL_VECS], factor = vec_set(t->factor);
    UNROLL
    for (size_t v = 0; v < n_vec; v++) sum[v] = vec_set(0.0f);
    for (size_t ky = 0; ky < t->rows; ky++, x += t->row_step) {
        for (size_t kx = 0; kx < t->cols; kx++) {
            UNROLL
            for (size_t v = 0; v < n_vec; v++) {
                size_t count = block_count(v, n_vec, last);
                sum[v] = vec_add(sum[v], vec_load(x + kx * t->c + v * LANES, count));
            }
        }
    }
    UNROLL
    for (size_t v = 0; v < n_vec; v++) sum[v] = vec_mul(sum[v], factor);
    block_store(y, sum, n_vec, last);
}

typedef enum pool_kind { POOL_MAX, POOL_MAX_PLACE, POOL_AVERAGE } pool_kind;

INLINE void pool_block(pool_kind kind, const pool_window *t, const float *x, float *y,
                       uint8_t *place, size_t n_vec, size_t last)
{
    if (kind == POOL_AVERAGE) average_block(t, x, y, n_vec, last);
    else max_block(t, x, y, kind == POOL_MAX_PLACE ? place : NULL, n_vec, last);
}

INLINE void pool_columns(pool_kind kind, const pool_window *t, const float *x, float *y,
                         uint8_t *place)
{
    size_t j = 0, c = t->c;
#define AT(n_vec, last)                                                                            \
    pool_block(kind, t, x + j, y + j, kind == POOL_MAX_PLACE ? place + j : NULL, n_vec, last)
    for (; j + POOL_VECS * LANES <= c; j += POOL_VECS * LANES) AT(POOL_VECS, LANES);
    for (; j + LANES <= c; j += LANES) AT(1, LANES);
    if (j == c) return;
    if (c >= LANES) j = c - LANES;
    if (c >= LANES) AT(1, LANES);
    else AT(1, c);
#undef AT
}

/* Windows of the sizes that networks use, with unrolled loops over their elements. */
INLINE void pool_window_of(pool_kind kind, const pool_window *t, const float *x, float *y,
                           uint8_t *place)
{
    pool_window fixed = *t;
    if (t->rows == 3 && t->cols == 3) {
        fixed.rows = fixed.cols = fixed.kw = 3, fixed.tap = 0;
        if (t->kw == 3) {
            pool_columns(kind, &fixed, x, y, place);
            return;
        }
    } else if (t->rows == 2 && t->cols == 2 && t->kw == 2) {
        fixed.rows = fixed.cols = fixed.kw = 2, fixed.tap = 0;
        pool_columns(kind, &fixed, x, y, place);
        return;
    }
    pool_columns(kind, t, x, y, place);
}

INLINE float pool_factor(const drovek_pool *p, size_t oy, size_t ox)
{
    size_t rows = drovek_pool_length(oy, p->kh, p->sh, p->y0, p->y1);
    size_t cols = drovek_pool_length(ox, p->kw, p->sw, p->x0, p->x1);
    return 1.0f / (float)(rows * cols);
}

INLINE void pool_forward(pool_kind kind, const drovek_pool *p, const float *x, float *y,
                         uint8_t *place, size_t n)
{
    pool_window t = {.row_step = p->w * p->c, .c = p->c, .kw = p->kw};
    for (size_t i = 0; i < n; i++, x += p->h * p->w * p->c) {
        for (size_t oy = 0; oy < p->oh; oy++) {
            pool_range   rows = pool_inside(oy, p->kh, p->sh, p->ph, p->h);
            const float *from = x + (oy * p->sh + rows.first - p->ph) * t.row_step;
            t.rows = rows.last - rows.first;
            for (size_t ox = 0; ox < p->ow; ox++, y += p->c) {
                pool_range cols = pool_inside(ox, p->kw, p->sw, p->pw, p->w);
                t.cols = cols.last - cols.first;
                t.tap = rows.first * p->kw + cols.first;
                if (kind == POOL_AVERAGE) t.factor = pool_factor(p, oy, ox);
                pool_window_of(kind, &t, from + (ox * p->sw + cols.first - p->pw) * p->c, y, place);
                if (kind == POOL_MAX_PLACE) place += p->c;
            }
        }
    }
}

static void max_pool_f32(const drovek_pool *p, const float *x, float *y, void *place, size_t n)
{
    if (place == NULL) pool_forward(POOL_MAX, p, x, y, NULL, n);
    else if (p->kh * p->kw <= DROVEK_POOL_BYTE) pool_forward(POOL_MAX_PLACE, p, x, y, place, n);
    else drovek_max_pool_f32_ref(p, x, y, place, n);
}

static void average_pool_f32(const drovek_pool *p, const float *x, float *y, size_t n)
{
    pool_forward(POOL_AVERAGE, p, x, y, NULL, n);
}

#endif
