/* cluster/transport.h - how workers that share no parameters exchange vectors: one table for
 * threads of a process, processes of a machine and ranks of a cluster.
 *
 * Source: You, Buluc, Demmel, SC17, sections 5 and 6 (tree reduction, packed messages, parameter
 * server).  Symbols: P workers, n floats of a vector.
 *
 * An exchange gives the same bits on every transport, whatever the timing and the placement of
 * workers: sums add in the fixed tree of cluster/tree.h.
 *
 *   shared   threads of one process, or processes that share memory       (shared.c)
 *   mpi      ranks that send messages            (messages.c over a module, wire.h)
 *
 * Collective exchanges (ALL_REDUCE, REDUCE, BROADCAST, BARRIER) are started by all workers that
 * have not left, in the same order, with the same kind, n and channel.  A SEND meets the RECEIVE of
 * its peer with the same channel, in order.  An RPC goes to the centre.
 *
 * start and finish are separate calls.  Between them `in` must not be written and `out` not
 * touched.  A worker may have one exchange under way in each channel.  finish of a SEND waits until
 * the peer has received; to avoid the wait, call it later.  A transport with in_background moves
 * messages between start and finish.
 *
 * Thread rules: start, test and finish by the thread of `worker`; stop by any thread; gather by the
 * controlling thread of the process, workers parked; host before the first exchange.
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
    DROVE_CHANNELS = 8,        /* exchanges under way per worker */
    DROVE_EXCHANGE_NUMBERS = 4 /* scalars sent with an RPC */
};

typedef enum drove_exchange_kind {
    DROVE_ALL_REDUCE, /* out[n] of every worker = sum of all in[n] */
    DROVE_REDUCE,     /* out[n] of `peer` only; others may pass NULL */
    DROVE_BROADCAST,  /* out[n] of every worker = in[n] of `peer`; others may pass in = NULL */
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
    /* ALL_REDUCE in fewer bits: the codec of this worker, in use until finish.  NULL: floats. */
    drove_codec *codec;
    /* RPC: a request to stop that it carries is wished here (halt_wished), not seen (halt_seen). */
    bool halts_later;
} drove_exchange;

typedef struct drove_exchange_info { /* finish adds to it */
    uint64_t wait_ns;                /* in start and finish: waiting for workers or messages */
    uint64_t work_ns;                /* in start and finish: copying and adding */
    uint64_t centre_ns;              /* part of work_ns: at the centre */
    uint64_t transit_ns;             /* from start to the last arrival; 0 without messages */
    uint64_t bytes;                  /* sent by this worker's process */
    uint64_t messages;
    unsigned n_present;                      /* collective: workers that took part */
    float    number[DROVE_EXCHANGE_NUMBERS]; /* RPC: of the reply */
} drove_exchange_info;

/* The centre of the asynchronous methods: a vector that workers reach by RPC.  It lies in the
 * shared memory, or in the process of rank 0. */
typedef struct drove_centre {
    float *vector; /* [n_vector]; NULL in processes that do not hold it */
    /* Serves one RPC: message[n] is the `in` of the caller and becomes its `out`; number likewise.
     * Runs on any thread of the holder.  is_exclusive: one RPC at a time, in order of arrival; else
     * several at once (Hogwild; races R1, R2 of docs/inside/memory-model.md). */
    void (*serve)(void *context, unsigned worker, float *message, size_t n, float *number);
    void *context;
    bool  is_exclusive;
} drove_centre;

typedef struct drove_transport drove_transport;

typedef struct drove_transport_ops {
    const char *name, *help, *source; /* "threads", "procs", "mpi" */
    drove_status (*start)(drove_transport *t, unsigned worker, const drove_exchange *x);
    /* True: finish of this channel will not wait. */
    bool (*test)(drove_transport *t, unsigned worker, unsigned channel);
    /* info: added to; may be NULL.  Errors: DROVE_E_SYSTEM: stopped, or a worker was silent for
     * t->timeout_s; the text names it. */
    drove_status (*finish)(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info);
    /* All waiting and later exchanges fail. */
    void (*stop)(drove_transport *t);
    /* The worker is lost.  goes_on: later collective exchanges go on without it (an exchange that
     * it had started keeps its part); else they fail.  An exchange with it alone fails. */
    void (*leave)(drove_transport *t, unsigned worker, bool goes_on);
    bool (*has_left)(const drove_transport *t, unsigned worker); /* NULL: workers never leave */
    /* Sets up the centre, here or elsewhere.  Copies *centre; borrows its context. */
    drove_status (*host)(drove_transport *t, const drove_centre *centre, size_t n);
    /* all[n_processes][each_bytes] = mine of every process. */
    drove_status (*gather)(drove_transport *t, const void *mine, size_t each_bytes, void *all);
    void (*destroy)(drove_transport *t);
} drove_transport_ops;

struct drove_transport {
    const drove_transport_ops *ops;
    unsigned                   n_workers; /* of all processes */
    unsigned n_processes, process; /* that share no memory: ranks; 1 and 0 for threads and procs */
    unsigned first_worker, n_here; /* workers whose memory this process reaches */
    const drovek_table *kernels;
    double              timeout_s;     /* 60 */
    bool                in_background; /* started exchanges advance while workers compute */
    /* A request to stop (signal, clock).  Any thread of any process sets halt_wished; every
     * exchange carries it, so halt_seen is set for all workers after the same collective exchange,
     * and for the caller of an RPC.  SEND and RECEIVE only carry it. */
    _Atomic int halt_wished, halt_seen;
    void       *impl;
};

/* Is this worker in this process? */
static inline bool drove__transport_is_here(const drove_transport *t, unsigned worker)
{
    return worker - t->first_worker < t->n_here;
}

/* start, then finish. */
drove_status drove__exchange(drove_transport *t, unsigned worker, const drove_exchange *x,
                             drove_exchange_info *info);

/* For lists. */
extern const drove_transport_ops drove__transport_threads, drove__transport_procs;

/* Workers 0 .. n_workers - 1 that reach each other's memory: threads of this process or, if
 * is_procs, processes forked later (all state is from drove__alloc; a killed worker leaves nothing
 * that blocks others).  `in` and `out` of every exchange and the centre must be from drove__alloc,
 * or otherwise lie at the same address for all workers: any worker may write a sum to the `out` of
 * all.  place[n_workers] may be NULL.  n_most: floats of the longest exchange.
 * Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (more than 4096 workers). */
drove_status drove__transport_shared(unsigned n_workers, bool is_procs, size_t n_most,
                                     const drovek_table *kernels, const drove_topo *topo,
                                     const drove_place *place, drove_transport **out);

#endif
