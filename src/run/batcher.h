/* run/batcher.h - who gets which examples next.
 *
 * Batches are numbered from 0 through the whole run; batch k belongs to epoch k / per_epoch.
 * Workers serve themselves: either the next number (dynamic), or, for strategies that go in
 * rounds, worker w of T takes k = round T + w. The order of an epoch is a keyed permutation, so a
 * batch's rows follow from its number alone and a resumed run needs nothing but the counter.
 *
 * Threads: claim and rows by any worker; the rest while the workers are parked, except halt, by
 * any thread, and leave, by the caller's.  Workers may be processes (base/mem.h).
 */
#ifndef DROVE_RUN_BATCHER_H
#define DROVE_RUN_BATCHER_H

#include "base/lock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/status.h"
#include "data/shard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef enum drove_order {
    DROVE_ORDER_SHUFFLE, /* each example once an epoch */
    DROVE_ORDER_RANDOM,  /* with replacement */
    DROVE_ORDER_BLOCKS   /* batches of neighbours, each once an epoch, a short one last */
} drove_order;

typedef struct drove_batcher {
    /* examples, examples a batch, batches an epoch (the last may be short) */
    uint64_t    n_rows, batch, per_epoch;
    uint64_t    seed;
    drove_order order;
    /* --shard own: parts of the examples, one for each worker, else 0; examples of each; does a row
     * number an example of the worker's part, instead of one of all? */
    unsigned              n_shards;
    uint64_t              shard_rows;
    bool                  holds_shard;
    unsigned              round_width; /* T for strategies that go in rounds, else 0 */
    unsigned              n_lost;      /* workers that claim nothing any more */
    pthread_mutex_t       lock;        /* protects rounds_started and, for rounds, limit */
    uint64_t              first_round, rounds_started; /* since the last open */
    _Atomic uint64_t next DROVE_ALIGNED_CACHE_LINE;    /* batches claimed */
    _Atomic uint64_t      limit;                       /* no batch at or above it is handed out */
} drove_batcher;

/* What one worker remembers between two claims; its thread only. */
typedef struct drove_batch_cursor {
    drove_permutation permutation;
    uint64_t          epoch; /* of the permutation; ~0 = none yet */
    uint64_t          round;
} drove_batch_cursor;

drove_status drove__batcher_init(drove_batcher *b, uint64_t n_rows, uint64_t batch, uint64_t seed,
                                 drove_order order, unsigned round_width);
void         drove__batcher_fini(drove_batcher *b);

/* Before the first open, for workers that go in rounds: each of n_shards workers takes batches of a
 * random part of its own (data/shard.h).  holds_shard: rows are numbered within the part. */
void drove__batcher_split(drove_batcher *b, unsigned n_shards, bool holds_shard);

/* Batches from `next` on may be handed out, below `limit` (rounded up to whole rounds). */
void drove__batcher_open(drove_batcher *b, uint64_t limit);
/* No further batch is handed out; a round that somebody has begun is finished by all. */
void drove__batcher_halt(drove_batcher *b);
/* A worker will never claim again. */
void drove__batcher_leave(drove_batcher *b);
/* The workers are parked: what a lost one should have claimed in the rounds that are over counts as
 * handed out, though nobody has computed it. */
void drove__batcher_settle(drove_batcher *b);
void drove__cursor_init(drove_batch_cursor *cursor, const drove_batcher *b);

/* Takes the next batch for `worker`; false: none until the next open. */
bool drove__batcher_claim(drove_batcher *b, drove_batch_cursor *cursor, unsigned worker,
                          uint64_t *number);
/* Rows of batch `number` into row[batch]; returns how many. */
size_t drove__batcher_rows(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t number,
                           uint32_t *row);
/* Rows of the examples at positions first .. first + n - 1 of the run's order, which do not cross
 * the end of an epoch, into row[n]; for batches of one example. */
void drove__batcher_span(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t first,
                         size_t n, uint32_t *row);
/* Examples in all batches below `number`, and the same in epochs. */
uint64_t drove__batcher_examples(const drove_batcher *b, uint64_t number);
double   drove__batcher_epochs(const drove_batcher *b, uint64_t number);

#endif
