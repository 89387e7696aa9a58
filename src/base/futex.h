/* base/futex.h - sleeping until a 32-bit word changes.
 *
 * Who changes the word wakes afterwards.  Neither remembers who sleeps, so a thread or process that
 * is ended while it sleeps leaves nothing behind that could hold up the others, as it would in a
 * condition variable.  The word may lie in memory that processes share.  A sleeper may wake for no
 * reason: it looks again.
 *
 * Linux: a futex.  Elsewhere: sleeps of a tenth of a millisecond.
 */
#ifndef DROVE_BASE_FUTEX_H
#define DROVE_BASE_FUTEX_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdint.h>

#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* While *word == seen, until woken or until_ns (drove__now_ns; UINT64_MAX: never).  Orders nothing:
 * the caller loads the word again, with the order that it needs. */
static inline void drove__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
#ifdef __linux__
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    /* The kernel compares and sleeps in one step; the time is absolute and of CLOCK_MONOTONIC.  Any
     * return is a reason to look again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, until_ns == UINT64_MAX ? NULL : &until,
                  NULL, FUTEX_BITSET_MATCH_ANY);
#else
    const struct timespec moment = {.tv_nsec = 100000};
    (void)until_ns;
    if (atomic_load_explicit(word, memory_order_relaxed) == seen) nanosleep(&moment, NULL);
#endif
}

/* All who sleep on the word, after it was changed. */
static inline void drove__futex_wake(_Atomic uint32_t *word)
{
#ifdef __linux__
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

#endif
