/* data/robust.c - see robust.h.  Features are gathered a few at a time, as many as a cache line
 * holds of a row; of sparse rows the stored values of each feature are. */
#include "data/robust.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "table/schema.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { GROUP = 16, MOST_ROWS = 1 << 20 };

/* The rows of the storage that are looked at. */
typedef struct looked_at {
    const drove_data *data;
    size_t n;
} looked_at;

static looked_at look_at(const drove_data *data)
{
    return (looked_at){data, data->n_rows < MOST_ROWS ? data->n_rows : MOST_ROWS};
}

/* Row k of l->n: of more rows one in each of as many equal parts, the same in every run. */
static size_t row_at(const looked_at *l, size_t k)
{
    const uint64_t n = l->data->n_rows, n_parts = l->n;
    if (n_parts == n) return drove__data_row(l->data, k);
    const uint64_t first = n * k / n_parts, end = n * (k + 1) / n_parts;
    uint64_t state = k;
    return drove__data_row(l->data, (size_t)(first + drove__splitmix64(&state) % (end - first)));
}

/* The factor of x[n] and n_zeros zeros; *median: theirs. */
static float factor_of(float *x, size_t n, size_t n_zeros, float constant, double *median)
{
    const double first = drove__select_quantile(x, n, n_zeros, 0.25);
    *median = drove__select_quantile(x, n, n_zeros, 0.5);
    double spread = drove__select_quantile(x, n, n_zeros, 0.75) - first;
    if (!(spread > 0.0))
        spread = 0.5 * (drove__select_quantile(x, n, n_zeros, 1.0) -
                        drove__select_quantile(x, n, n_zeros, 0.0));
    if (!(spread > 0.0)) return constant;
    const float factor = (float)(1.0 / spread);
    return isfinite(factor) ? fmaxf(factor, FLT_MIN) : 1.0f; /* as of other scalings */
}

static bool is_left_out(const drove_storage *s, size_t feature)
{
    return s->schema != NULL && drove__schema_is_binary(s->schema, feature);
}

static drove_status fit_dense(drove_data *data, const looked_at *l)
{
    const drove_storage *s = data->storage;
    float *column = drove__grow(NULL, GROUP * l->n, sizeof *column);
    if (column == NULL) return drove__fail_nomem("scaling", GROUP * l->n * sizeof *column);
    for (size_t first = 0; first < s->n_features; first += GROUP) {
        const size_t left = s->n_features - first, n = left < GROUP ? left : GROUP;
        size_t n_used = 0;
        for (size_t f = 0; f < n; f++) n_used += !is_left_out(s, first + f);
        if (n_used == 0) continue;
        for (size_t k = 0; k < l->n; k++) {
            const size_t at = row_at(l, k) * s->n_features + first;
            for (size_t f = 0; f < n; f++)
                column[f * l->n + k] =
                    s->x_kind == DROVE_X_U8 ? (float)s->x_u8[at + f] : s->x_f32[at + f];
        }
        for (size_t f = 0; f < n; f++) {
            double median;
            if (is_left_out(s, first + f)) continue;
            data->factor[first + f] = factor_of(column + f * l->n, l->n, 0, 0.0f, &median);
            data->shift[first + f] = (float)median;
        }
    }
    free(column);
    return DROVE_OK;
}

static drove_status fit_sparse(drove_data *data, const looked_at *l)
{
    const drove_storage *s = data->storage;
    const size_t n_features = s->n_features;
    /* start[f + 1]: the end of the values of feature f, and before they are there their number. */
    size_t *start = calloc(n_features + 2, sizeof *start);
    if (start == NULL) return drove__fail_nomem("scaling", n_features * sizeof *start);
    for (size_t k = 0; k < l->n; k++) {
        const size_t row = row_at(l, k);
        for (uint64_t i = s->row_start[row]; i < s->row_start[row + 1]; i++)
            if (!is_left_out(s, s->index[i])) start[s->index[i] + 2]++;
    }
    for (size_t f = 0; f < n_features; f++) start[f + 2] += start[f + 1];
    const size_t n_stored = start[n_features + 1];
    float *value = drove__grow(NULL, n_stored + 1, sizeof *value);
    if (value == NULL) {
        free(start);
        return drove__fail_nomem("scaling", n_stored * sizeof *value);
    }
    for (size_t k = 0; k < l->n; k++) {
        const size_t row = row_at(l, k);
        for (uint64_t i = s->row_start[row]; i < s->row_start[row + 1]; i++)
            if (!is_left_out(s, s->index[i])) value[start[s->index[i] + 1]++] = s->value[i];
    }
    for (size_t f = 0; f < n_features; f++) {
        const size_t n = start[f + 1] - start[f];
        double median;
        data->shift[f] = 0.0f;
        data->factor[f] = factor_of(value + start[f], n, l->n - n, 1.0f, &median);
    }
    free(value);
    free(start);
    return DROVE_OK;
}

drove_status drove__robust_fit(drove_data *data)
{
    const looked_at l = look_at(data);
    return data->storage->x_kind == DROVE_X_CSR ? fit_sparse(data, &l) : fit_dense(data, &l);
}

drove_status drove__robust_range(const drove_data *data, double *least, double *most)
{
    const double share = 0.001;
    const looked_at l = look_at(data);
    const size_t n_values = drove__storage_n_values(data->storage);
    float *y = drove__grow(NULL, l.n, sizeof *y);
    if (y == NULL) return drove__fail_nomem("targets", l.n * sizeof *y);
    for (size_t v = 0; v < n_values; v++) {
        for (size_t k = 0; k < l.n; k++)
            y[k] = data->storage->y_value[row_at(&l, k) * n_values + v];
        least[v] = drove__select_quantile(y, l.n, 0, share);
        most[v] = drove__select_quantile(y, l.n, 0, 1.0 - share);
    }
    free(y);
    return DROVE_OK;
}
