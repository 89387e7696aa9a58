/* Metrics against scikit-learn's: the cases of sklearn_cases.h, whose rows are drawn here again as
 * sklearn_cases.py draws them. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/tally.h"
#include "support/test.h"

enum { MOST_CLASSES = 20, N_CLASS_FIGURES = 17, N_VALUE_FIGURES = 6, N_LABEL_FIGURES = 4 };

typedef struct class_case {
    const char *name;
    unsigned n_rows, n_classes, n_columns, levels;
    const char *kind;
    int is_weighted;
    uint32_t seed;
    double expected[N_CLASS_FIGURES];
} class_case;

typedef struct value_case {
    const char *name;
    unsigned n_rows;
    const char *kind;
    int is_weighted;
    uint32_t seed;
    double expected[N_VALUE_FIGURES];
} value_case;

typedef struct label_case {
    const char *name;
    unsigned n_rows, n_labels;
    const char *kind;
    int is_weighted;
    uint32_t seed;
    double expected[N_LABEL_FIGURES];
} label_case;

#include "sklearn_cases.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned draw(uint32_t *x, unsigned m)
{
    *x = *x * 1664525u + 1013904223u;
    return (*x >> 16) % m;
}

/* Both from sums of other lengths and orders than numpy's. */
static void assert_near(const char *name, size_t which, double found, double expected)
{
    if (isnan(expected) && isnan(found)) return;
    if (!(fabs(found - expected) <= 1e-11 * fmax(1.0, fabs(expected))))
        fail_msg("%s, figure %zu: expected %.17g, found %.17g", name, which, expected, found);
}

static drove_metrics *metrics_of(const drove_tally_options *opt, const drove_tally_rows *rows)
{
    drove_tally *t;
    drove_metrics *m;
    assert_int_equal(drove__tally_create(opt, &t), DROVE_OK);
    assert_int_equal(drove__tally_add(t, rows), DROVE_OK);
    assert_int_equal(drove__tally_metrics(t, &m), DROVE_OK);
    drove__tally_destroy(t);
    return m;
}

/* ---- classes ---- */

typedef struct class_rows {
    int32_t *truth;
    float *score, *weight;
    double share[MOST_CLASSES];
} class_rows;

static bool is_kind(const class_case *c, const char *kind)
{
    return strcmp(c->kind, kind) == 0;
}

static unsigned draw_row(const class_case *c, uint32_t *x, unsigned a[MOST_CLASSES])
{
    unsigned k = c->n_classes, t = draw(x, k);
    if (is_kind(c, "one") || (is_kind(c, "absent") && t == k - 1)) t = 0;
    for (unsigned j = 0; j < k; j++) a[j] = 1 + draw(x, c->levels);
    a[t] += c->levels / 2;
    if (is_kind(c, "never")) a[k - 1] = 0;
    for (unsigned j = 0; j < k; j++) {
        if (is_kind(c, "perfect")) a[j] = j == t;
        if (is_kind(c, "worst")) a[j] = j == (t + 1) % k;
    }
    return t;
}

static class_rows draw_classes(const class_case *c)
{
    class_rows r = {.truth = calloc(c->n_rows, sizeof *r.truth),
                    .score = calloc((size_t)c->n_rows * c->n_columns, sizeof *r.score),
                    .weight = calloc(c->n_rows, sizeof *r.weight)};
    uint32_t x = c->seed;
    double all = 0.0;
    for (unsigned i = 0; i < c->n_rows; i++) {
        unsigned a[MOST_CLASSES], sum = 0;
        r.truth[i] = (int32_t)draw_row(c, &x, a);
        for (unsigned j = 0; j < c->n_classes; j++) sum += a[j];
        for (unsigned j = 0; j < c->n_columns; j++)
            r.score[i * c->n_columns + j] = (float)a[c->n_columns > 1 ? j : 1] / (float)sum;
        r.weight[i] = c->is_weighted ? (float)(1 + draw(&x, 4)) / 2.0f : 1.0f;
        r.share[r.truth[i]] += (double)r.weight[i];
        all += (double)r.weight[i];
    }
    for (unsigned j = 0; j < c->n_classes; j++) r.share[j] /= all;
    return r;
}

static void check_classes(const class_case *c)
{
    class_rows r = draw_classes(c);
    const drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                                     .n_classes = c->n_classes,
                                     .n_columns = c->n_columns,
                                     .n_rows = c->n_rows,
                                     .is_probability = true,
                                     .constant = r.share};
    const drove_tally_rows rows = {.n_rows = c->n_rows,
                                   .score = r.score,
                                   .y_class = r.truth,
                                   .weight = c->is_weighted ? r.weight : NULL};
    drove_metrics *m = metrics_of(&opt, &rows);
    double sum[5] = {0};
    for (unsigned i = 0; i < c->n_classes; i++) {
        const drove_metrics_class *k = &m->per_class[i];
        sum[0] += (i + 1) * k->precision;
        sum[1] += (i + 1) * k->recall;
        sum[2] += (i + 1) * k->f1;
        sum[3] += (i + 1) * k->support;
        for (unsigned j = 0; j < c->n_classes; j++)
            sum[4] += (i + 1.0) * (j + 1.0) * (j + 1.0) * m->confusion[i * c->n_classes + j];
    }
    const double found[N_CLASS_FIGURES] = {m->model.accuracy,
                                           m->model.balanced_accuracy,
                                           m->model.log_loss,
                                           m->model.auc,
                                           m->model.f1_macro,
                                           sum[0],
                                           sum[1],
                                           sum[2],
                                           sum[3],
                                           sum[4],
                                           m->calibration_error,
                                           m->constant.accuracy,
                                           m->constant.balanced_accuracy,
                                           m->constant.log_loss,
                                           m->constant.f1_macro,
                                           m->model.average_precision,
                                           m->constant.average_precision};
    for (size_t i = 0; i < N_CLASS_FIGURES; i++) assert_near(c->name, i, found[i], c->expected[i]);
    assert_true(m->auc_error == 0.0 && m->average_precision_error == 0.0);
    drove_metrics_destroy(m);
    free(r.truth);
    free(r.score);
    free(r.weight);
}

TEST(classes_equal_scikit_learn)
{
    for (size_t i = 0; i < COUNT(class_cases); i++) check_classes(&class_cases[i]);
}

/* ---- values ---- */

static void check_values(const value_case *c)
{
    float *y = calloc(c->n_rows, sizeof *y), *value = calloc(c->n_rows, sizeof *value),
          *weight = calloc(c->n_rows, sizeof *weight);
    uint32_t x = c->seed;
    double sum = 0.0, all = 0.0;
    for (unsigned i = 0; i < c->n_rows; i++) {
        y[i] = (float)draw(&x, 2001) / 16.0f - 60.0f;
        if (strcmp(c->kind, "equal") == 0) y[i] = 3.0f;
        float error = ((float)draw(&x, 401) - 200.0f) / 32.0f;
        value[i] = strcmp(c->kind, "perfect") == 0 ? y[i] : y[i] + error;
        weight[i] = c->is_weighted ? (float)(1 + draw(&x, 4)) / 2.0f : 1.0f;
        sum += (double)weight[i] * (double)y[i];
        all += (double)weight[i];
    }
    const double mean = sum / all;
    const drove_tally_options opt = {
        .kind = DROVE_METRICS_VALUES, .n_columns = 1, .n_rows = c->n_rows, .constant = &mean};
    const drove_tally_rows rows = {
        .n_rows = c->n_rows, .score = value, .y_value = y, .weight = weight};
    drove_metrics *m = metrics_of(&opt, &rows);
    const double found[N_VALUE_FIGURES] = {m->model.rmse,    m->model.mae,    m->model.r2,
                                           m->constant.rmse, m->constant.mae, m->constant.r2};
    for (size_t i = 0; i < N_VALUE_FIGURES; i++) assert_near(c->name, i, found[i], c->expected[i]);
    drove_metrics_destroy(m);
    free(y);
    free(value);
    free(weight);
}

TEST(values_equal_scikit_learn)
{
    for (size_t i = 0; i < COUNT(value_cases); i++) check_values(&value_cases[i]);
}

/* ---- labels ---- */

typedef struct label_rows {
    uint64_t *start; /* [n_rows + 1] */
    uint32_t *label;
    float *p, *weight;
    double share[MOST_CLASSES];
} label_rows;

static label_rows draw_labels(const label_case *c)
{
    const size_t n = c->n_rows, k = c->n_labels;
    label_rows r = {.start = calloc(n + 1, sizeof *r.start),
                    .label = calloc(n * k, sizeof *r.label),
                    .p = calloc(n * k, sizeof *r.p),
                    .weight = calloc(n, sizeof *r.weight)};
    uint32_t x = c->seed;
    bool is_none = strcmp(c->kind, "none") == 0, is_often = strcmp(c->kind, "often") == 0;
    double all = 0.0;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < k; j++) {
            bool has = draw(&x, 4) == 0;
            r.p[i * k + j] = (float)draw(&x, 1001) / 1000.0f;
            if (is_often && j == 0) has = true;
            if (is_none) r.p[i * k + j] = 0.0f;
            if (has && !is_none) r.label[at++] = (uint32_t)j;
        }
        r.start[i + 1] = at;
        r.weight[i] = c->is_weighted ? (float)(1 + draw(&x, 4)) / 2.0f : 1.0f;
        for (uint64_t l = r.start[i]; l < at; l++) r.share[r.label[l]] += (double)r.weight[i];
        all += (double)r.weight[i];
    }
    for (size_t j = 0; j < k; j++) r.share[j] /= all;
    return r;
}

static void check_labels(const label_case *c)
{
    label_rows r = draw_labels(c);
    const drove_tally_options opt = {.kind = DROVE_METRICS_LABELS,
                                     .n_classes = c->n_labels,
                                     .n_columns = c->n_labels,
                                     .n_rows = c->n_rows,
                                     .is_probability = true,
                                     .constant = r.share};
    const drove_tally_rows rows = {.n_rows = c->n_rows,
                                   .score = r.p,
                                   .label_first = r.start,
                                   .label_last = r.start + 1,
                                   .label = r.label,
                                   .weight = r.weight};
    drove_metrics *m = metrics_of(&opt, &rows);
    const double found[N_LABEL_FIGURES] = {m->model.f1_micro, m->model.f1_macro,
                                           m->constant.f1_micro, m->constant.f1_macro};
    for (size_t i = 0; i < N_LABEL_FIGURES; i++) assert_near(c->name, i, found[i], c->expected[i]);
    drove_metrics_destroy(m);
    free(r.start);
    free(r.label);
    free(r.p);
    free(r.weight);
}

TEST(label_sets_equal_scikit_learn)
{
    for (size_t i = 0; i < COUNT(label_cases); i++) check_labels(&label_cases[i]);
}
