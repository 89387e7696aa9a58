/* accum/accum.h - strategies whose workers are devices, each with parameters of its own.
 *
 * Source: Le Duc, Sekiyama, Negishi, Imai, Kawachiya, "Accelerating Multi-GPU Deep Learning by
 * Collecting and Accumulating Gradients on CPUs".
 *
 *   accumulate.c  Algorithms 5 to 7: gradients are summed on the host while backward goes on
 *   tree.c        Algorithm 4: broadcast, reduction along a tree of devices, update on the root
 *   replica.h     what both have: the devices' parameters, and their update
 *   collect.h     gradients that come part by part, and the threads that add them
 *   schedule.h    which additions and copies are due
 *   sum.h         the additions
 */
#ifndef DROVE_ACCUM_ACCUM_H
#define DROVE_ACCUM_ACCUM_H

#include "strategy/strategy.h"

extern const drove_sync_ops drove__accum_accumulate, drove__accum_tree;

/* Of one part (a layer's parameters), sums over all iterations; Table 4 of the paper. */
typedef struct drove_accum_part {
    size_t   offset, length;
    uint64_t n_iterations;
    uint64_t down_ns, down_exposed_ns; /* copies from devices, a mean over them */
    uint64_t add_ns;                   /* by all threads together */
    uint64_t add_span_ns;              /* from the first addition's begin to the last one's end */
    uint64_t add_exposed_ns;           /* of it: behind the last worker's backward */
    uint64_t up_ns, up_exposed_ns;     /* copies to devices */
} drove_accum_part;

/* Of sums in the order of arrival, against the tree's: the first elements of every part. */
typedef struct drove_accum_error {
    uint64_t n_compared, n_different;
    double   most;     /* largest difference ... */
    double   relative; /* ... and largest as a part of the tree's sum */
} drove_accum_error;

typedef struct drove_accum_facts {
    unsigned                n_devices;
    size_t                  n_parts;
    const drove_accum_part *part; /* [n_parts]; NULL: not collected by parts (tree) */
    uint64_t          n_checks;   /* parkings at which all replicas were the same, bit for bit */
    bool              is_first_come;
    drove_accum_error error;
    /* Of each device beside parameters and gradient, in vectors of n_params floats; on the host. */
    double receive_vectors, host_vectors;
} drove_accum_facts;

/* Workers parked.  false: not a strategy of this folder. */
bool drove__accum_facts(const drove_sync *s, drove_accum_facts *out);

bool drove__tree_facts(const drove_sync *s, drove_accum_facts *out); /* of tree.c alone */

#endif
