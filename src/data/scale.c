/* data/scale.c - scaling.  Sums are double; two passes for the deviation, so that a large mean
 * costs no digits. */
#include "data/scale.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *drove__scaling_name(drove_scaling scaling)
{
    static const char *const names[] = {"none", "unit", "standard"};
    return names[scaling];
}

/* One feature's factor: 1 / spread, or 1 where there is none, or where 1 / spread is no finite
 * float. */
static float inverse(double spread)
{
    float factor = (float)(1.0 / spread);
    return spread > 0 && isfinite(factor) ? factor : 1.0f;
}

/* Adds to sum[f] over the rows: (x - centre[f]) ^ power; centre NULL: 0. */
static void add_dense(const drove_data *data, const double *centre, bool squared, double *sum)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t at = drove__data_row(data, i) * n;
        for (size_t f = 0; f < n; f++) {
            double x = s->x_kind == DROVE_X_U8 ? (double)s->x_u8[at + f] : (double)s->x_f32[at + f];
            x -= centre != NULL ? centre[f] : 0.0;
            sum[f] += squared ? x * x : x;
        }
    }
}

/* The same over stored values; the zeros' part of the squares is added by the caller. */
static void add_sparse(const drove_data *data, const double *centre, bool squared, double *sum)
{
    const drove_storage *s = data->storage;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
            uint32_t f = s->index[k];
            double value = s->value != NULL ? (double)s->value[k] : 1.0;
            double x = value - (centre != NULL ? centre[f] : 0.0);
            /* a stored value replaces a zero: its square counts instead of the zero's */
            sum[f] += squared ? x * x - centre[f] * centre[f] : x;
        }
    }
}

static drove_status fit_standard(drove_data *data)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features;
    bool sparse = s->x_kind == DROVE_X_CSR;
    double *mean = calloc(n, sizeof *mean), *square = calloc(n, sizeof *square);
    if (mean == NULL || square == NULL) {
        free(mean);
        free(square);
        return drove__fail_nomem("scaling", n * sizeof *mean);
    }
    if (sparse) add_sparse(data, NULL, false, mean);
    else add_dense(data, NULL, false, mean);
    for (size_t f = 0; f < n; f++) mean[f] /= (double)data->n_rows;
    if (sparse) {
        for (size_t f = 0; f < n; f++) square[f] = (double)data->n_rows * mean[f] * mean[f];
        add_sparse(data, mean, true, square);
    } else {
        add_dense(data, mean, true, square);
    }
    for (size_t f = 0; f < n; f++) {
        double deviation = sqrt(fmax(square[f], 0.0) / (double)data->n_rows);
        /* what rounding leaves of a constant feature is not a deviation */
        if (deviation < 1e-7 * fabs(mean[f])) deviation = 0;
        data->factor[f] = inverse(deviation);
        data->shift[f] = sparse ? 0.0f : (float)mean[f];
    }
    free(mean);
    free(square);
    return DROVE_OK;
}

/* shift and factor hold the smallest and the largest value until the last loop. */
static void fit_range(drove_data *data)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features;
    for (size_t f = 0; f < n; f++) {
        data->shift[f] = INFINITY;
        data->factor[f] = -INFINITY;
    }
    for (size_t i = 0; i < data->n_rows; i++) {
        const float *x = s->x_f32 + drove__data_row(data, i) * n;
        for (size_t f = 0; f < n; f++) {
            data->shift[f] = x[f] < data->shift[f] ? x[f] : data->shift[f];
            data->factor[f] = x[f] > data->factor[f] ? x[f] : data->factor[f];
        }
    }
    for (size_t f = 0; f < n; f++) {
        data->factor[f] = inverse((double)data->factor[f] - (double)data->shift[f]);
    }
}

static void fit_largest(drove_data *data)
{
    const drove_storage *s = data->storage;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
            float size = s->value != NULL ? fabsf(s->value[k]) : 1.0f;
            float *largest = &data->factor[s->index[k]];
            if (size > *largest) *largest = size;
        }
    }
    for (size_t f = 0; f < s->n_features; f++) data->factor[f] = inverse((double)data->factor[f]);
}

static drove_status allocate(drove_data *data)
{
    size_t n = data->storage->n_features;
    data->shift = drove__alloc(n, sizeof *data->shift);
    data->factor = drove__alloc(n, sizeof *data->factor);
    if (data->shift != NULL && data->factor != NULL) return DROVE_OK;
    return drove__fail_nomem("scaling", 2 * n * sizeof *data->shift);
}

drove_status drove__scale_fit(drove_data *data)
{
    const drove_storage *s = data->storage;
    if (data->scaling == DROVE_SCALE_NONE) return DROVE_OK;
    if (data->scaling == DROVE_SCALE_UNIT && s->x_kind == DROVE_X_CSR && s->value == NULL)
        return DROVE_OK;
    DROVE_TRY(allocate(data));
    if (data->scaling == DROVE_SCALE_STANDARD) return fit_standard(data);
    if (s->x_kind == DROVE_X_F32) {
        fit_range(data);
    } else if (s->x_kind == DROVE_X_CSR) {
        fit_largest(data);
    } else {
        for (size_t f = 0; f < s->n_features; f++) data->factor[f] = 1.0f / 255.0f;
    }
    return DROVE_OK;
}

drove_scale drove__data_scale(const drove_data *data)
{
    const drove_storage *s = data->storage;
    if (s->x_kind == DROVE_X_QUANT) return (drove_scale){s->scaling, s->shift, s->factor};
    return (drove_scale){data->scaling, data->shift, data->factor};
}

/* Quantised test data cannot be scaled any more: they must have been, as the training data were. */
static drove_status compare(const drove_scale *train, const drove_data *test)
{
    drove_scale found = drove__data_scale(test);
    size_t n_bytes = test->storage->n_features * sizeof *found.shift;
    if (found.factor == NULL && train->factor == NULL) return DROVE_OK;
    if (found.factor != NULL && train->factor != NULL &&
        memcmp(found.shift, train->shift, n_bytes) == 0 &&
        memcmp(found.factor, train->factor, n_bytes) == 0)
        return DROVE_OK;
    bool same_word = found.scaling == train->scaling;
    return drove__fail(DROVE_E_SHAPE,
                       "expected data quantised with the scaling of the training data (%s), found "
                       "%s%s (--part of drove data convert makes both from one data set)",
                       drove__scaling_name(train->scaling), same_word ? "other numbers for " : "",
                       drove__scaling_name(found.scaling));
}

drove_status drove__scale_copy(const drove_data *train, drove_data *test)
{
    drove_scale scale = drove__data_scale(train);
    if (test->storage->x_kind == DROVE_X_QUANT) return compare(&scale, test);
    test->scaling = scale.scaling;
    if (scale.factor == NULL) return DROVE_OK;
    DROVE_TRY(allocate(test));
    size_t n_bytes = train->storage->n_features * sizeof *test->shift;
    memcpy(test->shift, scale.shift, n_bytes);
    memcpy(test->factor, scale.factor, n_bytes);
    return DROVE_OK;
}
