/* base/alive.c - see alive.h. */
#include "base/alive.h"

#ifndef NDEBUG

#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct ended {
    _Atomic(const void *) handle;  /* NULL: none; written under the lock, read by anyone */
    void (*release)(void *memory); /* NULL: the memory is still in use */
} ended;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects writing the two below */
static ended kept[DROVE_ALIVE_KEPT];
static size_t next; /* where the search for a place begins */
static drove_fork_guard guard;

__attribute__((constructor)) static void guard_lock(void)
{
    drove__fork_guard_add(&guard, &lock, DROVE_FORK_INNER);
}

static ended *find(const void *handle)
{
    for (size_t i = 0; i < DROVE_ALIVE_KEPT; i++)
        if (atomic_load(&kept[i].handle) == handle) return &kept[i];
    return NULL;
}

static void fail(const void *handle, const char *kind, const char *function)
{
    char line[256];
    const int n =
        snprintf(line, sizeof line, "%s: expected %s, found a handle that was destroyed (%p)\n",
                 function, kind, handle);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) abort();
    abort();
}

void drove__alive_check(const void *handle, const char *kind, const char *function)
{
    if (handle != NULL && find(handle) != NULL) fail(handle, kind, function);
}

void drove__alive_end(const void *handle, const char *kind, const char *function)
{
    void *old = NULL;
    void (*release)(void *memory) = NULL;
    if (handle == NULL) return;
    pthread_mutex_lock(&lock);
    const bool is_second = find(handle) != NULL;
    /* A free place, or the oldest one whose memory nobody uses.  NULL: none, and the handle is not
     * remembered. */
    ended *place = NULL;
    for (size_t i = 0; i < DROVE_ALIVE_KEPT && !is_second && place == NULL; i++) {
        ended *p = &kept[next];
        next = (next + 1) % DROVE_ALIVE_KEPT;
        if (atomic_load(&p->handle) == NULL || p->release != NULL) place = p;
    }
    if (place != NULL) {
        old = (void *)(uintptr_t)atomic_load(&place->handle);
        release = place->release;
        place->release = NULL;
        atomic_store(&place->handle, handle);
    }
    pthread_mutex_unlock(&lock);
    if (is_second) fail(handle, kind, function);
    if (release != NULL) release(old);
}

void drove__alive_free(void *handle, void (*release)(void *memory))
{
    if (handle == NULL) return;
    pthread_mutex_lock(&lock);
    ended *place = find(handle);
    if (place != NULL) place->release = release;
    pthread_mutex_unlock(&lock);
    if (place == NULL) release(handle);
}

#endif
