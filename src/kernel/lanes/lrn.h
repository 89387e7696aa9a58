/* kernel/lanes/lrn.h - local response normalisation across channels, vectorised.
 *
 * Goes position by position with the channels in registers: a window's sum is the current register
 * of squares plus its neighbours shifted by one and two lanes.  The backward pass recomputes the
 * scales from x, so nothing is kept in between: it reads x and dy and writes dx.
 *
 * Supports the usual windows of 3 and 5 channels with beta = 3/4, with s^-3/4 from two reciprocal
 * square roots; all else goes to plain C.
 */
#ifndef DROVEK_LANES_LRN_H
#define DROVEK_LANES_LRN_H

#include "kernel/lanes/blocks.h"
#include "kernel/tiers.h"

/* Of the larger blocks; the others have one register, or go to C. */
enum { LRN_BLOCK = 16, LRN_REGISTERS = LRN_BLOCK / LANES };

INLINE bool lrn_is_usual(const drovek_lrn *l)
{
    return l->beta == 0.75f && (l->reach == 1 || l->reach == 2) &&
           (l->block == l->c || l->block == LRN_BLOCK || l->block == LANES);
}

typedef struct lrn_data {
    size_t       c, n, plane; /* channels; registers of them; floats of a block's plane */
    bool         is_narrow;   /* blocks of one register */
    const float *x, *dy;      /* at one position */
    float       *y;           /* or dx */
    vec          factor, kappa, slope;
    bool         adds;
} lrn_data;

/* Offset of register v of the channels. */
INLINE size_t lrn_offset(const lrn_data *d, size_t v, bool blocked)
{
    if (!blocked) return v * LANES;
    if (d->is_narrow) return v * d->plane;
    return v / LRN_REGISTERS * d->plane + v % LRN_REGISTERS * LANES;
}

INLINE vec lrn_load(const lrn_data *d, const float *from, size_t v, bool blocked)
{
    if (v >= d->n) return vec_set(0.0f);
    if (blocked || v + 1 < d->n) return vec_load(from + lrn_offset(d, v, blocked), LANES);
    return vec_load(from + v * LANES, d->c - v * LANES);
}

INLINE void lrn_store(const lrn_data *d, vec value, size_t v, bool blocked)
{
    float *to = d->y + lrn_offset(d, v, blocked);
    size_t count = blocked || v + 1 < d->n ? LANES : d->c - v * LANES;
    if (count == LANES) vec_store(to, d->adds ? vec_add(vec_load(to, LANES), value) : value, LANES);
    else vec_store(to, d->adds ? vec_add(vec_load(to, count), value) : value, count);
}

/* Sum of each lane with its neighbours. */
INLINE vec lrn_window(vec before, vec here, vec behind, size_t reach)
{
    vec sum = vec_add(vec_join(before, here, LANES - 1), here);
    if (reach == 2) sum = vec_add(vec_join(before, here, LANES - 2), sum);
    sum = vec_add(sum, vec_join(here, behind, 1));
    return reach == 2 ? vec_add(sum, vec_join(here, behind, 2)) : sum;
}

/* s^-1/2; *power: s^-3/4 */
INLINE vec lrn_power(const lrn_data *d, vec squares, vec *power)
{
    vec root = vec_rsqrt(vec_fma(d->factor, squares, d->kappa));
    *power = vec_mul(vec_mul(root, root), vec_rsqrt(root));
    return root;
}

INLINE void lrn_forward(const lrn_data *d, size_t reach, bool blocked)
{
    vec before = vec_set(0.0f), x = lrn_load(d, d->x, 0, blocked), here = vec_mul(x, x), power;
    for (size_t v = 0; v < d->n; v++) {
        vec next = lrn_load(d, d->x, v + 1, blocked), behind = vec_mul(next, next);
        lrn_power(d, lrn_window(before, here, behind, reach), &power);
        lrn_store(d, vec_mul(x, power), v, blocked);
        before = here, here = behind, x = next;
    }
}

/* Registers in channel order; the shares lag one register behind the squares. */
INLINE void lrn_backward(const lrn_data *d, size_t reach, bool blocked)
{
    vec zero = vec_set(0.0f), before = zero, x = lrn_load(d, d->x, 0, blocked);
    vec here = vec_mul(x, x), share_before = zero, share = zero, own = zero, x_before = zero;
    for (size_t v = 0; v <= d->n; v++) {
        vec next = lrn_load(d, d->x, v + 1, blocked), behind = vec_mul(next, next), power;
        vec root = lrn_power(d, lrn_window(before, here, behind, reach), &power);
        vec own_here = vec_mul(power, lrn_load(d, d->dy, v, blocked));
        vec share_here = vec_mul(vec_mul(own_here, x), vec_mul(root, root));
        if (v > 0) {
            vec sum = vec_mul(d->slope, lrn_window(share_before, share, share_here, reach));
            lrn_store(d, vec_fnma(sum, x_before, own), v - 1, blocked);
        }
        before = here, here = behind;
        share_before = share, share = share_here;
        x_before = x, x = next;
        own = own_here;
    }
}

INLINE void lrn_images(lrn_data d, const drovek_lrn *l, size_t n, size_t reach, bool blocked)
{
    const size_t image = l->c * l->hw;
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < l->hw; p++) {
            lrn_data at = d;
            at.x += i * image + p * l->block;
            at.y += i * image + p * l->block;
            if (d.dy != NULL) at.dy += i * image + p * l->block;
            if (d.dy != NULL) lrn_backward(&at, reach, blocked);
            else lrn_forward(&at, reach, blocked);
        }
    }
}

INLINE lrn_data lrn_start(const drovek_lrn *l, const float *x, float *y)
{
    return (lrn_data){.c = l->c,
                      .n = (l->c + LANES - 1) / LANES,
                      .plane = l->hw * l->block,
                      .is_narrow = l->block == LANES,
                      .x = x,
                      .y = y,
                      .factor = vec_set(l->factor),
                      .kappa = vec_set(l->kappa),
                      .slope = vec_set(2.0f * l->factor * l->beta)};
}

static void lrn_f32(const drovek_lrn *l, const float *x, float *y, size_t n)
{
    if (!lrn_is_usual(l)) {
        drovek_lrn_f32_ref(l, x, y, n);
        return;
    }
    lrn_data d = lrn_start(l, x, y);
    bool     blocked = l->block != l->c;
    if (l->reach == 1) lrn_images(d, l, n, 1, blocked);
    else if (blocked) lrn_images(d, l, n, 2, true);
    else lrn_images(d, l, n, 2, false);
}

static void lrn_back_f32(const drovek_lrn *l, const float *x, const float *dy, float *dx, size_t n,
                         bool adds)
{
    if (!lrn_is_usual(l)) {
        drovek_lrn_back_f32_ref(l, x, dy, dx, n, adds);
        return;
    }
    lrn_data d = lrn_start(l, x, dx);
    bool     blocked = l->block != l->c;
    d.dy = dy;
    d.adds = adds;
    if (l->reach == 1) lrn_images(d, l, n, 1, blocked);
    else if (blocked) lrn_images(d, l, n, 2, true);
    else lrn_images(d, l, n, 2, false);
}

#endif
