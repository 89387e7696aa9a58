/* kernel/lanes/elastic.h - elastic steps, vectorised; equations and roundings are those of
 * ref/elastic.c. */
#ifndef DROVEK_LANES_ELASTIC_H
#define DROVEK_LANES_ELASTIC_H

#include "kernel/kernel.h"
#include "kernel/lanes/vector.h"

typedef struct elastic_step { /* g NULL: none; s NULL: c is unchanged */
    float       *w;
    const float *g;
    const float *c;
    float       *c_to;
    const float *s;
    vec          eta, alpha, p;
    bool         measures;
} elastic_step;

INLINE vec centre_at(vec c, vec s, vec alpha, vec p)
{
    return vec_fma(alpha, vec_fnma(p, c, s), c);
}

INLINE double_sum elastic_at(const elastic_step *e, size_t i, size_t count, double_sum sum)
{
    vec w = vec_load(e->w + i, count), c = vec_load(e->c + i, count), d = vec_sub(w, c);
    if (e->g != NULL) w = vec_fnma(e->eta, vec_load(e->g + i, count), w);
    vec_store(e->w + i, vec_fnma(e->alpha, d, w), count);
    if (e->s != NULL)
        vec_store(e->c_to + i, centre_at(c, vec_load(e->s + i, count), e->alpha, e->p), count);
    return e->measures ? double_sum_add(sum, d, d) : sum;
}

INLINE double elastic_all(const elastic_step *e, size_t n)
{
    double_sum even = double_sum_zero(), odd = double_sum_zero();
    size_t     i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even = elastic_at(e, i, LANES, even);
        odd = elastic_at(e, i + LANES, LANES, odd);
    }
    for (; i < n; i += LANES) even = elastic_at(e, i, lanes_left(i, n), even);
    return double_sum_total(even, odd);
}

/* Turns the conditions into constants. */
INLINE double elastic_cases(elastic_step e, size_t n)
{
    if (e.g != NULL && e.measures) return elastic_all(&e, n);
    if (e.g != NULL) return e.measures = false, elastic_all(&e, n);
    e.g = NULL;
    if (e.measures) return elastic_all(&e, n);
    return e.measures = false, elastic_all(&e, n);
}

static double elastic_f32(float *w, const float *g, const float *c, size_t n, float eta,
                          float alpha, bool measures)
{
    return elastic_cases((elastic_step){.w = w,
                                        .g = g,
                                        .c = c,
                                        .eta = vec_set(eta),
                                        .alpha = vec_set(alpha),
                                        .measures = measures},
                         n);
}

static double elastic_centre_f32(float *w, const float *g, float *c, const float *s, size_t n,
                                 float eta, float alpha, float p, bool measures)
{
    return elastic_cases((elastic_step){.w = w,
                                        .g = g,
                                        .c = c,
                                        .c_to = c,
                                        .s = s,
                                        .eta = vec_set(eta),
                                        .alpha = vec_set(alpha),
                                        .p = vec_set(p),
                                        .measures = measures},
                         n);
}

INLINE void visit_at(float *c, const float *s, float *before, vec alpha, vec p, size_t count)
{
    vec old = racy_load(c, count);
    racy_store(c, centre_at(old, vec_load(s, count), alpha, p), count);
    if (before != NULL) vec_store(before, old, count);
}

static void centre_f32(float *c, const float *s, float *before, size_t n, float alpha, float p)
{
    vec    pull = vec_set(alpha), times = vec_set(p);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        visit_at(c + i, s + i, before != NULL ? before + i : NULL, pull, times, LANES);
    if (i < n) visit_at(c + i, s + i, before != NULL ? before + i : NULL, pull, times, n - i);
}

#endif
