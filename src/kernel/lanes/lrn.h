/* kernel/lanes/lrn.h - local response normalisation across channels, written in lanes.
 *
 * A few places at a time: the squares of all channels of a place go into a row of a buffer with
 * zeros around it, and a window's sum is a sum of registers loaded from there at neighbouring
 * starts.  The backward pass has the scales anew from x, so that nothing is kept in between: it
 * reads x and dy and writes dx.
 *
 * beta = 3/4, what everybody uses, has s^-3/4 from two reciprocal square roots; other exponents,
 * and more channels than the buffer takes, are plain C's.
 */
#ifndef DROVEK_LANES_LRN_H
#define DROVEK_LANES_LRN_H

#include "kernel/lanes/vector.h"
#include "kernel/tiers.h"

enum { LRN_EDGE = 16, LRN_FLOATS = 4096, LRN_MOST_PLACES = 32 };

typedef struct lrn_buffer {
    float at[LRN_FLOATS] __attribute__((aligned(64)));
} lrn_buffer;

INLINE size_t lrn_row(const drovek_lrn *l)
{
    return (l->c + LANES - 1) / LANES * LANES + 2 * LRN_EDGE;
}

/* Do the lanes compute this one? */
INLINE bool lrn_is_usual(const drovek_lrn *l)
{
    return l->beta == 0.75f && l->reach <= LRN_EDGE && lrn_row(l) <= LRN_FLOATS &&
           (l->block == l->c || l->block % LANES == 0);
}

INLINE size_t lrn_places(const drovek_lrn *l)
{
    size_t n = LRN_FLOATS / lrn_row(l);
    return n < LRN_MOST_PLACES ? n : LRN_MOST_PLACES;
}

/* Zeros on both sides of every row: written once, since the rows' own stores do not reach there
 * but with zeros. */
INLINE void lrn_clear(lrn_buffer *b)
{
    for (size_t i = 0; i < LRN_FLOATS; i += LANES) vec_store(b->at + i, vec_set(0.0f), LANES);
}

/* Sum of the row's elements around `at`. */
INLINE vec lrn_window(const float *at, size_t reach)
{
    vec sum = vec_load(at - reach, LANES);
    UNROLL
    for (size_t j = 1; j < 2 * reach + 1; j++) sum = vec_add(sum, vec_load(at - reach + j, LANES));
    return sum;
}

INLINE vec lrn_window_any(const float *at, size_t reach)
{
    vec sum = vec_load(at - reach, LANES);
    for (size_t j = 1; j < 2 * reach + 1; j++) sum = vec_add(sum, vec_load(at - reach + j, LANES));
    return sum;
}

INLINE vec lrn_sum(const float *at, size_t reach)
{
    return reach == 2 ? lrn_window(at, 2) : lrn_window_any(at, reach);
}

/* What is done with one register of channels: x + from is where it is in the image, at is where it
 * is in the buffer's rows. */
typedef struct lrn_data {
    const drovek_lrn *l;
    const float      *x, *dy;
    float            *y; /* or dx */
    float            *squares, *shares, *own;
    vec               factor, kappa, slope;
    bool              adds;
} lrn_data;

INLINE void lrn_square(const lrn_data *d, size_t from, size_t at, size_t count)
{
    vec v = vec_load(d->x + from, count);
    vec_store(d->squares + at, vec_mul(v, v), LANES);
}

/* s^-3/4; *root: s^-1/2 */
INLINE vec lrn_power(const lrn_data *d, size_t at, size_t reach, vec *root)
{
    vec s = vec_fma(d->factor, lrn_sum(d->squares + at, reach), d->kappa);
    vec r = vec_rsqrt(s);
    *root = r;
    return vec_mul(vec_mul(r, r), vec_rsqrt(r));
}

INLINE void lrn_forward(const lrn_data *d, size_t from, size_t at, size_t count, size_t reach)
{
    vec root, power = lrn_power(d, at, reach, &root);
    vec_store(d->y + from, vec_mul(vec_load(d->x + from, count), power), count);
}

INLINE void lrn_share(const lrn_data *d, size_t from, size_t at, size_t count, size_t reach)
{
    vec root, power = lrn_power(d, at, reach, &root);
    vec own = vec_mul(power, vec_load(d->dy + from, count));
    vec share = vec_mul(vec_mul(own, vec_load(d->x + from, count)), vec_mul(root, root));
    vec_store(d->own + at, own, LANES);
    vec_store(d->shares + at, share, LANES);
}

INLINE void lrn_backward(const lrn_data *d, size_t from, size_t at, size_t count, size_t reach)
{
    vec sum = vec_mul(d->slope, lrn_sum(d->shares + at, reach));
    vec v = vec_fnma(sum, vec_load(d->x + from, count), vec_load(d->own + at, LANES));
    vec_store(d->y + from, d->adds ? vec_add(vec_load(d->y + from, count), v) : v, count);
}

typedef enum lrn_phase { LRN_SQUARE, LRN_FORWARD, LRN_SHARE, LRN_BACKWARD } lrn_phase;

INLINE void lrn_do(const lrn_data *d, lrn_phase phase, size_t from, size_t at, size_t count,
                   size_t reach)
{
    switch (phase) {
    case LRN_SQUARE: lrn_square(d, from, at, count); break;
    case LRN_FORWARD: lrn_forward(d, from, at, count, reach); break;
    case LRN_SHARE: lrn_share(d, from, at, count, reach); break;
    case LRN_BACKWARD: lrn_backward(d, from, at, count, reach); break;
    }
}

/* One phase over all channels of the places [place, place + n_places). */
INLINE void lrn_walk(const lrn_data *d, lrn_phase phase, size_t place, size_t n_places,
                     size_t reach)
{
    const drovek_lrn *l = d->l;
    size_t            row = lrn_row(l);
    for (size_t ch = 0; ch < l->c; ch += l->block) {
        for (size_t i = 0; i < n_places; i++) {
            size_t from = ch * l->hw + (place + i) * l->block, at = i * row + LRN_EDGE + ch, j = 0;
            for (; j + LANES <= l->block; j += LANES)
                lrn_do(d, phase, from + j, at + j, LANES, reach);
            if (j < l->block) lrn_do(d, phase, from + j, at + j, l->block - j, reach);
        }
    }
}

INLINE void lrn_image(const lrn_data *d, bool is_forward, size_t reach)
{
    size_t step = lrn_places(d->l);
    for (size_t place = 0; place < d->l->hw; place += step) {
        size_t n = d->l->hw - place < step ? d->l->hw - place : step;
        lrn_walk(d, LRN_SQUARE, place, n, reach);
        if (is_forward) {
            lrn_walk(d, LRN_FORWARD, place, n, reach);
            continue;
        }
        lrn_walk(d, LRN_SHARE, place, n, reach);
        lrn_walk(d, LRN_BACKWARD, place, n, reach);
    }
}

static void lrn_f32(const drovek_lrn *l, const float *x, float *y, size_t n)
{
    lrn_buffer squares;
    if (!lrn_is_usual(l)) {
        drovek_lrn_f32_ref(l, x, y, n);
        return;
    }
    lrn_clear(&squares);
    lrn_data d = {.l = l,
                  .x = x,
                  .y = y,
                  .squares = squares.at,
                  .factor = vec_set(l->factor),
                  .kappa = vec_set(l->kappa)};
    for (size_t i = 0; i < n; i++, d.x += l->c * l->hw, d.y += l->c * l->hw) {
        if (l->reach == 2) lrn_image(&d, true, 2);
        else lrn_image(&d, true, l->reach);
    }
}

static void lrn_back_f32(const drovek_lrn *l, const float *x, const float *dy, float *dx, size_t n,
                         bool adds)
{
    lrn_buffer squares, shares, own;
    if (!lrn_is_usual(l)) {
        drovek_lrn_back_f32_ref(l, x, dy, dx, n, adds);
        return;
    }
    lrn_clear(&squares);
    lrn_clear(&shares);
    lrn_data d = {.l = l,
                  .x = x,
                  .dy = dy,
                  .y = dx,
                  .squares = squares.at,
                  .shares = shares.at,
                  .own = own.at,
                  .factor = vec_set(l->factor),
                  .kappa = vec_set(l->kappa),
                  .slope = vec_set(2.0f * l->factor * l->beta),
                  .adds = adds};
    for (size_t i = 0; i < n; i++) {
        if (l->reach == 2) lrn_image(&d, false, 2);
        else lrn_image(&d, false, l->reach);
        d.x += l->c * l->hw, d.dy += l->c * l->hw, d.y += l->c * l->hw;
    }
}

#endif
