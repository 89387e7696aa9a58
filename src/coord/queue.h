/* coord/queue.h - messages between threads: many producers, one consumer, bounded, in the order in
 * which they were put; who waits sleeps, and is woken without polling.
 *
 * A ring of cells with a sequence number each (after D. Vyukov's bounded queue): a producer takes a
 * cell by one compare-and-swap, a consumer by none.  Memory model: docs/inside/memory-model.md.
 */
#ifndef DROVE_COORD_QUEUE_H
#define DROVE_COORD_QUEUE_H

#include "base/clock.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_queue drove_queue;

/* capacity: at least so many messages fit (rounded up to a power of two); item_bytes: of one,
 * copied in and out.  Errors: DROVE_E_NOMEM. */
drove_status drove__queue_create(size_t capacity, size_t item_bytes, drove_queue **out);
/* Before anybody waits: the clock of until_ns below, by which the consumer sleeps.  Without it: the
 * real one. */
void drove__queue_use_clock(drove_queue *q, const drove_clock *clock);
void drove__queue_destroy(drove_queue *q); /* NULL accepted; nobody uses it any more */

/* By any thread.  try: false where the queue is full; put: sleeps until there is room. */
bool drove__queue_try_put(drove_queue *q, const void *item);
void drove__queue_put(drove_queue *q, const void *item);

/* By the consumer alone.  try: false where there is nothing; get: looks for a short while, then
 * sleeps until a message comes or until_ns (UINT64_MAX: for ever) is over;
 * false: over. */
bool drove__queue_try_get(drove_queue *q, void *item);
bool drove__queue_get(drove_queue *q, void *item, uint64_t until_ns);

#endif
