/* run/workers.h - what --workers says: groups of cores and devices that a coordinator gives
 * batches to.
 */
#ifndef DROVE_RUN_WORKERS_H
#define DROVE_RUN_WORKERS_H

#include "base/spec.h"
#include "base/topo.h"

#include <stdbool.h>

enum { DROVE_MOST_GROUPS = 256, DROVE_GROUP_NAME_SIZE = 64 };

typedef struct drove_group_plan {
    char       name[DROVE_GROUP_NAME_SIZE]; /* as typed, without its keys: "cpu:0-1", "opencl:0" */
    drove_spec spec;                        /* of a device, to open it by */
    bool       is_device;
    bool       one_gradient; /* cores: one gradient by all threads; else each steps for itself */
    unsigned   n_threads;    /* 1 for a device */
    int       *pu;           /* [n_threads] processors; -1: wherever the system likes */
    /* examples of a batch, of cores for each thread; 0: not said */
    uint64_t batch, least, most;
    double   timeout_s; /* 0: none */
} drove_group_plan;

typedef struct drove_crew_plan {
    unsigned          n_groups, n_threads; /* threads of all groups; 0 groups: no coordinator */
    drove_group_plan *group;               /* [n_groups] */
} drove_crew_plan;

/* text: "cpu:0-1+opencl:0?max=4096+fake:?speed=250".  "": one group of n_threads unbound threads.
 * Processors are numbered as the operating system does; topo says which there are; NULL: not
 * checked, and "all" are n_threads.  may_repeat: a device may stand several times.
 * Errors: DROVE_E_ARG (unknown kind or key, a processor that does not exist or stands twice, a
 * device that stands twice, min above max), DROVE_E_UNSUPPORTED, DROVE_E_NOMEM. */
drove_status drove__crew_plan_parse(const char *text, const drove_topo *topo, unsigned n_threads,
                                    bool may_repeat, drove_crew_plan *out);
void         drove__crew_plan_fini(drove_crew_plan *plan); /* a zeroed one is accepted */

#endif
