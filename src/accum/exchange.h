/* accum/exchange.h - sums of slices between processes that share no memory, while backward goes on.
 *
 * Each process adds the gradients of its own devices slice by slice; a slice that is complete there
 * goes through the transport, where it is added to those of the other processes.  All processes
 * exchange in the same order, from the last slice to the first, which is about the order in which
 * backward makes them; a few are under way at once, each in a channel of the transport.
 *
 * Threads: one of its own, started by the first offer (so by a process that was forked meanwhile),
 * makes all calls of the transport.  offer: by any, not two at once; stop: by any.
 */
#ifndef DROVE_ACCUM_EXCHANGE_H
#define DROVE_ACCUM_EXCHANGE_H

#include "kernel/span.h"
#include "cluster/transport.h"

typedef struct drove_slice_exchange_options {
    drove_transport    *transport;     /* borrowed */
    unsigned            worker;        /* as which of its workers */
    unsigned            n_all;         /* workers of all processes ... */
    unsigned            first, n_here; /* ... of which these are in this one */
    const drove_span   *part;          /* [n_parts]; borrowed */
    size_t              n_parts;
    const drovek_table *kernels;
    /* The slice is the mean of all workers now, where it was offered; the last of an iteration:
     * *eta is the mean step size, else NULL.  part n_parts: it has failed, and drove__slices_status
     * says why.  By the exchange's own thread. */
    void (*done)(void *context, size_t part, const float *eta);
    void *context;
} drove_slice_exchange_options;

typedef struct drove_slice_exchange drove_slice_exchange;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__slices_create(const drove_slice_exchange_options *opt,
                                  drove_slice_exchange              **out);
void         drove__slices_destroy(drove_slice_exchange *x); /* NULL accepted */

/* The sum of this process's gradients at value[part] is complete and is not touched until `done`.
 * eta[n_here]: step sizes of the iteration, the same for all its slices.
 * Errors: DROVE_E_SYSTEM (no thread). */
drove_status drove__slices_offer(drove_slice_exchange *x, size_t part, float *value,
                                 const float *eta);
/* The thread ends; what is under way is ended by the transport's stop. */
void drove__slices_stop(drove_slice_exchange *x);
/* DROVE_OK, or why it has failed, as the calling thread's error. */
drove_status drove__slices_status(drove_slice_exchange *x);

#endif
