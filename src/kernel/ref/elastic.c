/* kernel/ref/elastic.c - elastic steps (kernel/slots.def) in plain C: the definition. */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>

static float moved(float w, const float *g, size_t i, float c, float eta, float alpha)
{
    float stepped = g != NULL ? fmaf(-eta, g[i], w) : w;
    return fmaf(-alpha, w - c, stepped);
}

static float centre_moved(float c, float s, float alpha, float p)
{
    return fmaf(alpha, fmaf(-p, c, s), c);
}

static double square(float d)
{
    return (double)d * (double)d;
}

double drovek_elastic_f32_ref(float *w, const float *g, const float *c, size_t n, float eta,
                              float alpha, bool measures)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (measures) sum += square(w[i] - c[i]);
        w[i] = moved(w[i], g, i, c[i], eta, alpha);
    }
    return sum;
}

void drovek_centre_f32_ref(float *c, const float *s, float *before, size_t n, float alpha, float p)
{
    for (size_t i = 0; i < n; i++) {
        float old = drove__racy_load(c + i);
        drove__racy_store(c + i, centre_moved(old, s[i], alpha, p));
        if (before != NULL) before[i] = old;
    }
}

double drovek_elastic_centre_f32_ref(float *w, const float *g, float *c, const float *s, size_t n,
                                     float eta, float alpha, float p, bool measures)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (measures) sum += square(w[i] - c[i]);
        w[i] = moved(w[i], g, i, c[i], eta, alpha);
        c[i] = centre_moved(c[i], s[i], alpha, p);
    }
    return sum;
}
