/* sync/lock.h - taking a lock with or without back-off, and what it cost (thesis Algorithms 2, 4).
 */
#ifndef DROVE_SYNC_LOCK_H
#define DROVE_SYNC_LOCK_H

#include "base/rwlock.h"
#include "strategy/strategy.h"

#include <pthread.h>

/* When the first try succeeds both times are 0, and no clock is read. */
typedef struct drove_lock_cost {
    uint64_t wait_ns;
    uint64_t backoff_ns; /* part of wait_ns */
    uint32_t attempts;   /* 1 = first try */
} drove_lock_cost;

/* Takes the lock for the worker that owns b.  Without back-off a busy lock is waited for inside it;
 * with back-off it is tried, and waited for outside, until it is free. */
drove_lock_cost drove__lock_mutex(pthread_mutex_t *mutex, drove_backoff *b);
drove_lock_cost drove__lock_read(drove_rwlock *lock, drove_backoff *b);
drove_lock_cost drove__lock_write(drove_rwlock *lock, drove_backoff *b);

#endif
