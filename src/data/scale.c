/* data/scale.c - computes scalings.  Sums are double; the deviation takes two passes, so that a
 * large mean costs no digits. */
#include "data/scale.h"

#include "base/mem.h"
#include "data/robust.h"
#include "table/schema.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const drove__scaling_names[DROVE_N_SCALINGS + 1] = {
    [DROVE_SCALE_NONE] = "none",           [DROVE_SCALE_UNIT] = "unit",
    [DROVE_SCALE_STANDARD] = "standard",   [DROVE_SCALE_ROBUST] = "robust",
    [DROVE_SCALE_MEAN] = "mean",           [DROVE_SCALE_MEAN_CHANNEL] = "mean-channel",
    [DROVE_SCALE_UNIT_MEAN] = "unit-mean", [DROVE_SCALE_UNIT_MEAN_CHANNEL] = "unit-mean-channel",
    [DROVE_SCALE_AUTO] = "auto",
};

const char *drove__scaling_name(drove_scaling scaling)
{
    return drove__scaling_names[scaling];
}

/* One feature's factor: 1 / spread; 1 if the spread is 0 or 1 / spread is no finite float.  Not
 * below normal floats: workers take smaller ones for 0, and infinity times 0 is not a number. */
static float inverse(double spread)
{
    float factor = (float)(1.0 / spread);
    return spread > 0 && isfinite(factor) ? fmaxf(factor, FLT_MIN) : 1.0f;
}

/* Adds to sum[f] over the rows, by their weights: (x - centre[f]) ^ power; centre NULL: 0. */
static void add_dense(const drove_data *data, const double *centre, bool squared, double *sum)
{
    const drove_storage *s = data->storage;
    size_t n = s->n_features;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i), at = row * n;
        double weight = drove__data_metric_weight(data, row);
        for (size_t f = 0; f < n; f++) {
            double x = s->x_kind == DROVE_X_U8 ? (double)s->x_u8[at + f] : (double)s->x_f32[at + f];
            x -= centre != NULL ? centre[f] : 0.0;
            sum[f] += weight * (squared ? x * x : x);
        }
    }
}

/* The same over stored values; the caller adds the squares of the zeros. */
static void add_sparse(const drove_data *data, const double *centre, bool squared, double *sum)
{
    const drove_storage *s = data->storage;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        double weight = drove__data_metric_weight(data, row);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
            uint32_t f = s->index[k];
            double value = s->value != NULL ? (double)s->value[k] : 1.0;
            double x = value - (centre != NULL ? centre[f] : 0.0);
            /* a stored value replaces a zero: its square counts instead of the zero's */
            /* cppcheck-suppress nullPointer ; there is a centre where `squared` is set */
            sum[f] += weight * (squared ? x * x - centre[f] * centre[f] : x);
        }
    }
}

static double sum_weights(const drove_data *data)
{
    double sum = 0.0;
    if (data->storage->weight == NULL) return (double)data->n_rows;
    for (size_t i = 0; i < data->n_rows; i++)
        sum += drove__data_metric_weight(data, drove__data_row(data, i));
    return sum;
}

static drove_status fit_standard(drove_data *data)
{
    const drove_storage *s = data->storage;
    const double n_rows = sum_weights(data);
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
    for (size_t f = 0; f < n; f++) mean[f] /= n_rows;
    if (sparse) {
        for (size_t f = 0; f < n; f++) square[f] = n_rows * mean[f] * mean[f];
        add_sparse(data, mean, true, square);
    } else {
        add_dense(data, mean, true, square);
    }
    for (size_t f = 0; f < n; f++) {
        double deviation = sqrt(fmax(square[f], 0.0) / n_rows);
        /* a constant feature leaves only rounding errors, not a deviation */
        if (deviation < 1e-7 * fabs(mean[f])) deviation = 0;
        data->factor[f] = inverse(deviation);
        data->shift[f] = sparse ? 0.0f : (float)mean[f];
    }
    free(mean);
    free(square);
    return DROVE_OK;
}

/* The factor of unit and its shift; of_channels: one range per channel. */
static void fit_unit(drove_data *data, bool of_channels)
{
    const drove_storage *s = data->storage;
    if (s->x_kind == DROVE_X_CSR) {
        for (size_t i = 0; i < data->n_rows; i++) {
            size_t row = drove__data_row(data, i);
            for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
                float size = s->value != NULL ? fabsf(s->value[k]) : 1.0f;
                float *largest = &data->factor[s->index[k]];
                if (size > *largest) *largest = size;
            }
        }
        for (size_t f = 0; f < s->n_features; f++)
            data->factor[f] = inverse((double)data->factor[f]);
    } else if (s->x_kind == DROVE_X_U8) {
        for (size_t f = 0; f < s->n_features; f++) data->factor[f] = 1.0f / 255.0f;
    } else {
        size_t n_parts = of_channels ? s->channels : 1, n = s->n_features / n_parts;
        /* Floats: the smallest value of each feature into shift, the largest into factor. */
        size_t n_all = s->n_features;
        for (size_t f = 0; f < n_all; f++) {
            data->shift[f] = INFINITY;
            data->factor[f] = -INFINITY;
        }
        for (size_t i = 0; i < data->n_rows; i++) {
            const float *x = s->x_f32 + drove__data_row(data, i) * n_all;
            for (size_t f = 0; f < n_all; f++) {
                data->shift[f] = x[f] < data->shift[f] ? x[f] : data->shift[f];
                data->factor[f] = x[f] > data->factor[f] ? x[f] : data->factor[f];
            }
        }
        for (size_t c = 0; c < n_parts; c++) {
            /* The factor of the n features at `first`, from the range of each; of_all: from the
             * range that all of them share. */
            size_t first = c * n;
            float *shift = data->shift + first, *factor = data->factor + first;
            double low = INFINITY, high = -INFINITY;
            for (size_t f = 0; f < n; f++) {
                if ((double)shift[f] < low) low = (double)shift[f];
                if ((double)factor[f] > high) high = (double)factor[f];
            }
            for (size_t f = 0; f < n; f++) {
                factor[f] =
                    inverse(of_channels ? high - low : (double)factor[f] - (double)shift[f]);
            }
        }
    }
}

/* ---- means ---- */

static bool is_of_channels(drove_scaling scaling)
{
    return scaling == DROVE_SCALE_MEAN_CHANNEL || scaling == DROVE_SCALE_UNIT_MEAN_CHANNEL;
}

static bool is_mean(drove_scaling scaling)
{
    return scaling >= DROVE_SCALE_MEAN;
}

static drove_status fit_mean(drove_data *data)
{
    const drove_storage *s = data->storage;
    bool of_channels = is_of_channels(data->scaling);
    size_t n = s->n_features, plane = of_channels ? n / s->channels : n;
    double *mean = calloc(n, sizeof *mean);
    if (mean == NULL) return drove__fail_nomem("scaling", n * sizeof *mean);
    const double n_rows = sum_weights(data);
    add_dense(data, NULL, false, mean);
    for (size_t f = 0; f < n; f++) mean[f] /= n_rows;
    for (size_t f = 0; f < n && of_channels; f += plane) { /* the mean of a channel's pixels */
        double sum = 0;
        for (size_t i = f; i < f + plane; i++) sum += mean[i];
        for (size_t i = f; i < f + plane; i++) mean[i] = sum / (double)plane;
    }
    if (data->scaling == DROVE_SCALE_MEAN || data->scaling == DROVE_SCALE_MEAN_CHANNEL) {
        for (size_t f = 0; f < n; f++) data->factor[f] = 1.0f;
    } else {
        fit_unit(data, of_channels);
    }
    for (size_t f = 0; f < n; f++) data->shift[f] = (float)mean[f];
    free(mean);
    return DROVE_OK;
}

static drove_status allocate(drove_data *data)
{
    size_t n = data->storage->n_features;
    data->shift = drove__alloc(n, sizeof *data->shift);
    data->factor = drove__alloc(n, sizeof *data->factor);
    if (data->shift != NULL && data->factor != NULL) return DROVE_OK;
    return drove__fail_nomem("scaling", 2 * n * sizeof *data->shift);
}

bool drove__scaling_is_fitted(drove_scaling scaling, const drove_storage *s)
{
    if (scaling == DROVE_SCALE_NONE) return false;
    return !(scaling == DROVE_SCALE_UNIT && s->x_kind == DROVE_X_U8);
}

static drove_scaling choose(const drove_data *data)
{
    const drove_storage *s = data->storage;
    switch (s->x_kind) {
    case DROVE_X_U8: return DROVE_SCALE_UNIT;
    case DROVE_X_F32: return s->channels > 0 ? DROVE_SCALE_UNIT : DROVE_SCALE_STANDARD;
    case DROVE_X_QUANT: return DROVE_SCALE_NONE;
    case DROVE_X_CSR: break;
    }
    /* Unit if some stored |x| of the view is above 1: values that others have normalised stay. */
    for (size_t i = 0; i < data->n_rows && s->value != NULL; i++) {
        size_t row = drove__data_row(data, i);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++)
            if (fabsf(s->value[k]) > 1.0f + 1e-5f) return DROVE_SCALE_UNIT; /* texts round */
    }
    return DROVE_SCALE_NONE;
}

drove_status drove__scale_fit(drove_data *data)
{
    const drove_storage *s = data->storage;
    if (data->scaling == DROVE_SCALE_AUTO) data->scaling = choose(data);
    if (data->scaling == DROVE_SCALE_NONE) return DROVE_OK;
    const bool is_of_sizes =
        data->scaling == DROVE_SCALE_UNIT || data->scaling == DROVE_SCALE_ROBUST;
    if (is_of_sizes && s->x_kind == DROVE_X_CSR && s->value == NULL) return DROVE_OK;
    if (is_mean(data->scaling)) {
        const char *word = drove__scaling_name(data->scaling);
        if (drove__storage_is_sparse(s)) {
            return drove__fail(DROVE_E_ARG,
                               "?scale=%s: would make the zeros of sparse data non-zero; expected "
                               "none, unit, standard or robust",
                               word);
        }
        if (is_of_channels(data->scaling) && s->channels == 0) {
            return drove__fail(DROVE_E_ARG,
                               "?scale=%s: expected images, found examples without a shape", word);
        }
    }
    DROVE_TRY(allocate(data));
    if (data->scaling == DROVE_SCALE_STANDARD) DROVE_TRY(fit_standard(data));
    else if (data->scaling == DROVE_SCALE_ROBUST) DROVE_TRY(drove__robust_fit(data));
    else if (is_mean(data->scaling)) DROVE_TRY(fit_mean(data));
    else fit_unit(data, false);
    /* Features of a table that are 0 or 1 stay so. */
    const drove_schema *schema = data->storage->schema;
    for (size_t f = 0; schema != NULL && f < data->storage->n_features; f++) {
        if (!drove__schema_is_binary(schema, f)) continue;
        data->shift[f] = 0.0f;
        data->factor[f] = 1.0f;
    }
    return DROVE_OK;
}

drove_status drove__scale_apply(drove_data *data, const double *mean, const double *std)
{
    const drove_storage *s = data->storage;
    const size_t each = s->n_features / s->channels;
    const bool is_new = data->factor == NULL;
    if (is_new) DROVE_TRY(allocate(data));
    for (size_t f = 0; f < s->n_features; f++) {
        const double factor = is_new ? 1.0 : (double)data->factor[f];
        const double shift = is_new ? 0.0 : (double)data->shift[f];
        data->shift[f] = (float)(shift + mean[f / each] / factor);
        data->factor[f] = (float)(factor / std[f / each]);
    }
    data->scaling = DROVE_SCALE_STANDARD;
    return DROVE_OK;
}

drove_scale drove__data_scale(const drove_data *data)
{
    const drove_storage *s = data->storage;
    if (s->x_kind == DROVE_X_QUANT) return (drove_scale){s->scaling, s->shift, s->factor};
    return (drove_scale){data->scaling, data->shift, data->factor};
}

drove_status drove__scale_copy(const drove_data *train, drove_data *test)
{
    drove_scale scale = drove__data_scale(train);
    if (test->storage->x_kind == DROVE_X_QUANT) {
        /* Quantised test data cannot be scaled: they must have the training data's scaling. */
        const drove_scale found = drove__data_scale(test);
        const size_t n_bytes = test->storage->n_features * sizeof *found.shift;
        if (found.factor == NULL && scale.factor == NULL) return DROVE_OK;
        if (found.factor != NULL && scale.factor != NULL &&
            memcmp(found.shift, scale.shift, n_bytes) == 0 &&
            memcmp(found.factor, scale.factor, n_bytes) == 0)
            return DROVE_OK;
        const bool same_word = found.scaling == scale.scaling;
        return drove__fail(DROVE_E_SHAPE,
                           "expected data quantised with the scaling of the training data (%s), "
                           "found %s%s (--part of drove data convert makes both from one data set)",
                           drove__scaling_name(scale.scaling),
                           same_word ? "other numbers for " : "",
                           drove__scaling_name(found.scaling));
    }
    test->scaling = scale.scaling;
    if (scale.factor == NULL) return DROVE_OK;
    DROVE_TRY(allocate(test));
    size_t n_bytes = train->storage->n_features * sizeof *test->shift;
    memcpy(test->shift, scale.shift, n_bytes);
    memcpy(test->factor, scale.factor, n_bytes);
    return DROVE_OK;
}
