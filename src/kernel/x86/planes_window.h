/* kernel/x86/planes_window.h - where the windows of pooling lie, for pooling of integers kept as
 * bytes (kernel/planes.h) in every tier. */
#ifndef DROVEK_X86_PLANES_WINDOW_H
#define DROVEK_X86_PLANES_WINDOW_H

#include "kernel/planes.h"

/* The elements of window (oy, ox) that are in the image: rows [y0, y1) of it, columns [x0, x1). */
typedef struct byte_window {
    size_t y0, y1, x0, x1;
} byte_window;

INLINE void clip_window(size_t o, size_t k, size_t step, size_t pad, size_t side, size_t *first,
                        size_t *last)
{
    const size_t start = o * step;
    *first = start < pad ? pad - start : 0;
    *last = start + k > side + pad ? side + pad - start : k;
}

INLINE byte_window window_of(const drovek_pool *p, size_t oy, size_t ox)
{
    byte_window w;
    clip_window(oy, p->kh, p->sh, p->ph, p->h, &w.y0, &w.y1);
    clip_window(ox, p->kw, p->sw, p->pw, p->w, &w.x0, &w.x1);
    return w;
}

/* Element (ky, kx) of window (oy, ox) of an image, in numbers from its first. */
INLINE size_t element_at(const drovek_pool *p, size_t oy, size_t ox, size_t ky, size_t kx)
{
    return ((oy * p->sh + ky - p->ph) * p->w + ox * p->sw + kx - p->pw) * p->c;
}

/* Whether windows cover every position of one side. */
INLINE bool covers_side(size_t side, size_t n, size_t k, size_t step, size_t pad)
{
    return step == k && n * step >= side + pad;
}

#endif
