/* values/ranks_source.c - what a source may know of the workers of other ranks.  See ranks.h. */
#include "values/ranks.h"

#include <stdlib.h>
#include <string.h>

typedef struct described { /* one worker */
    char name[DROVE_RANKS_NAME_SIZE];
    uint32_t is_device, n_cores;
    uint64_t batch, least, most, measured_least, measured_most;
} described;

drove_status drove__ranks_describe(const drove_config *config, const drove_workers *workers,
                                   drove_source_worker *worker, char (*name)[DROVE_RANKS_NAME_SIZE])
{
    const drove_plan *p = &workers->plan;
    drove_transport *t = workers->transport;
    if (workers->ranks.n <= 1) return DROVE_OK;
    described *all = calloc(workers->ranks.n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("workers of ranks", workers->ranks.n * sizeof *all);
    /* A rank is one worker; one that was not listed has the name of its rank. */
    const unsigned rank = workers->ranks.rank;
    const drove_source_worker *own = &worker[p->first_here];
    described mine;
    memset(&mine, 0, sizeof mine);
    if (config->machine.workers == NULL) snprintf(mine.name, sizeof mine.name, "rank:%u", rank);
    else snprintf(mine.name, sizeof mine.name, "rank:%u %.48s", rank, own->name);
    mine.is_device = own->is_device;
    mine.n_cores = own->n_cores;
    mine.batch = own->batch;
    mine.least = own->least;
    mine.most = own->most;
    mine.measured_least = own->measured_least;
    mine.measured_most = own->measured_most;
    drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    for (unsigned i = 0; i < workers->ranks.n && status == DROVE_OK; i++) {
        const described *d = &all[i];
        drove_source_worker *w = &worker[i];
        memcpy(name[i], d->name, sizeof d->name);
        name[i][DROVE_RANKS_NAME_SIZE - 1] = '\0';
        w->name = name[i];
        w->is_device = d->is_device != 0;
        w->n_cores = d->n_cores > 0 ? d->n_cores : 1;
        w->batch = d->batch;
        w->least = d->least;
        w->most = d->most;
        w->measured_least = d->measured_least;
        w->measured_most = d->measured_most;
    }
    free(all);
    return status;
}
