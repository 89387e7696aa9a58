/* model/custom_loss.c - a loss of the program's own: what its outputs mean, its calls.
 *
 * The program's function gets at most DROVE_LOSS_ROWS examples and knows nothing of their weights,
 * the step's scale, or the counts behind accuracy, which follow from the outputs here.
 */
#include "model/custom.h"
#include "base/mem.h"
#include "model/support.h"

#include <string.h>

static const char *const output_words[] = {"plain", "sigmoid", "softmax"};

void drove__custom_loss_init(const drove_custom *custom, drove_loss_ops *out)
{
    static const drove_loss_ops *const like[] = {
        [DROVE_OUTPUTS_PLAIN] = &drove__loss_squared,
        [DROVE_OUTPUTS_SIGMOID] = &drove__loss_sigmoid,
        [DROVE_OUTPUTS_SOFTMAX] = &drove__loss_softmax,
    };
    const drove_loss_ops *from = like[custom->loss.outputs];
    *out = (drove_loss_ops){.name = custom->loss_name,
                            .help = "a loss of the program's own",
                            .source = "the program",
                            .predict = from->predict,
                            .gives_probability = from->gives_probability,
                            .custom = &custom->loss};
}

size_t drove__custom_outputs(const drove_loss_ops *loss, const drove_model_io *io, const char **why)
{
    const drove_custom_loss *custom = loss->custom;
    const bool has_classes = io->n_classes > 0 && !io->is_multi_label;
    *why = "with one output it needs examples of one class each, and exactly two classes";
    if (custom->has_one_output) return has_classes && io->n_classes == 2 ? 1 : 0;
    *why = "its outputs go through the softmax, which needs examples of one class each, and at "
           "least two classes";
    if (custom->outputs == DROVE_OUTPUTS_SOFTMAX)
        return has_classes && io->n_classes >= 2 ? io->n_classes : 0;
    *why = "its outputs go through the sigmoid, which needs labels, or two classes and one output";
    if (custom->outputs == DROVE_OUTPUTS_SIGMOID) return io->is_multi_label ? io->n_classes : 0;
    if (io->n_classes > 0) return io->n_classes;
    return io->n_values > 0 ? io->n_values : 1;
}

void drove__custom_outputs_print(const drove_custom_loss *loss, char into[32])
{
    snprintf(into, 32, "%s%s", output_words[loss->outputs], loss->has_one_output ? ":1" : "");
}

static drove_status fail_absent(void *context, const drove_loss_batch *batch)
{
    (void)context;
    snprintf(batch->why, batch->why_size,
             "expected the program's own function of this name, as when the model was trained, "
             "found none");
    return DROVE_E_UNSUPPORTED;
}

drove_status drove__custom_absent_loss(const char *name, const char *outputs, drove_custom *into)
{
    const size_t n = strcspn(outputs, ":");
    const bool has_one = strcmp(outputs + n, ":1") == 0;
    for (unsigned i = 0; i < DROVE_COUNT(output_words); i++) {
        if (strlen(output_words[i]) != n || strncmp(output_words[i], outputs, n) != 0) continue;
        if ((outputs[n] != '\0' && !has_one) || strlen(name) >= sizeof into->loss_name) break;
        into->has_loss = true;
        snprintf(into->loss_name, sizeof into->loss_name, "%s", name);
        into->loss = (drove_custom_loss){.outputs = (drove_outputs)i,
                                         .has_one_output = has_one,
                                         .eval = fail_absent};
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_DATA,
                       "expected metadata \"loss_outputs\" of a custom loss, found \"%.40s\"",
                       outputs);
}

/* ---- one call ---- */

static void count(const drove_target *t, size_t row, const float *z, size_t n_outputs,
                  double weight, drove_score *score)
{
    if (t->label_first != NULL) {
        /* The labels of a row: above 0 counts as predicted. */
        size_t n_positive = 0, n_true = 0;
        for (size_t o = 0; o < n_outputs; o++) n_positive += z[o] > 0.0f;
        for (uint64_t at = t->label_first[row]; at < t->label_last[row]; at++)
            n_true += z[t->label[at]] > 0.0f;
        const size_t n_labels = (size_t)(t->label_last[row] - t->label_first[row]);
        score->true_positive += weight * (double)n_true;
        score->false_positive += weight * (double)(n_positive - n_true);
        score->false_negative += weight * (double)(n_labels - n_true);
    } else if (t->y_class != NULL) {
        const size_t found = n_outputs == 1 ? z[0] > 0.0f : drove__largest(z, n_outputs);
        score->n_correct += found == (size_t)t->y_class[row] ? weight : 0.0;
    }
}

/* At most DROVE_LOSS_ROWS examples.  dz: NULL, or to have their derivatives. */
static bool call(const drove_model *model, const drove_target *t, size_t n_rows, const float *z,
                 float scale, float *dz, drove_pass *pass, drove_score *score)
{
    const drove_custom_loss *loss = model->loss->custom;
    float of_row[DROVE_LOSS_ROWS];
    char why[512] = "";
    const drove_loss_batch batch = {.n_rows = n_rows,
                                    .n_outputs = model->n_outputs,
                                    .outputs = z,
                                    .class_of = t->y_class,
                                    .values = t->y_value,
                                    .label_first = t->label_first,
                                    .label_last = t->label_last,
                                    .label = t->label,
                                    .loss = of_row,
                                    .derivative = dz,
                                    .why = why,
                                    .why_size = sizeof why};
    drove_status status = loss->eval(loss->context, &batch);
    if (status != DROVE_OK) {
        why[sizeof why - 1] = '\0';
        drove__custom_fail(pass, "loss", model->loss->name, status, why);
        return false;
    }
    const size_t n = model->n_outputs;
    for (size_t i = 0; i < n_rows; i++) {
        const float weight = t->weight != NULL ? t->weight[i] : 1.0f;
        score->loss += (double)weight * (double)of_row[i];
        count(t, i, z + i * n, n, (double)weight, score);
        for (size_t o = 0; dz != NULL && o < n; o++) dz[i * n + o] *= scale * weight;
    }
    return true;
}

void drove__custom_loss_eval(const drove_model *model, const drove_target *target, size_t n_rows,
                             const float *z, float scale, float *dz, drove_pass *pass,
                             drove_score *score)
{
    const size_t n = model->n_outputs;
    for (size_t first = 0; first < n_rows; first += DROVE_LOSS_ROWS) {
        const size_t rest = n_rows - first;
        const size_t n_here = rest < DROVE_LOSS_ROWS ? rest : DROVE_LOSS_ROWS;
        const drove_target part = drove__target_from(target, first, n);
        if (!call(model, &part, n_here, z + first * n, scale, dz != NULL ? dz + first * n : NULL,
                  pass, score))
            return;
    }
}
