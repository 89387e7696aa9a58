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

/* ---- rules with state ---- */

/* The numbers of a rule in every lane; those that it has not are not read. */
typedef struct rule_numbers {
    vec eta, beta1, rest1, beta2, rest2, unbias2, epsilon;
} rule_numbers;

/* Elements [i, i + count). */
typedef void rule_at(const drovek_update *u, size_t i, size_t count, const rule_numbers *r);

INLINE void update(const drovek_update *whole, rule_at *at, rule_numbers r)
{
    const drovek_update u = *whole; /* in registers */
    size_t              i = 0;
    for (; i + LANES <= u.n; i += LANES) at(&u, i, LANES, &r);
    if (i < u.n) at(&u, i, u.n - i, &r);
}

INLINE void momentum_at(const drovek_update *u, size_t i, size_t count, const rule_numbers *r)
{
    vec g = vec_load(u->g + i, count);
    vec v = vec_fnma(r->eta, g, vec_mul(r->beta1, racy_load(u->state_in[0] + i, count)));
    racy_store(u->state_out[0] + i, v, count);
    racy_store(u->out + i, vec_add(racy_load(u->in + i, count), v), count);
}

static void momentum_f32(const drovek_update *u, float eta, float mu)
{
    update(u, momentum_at, (rule_numbers){.eta = vec_set(eta), .beta1 = vec_set(mu)});
}

/* out = in - numerator / (sqrt(a) + epsilon) */
INLINE void divided_step(const drovek_update *u, size_t i, size_t count, vec numerator, vec a,
                         vec epsilon)
{
    vec step = vec_div(numerator, vec_add(vec_sqrt(a), epsilon));
    racy_store(u->out + i, vec_sub(racy_load(u->in + i, count), step), count);
}

INLINE void adagrad_at(const drovek_update *u, size_t i, size_t count, const rule_numbers *r)
{
    vec g = vec_load(u->g + i, count);
    vec a = vec_fma(g, g, racy_load(u->state_in[0] + i, count));
    racy_store(u->state_out[0] + i, a, count);
    divided_step(u, i, count, vec_mul(r->eta, g), a, r->epsilon);
}

static void adagrad_f32(const drovek_update *u, float eta, float epsilon)
{
    update(u, adagrad_at, (rule_numbers){.eta = vec_set(eta), .epsilon = vec_set(epsilon)});
}

/* beta m + (1 - beta) x */
INLINE vec running_mean(vec m, vec x, vec beta, vec rest)
{
    return vec_fma(rest, x, vec_mul(beta, m));
}

INLINE void rmsprop_at(const drovek_update *u, size_t i, size_t count, const rule_numbers *r)
{
    vec g = vec_load(u->g + i, count), was = racy_load(u->state_in[0] + i, count);
    vec a = running_mean(was, vec_mul(g, g), r->beta1, r->rest1);
    racy_store(u->state_out[0] + i, a, count);
    divided_step(u, i, count, vec_mul(r->eta, g), a, r->epsilon);
}

static void rmsprop_f32(const drovek_update *u, float eta, float beta, float epsilon)
{
    update(u, rmsprop_at,
           (rule_numbers){.eta = vec_set(eta),
                          .beta1 = vec_set(beta),
                          .rest1 = vec_set(1.0f - beta),
                          .epsilon = vec_set(epsilon)});
}

INLINE void adam_at(const drovek_update *u, size_t i, size_t count, const rule_numbers *r)
{
    vec g = vec_load(u->g + i, count);
    vec m1 = running_mean(racy_load(u->state_in[0] + i, count), g, r->beta1, r->rest1);
    vec was = racy_load(u->state_in[1] + i, count);
    vec m2 = running_mean(was, vec_mul(g, g), r->beta2, r->rest2);
    racy_store(u->state_out[0] + i, m1, count);
    racy_store(u->state_out[1] + i, m2, count);
    divided_step(u, i, count, vec_mul(r->eta, m1), vec_mul(m2, r->unbias2), r->epsilon);
}

static void adam_f32(const drovek_update *u, float eta, float beta1, float beta2, float correction1,
                     float correction2, float epsilon)
{
    update(u, adam_at,
           (rule_numbers){.eta = vec_set(eta / correction1),
                          .beta1 = vec_set(beta1),
                          .rest1 = vec_set(1.0f - beta1),
                          .beta2 = vec_set(beta2),
                          .rest2 = vec_set(1.0f - beta2),
                          .unbias2 = vec_set(1.0f / correction2),
                          .epsilon = vec_set(epsilon)});
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
