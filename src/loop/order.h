/* loop/order.h - which examples a batch has.
 *
 * Batches are numbered from 0 through the whole run; batch k belongs to epoch k / per_epoch.  The
 * order of an epoch is a keyed permutation, so a batch's examples follow from its number alone, and
 * a resumed run needs nothing but a counter.  Who takes which number is the source's part
 * (strategy/source.h).
 *
 * With batches of one example, a task may span several positions: first .. first + n_rows - 1.
 *
 * Threads: an order is read-only while workers run; a cursor belongs to one worker's thread.
 */
#ifndef DROVE_LOOP_ORDER_H
#define DROVE_LOOP_ORDER_H

#include "base/rng.h"
#include "base/status.h"
#include "data/shard.h"
#include "stream/windows.h"
#include "strategy/source.h"

typedef enum drove_order_kind {
    DROVE_ORDER_SHUFFLE, /* each example once an epoch */
    DROVE_ORDER_RANDOM,  /* with replacement */
    DROVE_ORDER_BLOCKS   /* batches of neighbours, each once an epoch, a short one last */
} drove_order_kind;

typedef struct drove_order {
    /* examples, examples of a batch, batches of an epoch (the last may be short) */
    uint64_t n_rows, batch, per_epoch;
    /* examples that an epoch takes its n_rows from: more only with drove__order_whole_rounds */
    uint64_t         n_there;
    uint64_t         seed;
    drove_order_kind kind;
    /* --shard own: one part of the examples for each worker, else 0; examples of each part; do row
     * numbers count the examples of the worker's own part, instead of all? */
    unsigned n_shards;
    uint64_t shard_rows;
    bool     holds_shard;
    /* of data that are read from disk: rows are those of its windows in memory; NULL: all data are
     * there */
    const drove_windows *windows;
} drove_order;

/* What one worker remembers between two batches. */
enum { DROVE_ORDER_AHEAD = 8 };

typedef struct drove_order_cursor {
    drove_permutation permutation;
    uint64_t          epoch; /* of the permutation, or the window; ~0: none yet */
    /* ahead[k]: where the permutation maps ahead_first + k, k < n_ahead */
    uint64_t ahead_first, n_ahead, ahead[DROVE_ORDER_AHEAD];
} drove_order_cursor;

drove_order drove__order_make(uint64_t n_rows, uint64_t batch, uint64_t seed,
                              drove_order_kind kind);
/* Epochs of whole rounds of n_workers whole batches: what is over at the end of an epoch's order,
 * less than a round, is left out of it.  There is at least one round. */
void drove__order_whole_rounds(drove_order *o, unsigned n_workers);
/* Batch k takes examples of part k mod n_shards, a random part (data/shard.h). */
void drove__order_split(drove_order *o, unsigned n_shards, bool holds_shard);

/* Rows of windows, in the order of windows; after begin of the stream that they belong to. */
void drove__order_read_windows(drove_order *o, const drove_windows *windows);

void drove__order_cursor_init(drove_order_cursor *cursor);
/* Rows of the task's examples into row[]; returns how many. */
size_t drove__order_rows(const drove_order *o, drove_order_cursor *cursor, const drove_task *task,
                         uint32_t *row);
/* The window of a batch. */
uint64_t drove__order_window(const drove_order *o, uint64_t number);
/* Examples in all batches below `number`, and the same in epochs. */
uint64_t drove__order_examples(const drove_order *o, uint64_t number);
double   drove__order_epochs(const drove_order *o, uint64_t number);

#endif
