/* sync/locked.h - asynchronous SGD under a lock (thesis Algorithm 2), whatever the lock is.
 *
 * A strategy of this kind says in its init which lock protects the vector, and uses the slots below
 * for everything else.
 */
#ifndef DROVE_SYNC_LOCKED_H
#define DROVE_SYNC_LOCKED_H

#include "sync/lock.h"

typedef struct drove_locked drove_locked;

typedef struct drove_locked_ops {
    drove_lock_cost (*lock_to_read)(drove_locked *l, drove_backoff *b);
    drove_lock_cost (*lock_to_write)(drove_locked *l, drove_backoff *b);
    void (*unlock)(drove_locked *l);
    void (*destroy)(drove_locked *l); /* the lock itself */
} drove_locked_ops;

struct drove_locked { /* the strategy's impl */
    const drove_locked_ops *ops;
    union { /* protects vector and s->published: to read when copying, to write when updating */
        pthread_mutex_t mutex;
        drove_rwlock    rwlock;
    };
    float *vector; /* [n_vector] */
};

/* Takes l, whose lock is ready, over as s->impl, also on failure; makes vector and copies.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__locked_init(drove_sync *s, drove_locked *l, const drove_params *start);

/* Slots of drove_sync_ops. */
void         drove__locked_fini(drove_sync *s);
drove_status drove__locked_acquire(drove_sync *s, unsigned worker, drove_view *view);
drove_status drove__locked_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                   drove_publish_info *info);
drove_params drove__locked_peek(drove_sync *s);
uint64_t     drove__locked_snapshot(drove_sync *s, float *out);
drove_status drove__locked_restore(drove_sync *s, const drove_params *vector,
                                   const drove_safetensors *st);

#endif
