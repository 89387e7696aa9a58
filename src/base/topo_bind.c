/* base/topo_bind.c - placement, binding, memory on nodes.
 *
 * The places of all processors are computed once (topo_load.c), in the two orders in which workers
 * fill the machine; placing worker i is then a look-up of i modulo the number of processors.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include "base/topo_state.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

void drove__topo_place(const drove_topo *topo, drove_bind bind, unsigned n_workers,
                       drove_place *place)
{
    const drove_place *order = bind == DROVE_BIND_COMPACT ? topo->compact : topo->spread;
    for (unsigned i = 0; i < n_workers; i++) {
        if (bind == DROVE_BIND_NONE) place[i] = (drove_place){-1, -1, -1};
        else place[i] = order[i % topo->facts.n_pus];
    }
}

bool drove__topo_find(const drove_topo *topo, int pu, drove_place *out)
{
    for (unsigned i = 0; i < topo->facts.n_pus; i++) {
        if (topo->compact[i].pu != pu) continue;
        *out = topo->compact[i];
        return true;
    }
    return false;
}

drove_status drove__topo_bind_self(const drove_topo *topo, const drove_place *place)
{
    if (place->pu < 0 || !topo->facts.is_this_machine) return DROVE_OK;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set == NULL || hwloc_bitmap_only(set, (unsigned)place->pu) != 0) {
        hwloc_bitmap_free(set);
        return drove__fail(DROVE_E_SYSTEM, "binding to processor %d: not enough memory", place->pu);
    }
    int result = hwloc_set_cpubind(topo->hwloc, set, HWLOC_CPUBIND_THREAD);
    int error = errno;
    hwloc_bitmap_free(set);
    if (result == 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_SYSTEM, error, "binding to processor %d", place->pu);
}

/* Memory placement matters only on a machine with several nodes. */
static bool has_choice(const drove_topo *topo)
{
    return topo->facts.is_this_machine && topo->facts.n_nodes > 1;
}

void *drove__topo_alloc(const drove_topo *topo, size_t size_bytes, int node)
{
    if (!has_choice(topo)) return drove__alloc(size_bytes, 1);
    if (size_bytes == 0) size_bytes = 1;
    int kind = drove__memory_is_shared() ? MAP_SHARED : MAP_PRIVATE;
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    /* Asks for the pages to be on the node while it has room, or interleaved.  A refusal (some
     * containers) is no error: the memory is as valid, only perhaps farther away. */
    hwloc_obj_t numa = node >= 0
                           ? hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)node)
                           : hwloc_get_root_obj(topo->hwloc);
    if (numa != NULL)
        (void)hwloc_set_area_membind(topo->hwloc, memory, size_bytes, numa->nodeset,
                                     node >= 0 ? HWLOC_MEMBIND_BIND : HWLOC_MEMBIND_INTERLEAVE,
                                     HWLOC_MEMBIND_BYNODESET);
    return memory;
}

void drove__topo_free(const drove_topo *topo, void *memory, size_t size_bytes)
{
    if (memory == NULL) return;
    if (!has_choice(topo)) drove__free(memory);
    else munmap(memory, size_bytes > 0 ? size_bytes : 1);
}

void drove__topo_spread_memory(const drove_topo *topo, const drove_place *place, unsigned n_places)
{
    if (!has_choice(topo)) return;
    hwloc_bitmap_t nodes = hwloc_bitmap_dup(hwloc_get_root_obj(topo->hwloc)->nodeset);
    bool everywhere = n_places == 0;
    for (unsigned i = 0; i < n_places; i++) everywhere |= place[i].node < 0;
    if (!everywhere) hwloc_bitmap_zero(nodes);
    for (unsigned i = 0; !everywhere && i < n_places; i++) {
        hwloc_obj_t numa =
            hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)place[i].node);
        if (numa != NULL) hwloc_bitmap_or(nodes, nodes, numa->nodeset);
    }
    /* As in drove__topo_alloc, a refusal only means that memory is perhaps farther away. */
    (void)hwloc_set_membind(topo->hwloc, nodes,
                            n_places == 0 ? HWLOC_MEMBIND_DEFAULT : HWLOC_MEMBIND_INTERLEAVE,
                            HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
    hwloc_bitmap_free(nodes);
}
