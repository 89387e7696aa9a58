/* base/topo.h - cores, NUMA nodes, pinning and memory placement, through hwloc.
 *
 * A topology is this machine's, or a recorded or synthetic one (tests: "numa:2 core:8 pu:1", an
 * hwloc XML file), on which placement can be computed but nothing is really bound.  The object is
 * read-only after loading: any thread may use it.
 */
#ifndef DROVE_BASE_TOPO_H
#define DROVE_BASE_TOPO_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_topo drove_topo;

typedef enum drove_bind {
    DROVE_BIND_NONE,    /* the operating system places the workers                              */
    DROVE_BIND_COMPACT, /* fill the cores of one NUMA node, then the next: the thesis's UMA     */
    DROVE_BIND_SPREAD   /* alternate between the NUMA nodes: the thesis's NUMA                  */
} drove_bind;

typedef struct drove_place { /* where one worker runs */
    int pu;   /* logical processor, as the operating system numbers it; -1 = not bound */
    int core; /* hwloc's logical core number; -1 = not bound                            */
    int node; /* NUMA node, hwloc's logical number; -1 = not bound                      */
} drove_place;

typedef struct drove_topo_facts {
    unsigned n_pus, n_cores, n_nodes, n_packages;
    size_t   l1d_bytes, l2_bytes, l3_bytes; /* of one cache; 0 = unknown */
    uint64_t memory_bytes;
    /* Memory faster than the rest: NUMA nodes of high bandwidth or, without any, all caches of the
     * last level. */
    uint64_t    fast_bytes;
    const char *fast_name; /* "MCDRAM", "HBM", "L3", "L2" or "none" */
    int         is_this_machine;
} drove_topo_facts;

/* source NULL: this machine, restricted to the processors that this process may use.
 * "synthetic:DESCRIPTION" or "xml:FILE": a topology for tests.
 * Errors: DROVE_E_ARG (unknown or malformed source), DROVE_E_SYSTEM. */
drove_status drove__topo_create(const char *source, drove_topo **out);
void         drove__topo_destroy(drove_topo *topo);
void         drove__topo_facts(const drove_topo *topo, drove_topo_facts *out);
/* Processors of this machine that this process may use.  Errors: those of drove__topo_create. */
drove_status drove__topo_processors(unsigned *out);

/* Fills place[n_workers].  One worker per core first, hyper-threads (second PU of a core) only when
 * every core has one; more workers than PUs wrap round. */
void drove__topo_place(const drove_topo *topo, drove_bind bind, unsigned n_workers,
                       drove_place *place);

/* Splits the machine's cores into groups along its packages, NUMA nodes and last-level caches: each
 * such domain lies in one group, or its groups lie within it.  place[n_cores]: one processor of
 * each core, those of a group side by side; group[n_cores] ascends from 0.  Inside the smallest
 * such domain groups differ by one core at most.  False: there is no such partition. */
bool drove__topo_partition(const drove_topo *topo, unsigned n_groups, drove_place *place,
                           unsigned *group);

/* The place of a processor, by the operating system's number; false: not in the topology. */
bool drove__topo_find(const drove_topo *topo, int pu, drove_place *out);

/* Binds the calling thread; place->pu == -1 or a topology that is not this machine: does nothing.
 * Errors: DROVE_E_SYSTEM. */
drove_status drove__topo_bind_self(const drove_topo *topo, const drove_place *place);

/* Memory on a NUMA node (node >= 0) or interleaved over all (node == -1), zeroed, 64-byte aligned;
 * falls back to ordinary memory if the machine has one node.  Free with drove__topo_free and the
 * same count. */
void *drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node);
void  drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes);

/* Sets where memory goes that the calling thread touches first from now on: interleaved over the
 * nodes of place[n_places] (for data that all of them read; over all nodes if a place has none), or
 * with n_places 0 near the thread again.  Does nothing on a machine with one node. */
void drove__topo_spread_memory(const drove_topo *topo, const drove_place *place, unsigned n_places);

#endif
