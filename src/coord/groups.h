/* coord/groups.h - the workers that a coordinator gives batches to: sizes, saved state, facts.
 * Shared by its two sources, assigned.c and requested.c, whose first member it is.
 *
 * Source: Ma and Rusu, section 6.  What the paper calls a worker is a group here: a device, or
 * cores whose threads share the group's assignments, a part for each; over ranks a rank.
 *
 * Threads: the controlling thread, workers parked, unless a comment says otherwise.
 */
#ifndef DROVE_COORD_GROUPS_H
#define DROVE_COORD_GROUPS_H

#include "coord/method.h"
#include "strategy/source.h"
#include "trace/timeline.h"

typedef struct drove_group {
    char           name[64];
    unsigned       n_workers, n_cores; /* cores of each worker */
    bool           is_device;
    double         timeout_s;
    uint64_t       batch, least, most; /* to begin with */
    drove_timeline busy;               /* in training time; the source's to fill */
    const char    *lost;               /* why; NULL: it is not */
} drove_group;

typedef struct drove_groups {
    drove_method        method;
    uint64_t            batch, n_rows; /* --batch; examples of an epoch */
    unsigned            n;
    drove_group        *of;     /* [n] */
    drove_coord        *coord;  /* the source says whose it is while workers run */
    drove_coord_action *action; /* [drove__coord_most_actions] */
    double             *saved;  /* [n][2] for tensors */
} drove_groups;

typedef struct drove_groups_options {
    const drove_source_options *source;
    bool     is_apart; /* each worker is a group, whatever its `group` says: ranks */
    unsigned depth;    /* assignments in hand at once; 1 with update=coordinator */
    bool     has_timeouts;
} drove_groups_options;

/* Errors: DROVE_E_ARG, DROVE_E_NOMEM.  After a failure call fini. */
drove_status drove__groups_init(drove_groups *g, const drove_groups_options *opt);
void         drove__groups_fini(drove_groups *g);

/* The slot of both rows. */
bool drove__groups_want_probe(const drove_spec *spec, const drove_source_worker *worker);

/* What the step size of a part of n_rows is multiplied by; any thread. */
static inline double drove__groups_lr_factor(const drove_groups *g, uint64_t n_rows)
{
    return drove__method_lr_factor(&g->method, (size_t)n_rows, (size_t)g->batch);
}

/* "groups" and "undone"; restore: of a run that goes on at position `next`.  !is_same: that run had
 * other groups, and all begin with their own sizes.  Errors: DROVE_E_DATA, DROVE_E_NOMEM. */
size_t       drove__groups_tensors(drove_groups *g, drove_tensor *out, size_t most);
drove_status drove__groups_restore(drove_groups *g, const drove_safetensors *st, uint64_t next,
                                   bool is_same);

#endif
