/* pack/judge.c - see judge.h. */
#include "pack/judge.h"

#include "model/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float LEAST_PROBABILITY = 1e-12f, LEAST_ODDS = 1e-6f;
static const double COUNTED = 0.999; /* of the rows' losses, as they are */

bool drove__judge_init(drove_judge *judge, const drove_data *data, const drove_model *model)
{
    const drove_loss_ops *loss = model->loss;
    *judge = (drove_judge){.data = data, .n_outputs = model->n_outputs};
    if (loss == &drove__loss_softmax) judge->kind = DROVE_JUDGE_SOFTMAX;
    else if (loss == &drove__loss_squared) judge->kind = DROVE_JUDGE_VALUES;
    else judge->kind = DROVE_JUDGE_ODDS;
    if (judge->kind == DROVE_JUDGE_VALUES) return data->storage->y_kind == DROVE_Y_VALUE;
    return judge->kind == DROVE_JUDGE_SOFTMAX || loss == &drove__loss_sigmoid ||
           loss == &drove__loss_logistic;
}

void drove__judge_outputs(const drove_judge *judge, float *z, size_t n)
{
    for (size_t i = 0; i < n && judge->kind == DROVE_JUDGE_SOFTMAX; i++)
        z[i] = logf(fmaxf(z[i], LEAST_PROBABILITY));
    for (size_t i = 0; i < n && judge->kind == DROVE_JUDGE_ODDS; i++) {
        const float p = fminf(fmaxf(z[i], LEAST_ODDS), 1.0f - LEAST_ODDS);
        z[i] = logf(p / (1.0f - p));
    }
}

static double of_classes(const float *z, size_t n, size_t class)
{
    double most = (double)z[0], sum = 0.0;
    for (size_t k = 1; k < n; k++) most = fmax(most, (double)z[k]);
    for (size_t k = 0; k < n; k++) sum += exp((double)z[k] - most);
    return log(sum) + most - (double)z[class];
}

/* log(1 + e^z) */
static double softplus(double z)
{
    return fmax(z, 0.0) + log1p(exp(-fabs(z)));
}

double drove__judge_row(const drove_judge *judge, size_t row, const float *z)
{
    const drove_storage *s = judge->data->storage;
    const size_t at = drove__data_row(judge->data, row), n = judge->n_outputs;
    double sum = 0.0;
    if (judge->kind == DROVE_JUDGE_SOFTMAX) return of_classes(z, n, (size_t)s->y_class[at]);
    if (judge->kind == DROVE_JUDGE_VALUES) {
        for (size_t k = 0; k < n; k++) {
            const double error = (double)z[k] - (double)s->y_value[at * n + k];
            sum += 0.5 * error * error;
        }
        return sum;
    }
    if (s->y_kind == DROVE_Y_CLASS)
        return softplus(s->y_class[at] == 1 ? -(double)z[0] : (double)z[0]);
    for (size_t k = 0; k < n; k++) sum += softplus((double)z[k]);
    for (uint64_t k = s->label_start[at]; k < s->label_start[at + 1]; k++)
        sum -= (double)z[s->label[k]];
    return sum;
}

double drove__judge_weight(const drove_judge *judge, size_t row)
{
    return (double)drove__data_loss_weight(judge->data, drove__data_row(judge->data, row));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double drove__judge_mean(const drove_judge *judge, double *loss, const double *weight, size_t n,
                         double *scratch)
{
    double sum = 0.0, weights = 0.0;
    if (judge->kind == DROVE_JUDGE_VALUES && n > 0) {
        memcpy(scratch, loss, n * sizeof *scratch);
        qsort(scratch, n, sizeof *scratch, compare);
        const double most = scratch[(size_t)ceil(COUNTED * (double)n) - 1];
        for (size_t i = 0; i < n; i++) loss[i] = fmin(loss[i], most);
    }
    for (size_t i = 0; i < n; i++) {
        sum += weight[i] * loss[i];
        weights += weight[i];
    }
    return weights > 0.0 ? sum / weights : 0.0;
}

void drove__judge_constant(const drove_judge *judge, float *z)
{
    const drove_storage *s = judge->data->storage;
    const size_t n = judge->n_outputs;
    double weights = 0.0, sum[n];
    for (size_t k = 0; k < n; k++) sum[k] = 0.0;
    for (size_t i = 0; i < judge->data->n_rows; i++) {
        const size_t at = drove__data_row(judge->data, i);
        const double weight = drove__judge_weight(judge, i);
        weights += weight;
        if (judge->kind == DROVE_JUDGE_VALUES)
            for (size_t k = 0; k < n; k++) sum[k] += weight * (double)s->y_value[at * n + k];
        else if (judge->kind == DROVE_JUDGE_SOFTMAX) sum[s->y_class[at]] += weight;
        else if (s->y_kind == DROVE_Y_CLASS) sum[0] += weight * (s->y_class[at] == 1);
        else
            for (uint64_t k = s->label_start[at]; k < s->label_start[at + 1]; k++)
                sum[s->label[k]] += weight;
    }
    for (size_t k = 0; k < n; k++) z[k] = weights > 0.0 ? (float)(sum[k] / weights) : 0.0f;
    drove__judge_outputs(judge, z, n);
}
