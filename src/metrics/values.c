/* metrics/values.c - figures of values: errors in the target's unit, and the part of the targets'
 * variance that the predictions explain.  Definitions: docs/metrics.md. */
#include "metrics/state.h"

#include <math.h>

/* Mean and sum of squares about it, updated row by row (West, Comm. ACM 1979). */
static void add_target(drove_tally *t, double y, double weight)
{
    drove_tally_values *v = &t->values;
    if (!(weight > 0.0)) return;
    t->weight += weight;
    double step = y - v->mean;
    v->mean += step * weight / t->weight;
    v->deviation += weight * step * (y - v->mean);
}

void drove__tally_add_values(drove_tally *t, const drove_tally_rows *rows)
{
    drove_tally_values *v = &t->values;
    for (size_t i = 0; i < rows->n_rows; i++) {
        double y = rows->y_value[i], weight = drove__tally_weight(rows, i);
        double error = (double)rows->score[i] - y, constant_error = t->constant[0] - y;
        v->squared += weight * error * error;
        v->absolute += weight * fabs(error);
        v->constant_squared += weight * constant_error * constant_error;
        v->constant_absolute += weight * fabs(constant_error);
        add_target(t, y, weight);
    }
}

/* 1 - squared / deviation; of targets that are all equal 1 for no error, else 0. */
static double r2(const drove_tally *t, double squared)
{
    const double rounding = 1e-12;
    if (t->n_rows < 2) return NAN;
    if (!(t->values.deviation > 0.0)) return squared > 0.0 ? 0.0 : 1.0;
    double value = 1.0 - squared / t->values.deviation;
    return fabs(value) < rounding ? 0.0 : value;
}

void drove__tally_fill_values(const drove_tally *t, drove_metrics *out)
{
    const drove_tally_values *v = &t->values;
    if (!(t->weight > 0.0)) return;
    out->constant_value = t->constant[0];
    out->model.rmse = sqrt(v->squared / t->weight);
    out->model.mae = v->absolute / t->weight;
    out->model.r2 = r2(t, v->squared);
    out->constant.rmse = sqrt(v->constant_squared / t->weight);
    out->constant.mae = v->constant_absolute / t->weight;
    out->constant.r2 = r2(t, v->constant_squared);
    out->is_no_better = out->model.rmse >= out->constant.rmse;
}
