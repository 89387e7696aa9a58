/* loop/loader.h - batches that are loaded before they are wanted: gathered, widened, scaled, cut
 * and mirrored by threads of their own while the workers compute (double buffering).
 *
 * Each worker has a queue of two slots: the batch that it computes on, and the one that comes
 * next.  It asks for batches in the order in which it will take them; threads load what was asked
 * for, the oldest first.  A worker that comes for a batch that nobody has begun to load loads it
 * itself, so that too few threads, or none, cost time and nothing else.
 *
 * What a batch becomes depends on nothing but the batch (engine/gather.h), never on who loads it.
 *
 * Threads: docs/inside/memory-model.md, A12.  A queue's functions are called by its worker alone.
 */
#ifndef DROVE_LOOP_LOADER_H
#define DROVE_LOOP_LOADER_H

#include "base/clock.h"
#include "engine/engine.h"
#include "loop/order.h"
#include "stream/stream.h"

#include <stdbool.h>

typedef struct drove_loader drove_loader;

typedef struct drove_loader_options {
    const drove_data   *data; /* borrowed, as is the table: both outlive the loader */
    const drovek_table *kernels;
    size_t              max_rows; /* of a batch */
    unsigned            n_workers;
    unsigned            n_threads; /* 0: the workers load for themselves */
    const drove_clock  *clock;     /* borrowed */
    drove_stream       *stream;    /* that the data are windows of; NULL: they are in memory ... */
    const drove_order  *order;     /* ... and the windows of batches.  Borrowed */
} drove_loader_options;

typedef struct drove_load_times { /* of one batch */
    uint64_t begin_ns, end_ns;    /* loading, by the clock */
    uint64_t exposed_ns;          /* the worker waited for it, or did it itself */
} drove_load_times;

/* Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM (a thread cannot be started). */
drove_status drove__loader_create(const drove_loader_options *opt, drove_loader **out);
/* No worker is inside; NULL accepted. */
void drove__loader_destroy(drove_loader *loader);

/* By the worker's own thread, once, before all else: the memory of its queue, near it.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__loader_join(drove_loader *loader, unsigned worker);

/* Where the rows[max_rows] of one more batch may be written; NULL: the queue is full. */
uint32_t *drove__loader_rows(drove_loader *loader, unsigned worker);
/* The batch whose rows were written there is to be loaded. */
void drove__loader_ask(drove_loader *loader, unsigned worker, uint64_t number, size_t n_rows);
/* The oldest batch that was asked for, loaded; valid until drove__loader_done.  false: none was
 * asked for.  Waits for it, or loads it.  A batch that could not be loaded is *status, with its
 * text. */
bool drove__loader_take(drove_loader *loader, unsigned worker, drove_batch *out,
                        drove_load_times *times, drove_status *status);
/* The batch that was taken is not needed any more. */
void drove__loader_done(drove_loader *loader, unsigned worker);

/* Nanoseconds that loading has taken so far, by whatever thread, and those of them, or waiting for
 * them, that workers spent in drove__loader_take; returns the share that was hidden.  While the
 * workers are parked. */
double drove__loader_times(drove_loader *loader, uint64_t *busy_ns, uint64_t *exposed_ns);

#endif
