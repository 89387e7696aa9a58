/* powercut.c - a shared library, loaded before all others (LD_PRELOAD), that writes down what a
 * program and its children do to files, in the order in which they do it; for scripts/powercuts.
 *
 * DROVE_POWERCUT names the record, to which each operation is appended by one write:
 *   open FILE CREATED TRUNCATED PATH   a file created or opened for writing; FILE is its number
 *   write FILE OFFSET BYTES            followed by the bytes
 *   size FILE BYTES
 *   link FILE PATH
 *   rename FROM<TAB>TO
 *   unlink PATH
 *   mkdir FILE PATH
 *   sync FILE                          the file, or the folder
 *   said BYTES                         to a terminal, a pipe or standard output; followed by them
 * Paths are absolute.  Calls of libc's own streams are not seen: drove writes files by write(2).
 *
 * A number is an inode's, which the system gives again to a new file once the old one has no name
 * and nobody has it open.  So CREATED is exact (O_EXCL decides it), and a lock on the record makes
 * one of changing names and writing it down: a number stands for another file from each creation
 * on.  What is done to an open file needs no lock, since its number is its own meanwhile.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

static int record = -1; /* until it is opened, before main */
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;

/* Of this process by the mutex, of others by a lock of the record, which fork does not hand on. */
static void lock_record(short type)
{
    struct flock all = {.l_type = type, .l_whence = SEEK_SET};
    const int error = errno;
    while (record >= 0 && fcntl(record, F_SETLKW, &all) != 0 && errno == EINTR) continue;
    errno = error;
}

static void begin(void)
{
    pthread_mutex_lock(&names);
    lock_record(F_WRLCK);
}

static void end(void)
{
    lock_record(F_UNLCK);
    pthread_mutex_unlock(&names);
}

static void before_fork(void)
{
    pthread_mutex_lock(&names);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&names);
}

__attribute__((constructor)) static void open_record(void)
{
    const char *path = getenv("DROVE_POWERCUT");
    if (path == NULL) return;
    record = NEXT(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (record < 0 || pthread_atfork(before_fork, after_fork, after_fork) != 0) _exit(99);
}

static void put(const char *head, const void *bytes, size_t n)
{
    const int error = errno;
    const struct iovec parts[2] = {{(void *)(uintptr_t)head, strlen(head)},
                                   {(void *)(uintptr_t)bytes, n}};
    if (record >= 0 && writev(record, parts, n > 0 ? 2 : 1) < 0) _exit(99);
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

static int note_open(int fd, int flags, bool is_new, const char *path)
{
    char head[HEAD];
    const int error = errno;
    const bool is_written = is_new || (flags & O_ACCMODE) != O_RDONLY;
    if (fd >= 0 && is_written && number_of(fd) != 0) {
        snprintf(head, sizeof head, "open %llu %d %d %s\n", number_of(fd), is_new,
                 (flags & O_TRUNC) != 0, path);
        put(head, NULL, 0);
    }
    errno = error;
    return fd;
}

static int open_at(int at, const char *path, int flags, mode_t mode)
{
    enum { TRIES = 1000 }; /* others may create and remove the file meanwhile */
    char place[PATH_MAX];
    __typeof__(&openat) next = NEXT(openat);
    const char *whole = absolute(at, path, place);
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return note_open(next(at, path, flags, mode), flags, true, "");
    if ((flags & O_CREAT) == 0) return note_open(next(at, path, flags), flags, false, whole);
    for (unsigned i = 0; i < TRIES; i++) {
        int fd = -1;
        if ((flags & O_EXCL) == 0) {
            fd = next(at, path, flags & ~O_CREAT);
            if (fd >= 0 || errno != ENOENT) return note_open(fd, flags, false, whole);
        }
        begin();
        fd = note_open(next(at, path, flags | O_EXCL, mode), flags, true, whole);
        end();
        if (fd >= 0 || errno != EEXIST || (flags & O_EXCL) != 0) return fd;
    }
    return next(at, path, flags, mode); /* through a link to nowhere: of no account */
}

#define OPEN(at)                                                                                   \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;         \
    va_end(more);                                                                                  \
    return open_at(at, path, flags, mode)

int open(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD);
}

int openat(int at, const char *path, int flags, ...)
{
    OPEN(at);
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
    begin();
    const int status = NEXT(truncate)(path, size);
    if (status == 0 && stat(path, &about) == 0) {
        snprintf(head, sizeof head, "size %llu %lld\n", (unsigned long long)about.st_ino,
                 (long long)size);
        put(head, NULL, 0);
    }
    end();
    return status;
}

/* Where a test does not wait for the disk (cmake/DroveTest.cmake), a sync is only written down:
 * what a cut leaves is computed from the record. */
static bool is_free(void)
{
    return getenv("DROVE_NO_SYNC") != NULL;
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
    return note_sync(fd, is_free() ? 0 : NEXT(fsync)(fd));
}

int fdatasync(int fd)
{
    return note_sync(fd, is_free() ? 0 : NEXT(fdatasync)(fd));
}

/* ---- names: what note_... is given was done behind begin(), which it ends ---- */

static int note_link(int status, int at, const char *to)
{
    char head[HEAD], place[PATH_MAX];
    struct stat about;
    if (status == 0 && fstatat(at, to, &about, AT_SYMLINK_NOFOLLOW) == 0) {
        snprintf(head, sizeof head, "link %llu %s\n", (unsigned long long)about.st_ino,
                 absolute(at, to, place));
        put(head, NULL, 0);
    }
    end();
    return status;
}

int link(const char *from, const char *to)
{
    begin();
    return note_link(NEXT(link)(from, to), AT_FDCWD, to);
}

int linkat(int from_at, const char *from, int at, const char *to, int flags)
{
    begin();
    return note_link(NEXT(linkat)(from_at, from, at, to, flags), at, to);
}

static int note_rename(int status, int from_at, const char *from, int at, const char *to)
{
    char head[HEAD], place[PATH_MAX], other[PATH_MAX];
    snprintf(head, sizeof head, "rename %s\t%s\n", absolute(from_at, from, place),
             absolute(at, to, other));
    if (status == 0) put(head, NULL, 0);
    end();
    return status;
}

int rename(const char *from, const char *to)
{
    begin();
    return note_rename(NEXT(rename)(from, to), AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_at, const char *from, int at, const char *to)
{
    begin();
    return note_rename(NEXT(renameat)(from_at, from, at, to), from_at, from, at, to);
}

static int note_unlink(int status, int at, const char *path)
{
    char head[HEAD], place[PATH_MAX];
    snprintf(head, sizeof head, "unlink %s\n", absolute(at, path, place));
    if (status == 0) put(head, NULL, 0);
    end();
    return status;
}

int unlink(const char *path)
{
    begin();
    return note_unlink(NEXT(unlink)(path), AT_FDCWD, path);
}

int unlinkat(int at, const char *path, int flags)
{
    begin();
    return note_unlink(NEXT(unlinkat)(at, path, flags), at, path);
}

int rmdir(const char *path)
{
    begin();
    return note_unlink(NEXT(rmdir)(path), AT_FDCWD, path);
}

int mkdir(const char *path, mode_t mode)
{
    char head[HEAD], place[PATH_MAX];
    struct stat about;
    begin();
    const int status = NEXT(mkdir)(path, mode);
    if (status == 0 && stat(path, &about) == 0) {
        snprintf(head, sizeof head, "mkdir %llu %s\n", (unsigned long long)about.st_ino,
                 absolute(AT_FDCWD, path, place));
        put(head, NULL, 0);
    }
    end();
    return status;
}
