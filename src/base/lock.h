/* base/lock.h - mutexes that processes of a run can share and that survive their holder.
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

/* Interprets `result`, as returned by pthread_mutex_lock or pthread_mutex_trylock.  True: the
 * caller now holds the lock.  *holder_ended (may be NULL): the last holder, a process, ended while
 * it held the lock, so the data that it protects may be half changed. */
bool drove__lock_taken(pthread_mutex_t *lock, int result, bool *holder_ended);

/* Takes the lock; false: its last holder ended while it held it. */
bool drove__lock(pthread_mutex_t *lock);
/* Who waits for such a lock on a virtual clock is woken by this alone. */
void drove__unlock(pthread_mutex_t *lock);

#endif
