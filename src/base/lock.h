/* base/lock.h - mutexes that the processes of a run can share, and that outlive their holder.
 *
 * A mutex that is initialised while memory is shared (drove__memory_share_begin, base/mem.h) is
 * robust and shared by processes; any other is an ordinary one.
 */
#ifndef DROVE_BASE_LOCK_H
#define DROVE_BASE_LOCK_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

/* Errors: DROVE_E_SYSTEM. */
drove_status drove__lock_init(pthread_mutex_t *lock);

/* What drove__lock and pthread_mutex_trylock do about `result`, that of a lock's function.  True:
 * the caller has the lock now; *holder_ended (may be NULL), if it is from a process that ended
 * while it held it, so that what the lock protects may be half changed. */
bool drove__lock_taken(pthread_mutex_t *lock, int result, bool *holder_ended);

/* Takes it; false: its last holder ended while it had it. */
bool drove__lock(pthread_mutex_t *lock);

#endif
