/* tests/explore/libc.c - what the sources call of the C library, by the explorer; see state.h. */
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- in the place of the C library (linked with --wrap) ---- */

#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(void *, memcpy, void *restrict to, const void *restrict from, size_t n)
{
    explore__plain((uintptr_t)from, n, false, HERE);
    explore__plain((uintptr_t)to, n, true, HERE);
    return __real_memcpy(to, from, n);
}

WRAP(void *, memset, void *to, int byte, size_t n)
{
    explore__plain((uintptr_t)to, n, true, HERE);
    return __real_memset(to, byte, n);
}

/* Clang calls these. */
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int byte, size_t n);

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    return __wrap_memcpy(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
    explore__plain((uintptr_t)from, n, false, HERE);
    explore__plain((uintptr_t)to, n, true, HERE);
    return memmove(to, from, n);
}

void *__tsan_memset(void *to, int byte, size_t n)
{
    return __wrap_memset(to, byte, n);
}

static void *from_arena(size_t size, size_t alignment)
{
    explore__e.used = (explore__e.used + alignment - 1) / alignment * alignment;
    if (explore__e.used + size > ARENA_BYTES) explore__fail("the arena is full");
    void *p = explore__e.arena + explore__e.used;
    explore__e.used += size;
    return p;
}

static bool is_in_arena(const void *p)
{
    return (const char *)p >= explore__e.arena && (const char *)p < explore__e.arena + ARENA_BYTES;
}

WRAP(void *, malloc, size_t n)
{
    return explore__e.is_on ? from_arena(n, 16) : __real_malloc(n);
}
WRAP(void *, aligned_alloc, size_t alignment, size_t n)
{
    return explore__e.is_on ? from_arena(n, alignment) : __real_aligned_alloc(alignment, n);
}
WRAP(void *, calloc, size_t n, size_t size)
{
    if (!explore__e.is_on) return __real_calloc(n, size);
    return __real_memset(from_arena(n * size, 16), 0, n * size);
}
/* Freeing is a store: who still uses the memory races with it. */
WRAP(void, free, void *p)
{
    if (!is_in_arena(p)) __real_free(p);
}

WRAP(int, clock_gettime, clockid_t id, struct timespec *out)
{
    if (!explore__e.is_on) return __real_clock_gettime(id, out);
    if (explore__has_time())
        explore__self()->history = explore__mix(explore__self()->history, explore__e.now_ns);
    *out = (struct timespec){.tv_sec = (time_t)(explore__e.now_ns / 1000000000u),
                             .tv_nsec = (long)(explore__e.now_ns % 1000000000u)};
    return 0;
}

static uint64_t limit_of(const struct timespec *t)
{
    return t == NULL ? UINT64_MAX : (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* Locks are those of processes where processes are killed. */
WRAP(bool, drove__memory_is_shared, void)
{
    return explore__e.is_on ? explore__e.scenario->n_kills > 0 : __real_drove__memory_is_shared();
}

WRAP(long, sysconf, int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __real_sysconf(name);
}

static void pause_here(void)
{
    if (!explore__e.is_on || explore__self()->n_seen > 0)
        return; /* who waits awake: at its loads */
    explore__schedule();
    explore__self()->history = explore__mix(explore__self()->history, UINT64_C(0x11));
}
/* Nobody wakes who only waits for time to pass. */
static void sleep_here(uint64_t until_ns)
{
    thread *me = explore__self();
    if (!explore__has_time()) {
        pause_here();
        return;
    }
    explore__forget(me);
    me->status = ASLEEP;
    me->waits_for = 0;
    me->until_ns = until_ns;
    explore__schedule();
    me->status = RUNNING;
    me->history = explore__mix(me->history, UINT64_C(0x33));
}
WRAP(int, sched_yield, void)
{
    pause_here();
    return 0;
}
WRAP(int, nanosleep, const struct timespec *time, struct timespec *rest)
{
    if (!explore__e.is_on) return __real_nanosleep(time, rest);
    sleep_here(explore__e.now_ns + limit_of(time));
    return 0;
}
WRAP(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *time,
     struct timespec *rest)
{
    if (!explore__e.is_on) return __real_clock_nanosleep(clock, flags, time, rest);
    sleep_here(limit_of(time) + (flags == TIMER_ABSTIME ? 0 : explore__e.now_ns));
    return 0;
}

/* -- threads -- */

static int spawn(void (*body)(void *), void *(*posix_body)(void *), void *argument)
{
    if (explore__e.n_threads == T) explore__fail("too many threads");
    int i = (int)explore__e.n_threads++;
    thread *t = &explore__e.thread[i], *me = explore__self();
    me->view.clock[explore__e.now]++;
    memset(t, 0, sizeof *t);
    t->body = body;
    t->posix_body = posix_body;
    t->argument = argument;
    t->view = me->view;
    t->view.clock[i] = 1;
    t->history = explore__mix(me->history, (uint64_t)i);
    me->history = explore__mix(me->history, UINT64_C(0x55));
    explore__prepare(i);
    return i;
}

static void join(int i)
{
    thread *me = explore__self();
    explore__forget(me);
    me->status = JOINING;
    me->joins = i;
    me->waits_for = (uintptr_t)i;
    explore__schedule();
    me->status = RUNNING;
    explore__learn(&me->view, &explore__e.thread[i].view);
    me->history = explore__mix(me->history, explore__e.thread[i].history);
}

void explore_spawn(void (*body)(void *), void *argument)
{
    (void)spawn(body, NULL, argument);
}

void explore_join(int number)
{
    join(number);
}

void explore_join_all(void)
{
    for (unsigned i = 1; i < explore__e.n_threads; i++) join((int)i);
}

WRAP(int, pthread_create, pthread_t *out, const pthread_attr_t *how, void *(*body)(void *),
     void *argument)
{
    if (!explore__e.is_on) return __real_pthread_create(out, how, body, argument);
    *out = (pthread_t)spawn(NULL, body, argument);
    return 0;
}
WRAP(int, pthread_join, pthread_t t, void **result)
{
    if (!explore__e.is_on) return __real_pthread_join(t, result);
    join((int)t);
    return 0;
}

/* -- locks -- */

/* The caller was chosen to take the lock: its own, or a dead holder's. */
static int own_lock(uintptr_t address, uintptr_t where)
{
    thread *me = explore__self();
    word *w = &explore__e.word[explore__word_at(address, 1)];
    const thread *before = w->holder >= 0 ? &explore__e.thread[w->holder] : NULL;
    me->status = RUNNING;
    w->holder = explore__e.now;
    explore__learn(&me->view, before != NULL ? &before->view : &w->released);
    me->history = explore__mix(explore__mix(me->history, address), w->order + (before != NULL));
    w->order = explore__mix(w->order, me->history);
    me->view.clock[explore__e.now]++;
    explore__trace(before != NULL ? "inherit" : "lock", address, 0, where);
    return before != NULL ? EOWNERDEAD : 0;
}

/* 0, EOWNERDEAD or ETIMEDOUT. */
static int take_lock(uintptr_t address, const struct timespec *until, uintptr_t where)
{
    thread *me = explore__self();
    explore__forget(me);
    if (explore__is_mutated(where, NO_LOCK)) {
        explore__schedule();
        me->history = explore__mix(me->history, address);
        return 0;
    }
    me->status = WANTS_LOCK;
    me->waits_for = address;
    me->until_ns = limit_of(until);
    me->timed_out = false;
    explore__e.has_slept |= until != NULL;
    (void)explore__word_at(address, 1);
    explore__schedule();
    if (!me->timed_out) return own_lock(address, where);
    me->status = RUNNING;
    me->history = explore__mix(me->history, UINT64_C(0xaa));
    return ETIMEDOUT;
}

static void give_lock(uintptr_t address)
{
    word *w = &explore__e.word[explore__word_at(address, 1)];
    if (w->holder != explore__e.now) return; /* a lock that was not taken */
    w->holder = -1;
    w->released = explore__self()->view;
    explore__self()->view.clock[explore__e.now]++;
    explore__trace("unlock", address, 0, 0);
}

WRAP(int, pthread_mutex_lock, pthread_mutex_t *m)
{
    if (!explore__e.is_on) return __real_pthread_mutex_lock(m);
    return take_lock((uintptr_t)m, NULL, HERE);
}
WRAP(int, pthread_mutex_timedlock, pthread_mutex_t *restrict m, const struct timespec *restrict t)
{
    if (!explore__e.is_on) return __real_pthread_mutex_timedlock(m, t);
    return take_lock((uintptr_t)m, t, HERE);
}
WRAP(int, pthread_mutex_clocklock, pthread_mutex_t *restrict m, clockid_t clock,
     const struct timespec *restrict t)
{
    if (!explore__e.is_on) return __real_pthread_mutex_clocklock(m, clock, t);
    return take_lock((uintptr_t)m, t, HERE);
}
WRAP(int, pthread_mutex_trylock, pthread_mutex_t *m)
{
    if (!explore__e.is_on) return __real_pthread_mutex_trylock(m);
    explore__schedule();
    const word *w = &explore__e.word[explore__word_at((uintptr_t)m, 1)];
    explore__self()->history = explore__mix(explore__self()->history, w->order + (w->holder >= 0));
    enum { ROBUST = 16 }; /* in glibc's kind of a mutex */
    bool is_inherited = w->holder >= 0 && explore__e.thread[w->holder].status == DEAD &&
                        (m->__data.__kind & ROBUST) != 0;
    if (w->holder >= 0 && !is_inherited) return EBUSY;
    return take_lock((uintptr_t)m, NULL, HERE);
}
WRAP(int, pthread_mutex_unlock, pthread_mutex_t *m)
{
    if (!explore__e.is_on) return __real_pthread_mutex_unlock(m);
    explore__kill_point();
    give_lock((uintptr_t)m);
    return 0;
}

static int wait_on(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    thread *me = explore__self();
    explore__forget(me);
    give_lock((uintptr_t)m);
    explore__e.has_slept = true;
    me->status = ON_CONDITION;
    me->waits_for = (uintptr_t)c;
    me->lock = (uintptr_t)m;
    me->until_ns = limit_of(until);
    me->timed_out = false;
    me->history = explore__mix(me->history, me->waits_for);
    explore__schedule();
    int result = own_lock((uintptr_t)m, 0);
    if (!me->timed_out) return result;
    me->history = explore__mix(me->history, UINT64_C(0xaa));
    return ETIMEDOUT;
}

static void signal_on(pthread_cond_t *c, bool all, uintptr_t where)
{
    int who[T];
    unsigned n = 0;
    explore__self()->history = explore__mix(explore__self()->history, (uintptr_t)c);
    if (explore__is_mutated(where, NO_WAKE)) return;
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == ON_CONDITION &&
            explore__e.thread[i].waits_for == (uintptr_t)c)
            who[n++] = (int)i;
    if (n > 0 && !all) who[0] = who[explore__choose(n)], n = 1;
    for (unsigned i = 0; i < n; i++) {
        explore__e.thread[who[i]].status = WANTS_LOCK;
        explore__e.thread[who[i]].waits_for = explore__e.thread[who[i]].lock;
        explore__e.thread[who[i]].until_ns = UINT64_MAX;
    }
}

WRAP(int, pthread_cond_wait, pthread_cond_t *c, pthread_mutex_t *m)
{
    return explore__e.is_on ? wait_on(c, m, NULL) : __real_pthread_cond_wait(c, m);
}
WRAP(int, pthread_cond_timedwait, pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
     const struct timespec *restrict t)
{
    return explore__e.is_on ? wait_on(c, m, t) : __real_pthread_cond_timedwait(c, m, t);
}
/* A scheduling point, as it may be called without the mutex. */
WRAP(int, pthread_cond_signal, pthread_cond_t *c)
{
    if (!explore__e.is_on) return __real_pthread_cond_signal(c);
    explore__schedule();
    signal_on(c, false, HERE);
    return 0;
}
WRAP(int, pthread_cond_broadcast, pthread_cond_t *c)
{
    if (!explore__e.is_on) return __real_pthread_cond_broadcast(c);
    explore__schedule();
    signal_on(c, true, HERE);
    return 0;
}

/* -- semaphores: the count is the word's only value that counts, and is never stale -- */

WRAP(int, sem_init, sem_t *s, int is_shared, unsigned count)
{
    if (!explore__e.is_on) return __real_sem_init(s, is_shared, count);
    *(uint32_t *)(void *)s = count;
    return 0;
}
WRAP(int, sem_post, sem_t *s)
{
    if (!explore__e.is_on) return __real_sem_post(s);
    (void)explore__atomic_change_at((uintptr_t)s, 4, ADD, 1, __ATOMIC_ACQ_REL, HERE);
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == ASLEEP && explore__e.thread[i].waits_for == (uintptr_t)s)
            explore__e.thread[i].status = RUNNING;
    return 0;
}
WRAP(int, sem_wait, sem_t *s)
{
    if (!explore__e.is_on) return __real_sem_wait(s);
    uint32_t *count = (uint32_t *)(void *)s;
    for (;;) {
        explore__schedule();
        explore__self()->history = explore__mix(explore__self()->history, *count);
        if (*count > 0) break;
        explore__self()->status = ASLEEP;
        explore__self()->waits_for = (uintptr_t)s;
        explore__self()->until_ns = UINT64_MAX;
        explore__schedule();
        explore__self()->status = RUNNING;
    }
    (void)explore__atomic_change_at((uintptr_t)s, 4, SUBTRACT, 1, __ATOMIC_ACQ_REL, HERE);
    return 0;
}

/* -- futex: the kernel compares the newest value, as it has fences on both sides -- */

static void futex_wait(uintptr_t address, uint32_t expected, const struct timespec *until)
{
    thread *me = explore__self();
    unsigned i = explore__word_at(address, 4);
    explore__forget(me);
    explore__schedule();
    explore__renew(i);
    const word *w = &explore__e.word[i];
    const value *newest = &w->value[w->n_values - 1];
    me->history = explore__mix(explore__mix(me->history, address),
                               (uint32_t)newest->bits == expected ? 1 : newest->identity);
    explore__trace("sleep?", address, newest->bits, 0);
    /* Loads of one word go forward: what the kernel has read is not followed by something older. */
    me->view.at_least[i] = (uint8_t)(w->n_values - 1);
    if ((uint32_t)newest->bits != expected) return;
    explore__e.has_slept = true;
    me->status = ASLEEP;
    me->waits_for = address;
    me->until_ns = limit_of(until);
    explore__schedule();
    me->status = RUNNING;
    me->history = explore__mix(me->history, UINT64_C(0x33));
}

/* Wakes `most` sleepers, whichever, or all; how many. */
static unsigned futex_wake(uintptr_t address, unsigned most, uintptr_t where)
{
    int who[T];
    unsigned n = 0, n_woken = 0;
    if (explore__is_mutated(where, NO_WAKE)) return 0;
    explore__forget(explore__self());
    explore__schedule();
    explore__trace("wake", address, 0, where);
    for (unsigned i = 0; i < explore__e.n_threads; i++)
        if (explore__e.thread[i].status == ASLEEP && explore__e.thread[i].waits_for == address)
            who[n++] = (int)i;
    while (n > 0 && n_woken < most) {
        unsigned k = most >= n ? 0 : explore__choose(n);
        explore__e.thread[who[k]].status = RUNNING;
        who[k] = who[--n];
        n_woken++;
    }
    thread *me = explore__self();
    me->history = explore__mix(me->history, most == INT_MAX ? address : address + n_woken);
    return n_woken;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list a;
    va_start(a, number);
    uintptr_t address = va_arg(a, uintptr_t);
    int what = va_arg(a, int) & FUTEX_CMD_MASK;
    uint32_t expected = va_arg(a, uint32_t);
    const struct timespec *until = what == FUTEX_WAKE ? NULL : va_arg(a, const struct timespec *);
    va_end(a);
    if (number != SYS_futex || !explore__e.is_on) abort();
    if (what == FUTEX_WAKE) return futex_wake(address, expected, HERE);
    futex_wait(address, expected, until);
    return 0;
}
