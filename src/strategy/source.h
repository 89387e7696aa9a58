/* strategy/source.h - which batch is next: the table that every source of batches fills.
 *
 * A strategy's row names its source.  The loop asks it for one task after the other; what a task's
 * examples are follows from its numbers alone (loop/order.h).  A source is one file in loop/ or in
 * its method's folder, and one line in config/registry.c.
 *
 *   claimed   workers take the next number                                  loop/claimed.c
 *   rounds    worker w of T takes batch round T + w                         loop/rounds.c
 *   assigned  a coordinator gives out ranges of examples                    coord/assigned.c
 *   requested the same over ranks: workers ask the coordinator at rank 0    coord/requested.c
 *
 * Thread rules: next, accepts and done by worker `worker` on its own thread; serve on a thread of
 * its own, while workers run; halt by any thread; leave by the controlling thread; everything else
 * by the controlling thread, workers parked.
 */
#ifndef DROVE_STRATEGY_SOURCE_H
#define DROVE_STRATEGY_SOURCE_H

#include "base/clock.h"
#include "base/safetensors.h"
#include "base/spec.h"
#include "base/status.h"
#include "strategy/strategy.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Largest batches of a device, and of each core, that a source that counts rows gives out unless
 * --workers asks for larger ones: Ma and Rusu, Table 2. */
enum { DROVE_MOST_DEVICE_BATCH = 8192, DROVE_MOST_CORE_BATCH = 64 };

typedef struct drove_task {
    uint64_t number;    /* of the batch in its run: the key of its random numbers */
    uint64_t first;     /* counts_rows: position of its first example in the run's order ... */
    uint64_t n_rows;    /* ... and examples; 0: the whole batch `number` */
    double   lr_factor; /* what the schedule's step size is multiplied by */
    uint64_t id;        /* the source's own */
} drove_task;

typedef struct drove_source_worker { /* what a source may know of a worker */
    const char *name;                /* "opencl:0" */
    unsigned    group;               /* workers of one group take parts of the same assignment */
    bool        is_device;
    unsigned    n_cores;         /* that compute one gradient together; 1: it steps for itself */
    uint64_t batch, least, most; /* examples of a batch, of a group for each worker; 0: not given */
    uint64_t measured_least, measured_most; /* by a probe (wants_probe); 0: not measured */
    double   timeout_s;                     /* 0: none */
    const char *lost;                       /* why it is lost already; NULL: it is not */
} drove_source_worker;

typedef struct drove_source_options { /* all borrowed until fini */
    const drove_spec          *spec;  /* the strategy's */
    const drove_clock         *clock;
    unsigned                   n_workers, n_groups;
    const drove_source_worker *worker;    /* [n_workers] */
    uint64_t                   n_rows;    /* examples of an epoch */
    uint64_t                   batch;     /* --batch */
    uint64_t                   per_epoch; /* batches of an epoch */
    drove_sync                *sync;
    bool                       is_elsewhere; /* over ranks: this is not rank 0 */
    bool     is_windowed;  /* examples come from disk, one window after the other */
    uint64_t most_claimed; /* batches that a worker may take at once; 0: one */
    /* By the source's thread: worker `worker` has been silent for too long, and will never be
     * waited for again. */
    void (*silence)(void *context, unsigned worker);
    /* By the controlling thread: one line for people. */
    void (*say)(void *context, const char *line);
    void *context; /* of both */
} drove_source_options;

typedef struct drove_source drove_source;

/* Over ranks of a job. */
typedef struct drove_source_rank_ops {
    /* Name of the row that takes this one's place; NULL: this one. */
    const char *instead;
    /* When all are parked: the first number that this worker, which is here, has not begun; and
     * what another rank has said of its worker, before s->next becomes the largest.  NULL, both:
     * s->next. */
    uint64_t (*begun)(const drove_source *s, unsigned worker);
    void (*hear)(drove_source *s, unsigned worker, uint64_t begun);
} drove_source_rank_ops;

/* A coordinator, which gives out batches in a thread of its own and gives others those of a worker
 * that is lost (coord/). */
typedef struct drove_source_coordinator_ops {
    /* The thread, from open until nothing is out.  NULL: there is none. */
    void (*serve)(drove_source *s);
    /* Workers that compute on devices are measured before init (loop/probe.c)? */
    bool (*wants_probe)(const drove_spec *spec, const drove_source_worker *worker);
    /* Begins the publication of a task's step; false: the task was given to another worker, and the
     * step is dropped.  Paired with done.  NULL: always true. */
    bool (*accepts)(drove_source *s, unsigned worker);
    /* Publishes by the coordinator's thread (s->sync), and counts as done.  NULL, or not wanted by
     * the spec (s->publishes false): the worker publishes. */
    drove_status (*publish)(drove_source *s, unsigned worker, const drove_task *task,
                            const drove_step *step, drove_publish_info *info);
    /* By the worker's thread: it cannot go on, for the reason in the error text.  True: others get
     * its tasks; false: the run cannot go on.  NULL: false. */
    bool (*failed)(drove_source *s, unsigned worker);
    /* By the controlling thread, now and then while workers run: says which workers were lost.
     * Errors: DROVE_E_SYSTEM: nobody is left to give batches to.  NULL: never. */
    drove_status (*check)(drove_source *s);
} drove_source_coordinator_ops;

typedef struct drove_source_ops {
    const char *name, *help, *source;
    /* Is the unit of numbers and limits an example (assigned, requested), or a batch? */
    bool counts_rows;
    /* Errors: DROVE_E_ARG, DROVE_E_NOMEM.  On failure the caller calls fini, which accepts what was
     * left behind. */
    drove_status (*init)(drove_source *s, const drove_source_options *opt);
    void (*fini)(drove_source *s);
    /* Numbers from s->next on may be given out, below limit, and none once so many updates are
     * published (UINT64_MAX: no limit). */
    void (*open)(drove_source *s, uint64_t limit, uint64_t most_updates);
    /* Nothing more is begun, but what others rely on is completed. */
    void (*halt)(drove_source *s);
    /* The worker's next task; false: none until the next open or, where !waits, none now. */
    bool (*next)(drove_source *s, unsigned worker, bool waits, drove_task *out);

    /* ---- optional ---- */
    /* A task that the worker has taken already, in one go with the one that it is about to carry
     * out; it may carry out both in one lending of the parameters (drove_sync_live_ops).  NULL:
     * there is never one. */
    bool (*more)(drove_source *s, unsigned worker, drove_task *out);
    /* The task is carried out and its n_updates are published (0: they were not). */
    void (*done)(drove_source *s, unsigned worker, const drove_task *task, uint64_t n_updates);
    /* The worker is lost, for the reason in the error text, and takes no further task. */
    void (*leave)(drove_source *s, unsigned worker);
    /* After the workers were parked: s->next is where the next open goes on. */
    void (*settle)(drove_source *s);
    /* Below s->next and limit: was anything left undone that others will do, or a worker that is
     * behind?  NULL: never. */
    bool (*has_undone)(const drove_source *s, uint64_t limit);
    /* What a resume needs besides next: named tensors over memory that lives until the next call.
     * restore: before the first open, s->next is set; is_same: by the same workers as then, or
     * (not counts_rows) by as many, in batches of the same size.
     * Errors: DROVE_E_DATA, DROVE_E_NOMEM. */
    size_t (*tensors)(drove_source *s, drove_tensor *out, size_t most);
    drove_status (*restore)(drove_source *s, const drove_safetensors *st, bool is_same);
    const drove_source_rank_ops        *ranks;       /* NULL: numbers say all to all ranks */
    const drove_source_coordinator_ops *coordinator; /* NULL: workers help themselves */
} drove_source_ops;

struct drove_source {
    const drove_source_ops *ops;
    const drove_clock      *clock;
    unsigned                n_workers;
    unsigned                width;     /* numbers are given out in multiples of it; 0: singly */
    bool                    publishes; /* steps go through publish */
    uint64_t                train_ns;  /* training time at open, for records */
    uint64_t                open_ns;   /* clock at open: when the workers are woken */
    void (*silence)(void *context, unsigned worker);
    void (*say)(void *context, const char *line);
    void *context; /* of both: from the options */
    void *impl;
    /* Below it everything was given out, in batches or (counts_rows) examples. */
    _Atomic uint64_t next DROVE_ALIGNED_CACHE_LINE;
};

/* The optional slots of its coordinator, and of ranks. */
static inline bool drove__source_failed(drove_source *s, unsigned worker)
{
    const drove_source_coordinator_ops *c = s->ops->coordinator;
    return c != NULL && c->failed != NULL && c->failed(s, worker);
}
static inline drove_status drove__source_check(drove_source *s)
{
    const drove_source_coordinator_ops *c = s->ops->coordinator;
    return c != NULL && c->check != NULL ? c->check(s) : DROVE_OK;
}
static inline uint64_t drove__source_begun(const drove_source *s, unsigned worker)
{
    const drove_source_rank_ops *ranks = s->ops->ranks;
    return ranks != NULL && ranks->begun != NULL ? ranks->begun(s, worker) : atomic_load(&s->next);
}

#endif
