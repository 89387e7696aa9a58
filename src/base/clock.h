/* base/clock.h - the one clock: monotonic, in nanoseconds, about 25 ns per reading.  Also the
 * processor time of the calling thread, to compare two pieces of code on a busy machine. */
#ifndef DROVE_BASE_CLOCK_H
#define DROVE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t drove__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t drove__thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
