/* kernel/x86/planes_pool_avx2.h - max pooling of integers kept as bytes (kernel/planes.h), 16
 * channels at a time.  Of a number that is no multiple of 16 the last step takes the last 16, some
 * of them once more; fewer than 16 pass through arrays of 16. */
#ifndef DROVEK_X86_PLANES_POOL_AVX2_H
#define DROVEK_X86_PLANES_POOL_AVX2_H

#include "kernel/x86/planes_window.h"

#include <string.h>

enum { CHANNELS = 16 };

INLINE __m128i channels_at(const uint8_t *p)
{
    return _mm_loadu_si128((const void *)p);
}

/* p[n] = the first of v; n <= CHANNELS */
INLINE void put_channels(uint8_t *p, __m128i v, size_t n)
{
    if (n == CHANNELS) {
        _mm_storeu_si128((void *)p, v);
        return;
    }
    uint8_t all[CHANNELS];
    _mm_storeu_si128((void *)all, v);
    for (size_t i = 0; i < n; i++) p[i] = all[i];
}

/* The next step's first channel; begins with 0. */
INLINE size_t next_channel(size_t j, size_t c)
{
    const size_t next = j + CHANNELS;
    return next < c && c - next < CHANNELS ? c - CHANNELS : next;
}

/* n channels from channel j on; wide: a constant */
INLINE void max_of_window(const drovek_pool *p, const drovek_planes *x, const drovek_planes *y,
                          uint8_t *place, size_t image, size_t to, size_t oy, size_t ox, bool wide,
                          size_t j, size_t n)
{
    const byte_window w = window_of(p, oy, ox);
    __m128i           high = _mm_setzero_si128(), low = high, which = high;
    bool              is_first = true;
    for (size_t ky = w.y0; ky < w.y1; ky++) {
        for (size_t kx = w.x0; kx < w.x1; kx++, is_first = false) {
            const size_t  at = image + element_at(p, oy, ox, ky, kx) + j;
            const __m128i v = channels_at(x->high + at), u = wide ? channels_at(x->low + at) : v;
            __m128i       wins = _mm_cmpgt_epi8(v, high);
            if (wide) { /* u > low: the larger of both is not low */
                const __m128i below = _mm_cmpeq_epi8(_mm_max_epu8(u, low), low);
                wins = _mm_or_si128(wins, _mm_andnot_si128(below, _mm_cmpeq_epi8(v, high)));
            }
            if (is_first) wins = _mm_set1_epi8(-1);
            high = _mm_blendv_epi8(high, v, wins);
            if (wide) low = _mm_blendv_epi8(low, u, wins);
            which = _mm_blendv_epi8(which, _mm_set1_epi8((char)(ky * p->kw + kx)), wins);
        }
    }
    put_channels(y->high + to + j, high, n);
    if (wide) put_channels(y->low + to + j, low, n);
    if (place != NULL) put_channels(place + to + j, which, n);
}

static void planes_max_pool(const drovek_pool *p, const drovek_planes *x, drovek_planes *y,
                            uint8_t *place, size_t n)
{
    const size_t count = p->c < CHANNELS ? p->c : CHANNELS;
    size_t       to = 0, image = 0;
    y->unit = x->unit;
    for (size_t i = 0; i < n; i++, image += p->h * p->w * p->c)
        for (size_t oy = 0; oy < p->oh; oy++)
            for (size_t ox = 0; ox < p->ow; ox++, to += p->c)
                for (size_t j = 0; j < p->c; j = next_channel(j, p->c)) {
                    if (x->low != NULL)
                        max_of_window(p, x, y, place, image, to, oy, ox, true, j, count);
                    else max_of_window(p, x, y, place, image, to, oy, ox, false, j, count);
                }
}

/* The elements of a window get the derivative that belongs to one of them. */
INLINE void back_of_window(const drovek_pool *p, const drovek_planes *dy, const uint8_t *place,
                           const drovek_planes *dx, size_t image, size_t from, size_t oy, size_t ox,
                           size_t j, size_t n)
{
    const byte_window w = window_of(p, oy, ox);
    uint8_t           places[CHANNELS] = {0};
    memcpy(places, place + from + j, n);
    const __m128i which = channels_at(places), high = channels_at(dy->high + from + j);
    const __m128i low = dy->low != NULL ? channels_at(dy->low + from + j) : high;
    for (size_t ky = w.y0; ky < w.y1; ky++) {
        for (size_t kx = w.x0; kx < w.x1; kx++) {
            const size_t  at = image + element_at(p, oy, ox, ky, kx) + j;
            const __m128i own = _mm_cmpeq_epi8(which, _mm_set1_epi8((char)(ky * p->kw + kx)));
            put_channels(dx->high + at, _mm_and_si128(own, high), n);
            if (dx->low != NULL) put_channels(dx->low + at, _mm_and_si128(own, low), n);
        }
    }
}

static void planes_max_pool_back(const drovek_pool *p, const drovek_planes *dy,
                                 const uint8_t *place, drovek_planes *dx, size_t n)
{
    const size_t n_all = n * p->h * p->w * p->c, count = p->c < CHANNELS ? p->c : CHANNELS;
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
                for (size_t j = 0; j < p->c; j = next_channel(j, p->c)) {
                    if (count == CHANNELS)
                        back_of_window(p, dy, place, dx, image, from, oy, ox, j, CHANNELS);
                    else back_of_window(p, dy, place, dx, image, from, oy, ox, j, count);
                }
}

#endif
