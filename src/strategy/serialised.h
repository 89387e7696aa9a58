/* strategy/serialised.h - a strategy with numbered races (DROVE_SYNC_RACY) without them, so that a
 * run can be recorded and repeated (trace/recording.h).
 *
 * Copies of the shared parameters, publications and steps in place are made one at a time, under
 * one lock, and are numbered in its order.  Gradients are computed beside each other as ever, and
 * are as stale.  Float steps that would go into the parameters while they are computed are
 * published whole instead; low-precision steps hold the lock for the call.
 */
#ifndef DROVE_STRATEGY_SERIALISED_H
#define DROVE_STRATEGY_SERIALISED_H

#include "strategy/strategy.h"

/* Gives s a table like its own, with ORDERED and without RACY and LIVE; its fini frees what this
 * makes.  Before any worker uses s; if workers are processes, while memory is shared (base/mem.h).
 * is_typed: s has a layout.  Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__sync_serialise(drove_sync *s, bool is_typed);

#endif
