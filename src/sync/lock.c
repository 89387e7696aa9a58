/* sync/lock.c - taking a lock with or without back-off (thesis Algorithm 4; its `while try_lock()`
 * reads "while busy"). */
#include "sync/lock.h"

#include "base/clock.h"
#include "base/cost.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

typedef struct lock_kind { /* 0 = taken */
    int (*try_it)(void *lock);
    int (*wait_for_it)(void *lock);
} lock_kind;

static int mutex_try(void *lock)
{
    return drove__lock_taken(lock, pthread_mutex_trylock(lock), NULL) ? 0 : EBUSY;
}

static int mutex_wait(void *lock)
{
    (void)drove__lock(lock);
    return 0;
}

static int read_try(void *lock)
{
    return drove__rwlock_try_read(lock);
}

static int read_wait(void *lock)
{
    return drove__rwlock_read(lock);
}

static int write_try(void *lock)
{
    return drove__rwlock_try_write(lock);
}

static int write_wait(void *lock)
{
    return drove__rwlock_write(lock);
}

static const lock_kind mutex_kind = {mutex_try, mutex_wait};
static const lock_kind read_kind = {read_try, read_wait};
static const lock_kind write_kind = {write_try, write_wait};

static drove_lock_cost take(const lock_kind *kind, void *lock, drove_backoff *b)
{
    drove_lock_cost cost = {.attempts = 1};
    if (kind->try_it(lock) == 0) {
        drove__spend_line(lock);
        return cost;
    }
    uint64_t begin_ns = drove__now_ns();
    if (b->kind == DROVE_BACKOFF_NONE) {
        int failed = kind->wait_for_it(lock);
        assert(failed == 0);
        (void)failed;
        cost.attempts++;
    } else {
        drove__backoff_begin(b);
        do {
            cost.backoff_ns += drove__backoff_wait(b);
            cost.attempts++;
        } while (kind->try_it(lock) != 0);
    }
    cost.wait_ns = drove__now_ns() - begin_ns;
    return cost;
}

drove_lock_cost drove__lock_mutex(pthread_mutex_t *mutex, drove_backoff *b)
{
    return take(&mutex_kind, mutex, b);
}

drove_lock_cost drove__lock_read(drove_rwlock *lock, drove_backoff *b)
{
    return take(&read_kind, lock, b);
}

drove_lock_cost drove__lock_write(drove_rwlock *lock, drove_backoff *b)
{
    return take(&write_kind, lock, b);
}
