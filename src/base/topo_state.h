/* base/topo_state.h - declarations shared by the files of the topology.
 *
 *   topo_load.c       loading, orders of the processors
 *   topo_bind.c       placement, binding, memory on nodes
 *   topo_partition.c  parts of the cores, fast memory
 */
#ifndef DROVE_BASE_TOPO_STATE_H
#define DROVE_BASE_TOPO_STATE_H

#include "base/topo.h"

#include <hwloc.h>

struct drove_topo {
    hwloc_topology_t hwloc;
    drove_topo_facts facts;
    drove_place     *compact; /* [facts.n_pus] order in which workers fill the processors */
    drove_place     *spread;  /* [facts.n_pus]                                            */
};

/* Sets fast_bytes and fast_name. */
void drove__topo_find_fast(hwloc_topology_t hwloc, drove_topo_facts *facts);

#endif
