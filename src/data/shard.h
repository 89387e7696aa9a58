/* data/shard.h - the rows of a training set that belong to one of several workers.
 *
 * The rows are taken n at a time, in the order of the file; each of the n parts gets one of them,
 * by a rotation that the seed and the group draw.  So a part is a random one even of a file that
 * is sorted by class, all parts have the same size, whatever is left over belongs to none, and a
 * reader finds its rows in the order of the file without knowing how many there will be.
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

/* The i-th row of the part, of those that it would have of an endless file. */
uint64_t drove__shard_row(const drove_shard *s, uint64_t i);

/* Does the row belong to the part, if its group is whole? */
bool drove__shard_has(const drove_shard *s, uint64_t row);

#endif
