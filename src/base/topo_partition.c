/* base/topo_partition.c - groups of cores along the memory hierarchy; size of the fast memory.
 *
 * Source: You, Buluc, Demmel, SC17, section 6.2.  The machine, its packages, NUMA nodes and
 * last-level caches are levels of domains, one inside the other.  P groups are whole domains of one
 * level, or equal shares of each domain of the finest level that has at most P.  No domain may be
 * split between groups if one of them reaches outside it.
 */
#include "base/topo_state.h"

#include <stdlib.h>
#include <string.h>

enum { MACHINE, PACKAGE, NODE, CACHE, N_LEVELS };

typedef struct core_levels {
    int domain[N_LEVELS];
} core_levels;

/* ---- fast memory ---- */

void drove__topo_find_fast(hwloc_topology_t hwloc, drove_topo_facts *facts)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } cache[] = {{HWLOC_OBJ_L3CACHE, "L3"}, {HWLOC_OBJ_L2CACHE, "L2"}};
    facts->fast_bytes = 0;
    facts->fast_name = "none";
    hwloc_obj_t node = NULL; /* hwloc gives a NUMA node a subtype if it knows one */
    while ((node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        if (node->subtype == NULL) continue;
        const bool is_mcdram = strcmp(node->subtype, "MCDRAM") == 0;
        if (!is_mcdram && strncmp(node->subtype, "HBM", 3) != 0) continue;
        facts->fast_bytes += node->attr->numanode.local_memory;
        facts->fast_name = is_mcdram ? "MCDRAM" : "HBM";
    }
    for (size_t i = 0; i < sizeof cache / sizeof cache[0] && facts->fast_bytes == 0; i++) {
        hwloc_obj_t one = NULL;
        while ((one = hwloc_get_next_obj_by_type(hwloc, cache[i].type, one)) != NULL)
            facts->fast_bytes += one->attr->cache.size;
        if (facts->fast_bytes > 0) facts->fast_name = cache[i].name;
    }
}

/* ---- levels ---- */

static int ancestor(hwloc_topology_t hwloc, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(hwloc, type, pu);
    return above != NULL ? (int)above->logical_index : 0;
}

/* Splits each domain of the level into `each` groups; false: one has fewer cores. */
static bool share_out(const core_levels *core, unsigned n_cores, int level, unsigned each,
                      unsigned *group)
{
    unsigned first_group = 0;
    for (unsigned first = 0, end; first < n_cores; first = end) {
        for (end = first + 1; end < n_cores && core[end].domain[level] == core[first].domain[level];
             end++)
            continue;
        unsigned size = end - first;
        if (size < each) return false;
        for (unsigned i = 0; i < size; i++) group[first + i] = first_group + i * each / size;
        first_group += each;
    }
    return true;
}

/* Whether a domain of the level is split between groups of which one reaches outside it. */
static bool cuts(const core_levels *core, unsigned n_cores, int level, const unsigned *group)
{
    for (unsigned i = 1; i < n_cores; i++) {
        if (core[i].domain[level] != core[i - 1].domain[level] || group[i] == group[i - 1])
            continue;
        for (unsigned k = 0; k < n_cores; k++) { /* a border of groups inside a domain */
            bool is_beside = group[k] == group[i] || group[k] == group[i - 1];
            if (is_beside && core[k].domain[level] != core[i].domain[level]) return true;
        }
    }
    return false;
}

static bool divide(const core_levels *core, unsigned n_cores, unsigned n_groups, unsigned *group)
{
    int finest = MACHINE;
    unsigned n = 1;
    for (int level = PACKAGE; level < N_LEVELS; level++) {
        unsigned n_here = 1; /* the processors' order keeps the cores of a domain side by side */
        for (unsigned i = 1; i < n_cores; i++)
            n_here += core[i].domain[level] != core[i - 1].domain[level];
        if (n_here > n_groups || n_here <= n) continue;
        finest = level;
        n = n_here;
    }
    if (n_groups % n != 0 || !share_out(core, n_cores, finest, n_groups / n, group)) return false;
    for (int level = PACKAGE; level < N_LEVELS; level++)
        if (cuts(core, n_cores, level, group)) return false;
    return true;
}

bool drove__topo_partition(const drove_topo *topo, unsigned n_groups, drove_place *place,
                           unsigned *group)
{
    unsigned n_cores = topo->facts.n_cores;
    if (n_groups == 0 || n_groups > n_cores) return false;
    core_levels *core = calloc(n_cores, sizeof *core);
    if (core == NULL) return false;
    for (unsigned i = 0; i < n_cores; i++) {
        place[i] = topo->compact[i]; /* first one processor of every core, node by node */
        core[i] = (core_levels){.domain = {[NODE] = place[i].node}};
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topo->hwloc, (unsigned)place[i].pu);
        if (pu == NULL) continue;
        core[i].domain[PACKAGE] = ancestor(topo->hwloc, pu, HWLOC_OBJ_PACKAGE);
        core[i].domain[CACHE] = ancestor(topo->hwloc, pu, HWLOC_OBJ_L3CACHE);
    }
    bool is_there = divide(core, n_cores, n_groups, group);
    free(core);
    return is_there;
}
