/* study/compare.h - statistics of a sweep: medians, paired ratios, the best of a group.  Pure. */
#ifndef DROVE_STUDY_COMPARE_H
#define DROVE_STUDY_COMPARE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Of x[n], n >= 1, which is sorted; the mean of the middle two where n is even.  May be infinite;
 * no x may be NaN. */
double drove__median(double *x, size_t n);

typedef struct drove_interval {
    double median, low, high;
} drove_interval;

/* The median of x[n], n >= 1, and its 95 % percentile-bootstrap interval: the 250th and the 9751st
 * of the sorted medians of DROVE_RESAMPLES samples of n, drawn with replacement by this seed.
 * Source: Efron, Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.  x is sorted.
 * Errors: DROVE_E_NOMEM. */
enum { DROVE_RESAMPLES = 10000 };
drove_status drove__bootstrap_median(double *x, size_t n, uint64_t seed, drove_interval *out);

/* What is known of one setting of a sweep. */
typedef struct drove_sweep_row {
    size_t group; /* number of its group, from 0 */
    size_t n_runs, n_crashed;
    double median_s; /* time to the target; infinite: half of the runs or more did not reach it */
} drove_sweep_row;

typedef struct drove_sweep_fastest {
    size_t n_settings, n_allowed; /* of the group; with at most 10 % crashed runs */
    size_t n_crashed;             /* runs of all its settings */
    size_t best;                  /* row; SIZE_MAX: none allowed has reached the target */
    size_t n_near;                /* allowed settings within 10 % of the best, which counts */
    double slowest_s;             /* of those */
} drove_sweep_fastest;

/* The fastest row of the group, as Table 4.3 of the thesis: by its median time, among rows with at
 * most 10 % crashed runs; the first of equal ones. */
void drove__sweep_find_best(const drove_sweep_row *row, size_t n, size_t group,
                            drove_sweep_fastest *out);

#endif
