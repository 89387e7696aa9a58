/* report/metrics.c - the metrics of a model on a data set: one JSON object, tables for people, and
 * the lines of a run's summary. */
#include "base/alive.h"
#include "base/given.h"
#include "base/print.h"

#include "base/locale.h"
#include "report/json.h"
#include "report/report.h"
#include "report/sections.h"

#include <drove/metrics.h>

#include <math.h>
#include <string.h>

enum {
    METRICS_DIGITS = 9,
    MOST_PRINTED_CLASSES = 30, /* of the table of classes */
    MOST_CONFUSED_CLASSES = 12,
    LEAST_SUPPORT = 10, /* of a class of which a remark is made */
    NAME_WIDTH = 20,
    NAME_SIZE = 64,
    COLUMN_WIDTH = 8
};

/* The leading figures, as they are printed. */
static const struct figure {
    const char *key, *name;
    size_t offset;
    bool is_share; /* printed in percent */
} figures[] = {
    {"accuracy", "accuracy", offsetof(drove_metrics_figures, accuracy), true},
    {"balanced_accuracy", "balanced accuracy", offsetof(drove_metrics_figures, balanced_accuracy),
     true},
    {"log_loss", "log loss", offsetof(drove_metrics_figures, log_loss), false},
    {"auc", "AUC", offsetof(drove_metrics_figures, auc), false},
    {"average_precision", "average precision", offsetof(drove_metrics_figures, average_precision),
     false},
    {"rmse", "RMSE", offsetof(drove_metrics_figures, rmse), false},
    {"mae", "MAE", offsetof(drove_metrics_figures, mae), false},
    {"r2", "R2", offsetof(drove_metrics_figures, r2), false},
    {"f1_micro", "micro-F1", offsetof(drove_metrics_figures, f1_micro), false},
    {"f1_macro", "macro-F1", offsetof(drove_metrics_figures, f1_macro), false},
};

static double value_of(const drove_metrics_figures *f, const struct figure *which)
{
    return *(const double *)(const void *)((const char *)f + which->offset);
}

/* ---- JSON ---- */

static void set_figures(const drove_metrics_figures *f, json_t **object)
{
    for (size_t i = 0; i < DROVE_COUNT(figures); i++)
        drove__json_set(object, figures[i].key, drove__json_real(value_of(f, &figures[i])));
}

/* A sum of weights: a whole number unless there are weights. */
static json_t *count_json(double value)
{
    bool is_whole = floor(value) == value && fabs(value) < 0x1p53;
    return is_whole ? json_integer((json_int_t)value) : drove__json_real(value);
}

static json_t *classes_json(const drove_metrics *m)
{
    if (m->per_class == NULL) return json_null();
    json_t *list = json_array();
    for (size_t k = 0; k < m->n_classes; k++) {
        const drove_metrics_class *c = &m->per_class[k];
        drove__json_add(&list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "class", c->name, "precision",
                                         drove__json_real(c->precision), "recall",
                                         drove__json_real(c->recall), "f1", drove__json_real(c->f1),
                                         "support", count_json(c->support)));
    }
    return list;
}

static json_t *confusion_json(const drove_metrics *m)
{
    if (m->confusion == NULL) return json_null();
    json_t *matrix = json_array();
    for (size_t i = 0; i < m->n_classes; i++) {
        json_t *row = json_array();
        for (size_t k = 0; k < m->n_classes; k++)
            drove__json_add(&row, count_json(m->confusion[i * m->n_classes + k]));
        drove__json_add(&matrix, row);
    }
    return matrix;
}

static json_t *calibration_json(const drove_metrics *m)
{
    if (!m->has_calibration) return json_null();
    json_t *bins = json_array();
    for (int i = 0; i < DROVE_METRICS_BINS; i++) {
        const drove_metrics_bin *b = &m->bin[i];
        drove__json_add(&bins, json_pack("{s:o, s:o, s:o}", "count", count_json(b->count), "mean",
                                         drove__json_real(b->mean), "observed",
                                         drove__json_real(b->observed)));
    }
    return json_pack("{s:o, s:o}", "error", drove__json_real(m->calibration_error), "bins", bins);
}

static json_t *values_json(const drove_metrics *m)
{
    if (m->per_value == NULL) return json_null();
    json_t *list = json_array();
    for (size_t k = 0; k < m->n_values; k++) {
        const drove_metrics_value *v = &m->per_value[k];
        drove__json_add(&list, json_pack("{s:s, s:o, s:o, s:o}", "value", v->name, "rmse",
                                         drove__json_real(v->rmse), "mae", drove__json_real(v->mae),
                                         "r2", drove__json_real(v->r2)));
    }
    return list;
}

static json_t *threshold_json(const drove_metrics *m)
{
    const drove_metrics_threshold *t = &m->threshold;
    if (t->by == NULL) return json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "class", m->per_class[1].name, "by",
                     t->by, "value", drove__json_real(t->value), "precision",
                     drove__json_real(t->precision), "recall", drove__json_real(t->recall), "f1",
                     drove__json_real(t->f1), "cost", drove__json_real(t->cost));
}

static json_t *curve_json(const drove_metrics *m)
{
    if (m->n_points == 0) return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < m->n_points; i++) {
        const drove_metrics_point *p = &m->point[i];
        drove__json_add(&list, json_pack("[o, o, o, o]", drove__json_real(p->score),
                                         drove__json_real(p->recall),
                                         drove__json_real(p->false_positive_rate),
                                         drove__json_real(p->precision)));
    }
    return list;
}

static json_t *sample_json(const drove_metrics *m)
{
    if (m->n_pairs == 0) return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < m->n_pairs; i++)
        drove__json_add(&list, json_pack("[o, o]", drove__json_real(m->pair[i].target),
                                         drove__json_real(m->pair[i].prediction)));
    return list;
}

json_t *drove__report_metrics_json(const drove_metrics *m, bool with_points)
{
    if (m == NULL) return json_null();
    json_t *object = json_object();
    set_figures(&m->model, &object);
    drove__json_set(&object, "per_class", classes_json(m));
    drove__json_set(&object, "per_value", values_json(m));
    drove__json_set(&object, "confusion", confusion_json(m));
    drove__json_set(&object, "calibration", calibration_json(m));
    drove__json_set(&object, "threshold", threshold_json(m));
    drove__json_set(&object, "curve", with_points ? curve_json(m) : json_null());
    drove__json_set(&object, "sample", with_points ? sample_json(m) : json_null());
    json_t *guess = NULL;
    if (m->kind == DROVE_METRICS_CLASSES) {
        guess = json_string(m->per_class[m->constant_class].name);
    } else if (m->kind == DROVE_METRICS_LABELS) {
        guess = json_null();
    } else if (m->per_value == NULL) {
        guess = drove__json_real(m->constant_value);
    } else {
        guess = json_array();
        for (size_t k = 0; k < m->n_values; k++)
            drove__json_add(&guess, drove__json_real(m->per_value[k].constant_value));
    }
    json_t *constant = json_pack("{s:o, s:s}", "guess", guess, "from",
                                 m->constant_is_training ? "training" : "evaluated");
    set_figures(&m->constant, &constant);
    drove__json_set(&object, "constant", constant);
    return object;
}

drove_status drove_metrics_json(const drove_metrics *metrics, char **out)
{
    DROVE_ALIVE(metrics, "metrics");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    json_t *object = drove__report_metrics_json(metrics, true);
    char *text = drove__json_dump(object, JSON_ENCODE_ANY | JSON_COMPACT |
                                              JSON_REAL_PRECISION((size_t)METRICS_DIGITS));
    json_decref(object);
    if (text == NULL) return drove__fail_nomem("metrics as JSON", 1);
    *out = text;
    return DROVE_OK;
}

/* ---- for people ---- */

static const char *figure_text(const drove_metrics_figures *f, const struct figure *which,
                               char into[32])
{
    double value = value_of(f, which);
    if (isnan(value)) snprintf(into, 32, "-");
    else if (which->is_share) snprintf(into, 32, "%.2f %%", 100.0 * value);
    else snprintf(into, 32, "%.4g", value);
    return into;
}

static void print_verdict(const drove_metrics *m, const char *indent, FILE *stream)
{
    char name[DROVE_TEXT_SIZE];
    if (!m->is_no_better) return;
    fprintf(stream, "%sThe model is no better than a constant guess", indent);
    if (m->kind == DROVE_METRICS_CLASSES)
        fprintf(stream, ": always %s",
                drove__print_plain(m->per_class[m->constant_class].name, name, sizeof name));
    if (m->kind == DROVE_METRICS_VALUES && m->per_value == NULL)
        fprintf(stream, ": always %.6g", m->constant_value);
    fputs(".\n", stream);
}

/* A class that is rarer than its share of the classes, and of whose rows hardly one is found: those
 * are counted, and the rarest is named. */
static void print_missed(const drove_metrics *m, const char *indent, FILE *stream)
{
    const double hardly = 0.05; /* recall */
    const drove_metrics_class *rarest = NULL;
    size_t n = 0;
    for (size_t k = 0; m->kind == DROVE_METRICS_CLASSES && k < m->n_classes; k++) {
        const drove_metrics_class *c = &m->per_class[k];
        if (c->support < LEAST_SUPPORT || c->recall >= hardly) continue;
        if (c->support * (double)m->n_classes >= m->weight) continue;
        if (rarest == NULL || c->support < rarest->support) rarest = c;
        n++;
    }
    if (rarest == NULL) return;
    char name[DROVE_TEXT_SIZE];
    fprintf(
        stream,
        "%sClass %s (%.2g %% of the rows) is hardly ever predicted: %.10g of its %.10g rows are "
        "found",
        indent, drove__print_plain(rarest->name, name, sizeof name),
        100.0 * rarest->support / m->weight, rarest->recall * rarest->support, rarest->support);
    if (n > 1) fprintf(stream, "; so are %zu other classes", n - 1);
    fprintf(stream, ".\n%sTo find more: drove train --class-weight balanced%s.\n", indent,
            m->n_classes == 2 && m->has_calibration
                ? ", or drove eval --threshold f1 and drove predict with its number"
                : "");
}

static void print_threshold(const drove_metrics *m, FILE *stream)
{
    const drove_metrics_threshold *t = &m->threshold;
    char name[DROVE_TEXT_SIZE];
    if (t->by == NULL) return;
    fprintf(stream,
            "\nthreshold %.9g (%s): %s from this probability on\n"
            "           precision %.4f, recall %.4f, F1 %.4f",
            t->value,
            strcmp(t->by, "f1") == 0     ? "largest F1 of these examples"
            : strcmp(t->by, "cost") == 0 ? "least cost of these examples"
                                         : "given",
            drove__print_plain(m->per_class[1].name, name, sizeof name), t->precision, t->recall,
            t->f1);
    if (!isnan(t->cost)) fprintf(stream, ", cost %.4g an example", t->cost);
    fputc('\n', stream);
}

/* Widest name, at most NAME_WIDTH. */
static int name_width(const drove_metrics *m)
{
    char name[NAME_SIZE];
    size_t width = strlen("class");
    for (size_t k = 0; k < m->n_classes; k++) {
        size_t length = strlen(drove__print_plain(m->per_class[k].name, name, sizeof name));
        if (length > width) width = length;
    }
    return width < NAME_WIDTH ? (int)width : NAME_WIDTH;
}

static void print_classes(const drove_metrics *m, FILE *stream)
{
    char name[NAME_SIZE];
    const int width = name_width(m);
    if (m->n_classes > MOST_PRINTED_CLASSES) {
        fprintf(stream, "\n%zu %s: --json has the figures of each\n", m->n_classes,
                m->kind == DROVE_METRICS_LABELS ? "labels" : "classes");
        return;
    }
    fprintf(stream, "\n%-*s  precision    recall        F1   support\n", width,
            m->kind == DROVE_METRICS_LABELS ? "label" : "class");
    for (size_t k = 0; k < m->n_classes; k++) {
        const drove_metrics_class *c = &m->per_class[k];
        fprintf(stream, "%-*.*s  %9.4f %9.4f %9.4f %9.10g\n", width, width,
                drove__print_plain(c->name, name, sizeof name), c->precision, c->recall, c->f1,
                c->support);
    }
}

static void print_values(const drove_metrics *m, FILE *stream)
{
    char name[NAME_SIZE];
    int width = 5;
    for (size_t k = 0; k < m->n_values; k++) {
        drove__print_plain(m->per_value[k].name, name, sizeof name);
        int length = (int)strnlen(name, NAME_WIDTH);
        if (length > width) width = length;
    }
    fprintf(stream, "\n%-*s        RMSE       MAE        R2\n", width, "value");
    for (size_t k = 0; k < m->n_values; k++) {
        const drove_metrics_value *v = &m->per_value[k];
        fprintf(stream, "%-*.*s  %10.4g %9.4g %9.4f\n", width, width,
                drove__print_plain(v->name, name, sizeof name), v->rmse, v->mae, v->r2);
    }
}

static void print_confusion(const drove_metrics *m, FILE *stream)
{
    char name[NAME_SIZE];
    const int width = name_width(m);
    if (m->confusion == NULL || m->n_classes > MOST_CONFUSED_CLASSES) return;
    fprintf(stream, "\nconfusion: rows are true classes, columns predicted ones\n%-*s", width, "");
    for (size_t k = 0; k < m->n_classes; k++)
        fprintf(stream, " %*.*s", COLUMN_WIDTH, COLUMN_WIDTH,
                drove__print_plain(m->per_class[k].name, name, sizeof name));
    fputc('\n', stream);
    for (size_t i = 0; i < m->n_classes; i++) {
        fprintf(stream, "%-*.*s", width, width,
                drove__print_plain(m->per_class[i].name, name, sizeof name));
        for (size_t k = 0; k < m->n_classes; k++)
            fprintf(stream, " %*.10g", COLUMN_WIDTH, m->confusion[i * m->n_classes + k]);
        fputc('\n', stream);
    }
}

static void print_calibration(const drove_metrics *m, FILE *stream)
{
    const drove_metrics_bin *worst = NULL;
    if (!m->has_calibration || isnan(m->calibration_error)) return;
    for (int i = 0; i < DROVE_METRICS_BINS; i++) {
        const drove_metrics_bin *b = &m->bin[i];
        if (!(b->count > 0.0)) continue;
        if (worst == NULL || b->count * fabs(b->mean - b->observed) >
                                 worst->count * fabs(worst->mean - worst->observed))
            worst = b;
    }
    fprintf(stream, "\ncalibration error %.4f", m->calibration_error);
    if (worst != NULL) {
        fprintf(stream, "; largest part: predicted about %.2f, observed %.2f", worst->mean,
                worst->observed);
    }
    fputc('\n', stream);
}

drove_status drove_metrics_print(const drove_metrics *metrics, FILE *stream)
{
    DROVE_ALIVE(metrics, "metrics");
    DROVE_GIVEN(metrics);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    char model[32], constant[32];
    fprintf(stream, "%-17s  %10s  %14s (of %s)\n", "", "model", "constant guess",
            metrics->constant_is_training ? "the training data" : "these examples");
    for (size_t i = 0; i < DROVE_COUNT(figures); i++) {
        if (isnan(value_of(&metrics->model, &figures[i]))) continue;
        fprintf(stream, "%-17s  %10s  %14s\n", figures[i].name,
                figure_text(&metrics->model, &figures[i], model),
                figure_text(&metrics->constant, &figures[i], constant));
    }
    if (metrics->auc_error > 0.0)
        fprintf(stream, "%-17s  by histograms: AUC within %.2g, average precision within %.2g\n",
                "", metrics->auc_error, metrics->average_precision_error);
    print_verdict(metrics, "", stream);
    print_missed(metrics, "", stream);
    print_threshold(metrics, stream);
    if (metrics->per_class != NULL) print_classes(metrics, stream);
    if (metrics->per_value != NULL) print_values(metrics, stream);
    print_confusion(metrics, stream);
    print_calibration(metrics, stream);
    return ferror(stream) ? drove__fail(DROVE_E_IO, "cannot write the metrics") : DROVE_OK;
}

/* ---- in the summary of a run ---- */

static void print_line(const char *title, const drove_metrics_figures *f,
                       const drove_metrics_figures *has, FILE *stream)
{
    const char *before = "";
    char text[32];
    fprintf(stream, "  %-10s  ", title);
    for (size_t i = 0; i < DROVE_COUNT(figures); i++) {
        if (isnan(value_of(has, &figures[i]))) continue;
        fprintf(stream, "%s%s %s", before, figures[i].name, figure_text(f, &figures[i], text));
        before = ", ";
    }
    fputc('\n', stream);
}

void drove__report_metrics_print(const drove_facts *f, FILE *stream)
{
    const drove_metrics *m = f->test_metrics != NULL ? f->test_metrics : f->metrics;
    if (m == NULL) return;
    print_line(m == f->test_metrics ? "held-out" : "training", &m->model, &m->model, stream);
    print_line("constant", &m->constant, &m->model, stream);
    print_verdict(m, "  ", stream);
    print_missed(m, "  ", stream);
}
