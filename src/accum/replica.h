/* accum/replica.h - the parameters of each device, and their update by the mean gradient.
 *
 * A replica is a whole vector (theta and the rule's state) near its worker's memory; all are the
 * same, bit for bit, whenever no update is under way, since each is changed by the same operations
 * on the same numbers.
 */
#ifndef DROVE_ACCUM_REPLICA_H
#define DROVE_ACCUM_REPLICA_H

#include "accum/site.h"

typedef struct drove_replicas {
    float **vector;   /* [n_workers][n_vector]; NULL: in another process */
    float **gradient; /* [n_workers][optim->n] lent to the workers; scratch of their updates */
    const drove_site *site;
    uint64_t          n_checks;
} drove_replicas;

/* Errors: DROVE_E_NOMEM, DROVE_E_ARG (state of the rule kept by workers; clipping with devices and
 * cores together); fini accepts what a failed init left. */
drove_status drove__replicas_init(drove_replicas *r, const drove_sync *s, const drove_site *site,
                                  const drove_sync_options *opt, const drove_params *start);
void         drove__replicas_fini(drove_replicas *r, const drove_sync *s);
/* All become vector->theta[n_vector]. */
void drove__replicas_set(drove_replicas *r, const drove_sync *s, const drove_params *vector);
/* Are the first n numbers of all the same?  Over ranks: by all of them, which compare hashes.
 * Errors: DROVE_E_SYSTEM: two differ, and where. */
drove_status drove__replicas_check(drove_replicas *r, const drove_sync *s, size_t n);

/* The worker's replica after update t (from 1) by mean[optim->n]: weight decay at the replica, the
 * norm's limit, the rule. */
void drove__replica_update(drove_replicas *r, const drove_sync *s, unsigned worker, float *mean,
                           float eta, uint64_t t);

#endif
