/* base/fork.h - locks that a child of fork can take.
 *
 * A fork copies one thread alone.  A lock that another thread held at that moment would stay locked
 * in the child for ever, and what it protects half changed.  So fork waits for the guarded locks,
 * and both processes go on with them free.  Not for those under which a thread itself may fork.
 * A lock that its holder may keep for long is of the kind DROVE_FORK_FRESH: fork does not wait for
 * it, and it is free in the child; so it may protect nothing that a holder leaves half changed.
 *
 * Threads: any.
 */
#ifndef DROVE_BASE_FORK_H
#define DROVE_BASE_FORK_H

#include <pthread.h>

/* Which locks fork takes first: a holder of an outer lock may take inner ones, not the other way
 * round.  No thread holds two of the same one of these kinds.  FRESH: see above. */
typedef enum drove_fork_kind {
    DROVE_FORK_OUTER,
    DROVE_FORK_INNER,
    DROVE_FORK_FRESH,
    DROVE_FORK_KINDS
} drove_fork_kind;

typedef struct drove_fork_guard {
    pthread_mutex_t         *lock;
    struct drove_fork_guard *before, *next; /* in the list of its kind */
    drove_fork_kind          kind;
} drove_fork_guard;

/* guard is the caller's and stays where it is until it is removed; lock may not be held. */
void drove__fork_guard_add(drove_fork_guard *guard, pthread_mutex_t *lock, drove_fork_kind kind);
void drove__fork_guard_remove(drove_fork_guard *guard);

#endif
