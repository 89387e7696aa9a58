/* run/partition.c - see partition.h. */
#include "run/partition.h"

#include "run/run.h"

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

/* "1, 2, 4, 8 or 16", as far as they fit `into`. */
static void list_possible(const drove_topo *topo, drove_place *place, unsigned *group, char *into,
                          size_t size)
{
    drove_topo_facts facts;
    size_t used = 0;
    drove__topo_facts(topo, &facts);
    for (unsigned n = 1; n <= facts.n_cores && used + 16 < size; n++) {
        if (!drove__topo_partition(topo, n, place, group)) continue;
        used += (size_t)snprintf(into + used, size - used, "%s%u", n > 1 ? ", " : "", n);
    }
}

static drove_status refuse(const drove_topo *topo, const char *text, drove_place *place,
                           unsigned *group)
{
    char possible[160] = "";
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    list_possible(topo, place, group, possible, sizeof possible);
    return drove__fail(DROVE_E_ARG,
                       "--partition %s: expected groups that cut no package, NUMA node or cache of "
                       "this machine's %u cores (%s), found %s",
                       text, facts.n_cores, possible, text);
}

static drove_status make_groups(const drove_topo *topo, const unsigned *group, drove_partition *p)
{
    drove_topo_facts facts;
    drove__topo_facts(topo, &facts);
    p->group = calloc(p->n, sizeof *p->group);
    if (p->group == NULL) return drove__fail_nomem("groups of cores", p->n * sizeof *p->group);
    for (unsigned i = 0; i < facts.n_cores; i++) {
        drove_partition_group *g = &p->group[group[i]];
        if (g->n_cores++ > 0) continue;
        g->place = &p->place[i];
        g->topo = topo;
    }
    return DROVE_OK;
}

static drove_status plan(const drove_topo *topo, const char *text, unsigned *group,
                         drove_partition *p)
{
    drove_topo_facts facts;
    uint64_t n;
    drove__topo_facts(topo, &facts);
    p->fast_bytes = (double)facts.fast_bytes;
    p->fast_name = facts.fast_name;
    (void)drove__topo_partition(topo, 1, p->place, group);
    p->suggested = suggest(topo, p, group);
    n = p->suggested;
    if (strcmp(text, "auto") != 0)
        DROVE_TRY(drove__parse_u64("--partition", text, 1, UINT32_MAX, &n));
    if (!drove__topo_partition(topo, (unsigned)n, p->place, group))
        return refuse(topo, text, p->place, group);
    p->n = (unsigned)n;
    return make_groups(topo, group, p);
}

drove_status drove__partition_plan(const drove_topo *topo, const char *text, double copy_bytes,
                                   drove_partition *out)
{
    drove_topo_facts facts;
    drove_partition p = {.copy_bytes = copy_bytes};
    drove__topo_facts(topo, &facts);
    unsigned *group = calloc(facts.n_cores, sizeof *group);
    p.place = calloc(facts.n_cores, sizeof *p.place);
    drove_status status = group != NULL && p.place != NULL
                              ? plan(topo, text, group, &p)
                              : drove__fail_nomem("groups of cores", facts.n_cores);
    free(group);
    if (status != DROVE_OK) {
        drove__partition_fini(&p);
        return status;
    }
    *out = p;
    return DROVE_OK;
}

void drove__partition_fini(drove_partition *p)
{
    for (unsigned i = 0; p->group != NULL && i < p->n; i++) drove_data_destroy(p->group[i].data);
    free(p->group);
    free(p->place);
    *p = (drove_partition){0};
}

bool drove__partition_fits(const drove_partition *p)
{
    return p->n * p->copy_bytes <= p->fast_bytes;
}

/* ---- a run's ---- */

static drove_status check_run(const drove_run *run)
{
    if (run->plan.is_procs || run->opt.workers[0] != '\0' || run->ranks.n > 1)
        return drove__fail(DROVE_E_ARG,
                           "--partition %s: expected no --workers and no ranks, as the groups are "
                           "the workers",
                           run->opt.partition);
    if ((run->plan.ops->needs & DROVE_SYNC_SPREAD) == 0 || drove__resolve_is_low(&run->opt))
        return drove__fail(DROVE_E_ARG,
                           "--partition %s: expected a --strategy whose workers have parameters of "
                           "their own, such as allreduce, and no low --precision, found %s",
                           run->opt.partition, run->plan.spec);
    return DROVE_OK;
}

static void say(const drove_run *run)
{
    const drove_partition *p = &run->partition;
    drove__run_say(run,
                   "partition: %u group%s of %u core%s: copies of %.1f MB each, %.1f MB in all, %s "
                   "in %.1f MB of fast memory (%s); suggested: %u",
                   p->n, p->n == 1 ? "" : "s", p->group[0].n_cores,
                   p->group[0].n_cores == 1 ? "" : "s", p->copy_bytes / 1e6,
                   p->n * p->copy_bytes / 1e6, drove__partition_fits(p) ? "which fit" : "too much",
                   p->fast_bytes / 1e6, p->fast_name, p->suggested);
}

drove_status drove__run_partition(drove_run *run)
{
    drove_data_facts facts;
    if (run->opt.partition[0] == '\0') return DROVE_OK;
    DROVE_TRY(check_run(run));
    drove_data_describe(run->train, &facts);
    double copy_bytes = (double)facts.memory_bytes + (double)run->model->n_params * sizeof(float);
    DROVE_TRY(drove__partition_plan(run->topo, run->opt.partition, copy_bytes, &run->partition));
    drove_place *place = calloc(run->partition.n, sizeof *place);
    if (place == NULL) return drove__fail_nomem("worker places", run->partition.n * sizeof *place);
    for (unsigned i = 0; i < run->partition.n; i++) place[i] = run->partition.group[i].place[0];
    free(run->place);
    run->place = place;
    run->n_workers = run->plan.n_workers = run->partition.n;
    say(run);
    return drove__run_check_memory(run);
}

static drove_status bind_part(void *context, unsigned part)
{
    const drove_partition_group *g = context;
    return drove__topo_bind_self(g->topo, &g->place[part]);
}

drove_status drove__partition_join(drove_worker *w, drove_engine_options *opt)
{
    drove_run *run = w->run;
    if (run->partition.n == 0) return DROVE_OK;
    drove_partition_group *g = &run->partition.group[w->index];
    if (g->n_cores > 1) {
        opt->n_threads = g->n_cores;
        opt->bind = bind_part;
        opt->bind_context = g;
    }
    if (run->partition.n == 1) return DROVE_OK;
    DROVE_TRY(drove__data_copy(run->train, &g->data)); /* touched first here, so it lies here */
    w->data = opt->data = g->data;
    return DROVE_OK;
}
