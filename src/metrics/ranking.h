/* metrics/ranking.h - the area under the ROC curve: the share of pairs of a positive and a negative
 * row in which the positive one has the higher score; a tie counts one half.
 *
 * Exact as long as all scores fit into the memory: they are kept and sorted.  Beyond it each column
 * has a histogram of at most 65,536 bins, and rows in one bin count as ties: the error is at most
 * half the share of pairs that share a bin.  Bins of probabilities are equally fine, relative to p
 * and to 1 - p, at either end; those of other scores are relative to the score.
 *
 * Threads: one at a time for each ranking.
 */
#ifndef DROVE_METRICS_RANKING_H
#define DROVE_METRICS_RANKING_H

#include "base/status.h"

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
/* The mean over the columns that have positive and negative rows; NaN if there is none or if a
 * score is NaN.  *error: the largest possible error, 0 where the area is exact.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__ranking_auc(const drove_ranking *r, double *auc, double *error);

#endif
