/* metrics/labels.c - figures of label sets: F1 over all labels, and of each label.  Definitions:
 * docs/use/metrics.md. */
#include "metrics/state.h"

static const float MIDDLE = 0.5f; /* a label with a higher probability is predicted */

void drove__tally_add_labels(drove_tally *t, const drove_tally_rows *rows)
{
    drove_tally_classes *c = &t->classes;
    const size_t n = t->opt.n_classes;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const float *score = rows->score + i * n;
        double weight = drove__tally_weight(rows, i);
        t->weight += weight;
        for (size_t k = 0; k < n; k++)
            if (score[k] > MIDDLE) c->predicted[k] += weight;
        for (uint64_t at = rows->label_first[i]; at < rows->label_last[i]; at++) {
            size_t k = rows->label[at];
            c->support[k] += weight;
            if (score[k] > MIDDLE) c->hit[k] += weight;
        }
    }
}

void drove__tally_fill_labels(const drove_tally *t, drove_metrics *out)
{
    const drove_tally_classes *c = &t->classes;
    const size_t n = t->opt.n_classes;
    double hit = 0.0, sum = 0.0, f1 = 0.0;
    if (!(t->weight > 0.0)) return;
    drove__tally_per_class(t, out);
    for (size_t k = 0; k < n; k++) {
        hit += c->hit[k];
        sum += c->support[k] + c->predicted[k];
        f1 += out->per_class[k].f1;
    }
    out->model.f1_micro = drove__tally_ratio(2.0 * hit, sum);
    out->model.f1_macro = drove__tally_ratio(f1, (double)n);

    /* The constant guess predicts each label for every row if most rows of its data have it, else
     * for none. */
    hit = sum = f1 = 0.0;
    for (size_t k = 0; k < n; k++) {
        bool is_predicted = t->constant[k] > 0.5;
        double own_hit = is_predicted ? c->support[k] : 0.0;
        double own_sum = c->support[k] + (is_predicted ? t->weight : 0.0);
        hit += own_hit;
        sum += own_sum;
        f1 += drove__tally_ratio(2.0 * own_hit, own_sum);
    }
    out->constant.f1_micro = drove__tally_ratio(2.0 * hit, sum);
    out->constant.f1_macro = drove__tally_ratio(f1, (double)n);
    out->is_no_better = out->model.f1_micro <= out->constant.f1_micro &&
                        out->model.f1_macro <= out->constant.f1_macro;
}
