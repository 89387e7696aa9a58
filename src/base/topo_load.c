/* base/topo_load.c - loads a topology, and orders its processors as workers fill them. */
#include "base/topo_state.h"

#include "base/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Held while hwloc makes or frees a topology, for which it takes a lock of its own: so no fork
 * comes in between. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static drove_fork_guard guard;

__attribute__((constructor)) static void guard_lock(void)
{
    drove__fork_guard_add(&guard, &lock, DROVE_FORK_INNER);
}

/* A processor with the sort keys of both orders. */
typedef struct candidate {
    drove_place place;
    unsigned thread;       /* 0: first PU of its core, 1: second ...       */
    unsigned rank_in_node; /* of its core among the cores of its node      */
} candidate;

static unsigned count_objects(hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(hwloc, type);
    return n > 0 ? (unsigned)n : 0;
}

static size_t cache_bytes(hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(hwloc, type, 0);
    return cache != NULL && cache->attr != NULL ? (size_t)cache->attr->cache.size : 0;
}

/* ---- orders of the processors ---- */

static int difference(long long a, long long b)
{
    return (a > b) - (a < b);
}

/* First PU of every core before any second one; among those, node by node, core by core. */
static int compare_compact(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int order = difference(a->thread, b->thread);
    if (order == 0) order = difference(a->place.node, b->place.node);
    if (order == 0) order = difference(a->place.core, b->place.core);
    return order;
}

/* First PU of every core before any second one; among those, the first core of each node, the
 * second of each ... */
static int compare_spread(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    int order = difference(a->thread, b->thread);
    if (order == 0) order = difference(a->rank_in_node, b->rank_in_node);
    if (order == 0) order = difference(a->place.node, b->place.node);
    return order;
}

static drove_status order_processors(drove_topo *topo)
{
    unsigned n = topo->facts.n_pus;
    if (n == 0) return drove__fail(DROVE_E_SYSTEM, "topology: no processor that may be used");
    candidate *all = calloc(n, sizeof *all);
    topo->compact = calloc(n, sizeof *topo->compact);
    topo->spread = calloc(n, sizeof *topo->spread);
    if (all == NULL || topo->compact == NULL || topo->spread == NULL) {
        free(all);
        return drove__fail_nomem("topology", n * sizeof *all);
    }
    for (unsigned i = 0; i < n; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_PU, i);
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topo->hwloc, HWLOC_OBJ_CORE, pu);
        all[i].place = (drove_place){.pu = (int)pu->os_index, .core = (int)pu->logical_index};
        if (core != NULL) {
            all[i].place.core = (int)core->logical_index;
            hwloc_obj_t first =
                hwloc_get_obj_inside_cpuset_by_type(topo->hwloc, core->cpuset, HWLOC_OBJ_PU, 0);
            all[i].thread = pu->logical_index - first->logical_index;
        }
        int node = pu->nodeset != NULL ? hwloc_bitmap_first(pu->nodeset) : -1;
        hwloc_obj_t numa =
            node >= 0 ? hwloc_get_numanode_obj_by_os_index(topo->hwloc, (unsigned)node) : NULL;
        if (numa != NULL) all[i].place.node = (int)numa->logical_index;
    }
    qsort(all, n, sizeof *all, compare_compact);
    for (unsigned i = 1; i < n; i++) { /* the cores of a node follow each other */
        bool same =
            all[i].thread == all[i - 1].thread && all[i].place.node == all[i - 1].place.node;
        all[i].rank_in_node = same ? all[i - 1].rank_in_node + 1 : 0;
    }
    for (unsigned i = 0; i < n; i++) topo->compact[i] = all[i].place;
    qsort(all, n, sizeof *all, compare_spread);
    for (unsigned i = 0; i < n; i++) topo->spread[i] = all[i].place;
    free(all);
    return DROVE_OK;
}

/* ---- loading ---- */

static drove_status set_source(hwloc_topology_t hwloc, const char *source)
{
    static const char synthetic[] = "synthetic:", xml[] = "xml:";
    int result;
    if (source == NULL) {
        if (access("/sys/devices/system/cpu/online", R_OK) == 0) return DROVE_OK;
        /* Where /sys is hidden hwloc finds nothing, and says so on the standard error: a machine
         * whose processors are all cores of one node. */
        char text[128];
        const long n = sysconf(_SC_NPROCESSORS_CONF), pages = sysconf(_SC_PHYS_PAGES);
        snprintf(text, sizeof text, "numa:1(memory=%llu) core:%ld pu:1",
                 (unsigned long long)(pages > 0 ? pages : 1) *
                     (unsigned long long)sysconf(_SC_PAGESIZE),
                 n > 0 ? n : 1);
        if (hwloc_topology_set_synthetic(hwloc, text) == 0 &&
            hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM) == 0)
            return DROVE_OK;
        return drove__fail_errno(DROVE_E_SYSTEM, errno, "topology: %s", text);
    }
    if (strncmp(source, synthetic, sizeof synthetic - 1) == 0) {
        result = hwloc_topology_set_synthetic(hwloc, source + sizeof synthetic - 1);
    } else if (strncmp(source, xml, sizeof xml - 1) == 0) {
        const char *path = source + sizeof xml - 1;
        if (access(path, R_OK) != 0) {
            return drove__fail_errno(DROVE_E_ARG, errno, "topology %s: cannot be opened", path);
        }
        result = hwloc_topology_set_xml(hwloc, path);
    } else {
        return drove__fail(DROVE_E_ARG,
                           "topology: expected \"synthetic:DESCRIPTION\" or \"xml:FILE\", "
                           "found \"%s\"",
                           source);
    }
    if (result == 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "topology: hwloc cannot read \"%s\"", source);
}

/* Removes the processors that this process may not use (taskset; hwloc has taken out those of the
 * cgroup), and the nodes that have none left. */
static drove_status restrict_to_allowed(hwloc_topology_t hwloc)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    if (allowed == NULL) return drove__fail_nomem("topology", 0);
    int result = hwloc_get_cpubind(hwloc, allowed, HWLOC_CPUBIND_PROCESS);
    if (result == 0)
        result = hwloc_topology_restrict(hwloc, allowed, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
    int error = errno == EFAULT ? ENOMEM : errno; /* it handed on a mask without memory */
    hwloc_bitmap_free(allowed);
    if (result == 0 || error == ENOSYS || error == EINVAL) return DROVE_OK; /* knows none of them */
    return drove__fail_errno(DROVE_E_SYSTEM, error, "topology: allowed processors");
}

drove_status drove__topo_create(const char *source, drove_topo **out)
{
    *out = NULL;
    drove_topo *topo = calloc(1, sizeof *topo);
    if (topo == NULL) return drove__fail_nomem("topology", sizeof *topo);
    drove_status status;
    pthread_mutex_lock(&lock);
    if (hwloc_topology_init(&topo->hwloc) != 0) {
        topo->hwloc = NULL;
        status = drove__fail_errno(DROVE_E_SYSTEM, errno, "topology");
        goto fail;
    }
    if ((status = set_source(topo->hwloc, source)) != DROVE_OK) goto fail;
    if (hwloc_topology_load(topo->hwloc) != 0) {
        status = source != NULL
                     ? drove__fail(DROVE_E_ARG, "topology: hwloc cannot read \"%s\"", source)
                     : drove__fail_errno(DROVE_E_SYSTEM, errno,
                                         "topology: hwloc cannot read this machine");
        goto fail;
    }
    if (hwloc_topology_is_thissystem(topo->hwloc) &&
        (status = restrict_to_allowed(topo->hwloc)) != DROVE_OK)
        goto fail;
    drove_topo_facts *facts = &topo->facts;
    facts->n_pus = count_objects(topo->hwloc, HWLOC_OBJ_PU);
    facts->n_cores = count_objects(topo->hwloc, HWLOC_OBJ_CORE);
    if (facts->n_cores == 0) facts->n_cores = facts->n_pus;
    facts->n_nodes = count_objects(topo->hwloc, HWLOC_OBJ_NUMANODE);
    facts->n_packages = count_objects(topo->hwloc, HWLOC_OBJ_PACKAGE);
    facts->l1d_bytes = cache_bytes(topo->hwloc, HWLOC_OBJ_L1CACHE);
    facts->l2_bytes = cache_bytes(topo->hwloc, HWLOC_OBJ_L2CACHE);
    facts->l3_bytes = cache_bytes(topo->hwloc, HWLOC_OBJ_L3CACHE);
    facts->memory_bytes = hwloc_get_root_obj(topo->hwloc)->total_memory;
    drove__topo_find_fast(topo->hwloc, facts);
    facts->is_this_machine = hwloc_topology_is_thissystem(topo->hwloc);
    if ((status = order_processors(topo)) != DROVE_OK) goto fail;
    pthread_mutex_unlock(&lock);
    *out = topo;
    return DROVE_OK;
fail:
    pthread_mutex_unlock(&lock);
    drove__topo_destroy(topo);
    return status;
}

void drove__topo_destroy(drove_topo *topo)
{
    if (topo == NULL) return;
    pthread_mutex_lock(&lock);
    if (topo->hwloc != NULL) hwloc_topology_destroy(topo->hwloc);
    pthread_mutex_unlock(&lock);
    free(topo->compact);
    free(topo->spread);
    free(topo);
}

void drove__topo_facts(const drove_topo *topo, drove_topo_facts *out)
{
    *out = topo->facts;
}

drove_status drove__topo_processors(unsigned *out)
{
    drove_topo *topo;
    DROVE_TRY(drove__topo_create(NULL, &topo));
    *out = topo->facts.n_pus;
    drove__topo_destroy(topo);
    return DROVE_OK;
}
