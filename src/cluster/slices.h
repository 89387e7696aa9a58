/* cluster/slices.h - sums of a gradient between processes that share no memory, while backward goes
 * on.
 *
 * Source: Li et al., "PyTorch Distributed", VLDB 2020, section 3.2.3 (buckets).
 *
 * Each process adds the gradients of its own devices slice by slice.  Complete slices are joined or
 * split into buckets, and each bucket is an all-reduce of its own, so it has the bits of one
 * all-reduce of the whole.  All processes exchange in the same order, from the last bucket to the
 * first, which is about the order in which backward makes them; a few are under way at once, each
 * in a channel of the transport.
 *
 * Threads: one of its own, started by the first offer (so by a process that was forked meanwhile),
 * makes all calls of the transport.  offer: by any, not two at once; wait: by one; stop: by any.
 */
#ifndef DROVE_CLUSTER_SLICES_H
#define DROVE_CLUSTER_SLICES_H

#include "cluster/transport.h"
#include "kernel/span.h"

enum {
    /* A bucket has at most an eighth of the gradient ... */
    DROVE_SLICES_SHARE = 8,
    DROVE_SLICES_MOST = 1 << 20, /* ... and so many floats: 4 MB ... */
    DROVE_SLICES_LEAST = 1 << 14 /* ... unless that is less than these, which the latency of an
                                    exchange costs anyway */
};

typedef struct drove_slice_exchange_options {
    drove_transport    *transport;     /* borrowed */
    unsigned            worker;        /* as which of its workers */
    unsigned            n_all;         /* workers of all processes ... */
    unsigned            first, n_here; /* ... of which these are in this one; 0: no step sizes */
    const drove_span   *part;          /* [n_parts]; borrowed; ascending, without gaps */
    size_t              n_parts;
    const drovek_table *kernels;
    /* The slice is the mean of all workers now, where it was offered; the last of an iteration:
     * *eta is the mean step size, else NULL.  part n_parts: it has failed, and drove__slices_status
     * says why.  By the exchange's own thread.  NULL: not wanted. */
    void (*done)(void *context, size_t part, const float *eta);
    void *context;
} drove_slice_exchange_options;

typedef struct drove_slice_exchange drove_slice_exchange;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__slices_create(const drove_slice_exchange_options *opt,
                                  drove_slice_exchange              **out);
void         drove__slices_destroy(drove_slice_exchange *x); /* NULL accepted */

/* The sum of this process's gradients at value[part] is complete and is not touched until `done` or
 * the end of `wait`.  value: of all n; with eta[n_here], step sizes, the same for all slices of an
 * iteration.
 * Errors: DROVE_E_SYSTEM (no thread). */
drove_status drove__slices_offer(drove_slice_exchange *x, size_t part, float *value,
                                 const float *eta);
/* Until the means of all slices of an iteration are there.  To be called once for each iteration,
 * or never.  info: its exchanges are added; *begun_ns, *done_ns: when the first began, and the last
 * was done.
 * Errors: DROVE_E_SYSTEM: stopped, or those of the transport. */
drove_status drove__slices_wait(drove_slice_exchange *x, drove_exchange_info *info,
                                uint64_t *begun_ns, uint64_t *done_ns);
/* The thread ends; what is under way is ended by the transport's stop. */
void drove__slices_stop(drove_slice_exchange *x);
/* DROVE_OK, or why it has failed, as the calling thread's error. */
drove_status drove__slices_status(drove_slice_exchange *x);

#endif
