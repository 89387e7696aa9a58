/* base/wait.h - a place where threads sleep until another one says that something has changed.
 *
 * Who wants to sleep announces it, looks once more whether there is nothing to do, and sleeps; who
 * changes something makes the change and then wakes.  No wake-up is lost if change and look are
 * sequentially consistent like the accesses here (docs/inside/memory-model.md, A9).  A sleeper may
 * wake for no reason: it looks again.
 *
 * Linux: a futex.  Elsewhere, or with DROVE_WAIT_PORTABLE: a mutex and a condition variable.
 */
#ifndef DROVE_BASE_WAIT_H
#define DROVE_BASE_WAIT_H

#include "base/clock.h"
#include "base/virtual.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if !defined(__linux__) && !defined(DROVE_WAIT_PORTABLE)
#define DROVE_WAIT_PORTABLE 1
#endif

#ifdef DROVE_WAIT_PORTABLE
#include <pthread.h>
#else
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct drove_wait {
    _Atomic uint32_t announced; /* 1: someone sleeps here, or is about to */
#ifdef DROVE_WAIT_PORTABLE
    pthread_mutex_t mutex; /* protects n_asleep, and the moment between the look and the sleep */
    pthread_cond_t  changed;
    unsigned        n_asleep; /* on `changed`, or woken and not yet awake */
#endif
} DROVE_ALIGNED_CACHE_LINE drove_wait;

static inline void drove__wait_init(drove_wait *w)
{
    atomic_init(&w->announced, 0);
#ifdef DROVE_WAIT_PORTABLE
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock); /* none of these can fail with these arguments */
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &clock);
    (void)pthread_condattr_destroy(&clock);
    (void)pthread_mutex_init(&w->mutex, NULL);
    w->n_asleep = 0;
#endif
}

static inline void drove__wait_fini(drove_wait *w)
{
#ifdef DROVE_WAIT_PORTABLE
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->mutex);
#else
    (void)w;
#endif
}

static inline void drove__wait_announce(drove_wait *w)
{
    atomic_store_explicit(&w->announced, 1, memory_order_seq_cst);
}

/* By a place's only sleeper: it does not want to sleep after all. */
static inline void drove__wait_withdraw(drove_wait *w)
{
    /* Relaxed: nothing hangs on it; who still sees the 1 wakes somebody who is awake. */
    atomic_store_explicit(&w->announced, 0, memory_order_relaxed);
}

/* After announce and a look.  Returns when woken, at until_ns (drove__now_ns; UINT64_MAX: never),
 * or for no reason. */
static inline void drove__wait_sleep(drove_wait *w, uint64_t until_ns)
{
    if (drove__actor != NULL) {
        (void)drove__virtual_wait(&w->announced, until_ns);
        return;
    }
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
#ifdef DROVE_WAIT_PORTABLE
    pthread_mutex_lock(&w->mutex);
    if (atomic_load_explicit(&w->announced, memory_order_seq_cst) == 1) {
        w->n_asleep++;
        if (until_ns == UINT64_MAX) (void)pthread_cond_wait(&w->changed, &w->mutex);
        else (void)pthread_cond_timedwait(&w->changed, &w->mutex, &until);
        w->n_asleep--;
    }
    pthread_mutex_unlock(&w->mutex);
#else
    /* The kernel compares and sleeps in one step.  Any return is a reason to look again; the time
     * of FUTEX_WAIT_BITSET is absolute and of CLOCK_MONOTONIC. */
    (void)syscall(SYS_futex, &w->announced, FUTEX_WAIT_BITSET_PRIVATE, 1u,
                  until_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
#endif
}

/* After a change: wakes all who have announced themselves. */
static inline void drove__wait_wake(drove_wait *w)
{
    if (atomic_load_explicit(&w->announced, memory_order_seq_cst) == 0) return;
    if (atomic_exchange_explicit(&w->announced, 0, memory_order_seq_cst) == 0) return;
    if (drove__actor != NULL) drove__virtual_wake(&w->announced, ~0u);
#ifdef DROVE_WAIT_PORTABLE
    pthread_mutex_lock(&w->mutex);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
#else
    (void)syscall(SYS_futex, &w->announced, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}

/* After a change that concerns one sleeper, whichever: wakes one, and leaves the announcement to
 * the others.  Where nobody sleeps the announcement goes: who was about to sleep looks again.
 */
static inline void drove__wait_wake_one(drove_wait *w)
{
    if (atomic_load_explicit(&w->announced, memory_order_seq_cst) == 0) return;
    if (drove__actor != NULL) { /* who sleeps on a virtual clock is not asleep for the kernel */
        drove__wait_wake(w);
        return;
    }
#ifdef DROVE_WAIT_PORTABLE
    pthread_mutex_lock(&w->mutex);
    if (w->n_asleep > 0) pthread_cond_signal(&w->changed);
    else atomic_store_explicit(&w->announced, 0, memory_order_seq_cst);
    pthread_mutex_unlock(&w->mutex);
#else
    if (syscall(SYS_futex, &w->announced, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) > 0) return;
    if (atomic_exchange_explicit(&w->announced, 0, memory_order_seq_cst) == 0) return;
    /* For those who have fallen asleep between the two. */
    (void)syscall(SYS_futex, &w->announced, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}

#endif
