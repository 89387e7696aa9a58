/* sync/sync.h - the shared-memory strategies of this folder, one file each; listed in
 * config/registry.c. */
#ifndef DROVE_SYNC_SYNC_H
#define DROVE_SYNC_SYNC_H

#include "strategy/strategy.h"

extern const drove_sync_ops drove__sync_sequential; /* plain SGD, one worker */
extern const drove_sync_ops drove__sync_sync;       /* SyncSGD, thesis section 2.2.2 */
extern const drove_sync_ops drove__sync_ssp;        /* stale-synchronous: ssp:4 */
extern const drove_sync_ops drove__sync_softsync;   /* n-softsync: softsync:2 */
extern const drove_sync_ops drove__sync_mutex;      /* AsyncSGD with a mutex, Algorithm 2 */
extern const drove_sync_ops drove__sync_rwlock;     /* with a POSIX read-write lock, Algorithm 2 */
extern const drove_sync_ops drove__sync_hogwild;    /* HOGWILD!, also hogwild:copy, hogwild:live */
extern const drove_sync_ops
    drove__sync_replicas;                        /* averaged copies: replicas:core, replicas:node */
extern const drove_sync_ops drove__sync_leashed; /* Leashed-SGD, Algorithm 3: leashed:inf */

#endif
