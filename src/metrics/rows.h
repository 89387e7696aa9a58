/* metrics/rows.h - what a tally is made for, and the rows that it takes. */
#ifndef DROVE_METRICS_ROWS_H
#define DROVE_METRICS_ROWS_H

#include <drove/metrics.h>

#include "metrics/threshold.h"

#include <stdbool.h>

typedef struct drove_tally_options { /* borrowed until create returns */
    drove_metrics_kind kind;
    size_t             n_classes;      /* classes (at least 1) or labels; ignored for values */
    size_t             n_columns;      /* of a row's scores: see drove_tally_rows */
    size_t             n_rows;         /* most rows that will be added */
    bool               is_probability; /* classes: the scores are probabilities; labels: always */
    /* The constant guess.  Classes and labels: [n_classes] share of the rows that have each;
     * values: [n_columns] the means. */
    const double *constant;
    bool          constant_is_training; /* from training data, not from the rows to be added */
    const char *const
          *class_name; /* [n_classes]; NULL: the numbers from 0; of several values their names */
    size_t auc_bytes;  /* most memory of the AUC; 0: ranking.h's */
    drove_threshold threshold; /* two classes, and probabilities */
} drove_tally_options;

/* Scores and targets of some rows.  Scores: [n_rows][n_columns].
 *   classes  n_columns = n_classes: a score for each class, the largest one is predicted.
 *            n_columns = 1, two classes: the score of class 1, which is predicted above 1/2
 *            (probabilities, or from the threshold on) or above 0 (others)
 *   values   the predicted values, one for each column (n_columns 0 counts as 1)
 *   labels   n_columns = n_classes: probabilities; a label is predicted above 1/2 */
typedef struct drove_tally_rows {
    size_t          n_rows;
    const float    *score;
    const int32_t  *y_class;                  /* classes: [n_rows] */
    const float    *y_value;                  /* values: [n_rows][n_columns] */
    const uint64_t *label_first, *label_last; /* labels: [n_rows] into label */
    const uint32_t *label;
    const float    *weight; /* [n_rows], finite, not negative; NULL: 1 each */
} drove_tally_rows;

#endif
