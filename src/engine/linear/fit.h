/* engine/linear/fit.h - the constants of the throughput model from measured throughputs.
 *
 * Least squares of relative errors: a prediction that is off by the same factor counts the same,
 * whatever the throughput.  Pure functions.
 */
#ifndef DROVE_ENGINE_LINEAR_FIT_H
#define DROVE_ENGINE_LINEAR_FIT_H

#include "engine/linear/throughput.h"

typedef struct drove_base_point { /* one thread */
    double numbers;               /* of an example, > 0                                       */
    double spill;                 /* drove__throughput_spill                                  */
    double gnps;                  /* > 0                                                      */
} drove_base_point;

/* T_1, step_ns and spill_ns, none below 0 (nothing else of *out is touched); n >= 1 points, some
 * without spill.  Returns the sum of the squared relative errors that remain. */
double drove__fit_base(const drove_base_point *point, size_t n, drove_throughput_row *out);

typedef struct drove_parallel_point {
    double   n_features;          /* >= 1 */
    unsigned n_threads;           /* >= 2 */
    double   one_gnps, many_gnps; /* with one thread, with n_threads; > 0 */
} drove_parallel_point;

/* slope >= 0, zero_features and most <= 1 of p = min(most, slope ln(n / zero_features)); n >= 2
 * points with different n_features. */
void drove__fit_parallel(const drove_parallel_point *point, size_t n,
                         drove_throughput_parallel *out);

#endif
