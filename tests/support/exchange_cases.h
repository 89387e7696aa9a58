/* Exchanges of all kinds, as one worker of a transport does them, checked against what they must
 * give: for threads over mailboxes and for ranks over MPI. */
#ifndef DROVE_TESTS_EXCHANGE_CASES_H
#define DROVE_TESTS_EXCHANGE_CASES_H

#include "cluster/transport.h"

typedef struct exchange_cases {
    uint64_t seed;
    unsigned n_times;      /* that the list of cases is gone through */
    size_t   n_most;       /* floats of the longest exchange */
    unsigned most_rest_us; /* between start and finish, uniform from 0 */
} exchange_cases;

/* Of this worker; all workers call it with the same options.  Number of wrong results, each with a
 * line on stderr. */
unsigned exchange_cases_run(drove_transport *t, unsigned worker, const exchange_cases *c);

/* in[i] of a worker; whole: small integers, whose sums are exact. */
void exchange_cases_fill(float *in, size_t n, uint64_t seed, unsigned worker, bool whole);

#endif
