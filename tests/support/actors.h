/* tests/support/actors.h - threads on a virtual clock, for tests: each runs a body, and the caller
 * waits until all are through. */
#ifndef DROVE_TESTS_ACTORS_H
#define DROVE_TESTS_ACTORS_H

#include "base/clock.h"
#include "base/virtual.h"

#include <pthread.h>

enum { MOST_ACTORS = 40 };

typedef struct actors {
    drove_virtual *on;
    unsigned       n, n_left;
    void (*body)(unsigned actor, void *context);
    void *context;
} actors;

typedef struct actors_thread {
    actors   *all;
    unsigned  actor;
    pthread_t thread;
} actors_thread;

static inline void *actors_main(void *argument)
{
    const actors_thread *me = argument;
    actors              *all = me->all;
    drove__virtual_enter(all->on, me->actor);
    all->body(me->actor, all->context);
    if (--all->n_left == 0) drove__virtual_wake(all, 1); /* one actor runs at a time */
    drove__virtual_leave();
    return NULL;
}

/* n actors of `on`, which has n + 1; they are admitted in the order of their numbers.  Returns the
 * virtual time in ns at which the last was through. */
static inline double run_actors(drove_virtual *on, unsigned                        n,
                                void (*body)(unsigned actor, void *context), void *context)
{
    actors        all = {.on = on, .n = n, .n_left = n, .body = body, .context = context};
    actors_thread thread[MOST_ACTORS];
    drove__virtual_begin(on);
    for (unsigned i = 0; i < n; i++) drove__virtual_admit(on, i);
    for (unsigned i = n; i-- > 0;) { /* their threads may come in any order */
        thread[i] = (actors_thread){.all = &all, .actor = i};
        pthread_create(&thread[i].thread, NULL, actors_main, &thread[i]);
    }
    while (all.n_left > 0) (void)drove__virtual_wait(&all, UINT64_MAX); /* it may wake for a look */
    double now_ns = (double)drove__now_ns();
    drove__virtual_end(on);
    for (unsigned i = 0; i < n; i++) pthread_join(thread[i].thread, NULL);
    return now_ns;
}

#endif
