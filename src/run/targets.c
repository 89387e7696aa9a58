/* run/targets.c - see targets.h. */
#include "run/targets.h"

#include "data/origin.h"
#include "model/loss.h"
#include "run/ranks.h"

#include <math.h>
#include <string.h>

const drove_layer *drove__targets_layer(const drove_model *model)
{
    const drove_layer *l = &model->layer[model->head[model->n_heads - 1].layer];
    bool is_affine = l->n_w > 0 && l->n_b == l->n_out && l->act == DROVEK_LINEAR;
    bool is_dense = l->w_rank == 2 && l->w_shape[1] == l->n_out;
    return model->n_heads == 1 && is_affine && (l->n_out == 1 || is_dense) ? l : NULL;
}

static bool is_wanted(const drove_run *run)
{
    return !drove__resolve_is_classic(&run->opt) && run->train->storage->y_kind == DROVE_Y_VALUE &&
           run->model->loss == &drove__loss_squared &&
           run->model->initial == NULL && /* parameters in the targets' own units */
           !drove__ranks_hold_shards(run) && drove__targets_layer(run->model) != NULL;
}

/* Mean and deviation of each value of an example. */
static void measure(const drove_data *data, size_t n_values, double *mean, double *deviation)
{
    const float *y = data->storage->y_value;
    double weights = 0.0;
    for (size_t k = 0; k < n_values; k++) mean[k] = deviation[k] = 0.0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        for (size_t k = 0; k < n_values; k++) mean[k] += weight * (double)y[row * n_values + k];
        weights += weight;
    }
    for (size_t k = 0; k < n_values; k++) mean[k] /= weights;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        for (size_t k = 0; k < n_values; k++) {
            double d = (double)y[row * n_values + k] - mean[k];
            deviation[k] += weight * d * d;
        }
    }
    for (size_t k = 0; k < n_values; k++) deviation[k] = sqrt(deviation[k] / weights);
}

void drove__targets_change(drove_storage *s, const double *shift, const double *scale)
{
    const size_t n_values = drove__storage_n_values(s);
    for (size_t i = 0; i < s->n_rows * n_values; i++) {
        size_t k = i % n_values;
        s->y_value[i] = (float)drove__targets_mapped((double)s->y_value[i], shift[k], scale[k]);
    }
}

void drove__targets_map_out(const drove_layer *l, const double *shift, const double *scale,
                            float *theta)
{
    float *w = theta + l->w_offset, *b = theta + l->b_offset;
    for (size_t i = 0; i < l->n_w; i++) w[i] = (float)((double)w[i] * scale[i % l->n_out]);
    for (size_t i = 0; i < l->n_b; i++) b[i] = (float)((double)b[i] * scale[i] + shift[i]);
}

void drove__targets_map_in(const drove_layer *l, const double *shift, const double *scale,
                           float *theta)
{
    float *w = theta + l->w_offset, *b = theta + l->b_offset;
    for (size_t i = 0; i < l->n_w; i++)
        w[i] = (float)drove__targets_mapped((double)w[i], 0.0, scale[i % l->n_out]);
    for (size_t i = 0; i < l->n_b; i++)
        b[i] = (float)drove__targets_mapped((double)b[i], shift[i], scale[i]);
}

/* false: no such map. */
static bool is_finite(const double *deviation, size_t n_values)
{
    for (size_t k = 0; k < n_values; k++) {
        if (!isfinite(deviation[k])) return false;
    }
    return true;
}

static void forget(drove_run *run)
{
    drove__free(run->target_shift);
    drove__free(run->target_scale);
    run->target_shift = run->target_scale = NULL;
}

/* Only the squared loss is the same for targets less an origin (data/origin.h), and parameters that
 * came with the model's description give outputs in the targets' own units. */
static void restore_values(drove_run *run)
{
    drove_data *const all[] = {run->train, run->test, run->validation, run->kept, run->input};
    const drove_storage *s = run->train->storage;
    if (s->y_origin == NULL ||
        (run->model->loss == &drove__loss_squared && run->model->initial == NULL))
        return;
    for (size_t k = 0; run->target_mean != NULL && k < drove__storage_n_values(s); k++)
        run->target_mean[k] += s->y_origin[k];
    for (size_t i = 0; i < DROVE_COUNT(all); i++)
        if (all[i] != NULL) drove__origin_restore_values(all[i]->storage);
}

drove_status drove__targets_standardise(drove_run *run, float *theta)
{
    run->loss_scale = 1.0;
    restore_values(run);
    if (!is_wanted(run)) return DROVE_OK;
    drove_storage *s = run->train->storage;
    const size_t n = drove__storage_n_values(s);
    run->target_shift = drove__alloc(n, sizeof *run->target_shift);
    run->target_scale = drove__alloc(n, sizeof *run->target_scale);
    if (run->target_shift == NULL || run->target_scale == NULL)
        return drove__fail_nomem("scales of the targets", n * sizeof *run->target_scale);
    measure(run->train, n, run->target_shift, run->target_scale);
    if (!is_finite(run->target_scale, n)) {
        forget(run);
        return DROVE_OK;
    }
    if (n == 1 && run->target_scale[0] > 0.0)
        run->loss_scale = run->target_scale[0] * run->target_scale[0];
    /* The validation examples lie there too. */
    drove__targets_change(s, run->target_shift, run->target_scale);
    drove_storage *const of_test = run->test != NULL ? run->test->storage : s;
    drove_storage *const of_validation = run->validation != NULL ? run->validation->storage : s;
    if (of_test != s) drove__targets_change(of_test, run->target_shift, run->target_scale);
    if (of_validation != s && of_validation != of_test)
        drove__targets_change(of_validation, run->target_shift, run->target_scale);
    if (drove__names_model_file(run->opt.model))
        drove__targets_map_in(drove__targets_layer(run->model), run->target_shift,
                              run->target_scale, theta);
    return DROVE_OK;
}

drove_status drove__targets_fold(const drove_run *run, const float *theta, float **out)
{
    const size_t n = run->model->n_params;
    float *copy = drove__alloc(n, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("a model to save", n * sizeof *copy);
    memcpy(copy, theta, n * sizeof *copy);
    *out = copy;
    if (run->target_scale != NULL)
        drove__targets_map_out(drove__targets_layer(run->model), run->target_shift,
                               run->target_scale, copy);
    return DROVE_OK;
}
