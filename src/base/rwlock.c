/* base/rwlock.c - see rwlock.h.  On a virtual clock writers do not wait inside the lock, which
 * cannot prefer them by itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_rwlockattr_setkind_np */
#endif
#include "base/rwlock.h"

#include "base/virtual.h"

#include <errno.h>
#include <string.h>

drove_status drove__rwlock_init(drove_rwlock *l)
{
    pthread_rwlockattr_t attributes;
    int error = pthread_rwlockattr_init(&attributes);
    if (error != 0) return drove__fail(DROVE_E_SYSTEM, "%s", strerror(error));
    error = pthread_rwlockattr_setkind_np(&attributes,
                                          l->prefers_writers
                                              ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
                                              : PTHREAD_RWLOCK_PREFER_READER_NP);
    if (error == 0) error = pthread_rwlock_init(&l->lock, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
    return error == 0 ? DROVE_OK : drove__fail(DROVE_E_SYSTEM, "%s", strerror(error));
}

int drove__rwlock_try_read(drove_rwlock *l)
{
    if (drove__actor != NULL && l->prefers_writers && drove__virtual_sleepers(&l->writers) > 0)
        return EBUSY;
    return pthread_rwlock_tryrdlock(&l->lock);
}

int drove__rwlock_try_write(drove_rwlock *l)
{
    return pthread_rwlock_trywrlock(&l->lock);
}

int drove__rwlock_read(drove_rwlock *l)
{
    int result;
    if (drove__actor == NULL) return pthread_rwlock_rdlock(&l->lock);
    while ((result = drove__rwlock_try_read(l)) == EBUSY)
        (void)drove__virtual_wait(&l->readers, UINT64_MAX);
    return result;
}

int drove__rwlock_write(drove_rwlock *l)
{
    int result;
    if (drove__actor == NULL) return pthread_rwlock_wrlock(&l->lock);
    while ((result = drove__rwlock_try_write(l)) == EBUSY)
        (void)drove__virtual_wait(&l->writers, UINT64_MAX);
    return result;
}

void drove__rwlock_leave(drove_rwlock *l)
{
    (void)pthread_rwlock_unlock(&l->lock);
    if (drove__actor == NULL) return;
    unsigned n_writers = drove__virtual_sleepers(&l->writers);
    if (l->prefers_writers && n_writers > 0) {
        drove__virtual_wake(&l->writers, 1);
        return;
    }
    drove__virtual_wake(&l->readers, ~0u);
    drove__virtual_wake(&l->writers, 1);
}
