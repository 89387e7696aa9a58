/* plan/partition.h - --partition P: P groups of cores, each with parameters and data in its own
 * memory, whose gradients are summed by the transport's tree.
 *
 * Source: You, Buluc, Demmel, SC17, section 6.2.  A group is one worker, whose engine has the
 * group's cores as a team.  The capacity rule: P copies of parameters and data fit the fast memory
 * (NUMA nodes of high bandwidth, else the caches of the last level).
 */
#ifndef DROVE_PLAN_PARTITION_H
#define DROVE_PLAN_PARTITION_H

#include "base/topo.h"
#include <stdbool.h>

typedef struct drove_partition_group {
    const drove_place *place; /* [n_cores] one processor of each of its cores */
    unsigned           n_cores;
} drove_partition_group;

typedef struct drove_partition {
    unsigned               n; /* groups; 0: no partition */
    drove_partition_group *group;
    drove_place           *place;      /* [cores of the machine] */
    double                 copy_bytes; /* parameters and data of a group */
    double                 fast_bytes; /* what the machine has of fast memory, and what that is */
    const char            *fast_name;
    unsigned suggested; /* the most groups whose copies fit; if one does not: one for each node */
} drove_partition;

/* wanted: groups; 0: as many as are suggested.  The copies are of copy_bytes each.
 * Errors: DROVE_E_ARG: the topology has no such groups; DROVE_E_NOMEM. */
drove_status drove__partition_plan(const drove_topo *topo, unsigned wanted, double copy_bytes,
                                   drove_partition *out);
void         drove__partition_fini(drove_partition *p); /* a zeroed one is accepted */
/* Do all copies fit? */
bool drove__partition_fits(const drove_partition *p);

#endif
