/* base/lock.c - mutexes that processes can share, with recovery after their holder's end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_mutex_clocklock */
#endif
#include "base/lock.h"

#include "base/mem.h"
#include "base/racy.h" /* DROVE_TSAN */
#include "base/virtual.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

drove_status drove__lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    int error = pthread_mutexattr_init(&kind);
    if (error == 0 && drove__memory_is_shared()) {
        error = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        if (error == 0) error = pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    }
    if (error == 0) error = pthread_mutex_init(lock, &kind);
    (void)pthread_mutexattr_destroy(&kind);
    if (error == 0) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex: %s", strerror(error));
}

bool drove__lock_taken(pthread_mutex_t *lock, int result, bool *holder_ended)
{
    if (holder_ended != NULL) *holder_ended = result == EOWNERDEAD;
    if (result == EOWNERDEAD) (void)pthread_mutex_consistent(lock); /* cannot fail while held */
    return result == 0 || result == EOWNERDEAD;
}

/* A waiter that was just woken may be killed before it takes the lock.  If a third one has taken it
 * meanwhile, that one does not know of those who still wait, and wakes nobody.  So nobody sleeps
 * for longer than PATIENCE_NS without looking again. */
static int wait_for(pthread_mutex_t *lock)
{
    enum { PATIENCE_NS = 20000000, SECOND_NS = 1000000000 };
    int result = pthread_mutex_trylock(lock);
    while (result == EBUSY || result == ETIMEDOUT) {
#if DROVE_TSAN /* which does not see that a timed lock was taken over from a dead holder */
        const struct timespec moment = {.tv_nsec = 100000};
        nanosleep(&moment, NULL);
        result = pthread_mutex_trylock(lock);
#else
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until); /* the other one may be set back */
        until.tv_nsec += PATIENCE_NS;
        until.tv_sec += until.tv_nsec / SECOND_NS;
        until.tv_nsec %= SECOND_NS;
        result = pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
#endif
    }
    return result;
}

bool drove__lock(pthread_mutex_t *lock)
{
    bool holder_ended;
    int result;
    if (drove__actor == NULL) {
        result = wait_for(lock);
    } else {
        while ((result = pthread_mutex_trylock(lock)) == EBUSY)
            (void)drove__virtual_wait(lock, UINT64_MAX);
        drove__virtual_line(lock);
    }
    bool taken = drove__lock_taken(lock, result, &holder_ended);
    assert(taken);
    (void)taken;
    return !holder_ended;
}

void drove__unlock(pthread_mutex_t *lock)
{
    (void)pthread_mutex_unlock(lock);
    if (drove__actor != NULL) drove__virtual_wake(lock, 1);
}
