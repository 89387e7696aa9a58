/* metrics/classes.c - figures of classes: right and wrong, probabilities, their order and their
 * calibration.  Definitions: docs/use/metrics.md. */
#include "metrics/state.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one row ---- */

typedef struct row {
    const float *score;  /* [n_columns] */
    size_t truth, guess; /* classes */
    double weight;
    float score_of_guess;  /* several classes */
    float score_of_second; /* two classes: of class 1 */
    float score_of_truth;
} row;

/* -log p, with p kept away from 0 and 1 by a float's epsilon, as scikit-learn does. */
static double loss_of(double p)
{
    const double least = FLT_EPSILON, most = 1.0 - FLT_EPSILON;
    if (isnan(p)) return NAN;
    return -log(p < least ? least : p > most ? most : p);
}

/* Bin i holds probabilities above i / 10, up to (i + 1) / 10; bin 0 also 0. */
static unsigned bin_of(double p)
{
    unsigned bin = 0;
    while (bin < DROVE_METRICS_BINS - 1 && p > 0.1 * (bin + 1)) bin++;
    return bin;
}

static void add_row(drove_tally *t, const row *r)
{
    drove_tally_classes *c = &t->classes;
    const size_t n = t->opt.n_classes;
    t->weight += r->weight;
    t->weight_square += r->weight * r->weight;
    c->support[r->truth] += r->weight;
    c->predicted[r->guess] += r->weight;
    if (r->truth == r->guess) c->hit[r->truth] += r->weight;
    if (c->confusion != NULL) c->confusion[r->truth * n + r->guess] += r->weight;
    if (c->ranking != NULL) {
        drove__ranking_add(c->ranking, n == 2 ? &r->score_of_second : r->score, (int32_t)r->truth,
                           r->weight);
    }
    if (!t->opt.is_probability) return;
    c->log_loss += r->weight * loss_of((double)r->score_of_truth);

    /* The row's bin of the calibration curve. */
    const bool is_binary = t->opt.n_classes == 2;
    double p = is_binary ? r->score_of_second : r->score_of_guess;
    if (isnan(p)) return;
    unsigned bin = bin_of(p);
    c->bin_weight[bin] += r->weight;
    c->bin_sum[bin] += r->weight * p;
    if (is_binary ? r->truth == 1 : r->truth == r->guess) c->bin_hit[bin] += r->weight;
}

void drove__tally_add_classes(drove_tally *t, const drove_tally_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        row r = {.score = rows->score + i * t->opt.n_columns,
                 .truth = (size_t)rows->y_class[i],
                 .weight = drove__tally_weight(rows, i)};
        if (t->opt.n_columns == 1 && t->opt.n_classes == 2) {
            /* The score is that of class 1; the other class has the rest of a probability. */
            float middle = t->opt.is_probability ? 0.5f : 0.0f;
            r.score_of_second = r.score[0];
            r.guess = r.score[0] > middle ? 1 : 0;
            r.score_of_truth = r.truth == 1 ? r.score[0] : 1.0f - r.score[0];
        } else {
            for (size_t k = 1; k < t->opt.n_columns; k++)
                if (r.score[k] > r.score[r.guess]) r.guess = k;
            r.score_of_guess = r.score[r.guess];
            r.score_of_truth = r.score[r.truth];
            if (t->opt.n_columns == 2) r.score_of_second = r.score[1];
        }
        if (t->opt.threshold.by == DROVE_THRESHOLD_NUMBER)
            r.guess = r.score_of_second >= (float)t->opt.threshold.number ? 1 : 0;
        add_row(t, &r);
    }
}

/* ---- figures ---- */

void drove__tally_per_class(const drove_tally *t, drove_metrics *out)
{
    const drove_tally_classes *c = &t->classes;
    for (size_t k = 0; k < t->opt.n_classes; k++) {
        drove_metrics_class *m = &out->per_class[k];
        m->precision = drove__tally_ratio(c->hit[k], c->predicted[k]);
        m->recall = drove__tally_ratio(c->hit[k], c->support[k]);
        m->f1 = drove__tally_ratio(2.0 * c->hit[k], c->predicted[k] + c->support[k]);
        m->support = c->support[k];
    }
}

/* Mean recall of the classes that occur. */
static double balanced_accuracy(const drove_tally *t)
{
    const drove_tally_classes *c = &t->classes;
    double sum = 0.0;
    size_t n = 0;
    for (size_t k = 0; k < t->opt.n_classes; k++) {
        if (!(c->support[k] > 0.0)) continue;
        sum += c->hit[k] / c->support[k];
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

/* Mean of the F1 of the classes that occur or are predicted; predicted[n_classes], hit[n_classes]:
 * sums of weights. */
static double f1_macro(const drove_tally *t, const drove_metrics *m)
{
    const drove_tally_classes *c = &t->classes;
    double sum = 0.0;
    size_t n = 0;
    for (size_t k = 0; k < t->opt.n_classes; k++) {
        if (!(c->support[k] + c->predicted[k] > 0.0)) continue;
        sum += m->per_class[k].f1;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

static void fill_calibration(const drove_tally *t, drove_metrics *m)
{
    const drove_tally_classes *c = &t->classes;
    double error = 0.0;
    m->has_calibration = t->opt.is_probability && t->opt.n_classes >= 2;
    if (!m->has_calibration) return;
    for (unsigned i = 0; i < DROVE_METRICS_BINS; i++) {
        drove_metrics_bin *b = &m->bin[i];
        *b = (drove_metrics_bin){.count = c->bin_weight[i], .mean = NAN, .observed = NAN};
        if (!(b->count > 0.0)) continue;
        b->mean = c->bin_sum[i] / b->count;
        b->observed = c->bin_hit[i] / b->count;
        error += b->count * fabs(b->mean - b->observed);
    }
    m->calibration_error = t->weight > 0.0 ? error / t->weight : NAN;
}

/* ---- the constant guess ---- */

/* Always the most frequent class; for the log loss, always the shares of the classes. */
static void fill_constant(const drove_tally *t, drove_metrics *m)
{
    const drove_tally_classes *c = &t->classes;
    drove_metrics_figures *f = &m->constant;
    size_t best = 0;
    for (size_t k = 1; k < t->opt.n_classes; k++)
        if (t->constant[k] > t->constant[best]) best = k;
    size_t n_true = 0, n_seen = 0;
    double loss = 0.0, hit = c->support[best];
    m->constant_class = best;
    for (size_t k = 0; k < t->opt.n_classes; k++) {
        n_true += c->support[k] > 0.0;
        n_seen += c->support[k] > 0.0 || k == best;
        if (c->support[k] > 0.0) loss += c->support[k] * loss_of(t->constant[k]);
    }
    if (!(t->weight > 0.0)) return;
    f->accuracy = hit / t->weight;
    f->balanced_accuracy = (hit > 0.0 ? 1.0 : 0.0) / (double)n_true;
    if (t->opt.is_probability) f->log_loss = loss / t->weight;
    f->auc = isnan(m->model.auc) ? NAN : 0.5;
    f->f1_macro = 2.0 * hit / (hit + t->weight) / (double)n_seen;
}

/* The standard error of the AUC of guesses, of the rarest class against all others: that of
 * Mann and Whitney's U over the pairs that it counts.  Ann. Math. Stat. 18, 1947.  Of weighted rows
 * for as many as they are worth, (sum w)^2 / sum w^2. */
static double error_of_chance(const drove_tally *t)
{
    double least = t->weight;
    for (size_t k = 0; k < t->opt.n_classes; k++)
        if (t->classes.support[k] > 0.0) least = fmin(least, t->classes.support[k]);
    const double n = t->weight * t->weight / t->weight_square;
    const double n_least = n * (least / t->weight), n_rest = n - n_least;
    return n_rest > 0.0 ? sqrt((n + 1.0) / (12.0 * n_least * n_rest)) : INFINITY;
}

/* ---- thresholds of two classes ---- */

typedef struct choice {
    drove_threshold_by by;
    double positive, negative;           /* rows of each class */
    double cost_positive, cost_negative; /* of a false one */
    double value;                        /* of the best: F1, or less than no cost */
    bool has_best;
    drove_cut best;
} choice;

/* The first of equals, which is the highest threshold, is kept. */
static void consider(void *context, const drove_cut *cut)
{
    choice *c = context;
    const double missed = c->positive - cut->true_positive;
    const double value =
        c->by == DROVE_THRESHOLD_F1
            ? drove__tally_ratio(2.0 * cut->true_positive,
                                 c->positive + cut->true_positive + cut->false_positive)
            : -(c->cost_positive * cut->false_positive + c->cost_negative * missed);
    if (c->has_best && !(value > c->value)) return;
    c->has_best = true;
    c->value = value;
    c->best = *cut;
}

/* The counts that predictions with the best threshold have, count[6] and confusion[4], in the place
 * of t's; *t is left alone where there is no threshold to choose. */
static drove_status choose_threshold(drove_tally *t, double *count, double *confusion, double *out)
{
    drove_tally_classes *c = &t->classes;
    const drove_threshold *wanted = &t->opt.threshold;
    choice found = {.by = wanted->by,
                    .positive = c->support[1],
                    .negative = c->support[0],
                    .cost_positive = wanted->cost_false_positive,
                    .cost_negative = wanted->cost_false_negative};
    DROVE_TRY(drove__ranking_cuts(c->ranking, 0.0f, 1.0f, &found, consider));
    if (!found.has_best) return DROVE_OK;
    const double hit = found.best.true_positive, wrong = found.best.false_positive;
    const double right = fmax(found.negative - wrong, 0.0),
                 missed = fmax(found.positive - hit, 0.0);
    const double by_class[] = {right,          hit,        c->support[0], c->support[1],
                               right + missed, hit + wrong};
    const double pairs[] = {right, wrong, missed, hit};
    memcpy(count, by_class, sizeof by_class);
    memcpy(confusion, pairs, sizeof pairs);
    c->hit = count;
    c->support = count + 2;
    c->predicted = count + 4;
    c->confusion = confusion;
    *out = found.best.threshold;
    return DROVE_OK;
}

/* What the threshold gives, from the counts of t. */
static void fill_threshold(const drove_tally *t, double value, drove_metrics *out)
{
    const drove_threshold *wanted = &t->opt.threshold;
    const drove_tally_classes *c = &t->classes;
    const double wrong = c->support[0] - c->hit[0], missed = c->support[1] - c->hit[1];
    out->threshold = (drove_metrics_threshold){.value = value,
                                               .by = wanted->by == DROVE_THRESHOLD_F1     ? "f1"
                                                     : wanted->by == DROVE_THRESHOLD_COST ? "cost"
                                                                                          : "given",
                                               .precision = out->per_class[1].precision,
                                               .recall = out->per_class[1].recall,
                                               .f1 = out->per_class[1].f1,
                                               .cost = NAN};
    if (wanted->by == DROVE_THRESHOLD_COST && t->weight > 0.0)
        out->threshold.cost =
            (wanted->cost_false_positive * wrong + wanted->cost_false_negative * missed) /
            t->weight;
}

drove_status drove__tally_fill_classes(const drove_tally *of, drove_metrics *out)
{
    const size_t n = of->opt.n_classes;
    drove_tally at = *of; /* with the counts at a threshold that is chosen here */
    const drove_tally *t = &at;
    const drove_tally_classes *c = &at.classes;
    double count[6], confusion[4], threshold = NAN;
    double hit = 0.0;
    if (c->ranking != NULL) {
        drove_areas areas;
        DROVE_TRY(drove__ranking_areas(c->ranking, &areas));
        out->model.auc = areas.auc;
        out->model.average_precision = areas.average_precision;
        out->constant.average_precision = areas.share;
        out->auc_error = areas.auc_error;
        out->average_precision_error = areas.average_precision_error;
    }
    if (c->ranking != NULL && n == 2) {
        out->point = calloc(DROVE_METRICS_POINTS, sizeof *out->point);
        if (out->point == NULL)
            return drove__fail_nomem("a curve", DROVE_METRICS_POINTS * sizeof *out->point);
        DROVE_TRY(drove__ranking_curve(c->ranking, c->support[1], c->support[0], out->point,
                                       &out->n_points));
    }
    if (of->opt.threshold.by == DROVE_THRESHOLD_NUMBER) threshold = of->opt.threshold.number;
    else if (of->opt.threshold.by != DROVE_THRESHOLD_USUAL)
        DROVE_TRY(choose_threshold(&at, count, confusion, &threshold));
    for (size_t k = 0; k < n; k++) hit += c->hit[k];
    drove__tally_per_class(t, out);
    if (!isnan(threshold)) fill_threshold(t, threshold, out);
    if (c->confusion != NULL) memcpy(out->confusion, c->confusion, n * n * sizeof *out->confusion);
    if (t->weight > 0.0) {
        out->model.accuracy = hit / t->weight;
        if (t->opt.is_probability) out->model.log_loss = c->log_loss / t->weight;
    }
    out->model.balanced_accuracy = balanced_accuracy(t);
    out->model.f1_macro = f1_macro(t, out);
    fill_calibration(t, out);
    fill_constant(t, out);

    /* Neither more often right nor closer in its probabilities, nor does it tell the classes apart,
     * as one of rare classes that count for more than their rows does. */
    const drove_metrics_figures *model = &out->model, *constant = &out->constant;
    const bool tells_apart = model->auc > 0.5 + 2.0 * error_of_chance(t);
    out->is_no_better = !isnan(model->accuracy) && model->accuracy <= constant->accuracy &&
                        !(model->log_loss < constant->log_loss) && !tells_apart;
    return DROVE_OK;
}
