/* strategy/shared.h - how several workers step in place on one vector without any protection: what
 * hogwild, hogbatch and a node's replica have in common. */
#ifndef DROVE_STRATEGY_SHARED_H
#define DROVE_STRATEGY_SHARED_H

#include "strategy/strategy.h"

/* Applies a step to vector[n_vector] in place, race R2.  The `part`-th of n_parts workers begins a
 * dense step at its own part of the vector, and every second one goes backwards (on a virtual clock
 * none): workers that publish at the same moment would otherwise walk the same cache lines side by
 * side, take each from the other at every element, end together and so meet again at the next step.
 * Two that come from opposite ends meet at one place and part. */
void drove__sync_apply_from(const drove_sync *s, const drove_step *step, unsigned part,
                            unsigned n_parts, uint64_t staleness, uint64_t t, float *vector);

/* The same, and copies each piece of the vector to copy[n_vector] behind its store (race R3), while
 * its lines are this core's alone.  Reading them later would leave them with two cores, and on some
 * processors a line that two have read takes several times as long to be written again as one that
 * goes from writer to writer.  False: nothing was copied, as the step is sparse or time virtual. */
bool drove__sync_apply_and_copy(const drove_sync *s, const drove_step *step, unsigned part,
                                unsigned n_parts, uint64_t staleness, uint64_t t, float *vector,
                                float *copy);

/* Copies a vector[n_vector] that others are changing, or into one: race R3 or R2. */
void drove__sync_copy_from(const drove_sync *s, const float *from, float *to);

#endif
