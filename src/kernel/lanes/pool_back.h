/* kernel/lanes/pool_back.h - max and average pooling backward, vectorised.
 *
 * Every element of dx is written once, as the sum over the windows that cover it, in the order of
 * their columns, then rows.  For the windows that networks use, a row of dx is computed by sliding:
 * k sums hold the positions under one window; the window's share is added to them, the first `step`
 * of them are complete and are stored, and the others move up.  Other windows: position by
 * position.
 */
#ifndef DROVEK_LANES_POOL_BACK_H
#define DROVEK_LANES_POOL_BACK_H

#include "kernel/lanes/pool.h"

enum { SLIDE_VECS = N_REGISTERS / 8, SLIDE_MOST = 5 }; /* registers of channels; largest window */

/* One row of positions of the input. */
typedef struct pool_row {
    const drovek_pool *p;
    const float       *dy; /* of the image */
    const uint8_t     *place;
    size_t             iy;
    pool_range         rows;   /* of windows that cover it */
    float              factor; /* average: 1 / area of a window that is not clipped */
    float             *dx;     /* of the row */
    bool               adds;
} pool_row;

/* Windows along one side that cover position `at`, for ascending `at`: starts as {0, 0}. */
INLINE void pool_advance(pool_range *r, size_t at, size_t k, size_t step, size_t pad, size_t n)
{
    while (r->first * step + k <= at + pad) r->first++;
    while (r->last < n && r->last * step <= at + pad) r->last++;
}

INLINE bool pool_is_whole(size_t o, size_t k, size_t step, size_t first, size_t last)
{
    return o * step >= first && o * step + k <= last;
}

INLINE vec share_factor(const pool_row *t, size_t oy, size_t ox)
{
    const drovek_pool *p = t->p;
    bool               is_whole = pool_is_whole(oy, p->kh, p->sh, p->y0, p->y1) &&
                    pool_is_whole(ox, p->kw, p->sw, p->x0, p->x1);
    return vec_set(is_whole ? t->factor : pool_factor(p, oy, ox));
}

INLINE void store_sum(float *to, vec sum, bool adds, size_t count)
{
    vec_store(to, adds ? vec_add(vec_load(to, count), sum) : sum, count);
}

/* ---- sliding ---- */

/* Adds the share of window (oy, ox) to the k positions of this row. */
INLINE void slide_add(const pool_row *t, pool_kind kind, vec *sum, size_t oy, size_t ox, size_t j,
                      size_t k, size_t n_vec, size_t last)
{
    const drovek_pool *p = t->p;
    size_t             at = (oy * p->ow + ox) * p->c + j;
    vec                factor = kind == POOL_AVERAGE ? share_factor(t, oy, ox) : vec_set(0.0f);
    UNROLL
    for (size_t v = 0; v < n_vec; v++) {
        size_t    count = block_count(v, n_vec, last);
        vec       dy = vec_load(t->dy + at + v * LANES, count);
        vec_bytes bytes;
        if (kind != POOL_AVERAGE) {
            uint8_t tap = (uint8_t)((t->iy + p->ph - oy * p->sh) * k);
            bytes = bytes_minus(bytes_load(t->place + at + v * LANES, count), tap);
        }
        UNROLL
        for (size_t kx = 0; kx < k; kx++) {
            vec *to = &sum[kx * n_vec + v];
            *to = kind == POOL_AVERAGE ? vec_fma(dy, factor, *to)
                                       : vec_add_where(*to, bytes, (uint8_t)kx, dy);
        }
    }
}

/* Stores n_sums sums, of positions at, at + 1, ...; skips those in the padding (at wraps around
 * below 0) or after the row. */
INLINE void slide_store(const pool_row *t, const vec *sum, size_t n_sums, size_t at, size_t j,
                        size_t n_vec, size_t last)
{
    UNROLL
    for (size_t i = 0; i < n_sums; i++) {
        if (at + i >= t->p->w) continue;
        UNROLL
        for (size_t v = 0; v < n_vec; v++)
            store_sum(t->dx + (at + i) * t->p->c + j + v * LANES, sum[i * n_vec + v], t->adds,
                      block_count(v, n_vec, last));
    }
}

/* Window size k, step s <= k: constants. */
INLINE void slide_block(const pool_row *t, pool_kind kind, size_t j, size_t k, size_t s,
                        size_t n_vec, size_t last)
{
    const drovek_pool *p = t->p;
    vec                sum[SLIDE_MOST * SLIDE_VECS], zero = vec_set(0.0f);
    vec                none[SLIDE_VECS];
    size_t             at = (size_t)0 - p->pw;
    UNROLL
    for (size_t i = 0; i < k * n_vec; i++) sum[i] = zero;
    UNROLL
    for (size_t v = 0; v < n_vec; v++) none[v] = zero;
    for (size_t ox = 0; ox < p->ow; ox++, at += s) {
        for (size_t oy = t->rows.first; oy < t->rows.last; oy++)
            slide_add(t, kind, sum, oy, ox, j, k, n_vec, last);
        slide_store(t, sum, s, at, j, n_vec, last);
        UNROLL
        for (size_t i = 0; i < k * n_vec; i++)
            sum[i] = i + s * n_vec < k * n_vec ? sum[i + s * n_vec] : zero;
    }
    slide_store(t, sum, k - s, at, j, n_vec, last);
    for (at += k - s; at < p->w; at++) slide_store(t, none, 1, at, j, n_vec, last);
}

/* ---- position by position ---- */

INLINE vec window_share(const pool_row *t, pool_kind kind, size_t oy, size_t ox, size_t ix,
                        size_t at, vec sum, size_t count)
{
    const drovek_pool *p = t->p;
    vec                dy = vec_load(t->dy + at, count);
    if (kind == POOL_AVERAGE) return vec_fma(dy, share_factor(t, oy, ox), sum);
    size_t own = (t->iy + p->ph - oy * p->sh) * p->kw + ix + p->pw - ox * p->sw;
    return vec_add_where(sum, bytes_load(t->place + at, count), (uint8_t)own, dy);
}

INLINE void back_block(const pool_row *t, pool_kind kind, size_t ix, pool_range cols, size_t j,
                       size_t n_vec, size_t last)
{
    const drovek_pool *p = t->p;
    vec                sum[SLIDE_VECS];
    UNROLL
    for (size_t v = 0; v < n_vec; v++) sum[v] = vec_set(0.0f);
    for (size_t ox = cols.first; ox < cols.last; ox++) {
        for (size_t oy = t->rows.first; oy < t->rows.last; oy++) {
            size_t at = (oy * p->ow + ox) * p->c + j;
            UNROLL
            for (size_t v = 0; v < n_vec; v++) {
                sum[v] = window_share(t, kind, oy, ox, ix, at + v * LANES, sum[v],
                                      block_count(v, n_vec, last));
            }
        }
    }
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        store_sum(t->dx + ix * p->c + j + v * LANES, sum[v], t->adds, block_count(v, n_vec, last));
}

INLINE void walk_block(const pool_row *t, pool_kind kind, size_t j, size_t n_vec, size_t last)
{
    const drovek_pool *p = t->p;
    pool_range         cols = {0, 0};
    for (size_t ix = 0; ix < p->w; ix++) {
        pool_advance(&cols, ix, p->kw, p->sw, p->pw, p->ow);
        back_block(t, kind, ix, cols, j, n_vec, last);
    }
}

/* ---- rows ---- */

/* k 0: any window, position by position. */
INLINE void row_block(const pool_row *t, pool_kind kind, size_t j, size_t k, size_t s, size_t n_vec,
                      size_t last)
{
    if (k > 0) slide_block(t, kind, j, k, s, n_vec, last);
    else walk_block(t, kind, j, n_vec, last);
}

INLINE void back_row(const pool_row *t, pool_kind kind, size_t k, size_t s)
{
    size_t j = 0, c = t->p->c;
    for (; j + SLIDE_VECS * LANES <= c; j += SLIDE_VECS * LANES)
        row_block(t, kind, j, k, s, SLIDE_VECS, LANES);
    if (SLIDE_VECS > 2 && j + 2 * LANES <= c) {
        row_block(t, kind, j, k, s, 2, LANES);
        j += 2 * LANES;
    }
    while (j < c) {
        if (j + LANES > c && c >= LANES && !t->adds) j = c - LANES; /* repeats some channels */
        if (j + LANES > c) break;
        row_block(t, kind, j, k, s, 1, LANES);
        j += LANES;
    }
    if (j < c) row_block(t, kind, j, k, s, 1, c - j);
}

INLINE void pool_backward(pool_kind kind, pool_row *t, size_t n, size_t k, size_t s)
{
    const drovek_pool *p = t->p;
    t->factor = 1.0f / (float)(p->kh * p->kw);
    for (size_t i = 0; i < n; i++) {
        t->rows = (pool_range){0, 0};
        for (t->iy = 0; t->iy < p->h; t->iy++, t->dx += p->w * p->c) {
            pool_advance(&t->rows, t->iy, p->kh, p->sh, p->ph, p->oh);
            back_row(t, kind, k, s);
        }
        t->dy += p->oh * p->ow * p->c;
        if (kind != POOL_AVERAGE) t->place += p->oh * p->ow * p->c;
    }
}

/* ---- usual windows: kw and sw are constants ---- */

/* Each is a function of its own, since gcc's time grows faster than a function's size: all of them
 * in one take three times as long. */
#define POOL_OWN static __attribute__((noinline)) void

/* clang-format off */
POOL_OWN max_back_2_2(pool_row *t, size_t n) { pool_backward(POOL_MAX, t, n, 2, 2); }
POOL_OWN max_back_3_2(pool_row *t, size_t n) { pool_backward(POOL_MAX, t, n, 3, 2); }
POOL_OWN max_back_3_1(pool_row *t, size_t n) { pool_backward(POOL_MAX, t, n, 3, 1); }
POOL_OWN max_back_5_3(pool_row *t, size_t n) { pool_backward(POOL_MAX, t, n, 5, 3); }
POOL_OWN max_back_any(pool_row *t, size_t n) { pool_backward(POOL_MAX, t, n, 0, 0); }
POOL_OWN average_back_2_2(pool_row *t, size_t n) { pool_backward(POOL_AVERAGE, t, n, 2, 2); }
POOL_OWN average_back_3_2(pool_row *t, size_t n) { pool_backward(POOL_AVERAGE, t, n, 3, 2); }
POOL_OWN average_back_3_1(pool_row *t, size_t n) { pool_backward(POOL_AVERAGE, t, n, 3, 1); }
POOL_OWN average_back_5_3(pool_row *t, size_t n) { pool_backward(POOL_AVERAGE, t, n, 5, 3); }
POOL_OWN average_back_any(pool_row *t, size_t n) { pool_backward(POOL_AVERAGE, t, n, 0, 0); }
/* clang-format on */
#undef POOL_OWN

static void max_pool_back_f32(const drovek_pool *p, const float *dy, const void *place, float *dx,
                              size_t n, bool adds)
{
    pool_row t = {.p = p, .dy = dy, .place = place, .dx = dx, .adds = adds};
    size_t   k = p->kw, s = p->sw;
    if (p->kh * k > DROVEK_POOL_BYTE) drovek_max_pool_back_f32_ref(p, dy, place, dx, n, adds);
    else if (k == 2 && s == 2) max_back_2_2(&t, n);
    else if (k == 3 && s == 2) max_back_3_2(&t, n);
    else if (k == 3 && s == 1) max_back_3_1(&t, n);
    else if (k == 5 && s == 3) max_back_5_3(&t, n);
    else max_back_any(&t, n);
}

static void average_pool_back_f32(const drovek_pool *p, const float *dy, float *dx, size_t n,
                                  bool adds)
{
    pool_row t = {.p = p, .dy = dy, .dx = dx, .adds = adds};
    size_t   k = p->kw, s = p->sw;
    if (k == 2 && s == 2) average_back_2_2(&t, n);
    else if (k == 3 && s == 2) average_back_3_2(&t, n);
    else if (k == 3 && s == 1) average_back_3_1(&t, n);
    else if (k == 5 && s == 3) average_back_5_3(&t, n);
    else average_back_any(&t, n);
}

#endif
