/* model/loss_squared.c - 1/2 (z - t)^2, so that the derivative is z - t.
 *
 * Values: an output for each.  Classes: an output for each class, t = 1 for the example's own and 0
 * for the others.  Both are summed over the outputs.
 */
#include "model/loss.h"
#include "model/support.h"

#include <assert.h>
#include <string.h>

static size_t n_outputs(const drove_model_io *io, const char **why)
{
    *why = "squared needs values, or examples of one class each";
    if (io->is_multi_label) return 0;
    if (io->n_classes > 0) return io->n_classes;
    return io->n_values > 0 ? io->n_values : 1;
}

static void eval(const drovek_table *k, const float *z, const drove_target *target, size_t n_rows,
                 size_t n_outputs, float scale, float *dz, drove_score *score)
{
    (void)k;
    assert(target->y_value != NULL || target->y_class != NULL);
    double sum = 0.0;
    for (size_t i = 0; i < n_rows; i++) {
        const float *row = z + i * n_outputs;
        size_t label = 0;
        if (target->y_class != NULL) {
            label = (size_t)target->y_class[i];
            assert(label < n_outputs);
            score->n_correct += drove__largest(row, n_outputs) == label;
        }
        for (size_t o = 0; o < n_outputs; o++) {
            float t =
                target->y_value != NULL ? target->y_value[i * n_outputs + o] : (float)(o == label);
            float error = row[o] - t;
            sum += (double)error * error;
            if (dz != NULL) dz[i * n_outputs + o] = scale * error;
        }
    }
    score->loss += 0.5 * sum;
}

static void predict(const float *z, size_t n_rows, size_t n_outputs, float *prob)
{
    memcpy(prob, z, n_rows * n_outputs * sizeof *prob);
}

const drove_loss_ops drove__loss_squared = {
    .name = "squared",
    .help = "(z - t)^2 / 2, for values; for classes the target is 1 for the own class, else 0",
    .source = "Widrow, Hoff, WESCON 1960",
    .n_outputs = n_outputs,
    .eval = eval,
    .predict = predict,
};
