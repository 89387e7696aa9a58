/* sync/leashed.h - what the tests may see of the pool of Leashed-SGD. */
#ifndef DROVE_SYNC_LEASHED_H
#define DROVE_SYNC_LEASHED_H

#include "strategy/strategy.h"

typedef struct drove_leashed_pool {
    unsigned n_slots;     /* 3 n_workers + 1, fixed */
    unsigned n_in_use;    /* current, or claimed to be written; 1 between steps */
    unsigned n_read;      /* slots with readers */
    uint64_t most_passes; /* longest search for a free slot so far, in passes over the pool; >= 1 */
    uint64_t tag;         /* of the current vector: number of updates it holds */
} drove_leashed_pool;

/* s is of drove__sync_leashed.  Exact while the workers are parked, a snapshot without order
 * otherwise (most_passes is read only then). */
void drove__leashed_pool(const drove_sync *s, drove_leashed_pool *out);

#endif
