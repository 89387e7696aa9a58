/* coord/policy.h - how the size of a worker's batches changes from request to request.
 *
 * Source: Ma and Rusu, section 6.2 (fixed) and Algorithm 2, lines 1 to 5 (adaptive).
 *
 * Pure functions.  A policy is one row here; the coordinator asks it once for each assignment that
 * a worker reports as done, before it gives out the next.
 */
#ifndef DROVE_COORD_POLICY_H
#define DROVE_COORD_POLICY_H

#include "coord/coord.h"

typedef struct drove_policy_view { /* what a policy sees at a request of one worker */
    double   alpha;
    double   u;            /* counted updates of the worker */
    double   min_u, max_u; /* fewest and most of the other workers that are not lost */
    unsigned n_others;     /* 0: min_u and max_u say nothing */
    uint64_t batch;        /* b until now */
    uint64_t least, most;  /* min_b and max_b at this moment */
} drove_policy_view;

struct drove_policy_ops {
    const char *name, *help, *source;
    uint64_t (*next)(const drove_policy_view *view); /* the new b */
};

#endif
