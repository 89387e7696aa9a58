/* metrics/ranking.h - what follows from the order of the scores: the areas under the ROC curve and
 * under the curve of precision and recall, and what a threshold between two scores would give.
 *
 * The area under the ROC curve is the share of pairs of a positive and a negative row in which the
 * positive one has the higher score; a tie counts one half.  That of precision and recall is the
 * average precision: the sum over the distinct scores, from the highest, of the gain in recall
 * times the precision of the rows with at least this score.
 *
 * Exact as long as all scores fit into the memory: they are kept and sorted.  Beyond it each column
 * has a histogram of at most 65,536 bins, and rows in one bin count as ties.  Bins of probabilities
 * are equally fine, relative to p and to 1 - p, at either end; those of other scores are relative
 * to the score.
 *
 * Threads: one at a time for each ranking.
 */
#ifndef DROVE_METRICS_RANKING_H
#define DROVE_METRICS_RANKING_H

#include "base/status.h"

#include <drove/metrics.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory by default, of kept scores and of sorting them; histograms stay below that, too. */
#define DROVE_RANKING_MOST_BYTES ((size_t)1 << 29)

typedef struct drove_ranking drove_ranking;

typedef struct drove_ranking_options {
    size_t n_columns;  /* 1: the scores are those of class 1; else one column for each class */
    size_t n_rows;     /* most rows */
    size_t most_bytes; /* 0: DROVE_RANKING_MOST_BYTES */
    bool   is_probability;
} drove_ranking_options;

/* *out is NULL unless the result is DROVE_OK.  Errors: DROVE_E_NOMEM. */
drove_status drove__ranking_create(const drove_ranking_options *opt, drove_ranking **out);
void         drove__ranking_destroy(drove_ranking *r); /* NULL accepted */
/* One row: score[n_columns], its class and its weight. */
void drove__ranking_add(drove_ranking *r, const float *score, int32_t y_class, double weight);
/* Means over the columns that have positive and negative rows; NaN if there is none or if a score
 * is NaN. */
typedef struct drove_areas {
    double auc, average_precision;
    double auc_error, average_precision_error; /* the largest possible ones; 0: exact */
    double share; /* of the positive rows: the average precision of ties alone */
} drove_areas;
/* Errors: DROVE_E_NOMEM. */
drove_status drove__ranking_areas(const drove_ranking *r, drove_areas *out);

/* The curve of the first column, whose rows have these sums of weights, from the highest score
 * down.  Neighbours differ by at least 2 % of recall or of the false positive rate, but for the
 * last.  *n: 0 where a class has no rows, or a score is NaN.  Errors: DROVE_E_NOMEM. */
drove_status drove__ranking_curve(const drove_ranking *r, double positive, double negative,
                                  drove_metrics_point into[DROVE_METRICS_POINTS], size_t *n);

/* The rows with a score of at least `threshold`: sums of their weights. */
typedef struct drove_cut {
    double threshold;
    double true_positive, false_positive;
} drove_cut;
/* Calls see for each threshold that divides the rows otherwise, from that which takes no row to
 * that which takes all, of the first column.  Thresholds lie half-way between two scores, the ends
 * at `highest` and `lowest`; none is above or below these.  A ranking with a NaN has none.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__ranking_cuts(const drove_ranking *r, float lowest, float highest, void *context,
                                 void (*see)(void *context, const drove_cut *cut));

#endif
