/* cluster/shared_state.h - what the files of the transport `shared` know of each other.
 *
 *   shared.c         creation, the table's slots, messages from worker to worker
 *   shared_wait.c    waiting, waking, what went wrong
 *   shared_chunks.c  collective exchanges, chunk by chunk
 *   shared_rpc.c   the centre's door
 *
 * There is no lock.  Every word that others read has one writer at a time, and what a killed worker
 * leaves behind can be told from these words alone, whatever it was doing: docs/memory-model.md,
 * A13.
 */
#ifndef DROVE_CLUSTER_SHARED_STATE_H
#define DROVE_CLUSTER_SHARED_STATE_H

#include "base/mem.h"
#include "cluster/transport.h"
#include "cluster/tree.h"

enum {
    DROVE_SHARED_CHUNK = 8 * DROVE_TREE_BLOCK, /* floats that are claimed at once */
    DROVE_SHARED_MOST_WORKERS = 4096
};
#define DROVE_NOBODY UINT32_MAX
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be one process's own");

/* What a worker brought to a collective exchange. */
typedef struct drove_shared_posting {
    drove_exchange x;
    bool           wishes_halt;
} drove_shared_posting;

typedef struct drove_shared_channel { /* of one worker, written by it alone but for n_taken */
    _Atomic uint64_t n_posted DROVE_ALIGNED_CACHE_LINE; /* collective exchanges it has come to */
    _Atomic uint64_t          offer;     /* message it has for another: its number << 16 | whom */
    _Atomic uint64_t          n_taken;   /* messages that were taken, written by the receiver */
    drove_shared_posting      posted[2]; /* by the parity of n_posted: who is late may still read */
    drove_exchange            mine;      /* as given to start; read by the receiver of a message */
    drove_exchange_info       took;      /* by start */
    bool                      is_open;   /* between start and finish */
} drove_shared_channel;

typedef struct drove_shared_worker {
    _Atomic uint32_t event DROVE_ALIGNED_CACHE_LINE; /* where it parks: grows with every wake-up */
    _Atomic uint32_t       sleeps;
    _Atomic uint64_t       came_ns; /* to the centre's door, and has not left it; 0: is not there */
    _Atomic bool           has_left;
    float                 *spare, *stage; /* of drove__tree_add; [DROVE_TREE_BLOCK] */
    const float          **source;        /* [n_workers] terms of a block's sum */
    const void           **code;          /* [n_workers] the same, as codes */
    float                **to;            /* [n_workers] where it is copied to */
    drove_shared_channel   channel[DROVE_CHANNELS];
} drove_shared_worker;

typedef struct drove_shared {
    drove_transport      t; /* first: what others see */
    bool                 is_between;
    size_t               n_most, n_chunks;   /* of an exchange of n_most floats */
    drove_shared_worker *worker;             /* [n_workers] */
    _Atomic uint64_t *chunk[DROVE_CHANNELS]; /* [n_chunks] whose it is, how far: shared_chunks.c */
    float            *minus_zero;            /* [DROVE_TREE_BLOCK] of -0 */
    drove_centre      centre;
    size_t            n_centre;
    _Atomic uint64_t  failure;                        /* 0: none; shared_wait.c */
    _Atomic uint32_t inside DROVE_ALIGNED_CACHE_LINE; /* 1 + worker at the centre; 0: nobody */
} drove_shared;

/* ---- waiting ---- */

/* Whom this worker waits for in this channel; DROVE_NOBODY: it need not wait. */
typedef uint32_t drove_shared_waits_fn(const drove_shared *s, unsigned worker, unsigned channel);

/* Until waits_for says NOBODY.  Adds the time to *wait_ns.
 * Errors: DROVE_E_SYSTEM: stopped, somebody was lost, or one was waited for longer than timeout_s.
 * */
drove_status drove__shared_await(drove_shared *s, unsigned worker, unsigned channel,
                                 drove_shared_waits_fn *waits_for, uint64_t *wait_ns);

void drove__shared_wake(drove_shared *s, unsigned worker);
void drove__shared_wake_all(drove_shared *s);

/* The first is kept. */
typedef enum drove_shared_failure {
    DROVE_SHARED_STOPPED = 1,
    DROVE_SHARED_LOST, /* and the others may not go on */
    DROVE_SHARED_LATE
} drove_shared_failure;

void drove__shared_fail(drove_shared *s, drove_shared_failure why, unsigned worker);

/* DROVE_OK, or the error of the failure that was told. */
drove_status drove__shared_check(const drove_shared *s, unsigned worker, const drove_exchange *x);

const char *drove__shared_kind_name(drove_exchange_kind kind);

/* ---- collective exchanges ---- */

void         drove__shared_post(drove_shared *s, unsigned worker, const drove_exchange *x);
bool         drove__shared_have_come(const drove_shared *s, unsigned worker, unsigned channel);
drove_status drove__shared_collect(drove_shared *s, unsigned worker, unsigned channel,
                                   drove_exchange_info *info);

/* Finishes the chunks that a worker had in hand when it was lost. */
void drove__shared_inherit(drove_shared *s, unsigned lost);

/* ---- the centre ---- */

drove_status drove__shared_rpc(drove_shared *s, unsigned worker, unsigned channel);
void         drove__shared_release_centre(drove_shared *s, unsigned lost);

#endif
