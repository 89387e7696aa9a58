/* coord/assigned.h - the sources whose batches a coordinator gives out (strategy/source.h).
 *
 * Source: Ma and Rusu, section 5, Figures 3 and 4.
 *
 *   assigned    a thread of the process is the coordinator                    assigned.c
 *   requested   over ranks: workers ask the coordinator at rank 0             requested.c
 */
#ifndef DROVE_COORD_ASSIGNED_H
#define DROVE_COORD_ASSIGNED_H

#include "coord/coord.h"
#include "strategy/source.h"
#include "trace/timeline.h"

extern const drove_source_ops drove__source_assigned, drove__source_requested;

typedef struct drove_assigned_facts { /* of one group (coord/groups.h) */
    const char           *name;
    unsigned              n_workers;
    drove_coord_facts     coord;
    const drove_timeline *busy; /* in training time */
    const char           *lost; /* why; NULL: it is not */
} drove_assigned_facts;

/* Workers parked; over ranks: at rank 0.  Groups of the source: 0 for any other source. */
unsigned drove__assigned_groups(const drove_source *s);
void     drove__assigned_facts(const drove_source *s, unsigned i, drove_assigned_facts *out);

#endif
