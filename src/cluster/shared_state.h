/* cluster/shared_state.h - internals of the transport in shared memory.
 *
 *   shared.c         creation, the slots of the table, messages between two workers
 *   shared_wait.c    waiting, waking, failures
 *   shared_chunks.c  collective exchanges, chunk by chunk
 *   shared_rpc.c     RPCs to the centre
 *
 * There is no lock.  Every shared word has one writer at a time.  From these words alone others see
 * what a killed worker was doing: docs/inside/memory-model.md, A13.
 */
#ifndef DROVE_CLUSTER_SHARED_STATE_H
#define DROVE_CLUSTER_SHARED_STATE_H

#include "base/mem.h"
#include "cluster/transport.h"
#include "cluster/tree.h"

enum {
    DROVE_SHARED_CHUNK = 8 * DROVE_TREE_BLOCK, /* floats claimed at once */
    DROVE_SHARED_MOST_WORKERS = 4096
};
#define DROVE_NOBODY UINT32_MAX
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be one process's own");

/* What a worker posts for a collective exchange. */
typedef struct drove_shared_posting {
    drove_exchange x;
    bool           wishes_halt;
} drove_shared_posting;

typedef struct drove_shared_channel { /* of one worker, its only writer except of n_taken */
    _Atomic uint64_t n_posted DROVE_ALIGNED_CACHE_LINE; /* collective exchanges posted */
    _Atomic uint64_t          offer;   /* message for another worker: number << 16 | receiver */
    _Atomic uint64_t          n_taken; /* messages received; written by the receiver */
    drove_shared_posting posted[2];    /* by the parity of n_posted: a late worker may still read */
    drove_exchange       mine;         /* as given to start; the receiver reads it */
    drove_exchange_info  took;         /* by start */
    bool                 is_open;      /* between start and finish */
} drove_shared_channel;

typedef struct drove_shared_worker {
    _Atomic uint32_t event DROVE_ALIGNED_CACHE_LINE; /* futex to sleep on; each wake-up adds 1 */
    _Atomic uint32_t       sleeps;
    _Atomic uint64_t     queued_ns; /* since when it waits for the centre or holds it; 0: neither */
    _Atomic bool         has_left;
    float               *spare, *stage; /* for drove__tree_add; [DROVE_TREE_BLOCK] */
    const float        **source;        /* [n_workers] terms of a block's sum */
    const void         **code;          /* [n_workers] the same, as codes */
    float              **to;            /* [n_workers] targets of a block's sum */
    drove_shared_channel channel[DROVE_CHANNELS];
} drove_shared_worker;

typedef struct drove_shared {
    drove_transport      t; /* first member */
    bool                 is_between;
    size_t               n_most, n_chunks;      /* longest exchange: floats, chunks */
    drove_shared_worker *worker;                /* [n_workers] */
    _Atomic uint64_t    *chunk[DROVE_CHANNELS]; /* [n_chunks] owner and phase: shared_chunks.c */
    float               *minus_zero;            /* [DROVE_TREE_BLOCK] of -0 */
    drove_centre         centre;
    size_t               n_centre;
    _Atomic uint64_t     failure; /* 0: none; shared_wait.c */
    _Atomic uint32_t holder
        DROVE_ALIGNED_CACHE_LINE; /* 1 + worker that holds the centre; 0: free */
} drove_shared;

/* ---- waiting ---- */

/* The worker that this one waits for; DROVE_NOBODY: none. */
typedef uint32_t drove_shared_waits_fn(const drove_shared *s, unsigned worker, unsigned channel);

/* Waits until waits_for returns NOBODY; adds the time to *wait_ns.
 * Errors: DROVE_E_SYSTEM: stopped, a worker was lost, or one was silent for timeout_s. */
drove_status drove__shared_await(drove_shared *s, unsigned worker, unsigned channel,
                                 drove_shared_waits_fn *waits_for, uint64_t *wait_ns);

void drove__shared_wake(drove_shared *s, unsigned worker);
void drove__shared_wake_all(drove_shared *s);

/* The first failure is kept. */
typedef enum drove_shared_failure {
    DROVE_SHARED_STOPPED = 1,
    DROVE_SHARED_LOST, /* others may not go on */
    DROVE_SHARED_LATE
} drove_shared_failure;

void drove__shared_fail(drove_shared *s, drove_shared_failure why, unsigned worker);

/* DROVE_OK, or the failure as an error of x. */
drove_status drove__shared_check(const drove_shared *s, unsigned worker, const drove_exchange *x);

const char *drove__shared_kind_name(drove_exchange_kind kind);

/* ---- collective exchanges ---- */

void         drove__shared_post(drove_shared *s, unsigned worker, const drove_exchange *x);
bool         drove__shared_have_come(const drove_shared *s, unsigned worker, unsigned channel);
drove_status drove__shared_collect(drove_shared *s, unsigned worker, unsigned channel,
                                   drove_exchange_info *info);

/* Finishes the chunks that a lost worker had claimed. */
void drove__shared_inherit(drove_shared *s, unsigned lost);

/* ---- the centre ---- */

drove_status drove__shared_rpc(drove_shared *s, unsigned worker, unsigned channel);
void         drove__shared_release_centre(drove_shared *s, unsigned lost);

#endif
