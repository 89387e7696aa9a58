/* kernel/exchange.h - kernels of workers that exchange vectors: elastic steps.  Part of the table
 * of kernel.h; roundings are part of the definitions, so all tiers give equal bits.
 *
 * Source: You, Buluc, Demmel, SC17, equations (1) and (2).  Symbols: w one worker's parameters
 * (W^i), c the centre (W-bar), g gradient, eta step size, alpha = eta rho, s sum of all W^i, P
 * workers.  Every equation is about values as they were before the call.
 */
#ifndef DROVEK_EXCHANGE_H
#define DROVEK_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* (1)   w = w - eta g - alpha (w - c)     the step first, then the pull; g NULL: the pull alone
 * A step that is finished already and only to be added: eta -1.  Returns the sum of (w - c)^2 if it
 * `measures`, else 0. */
typedef double drovek_elastic_f32_fn(float *w, const float *g, const float *c, size_t n, float eta,
                                     float alpha, bool measures);

/* (2)   c = c + alpha (s - p c)           p = P and s = sum of W^i: all at once;
 *                                         p = 1 and s = W^i: one worker's visit;
 *                                         p = 0 and s = sum of W^i - c: what was sent is that
 * before: NULL, or gets the centre as it was; may be s.  [racy: c] */
typedef void drovek_centre_f32_fn(float *c, const float *s, float *before, size_t n, float alpha,
                                  float p);

/* Both, the bits of elastic followed by centre with the c of before, in one pass. */
typedef double drovek_elastic_centre_f32_fn(float *w, const float *g, float *c, const float *s,
                                            size_t n, float eta, float alpha, float p,
                                            bool measures);

#define DROVEK_EXCHANGE_LIST(X) X(elastic_f32) X(centre_f32) X(elastic_centre_f32)

#endif
