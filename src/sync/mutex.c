/* sync/mutex.c - AsyncSGD with a mutex: views are copied and updates made one at a time.
 *
 * Source: thesis Algorithm 2; with back-off lock() is Algorithm 4.  Of a worker that is killed
 * while it makes an update, that update is in the parameters in part.
 */
#include "base/lock.h"
#include "sync/locked.h"
#include "sync/sync.h"

static drove_lock_cost lock(drove_locked *l, drove_backoff *b)
{
    return drove__lock_mutex(&l->mutex, b);
}

static void unlock(drove_locked *l)
{
    drove__unlock(&l->mutex);
}

static void destroy(drove_locked *l)
{
    (void)pthread_mutex_destroy(&l->mutex);
}

static const drove_locked_ops mutex_ops = {
    .lock_to_read = lock, .lock_to_write = lock, .unlock = unlock, .destroy = destroy};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt;
    drove_locked *l = drove__alloc(1, sizeof *l);
    if (l == NULL) return drove__sync_no_memory(s);
    l->ops = &mutex_ops;
    drove_status status = drove__lock_init(&l->mutex);
    if (status != DROVE_OK) {
        drove__free(l);
        return status;
    }
    return drove__locked_init(s, l, start);
}

/* A lock that it held goes to the next. */
static void leave(drove_sync *s, unsigned worker)
{
    (void)s;
    (void)worker;
}

static const char *const variants[] = {"mutex", NULL};

static const drove_sync_places places = {
    .not_ranks = "its workers step on one vector in shared memory",
    .snapshot = drove__locked_snapshot,
};

const drove_sync_ops drove__sync_mutex = {
    .name = "mutex",
    .help = "asynchronous SGD, reads and updates under one mutex",
    .source = "thesis Algorithm 2",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = DROVE_SYNC_BACKOFF,
    .variants = variants,
    .init = init,
    .fini = drove__locked_fini,
    .acquire = drove__locked_acquire,
    .publish = drove__locked_publish,
    .peek = drove__locked_peek,
    .restore = drove__locked_restore,
    .leave = leave,
    .places = &places,
};
