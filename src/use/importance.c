/* use/importance.c - see importance.h. */
#include "use/importance.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/data.h"
#include "use/measure.h"
#include "use/modelfile.h"
#include "table/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 2000, LEAST_ROWS = 20, LEAST_WORTH = 100, N_PERMUTATIONS = 3 };

typedef struct shuffler {            /* one call */
    drove_infer infer;               /* over `shuffled` */
    drove_data *original, *shuffled; /* the same examples, in memory of their own */
    uint32_t *from;                  /* [n_rows] the example whose values an example has now */
    drove_rng rng;
} shuffler;

/* ---- the examples ---- */

/* A permutation of n numbers: Fisher and Yates, as in Durstenfeld, CACM 7, 1964. */
static void permute(drove_rng *rng, uint32_t *number, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)drove__rng_below(rng, i);
        uint32_t other = number[k];
        number[k] = number[i - 1];
        number[i - 1] = other;
    }
}

/* ---- one column ---- */

/* Numbers of an example whose features are in first .. end - 1; returns the place behind them. */
static size_t move_part(const shuffler *s, size_t row, size_t first, size_t end, size_t at)
{
    const drove_storage *from = s->original->storage;
    drove_storage *to = s->shuffled->storage;
    for (uint64_t k = from->row_start[row]; k < from->row_start[row + 1]; k++) {
        if (from->index[k] < first || from->index[k] >= end) continue;
        to->index[at] = from->index[k];
        if (from->value != NULL) to->value[at] = from->value[k];
        at++;
    }
    return at;
}

/* The column's features of every example from another one. */
static void move(const shuffler *s, const drove_column *c)
{
    const drove_storage *from = s->original->storage;
    drove_storage *to = s->shuffled->storage;
    const size_t first = c->first_feature, n = c->n_features;
    size_t at = 0;
    for (size_t i = 0; i < from->n_rows; i++) {
        const size_t there = s->from[i] * from->n_features + first;
        const size_t here = i * from->n_features + first;
        if (from->x_kind == DROVE_X_CSR) { /* the part before, the other's, the part behind */
            to->row_start[i] = at;
            at = move_part(s, i, 0, first, at);
            at = move_part(s, s->from[i], first, first + n, at);
            at = move_part(s, i, first + n, from->n_features, at);
        } else if (from->x_u8 != NULL) {
            memcpy(to->x_u8 + here, from->x_u8 + there, n);
        } else {
            memcpy(to->x_f32 + here, from->x_f32 + there, n * sizeof *to->x_f32);
        }
    }
    if (from->x_kind == DROVE_X_CSR) to->row_start[from->n_rows] = at;
}

typedef struct errors { /* of all examples; NaN: not of this kind of target */
    double loss, rmse, accuracy;
} errors;

static drove_status measure_errors(const shuffler *s, errors *out)
{
    drove_score score;
    drove_metrics *metrics = NULL;
    const bool are_values = s->original->storage->y_kind == DROVE_Y_VALUE;
    DROVE_TRY(drove__metrics_measure(&s->infer, NULL, NULL, &score, are_values ? &metrics : NULL));
    *out = (errors){.loss = drove__score_mean_loss(&score),
                    .rmse = are_values ? metrics->model.rmse : NAN,
                    .accuracy = drove__score_accuracy(s->original, &score)};
    drove_metrics_destroy(metrics);
    return DROVE_OK;
}

/* What grows on average; the column is as it was afterwards. */
static drove_status measure_column(shuffler *s, const drove_column *c, const errors *usual,
                                   errors *out)
{
    const size_t n = s->original->n_rows;
    errors sum = {0.0, 0.0, 0.0}, found;
    for (size_t i = 0; i < n; i++) s->from[i] = (uint32_t)i;
    for (unsigned k = 0; k < N_PERMUTATIONS; k++) {
        permute(&s->rng, s->from, n);
        move(s, c);
        DROVE_TRY(measure_errors(s, &found));
        sum.loss += found.loss - usual->loss;
        sum.rmse += found.rmse - usual->rmse;
        sum.accuracy += usual->accuracy - found.accuracy;
    }
    for (size_t i = 0; i < n; i++) s->from[i] = (uint32_t)i;
    move(s, c);
    *out = (errors){sum.loss / N_PERMUTATIONS, sum.rmse / N_PERMUTATIONS,
                    sum.accuracy / N_PERMUTATIONS};
    return DROVE_OK;
}

/* ---- all of them ---- */

static int compare(const void *a, const void *b)
{
    const double x = ((const drove_importance_column *)a)->loss_increase;
    const double y = ((const drove_importance_column *)b)->loss_increase;
    return (x < y) - (x > y);
}

/* How many examples; 0: it is not worth it. */
static size_t count_rows(const drove_data *data, double work_per_row, double most_work)
{
    const drove_storage *s = data->storage;
    const bool is_there = s->x_f32 != NULL || s->x_u8 != NULL || s->row_start != NULL;
    const bool is_table = s->schema != NULL && s->schema->n_features == s->n_features && is_there &&
                          s->x_kind != DROVE_X_QUANT && drove__data_n_inputs(data) == s->n_features;
    if (!is_table || data->n_rows < LEAST_ROWS) return 0;
    size_t n_columns = 0;
    for (size_t i = 0; i < s->schema->n_columns; i++)
        n_columns += drove__column_is_used(&s->schema->column[i]);
    if (n_columns < 2) return 0;
    double most = most_work / (work_per_row * (double)(n_columns * N_PERMUTATIONS + 1));
    size_t n = data->n_rows < MOST_ROWS ? data->n_rows : MOST_ROWS;
    if ((double)n > most) n = (size_t)most;
    return n >= LEAST_WORTH || n == data->n_rows ? n : 0;
}

drove_status drove__importance_measure(const drove_infer *on, double loss_scale,
                                       double work_per_row, double most_work, uint64_t seed,
                                       drove_importance *out)
{
    shuffler s = {.infer = *on};
    *out = (drove_importance){.n_rows = count_rows(on->data, work_per_row, most_work)};
    if (out->n_rows == 0) return DROVE_OK;
    out->schema = drove__schema_retain(on->data->storage->schema);
    out->column = calloc(out->schema->n_columns, sizeof *out->column);
    if (out->column == NULL) return drove__fail_nomem("columns", out->schema->n_columns);
    drove__rng_seed(&s.rng, seed, DROVE_RNG_IMPORTANCE, 0);
    drove_status status;
    /* So many of the examples, drawn at random, twice. */
    drove_data some = *on->data;
    uint32_t *row = drove__alloc(on->data->n_rows, sizeof *row);
    s.from = drove__alloc(out->n_rows, sizeof *s.from);
    if (row == NULL || s.from == NULL) {
        drove__free(row);
        status = drove__fail_nomem("examples", on->data->n_rows * sizeof *row);
        goto fail;
    }
    for (size_t i = 0; i < on->data->n_rows; i++) row[i] = (uint32_t)i;
    permute(&s.rng, row, on->data->n_rows);
    for (size_t i = 0; i < out->n_rows; i++) row[i] = (uint32_t)drove__data_row(on->data, row[i]);
    some.row = row;
    some.n_rows = out->n_rows;
    status = drove__data_copy(&some, &s.original);
    if (status == DROVE_OK) status = drove__data_copy(&some, &s.shuffled);
    drove__free(row);
    if (status != DROVE_OK) goto fail;
    s.infer.data = s.shuffled;
    if (s.infer.chunk_rows > out->n_rows) s.infer.chunk_rows = out->n_rows;
    /* Every column in its turn. */
    const drove_schema *schema = out->schema;
    errors usual;
    if ((status = measure_errors(&s, &usual)) != DROVE_OK) goto fail;
    out->rmse = usual.rmse;
    out->accuracy = usual.accuracy;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        errors grown;
        if ((status = measure_column(&s, c, &usual, &grown)) != DROVE_OK) goto fail;
        out->column[out->n_columns++] =
            (drove_importance_column){.name = c->name,
                                      .loss_increase = grown.loss * loss_scale,
                                      .rmse_increase = grown.rmse,
                                      .accuracy_decrease = grown.accuracy};
    }
    qsort(out->column, out->n_columns, sizeof *out->column, compare);
fail:
    drove_data_destroy(s.original);
    drove_data_destroy(s.shuffled);
    drove__free(s.from);
    return status;
}

void drove__importance_fini(drove_importance *importance)
{
    drove__schema_release(importance->schema);
    free(importance->column);
    *importance = (drove_importance){0};
}
