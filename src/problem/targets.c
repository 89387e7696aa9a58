/* problem/targets.c - see targets.h. */
#include "problem/targets.h"

#include "base/mem.h"
#include "data/origin.h"
#include "data/robust.h"
#include "model/loss.h"
#include "values/ranks.h"

#include <math.h>
#include <string.h>

/* Mean and deviation of each value of an example; range[2][n_values]: of the values moved into it,
 * from range[0] to range[1]. */
static void measure(const drove_data *data, size_t n_values, const double *range, double *mean,
                    double *deviation)
{
    const double *least = range, *most = range + n_values;
    const float *y = data->storage->y_value;
    double weights = 0.0;
    for (size_t k = 0; k < n_values; k++) mean[k] = deviation[k] = 0.0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        for (size_t k = 0; k < n_values; k++)
            mean[k] += weight * fmin(fmax((double)y[row * n_values + k], least[k]), most[k]);
        weights += weight;
    }
    for (size_t k = 0; k < n_values; k++) mean[k] /= weights;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        for (size_t k = 0; k < n_values; k++) {
            double d = fmin(fmax((double)y[row * n_values + k], least[k]), most[k]) - mean[k];
            deviation[k] += weight * d * d;
        }
    }
    for (size_t k = 0; k < n_values; k++) deviation[k] = sqrt(deviation[k] / weights);
}

/* Mean and deviation of the values as they are or, with scale=robust, of the values without their
 * ends, unless hardly any value but those at the ends differs. */
static drove_status measure_values(const drove_data *data, size_t n, double *mean,
                                   double *deviation)
{
    double *range = drove__alloc(2 * n, sizeof *range);
    if (range == NULL) return drove__fail_nomem("scales of the targets", 2 * n * sizeof *range);
    drove_status status = DROVE_OK;
    for (size_t k = 0; k < n; k++) range[k] = -INFINITY, range[n + k] = INFINITY;
    if (drove__data_scale(data).scaling == DROVE_SCALE_ROBUST)
        status = drove__robust_range(data, range, range + n);
    for (size_t k = 0; k < n; k++)
        if (!(range[k] < range[n + k])) range[k] = -INFINITY, range[n + k] = INFINITY;
    if (status == DROVE_OK) measure(data, n, range, mean, deviation);
    drove__free(range);
    return status;
}

/* false: no such map. */
static bool is_finite(const double *deviation, size_t n_values)
{
    for (size_t k = 0; k < n_values; k++) {
        if (!isfinite(deviation[k])) return false;
    }
    return true;
}

/* Parameters that came with the network's description are in the units of the targets. */
static bool has_own_units(const drove_problem *problem)
{
    const drove_model *m = problem->tuned != NULL ? problem->tuned->whole : problem->model;
    return m->initial != NULL;
}

drove_status drove__targets_standardise(const drove_config *config, drove_problem *problem,
                                        const drove_workers *workers)
{
    problem->loss_scale = 1.0;
    /* Only the squared loss is the same for targets less an origin (data/origin.h), and parameters
     * that came with the model's description give outputs in the targets' own units. */
    drove_data *const all[] = {problem->train, problem->test, problem->validation, problem->kept,
                               problem->input};
    const drove_storage *storage = problem->train->storage;
    if (storage->y_origin != NULL &&
        (problem->model->loss != &drove__loss_squared || has_own_units(problem))) {
        for (size_t k = 0; problem->target_mean != NULL && k < drove__storage_n_values(storage);
             k++)
            problem->target_mean[k] += storage->y_origin[k];
        for (size_t i = 0; i < DROVE_COUNT(all); i++)
            if (all[i] != NULL) drove__origin_restore_values(all[i]->storage);
    }
    if (config->is_classic || problem->train->storage->y_kind != DROVE_Y_VALUE ||
        problem->model->loss != &drove__loss_squared || has_own_units(problem) ||
        drove__ranks_hold_shards(config, workers) || drove__targets_layer(problem->model) == NULL)
        return DROVE_OK;
    drove_storage *s = problem->train->storage;
    const size_t n = drove__storage_n_values(s);
    problem->target_shift = drove__alloc(n, sizeof *problem->target_shift);
    problem->target_scale = drove__alloc(n, sizeof *problem->target_scale);
    if (problem->target_shift == NULL || problem->target_scale == NULL)
        return drove__fail_nomem("scales of the targets", n * sizeof *problem->target_scale);
    DROVE_TRY(measure_values(problem->train, n, problem->target_shift, problem->target_scale));
    if (!is_finite(problem->target_scale, n)) {
        drove__free(problem->target_shift);
        drove__free(problem->target_scale);
        problem->target_shift = problem->target_scale = NULL;
        return DROVE_OK;
    }
    if (n == 1 && problem->target_scale[0] > 0.0)
        problem->loss_scale = problem->target_scale[0] * problem->target_scale[0];
    /* The validation examples lie there too. */
    drove__targets_change(s, problem->target_shift, problem->target_scale);
    drove_storage *const of_test = problem->test != NULL ? problem->test->storage : s;
    drove_storage *const of_validation =
        problem->validation != NULL ? problem->validation->storage : s;
    if (of_test != s) drove__targets_change(of_test, problem->target_shift, problem->target_scale);
    if (of_validation != s && of_validation != of_test)
        drove__targets_change(of_validation, problem->target_shift, problem->target_scale);
    if (drove__names_model_file(config->problem.model) && !config->problem.tuning->makes_heads)
        drove__targets_map_in(drove__targets_layer(problem->model), problem->target_shift,
                              problem->target_scale, problem->first);
    return DROVE_OK;
}

drove_status drove__targets_fold(const drove_problem *problem, const float *theta, float **out)
{
    const size_t n = problem->model->n_params;
    float *copy = drove__alloc(n, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("a model to save", n * sizeof *copy);
    memcpy(copy, theta, n * sizeof *copy);
    *out = copy;
    if (problem->target_scale != NULL)
        drove__targets_map_out(drove__targets_layer(problem->model), problem->target_shift,
                               problem->target_scale, copy);
    return DROVE_OK;
}

/* ---- a constant guess ---- */

/* The mean of -log(share) over the rows, by the shares of the classes in the whole; weights of
 * classes count in both, as they do in the losses that it stands beside. */
static double constant_of_classes(const drove_data *held, const double *share)
{
    const drove_storage *s = held->storage;
    const float *of_class = held->class_weight;
    double sum = 0.0, weights = 0.0, shares = 0.0;
    for (size_t k = 0; k < s->n_classes; k++)
        shares += share[k] * (of_class != NULL ? (double)of_class[k] : 1.0);
    for (size_t i = 0; i < held->n_rows; i++) {
        const size_t row = drove__data_row(held, i);
        const int32_t k = s->y_class[row];
        const double factor = of_class != NULL ? (double)of_class[k] : 1.0,
                     weight = drove__data_metric_weight(held, row) * factor;
        if (weight > 0.0) sum -= weight * log(fmax(share[k] * factor / shares, 1e-12));
        weights += weight;
    }
    return sum / weights;
}

/* Half the square around the mean of the whole, summed over an example's values: in their own unit
 * if there is one, as the run's losses are. */
static double constant_of_values(const drove_problem *problem)
{
    const drove_data *held = problem->validation;
    const size_t n = drove__storage_n_values(held->storage);
    double sum = 0.0, weights = 0.0;
    for (size_t i = 0; i < held->n_rows; i++) {
        size_t row = drove__data_row(held, i);
        double weight = drove__data_metric_weight(held, row);
        for (size_t k = 0; k < n; k++) {
            double mean = problem->target_mean[k];
            if (problem->target_scale != NULL)
                mean =
                    drove__targets_mapped(mean, problem->target_shift[k], problem->target_scale[k]);
            double error = (double)held->storage->y_value[row * n + k] - mean;
            sum += weight * 0.5 * error * error;
        }
        weights += weight;
    }
    return sum / weights * problem->loss_scale;
}

double drove__targets_constant_loss(const drove_problem *problem)
{
    if (problem->validation == NULL || problem->target_mean == NULL) return NAN;
    switch (problem->validation->storage->y_kind) {
    case DROVE_Y_CLASS: return constant_of_classes(problem->validation, problem->target_mean);
    case DROVE_Y_VALUE: return constant_of_values(problem);
    case DROVE_Y_LABELS: break;
    }
    return NAN;
}
