/* elastic/visits.h - a centre that workers visit one by one: what the asynchronous methods, the
 * parameter server and the round robin share.
 *
 * The centre is a vector in memory that all reach, or in the process of rank 0.  A visit brings a
 * vector and numbers to it, and takes a vector and numbers back; what it does there is `visit` of
 * drove_centre (cluster/transport.h), on whatever thread the transport has it done.
 *
 * Numbers of a visit:    to the centre 0: alpha, or the step size; 1: steps that it brings;
 *                        3: which part.  Back: 0, 1: updates in the centre before it.
 *
 * Updates are steps of single workers.  `known` of a worker is what was in the centre when it last
 * met it, itself included; staleness of a step that exchanges = updates that others have brought
 * since then.
 */
#ifndef DROVE_ELASTIC_VISITS_H
#define DROVE_ELASTIC_VISITS_H

#include "elastic/common.h"

typedef struct drove_visits {
    drove_elastic e;
    drove_sync   *sync;
    float *centre; /* [n_vector]; in a process that does not hold it: as of the last parking */
    bool   is_held, is_early;
    /* [n_workers], the centre's: number of the update that a visit makes; updates that were in the
     * centre when the worker last saw it. */
    uint64_t *turn, *known;
    uint64_t  n_parked; /* updates of all processes when the workers were last parked */
    _Atomic uint64_t n_updates DROVE_ALIGNED_CACHE_LINE; /* in the centre */
} drove_visits;

typedef void drove_visit_fn(void *context, unsigned worker, float *message, size_t n,
                            float *number);

/* s->impl is a drove_visits, zeroed, and stays the caller's to free; errors as
 * drove__elastic_init. */
drove_status drove__visits_init(drove_sync *s, const drove_sync_options *opt,
                                const drove_elastic_kind *kind, const drove_params *start,
                                drove_visit_fn *visit, bool is_exclusive);
void         drove__visits_fini(drove_sync *s);

/* For visit functions: which part a message is, and the numbers; NULL: no such part. *before:
 * updates before this one. */
const drove_span *drove__visits_receive(drove_visits *v, unsigned worker, size_t n, float *number,
                                        uint64_t *before);
/* Elastic: message W^i becomes c; c += alpha (W^i - c). */
void drove__visits_elastic(void *context, unsigned worker, float *message, size_t n, float *number);

/* One step more in the parameters. */
void drove__visits_count(drove_sync *s);

drove_status drove__visits_acquire(drove_sync *s, unsigned worker, drove_view *view);
drove_status drove__visits_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                   drove_publish_info *info);
void         drove__visits_stop(drove_sync *s);
void         drove__visits_leave(drove_sync *s, unsigned worker);
float       *drove__visits_replica(drove_sync *s, unsigned worker);
drove_status drove__visits_parked(drove_sync *s);
drove_params drove__visits_peek(drove_sync *s);
drove_status drove__visits_restore(drove_sync *s, const drove_params *vector,
                                   const drove_safetensors *st);
size_t       drove__visits_tensors(drove_sync *s, drove_tensor *out, size_t most);

/* Without init, fini, acquire and publish. */
/* The slots of all who visit a centre; of those, the ones in no order share more. */
#define DROVE_VISITS_SLOTS                                                                         \
    .batches = "rounds", .release = drove__elastic_release, .peek = drove__visits_peek,            \
    .restore = drove__visits_restore, .tensors = drove__visits_tensors,                            \
    .stop = drove__visits_stop, .replica = drove__visits_replica, .parked = drove__visits_parked
#define DROVE_VISITS_ASYNC_SLOTS                                                                   \
    DROVE_VISITS_SLOTS, .fini = drove__visits_fini, .acquire = drove__visits_acquire,              \
                        .leave = drove__visits_leave

#endif
