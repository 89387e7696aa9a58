/* metrics/values.c - figures of values: errors in the target's unit, and the part of the targets'
 * variance that the predictions explain.  Definitions: docs/use/metrics.md. */
#include "metrics/state.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first rows, and of more than DROVE_METRICS_PAIRS those at equal distances. */
static bool is_sampled(const drove_tally *t, size_t row)
{
    const size_t most = DROVE_METRICS_PAIRS, n = t->opt.n_rows;
    if (t->pair == NULL || t->n_pairs == most) return false;
    return n <= most || (size_t)((double)row * (double)most / (double)n) == t->n_pairs;
}

void drove__tally_add_values(drove_tally *t, const drove_tally_rows *rows)
{
    const size_t n = t->n_values;
    for (size_t i = 0; i < rows->n_rows; i++) {
        double weight = drove__tally_weight(rows, i);
        t->weight += weight;
        if (is_sampled(t, t->n_rows + i))
            t->pair[t->n_pairs++] = (drove_metrics_pair){.target = (double)rows->y_value[i],
                                                         .prediction = (double)rows->score[i]};
        for (size_t k = 0; k < n; k++) {
            drove_tally_values *v = &t->values[k];
            const double y = (double)rows->y_value[i * n + k];
            double error = (double)rows->score[i * n + k] - y, constant_error = t->constant[k] - y;
            v->squared += weight * error * error;
            v->absolute += weight * fabs(error);
            v->constant_squared += weight * constant_error * constant_error;
            v->constant_absolute += weight * fabs(constant_error);
            if (!(weight > 0.0)) continue;

            /* Mean and sum of squares about it, updated row by row (West, Comm. ACM 1979). */
            const double step = y - v->mean;
            v->mean += step * weight / t->weight;
            v->deviation += weight * step * (y - v->mean);
        }
    }
}

/* 1 - squared / deviation; of targets that are all equal 1 for no error, else 0. */
static double r2(const drove_tally *t, const drove_tally_values *v, double squared)
{
    const double rounding = 1e-12;
    if (t->n_rows < 2) return NAN;
    if (!(v->deviation > 0.0)) return squared > 0.0 ? 0.0 : 1.0;
    double value = 1.0 - squared / v->deviation;
    return fabs(value) < rounding ? 0.0 : value;
}

static drove_metrics_value figures_of(const drove_tally *t, size_t k)
{
    const drove_tally_values *v = &t->values[k];
    return (drove_metrics_value){.rmse = sqrt(v->squared / t->weight),
                                 .mae = v->absolute / t->weight,
                                 .r2 = r2(t, v, v->squared),
                                 .constant_value = t->constant[k],
                                 .constant_rmse = sqrt(v->constant_squared / t->weight),
                                 .constant_mae = v->constant_absolute / t->weight,
                                 .constant_r2 = r2(t, v, v->constant_squared)};
}

/* Several values: their means, as scikit-learn's multioutput="uniform_average", and each. */
drove_status drove__tally_fill_values(const drove_tally *t, drove_metrics *out)
{
    const size_t n = t->n_values;
    out->n_values = n;
    if (n > 1) out->per_value = calloc(n, sizeof *out->per_value);
    if (n > 1 && out->per_value == NULL)
        return drove__fail_nomem("metrics of values", n * sizeof *out->per_value);
    for (size_t k = 0; k < n && n > 1; k++) {
        out->per_value[k] = figures_of(t, k);
        out->per_value[k].name = strdup(t->class_name[k]);
        if (out->per_value[k].name == NULL) return drove__fail_nomem("names of values", n);
    }
    if (n == 1) {
        out->pair = calloc(DROVE_METRICS_PAIRS, sizeof *out->pair);
        if (out->pair == NULL)
            return drove__fail_nomem("a sample", DROVE_METRICS_PAIRS * sizeof *out->pair);
        memcpy(out->pair, t->pair, t->n_pairs * sizeof *out->pair);
        out->n_pairs = t->n_pairs;
    }
    if (!(t->weight > 0.0)) return DROVE_OK;
    out->constant_value = t->constant[0];
    out->model.rmse = out->model.mae = out->model.r2 = 0.0;
    out->constant.rmse = out->constant.mae = out->constant.r2 = 0.0;
    for (size_t k = 0; k < n; k++) {
        const drove_metrics_value f = figures_of(t, k);

        /* The mean over the values. */
        out->model.rmse += f.rmse / (double)n;
        out->model.mae += f.mae / (double)n;
        out->model.r2 += f.r2 / (double)n;
        out->constant.rmse += f.constant_rmse / (double)n;
        out->constant.mae += f.constant_mae / (double)n;
        out->constant.r2 += f.constant_r2 / (double)n;
    }
    /* values of several units have no RMSE in common */
    out->is_no_better =
        n > 1 ? out->model.r2 <= out->constant.r2 : out->model.rmse >= out->constant.rmse;
    return DROVE_OK;
}
