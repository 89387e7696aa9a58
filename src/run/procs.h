/* run/procs.h - workers that are processes (--workers procs:N): forked from the caller's when all
 * that they share is there, and watched, so that one that crashes, is killed or hangs takes nobody
 * with it.
 *
 * What is shared lies in memory that was asked for while memory was shared (base/mem.h): the run,
 * its workers, the batcher, the strategy, what workers write for the parent.  All else is as it
 * was at the fork, and each process's own from then on: the engine is made by the child.
 *
 * Every function but drove__procs_start's children: on the caller's thread.
 */
#ifndef DROVE_RUN_PROCS_H
#define DROVE_RUN_PROCS_H

#include "run/run.h"

/* Can this run's workers be processes?  Errors: DROVE_E_ARG (the strategy, devices), DROVE_E_SYSTEM
 * (threads that a fork would lose). */
drove_status drove__procs_check(const drove_run *run);

/* The memory in which parent and children speak; while memory is shared.  Errors: DROVE_E_NOMEM. */
drove_status drove__procs_create(drove_run *run);
/* Forks them, and waits until each has made its engine.  Errors: DROVE_E_SYSTEM, theirs. */
drove_status drove__procs_start(drove_run *run);

/* What drove__gang_go and the others (run/run.h) are for processes. */
void         drove__procs_go(drove_run *run, drove_command command);
bool         drove__procs_wait(drove_run *run, uint64_t until_ns);
drove_status drove__procs_status(const drove_run *run);
void         drove__procs_stop(drove_run *run);
void         drove__procs_destroy(drove_run *run);

/* Processes that are at work. */
unsigned drove__procs_n_left(const drove_run *run);
/* The first of them; 0 where workers are threads.  By any worker, too. */
unsigned drove__procs_first(const drove_run *run);
/* For the summary. */
int drove__procs_id(const drove_run *run, unsigned worker);
/* Why it is lost; NULL: it is not. */
const char *drove__procs_lost(const drove_run *run, unsigned worker);

#endif
