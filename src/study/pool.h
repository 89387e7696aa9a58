/* study/pool.h - child processes, so many at a time, until there are no more or a signal comes.
 *
 * One thread.
 */
#ifndef DROVE_STUDY_POOL_H
#define DROVE_STUDY_POOL_H

#include "study/child.h"

#include <stddef.h>

typedef struct drove_pool_ops {
    /* Starts the next job as *child.  *is_begun false: there is none, now and later. */
    drove_status (*begin)(void *context, drove_child *child, size_t *job, bool *is_begun);
    /* It has ended; not called for children that the pool itself stops. */
    drove_status (*ended)(void *context, size_t job, const drove_child *child);
    /* Whether the children are to be stopped, and no other begun. */
    bool (*is_stopped)(void *context);
    void (*watch)(void *context); /* some hundred times a second; NULL: nothing */
} drove_pool_ops;

/* Runs all jobs, n_at_once at a time (at least 1).  On return no child runs.  Errors: those of the
 * functions, DROVE_E_NOMEM. */
drove_status drove__pool_run(const drove_pool_ops *ops, void *context, size_t n_at_once);

#endif
