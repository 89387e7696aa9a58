/* data/origin.c - see origin.h. */
#include "data/origin.h"

#include "base/digits.h"
#include "base/mem.h"
#include "table/schema.h"

#include <stdlib.h>
#include <string.h>

/* A float array has lost such digits already, and bytes have none to lose. */
static bool may_be_far(drove_type type)
{
    return type == DROVE_TYPE_F64 || type == DROVE_TYPE_I64 || type == DROVE_TYPE_U64 ||
           type == DROVE_TYPE_I32 || type == DROVE_TYPE_U32;
}

drove_status drove__origin_of(const drove_matrix *m, double **out)
{
    *out = NULL;
    if (!may_be_far(m->type)) return DROVE_OK;
    drove_digits *digits = calloc(m->n_columns, sizeof *digits);
    if (digits == NULL) return drove__fail_nomem("columns", m->n_columns * sizeof *digits);
    for (size_t i = 0; i < m->n_rows; i++) {
        for (size_t j = 0; j < m->n_columns; j++) {
            const double value = drove__matrix_at(m, i, j);
            if (isfinite(value)) drove__digits_add(&digits[j], value);
        }
    }
    bool is_any = false;
    for (size_t j = 0; j < m->n_columns; j++) is_any |= drove__digits_are_far(&digits[j]);
    double *origin = is_any ? calloc(m->n_columns, sizeof *origin) : NULL;
    for (size_t j = 0; origin != NULL && j < m->n_columns; j++)
        origin[j] = drove__digits_origin(&digits[j]);
    free(digits);
    if (is_any && origin == NULL)
        return drove__fail_nomem("columns", m->n_columns * sizeof *origin);
    *out = origin;
    return DROVE_OK;
}

void drove__origin_row(const drove_matrix *m, size_t i, const double *origin, float *to)
{
    if (origin == NULL) {
        drove__matrix_row(m, i, to);
        return;
    }
    for (size_t j = 0; j < m->n_columns; j++)
        to[j] = (float)(drove__matrix_at(m, i, j) - origin[j]);
}

static drove_status copy(const double *from, size_t n, double **to)
{
    if (from == NULL) return DROVE_OK;
    *to = drove__grow(NULL, n, sizeof **to);
    if (*to == NULL) return drove__fail_nomem("columns", n * sizeof **to);
    memcpy(*to, from, n * sizeof **to);
    return DROVE_OK;
}

drove_status drove__origin_copy(const drove_storage *from, drove_storage *to)
{
    DROVE_TRY(copy(from->x_origin, from->n_features, &to->x_origin));
    return copy(from->y_origin, drove__storage_n_values(from), &to->y_origin);
}

/* value[n_rows][n_columns] of one origin becomes that of another one. */
static void move_values(float *value, size_t n_rows, size_t n_columns, const double *from,
                        const double *to)
{
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_columns; j++) {
            const double before = from != NULL ? from[j] : 0.0, after = to != NULL ? to[j] : 0.0;
            float *at = &value[i * n_columns + j];
            if (before != after) *at = (float)((double)*at + (before - after));
        }
    }
}

drove_status drove__origin_match(const drove_storage *train, drove_storage *test, bool use_labels)
{
    const bool is_dense = test->x_kind == DROVE_X_F32 || test->x_kind == DROVE_X_U8;
    if (is_dense && (train->x_origin != NULL || test->x_origin != NULL)) {
        /* Numbers that the storage may write to. */
        const size_t n = test->n_rows * test->n_features;
        if (test->x_kind != DROVE_X_F32 || test->arrays != NULL) {
            float *x = drove__alloc(n, sizeof *x);
            if (x == NULL) return drove__fail_nomem("examples", n * sizeof *x);
            for (size_t i = 0; i < n; i++)
                x[i] = test->x_kind == DROVE_X_U8 ? (float)test->x_u8[i] : test->x_f32[i];
            if (test->arrays == NULL) drove__free(test->x_u8);
            else drove__named_release(test->arrays);
            test->arrays = NULL;
            test->x_u8 = NULL;
            test->x_f32 = x;
            test->x_kind = DROVE_X_F32;
        }
        move_values(test->x_f32, test->n_rows, test->n_features, test->x_origin, train->x_origin);
        free(test->x_origin);
        test->x_origin = NULL;
        DROVE_TRY(copy(train->x_origin, train->n_features, &test->x_origin));
    }
    if (!use_labels || test->y_kind != DROVE_Y_VALUE ||
        (train->y_origin == NULL && test->y_origin == NULL))
        return DROVE_OK;
    const size_t n = drove__storage_n_values(test);
    move_values(test->y_value, test->n_rows, n, test->y_origin, train->y_origin);
    free(test->y_origin);
    test->y_origin = NULL;
    return copy(train->y_origin, n, &test->y_origin);
}

void drove__origin_restore_values(drove_storage *s)
{
    if (s->y_origin == NULL) return;
    move_values(s->y_value, s->n_rows, drove__storage_n_values(s), s->y_origin, NULL);
    free(s->y_origin);
    s->y_origin = NULL;
}

drove_status drove__origin_all(const drove_storage *s, double **out)
{
    *out = NULL;
    bool is_any = s->x_origin != NULL;
    const bool is_table = s->schema != NULL && !s->schema->is_sparse && s->x_kind == DROVE_X_F32;
    for (size_t i = 0; is_table && i < s->schema->n_columns; i++)
        is_any = is_any || s->schema->column[i].centre != 0;
    if (!is_any) return DROVE_OK;
    double *origin = calloc(s->n_features, sizeof *origin);
    if (origin == NULL) return drove__fail_nomem("features", s->n_features * sizeof *origin);
    if (s->x_origin != NULL) memcpy(origin, s->x_origin, s->n_features * sizeof *origin);
    if (is_table) {
        /* Of sparse tables every number is centred, and stays so. */
        for (size_t i = 0; i < s->schema->n_columns; i++) {
            const drove_column *c = &s->schema->column[i];
            if (!drove__column_is_used(c) || c->centre == 0) continue;
            origin[c->first_feature] += c->centre;
            if (c->type == DROVE_COLUMN_DATE) origin[c->first_feature + 1] += drove__year_centre(c);
        }
    }
    *out = origin;
    return DROVE_OK;
}
