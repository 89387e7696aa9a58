/* base/rwlock.h - the C library's read-write lock, waited for by the clock of its thread. */
#ifndef DROVE_BASE_RWLOCK_H
#define DROVE_BASE_RWLOCK_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct drove_rwlock {
    pthread_rwlock_t lock;
    bool             prefers_writers;
    char             readers, writers; /* addresses to sleep at on a virtual clock */
} drove_rwlock;

/* prefers_writers is set.  Errors: DROVE_E_SYSTEM. */
drove_status drove__rwlock_init(drove_rwlock *l);
/* 0: taken; EBUSY. */
int drove__rwlock_try_read(drove_rwlock *l);
int drove__rwlock_try_write(drove_rwlock *l);
/* Waits; 0, or what the C library says. */
int  drove__rwlock_read(drove_rwlock *l);
int  drove__rwlock_write(drove_rwlock *l);
void drove__rwlock_leave(drove_rwlock *l);

#endif
