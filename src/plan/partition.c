/* plan/partition.c - groups of cores that cut no package, NUMA node or cache. */
#include "plan/partition.h"

#include "base/mem.h"
#include "base/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

/* The most groups that the topology can give and whose copies fit; where not even one copy does,
 * one for each NUMA node, whose memory is at least its own. */
static unsigned suggest(const drove_topo *topo, const drove_partition *p, unsigned *group)
{
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    for (unsigned n = facts.n_cores; n >= 1; n--) {
        bool fits = (double)n * p->copy_bytes <= p->fast_bytes;
        if (fits && drove__topo_partition(topo, n, p->place, group)) return n;
    }
    unsigned n_nodes = 1; /* that have cores: these stand side by side */
    for (unsigned i = 1; i < facts.n_cores; i++)
        n_nodes += p->place[i].node != p->place[i - 1].node;
    return drove__topo_partition(topo, n_nodes, p->place, group) ? n_nodes : 1;
}

drove_status drove__partition_plan(const drove_topo *topo, unsigned wanted, double copy_bytes,
                                   drove_partition *out)
{
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    drove_partition p = {.copy_bytes = copy_bytes,
                         .fast_bytes = (double)facts.fast_bytes,
                         .fast_name = facts.fast_name};
    drove_status status = DROVE_OK;
    unsigned *group = calloc(facts.n_cores, sizeof *group);
    p.place = calloc(facts.n_cores, sizeof *p.place);
    if (group == NULL || p.place == NULL) {
        status = drove__fail_nomem("groups of cores", facts.n_cores);
        goto fail;
    }
    (void)drove__topo_partition(topo, 1, p.place, group);
    p.suggested = suggest(topo, &p, group);
    p.n = wanted > 0 ? wanted : p.suggested;
    if (!drove__topo_partition(topo, p.n, p.place, group)) {
        char possible[160] = ""; /* "1, 2, 4, 8 or 16", as far as they fit */
        size_t used = 0;
        for (unsigned k = 1; k <= facts.n_cores && used + 16 < sizeof possible; k++) {
            if (!drove__topo_partition(topo, k, p.place, group)) continue;
            used += (size_t)snprintf(possible + used, sizeof possible - used, "%s%u",
                                     k > 1 ? ", " : "", k);
        }
        status = drove__fail(
            DROVE_E_ARG,
            "--partition %u: expected groups that cut no package, NUMA node or cache of "
            "this machine's %u cores (%s), found %u",
            p.n, facts.n_cores, possible, p.n);
        goto fail;
    }

    /* A group's places lie side by side. */
    p.group = calloc(p.n, sizeof *p.group);
    if (p.group == NULL) {
        status = drove__fail_nomem("groups of cores", p.n * sizeof *p.group);
        goto fail;
    }
    for (unsigned i = 0; i < facts.n_cores; i++) {
        drove_partition_group *g = &p.group[group[i]];
        if (g->n_cores++ == 0) g->place = &p.place[i];
    }
    free(group);
    *out = p;
    return DROVE_OK;
fail:
    free(group);
    drove__partition_fini(&p);
    return status;
}

void drove__partition_fini(drove_partition *p)
{
    free(p->group);
    free(p->place);
    *p = (drove_partition){0};
}

bool drove__partition_fits(const drove_partition *p)
{
    return p->n * p->copy_bytes <= p->fast_bytes;
}
