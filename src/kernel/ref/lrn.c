/* kernel/ref/lrn.c - local response normalisation across channels in plain C (Krizhevsky,
 * Sutskever, Hinton, NIPS 2012, section 3.3; alpha divided by the size of the window, as in Caffe).
 * Computed in double. */
#include "kernel/tiers.h"

#include <math.h>

/* Offset of channel `ch` at position p of one image. */
static size_t offset_of(const drovek_lrn *l, size_t p, size_t ch)
{
    return (ch / l->block * l->hw + p) * l->block + ch % l->block;
}

static size_t first_near(const drovek_lrn *l, size_t ch)
{
    return ch < l->reach ? 0 : ch - l->reach;
}

static size_t last_near(const drovek_lrn *l, size_t ch)
{
    return ch + l->reach < l->c ? ch + l->reach : l->c - 1;
}

static double scale_of(const drovek_lrn *l, const float *x, size_t p, size_t ch)
{
    double sum = 0.0;
    for (size_t j = first_near(l, ch); j <= last_near(l, ch); j++) {
        double v = x[offset_of(l, p, j)];
        sum += v * v;
    }
    return l->kappa + l->factor * sum;
}

void drovek_lrn_f32_ref(const drovek_lrn *l, const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++, x += l->c * l->hw, y += l->c * l->hw) {
        for (size_t p = 0; p < l->hw; p++) {
            for (size_t ch = 0; ch < l->c; ch++) {
                size_t at = offset_of(l, p, ch);
                y[at] = (float)(x[at] * pow(scale_of(l, x, p, ch), -(double)l->beta));
            }
        }
    }
}

static double back_at(const drovek_lrn *l, const float *x, const float *dy, size_t p, size_t ch)
{
    double beta = l->beta, sum = 0.0;
    size_t at = offset_of(l, p, ch);
    for (size_t j = first_near(l, ch); j <= last_near(l, ch); j++) {
        size_t near = offset_of(l, p, j);
        sum += (double)dy[near] * x[near] * pow(scale_of(l, x, p, j), -(beta + 1.0));
    }
    return pow(scale_of(l, x, p, ch), -beta) * dy[at] - 2.0 * l->factor * beta * x[at] * sum;
}

void drovek_lrn_back_f32_ref(const drovek_lrn *l, const float *x, const float *dy, float *dx,
                             size_t n, bool adds)
{
    for (size_t i = 0; i < n; i++, x += l->c * l->hw, dy += l->c * l->hw, dx += l->c * l->hw) {
        for (size_t p = 0; p < l->hw; p++) {
            for (size_t ch = 0; ch < l->c; ch++) {
                size_t at = offset_of(l, p, ch);
                float d = (float)back_at(l, x, dy, p, ch);
                dx[at] = adds ? dx[at] + d : d;
            }
        }
    }
}
