/* metrics/threshold.h - from which probability on a row is said to have the second of two classes:
 * a number, or the best one for the rows that are evaluated (docs/use/metrics.md). */
#ifndef DROVE_METRICS_THRESHOLD_H
#define DROVE_METRICS_THRESHOLD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum drove_threshold_by {
    DROVE_THRESHOLD_USUAL, /* above 1/2 */
    DROVE_THRESHOLD_NUMBER,
    DROVE_THRESHOLD_F1,  /* the largest F1 of the second class */
    DROVE_THRESHOLD_COST /* the least cost */
} drove_threshold_by;

typedef struct drove_threshold {
    drove_threshold_by by;
    double             number;
    /* of a row of the first class that is said to have the second, and of one missed */
    double cost_false_positive, cost_false_negative;
} drove_threshold;

/* "f1", "cost:fp=1,fn=5" or a number from 0 to 1; NULL or "": the usual one.  Errors:
 * DROVE_E_ARG. */
drove_status drove__threshold_parse(const char *text, drove_threshold *out);
/* A number alone. */
drove_status drove__threshold_parse_number(const char *text, drove_threshold *out);
/* Errors: DROVE_E_ARG (not two classes, or outputs that are no probabilities). */
drove_status drove__threshold_check(const drove_threshold *t, size_t n_classes, bool is_multi_label,
                                    bool is_probability, const char *loss);

#endif
