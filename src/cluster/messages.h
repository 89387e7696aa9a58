/* cluster/messages.h - a transport over messages between processes: one worker to a process.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 2005 (recursive halving and doubling); You, Buluc,
 * Demmel, SC17, sections 5 and 6.  P ranks, worker index = rank.
 *
 * A progress thread, one thread to a process, moves what was started while the worker computes; who waits
 * in finish moves it himself meanwhile, and the progress thread rests.  At the process that holds the
 * centre further threads carry out RPCs.
 */
#ifndef DROVE_CLUSTER_MESSAGES_H
#define DROVE_CLUSTER_MESSAGES_H

#include "cluster/transport.h"
#include "cluster/wire.h"

enum { DROVE_MESSAGES_PIECE = 8 << 20 };

typedef struct drove_messages_options {
    double timeout_s; /* > 0 */
    /* False: no thread is made; exchanges advance in start, test and finish alone, and RPCs while
     * rank 0 is in one of them (simulators, MPI libraries without threads). */
    bool has_progress_thread;
    /* ALL_REDUCE of floats by the library's own, in finish: in its order of additions, whose bits
     * depend on library and placement; nothing is overlapped. */
    bool by_library;
    /* Longest message of contents; 0: DROVE_MESSAGES_PIECE.  A multiple of 4. */
    size_t piece_bytes;
    bool   ends_wire; /* destroy calls fini of the wire, unless something went wrong */
} drove_messages_options;

extern const drove_transport_ops drove__transport_mpi_ops; /* for lists */

/* Over w, which is borrowed until destroy; the caller ends it, unless ends_wire.  All ranks call
 * it.  Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM (no thread; the wire). */
drove_status drove__transport_messages(drove_wire *w, const drovek_table *kernels,
                                       const drove_messages_options *opt, drove_transport **out);

/* Room for exchanges of up to n floats in channels 0 .. n_channels - 1, so that none of them allocates;
 * otherwise the first longer one in its channel does.  Errors: DROVE_E_NOMEM. */
drove_status drove__messages_reserve(drove_transport *t, size_t n, unsigned n_channels);

/* From the next all-reduce on; all ranks alike, between exchanges.
 * Errors: DROVE_E_UNSUPPORTED (the wire has none). */
drove_status drove__messages_library_reduce(drove_transport *t, bool is_on);

/* The wire under a transport of this kind; NULL under another. */
const drove_wire *drove__transport_wire(const drove_transport *t);

#endif
