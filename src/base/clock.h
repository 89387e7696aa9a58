/* base/clock.h - time and waiting: a table, so that a virtual clock may replace the real one.
 *
 * drove__now_ns is the real clock, monotonic, about 25 ns a reading, unless the calling thread
 * takes part in a virtual one (virtual.h); code that measures hardware reads it directly.  The
 * loop, its sources and its hosts read a drove_clock.
 */
#ifndef DROVE_BASE_CLOCK_H
#define DROVE_BASE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct drove_actor drove_actor; /* virtual.h */
/* The calling thread's part on a virtual clock; NULL: it lives in real time. */
extern _Thread_local drove_actor *drove__actor;
uint64_t                          drove__actor_now(const drove_actor *actor);

static inline uint64_t drove__now_ns(void)
{
    struct timespec now;
    if (drove__actor != NULL) return drove__actor_now(drove__actor);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processor time of the calling thread, for comparing two pieces of code on a busy machine. */
static inline uint64_t drove__thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
