/* optim/muon.c - Muon: the momentum of a matrix, orthogonalised.
 *
 * Source: Jordan, Jin, Boza, You, Cesista, Newhouse, Bernstein, Muon: An optimizer for hidden
 * layers in neural networks, 2024; the size of a step by Liu et al., Muon is Scalable for LLM
 * Training, 2025, section 2.2.  PyTorch's torch.optim.Muon with adjust_lr_fn="match_rms_adamw" is
 * the same with products in bf16.  For the weights G of a layer, a matrix of n_rows x n_columns:
 *
 *   v' = mu v + (1 - mu) G                            the velocity, a running mean
 *   X  = (1 - mu) G + mu v'                           Nesterov's
 *   X' = X / max(|X|, epsilon)                        Frobenius norm: singular values up to 1
 *   five times  A = X X^T;  X' = a X + (b A + c A A) X       singular values between 0.7 and 1.2
 *   theta' = theta - eta 0.2 sqrt(max(n_rows, n_columns)) X
 *
 * The factor gives a step the root mean square of AdamW's, so that one eta serves both.  X^T gives
 * the transposed result, so matrices stay as they are stored, inputs first, and A is the smaller of
 * X X^T and X^T X.
 */
#include "optim/optim.h"

#include <math.h>
#include <string.h>

enum { N_ITERATIONS = 5 };
static const float coefficient_a = 3.4445f, coefficient_b = -4.7750f, coefficient_c = 2.0315f;
static const double epsilon = 1e-7, root_mean_square = 0.2;

static size_t smaller_side(const drove_weight_matrix *m)
{
    const size_t n_out = m->n_groups * m->n_out;
    return m->n_in < n_out ? m->n_in : n_out;
}

/* X, a second one, A and b A + c A A. */
size_t drove__muon_scratch(const drove_weight_matrix *m)
{
    const size_t side = smaller_side(m);
    return 2 * m->n_groups * m->n_in * m->n_out + 2 * side * side;
}

double drove__muon_work(const drove_weight_matrix *m)
{
    const double side = (double)smaller_side(m), n = (double)(m->n_groups * m->n_in * m->n_out);
    return N_ITERATIONS * (2.0 * side * n + side * side * side);
}

/* Between [n_groups][n_in][n_out] and [n_in][n_groups n_out]. */
static void regroup(const drove_weight_matrix *m, const float *from, float *to, bool joins)
{
    for (size_t g = 0; g < m->n_groups; g++) {
        for (size_t i = 0; i < m->n_in; i++) {
            const size_t apart = (g * m->n_in + i) * m->n_out;
            const size_t joined = (i * m->n_groups + g) * m->n_out;
            memcpy(to + (joins ? joined : apart), from + (joins ? apart : joined),
                   m->n_out * sizeof *to);
        }
    }
}

void drove__muon_step(const drove_rule *rule, const drovek_table *k, const drove_weight_matrix *m,
                      float *velocity, float *scratch, float *g, float eta)
{
    const size_t n_in = m->n_in, n_out = m->n_groups * m->n_out, n = n_in * n_out;
    const size_t side = smaller_side(m);
    const bool is_wide = n_in < n_out;
    const float mu = rule->mu;
    float *x = scratch, *other = x + n, *gram = other + n, *update = gram + side * side;
    float *v = velocity + m->offset;
    g += m->offset;

    k->blend_f32(v, g, v, n, 1.0f - mu, mu);
    k->blend_f32(g, g, v, n, 1.0f - mu, mu);
    regroup(m, g, x, true);
    k->scale_f32(x, n, (float)(1.0 / fmax(sqrt(k->dot_f32(x, x, n)), epsilon)));

    for (unsigned i = 0; i < N_ITERATIONS; i++) {
        k->gemm_f32(!is_wide, is_wide, side, side, is_wide ? n_out : n_in, 1.0f, x, n_out, x, n_out,
                    0.0f, gram, side);
        k->copy_f32(update, gram, side * side);
        k->gemm_f32(false, false, side, side, side, coefficient_c, gram, side, gram, side,
                    coefficient_b, update, side);
        k->copy_f32(other, x, n);
        if (is_wide)
            k->gemm_f32(false, false, n_in, n_out, side, 1.0f, update, side, x, n_out,
                        coefficient_a, other, n_out);
        else
            k->gemm_f32(false, false, n_in, n_out, side, 1.0f, x, n_out, update, side,
                        coefficient_a, other, n_out);
        float *before = x;
        x = other;
        other = before;
    }
    regroup(m, x, g, false);
    const double longer = (double)(n_in > n_out ? n_in : n_out);
    k->scale_f32(g, n, (float)(-(double)eta * root_mean_square * sqrt(longer)));
}
