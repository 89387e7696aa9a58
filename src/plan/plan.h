/* plan/plan.h - where the workers of a run live, compute and keep their data: made once, from what
 * is wanted, the machine and the launcher, before anything else of the run.
 *
 * Afterwards nobody asks --threads, --workers, --partition or the launcher again: one entry a
 * worker says it all.  Workers of all ranks are counted; those of this process are first_here ..
 * first_here + n_here - 1.
 */
#ifndef DROVE_PLAN_PLAN_H
#define DROVE_PLAN_PLAN_H

#include "base/topo.h"
#include "plan/partition.h"
#include "plan/workers.h"
#include "strategy/source.h"
#include "strategy/strategy.h"

typedef enum drove_host_kind {                     /* what a worker is to the operating system */
                               DROVE_HOST_THREADS, /* a thread of this process */
                               DROVE_HOST_PROCS,   /* a process forked from this one */
                               DROVE_HOST_RANKS    /* threads of this process, one rank of a job */
} drove_host_kind;

typedef struct drove_plan_worker {
    char              name[DROVE_WORKER_NAME_SIZE]; /* "thread:0", "cpu:0-3", "opencl:0.1" */
    unsigned          group;                        /* of workers that may share assignments */
    const drove_spec *device;                       /* to open it by; NULL: it computes on cores */
    unsigned          n_cores;     /* that compute a batch together; 1 for a device */
    drove_place      *core;        /* [n_cores]; its own thread is on the first */
    bool              copies_data; /* trains on a copy of the data in memory of its own */
    uint64_t batch, least, most;   /* examples of a batch, per worker of a group; 0: not given */
    double   timeout_s;            /* 0: none */
} drove_plan_worker;

enum { DROVE_PARTITION_AUTO = DROVE_MOST_THREADS + 1 };

typedef struct drove_plan_wanted {
    const char *strategy;  /* spec; NULL: by workers and machine */
    const char *workers;   /* --workers; NULL: n_threads threads */
    const char *precision; /* "": floats */
    unsigned    n_threads; /* 0: all */
    unsigned    partition; /* groups of cores; 0: none; or DROVE_PARTITION_AUTO */
    drove_bind  bind;
    bool        owns_shard; /* each worker trains on a part of its own */
    bool        beside;     /* evaluated while the workers train */
} drove_plan_wanted;

typedef struct drove_machine {  /* where the run is */
    const drove_topo *topo;     /* NULL: not looked at; processors are not checked */
    unsigned          n_pus;    /* processors that this process may use */
    bool              is_bound; /* the launcher has given each rank processors of its own */
    unsigned          n_ranks, rank, n_local, local_rank; /* 1, 0, 1, 0: no job */
} drove_machine;

typedef struct drove_plan_tables { /* the registries; NULL-terminated */
    const drove_sync_ops *const   *strategies;
    const drove_source_ops *const *sources;
} drove_plan_tables;

typedef struct drove_plan {
    char                    spec[DROVE_TEXT_SIZE]; /* the strategy; never "auto" */
    const drove_sync_ops   *ops;    /* its row, or the one in its place over ranks ... */
    const drove_source_ops *source; /* ... and that of its batches */
    drove_bind              bind;
    drove_host_kind         host;
    unsigned                n_ranks;
    unsigned                n_asked; /* threads or processes asked for */
    unsigned                n_workers, n_groups, first_here, n_here;
    drove_plan_worker      *worker; /* [n_workers] */
    drove_partition         partition;
    drove_workers_list      list; /* backs the workers' device specs */
} drove_plan;

/* The strategy, the number of workers and their places; --partition auto counts as one group until
 * drove__plan_partition.  Errors: DROVE_E_ARG (what, why not), DROVE_E_NOMEM. */
drove_status drove__plan_make(const drove_plan_wanted *wanted, const drove_machine *machine,
                              const drove_plan_tables *tables, drove_plan *out);
/* The workers of processes or ranks as threads of this process, with n_cores each; placed anywhere
 * where they were elsewhere.  Errors: DROVE_E_UNSUPPORTED (devices), DROVE_E_NOMEM. */
drove_status drove__plan_gather(drove_plan *plan, unsigned n_cores);
/* --partition, once data and model are known: groups whose copies are of copy_bytes each.  Errors:
 * DROVE_E_ARG: the machine has no such groups; DROVE_E_NOMEM. */
drove_status drove__plan_partition(drove_plan *plan, unsigned partition,
                                   const drove_machine *machine, double copy_bytes);
void         drove__plan_fini(drove_plan *plan); /* a zeroed one is accepted */

/* Finds a strategy by the name in a spec.  Errors: DROVE_E_ARG with the nearest name. */
drove_status drove__plan_strategy(const drove_plan_tables *tables, const char *name,
                                  const drove_sync_ops **out);

/* place[n_workers] of the workers' own threads, for memory that lies near them. */
void drove__plan_places(const drove_plan *plan, drove_place *place);

static inline bool drove__plan_is_here(const drove_plan *plan, unsigned worker)
{
    return worker - plan->first_here < plan->n_here;
}

/* One of n_words words.  Errors: DROVE_E_ARG: "what: expected a, b or c, found ...", with the
 * nearest. */
drove_status drove__one_of(const char *what, const char *text, const char *const *words,
                           size_t n_words, unsigned *out);

#endif
