/* kernel/ref/pool.c - max and average pooling in plain C: the definition. */
#include "kernel/tiers.h"

#include <math.h>

/* Along one side: the elements of window `o` that are in the image. */
typedef struct range {
    size_t first, last; /* [first, last) of the window's k */
} range;

static range inside(size_t o, size_t k, size_t step, size_t pad, size_t side)
{
    size_t start = o * step; /* in the padded image */
    range r = {start < pad ? pad - start : 0, k};
    if (start + k > side + pad) r.last = side + pad - start;
    return r;
}

/* Windows that cover position `at` along one side. */
static range covering(size_t at, size_t k, size_t step, size_t pad, size_t n_windows)
{
    size_t place = at + pad;
    range r = {place < k ? 0 : (place - k) / step + 1, place / step + 1};
    if (r.last > n_windows) r.last = n_windows;
    return r;
}

/* origin: offset in x of element 0 of the window and this channel */
static float one_largest(const drovek_pool *p, const float *x, size_t origin, range rows,
                         range cols, size_t *place)
{
    float best = -INFINITY;
    *place = rows.first * p->kw + cols.first;
    for (size_t ky = rows.first; ky < rows.last; ky++) {
        for (size_t kx = cols.first; kx < cols.last; kx++) {
            float v = x[origin + (ky * p->w + kx) * p->c];
            if (!(v > best || isnan(v))) continue;
            best = v;
            *place = ky * p->kw + kx;
        }
    }
    return best;
}

static void put_place(const drovek_pool *p, void *place, size_t at, size_t value)
{
    if (p->kh * p->kw <= DROVEK_POOL_BYTE) ((uint8_t *)place)[at] = (uint8_t)value;
    else ((uint16_t *)place)[at] = (uint16_t)value;
}

static size_t get_place(const drovek_pool *p, const void *place, size_t at)
{
    if (p->kh * p->kw <= DROVEK_POOL_BYTE) return ((const uint8_t *)place)[at];
    return ((const uint16_t *)place)[at];
}

/* Offset in x of element 0 of window (oy, ox) of image i.  It may lie before the image: then it
 * wraps around until the offset of an element is added. */
static size_t window_origin(const drovek_pool *p, size_t i, size_t oy, size_t ox)
{
    return ((i * p->h + oy * p->sh - p->ph) * p->w + ox * p->sw - p->pw) * p->c;
}

void drovek_max_pool_f32_ref(const drovek_pool *p, const float *x, float *y, void *place, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t o = 0; o < p->oh * p->ow; o++) {
            size_t oy = o / p->ow, ox = o % p->ow, which;
            range rows = inside(oy, p->kh, p->sh, p->ph, p->h);
            range cols = inside(ox, p->kw, p->sw, p->pw, p->w);
            size_t from = window_origin(p, i, oy, ox), to = (i * p->oh * p->ow + o) * p->c;
            for (size_t ch = 0; ch < p->c; ch++) {
                y[to + ch] = one_largest(p, x, from + ch, rows, cols, &which);
                if (place != NULL) put_place(p, place, to + ch, which);
            }
        }
    }
}

/* Sum of the dy[i][.][ch] whose window has its maximum at (iy, ix). */
static float largest_back(const drovek_pool *p, const float *dy, const void *place, size_t i,
                          size_t iy, size_t ix, size_t ch)
{
    range rows = covering(iy, p->kh, p->sh, p->ph, p->oh);
    range cols = covering(ix, p->kw, p->sw, p->pw, p->ow);
    float sum = 0.0f;
    for (size_t ox = cols.first; ox < cols.last; ox++) {
        for (size_t oy = rows.first; oy < rows.last; oy++) {
            size_t from = ((i * p->oh + oy) * p->ow + ox) * p->c + ch;
            size_t own = (iy + p->ph - oy * p->sh) * p->kw + ix + p->pw - ox * p->sw;
            if (get_place(p, place, from) == own) sum += dy[from];
        }
    }
    return sum;
}

void drovek_max_pool_back_f32_ref(const drovek_pool *p, const float *dy, const void *place,
                                  float *dx, size_t n, bool adds)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < p->h * p->w * p->c; at++, dx++) {
            size_t ch = at % p->c, iy = at / p->c / p->w, ix = at / p->c % p->w;
            float sum = largest_back(p, dy, place, i, iy, ix, ch);
            *dx = adds ? *dx + sum : sum;
        }
    }
}

static float one_over_area(const drovek_pool *p, size_t oy, size_t ox)
{
    size_t rows = drovek_pool_length(oy, p->kh, p->sh, p->y0, p->y1);
    size_t cols = drovek_pool_length(ox, p->kw, p->sw, p->x0, p->x1);
    return 1.0f / (float)(rows * cols);
}

void drovek_average_pool_f32_ref(const drovek_pool *p, const float *x, float *y, size_t n)
{
    for (size_t at = 0; at < n * p->oh * p->ow * p->c; at++) {
        size_t ch = at % p->c, ox = at / p->c % p->ow, oy = at / p->c / p->ow % p->oh;
        range rows = inside(oy, p->kh, p->sh, p->ph, p->h);
        range cols = inside(ox, p->kw, p->sw, p->pw, p->w);
        size_t from = window_origin(p, at / (p->oh * p->ow * p->c), oy, ox) + ch;
        float sum = 0.0f;
        for (size_t ky = rows.first; ky < rows.last; ky++) {
            for (size_t kx = cols.first; kx < cols.last; kx++)
                sum += x[from + (ky * p->w + kx) * p->c];
        }
        y[at] = sum * one_over_area(p, oy, ox);
    }
}

void drovek_average_pool_back_f32_ref(const drovek_pool *p, const float *dy, float *dx, size_t n,
                                      bool adds)
{
    for (size_t at = 0; at < n * p->h * p->w * p->c; at++) {
        size_t ch = at % p->c, ix = at / p->c % p->w, iy = at / p->c / p->w % p->h;
        size_t i = at / (p->h * p->w * p->c);
        range rows = covering(iy, p->kh, p->sh, p->ph, p->oh);
        range cols = covering(ix, p->kw, p->sw, p->pw, p->ow);
        float sum = 0.0f;
        for (size_t ox = cols.first; ox < cols.last; ox++) {
            for (size_t oy = rows.first; oy < rows.last; oy++) {
                float share = dy[((i * p->oh + oy) * p->ow + ox) * p->c + ch];
                sum = fmaf(share, one_over_area(p, oy, ox), sum);
            }
        }
        dx[at] = adds ? dx[at] + sum : sum;
    }
}
