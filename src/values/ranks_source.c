/* values/ranks_source.c - what a source may know of the workers of other ranks.  See ranks.h. */
#include "values/ranks.h"

#include <stdlib.h>
#include <string.h>

typedef struct described { /* one worker */
    char name[DROVE_RANKS_NAME_SIZE];
    uint32_t is_device, n_cores;
    uint64_t batch, least, most, measured_least, measured_most;
} described;

/* A worker that was not listed has the name of its rank. */
static void name_worker(const drove_config *config, const drove_workers *workers,
                        const drove_source_worker *w, char *into)
{
    if (config->opt.workers[0] == '\0')
        snprintf(into, DROVE_RANKS_NAME_SIZE, "rank:%u", workers->ranks.rank);
    else snprintf(into, DROVE_RANKS_NAME_SIZE, "rank:%u %.48s", workers->ranks.rank, w->name);
}

static described describe(const drove_config *config, const drove_workers *workers,
                          const drove_source_worker *w)
{
    described d;
    memset(&d, 0, sizeof d);
    name_worker(config, workers, w, d.name);
    d.is_device = w->is_device;
    d.n_cores = w->n_cores;
    d.batch = w->batch;
    d.least = w->least;
    d.most = w->most;
    d.measured_least = w->measured_least;
    d.measured_most = w->measured_most;
    return d;
}

static void fill(drove_source_worker *w, const described *d, char name[DROVE_RANKS_NAME_SIZE])
{
    memcpy(name, d->name, DROVE_RANKS_NAME_SIZE);
    name[DROVE_RANKS_NAME_SIZE - 1] = '\0';
    w->name = name;
    w->is_device = d->is_device != 0;
    w->n_cores = d->n_cores > 0 ? d->n_cores : 1;
    w->batch = d->batch;
    w->least = d->least;
    w->most = d->most;
    w->measured_least = d->measured_least;
    w->measured_most = d->measured_most;
}

drove_status drove__ranks_describe(const drove_config *config, const drove_workers *workers,
                                   drove_source_worker *worker, char (*name)[DROVE_RANKS_NAME_SIZE])
{
    const drove_plan *p = &workers->plan;
    drove_transport *t = workers->transport;
    if (workers->ranks.n <= 1) return DROVE_OK;
    described *all = calloc(workers->ranks.n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("workers of ranks", workers->ranks.n * sizeof *all);
    const described mine =
        describe(config, workers, &worker[p->first_here]); /* a rank is one worker */
    drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    for (unsigned i = 0; i < workers->ranks.n && status == DROVE_OK; i++)
        fill(&worker[i], &all[i], name[i]);
    free(all);
    return status;
}
