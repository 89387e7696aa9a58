/* metrics/state.h - the sums of a tally; used inside metrics/ only.  Each kind of target has its
 * file: classes.c, values.c, labels.c. */
#ifndef DROVE_METRICS_STATE_H
#define DROVE_METRICS_STATE_H

#include "metrics/ranking.h"
#include "metrics/rows.h"

typedef struct drove_tally drove_tally;

typedef struct drove_tally_classes {          /* sums of weights */
    double        *hit, *support, *predicted; /* [n_classes] right, true, predicted; also labels' */
    double        *confusion;                 /* [n_classes][n_classes]; NULL: too many */
    double         log_loss;
    drove_ranking *ranking; /* NULL with fewer than two classes */
    double         bin_weight[DROVE_METRICS_BINS];
    double         bin_sum[DROVE_METRICS_BINS]; /* of probabilities */
    double         bin_hit[DROVE_METRICS_BINS];
} drove_tally_classes;

typedef struct drove_tally_values {             /* of one value */
    double squared, absolute;                   /* of prediction - target */
    double constant_squared, constant_absolute; /* of constant - target */
    double mean, deviation;                     /* of the targets: sum of squares about the mean */
} drove_tally_values;

struct drove_tally {
    drove_tally_options opt; /* without what is borrowed */
    double             *constant;
    char              **class_name; /* [n_classes]; of several values their names, [n_values] */
    size_t              n_rows;
    double              weight, weight_square; /* sums over the rows */
    drove_tally_classes classes;
    size_t              n_values; /* of a row; 0: other kinds */
    drove_tally_values *values;   /* [n_values] */
    drove_metrics_pair *pair;     /* [DROVE_METRICS_PAIRS], of one value */
    size_t              n_pairs;
};

static inline double drove__tally_weight(const drove_tally_rows *rows, size_t i)
{
    return rows->weight != NULL ? (double)rows->weight[i] : 1.0;
}

/* a / b; 0 for 0 / 0. */
static inline double drove__tally_ratio(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

/* classes.c, values.c, labels.c: adds rows; fills what the kind has in the metrics, whose figures
 * are NaN and whose arrays are allocated. */
void         drove__tally_add_classes(drove_tally *t, const drove_tally_rows *rows);
drove_status drove__tally_fill_classes(const drove_tally *t, drove_metrics *out);
/* Precision, recall, F1 and support of every class or label. */
void         drove__tally_per_class(const drove_tally *t, drove_metrics *out);
void         drove__tally_add_values(drove_tally *t, const drove_tally_rows *rows);
drove_status drove__tally_fill_values(const drove_tally *t, drove_metrics *out);
void         drove__tally_add_labels(drove_tally *t, const drove_tally_rows *rows);
void         drove__tally_fill_labels(const drove_tally *t, drove_metrics *out);

#endif
