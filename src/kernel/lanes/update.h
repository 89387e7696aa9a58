/* kernel/lanes/update.h - the update rules, vectorised; equations and roundings are those of
 * ref/update.c.
 *
 * Parameters and state are shared memory, the gradient is the caller's own.
 */
#ifndef DROVEK_LANES_UPDATE_H
#define DROVEK_LANES_UPDATE_H

#include "kernel/bf16.h"
#include "kernel/kernel.h"
#include "kernel/lanes/vector.h"
#include "kernel/lanes/words.h"

INLINE vec sgd_at(const float *in, const float *g, vec eta, size_t count)
{
    return vec_fnma(eta, vec_load(g, count), racy_load(in, count));
}

static void sgd_f32(float *out, const float *in, const float *g, size_t n, float eta)
{
    vec    step = vec_set(eta);
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec next[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            next[v] = sgd_at(in + i + v * LANES, g + i + v * LANES, step, LANES);
        UNROLL
        for (size_t v = 0; v < 4; v++) racy_store(out + i + v * LANES, next[v], LANES);
    }
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        racy_store(out + i, sgd_at(in + i, g + i, step, count), count);
    }
}

INLINE void momentum_at(float *out, const float *in, float *v_out, const float *v_in,
                        const float *g, vec eta, vec mu, size_t count)
{
    vec v = vec_fnma(eta, vec_load(g, count), vec_mul(mu, racy_load(v_in, count)));
    racy_store(v_out, v, count);
    racy_store(out, vec_add(racy_load(in, count), v), count);
}

static void momentum_f32(float *out, const float *in, float *v_out, const float *v_in,
                         const float *g, size_t n, float eta, float mu)
{
    vec    step = vec_set(eta), keep = vec_set(mu);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        momentum_at(out + i, in + i, v_out + i, v_in + i, g + i, step, keep, LANES);
    if (i < n) momentum_at(out + i, in + i, v_out + i, v_in + i, g + i, step, keep, n - i);
}

/* in - numerator / (sqrt(a) + epsilon) */
INLINE vec divided_step(vec in, vec numerator, vec a, vec epsilon)
{
    return vec_sub(in, vec_div(numerator, vec_add(vec_sqrt(a), epsilon)));
}

INLINE void adagrad_at(float *out, const float *in, float *a_out, const float *a_in,
                       const float *gradient, vec eta, vec epsilon, size_t count)
{
    vec g = vec_load(gradient, count);
    vec a = vec_fma(g, g, racy_load(a_in, count));
    racy_store(a_out, a, count);
    racy_store(out, divided_step(racy_load(in, count), vec_mul(eta, g), a, epsilon), count);
}

static void adagrad_f32(float *out, const float *in, float *a_out, const float *a_in,
                        const float *g, size_t n, float eta, float epsilon)
{
    vec    step = vec_set(eta), add = vec_set(epsilon);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        adagrad_at(out + i, in + i, a_out + i, a_in + i, g + i, step, add, LANES);
    if (i < n) adagrad_at(out + i, in + i, a_out + i, a_in + i, g + i, step, add, n - i);
}

/* beta m + (1 - beta) x */
INLINE vec running_mean(vec m, vec x, vec beta, vec rest)
{
    return vec_fma(rest, x, vec_mul(beta, m));
}

INLINE void rmsprop_at(float *out, const float *in, float *a_out, const float *a_in,
                       const float *gradient, vec eta, vec beta, vec rest, vec epsilon,
                       size_t count)
{
    vec g = vec_load(gradient, count);
    vec a = running_mean(racy_load(a_in, count), vec_mul(g, g), beta, rest);
    racy_store(a_out, a, count);
    racy_store(out, divided_step(racy_load(in, count), vec_mul(eta, g), a, epsilon), count);
}

static void rmsprop_f32(float *out, const float *in, float *a_out, const float *a_in,
                        const float *g, size_t n, float eta, float beta, float epsilon)
{
    vec step = vec_set(eta), keep = vec_set(beta), rest = vec_set(1.0f - beta),
        add = vec_set(epsilon);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        rmsprop_at(out + i, in + i, a_out + i, a_in + i, g + i, step, keep, rest, add, LANES);
    }
    if (i < n)
        rmsprop_at(out + i, in + i, a_out + i, a_in + i, g + i, step, keep, rest, add, n - i);
}

typedef struct adam_factors {
    vec beta1, rest1, beta2, rest2, step, unbias2, epsilon;
} adam_factors;

INLINE void adam_at(float *out, const float *in, float *m1_out, const float *m1_in, float *m2_out,
                    const float *m2_in, const float *gradient, adam_factors f, size_t count)
{
    vec g = vec_load(gradient, count);
    vec m1 = running_mean(racy_load(m1_in, count), g, f.beta1, f.rest1);
    vec m2 = running_mean(racy_load(m2_in, count), vec_mul(g, g), f.beta2, f.rest2);
    racy_store(m1_out, m1, count);
    racy_store(m2_out, m2, count);
    vec in_now = racy_load(in, count);
    racy_store(out, divided_step(in_now, vec_mul(f.step, m1), vec_mul(m2, f.unbias2), f.epsilon),
               count);
}

static void adam_f32(float *out, const float *in, float *m1_out, const float *m1_in, float *m2_out,
                     const float *m2_in, const float *g, size_t n, float eta, float beta1,
                     float beta2, float correction1, float correction2, float epsilon)
{
    adam_factors f = {
        vec_set(beta1),        vec_set(1.0f - beta1),      vec_set(beta2),
        vec_set(1.0f - beta2), vec_set(eta / correction1), vec_set(1.0f / correction2),
        vec_set(epsilon)};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        adam_at(out + i, in + i, m1_out + i, m1_in + i, m2_out + i, m2_in + i, g + i, f, LANES);
    }
    if (i < n)
        adam_at(out + i, in + i, m1_out + i, m1_in + i, m2_out + i, m2_in + i, g + i, f, n - i);
}

/* ---- parameters in bf16 ---- */

static void widen_bf16(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) vec_store(to + i, words_load(from + i), LANES);
    for (; i < n; i++) to[i] = drovek_bf16_load(from + i);
}

/* Words whose random words are r[n]. */
INLINE void step_block(uint16_t *w, const float *g, size_t n, float eta, const uint16_t *r)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        step_words(w + i, vec_load(g + i, LANES), vec_set(eta), r + i);
    for (; i < n; i++) drovek_bf16_step(w + i, g[i], eta, r[i]);
}

static void sgd_bf16(uint16_t *w, const float *g, size_t n, float eta, drovek_bits *bits)
{
    size_t b = 0, at = 0;
    for (; at + BLOCK_WORDS <= n; at += BLOCK_WORDS)
        step_block(w + at, g + at, BLOCK_WORDS, eta, block_words(bits, b++));
    if (at < n) step_block(w + at, g + at, n - at, eta, block_words(bits, b));
}

#endif
