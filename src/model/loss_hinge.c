/* model/loss_hinge.c - max(0, 1 - y z) with y = +1 or -1.
 *
 * Two classes: one output, y = +1 for class 1.  More: one against all, one output per class
 * with y = +1 for the example's own, summed over the outputs.  At the kink, y z = 1, the derivative
 * is 0.
 */
#include "model/loss.h"
#include "model/support.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static size_t n_outputs(const drove_model_io *io, const char **why)
{
    *why = "hinge needs examples of one class each, and at least two classes";
    if (io->is_multi_label || io->n_classes < 2) return 0;
    return io->n_classes == 2 ? 1 : io->n_classes;
}

static void eval(const drovek_table *k, const float *z, const drove_target *target, size_t n_rows,
                 size_t n_outputs, float scale, float *dz, drove_score *score)
{
    (void)k;
    assert(target->y_class != NULL);
    double loss = 0.0;
    size_t n_correct = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const float *row = z + i * n_outputs;
        size_t label = (size_t)target->y_class[i];
        assert(label < (n_outputs == 1 ? 2 : n_outputs));
        n_correct += (n_outputs == 1 ? row[0] > 0.0f : drove__largest(row, n_outputs)) == label;
        for (size_t o = 0; o < n_outputs; o++) {
            float y = (n_outputs == 1 ? label == 1 : label == o) ? 1.0f : -1.0f;
            float margin = 1.0f - y * row[o];
            bool is_met = margin <= 0.0f; /* false for NaN, which must show in the loss */
            if (!is_met) loss += margin;
            if (dz != NULL) dz[i * n_outputs + o] = is_met ? 0.0f : -y * scale;
        }
    }
    score->loss += loss;
    score->n_correct += (double)n_correct;
}

static void predict(const float *z, size_t n_rows, size_t n_outputs, float *prob)
{
    memcpy(prob, z, n_rows * n_outputs * sizeof *prob); /* distances, not probabilities */
}

/* Each output says what most rows say: a miss costs 2.  Two classes have one output. */
static double constant(const double *share, size_t n)
{
    double sum = 0.0;
    for (size_t o = 0; o < n; o++) sum += 2.0 * fmin(share[o], 1.0 - share[o]);
    return n == 2 ? sum / 2.0 : sum;
}

const drove_loss_ops drove__loss_hinge = {
    .name = "hinge",
    .help = "max(0, 1 - y z), for classes; more than two: one against all",
    .source = "Cortes, Vapnik, Machine Learning 1995",
    .n_outputs = n_outputs,
    .eval = eval,
    .predict = predict,
    .constant = constant,
};
