/* elastic/central.h - a centre that workers RPC one by one: what the asynchronous methods, the
 * parameter server and the round robin share.
 *
 * The centre is a vector in memory that all reach, or in the process of rank 0.  An RPC brings a
 * vector and numbers to it, and takes a vector and numbers back; what it does there is `RPC` of
 * drove_centre (cluster/transport.h), on whatever thread the transport has it done.
 *
 * Numbers of an RPC:    to the centre 0: alpha, or the step size; 1: steps that it brings;
 *                        3: which part.  Back: 0, 1: updates in the centre before it.
 *
 * Updates are steps of single workers.  `known` of a worker is what was in the centre when it last
 * met it, itself included; staleness of a step that exchanges = updates that others have brought
 * since then.
 */
#ifndef DROVE_ELASTIC_CENTRAL_H
#define DROVE_ELASTIC_CENTRAL_H

#include "elastic/common.h"

typedef struct drove_central {
    drove_elastic e;
    drove_sync   *sync;
    float *centre; /* [n_vector]; in a process that does not hold it: as of the last parking */
    bool   is_held, is_early;
    /* [n_workers], the centre's: number of the update that an RPC makes; updates that were in the
     * centre when the worker last saw it. */
    uint64_t *turn, *known;
    uint64_t  n_parked; /* updates of all processes when the workers were last parked */
    _Atomic uint64_t n_updates DROVE_ALIGNED_CACHE_LINE; /* in the centre */
} drove_central;

typedef void drove_serve_fn(void *context, unsigned worker, float *message, size_t n,
                            float *number);

/* s->impl is a drove_central, zeroed, and stays the caller's to free; errors as
 * drove__elastic_init. */
drove_status drove__central_init(drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start,
                                 drove_serve_fn *serve, bool is_exclusive);
void         drove__central_fini(drove_sync *s);

/* For RPC functions: which part a message is, and the numbers; NULL: no such part. *before:
 * updates before this one. */
const drove_span *drove__central_receive(drove_central *v, unsigned worker, size_t n, float *number,
                                         uint64_t *before);
/* Elastic: message W^i becomes c; c += alpha (W^i - c). */
void drove__central_elastic(void *context, unsigned worker, float *message, size_t n,
                            float *number);

/* One step more in the parameters. */
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

/* Without init, fini, acquire and publish. */
/* The slots of all who RPC a centre; of those, the ones in no order share more. */
#define DROVE_CENTRAL_SLOTS                                                                        \
    .batches = "rounds", .release = drove__elastic_release, .peek = drove__central_peek,           \
    .restore = drove__central_restore, .tensors = drove__central_tensors,                          \
    .stop = drove__central_stop, .replica = drove__central_replica,                                \
    .parked = drove__central_parked
#define DROVE_CENTRAL_ASYNC_SLOTS                                                                  \
    DROVE_CENTRAL_SLOTS, .fini = drove__central_fini, .acquire = drove__central_acquire,           \
                         .leave = drove__central_leave

#endif
