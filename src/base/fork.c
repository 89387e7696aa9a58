/* base/fork.c - see fork.h. */
#include "base/fork.h"

#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists; the outermost */
static drove_fork_guard *first[DROVE_FORK_KINDS];        /* by drove_fork_kind */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_all(void)
{
    pthread_mutex_lock(&lock);
    for (size_t kind = DROVE_FORK_OUTER; kind <= DROVE_FORK_INNER; kind++)
        for (drove_fork_guard *g = first[kind]; g != NULL; g = g->next) pthread_mutex_lock(g->lock);
}

/* In the parent, and in the child, whose only thread is a copy of the one that took them. */
static void give_all(void)
{
    for (size_t kind = DROVE_FORK_OUTER; kind <= DROVE_FORK_INNER; kind++)
        for (drove_fork_guard *g = first[kind]; g != NULL; g = g->next)
            pthread_mutex_unlock(g->lock);
    pthread_mutex_unlock(&lock);
}

static void give_all_in_child(void)
{
    for (drove_fork_guard *g = first[DROVE_FORK_FRESH]; g != NULL; g = g->next)
        *g->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    give_all();
}

/* Fails without memory alone; a child then has to do without. */
static void watch_forks(void)
{
    (void)pthread_atfork(take_all, give_all, give_all_in_child);
}

void drove__fork_guard_add(drove_fork_guard *guard, pthread_mutex_t *guarded, drove_fork_kind kind)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    *guard = (drove_fork_guard){.lock = guarded, .next = first[kind], .kind = kind};
    if (guard->next != NULL) guard->next->before = guard;
    first[kind] = guard;
    pthread_mutex_unlock(&lock);
}

void drove__fork_guard_remove(drove_fork_guard *guard)
{
    pthread_mutex_lock(&lock);
    if (guard->before != NULL) guard->before->next = guard->next;
    else first[guard->kind] = guard->next;
    if (guard->next != NULL) guard->next->before = guard->before;
    pthread_mutex_unlock(&lock);
}
