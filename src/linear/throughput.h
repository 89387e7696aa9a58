/* linear/throughput.h - the throughput model: how many dataset numbers per second a signature
 * reaches with so many threads and so large a model.
 *
 * Source: De Sa et al., ISCA 2017, section 4.  Symbols: T_1 and T_t throughput with 1 and t threads
 * in GNPS (10^9 dataset numbers per second), p parallelizable fraction, n model size.
 */
#ifndef DROVE_LINEAR_THROUGHPUT_H
#define DROVE_LINEAR_THROUGHPUT_H

#include "linear/dmgc.h"

typedef struct drove_throughput_row {
    const char *signature;   /* with [i], as the paper prints it */
    double      dense_gnps;  /* T_1 of dense data                */
    double      sparse_gnps; /* T_1 of data with density 3 %     */
} drove_throughput_row;

enum { DROVE_THROUGHPUT_ROWS = 9 };
/* Table 2, in its order: measured on a Xeon E7-8890. */
extern const drove_throughput_row drove__throughput_table[DROVE_THROUGHPUT_ROWS];

/* Equation 2, Amdahl's law.  t >= 1, 0 <= p <= 1. */
double drove__throughput_amdahl(double t1_gnps, double p, uint64_t t);

/* Equation 3 with the natural logarithm, for a Xeon E7-8890 v3 with 18 cores: 0 up to n = 256, 0.98
 * from about n = 176 thousand on.  n >= 1. */
double drove__throughput_parallel_fraction(uint64_t n);

#endif
