/* strategy/shared.c - a step in place on a vector that others are changing; see shared.h. */
#include "strategy/shared.h"

void drove__sync_apply_from(const drove_sync *s, const drove_step *step, unsigned part,
                            unsigned n_parts, uint64_t staleness, uint64_t t, float *vector)
{
    size_t n = s->optim->n, n_lines = n / 16; /* of 16 floats: a cache line */
    size_t first = step->span != NULL ? 0 : n_lines * part / n_parts * 16;
    drove__optim_apply(s->optim, step, staleness, t, first, n - first, vector, vector);
    if (first > 0) drove__optim_apply(s->optim, step, staleness, t, 0, first, vector, vector);
}
