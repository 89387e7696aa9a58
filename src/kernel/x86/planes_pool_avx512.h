/* kernel/x86/planes_pool_avx512.h - max pooling of integers kept as bytes (kernel/planes.h), 64
 * channels at a time. */
#ifndef DROVEK_X86_PLANES_POOL_AVX512_H
#define DROVEK_X86_PLANES_POOL_AVX512_H

#include "kernel/x86/planes_window.h"

#include <string.h>

INLINE __m512i masked_bytes(const uint8_t *p, __mmask64 mask)
{
    return _mm512_maskz_loadu_epi8(mask, p);
}

/* n channels from channel j on; wide: a constant */
INLINE void max_of_window(const drovek_pool *p, const drovek_planes *x, const drovek_planes *y,
                          uint8_t *place, size_t image, size_t to, size_t oy, size_t ox, bool wide,
                          size_t j, __mmask64 mask)
{
    const byte_window w = window_of(p, oy, ox);
    __m512i           high = _mm512_setzero_si512(), low = high, which = high;
    bool              is_first = true;
    for (size_t ky = w.y0; ky < w.y1; ky++) {
        for (size_t kx = w.x0; kx < w.x1; kx++, is_first = false) {
            const size_t  at = image + element_at(p, oy, ox, ky, kx) + j;
            const __m512i v = masked_bytes(x->high + at, mask);
            const __m512i u = wide ? masked_bytes(x->low + at, mask) : v;
            __mmask64     wins = _mm512_cmpgt_epi8_mask(v, high);
            if (wide) wins |= _mm512_cmpeq_epi8_mask(v, high) & _mm512_cmpgt_epu8_mask(u, low);
            if (is_first) wins = ~0ull;
            high = _mm512_mask_mov_epi8(high, wins, v);
            if (wide) low = _mm512_mask_mov_epi8(low, wins, u);
            which = _mm512_mask_mov_epi8(which, wins, _mm512_set1_epi8((char)(ky * p->kw + kx)));
        }
    }
    _mm512_mask_storeu_epi8(y->high + to + j, mask, high);
    if (wide) _mm512_mask_storeu_epi8(y->low + to + j, mask, low);
    if (place != NULL) _mm512_mask_storeu_epi8(place + to + j, mask, which);
}

static void planes_max_pool(const drovek_pool *p, const drovek_planes *x, drovek_planes *y,
                            uint8_t *place, size_t n)
{
    size_t to = 0, image = 0;
    y->unit = x->unit;
    for (size_t i = 0; i < n; i++, image += p->h * p->w * p->c)
        for (size_t oy = 0; oy < p->oh; oy++)
            for (size_t ox = 0; ox < p->ow; ox++, to += p->c)
                for (size_t j = 0; j < p->c; j += 64) {
                    const __mmask64 mask = first_of_64(p->c - j);
                    if (x->low != NULL)
                        max_of_window(p, x, y, place, image, to, oy, ox, true, j, mask);
                    else max_of_window(p, x, y, place, image, to, oy, ox, false, j, mask);
                }
}

/* The elements of a window get the derivative that belongs to one of them. */
INLINE void back_of_window(const drovek_pool *p, const drovek_planes *dy, const uint8_t *place,
                           const drovek_planes *dx, size_t image, size_t from, size_t oy, size_t ox,
                           size_t j, __mmask64 mask)
{
    const byte_window w = window_of(p, oy, ox);
    const __m512i     which = masked_bytes(place + from + j, mask),
                  high = masked_bytes(dy->high + from + j, mask);
    const __m512i low = dy->low != NULL ? masked_bytes(dy->low + from + j, mask) : high;
    for (size_t ky = w.y0; ky < w.y1; ky++) {
        for (size_t kx = w.x0; kx < w.x1; kx++) {
            const size_t    at = image + element_at(p, oy, ox, ky, kx) + j;
            const __mmask64 own =
                _mm512_cmpeq_epi8_mask(which, _mm512_set1_epi8((char)(ky * p->kw + kx)));
            _mm512_mask_storeu_epi8(dx->high + at, mask, _mm512_maskz_mov_epi8(own, high));
            if (dx->low != NULL)
                _mm512_mask_storeu_epi8(dx->low + at, mask, _mm512_maskz_mov_epi8(own, low));
        }
    }
}

static void planes_max_pool_back(const drovek_pool *p, const drovek_planes *dy,
                                 const uint8_t *place, drovek_planes *dx, size_t n)
{
    const size_t n_all = n * p->h * p->w * p->c;
    size_t       from = 0, image = 0;
    dx->unit = dy->unit;
    dx->by = dy->by;
    if (!covers_side(p->h, p->oh, p->kh, p->sh, p->ph) ||
        !covers_side(p->w, p->ow, p->kw, p->sw, p->pw)) {
        memset(dx->high, 0, n_all);
        if (dx->low != NULL) memset(dx->low, 0, n_all);
    }
    for (size_t i = 0; i < n; i++, image += p->h * p->w * p->c)
        for (size_t oy = 0; oy < p->oh; oy++)
            for (size_t ox = 0; ox < p->ow; ox++, from += p->c)
                for (size_t j = 0; j < p->c; j += 64)
                    back_of_window(p, dy, place, dx, image, from, oy, ox, j, first_of_64(p->c - j));
}

#endif
