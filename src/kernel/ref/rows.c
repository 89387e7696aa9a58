/* kernel/ref/rows.c - element-wise work on y[rows][cols]: bias and activation, its derivative,
 * softmax and its loss.
 *
 * The bias belongs to the shared parameters: it is read through base/racy.h.
 *
 * Transcendental functions are computed in double and rounded once; the tiers are compared with
 * that.
 */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>

/* A NaN stays a NaN in every activation: a diverged network must not look healthy. */
static float activate(float v, drovek_act act)
{
    switch (act) {
    case DROVEK_RELU: return v < 0.0f ? 0.0f : v;
    case DROVEK_SIGMOID: return (float)(1.0 / (1.0 + exp(-(double)v)));
    case DROVEK_TANH: return (float)tanh((double)v);
    default: break;
    }
    return v;
}

/* dy * act'(.), the derivative expressed through the output y */
static float derive(float dy, float y, drovek_act act)
{
    switch (act) {
    case DROVEK_RELU: return y > 0.0f ? dy : 0.0f;
    case DROVEK_SIGMOID: return dy * (y * (1.0f - y));
    case DROVEK_TANH: return dy * fmaf(-y, y, 1.0f);
    default: break;
    }
    return dy;
}

void drovek_bias_act_f32_ref(float *y, const float *bias, size_t rows, size_t cols, drovek_act act)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t o = 0; o < cols; o++)
            y[i * cols + o] = activate(y[i * cols + o] + drove__racy_load(bias + o), act);
    }
}

void drovek_act_grad_f32_ref(float *dy, float *db, const float *y, size_t rows, size_t cols,
                             drovek_act act)
{
    for (size_t o = 0; o < cols; o++) db[o] = 0.0f;
    for (size_t i = 0; i < rows; i++) {
        for (size_t o = 0; o < cols; o++) {
            size_t at = i * cols + o;
            if (act != DROVEK_LINEAR) dy[at] = derive(dy[at], y[at], act);
            db[o] += dy[at];
        }
    }
}

void drovek_act_f32_ref(float *y, const float *x, size_t n, drovek_act act)
{
    for (size_t i = 0; i < n; i++) y[i] = activate(x[i], act);
}

void drovek_act_back_f32_ref(float *dx, const float *dy, const float *y, size_t n, drovek_act act,
                             bool adds)
{
    for (size_t i = 0; i < n; i++) {
        float d = act != DROVEK_LINEAR ? derive(dy[i], y[i], act) : dy[i];
        dx[i] = adds ? dx[i] + d : d;
    }
}

void drovek_cos_f32_ref(float *y, const float *phase, size_t rows, size_t cols, float factor)
{
    for (size_t i = 0; i < rows * cols; i++)
        y[i] = (float)(factor * cos((double)(y[i] + phase[i % cols])));
}

/* Index of the first of the largest of z[n], n >= 1; a NaN is never larger. */
static size_t first_largest(const float *z, size_t n)
{
    size_t best = 0;
    for (size_t o = 1; o < n; o++) {
        if (z[o] > z[best]) best = o;
    }
    return best;
}

double drovek_softmax_f32_ref(const float *z, const int32_t *label, float *dz, size_t rows,
                              size_t cols, float scale, size_t *n_correct)
{
    double loss = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const float *row = z + i * cols;
        size_t wanted = (size_t)label[i];
        size_t best = first_largest(row, cols);
        double largest = row[best], sum = 0.0;
        for (size_t o = 0; o < cols; o++) sum += exp(row[o] - largest);
        loss += log(sum) + (largest - row[wanted]);
        *n_correct += best == wanted;
        if (dz == NULL) continue;
        for (size_t o = 0; o < cols; o++) {
            double share = exp(row[o] - largest) / sum;
            dz[i * cols + o] = (float)(scale * (share - (o == wanted ? 1.0 : 0.0)));
        }
    }
    return loss;
}
