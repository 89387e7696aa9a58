/* base/clock.h - time, and the real clock as a table of waiting, which a virtual one may replace.
 *
 * drove__now_ns is the real clock, monotonic, about 25 ns a reading, unless the calling thread
 * takes part in a virtual one (virtual.h); code that measures hardware reads it directly.  The
 * loop, its sources and its hosts read a drove_clock.
 */
#ifndef DROVE_BASE_CLOCK_H
#define DROVE_BASE_CLOCK_H

#include "base/virtual.h"
#include "base/waiting.h"

static inline uint64_t drove__now_ns(void)
{
    return drove__actor != NULL ? drove__actor_now(drove__actor) : drove__real_ns();
}

/* Processor time of the calling thread, for comparing two pieces of code on a busy machine. */
static inline uint64_t drove__thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

extern const drove_clock drove__clock_real;

static inline uint64_t drove__clock_now(const drove_clock *clock)
{
    return clock->now_ns(clock->context);
}

/* A condition variable that cond_wait may wait on. */
int drove__clock_cond_init(pthread_cond_t *cond);
/* Wakes all who wait on it by any clock. */
void drove__clock_cond_wake(pthread_cond_t *cond);

#endif
