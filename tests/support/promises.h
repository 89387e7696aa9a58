/* tests/support/promises.h - one check for each promise of strategy/strategy.h.
 *
 * Each takes a row and the spec of one of its variants, and checks the promise if the variant makes
 * it.  Nothing here knows a strategy by name: for_each_variant hands all rows of the registry to
 * these checks, so a new row has them at once.
 */
#ifndef DROVE_TESTS_PROMISES_H
#define DROVE_TESTS_PROMISES_H

#include "support/strategies.h"

/* promise_bits.c: equal bits */

/* SEQUENTIAL, by every kind of rule. */
void promise_sequential(const drove_sync_ops *ops, const char *variant);
/* REPEATABLE: random delays of the workers change no bit. */
void promise_repeatable(const drove_sync_ops *ops, const char *variant);
/* Of every row: a run that is saved and restored goes on as one that was not; the same bits with
 * one worker, and with several where REPEATABLE. */
void promise_restored(const drove_sync_ops *ops, const char *variant);

/* promise_steps.c: eight workers at once, with steps of small integers */

/* NO_LOSS: all steps that were not dropped are in the parameters, each with the same weight. */
void promise_no_loss(const drove_sync_ops *ops, const char *variant);
/* SNAPSHOT: a view is whole, and stays as it is until it is given back. */
void promise_snapshot(const drove_sync_ops *ops, const char *variant);

/* promise_stopped.c: a worker that stops, in the middle of what it does */

/* LOCK_FREE: the others take all their steps. */
void promise_lock_free(const drove_sync_ops *ops, const char *variant);

#endif
