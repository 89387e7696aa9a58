/* run/targets.c - see targets.h. */
#include "run/targets.h"

#include "model/loss.h"
#include "run/ranks.h"

#include <math.h>
#include <string.h>

/* The last layer, if it is one of weights and biases without an activation. */
static const drove_layer *last_layer(const drove_model *model)
{
    const drove_layer *l = &model->layer[model->head[model->n_heads - 1].layer];
    bool is_affine = l->n_w > 0 && l->n_b == l->n_out && l->act == DROVEK_LINEAR;
    return model->n_heads == 1 && is_affine ? l : NULL;
}

static bool is_wanted(const drove_run *run)
{
    return !drove__resolve_is_classic(&run->opt) && run->train->storage->y_kind == DROVE_Y_VALUE &&
           run->model->loss == &drove__loss_squared && !drove__names_model_file(run->opt.model) &&
           !drove__ranks_hold_shards(run) && last_layer(run->model) != NULL;
}

static void measure(const drove_data *data, double *mean_out, double *deviation_out)
{
    const float *y = data->storage->y_value;
    double mean = 0.0, square = 0.0, weights = 0.0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        mean += weight * (double)y[row];
        weights += weight;
    }
    mean /= weights;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double d = (double)y[row] - mean;
        square += drove__data_metric_weight(data, row) * d * d;
    }
    *mean_out = mean;
    *deviation_out = sqrt(square / weights);
}

static void change(drove_storage *s, double mean, double deviation)
{
    for (size_t i = 0; i < s->n_rows; i++)
        s->y_value[i] = (float)(((double)s->y_value[i] - mean) / deviation);
}

void drove__targets_standardise(drove_run *run)
{
    double mean, deviation;
    run->target_shift = 0.0;
    run->target_scale = 1.0;
    if (!is_wanted(run)) return;
    measure(run->train, &mean, &deviation);
    if (!(deviation > 0.0) || !isfinite(deviation)) return;
    run->target_shift = mean;
    run->target_scale = deviation;
    change(run->train->storage, mean, deviation); /* the validation examples lie there too */
    if (run->test != NULL && run->test->storage != run->train->storage)
        change(run->test->storage, mean, deviation);
}

drove_status drove__targets_fold(const drove_run *run, const float *theta, float **out)
{
    const size_t n = run->model->n_params;
    float *copy = drove__alloc(n, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("a model to save", n * sizeof *copy);
    memcpy(copy, theta, n * sizeof *copy);
    *out = copy;
    if (run->target_scale == 1.0 && run->target_shift == 0.0) return DROVE_OK;
    const drove_layer *l = last_layer(run->model);
    for (size_t i = 0; i < l->n_w; i++)
        copy[l->w_offset + i] = (float)((double)copy[l->w_offset + i] * run->target_scale);
    for (size_t i = 0; i < l->n_b; i++)
        copy[l->b_offset + i] =
            (float)((double)copy[l->b_offset + i] * run->target_scale + run->target_shift);
    return DROVE_OK;
}
