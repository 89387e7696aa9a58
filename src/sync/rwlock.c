/* sync/rwlock.c - AsyncSGD with a POSIX read-write lock: views are copied side by side, updates are
 * made alone.
 *
 * Source: thesis Algorithm 2 with its rw-lock; with back-off lock() is Algorithm 4.  Whom the lock
 * prefers is glibc's to choose: `readers` (its default) lets new readers in past a waiting writer,
 * `writers` does not.
 */
#include "sync/locked.h"
#include "sync/sync.h"

static drove_lock_cost lock_to_read(drove_locked *l, drove_backoff *b)
{
    return drove__lock_read(&l->rwlock, b);
}

static drove_lock_cost lock_to_write(drove_locked *l, drove_backoff *b)
{
    return drove__lock_write(&l->rwlock, b);
}

static void unlock(drove_locked *l)
{
    drove__rwlock_leave(&l->rwlock);
}

static void destroy(drove_locked *l)
{
    (void)pthread_rwlock_destroy(&l->rwlock.lock);
}

static const drove_locked_ops rwlock_ops = {.lock_to_read = lock_to_read,
                                            .lock_to_write = lock_to_write,
                                            .unlock = unlock,
                                            .destroy = destroy};

static const char *const preferences[] = {"readers", "writers", NULL};
static const drove_spec_key keys[] = {
    {"prefer", "readers", DROVE_AS_EITHER(drove_locked, rwlock.prefers_writers, preferences),
     .help = "whom the lock lets in first"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    drove_locked *l = drove__alloc(1, sizeof *l);
    if (l == NULL) return drove__sync_no_memory(s);
    l->ops = &rwlock_ops;
    drove_status status = drove__spec_take(opt->spec, keys, l);
    if (status == DROVE_OK && (status = drove__rwlock_init(&l->rwlock)) != DROVE_OK)
        (void)drove__fail_in(status, "%s", s->ops->name);
    if (status != DROVE_OK) {
        drove__free(l);
        return status;
    }
    return drove__locked_init(s, l, start);
}

static const char *const variants[] = {"rwlock", "rwlock?prefer=writers", NULL};

static const drove_sync_places places = {
    .not_procs = "the C library's read-write lock stays locked when a process that holds it ends",
    .not_ranks = "its workers step on one vector in shared memory",
    .snapshot = drove__locked_snapshot,
};

const drove_sync_ops drove__sync_rwlock = {
    .name = "rwlock",
    .help = "asynchronous SGD under a POSIX read-write lock",
    .source = "thesis Algorithm 2, with a rw-lock",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = DROVE_SYNC_BACKOFF,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = drove__locked_fini,
    .acquire = drove__locked_acquire,
    .publish = drove__locked_publish,
    .peek = drove__locked_peek,
    .restore = drove__locked_restore,
    .places = &places,
};
