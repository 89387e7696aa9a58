/* cluster/park.c - see park.h. Linux has a call for it; elsewhere a thread sleeps for a while. */
#define _GNU_SOURCE /* syscall */
#include "cluster/park.h"

#include <limits.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

void drove__park(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns, bool is_between)
{
#ifdef __linux__
    const struct timespec most = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                  .tv_nsec = (long)(timeout_ns % 1000000000u)};
    /* An error (the word has changed, a signal, the time is over) is a return like any other. */
    (void)syscall(SYS_futex, word, is_between ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, seen, &most, NULL,
                  0);
#else
    enum { NAP_NS = 50000 };
    const struct timespec nap = {.tv_nsec = timeout_ns < NAP_NS ? (long)timeout_ns : NAP_NS};
    (void)is_between;
    /* Relaxed: whoever waits looks at what it waits for with orders of its own. */
    if (atomic_load_explicit(word, memory_order_relaxed) == seen) (void)nanosleep(&nap, NULL);
#endif
}

void drove__unpark(_Atomic uint32_t *word, bool is_between)
{
#ifdef __linux__
    (void)syscall(SYS_futex, word, is_between ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
                  NULL, 0);
#else
    (void)word, (void)is_between;
#endif
}
