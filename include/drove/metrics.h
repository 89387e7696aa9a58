/* drove/metrics.h - how good a model is: figures that people ask for, of its predictions on a data
 * set, beside the same figures of a constant guess.
 *
 * Definitions, and the function of scikit-learn that each equals: docs/use/metrics.md.
 */
#ifndef DROVE_METRICS_H
#define DROVE_METRICS_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What a model predicts. */
typedef enum drove_metrics_kind {
    DROVE_METRICS_CLASSES, /* each example has one class */
    DROVE_METRICS_VALUES,  /* each example has a number: regression */
    DROVE_METRICS_LABELS   /* each example has a set of labels: multi-label */
} drove_metrics_kind;

/* Sizes. */
enum {
    DROVE_METRICS_BINS = 10,               /* of the calibration, equally wide */
    DROVE_METRICS_CONFUSION_CLASSES = 256, /* with more there is no confusion matrix */
    DROVE_METRICS_POINTS = 100,            /* of a curve, at most */
    DROVE_METRICS_PAIRS = 300              /* of a sample, at most */
};

/* The leading figures.  NaN: not defined for this kind, these rows or this loss. */
typedef struct drove_metrics_figures {
    double accuracy;          /* classes: share of the rows that are right, 0 to 1 */
    double balanced_accuracy; /* classes: mean recall of those that occur, 0 to 1 */
    double log_loss;          /* classes: nats */
    double auc;               /* classes: 0 to 1; several: mean of one against the rest */
    double average_precision; /* classes: 0 to 1; several: mean of one against the rest */
    double f1_macro;          /* 0 to 1; classes and labels */
    double rmse;              /* values: root of the mean squared error, in the target's unit */
    double mae;               /* values: mean absolute error, in the target's unit */
    double r2;                /* values: at most 1 */
    double f1_micro;          /* labels: 0 to 1 */
} drove_metrics_figures;

/* A class or a label. */
typedef struct drove_metrics_class {
    char  *name;      /* as in the data */
    double precision; /* share of the rows predicted as it that have it, 0 to 1; of none 0 */
    double recall;    /* share of the rows that have it that are predicted as it; of none 0 */
    double f1;        /* harmonic mean of the two; 0 where it is 0 / 0 */
    double support;   /* sum of the weights of its rows: their number without weights */
} drove_metrics_class;

/* Rows whose probability is in this bin: with two classes that of class 1, with more that of the
 * predicted class. */
typedef struct drove_metrics_bin {
    double count;    /* sum of weights */
    double mean;     /* of the probabilities; NaN in an empty bin */
    double observed; /* share of rows that have the class; NaN in an empty bin */
} drove_metrics_bin;

/* One of several values of each example: its figures, and those of the constant guess. */
typedef struct drove_metrics_value {
    char  *name;                                     /* as in the data */
    double rmse, mae, r2;                            /* as in drove_metrics_figures */
    double constant_value;                           /* the mean that the guess predicts */
    double constant_rmse, constant_mae, constant_r2; /* of the constant guess */
} drove_metrics_value;

/* The probability from which on a row is said to have the second of two classes, and what that
 * gives of this class.  NaN: none was asked for. */
typedef struct drove_metrics_threshold {
    double      value;                 /* 0 to 1; reads back from nine digits */
    const char *by;                    /* "f1", "cost" or "given"; NULL: none was asked for */
    double      precision, recall, f1; /* of the second class, as in drove_metrics_class */
    double      cost;                  /* mean of a row; by cost */
} drove_metrics_threshold;

/* What predicting the second of two classes from a score on gives. */
typedef struct drove_metrics_point {
    double score;               /* the lowest that is predicted as it */
    double recall;              /* of the second class, 0 to 1 */
    double false_positive_rate; /* share of the first class that is predicted as the second */
    double precision;           /* of the second class, 0 to 1 */
} drove_metrics_point;

/* An example of values. */
typedef struct drove_metrics_pair {
    double target, prediction; /* in the target's unit */
} drove_metrics_pair;

/* Made by the library, which may add fields at the end; everything belongs to it. */
typedef struct drove_metrics {
    drove_metrics_kind    kind;      /* which figures there are */
    uint64_t              n_rows;    /* examples */
    double                weight;    /* sum of the rows' weights */
    size_t                n_classes; /* classes or labels; 0 for values */
    drove_metrics_figures model;     /* of the model */
    drove_metrics_figures constant;  /* of the constant guess */
    int    constant_is_training;    /* 1: the guess is from the training data, 0: from these rows */
    size_t constant_class;          /* classes: the class that the constant guess predicts */
    double constant_value;          /* values: the mean that it predicts */
    int    is_no_better;            /* 1: the model is no better than the constant guess */
    double auc_error;               /* largest error of model.auc; 0: it is exact */
    drove_metrics_class *per_class; /* [n_classes]; NULL for values */
    /* [n_classes][n_classes] sums of weights; rows: the true class, columns: the predicted one;
     * NULL: no classes, or too many */
    double           *confusion;
    int               has_calibration;         /* 0: the outputs are no probabilities of classes */
    drove_metrics_bin bin[DROVE_METRICS_BINS]; /* by probability, from 0 to 1 */
    double            calibration_error;       /* mean of |mean - observed|, weighted by count */
    /* Several values of each example: `model` and `constant` are then means over them, and
     * constant_value is that of the first. */
    size_t                  n_values;                /* 1: per_value is NULL; 0: other kinds */
    drove_metrics_value    *per_value;               /* [n_values] */
    double                  average_precision_error; /* as auc_error */
    drove_metrics_threshold threshold;               /* of drove_use_options */
    /* Two classes: from the highest score down.  Neighbours differ by 2 % of recall or of the
     * false positive rate, or by one score. */
    size_t               n_points;
    drove_metrics_point *point; /* [n_points]; NULL: other kinds, or a class without rows */
    /* One value: examples at equal distances. */
    size_t              n_pairs;
    drove_metrics_pair *pair; /* [n_pairs]; NULL: other kinds */
} drove_metrics;

void drove_metrics_destroy(drove_metrics *metrics); /* NULL accepted */

/* One JSON object without line breaks (docs/use/metrics.md), of NULL null; the caller calls
 * free(*out).  Errors: DROVE_E_NOMEM. */
drove_status drove_metrics_json(const drove_metrics *metrics, char **out);
/* Tables for people.  Errors: DROVE_E_IO. */
drove_status drove_metrics_print(const drove_metrics *metrics, FILE *stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
