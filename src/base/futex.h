/* base/futex.h - sleeping until a 32-bit word changes.
 *
 * Whoever changes the word wakes the sleepers afterwards.  Nothing records who sleeps, so a thread
 * or process that ends while asleep leaves no state that could block the others, unlike with a
 * condition variable.  The word may lie in memory shared by processes.  Wake-ups may be spurious:
 * the caller checks the word again.
 *
 * Linux: a futex.  Elsewhere: sleeps of a tenth of a millisecond.
 */
#ifndef DROVE_BASE_FUTEX_H
#define DROVE_BASE_FUTEX_H

#include "base/virtual.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Sleeps while *word == seen, until woken or until_ns (drove__now_ns; UINT64_MAX: never).  Gives no
 * ordering: the caller loads the word again, with the order that it needs. */
static inline void drove__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
    if (drove__actor != NULL) { /* nobody changes the word between the look and the sleep */
        if (atomic_load_explicit(word, memory_order_relaxed) == seen)
            (void)drove__virtual_wait(word, until_ns);
        return;
    }
#ifdef __linux__
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    /* The kernel compares and sleeps atomically; the time is absolute, on CLOCK_MONOTONIC.  The
     * result does not matter: the caller checks the word again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, until_ns == UINT64_MAX ? NULL : &until,
                  NULL, FUTEX_BITSET_MATCH_ANY);
#else
    const struct timespec moment = {.tv_nsec = 100000};
    (void)until_ns;
    if (atomic_load_explicit(word, memory_order_relaxed) == seen) nanosleep(&moment, NULL);
#endif
}

/* Wakes all sleepers on the word; call it after changing the word. */
static inline void drove__futex_wake(_Atomic uint32_t *word)
{
    if (drove__actor != NULL) drove__virtual_wake(word, UINT_MAX);
#ifdef __linux__
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

#endif
