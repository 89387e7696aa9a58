/* metrics/tally.c - making and freeing tallies and metrics. */
#include "metrics/tally.h"

#include "base/alive.h"
#include "base/mem.h"
#include "metrics/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static bool has_confusion(const drove_tally_options *opt)
{
    return opt->kind == DROVE_METRICS_CLASSES && opt->n_classes <= DROVE_METRICS_CONFUSION_CLASSES;
}

static drove_status name_all(drove_tally *t, const drove_tally_options *opt, size_t n)
{
    t->class_name = calloc(n, sizeof *t->class_name);
    if (t->class_name == NULL) return drove__fail_nomem("class names", n * sizeof(char *));
    for (size_t k = 0; k < n; k++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", k);
        t->class_name[k] = strdup(opt->class_name != NULL ? opt->class_name[k] : number);
        if (t->class_name[k] == NULL) return drove__fail_nomem("class names", n);
    }
    return DROVE_OK;
}

static drove_status alloc_classes(drove_tally *t, const drove_tally_options *opt)
{
    const size_t n = opt->n_classes;
    drove_tally_classes *c = &t->classes;
    DROVE_TRY(name_all(t, opt, n));
    c->hit = calloc(3 * n, sizeof *c->hit);
    if (has_confusion(opt)) c->confusion = calloc(n * n, sizeof *c->confusion);
    if (c->hit == NULL || (has_confusion(opt) && c->confusion == NULL))
        return drove__fail_nomem("metrics of classes", n * sizeof(double));
    c->support = c->hit + n;
    c->predicted = c->hit + 2 * n;
    if (opt->kind != DROVE_METRICS_CLASSES || n < 2) return DROVE_OK;
    const drove_ranking_options ranking = {.n_columns = n == 2 ? 1 : n,
                                           .n_rows = opt->n_rows,
                                           .most_bytes = opt->auc_bytes,
                                           .is_probability = opt->is_probability};
    return drove__ranking_create(&ranking, &c->ranking);
}

drove_status drove__tally_create(const drove_tally_options *opt, drove_tally **out)
{
    *out = NULL;
    drove_tally *t = calloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("metrics", sizeof *t);
    t->opt = *opt;
    t->opt.constant = NULL;
    t->opt.class_name = NULL;
    if (opt->kind == DROVE_METRICS_VALUES) {
        t->opt.n_classes = 0;
        t->n_values = opt->n_columns > 0 ? opt->n_columns : 1;
    }
    const size_t n = t->opt.n_classes + t->n_values; /* one of them is 0 */
    drove_status status = DROVE_OK;
    t->constant = calloc(n, sizeof *t->constant);
    if (opt->kind == DROVE_METRICS_VALUES) t->values = calloc(n, sizeof *t->values);
    if (t->n_values == 1) t->pair = calloc(DROVE_METRICS_PAIRS, sizeof *t->pair);
    if (t->constant == NULL || (opt->kind == DROVE_METRICS_VALUES && t->values == NULL) ||
        (t->n_values == 1 && t->pair == NULL)) {
        status = drove__fail_nomem("metrics", n * sizeof *t->constant);
        goto fail;
    }
    memcpy(t->constant, opt->constant, n * sizeof *t->constant);
    if (opt->kind != DROVE_METRICS_VALUES) status = alloc_classes(t, opt);
    else if (n > 1) status = name_all(t, opt, n);
    if (status != DROVE_OK) goto fail;
    *out = t;
    return DROVE_OK;
fail:
    drove__tally_destroy(t);
    return status;
}

void drove__tally_destroy(drove_tally *t)
{
    if (t == NULL) return;
    const size_t n_names = t->opt.n_classes + t->n_values; /* one of them is 0 */
    drove__texts_free(t->class_name, n_names);
    free(t->constant);
    free(t->values);
    free(t->pair);
    free(t->classes.hit);
    free(t->classes.confusion);
    drove__ranking_destroy(t->classes.ranking);
    free(t);
}

/* ---- rows ---- */

drove_status drove__tally_add(drove_tally *t, const drove_tally_rows *rows)
{
    if (rows->n_rows > t->opt.n_rows - t->n_rows) {
        return drove__fail(DROVE_E_ARG, "metrics: expected at most %zu rows, found %zu",
                           t->opt.n_rows, t->n_rows + rows->n_rows);
    }
    switch (t->opt.kind) {
    case DROVE_METRICS_CLASSES: drove__tally_add_classes(t, rows); break;
    case DROVE_METRICS_VALUES: drove__tally_add_values(t, rows); break;
    case DROVE_METRICS_LABELS: drove__tally_add_labels(t, rows); break;
    }
    t->n_rows += rows->n_rows;
    return DROVE_OK;
}

/* ---- metrics ---- */

static const drove_metrics_figures no_figures = {.accuracy = NAN,
                                                 .balanced_accuracy = NAN,
                                                 .log_loss = NAN,
                                                 .auc = NAN,
                                                 .average_precision = NAN,
                                                 .f1_macro = NAN,
                                                 .rmse = NAN,
                                                 .mae = NAN,
                                                 .r2 = NAN,
                                                 .f1_micro = NAN};

drove_status drove__tally_metrics(const drove_tally *t, drove_metrics **out)
{
    *out = NULL;
    drove_metrics *m = calloc(1, sizeof *m);
    if (m == NULL) return drove__fail_nomem("metrics", sizeof *m);
    m->kind = t->opt.kind;
    m->n_rows = t->n_rows;
    m->weight = t->weight;
    m->n_classes = t->opt.n_classes;
    m->model = m->constant = no_figures;
    m->constant_is_training = t->opt.constant_is_training;
    m->calibration_error = NAN;
    m->threshold = (drove_metrics_threshold){NAN, NULL, NAN, NAN, NAN, NAN};
    const size_t n = t->opt.n_classes;
    const bool counts_pairs = t->classes.confusion != NULL;
    drove_status status = DROVE_OK;
    if (n > 0) m->per_class = calloc(n, sizeof *m->per_class);
    if (n > 0 && counts_pairs) m->confusion = calloc(n * n, sizeof *m->confusion);
    if (n > 0 && (m->per_class == NULL || (counts_pairs && m->confusion == NULL))) {
        status = drove__fail_nomem("metrics of classes", n * sizeof *m->per_class);
        goto fail;
    }
    for (size_t k = 0; k < n; k++) {
        m->per_class[k].name = strdup(t->class_name[k]);
        if (m->per_class[k].name != NULL) continue;
        status = drove__fail_nomem("class names", n);
        goto fail;
    }
    switch (t->opt.kind) {
    case DROVE_METRICS_CLASSES: status = drove__tally_fill_classes(t, m); break;
    case DROVE_METRICS_VALUES: status = drove__tally_fill_values(t, m); break;
    case DROVE_METRICS_LABELS: drove__tally_fill_labels(t, m); break;
    }
    if (status != DROVE_OK) goto fail;
    *out = m;
    return DROVE_OK;
fail:
    drove_metrics_destroy(m);
    return status;
}

void drove_metrics_destroy(drove_metrics *metrics)
{
    if (metrics == NULL) return;
    DROVE_END(metrics, "metrics");
    for (size_t k = 0; metrics->per_class != NULL && k < metrics->n_classes; k++)
        free(metrics->per_class[k].name);
    for (size_t k = 0; metrics->per_value != NULL && k < metrics->n_values; k++)
        free(metrics->per_value[k].name);
    free(metrics->per_value);
    free(metrics->point);
    free(metrics->pair);
    free(metrics->per_class);
    free(metrics->confusion);
    drove__alive_free(metrics, free);
}
