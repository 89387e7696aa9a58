/* cluster/messages.h - a transport over messages between processes: one worker to a process.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005 (recursive halving and doubling); You, Buluc,
 * Demmel, SC17, sections 5 and 6.  P ranks, worker index = rank.
 *
 * A progress thread advances started exchanges while the worker computes.  A worker that waits in
 * finish advances them itself, and the progress thread sleeps.  The process that holds the centre
 * has further threads, which serve RPCs.
 */
#ifndef DROVE_CLUSTER_MESSAGES_H
#define DROVE_CLUSTER_MESSAGES_H

#include "cluster/transport.h"
#include "cluster/wire.h"

enum { DROVE_MESSAGES_PIECE = 8 << 20 };

typedef struct drove_messages_options {
    double timeout_s; /* > 0 */
    /* False: no thread.  Exchanges advance in start, test and finish only, and RPCs while rank 0 is
     * in one of these (simulators, MPI libraries without threads). */
    bool has_progress_thread;
    /* ALL_REDUCE of floats by the library, in finish.  Bits depend on library and placement;
     * nothing overlaps. */
    bool by_library;
    /* Longest message; 0: DROVE_MESSAGES_PIECE.  A multiple of 4. */
    size_t piece_bytes;
    bool   ends_wire; /* destroy calls fini of the wire, except after a failure */
} drove_messages_options;

extern const drove_transport_ops drove__transport_mpi_ops; /* for lists */

/* All ranks call it.  w is borrowed until destroy.  Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM (no
 * thread; the wire), DROVE_E_UNSUPPORTED (too many ranks). */
drove_status drove__transport_messages(drove_wire *w, const drovek_table *kernels,
                                       const drove_messages_options *opt, drove_transport **out);

/* Allocates for exchanges of up to n floats in channels 0 .. n_channels - 1.  Without it the first
 * longer exchange of a channel allocates.  Errors: DROVE_E_NOMEM. */
drove_status drove__messages_reserve(drove_transport *t, size_t n, unsigned n_channels);

/* Turns the library's all-reduce on or off, at all ranks alike, between exchanges.
 * Errors: DROVE_E_UNSUPPORTED (the wire has none). */
drove_status drove__messages_library_reduce(drove_transport *t, bool is_on);

/* Stops exchanges at all ranks for a reason that is told already: those here fail with this text,
 * those of others with none.  From any thread. */
void drove__messages_end(drove_transport *t, const char *text);
/* Have they been stopped, and was that by another rank? */
bool drove__messages_are_stopped(const drove_transport *t, bool *by_other);

/* The wire of a transport over messages; NULL: another kind. */
const drove_wire *drove__transport_wire(const drove_transport *t);

#endif
