/* loop/modelled.h - steps of low-precision parameters on a virtual clock.
 *
 * Their engines make a gradient and its step in one go, straight into the shared words.  Here a
 * worker does so on a copy of them, as they are when its gradient begins; what the step has changed
 * is added to the shared words when it has cost its time, exactly, in their own numbers and with
 * their saturation.  So steps are stale as those of other cores are.  One that meets another's in
 * the middle does not exist: additions are made at one moment, and none is lost.  State of the rule
 * that the workers share changes when the gradient begins.
 *
 * Threads: the worker's, an actor (base/virtual.h); init and fini: the caller's, workers parked.
 */
#ifndef DROVE_LOOP_MODELLED_H
#define DROVE_LOOP_MODELLED_H

#include "loop/loop.h"

/* Errors: DROVE_E_NOMEM. */
drove_status drove__modelled_init(drove_worker *w);
void         drove__modelled_fini(drove_worker *w); /* also without init */
/* The worker's copy of the words, to step on; valid until end. */
drove_params drove__modelled_begin(drove_worker *w, const drove_params *shared);
/* Steps on n_rows examples were made: spends what they cost, and adds them to the shared words.
 * Returns the ns of the gradient, and adds to *n_clamped. */
uint64_t drove__modelled_end(drove_worker *w, const drove_params *shared, size_t n_rows,
                             uint64_t *n_clamped);

#endif
