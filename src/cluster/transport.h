/* cluster/transport.h - how workers that share no parameters exchange vectors: one table for
 * threads of a process, processes of a machine and ranks of a cluster.
 *
 * Source: You, Buluc, Demmel, SC17, sections 5 and 6 (tree reduction, packed messages, parameter
 * server).  Symbols: P workers, n floats of a vector.
 *
 * The same exchange gives the same bits on every transport, whatever the timing and whatever the
 * placement of workers: a sum adds in the fixed tree of drove__reduce_tree (cluster/tree.h).
 *
 *   shared   one address space, or memory shared by processes of this machine  (shared.c)
 *   mpi      ranks that send messages (messages.c over a module, wire.h)
 *
 * Two kinds of exchange.  Collective ones (ALL_REDUCE, REDUCE, BROADCAST, BARRIER): all workers
 * that have not left start them in the same order with the same kind, n and channel.  Others: SEND
 * meets the RECEIVE of its peer with the same channel, in order; RPC goes to the centre.
 *
 * Every exchange is started and finished apart.  Between the two `in` is not written and `out` not
 * touched.  A worker may have several under way, each in a channel of its own; those of one go
 * one after the other.  finish of a SEND waits until its peer has received: who must not wait there
 * finishes it later.  Where messages travel they do so in the background (facts.in_background).
 *
 * Thread rules: start, test and finish by the thread of `worker`; stop by any thread; gather by the
 * process's controlling thread, workers parked; host before the first exchange.
 */
#ifndef DROVE_CLUSTER_TRANSPORT_H
#define DROVE_CLUSTER_TRANSPORT_H

#include "base/status.h"
#include "base/topo.h"
#include "kernel/kernel.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DROVE_CHANNELS = 8,        /* exchanges that a worker may have under way */
    DROVE_EXCHANGE_NUMBERS = 4 /* scalars that travel with an RPC */
};

typedef enum drove_exchange_kind {
    DROVE_ALL_REDUCE, /* out[n] of every worker = sum of all in[n] */
    DROVE_REDUCE,     /* the same at `peer` alone; elsewhere out is not touched and may be NULL */
    DROVE_BROADCAST,  /* out[n] of every worker = in[n] of `peer`; elsewhere in may be NULL */
    DROVE_BARRIER,
    DROVE_SEND,    /* in[n] to `peer`; n may be 0 */
    DROVE_RECEIVE, /* out[n] from `peer` */
    DROVE_RPC      /* in[n] and number to the centre, out[n] and number from it */
} drove_exchange_kind;

typedef struct drove_codec drove_codec; /* cluster/codec.h */

typedef struct drove_exchange {
    drove_exchange_kind kind;
    unsigned            channel; /* < DROVE_CHANNELS */
    unsigned            peer;    /* root, receiver or sender */
    const float        *in;      /* [n]; may be out */
    float              *out;     /* [n] */
    size_t              n;
    float               number[DROVE_EXCHANGE_NUMBERS]; /* RPC: to the centre */
    /* ALL_REDUCE: values travel in fewer bits, with what was lost kept for the next time.  This
     * worker's own, in use until finish; NULL: as they are. */
    drove_codec *codec;
} drove_exchange;

typedef struct drove_exchange_info { /* of one exchange; finish adds to it */
    uint64_t wait_ns;                /* in start and finish, for others or for messages */
    uint64_t work_ns;                /* in start and finish, copying and adding */
    uint64_t centre_ns;              /* of work_ns: at the centre */
    uint64_t transit_ns;             /* from start to the arrival of all; 0 where nothing travels */
    uint64_t bytes;                  /* sent by this worker's process for it */
    uint64_t messages;
    unsigned n_present; /* collective: workers that took part: terms of the sum */
    float    number[DROVE_EXCHANGE_NUMBERS]; /* RPC: the reply's */
} drove_exchange_info;

/* The centre of the asynchronous methods: a vector that workers RPC.  It lies in the memory that
 * all share, or in the process of rank 0. */
typedef struct drove_centre {
    float *vector; /* [n_vector]; NULL in processes that do not hold it */
    /* Carries out an RPC: message[n] is the caller's `in` and becomes its `out`; number likewise.
     * On any thread of the holder; exclusive: one RPC at a time, in the order of arrival, else
     * several at once (Hogwild; races R1, R2 of docs/memory-model.md). */
    void (*serve)(void *context, unsigned worker, float *message, size_t n, float *number);
    void *context;
    bool  is_exclusive;
} drove_centre;

typedef struct drove_transport drove_transport;

typedef struct drove_transport_ops {
    const char *name, *help, *source; /* "threads", "procs", "mpi" */
    drove_status (*start)(drove_transport *t, unsigned worker, const drove_exchange *x);
    /* True: finish of this channel will not wait for others. */
    bool (*test)(drove_transport *t, unsigned worker, unsigned channel);
    /* Errors: DROVE_E_SYSTEM: stopped, or nothing was heard of somebody for t->timeout_s: who,
     * where. info: NULL, or is added to. */
    drove_status (*finish)(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info);
    /* Every exchange that waits, and all later ones, fail. */
    void (*stop)(drove_transport *t);
    /* The worker is lost and runs no more: collective exchanges go on without it where `goes_on`
     * (one that it had started still has its part), else fail, as all that needs it does. */
    void (*leave)(drove_transport *t, unsigned worker, bool goes_on);
    bool (*has_left)(const drove_transport *t, unsigned worker); /* NULL: none ever has */
    /* Makes room for a centre, in this process or elsewhere; copies *centre, context borrowed. */
    drove_status (*host)(drove_transport *t, const drove_centre *centre, size_t n);
    /* all[n_processes][each_bytes] = mine of every process, in their order. */
    drove_status (*gather)(drove_transport *t, const void *mine, size_t each_bytes, void *all);
    void (*destroy)(drove_transport *t);
} drove_transport_ops;

struct drove_transport {
    const drove_transport_ops *ops;
    unsigned                   n_workers; /* of all processes */
    unsigned                   n_processes,
        process; /* whose memories are apart: ranks; 1 and 0 for threads and procs */
    unsigned            first_worker, n_here; /* whose memory this process reaches */
    const drovek_table *kernels;
    double              timeout_s;     /* 60 */
    bool                in_background; /* a started exchange advances while its worker computes */
    /* Somebody wishes that all stop (signal, clock): set by any thread of any process; carried by
     * every exchange, so that after the same collective exchange all have seen it. */
    _Atomic int halt_wished, halt_seen;
    void       *impl;
};

/* Is this worker's memory in this process? */
static inline bool drove__transport_is_here(const drove_transport *t, unsigned worker)
{
    return worker - t->first_worker < t->n_here;
}

/* start and finish at once. */
drove_status drove__exchange(drove_transport *t, unsigned worker, const drove_exchange *x,
                             drove_exchange_info *info);

/* For lists; the transports are made by the functions below. */
extern const drove_transport_ops drove__transport_threads, drove__transport_procs;

/* Workers 0 .. n_workers - 1 in memory that all of them reach: threads of this process or, where
 * is_procs, processes that are forked later (all of its state is from drove__alloc, nothing that a
 * killed worker leaves behind blocks others).  `in` and `out` of every exchange, and the centre,
 * must then lie in memory that all workers reach at one address, as that of drove__alloc does: a
 * sum is written to the `out` of all workers by whichever of them has time.  place[n_workers] may
 * be NULL.  n_most: floats of the longest exchange.
 * Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (more workers than 4096). */
drove_status drove__transport_shared(unsigned n_workers, bool is_procs, size_t n_most,
                                     const drovek_table *kernels, const drove_topo *topo,
                                     const drove_place *place, drove_transport **out);

#endif
