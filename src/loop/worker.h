/* loop/worker.h - a worker from its setup to its end, on its own thread. */
#ifndef DROVE_LOOP_WORKER_H
#define DROVE_LOOP_WORKER_H

#include "loop/host.h"

/* By the controlling thread, before the hosts start: memory that others read too, the device.
 * Errors: those of drove__device_open, DROVE_E_NOMEM. */
drove_status drove__worker_init(drove_worker *w, drove_loop *loop, unsigned index);
void         drove__worker_fini(drove_worker *w);
/* Largest batch of one call of its engine: what the source gives out, or an evaluation's chunk. */
size_t drove__worker_most_rows(const drove_worker *w);
/* Its gradient and own state; by its thread, or, for processes, before they are forked.  The
 * strategy is there.  Errors: DROVE_E_NOMEM. */
drove_status drove__worker_alloc(drove_worker *w);
/* By the worker's thread: its place, its engine.  Errors: those of the engine. */
drove_status drove__worker_setup(drove_worker *w);
/* The same on a thread that stays as and where it is. */
drove_status drove__worker_make(drove_worker *w);
void         drove__worker_leave(drove_worker *w); /* unmakes what setup made */
/* Carries out a command; false: the worker is to end. */
bool drove__worker_obey(drove_worker *w, drove_command command);

#endif
