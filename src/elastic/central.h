/* elastic/central.h - one centre that workers reach by RPC: shared by the asynchronous methods, the
 * parameter server and the round robin.
 *
 * The centre is a vector in shared memory, or in the process of rank 0.  An RPC carries a vector
 * and numbers there and back.  drove_centre.serve (cluster/transport.h) handles it, on a thread
 * that the transport chooses.
 *
 * Numbers of an RPC: 0: alpha, or the step size; 1: steps that it brings; 3: index of the part.  Of
 * the reply: 0, 1: updates in the centre before it.
 *
 * An update is a step of one worker.  `known` of a worker is the number of updates in the centre
 * after its last exchange.  Staleness of a step that exchanges = updates by others since then.
 */
#ifndef DROVE_ELASTIC_CENTRAL_H
#define DROVE_ELASTIC_CENTRAL_H

#include "elastic/common.h"

typedef struct drove_central {
    drove_elastic e;
    drove_sync   *sync;
    float        *centre; /* [n_vector]; in other processes: as of the last parking */
    bool          is_held, is_early;
    bool          halts_later; /* a wish to halt that an RPC carries is not followed at once */
    /* [n_workers], of the holder: number of the update that an RPC makes; updates in the centre at
     * the worker's last exchange. */
    uint64_t                  *update, *known;
    uint64_t                   n_parked; /* updates of all processes at the last parking */
    _Atomic uint64_t n_updates DROVE_ALIGNED_CACHE_LINE; /* in the centre */
} drove_central;

enum { DROVE_CENTRAL_LEAST = 16 }; /* floats that an RPC may always carry */

typedef void drove_serve_fn(void *context, unsigned worker, float *message, size_t n,
                            float *number);

/* s->impl is a drove_central, zeroed; the caller frees it.  RPCs are served one at a time unless
 * the row is RACY.  Errors as drove__elastic_init. */
drove_status drove__central_init(drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start,
                                 drove_serve_fn *serve);
void         drove__central_fini(drove_sync *s);

/* For serve functions: the part that a message is for, and the numbers of the reply; NULL: no such
 * part.  *before: updates before this one. */
const drove_span *drove__central_receive(drove_central *v, unsigned worker, size_t n, float *number,
                                         uint64_t *before);
/* Serves elastic RPCs: message W^i becomes c; c += alpha (W^i - c). */
void drove__central_elastic(void *context, unsigned worker, float *message, size_t n,
                            float *number);

/* Counts one step. */
void drove__central_count(drove_sync *s);

drove_status drove__central_acquire(drove_sync *s, unsigned worker, drove_view *view);
drove_status drove__central_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                    drove_publish_info *info);
void         drove__central_stop(drove_sync *s);
void         drove__central_leave(drove_sync *s, unsigned worker);
float       *drove__central_replica(drove_sync *s, unsigned worker);
drove_status drove__central_parked(drove_sync *s);
drove_params drove__central_peek(drove_sync *s);
drove_status drove__central_restore(drove_sync *s, const drove_params *vector,
                                    const drove_safetensors *st);
size_t       drove__central_tensors(drove_sync *s, drove_tensor *out, size_t most);

extern const drove_sync_replica_ops drove__central_replicas;

/* Slots of all methods with a centre. */
#define DROVE_CENTRAL                                                                              \
    .peek = drove__central_peek, .restore = drove__central_restore, .batches = "rounds",           \
    .tensors = drove__central_tensors, .stop = drove__central_stop

#endif
