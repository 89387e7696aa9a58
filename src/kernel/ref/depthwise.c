/* kernel/ref/depthwise.c - depthwise convolution in plain C: the definition. */
#include "kernel/tiers.h"

#include <string.h>

/* The position in the input of element `tap` of the window at output position `at`; false: it is in
 * the padding. */
static bool find_tap(const drovek_pool *p, size_t at, size_t tap, size_t *place)
{
    const size_t y = at / p->ow * p->sh + tap / p->kw, x = at % p->ow * p->sw + tap % p->kw;
    if (y < p->ph || y - p->ph >= p->h || x < p->pw || x - p->pw >= p->w) return false;
    *place = (y - p->ph) * p->w + x - p->pw;
    return true;
}

void drovek_depthwise_f32_ref(const drovek_pool *p, const float *x, const float *w, const float *b,
                              float *y, size_t n)
{
    const size_t c = p->c, n_taps = p->kh * p->kw;
    size_t place;
    for (size_t i = 0; i < n; i++, x += p->h * p->w * c) {
        for (size_t at = 0; at < p->oh * p->ow; at++, y += c) {
            memcpy(y, b, c * sizeof *y);
            for (size_t tap = 0; tap < n_taps; tap++) {
                if (!find_tap(p, at, tap, &place)) continue;
                for (size_t j = 0; j < c; j++) y[j] += w[tap * c + j] * x[place * c + j];
            }
        }
    }
}

void drovek_depthwise_back_f32_ref(const drovek_pool *p, const float *dy, const float *w, float *dx,
                                   size_t n, bool adds)
{
    const size_t c = p->c, n_taps = p->kh * p->kw;
    size_t place;
    if (!adds) memset(dx, 0, n * p->h * p->w * c * sizeof *dx);
    for (size_t i = 0; i < n; i++, dx += p->h * p->w * c) {
        for (size_t at = 0; at < p->oh * p->ow; at++, dy += c) {
            for (size_t tap = 0; tap < n_taps; tap++) {
                if (!find_tap(p, at, tap, &place)) continue;
                for (size_t j = 0; j < c; j++) dx[place * c + j] += w[tap * c + j] * dy[j];
            }
        }
    }
}

void drovek_depthwise_weights_f32_ref(const drovek_pool *p, const float *x, const float *dy,
                                      float *dw, size_t n)
{
    const size_t c = p->c, n_taps = p->kh * p->kw;
    size_t place;
    for (size_t i = 0; i < n; i++, x += p->h * p->w * c) {
        for (size_t at = 0; at < p->oh * p->ow; at++, dy += c) {
            for (size_t tap = 0; tap < n_taps; tap++) {
                if (!find_tap(p, at, tap, &place)) continue;
                for (size_t j = 0; j < c; j++) dw[tap * c + j] += x[place * c + j] * dy[j];
            }
        }
    }
}
