/* base/clock.c - the real clock as a table of waiting. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall numbers */
#endif
#include "base/clock.h"

#include "base/futex.h"

/* Also for a thread that takes part in a virtual clock. */
static uint64_t now_ns(void *context)
{
    (void)context;
    return drove__real_ns();
}

static void sleep_until(void *context, uint64_t until_ns)
{
    (void)context;
    drove__real_sleep_until(until_ns);
}

static bool cond_wait(void *context, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    (void)context;
    const struct timespec until = drove__real_at(until_ns);
    if (until_ns == UINT64_MAX) return pthread_cond_wait(cond, lock) == 0;
    return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}

static void word_wait(void *context, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    (void)context;
    drove__futex_wait(word, expected, until_ns);
}

const drove_clock drove__clock_real = {
    .name = "real",
    .now_ns = now_ns,
    .sleep_until = sleep_until,
    .cond_wait = cond_wait,
    .word_wait = word_wait,
};

int drove__clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    int error = pthread_condattr_init(&monotonic);
    if (error != 0) return error;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    error = pthread_cond_init(cond, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return error;
}

void drove__clock_cond_wake(pthread_cond_t *cond)
{
    if (drove__actor != NULL) drove__virtual_wake(cond, UINT_MAX);
    (void)pthread_cond_broadcast(cond);
}
