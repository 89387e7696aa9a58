/* data/shard.c - rotations that assign rows to parts. */
#include "data/shard.h"

#include "base/rng.h"

/* Position of part 0 in a group. */
static uint64_t rotation(const drove_shard *s, uint64_t group)
{
    drove_rng rng;
    drove__rng_seed(&rng, s->seed, DROVE_RNG_SHARD, group);
    return drove__rng_below(&rng, s->n);
}

uint64_t drove__shard_row(const drove_shard *s, uint64_t i)
{
    if (!drove__shard_is_part(s)) return i;
    return i * s->n + (s->index + rotation(s, i)) % s->n;
}

bool drove__shard_has(const drove_shard *s, uint64_t row)
{
    return !drove__shard_is_part(s) || drove__shard_row(s, row / s->n) == row;
}
