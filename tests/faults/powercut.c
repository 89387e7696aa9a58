/* powercut.c - a shared library, loaded before all others (LD_PRELOAD), that writes down what a
 * program and its children do to files, in the order in which they do it; for scripts/powercuts.
 *
 * DROVE_POWERCUT names the record, to which each operation is appended by one write:
 *   open FILE CREATED TRUNCATED PATH   a file opened for writing; FILE is its number (inode)
 *   write FILE OFFSET BYTES            followed by the bytes
 *   size FILE BYTES
 *   link FILE PATH
 *   rename FROM<TAB>TO
 *   unlink PATH
 *   mkdir FILE PATH
 *   sync FILE                          the file, or the folder
 *   said BYTES                         to a terminal, a pipe or standard output; followed by them
 * Paths are absolute.  Calls of libc's own streams are not seen: drove writes files by write(2).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* The function of the next library.  POSIX lets a pointer of dlsym become one to a function. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

enum { HEAD = 2 * PATH_MAX + 128 };

static void put(const char *head, const void *bytes, size_t n)
{
    static int fd = -2;
    const int error = errno;
    if (fd == -2) {
        const char *path = getenv("DROVE_POWERCUT");
        fd = path != NULL ? NEXT(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    }
    const struct iovec parts[2] = {{(void *)(uintptr_t)head, strlen(head)},
                                   {(void *)(uintptr_t)bytes, n}};
    if (fd >= 0 && writev(fd, parts, n > 0 ? 2 : 1) < 0) _exit(99);
    errno = error;
}

/* An absolute path of what is named from the folder at. */
static const char *absolute(int at, const char *path, char into[PATH_MAX])
{
    char link[64], folder[PATH_MAX];
    if (path[0] == '/') return path;
    if (at == AT_FDCWD) {
        if (getcwd(folder, sizeof folder) == NULL) folder[0] = '\0';
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        const ssize_t n = readlink(link, folder, sizeof folder - 1);
        folder[n > 0 ? n : 0] = '\0';
    }
    if (snprintf(into, PATH_MAX, "%s/%s", folder, path) >= PATH_MAX) _exit(99);
    return into;
}

/* The number of a regular file or folder; 0: something else. */
static unsigned long long number_of(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) return 0;
    return (unsigned long long)about.st_ino;
}

/* ---- opening ---- */

static void note_open(int fd, int flags, bool is_new, const char *path)
{
    char head[HEAD];
    const int error = errno;
    if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY && number_of(fd) != 0) {
        const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
        snprintf(head, sizeof head, "open %llu %d %d %s\n", number_of(fd), is_new || is_unnamed,
                 (flags & O_TRUNC) != 0, is_unnamed ? "" : path);
        put(head, NULL, 0);
    }
    errno = error;
}

#define OPEN(at, path)                                                                             \
    char place[PATH_MAX];                                                                          \
    mode_t mode = 0;                                                                               \
    if ((flags & (O_CREAT | __O_TMPFILE)) != 0) {                                                  \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }                                                                                              \
    const bool is_new =                                                                            \
        (flags & O_CREAT) != 0 && faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0

int open(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path);
    const int fd = NEXT(open)(path, flags, mode);
    note_open(fd, flags, is_new, absolute(AT_FDCWD, path, place));
    return fd;
}

int open64(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path);
    const int fd = NEXT(open)(path, flags, mode);
    note_open(fd, flags, is_new, absolute(AT_FDCWD, path, place));
    return fd;
}

int openat(int at, const char *path, int flags, ...)
{
    OPEN(at, path);
    const int fd = NEXT(openat)(at, path, flags, mode);
    note_open(fd, flags, is_new, absolute(at, path, place));
    return fd;
}

/* ---- content ---- */

static void note_write(int fd, const void *bytes, ssize_t n, off_t offset)
{
    char head[HEAD];
    if (n <= 0) return;
    if (number_of(fd) == 0 || fd == 1 || fd == 2) snprintf(head, sizeof head, "said %zd\n", n);
    else snprintf(head, sizeof head, "write %llu %lld %zd\n", number_of(fd), (long long)offset, n);
    put(head, bytes, (size_t)n);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    const ssize_t n = NEXT(write)(fd, bytes, size);
    const int error = errno;
    if (n > 0) note_write(fd, bytes, n, lseek(fd, 0, SEEK_CUR) - n);
    errno = error;
    return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    const ssize_t n = NEXT(pwrite)(fd, bytes, size, offset);
    note_write(fd, bytes, n, offset);
    return n;
}

int ftruncate(int fd, off_t size)
{
    char head[HEAD];
    const int status = NEXT(ftruncate)(fd, size);
    snprintf(head, sizeof head, "size %llu %lld\n", number_of(fd), (long long)size);
    if (status == 0) put(head, NULL, 0);
    return status;
}

int truncate(const char *path, off_t size)
{
    char head[HEAD];
    struct stat about;
    const int status = NEXT(truncate)(path, size);
    if (status == 0 && stat(path, &about) == 0) {
        snprintf(head, sizeof head, "size %llu %lld\n", (unsigned long long)about.st_ino,
                 (long long)size);
        put(head, NULL, 0);
    }
    return status;
}

static int note_sync(int fd, int status)
{
    char head[HEAD];
    snprintf(head, sizeof head, "sync %llu\n", number_of(fd));
    if (status == 0) put(head, NULL, 0);
    return status;
}

int fsync(int fd)
{
    return note_sync(fd, NEXT(fsync)(fd));
}

int fdatasync(int fd)
{
    return note_sync(fd, NEXT(fdatasync)(fd));
}

/* ---- names ---- */

static int note_link(int status, int at, const char *to)
{
    char head[HEAD], place[PATH_MAX];
    struct stat about;
    if (status == 0 && fstatat(at, to, &about, AT_SYMLINK_NOFOLLOW) == 0) {
        snprintf(head, sizeof head, "link %llu %s\n", (unsigned long long)about.st_ino,
                 absolute(at, to, place));
        put(head, NULL, 0);
    }
    return status;
}

int link(const char *from, const char *to)
{
    return note_link(NEXT(link)(from, to), AT_FDCWD, to);
}

int linkat(int from_at, const char *from, int at, const char *to, int flags)
{
    return note_link(NEXT(linkat)(from_at, from, at, to, flags), at, to);
}

static int note_rename(int status, int from_at, const char *from, int at, const char *to)
{
    char head[HEAD], place[PATH_MAX], other[PATH_MAX];
    snprintf(head, sizeof head, "rename %s\t%s\n", absolute(from_at, from, place),
             absolute(at, to, other));
    if (status == 0) put(head, NULL, 0);
    return status;
}

int rename(const char *from, const char *to)
{
    return note_rename(NEXT(rename)(from, to), AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_at, const char *from, int at, const char *to)
{
    return note_rename(NEXT(renameat)(from_at, from, at, to), from_at, from, at, to);
}

static int note_unlink(int status, int at, const char *path)
{
    char head[HEAD], place[PATH_MAX];
    snprintf(head, sizeof head, "unlink %s\n", absolute(at, path, place));
    if (status == 0) put(head, NULL, 0);
    return status;
}

int unlink(const char *path)
{
    return note_unlink(NEXT(unlink)(path), AT_FDCWD, path);
}

int unlinkat(int at, const char *path, int flags)
{
    return note_unlink(NEXT(unlinkat)(at, path, flags), at, path);
}

int mkdir(const char *path, mode_t mode)
{
    char head[HEAD], place[PATH_MAX];
    struct stat about;
    const int status = NEXT(mkdir)(path, mode);
    if (status == 0 && stat(path, &about) == 0) {
        snprintf(head, sizeof head, "mkdir %llu %s\n", (unsigned long long)about.st_ino,
                 absolute(AT_FDCWD, path, place));
        put(head, NULL, 0);
    }
    return status;
}
