/* data/shard.h - divides the rows of a training set among several workers.
 *
 * Rows are taken n at a time, in the order of the file; each of the n parts gets one of them, by a
 * rotation drawn from the seed and the group.  So a part is random even if the file is sorted by
 * class, all parts have the same size, the remainder belongs to none, and a reader finds its rows
 * in the order of the file without knowing their number.
 */
#ifndef DROVE_DATA_SHARD_H
#define DROVE_DATA_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_shard {
    uint64_t n, index; /* part index of n; n 0 or 1: all rows */
    uint64_t seed;
} drove_shard;

static inline bool drove__shard_is_part(const drove_shard *s)
{
    return s != NULL && s->n > 1;
}

/* Rows of a part of n_rows. */
static inline size_t drove__shard_size(const drove_shard *s, size_t n_rows)
{
    return drove__shard_is_part(s) ? n_rows / s->n : n_rows;
}

/* The i-th row of the part, as if the file were endless. */
uint64_t drove__shard_row(const drove_shard *s, uint64_t i);

/* Whether the row belongs to the part, if its group is complete. */
bool drove__shard_has(const drove_shard *s, uint64_t row);

#endif
