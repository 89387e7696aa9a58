/* model/loss_sigmoid.c - cross-entropy of sigmoids, p = 1 / (1 + exp(-z)), for targets t of 0 or 1:
 *
 *   loss(z, t) = log(1 + exp(z)) - t z,    d loss / dz = p - t
 *
 *   sigmoid    one output for each label of multi-label data, summed over the labels
 *   logistic   two classes and one output: with y = 2 t - 1 this is log(1 + exp(-y z))
 *
 * log(1 + exp(z)) = max(z, 0) - log(q) with q = max(p, 1 - p), which is in [1/2, 1].  So the
 * logarithms of up to BLOCK outputs are one logarithm of their product, and p comes from the
 * table's vector kernel.
 */
#include "model/loss.h"
#include "model/support.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 512 }; /* (1/2)^512 is still a normal double */

/* For n outputs: writes p to p[n] (may be z's own scratch), adds to *n_positive the outputs above 0
 * and returns the sum of log(1 + exp(z)). */
static double softplus_sum(const drovek_table *k, const float *z, size_t n, float *p,
                           size_t *n_positive)
{
    double product = 1.0, positive_sum = 0.0;
    size_t count = 0;
    memcpy(p, z, n * sizeof *p);
    drove__act_apply(k, p, n, DROVEK_SIGMOID);
    for (size_t i = 0; i < n; i++) {
        float q = p[i] >= 0.5f ? p[i] : 1.0f - p[i]; /* a NaN stays one */
        product *= q;
        positive_sum += z[i] > 0.0f ? z[i] : 0.0f;
        count += z[i] > 0.0f;
    }
    *n_positive += count;
    return positive_sum - log(product);
}

/* The part of loss and gradient that does not depend on the targets: p goes to dz unless that is
 * NULL. */
static double all_softplus(const drovek_table *k, const float *z, size_t n, float *dz,
                           size_t *n_positive)
{
    float scratch[BLOCK];
    double sum = 0.0;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t length = n - at < BLOCK ? n - at : BLOCK;
        sum += softplus_sum(k, z + at, length, dz != NULL ? dz + at : scratch, n_positive);
    }
    return sum;
}

/* ---- sigmoid: labels ---- */

static size_t sigmoid_outputs(const drove_model_io *io, const char **why)
{
    *why = "sigmoid needs data with several labels per example";
    return io->is_multi_label ? io->n_classes : 0;
}

static void sigmoid_eval(const drovek_table *k, const float *z, const drove_target *target,
                         size_t n_rows, size_t n_outputs, float scale, float *dz,
                         drove_score *score)
{
    assert(target->label_first != NULL);
    size_t n_positive = 0, n_true = 0, n_labels = 0;
    double loss = all_softplus(k, z, n_rows * n_outputs, dz, &n_positive);
    for (size_t i = 0; i < n_rows; i++) {
        for (uint64_t at = target->label_first[i]; at < target->label_last[i]; at++) {
            assert(target->label[at] < n_outputs);
            size_t o = i * n_outputs + target->label[at];
            loss -= z[o];
            n_true += z[o] > 0.0f;
            n_labels++;
            if (dz != NULL) dz[o] -= 1.0f;
        }
    }
    if (dz != NULL) k->scale_f32(dz, n_rows * n_outputs, scale);
    score->loss += loss;
    score->true_positive += (double)n_true;
    score->false_positive += (double)(n_positive - n_true);
    score->false_negative += (double)(n_labels - n_true);
}

/* ---- logistic: two classes ---- */

static size_t logistic_outputs(const drove_model_io *io, const char **why)
{
    *why = "logistic needs exactly two classes";
    return !io->is_multi_label && io->n_classes == 2 ? 1 : 0;
}

static void logistic_eval(const drovek_table *k, const float *z, const drove_target *target,
                          size_t n_rows, size_t n_outputs, float scale, float *dz,
                          drove_score *score)
{
    assert(target->y_class != NULL && n_outputs == 1);
    size_t n_positive = 0, n_correct = 0;
    double loss = all_softplus(k, z, n_rows * n_outputs, dz, &n_positive);
    for (size_t i = 0; i < n_rows; i++) {
        int32_t t = target->y_class[i];
        assert(t == 0 || t == 1);
        if (t == 1) loss -= z[i];
        n_correct += (z[i] > 0.0f) == (t == 1);
        if (dz != NULL) dz[i] = scale * (dz[i] - (float)t);
    }
    score->loss += loss;
    score->n_correct += (double)n_correct;
}

/* ---- both ---- */

static void predict(const float *z, size_t n_rows, size_t n_outputs, float *prob)
{
    for (size_t i = 0; i < n_rows * n_outputs; i++) prob[i] = 1.0f / (1.0f + expf(-z[i]));
}

static double sigmoid_constant(const double *share, size_t n)
{
    double sum = 0.0;
    for (size_t o = 0; o < n; o++) {
        const double both[2] = {share[o], 1.0 - share[o]};
        sum += drove__entropy(both, 2);
    }
    return sum;
}

const drove_loss_ops drove__loss_sigmoid = {
    .name = "sigmoid",
    .help = "cross-entropy of one sigmoid for each label, for multi-label data",
    .source = "Nam et al., ECML PKDD 2014",
    .n_outputs = sigmoid_outputs,
    .eval = sigmoid_eval,
    .predict = predict,
    .constant = sigmoid_constant,
    .gives_probability = true,
    .is_cross_entropy = true,
};

const drove_loss_ops drove__loss_logistic = {
    .name = "logistic",
    .help = "log(1 + exp(-y z)) with one output, for two classes",
    .source = "Cox, J. R. Stat. Soc. B 1958",
    .n_outputs = logistic_outputs,
    .eval = logistic_eval,
    .predict = predict,
    .constant = drove__entropy,
    .gives_probability = true,
    .is_cross_entropy = true,
};
