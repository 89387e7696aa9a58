/* base/waiting.h - real time and real waiting, and the table by which any clock does both.
 *
 * This is what the clocks (clock.h, virtual.h) and futex.h are made of; other code uses those.
 */
#ifndef DROVE_BASE_WAITING_H
#define DROVE_BASE_WAITING_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* until_ns is a time of the same clock; UINT64_MAX: for ever.  Any thread may call any slot. */
typedef struct drove_clock {
    const char *name; /* "real" */
    uint64_t (*now_ns)(void *context);
    void (*sleep_until)(void *context, uint64_t until_ns);
    /* pthread_cond_wait with a deadline; false: it has passed.  The condition was made by
     * drove__clock_cond_init. */
    bool (*cond_wait)(void *context, pthread_cond_t *cond, pthread_mutex_t *lock,
                      uint64_t until_ns);
    /* Sleeps while *word == expected, at most until then; may wake early.  *word may lie in memory
     * that processes share. */
    void (*word_wait)(void *context, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns);
    void *context;
} drove_clock;

/* Monotonic. */
static inline uint64_t drove__real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct timespec drove__real_at(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

static inline void drove__real_sleep_until(uint64_t until_ns)
{
    const struct timespec until = drove__real_at(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

/* drove__futex_wait and _wake (futex.h), whatever the calling thread's clock. */
static inline void drove__real_word_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
#ifdef __linux__
    const struct timespec until = drove__real_at(until_ns);
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

static inline void drove__real_word_wake(_Atomic uint32_t *word)
{
#ifdef __linux__
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

#endif
