/* kernel/ref/update.c - the update rules over whole vectors.
 *
 * Source: the thesis's Table 2.3, read as docs/methods/readings.md says: epsilon outside the root;
 * Adam's raw moments are kept and a corrected copy is used.  Parameters and state may be shared
 * with running threads; the gradient may not.
 *
 * Roundings are part of the definition (fmaf, square root and division are exact to the last bit
 * everywhere), so all tiers give equal bits.
 */
#include "base/racy.h"
#include "kernel/bf16.h"
#include "kernel/ref/bits.h"
#include "kernel/tiers.h"

#include <math.h>

/* out = in - eta g */
void drovek_sgd_f32_ref(float *out, const float *in, const float *g, size_t n, float eta)
{
    for (size_t i = 0; i < n; i++)
        drove__racy_store(out + i, fmaf(-eta, g[i], drove__racy_load(in + i)));
}

/* v' = mu v - eta g;  out = in + v' */
void drovek_momentum_f32_ref(const drovek_update *u, float eta, float mu)
{
    for (size_t i = 0; i < u->n; i++) {
        float v = fmaf(-eta, u->g[i], mu * drove__racy_load(u->state_in[0] + i));
        drove__racy_store(u->state_out[0] + i, v);
        drove__racy_store(u->out + i, drove__racy_load(u->in + i) + v);
    }
}

/* out = in - step / (sqrt(a) + epsilon) */
static void divided_step(const drovek_update *u, size_t i, float step, float a, float epsilon)
{
    drove__racy_store(u->out + i, drove__racy_load(u->in + i) - step / (sqrtf(a) + epsilon));
}

/* a' = a + g^2;  out = in - eta g / (sqrt(a') + epsilon) */
void drovek_adagrad_f32_ref(const drovek_update *u, float eta, float epsilon)
{
    for (size_t i = 0; i < u->n; i++) {
        float a = fmaf(u->g[i], u->g[i], drove__racy_load(u->state_in[0] + i));
        drove__racy_store(u->state_out[0] + i, a);
        divided_step(u, i, eta * u->g[i], a, epsilon);
    }
}

/* a' = beta a + (1 - beta) g^2;  out = in - eta g / (sqrt(a') + epsilon) */
void drovek_rmsprop_f32_ref(const drovek_update *u, float eta, float beta, float epsilon)
{
    float rest = 1.0f - beta;
    for (size_t i = 0; i < u->n; i++) {
        float g = u->g[i], a = fmaf(rest, g * g, beta * drove__racy_load(u->state_in[0] + i));
        drove__racy_store(u->state_out[0] + i, a);
        divided_step(u, i, eta * g, a, epsilon);
    }
}

/* m1' = beta1 m1 + (1 - beta1) g;  m2' = beta2 m2 + (1 - beta2) g^2;
 * out = in - eta (m1' / correction1) / (sqrt(m2' / correction2) + epsilon);
 * correction_i = 1 - beta_i^t.  The corrections are applied as one factor each: eta / correction1
 * and 1 / correction2, rounded once. */
void drovek_adam_f32_ref(const drovek_update *u, float eta, float beta1, float beta2,
                         float correction1, float correction2, float epsilon)
{
    float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2;
    float step = eta / correction1, unbias2 = 1.0f / correction2;
    for (size_t i = 0; i < u->n; i++) {
        float g = u->g[i];
        float m1 = fmaf(rest1, g, beta1 * drove__racy_load(u->state_in[0] + i));
        float m2 = fmaf(rest2, g * g, beta2 * drove__racy_load(u->state_in[1] + i));
        drove__racy_store(u->state_out[0] + i, m1);
        drove__racy_store(u->state_out[1] + i, m2);
        divided_step(u, i, step * m1, m2 * unbias2, epsilon);
    }
}

void drovek_widen_bf16_ref(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = drovek_bf16_load(from + i);
}

void drovek_sgd_bf16_ref(uint16_t *w, const float *g, size_t n, float eta, drovek_bits *bits)
{
    bit_reader r;
    bit_reader_init(&r, bits);
    for (size_t i = 0; i < n; i++) drovek_bf16_step(w + i, g[i], eta, (uint16_t)next_word(&r));
}
