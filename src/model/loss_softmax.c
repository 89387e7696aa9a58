/* model/loss_softmax.c - cross-entropy of the softmax: -log(exp(z_t) / sum_o exp(z_o)); one output
 * for each class. */
#include "model/loss.h"
#include "model/support.h"

#include <assert.h>
#include <math.h>

static size_t n_outputs(const drove_model_io *io, const char **why)
{
    *why = "softmax needs examples of one class each, and at least two classes";
    return !io->is_multi_label && io->n_classes >= 2 ? io->n_classes : 0;
}

static void eval(const drovek_table *k, const float *z, const drove_target *target, size_t n_rows,
                 size_t n_outputs, float scale, float *dz, drove_score *score)
{
    assert(target->y_class != NULL);
    size_t n_correct = 0;
    score->loss += k->softmax_f32(z, target->y_class, dz, n_rows, n_outputs, scale, &n_correct);
    score->n_correct += (double)n_correct;
}

static void predict(const float *z, size_t n_rows, size_t n_outputs, float *prob)
{
    for (size_t i = 0; i < n_rows; i++) {
        const float *row = z + i * n_outputs;
        float *p = prob + i * n_outputs, largest = row[0];
        double sum = 0.0;
        for (size_t o = 1; o < n_outputs; o++) largest = row[o] > largest ? row[o] : largest;
        for (size_t o = 0; o < n_outputs; o++) {
            p[o] = expf(row[o] - largest);
            sum += p[o];
        }
        for (size_t o = 0; o < n_outputs; o++) p[o] = (float)(p[o] / sum);
    }
}

const drove_loss_ops drove__loss_softmax = {
    .name = "softmax",
    .help = "cross-entropy of the softmax, for classes",
    .source = "Bridle, NATO ASI F68, 1990",
    .n_outputs = n_outputs,
    .eval = eval,
    .predict = predict,
    .constant = drove__entropy,
    .gives_probability = true,
    .is_cross_entropy = true,
};
