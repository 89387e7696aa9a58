/* plan/plan.c - what is wanted, machine and launcher -> one entry for each worker. */
#include "plan/plan.h"

#include "base/mem.h"
#include "base/spec.h"
#include "engine/linear/precision.h"
#include "strategy/combine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const drove_place anywhere = {.pu = -1, .core = -1, .node = -1};

drove_status drove__one_of(const char *what, const char *text, const char *const *words,
                           size_t n_words, unsigned *out)
{
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < n_words; i++) {
        if (strcmp(words[i], text) != 0) continue;
        *out = (unsigned)i;
        return DROVE_OK;
    }
    for (size_t i = 0; i < n_words && used < sizeof list; i++) {
        const char *joint = i == 0 ? "" : i + 1 == n_words ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", joint, words[i]);
    }
    const char *near = drove__nearest(text, words, n_words);
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found \"%.80s\"%s%s%s", what, list, text,
                       near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                       near != NULL ? "\"?" : "");
}

/* ---- the strategy ---- */

drove_status drove__plan_strategy(const drove_plan_tables *tables, const char *name,
                                  const drove_sync_ops **out)
{
    enum { MOST = 64 };
    const char *names[MOST + 1];
    size_t n = 0;
    for (; n < MOST && tables->strategies[n] != NULL; n++) {
        names[n] = tables->strategies[n]->name;
        if (strcmp(names[n], name) != 0) continue;
        *out = tables->strategies[n];
        return DROVE_OK;
    }
    if (strcmp(name, "auto") == 0)
        return drove__fail(DROVE_E_ARG, "strategy: expected auto without arguments and keys");
    names[n++] = "auto";
    return drove__fail_unknown("strategy", name, names, n);
}

static const drove_source_ops *find_source(const drove_plan_tables *tables, const char *name)
{
    size_t i = 0;
    if (name == NULL) name = "claimed";
    while (tables->sources[i] != NULL && strcmp(tables->sources[i]->name, name) != 0) i++;
    assert(tables->sources[i] != NULL); /* a row's `batches` names a source */
    return tables->sources[i];
}

static bool has_list(const drove_plan_wanted *wanted)
{
    return wanted->workers != NULL && !drove__workers_are_procs(wanted->workers);
}

static drove_status choose_strategy(drove_plan *p, const drove_plan_wanted *wanted,
                                    const drove_machine *m, const drove_plan_tables *tables)
{
    drove_spec spec;
    const char *name = wanted->strategy;
    if (name == NULL) {
        if (wanted->partition != 0) name = "allreduce";
        else if (m->n_ranks > 1) name = "easgd-sync3";
        else if (has_list(wanted)) name = "adaptive";
        else name = p->n_asked == 1 ? "sequential" : "hogwild";
    }
    snprintf(p->spec, sizeof p->spec, "%s", name);
    DROVE_TRY(drove__spec_parse(p->spec, &spec));
    drove_status status = drove__plan_strategy(tables, spec.name, &p->ops);
    drove__spec_fini(&spec);
    DROVE_TRY(status);
    p->source = find_source(tables, p->ops->batches);
    if (p->host == DROVE_HOST_RANKS) { /* the rows that take the place of these two */
        const char *stand_in = p->source->ranks != NULL ? p->source->ranks->instead : NULL;
        if (stand_in != NULL) p->source = find_source(tables, stand_in);
        stand_in = drove__sync_places(p->ops)->over_ranks;
        if (stand_in != NULL) DROVE_TRY(drove__plan_strategy(tables, stand_in, &p->ops));
    }
    /* Each worker keeps to its part: worker w has every T-th batch. */
    if (wanted->owns_shard && !p->source->counts_rows) p->source = find_source(tables, "rounds");
    return DROVE_OK;
}

/* ---- workers ---- */

static drove_status give_cores(drove_plan_worker *w, unsigned n)
{
    w->n_cores = n;
    w->core = calloc(n, sizeof *w->core);
    if (w->core == NULL) return drove__fail_nomem("places of a worker", n * sizeof *w->core);
    for (unsigned i = 0; i < n; i++) w->core[i] = anywhere;
    return DROVE_OK;
}

static drove_status make_workers(drove_plan *p, unsigned n)
{
    if (n > DROVE_MOST_THREADS)
        return drove__fail(DROVE_E_ARG, "--workers: expected at most %d workers in all, found %u",
                           DROVE_MOST_THREADS, n);
    free(p->worker);
    p->n_workers = p->n_here = n;
    p->n_groups = 0;
    p->worker = calloc(n, sizeof *p->worker);
    return p->worker != NULL ? DROVE_OK : drove__fail_nomem("workers", n * sizeof *p->worker);
}

/* n workers of n_cores cores each, placed by --bind; the places of `skip` cores are left to others.
 * They are one group if the source lets workers share assignments. */
static drove_status place_workers(drove_plan *p, const drove_machine *m, unsigned first, unsigned n,
                                  unsigned n_cores, unsigned skip, const char *word)
{
    size_t n_all = skip + (size_t)n * n_cores;
    drove_place *place = calloc(n_all, sizeof *place);
    drove_status status = DROVE_OK;
    if (place == NULL) return drove__fail_nomem("worker places", n_all * sizeof *place);
    for (size_t i = 0; i < n_all; i++) place[i] = anywhere;
    if (m->topo != NULL) drove__topo_place(m->topo, p->bind, (unsigned)n_all, place);
    for (unsigned i = 0; i < n && status == DROVE_OK; i++) {
        drove_plan_worker *w = &p->worker[first + i];
        status = give_cores(w, n_cores);
        if (status != DROVE_OK) break;
        memcpy(w->core, place + skip + (size_t)i * n_cores, n_cores * sizeof *place);
        w->group = p->source->counts_rows ? p->n_groups : p->n_groups + i;
        if (p->source->counts_rows) snprintf(w->name, sizeof w->name, "%ss:%u", word, n);
        else snprintf(w->name, sizeof w->name, "%s:%u", word, i);
    }
    p->n_groups += p->source->counts_rows ? 1 : n;
    free(place);
    return status;
}

/* ---- the list of --workers ---- */

/* Workers that an entry stands for: one for each of its cores, or one.  A rank is one. */
static unsigned workers_of(const drove_plan *p, const drove_workers_entry *e)
{
    bool shares = p->source->counts_rows && p->host != DROVE_HOST_RANKS;
    bool is_each = e->is_threads || (shares && !e->one_gradient);
    return e->is_device || !is_each ? 1 : e->n_threads;
}

/* The workers of the list, from p->worker[first] on, in a plan that has room for them. */
static drove_status plan_list(drove_plan *p, const drove_machine *m, unsigned first)
{
    for (unsigned i = 0; i < p->list.n_entries; i++) {
        const drove_workers_entry *e = &p->list.entry[i];
        bool has_sizes = e->batch != 0 || e->least != 0 || e->most != 0 || e->one_gradient;
        if (has_sizes && !p->source->counts_rows)
            return drove__fail(DROVE_E_ARG,
                               "--workers %s: expected no batch, min, max or gradient, which a "
                               "coordinator reads: --strategy %s gives every worker --batch "
                               "examples",
                               e->name, p->spec);
        const unsigned n = workers_of(p, e), n_cores = e->n_threads / n;
        const bool is_group = p->source->counts_rows;
        for (unsigned k = 0; k < n; k++) {
            drove_plan_worker *w = &p->worker[first + k];
            DROVE_TRY(give_cores(w, n_cores));
            for (unsigned c = 0; c < n_cores; c++) {
                int pu = e->pu[k * n_cores + c];
                if (pu >= 0 && m->topo != NULL) (void)drove__topo_find(m->topo, pu, &w->core[c]);
            }
            snprintf(w->name, sizeof w->name, "%s", e->name);
            if (e->is_threads && !is_group)
                snprintf(w->name, sizeof w->name, "thread:%u", first + k);
            w->device = e->is_device ? &e->spec : NULL;
            w->group = p->n_groups;
            if (!is_group) p->n_groups++;
            w->batch = e->batch;
            w->least = e->least;
            w->most = e->most;
            w->timeout_s = e->timeout_s;
        }
        if (is_group) p->n_groups++;
        first += n;
    }
    return DROVE_OK;
}

static unsigned list_workers(const drove_plan *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->list.n_entries; i++) n += workers_of(p, &p->list.entry[i]);
    return n;
}

/* ---- ranks ---- */

/* Without a list, a rank is one worker whose --threads cores compute together. */
static drove_status plan_ranks(drove_plan *p, const drove_plan_wanted *wanted,
                               const drove_machine *m)
{
    bool is_listed = has_list(wanted);
    unsigned n_here = is_listed ? list_workers(p) : 1, first = m->rank * n_here;
    if (n_here > 1 && (p->ops->needs & DROVE_SYNC_SPREAD) != 0)
        return drove__fail(DROVE_E_ARG,
                           "--workers %s: expected one worker, as each rank of --strategy %s is "
                           "one, found %u",
                           wanted->workers, p->spec, n_here);
    DROVE_TRY(make_workers(p, m->n_ranks * n_here));
    p->first_here = first;
    p->n_here = n_here;
    for (unsigned i = 0; i < p->n_workers; i++) {
        if (!drove__plan_is_here(p, i)) DROVE_TRY(give_cores(&p->worker[i], 1));
    }
    if (is_listed) DROVE_TRY(plan_list(p, m, first));
    else
        DROVE_TRY(place_workers(p, m, first, 1, p->n_asked,
                                m->is_bound ? 0 : m->local_rank * p->n_asked, "rank"));
    for (unsigned i = 0; i < p->n_workers; i++) { /* numbered through all ranks */
        drove_plan_worker *w = &p->worker[i];
        w->group = i;
        if (!is_listed || !drove__plan_is_here(p, i))
            snprintf(w->name, sizeof w->name, "rank:%u", i / n_here);
    }
    p->n_groups = p->n_workers;
    return DROVE_OK;
}

/* ---- --partition ---- */

static const char *partition_text(unsigned partition, char into[16])
{
    if (partition == DROVE_PARTITION_AUTO) return "auto";
    snprintf(into, 16, "%u", partition);
    return into;
}

static drove_status check_partition(const drove_plan *p, const drove_plan_wanted *wanted,
                                    const drove_machine *m)
{
    char text[16];
    if (p->host == DROVE_HOST_PROCS || (p->ops->needs & DROVE_SYNC_SPREAD) == 0)
        return drove__fail(DROVE_E_ARG,
                           "--partition %s: expected a --strategy whose workers have parameters of "
                           "their own, such as allreduce, in one process or over ranks, found %s%s",
                           partition_text(wanted->partition, text), p->spec,
                           p->host == DROVE_HOST_PROCS ? " over processes" : "");
    if (p->host != DROVE_HOST_RANKS) return DROVE_OK;
    if (has_list(wanted))
        return drove__fail(DROVE_E_ARG,
                           "--partition %s: expected no --workers over ranks, as each rank is one "
                           "worker, found %s",
                           partition_text(wanted->partition, text), wanted->workers);
    if (wanted->partition == DROVE_PARTITION_AUTO || wanted->partition == m->n_local ||
        m->topo == NULL)
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--partition %s: expected %u, a group for each rank on this host, or auto",
                       partition_text(wanted->partition, text), m->n_local);
}

/* Before drove__plan_partition, which asks the topology: one core. */
static drove_status give_group(const drove_plan *p, unsigned group, drove_plan_worker *w)
{
    const drove_partition_group *g =
        p->partition.n > 0 ? &p->partition.group[group] : &(drove_partition_group){.n_cores = 1};
    DROVE_TRY(give_cores(w, g->n_cores));
    if (g->place != NULL) memcpy(w->core, g->place, g->n_cores * sizeof *w->core);
    return DROVE_OK;
}

/* Groups of cores first, then the devices of --workers. */
static drove_status plan_groups(drove_plan *p, const drove_machine *m, unsigned n)
{
    unsigned n_listed = list_workers(p);
    DROVE_TRY(make_workers(p, n + n_listed));
    for (unsigned i = 0; i < n; i++) {
        drove_plan_worker *w = &p->worker[i];
        snprintf(w->name, sizeof w->name, "group:%u", i);
        w->group = p->n_groups++;
        w->copies_data = n > 1;
        DROVE_TRY(give_group(p, i, w));
    }
    return plan_list(p, m, n);
}

/* Each rank has the group of its number on its host.  Ranks that the launcher has bound are groups
 * already, and each has all the cores that it sees. */
static unsigned groups_here(const drove_machine *m)
{
    return m->is_bound ? 1 : m->n_local;
}

static drove_status plan_rank_groups(drove_plan *p, const drove_machine *m)
{
    DROVE_TRY(make_workers(p, m->n_ranks));
    p->n_groups = p->n_workers;
    p->first_here = m->rank;
    p->n_here = 1;
    for (unsigned i = 0; i < p->n_workers; i++) {
        drove_plan_worker *w = &p->worker[i];
        snprintf(w->name, sizeof w->name, "rank:%u", i);
        w->group = i;
        if (!drove__plan_is_here(p, i)) DROVE_TRY(give_cores(w, 1));
    }
    drove_plan_worker *mine = &p->worker[m->rank];
    mine->copies_data = groups_here(m) > 1;
    return give_group(p, m->is_bound ? 0 : m->local_rank, mine);
}

static void free_workers(drove_plan *p)
{
    for (unsigned i = 0; p->worker != NULL && i < p->n_workers; i++) free(p->worker[i].core);
    free(p->worker);
    p->worker = NULL;
    p->n_workers = 0;
}

drove_status drove__plan_partition(drove_plan *p, unsigned partition, const drove_machine *m,
                                   double copy_bytes)
{
    const bool is_rank = p->host == DROVE_HOST_RANKS;
    if (partition == 0) return DROVE_OK;
    unsigned n = partition == DROVE_PARTITION_AUTO ? 0 : partition;
    if (is_rank) n = groups_here(m);
    drove_status status = drove__partition_plan(m->topo, n, copy_bytes, &p->partition);
    if (status != DROVE_OK && is_rank)
        return drove__fail_in(status, "a group for each of %u ranks on this host", n);
    DROVE_TRY(status);
    free_workers(p);
    return is_rank ? plan_rank_groups(p, m) : plan_groups(p, m, p->partition.n);
}

/* ---- all of it ---- */

static drove_status make_plan(drove_plan *p, const drove_plan_wanted *wanted,
                              const drove_machine *m)
{
    if (wanted->partition != 0) {
        DROVE_TRY(check_partition(p, wanted, m));
        if (p->host == DROVE_HOST_RANKS) return plan_rank_groups(p, m);
        /* How many groups `auto` means is known when the data are. */
        const bool is_auto = wanted->partition == DROVE_PARTITION_AUTO;
        return plan_groups(p, m, is_auto ? 1 : wanted->partition);
    }
    if (p->host == DROVE_HOST_RANKS) return plan_ranks(p, wanted, m);
    if (p->host == DROVE_HOST_PROCS) {
        unsigned n_threads = wanted->n_threads > 0 ? wanted->n_threads : 1;
        unsigned n = p->ops->needs & DROVE_SYNC_ONE ? 1 : p->n_asked;
        DROVE_TRY(make_workers(p, n));
        return place_workers(p, m, 0, n, n_threads, 0, "process");
    }
    if (!has_list(wanted)) {
        unsigned n = p->ops->needs & DROVE_SYNC_ONE ? 1 : p->n_asked;
        DROVE_TRY(make_workers(p, n));
        return place_workers(p, m, 0, n, 1, 0, "thread");
    }
    DROVE_TRY(make_workers(p, list_workers(p)));
    return plan_list(p, m, 0);
}

/* Does the strategy run on these workers, with parameters in this number format? */
static drove_status check_combination(const drove_plan *p, const drove_plan_wanted *wanted,
                                      const drove_plan_tables *tables)
{
    char names[512];
    drove_combination c = {.n_workers = p->n_workers,
                           .procs = p->host == DROVE_HOST_PROCS,
                           .ranks = p->host == DROVE_HOST_RANKS,
                           .typed = drove__precision_is_words(wanted->precision),
                           .beside = wanted->beside,
                           .engine_can = DROVE_COMBINE_FUSED | DROVE_COMBINE_TYPED};
    for (unsigned i = p->first_here; i < p->first_here + p->n_here; i++) {
        c.any_device |= p->worker[i].device != NULL;
        if (p->worker[i].n_cores > 1) c.engine_can &= ~(unsigned)DROVE_COMBINE_FUSED;
        if (p->worker[i].device != NULL) c.engine_can = 0;
    }
    const char *why = drove__combine(p->ops, &c);
    if (why == NULL) return DROVE_OK;

    /* The strategies that run in this place, joined. */
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; tables->strategies[i] != NULL && used < sizeof names; i++) {
        const drove_sync_ops *ops = tables->strategies[i];
        if (drove__combine(ops, &c) != NULL) continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                 ops->name);
    }
    if (c.ranks)
        return drove__fail(DROVE_E_ARG,
                           "--strategy %s: %s; %u ranks were started: expected one of %s "
                           "(allreduce is what sync is among ranks)",
                           p->spec, why, p->n_ranks, names);
    if (c.beside && drove__sync_not_beside(p->ops) == why)
        return drove__fail(DROVE_E_ARG, "--eval-beside: --strategy %s: %s; expected one of %s",
                           p->spec, why, names);
    if (c.typed && names[0] == '\0') /* no strategy does: it is the workers */
        return drove__fail(DROVE_E_ARG, "--precision %s: --workers %s: %s", wanted->precision,
                           wanted->workers != NULL ? wanted->workers : "", why);
    if (c.typed)
        return drove__fail(DROVE_E_ARG, "--precision %s: --strategy %s: %s; expected one of %s",
                           wanted->precision, p->spec, why, names);
    return drove__fail(DROVE_E_ARG, "--workers %s: --strategy %s: %s; expected one of %s",
                       wanted->workers != NULL ? wanted->workers : "", p->spec, why, names);
}

drove_status drove__plan_make(const drove_plan_wanted *wanted, const drove_machine *machine,
                              const drove_plan_tables *tables, drove_plan *out)
{
    const drove_machine *m = machine;
    const bool is_procs = wanted->workers != NULL && drove__workers_are_procs(wanted->workers);
    const unsigned n = m->is_bound || m->n_ranks <= 1 ? m->n_pus : m->n_pus / m->n_local;
    drove_plan p = {.bind = wanted->bind,
                    .n_ranks = m->n_ranks,
                    .host = m->n_ranks > 1 ? DROVE_HOST_RANKS
                            : is_procs     ? DROVE_HOST_PROCS
                                           : DROVE_HOST_THREADS,
                    .n_asked = wanted->n_threads > 0 ? wanted->n_threads
                               : n > 0               ? n
                                                     : 1};
    drove_status status = DROVE_OK;
    if (is_procs) status = drove__procs_parse(wanted->workers, m->n_pus, &p.n_asked);
    if (status != DROVE_OK) goto fail;
    if ((status = choose_strategy(&p, wanted, m, tables)) != DROVE_OK) goto fail;
    if (p.host == DROVE_HOST_RANKS && is_procs) {
        status =
            drove__fail(DROVE_E_ARG,
                        "--workers %s: expected no processes of a rank's own, as %u ranks were "
                        "started, each of which is a worker",
                        wanted->workers, p.n_ranks);
        goto fail;
    }
    if (has_list(wanted)) {
        const bool may_repeat = !p.source->counts_rows;
        char text[DROVE_WORKERS_SIZE];
        status = drove__workers_expand(wanted->workers, m->local_rank, text, sizeof text);
        if (status != DROVE_OK) goto fail;
        status = drove__workers_parse(text, m->topo, m->n_pus, may_repeat, &p.list);
        if (status != DROVE_OK) goto fail;
    }
    if ((status = make_plan(&p, wanted, m)) != DROVE_OK) goto fail;
    if ((status = check_combination(&p, wanted, tables)) != DROVE_OK) goto fail;
    *out = p;
    return DROVE_OK;
fail:
    drove__plan_fini(&p);
    return status;
}

drove_status drove__plan_gather(drove_plan *p, unsigned n_cores)
{
    for (unsigned i = 0; i < p->n_workers; i++) {
        drove_plan_worker *w = &p->worker[i];
        if (w->device != NULL)
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "--replay: expected ranks without devices, found %s", w->name);
        if (w->n_cores == n_cores) continue;
        free(w->core);
        w->core = NULL;
        DROVE_TRY(give_cores(w, n_cores));
    }
    p->host = DROVE_HOST_THREADS;
    p->n_ranks = 1;
    p->first_here = 0;
    p->n_here = p->n_workers;
    return DROVE_OK;
}

void drove__plan_fini(drove_plan *p)
{
    free_workers(p);
    drove__partition_fini(&p->partition);
    drove__workers_fini(&p->list);
}

void drove__plan_places(const drove_plan *p, drove_place *place)
{
    for (unsigned i = 0; i < p->n_workers; i++) place[i] = p->worker[i].core[0];
}
