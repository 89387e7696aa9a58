/* trace/append.c - appends whole records to a file. */
#include "trace/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

drove_status drove__append_open(drove_append *a, const char *path, int flags)
{
    a->path = strdup(path);
    if (a->path == NULL) return drove__fail_nomem("file name", strlen(path) + 1);
    a->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    if (a->fd >= 0) return DROVE_OK;
    int error = errno;
    drove__append_close(a);
    return drove__fail_errno(drove__open_status(error), error, "%s: cannot be opened for appending",
                             path);
}

void drove__append_close(drove_append *a)
{
    if (a->fd >= 0) close(a->fd);
    free(a->path);
    a->fd = -1;
    a->path = NULL;
}

drove_status drove__append_sync(const drove_append *a)
{
    /* EINVAL, EROFS: a pipe or a device, which has nothing to sync. */
    if (fdatasync(a->fd) == 0 || errno == EINVAL || errno == EROFS) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be written to the disk", a->path);
}

drove_status drove__append_write(drove_append *a, const void *record, size_t size_bytes)
{
    struct stat before;
    if (fstat(a->fd, &before) != 0) {
        return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be examined", a->path);
    }
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t n = write(a->fd, (const char *)record + done, size_bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (done == size_bytes) return DROVE_OK;
    int error = errno;
    if (done > 0 && ftruncate(a->fd, before.st_size) != 0) {
        return drove__fail_errno(DROVE_E_IO, error,
                                 "%s: a record was cut off after %zu of %zu bytes", a->path, done,
                                 size_bytes);
    }
    return drove__fail_errno(DROVE_E_IO, error, "%s: cannot append %zu bytes", a->path, size_bytes);
}
