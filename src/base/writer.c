/* base/writer.c - files that appear whole or not at all; declared in base/file.h.
 *
 * The content goes to a file without a name in the folder of NAME, which disappears with the
 * process however that ends; commit syncs it and names it NAME.tmp.PROCESS.COUNT.  Where the file
 * system has no such files it has that name from the start.  Commit then renames it to NAME and
 * syncs the folder, so that after a power cut NAME is the old or the new file; of two files that
 * belong together one may then be old and one new.  A symbolic link stays one: the file that it
 * leads to is replaced.  The new file has mode, owner and group of the old one; other hard links
 * keep the old content.  All writes pass through put_bytes, which keeps the first error: an fprintf
 * that failed long ago is still reported with its reason.  A file in memory (base/memfile.h) has
 * its new content from commit on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie, O_TMPFILE */
#endif
#include "base/file.h"

#include "base/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define STREAM_BUFFER_BYTES ((size_t)64 << 10)

#define LINK_FORMAT "/proc/self/fd/%d"

enum { NAME_TRIES = 100, NAME_EXTRA = 48, LINK_SIZE = 32, MOST_LINKS = 40, MOST_LIST = 8192 };

struct drove_writer {
    char *path;      /* behind symbolic links */
    char *temporary; /* NULL: path is a device, a pipe or an open file, written directly */
    bool is_named;   /* there is a file of the name `temporary` */
    int fd;
    int error;            /* errno of the first write that failed, or 0         */
    char link[LINK_SIZE]; /* where the content can be read before it has a name */
    FILE *stream;
    drove_memfile *memory; /* path is a file in memory: one reference; else NULL */
    char *bytes;           /* that is written to it, of malloc once the stream is closed */
    size_t n_bytes;
};

/* The stream's write function: writes everything, or returns 0 (failure). */
static ssize_t put_bytes(void *cookie, const char *bytes, size_t size_bytes)
{
    drove_writer *w = cookie;
    size_t done = 0;
    while (done < size_bytes && w->error == 0) {
        ssize_t n = write(w->fd, bytes + done, size_bytes - done);
        if (n > 0) done += (size_t)n;
        else if (n == 0) w->error = ENOSPC;
        else if (errno != EINTR) w->error = errno;
    }
    if (w->error == 0) return (ssize_t)size_bytes;
    errno = w->error;
    return 0;
}

static void free_writer(drove_writer *w)
{
    if (w->stream != NULL) fclose(w->stream);
    if (w->fd >= 0) close(w->fd);
    drove__memfile_release(w->memory);
    free(w->bytes);
    free(w->temporary);
    free(w->path);
    free(w);
}

static bool is_special_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

/* The folder of the file, to be freed; NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
}

/* In a folder where everybody may write, such as /tmp, a link counts if it is ours or the folder
 * owner's, as where Linux has protected_symlinks: another user may have put it there. */
static bool is_trusted(const char *link)
{
    struct stat own, folder;
    char *path = folder_of(link);
    const bool is_known = path != NULL && lstat(link, &own) == 0 && stat(path, &folder) == 0;
    free(path);
    if (!is_known) return false;
    const bool is_open = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
    return !is_open || own.st_uid == geteuid() || own.st_uid == folder.st_uid;
}

/* The file that the path leads to, which need not exist.  NULL: errno says why. */
static char *behind_links(const char *path)
{
    char to[PATH_MAX], *at = strdup(path);
    int error = ENOMEM;
    for (int i = 0; at != NULL; i++) {
        const ssize_t n = readlink(at, to, sizeof to);
        if (n < 0) return at; /* no link, or not there: opening it says which */
        const char *slash = strrchr(at, '/');
        const size_t n_folder = slash == NULL || to[0] == '/' ? 0 : (size_t)(slash + 1 - at);
        error = i == MOST_LINKS ? ELOOP : is_trusted(at) ? ENOMEM : EACCES;
        char *next = error == ENOMEM ? malloc(n_folder + (size_t)n + 1) : NULL;
        if (next != NULL) {
            memcpy(next, at, n_folder);
            memcpy(next + n_folder, to, (size_t)n);
            next[n_folder + (size_t)n] = '\0';
        }
        free(at);
        at = next;
    }
    errno = error;
    return NULL;
}

/* Only its owner may read the new file before it has the old one's mode. */
static mode_t first_mode(const char *path)
{
    return access(path, F_OK) == 0 ? 0600 : 0666;
}

/* Mode, owner, group and access list of the file that is replaced, as far as this user may give
 * them and the file system has them.  Where they cannot be kept, fewer may read the file, never
 * more. */
static void keep_rights(int fd, const char *path)
{
    static const char list_name[] = "system.posix_acl_access";
    struct stat old, now;
    char list[MOST_LIST];
    if (stat(path, &old) != 0 || fstat(fd, &now) != 0) return;
    const mode_t group = (old.st_mode >> 3) & 07;
    mode_t mode = old.st_mode & 07777;
    if (old.st_gid != now.st_gid && fchown(fd, (uid_t)-1, old.st_gid) != 0) {
        mode &= ~(mode_t)(S_IRWXG | S_ISGID | S_IRWXO);
        mode |= old.st_mode & group; /* others, of whom the old group may be one */
    }
    if (old.st_uid != now.st_uid && fchown(fd, old.st_uid, (gid_t)-1) != 0)
        mode &= ~(mode_t)S_ISUID;
    /* With a list the group's bits are its mask, not what the group may. */
    const ssize_t n = getxattr(path, list_name, list, sizeof list);
    const bool has_list = n > 0 || (n < 0 && errno == ERANGE);
    if (has_list) mode &= ~(mode_t)S_IRWXG;
    (void)fchmod(fd, mode);
    if (n > 0) (void)fsetxattr(fd, list_name, list, (size_t)n, 0);
}

/* A file without a name, which can get one through its descriptor; -1: not here. */
static int open_unnamed(const char *path)
{
    char link[LINK_SIZE];
    char *folder = folder_of(path);
    int fd = folder != NULL ? open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, first_mode(path)) : -1;
    free(folder);
    snprintf(link, sizeof link, LINK_FORMAT, fd);
    if (fd < 0 || access(link, F_OK) == 0) return fd;
    close(fd);
    return -1;
}

/* Makes a file of the temporary name.  0, or an errno. */
static int make_named(drove_writer *w)
{
    w->fd = open(w->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, first_mode(w->path));
    return w->fd >= 0 ? 0 : errno;
}

/* The content goes to a file of the temporary name, where a nameless one cannot get a name.  0, or
 * an errno. */
static int copy_content(drove_writer *w)
{
    char bytes[1 << 16];
    const int from = w->fd;
    int error = make_named(w);
    off_t at = 0;
    while (error == 0) {
        const ssize_t n = pread(from, bytes, sizeof bytes, at);
        if (n == 0) break;
        if (n < 0 && errno != EINTR) error = errno;
        else if (n > 0 && put_bytes(w, bytes, (size_t)n) != n) error = w->error;
        else if (n > 0) at += n;
    }
    if (error == 0) keep_rights(w->fd, w->path);
    if (error == 0 && fsync(w->fd) != 0) error = errno;
    if (w->fd >= 0 && error != 0) {
        close(w->fd);
        unlink(w->temporary);
    }
    if (error == 0) close(from);
    else w->fd = from;
    return error;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_ino == other->st_ino && one->st_dev == other->st_dev;
}

/* Gives the content, which has no name, the temporary one.  0, or an errno.  It may be there
 * already: a server had done it, and its answer was lost. */
static int link_content(drove_writer *w)
{
    char link[LINK_SIZE];
    struct stat content, found;
    snprintf(link, sizeof link, LINK_FORMAT, w->fd);
    if (linkat(AT_FDCWD, link, AT_FDCWD, w->temporary, AT_SYMLINK_FOLLOW) == 0) return 0;
    const int error = errno;
    bool is_done = error == EEXIST && fstat(w->fd, &content) == 0 &&
                   lstat(w->temporary, &found) == 0 && is_same(&content, &found);
    return is_done ? 0 : error;
}

/* The old content gets the temporary name, too.  0, or an errno. */
static int link_old(drove_writer *w)
{
    struct stat old, found;
    if (link(w->path, w->temporary) == 0) return 0;
    const int error = errno;
    bool is_done = error == EEXIST && lstat(w->path, &old) == 0 &&
                   lstat(w->temporary, &found) == 0 && is_same(&old, &found);
    return is_done ? 0 : error;
}

/* By one of these three, under a new name; skips leftovers of a killed process that had our number.
 * 0, or an errno. */
static int name_temporary(drove_writer *w, int (*make)(drove_writer *w))
{
    static atomic_uint count;
    int error = EEXIST;
    for (int i = 0; i < NAME_TRIES && error == EEXIST; i++) {
        /* relaxed: only the uniqueness of the number matters */
        unsigned number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
        snprintf(w->temporary, strlen(w->path) + NAME_EXTRA, "%s.tmp.%ld.%u", w->path,
                 (long)getpid(), number);
        error = make(w);
    }
    w->is_named = error == 0;
    return error;
}

static drove_status open_temporary(drove_writer *w)
{
    w->temporary = malloc(strlen(w->path) + NAME_EXTRA);
    if (w->temporary == NULL) return drove__fail_nomem(w->path, strlen(w->path) + NAME_EXTRA);
    /* Whether the temporary name may be given later. */
    struct stat about;
    snprintf(w->temporary, strlen(w->path) + NAME_EXTRA, "%s.tmp.%ld.%u", w->path, (long)getpid(),
             UINT_MAX);
    const bool is_long = lstat(w->temporary, &about) != 0 && errno == ENAMETOOLONG;
    int error = is_long ? ENAMETOOLONG : 0;
    if (error == 0) w->fd = open_unnamed(w->path);
    if (error == 0 && w->fd < 0) error = name_temporary(w, make_named);
    if (error == 0) {
        keep_rights(w->fd, w->path);
        return DROVE_OK;
    }
    free(w->temporary);
    w->temporary = NULL;
    return drove__fail_errno(drove__open_status(error), error, "%s: cannot be created", w->path);
}

/* The open file that the path means by its number: /dev/stdout, /dev/fd/3.  -1: it means none. */
static int open_number(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t n = strlen(folders[i]);
        const char *digits = path + n;
        if (strncmp(path, folders[i], n) != 0 || *digits == '\0' || strlen(digits) > 6) continue;
        if (strspn(digits, "0123456789") == strlen(digits)) return atoi(digits);
    }
    return -1;
}

static drove_status open_target(drove_writer *w)
{
    const int number = open_number(w->path);
    if (number >= 0) { /* where it stands: what is there stays */
        w->fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
        if (w->fd >= 0) return DROVE_OK;
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", w->path);
    }
    int error = w->path[0] == '\0' ? ENOENT : drove__is_folder(w->path) ? EISDIR : 0;
    if (error != 0)
        return drove__fail_errno(drove__open_status(error), error, "%s: cannot be created",
                                 w->path);
    if (!is_special_file(w->path)) return open_temporary(w);
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
    if (w->fd < 0)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", w->path);
    return DROVE_OK;
}

drove_status drove__writer_create(const char *path, drove_writer **out)
{
    *out = NULL;
    drove_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return drove__fail_nomem(path, sizeof *w);
    w->fd = -1;
    w->memory = drove__memfile_find(path);
    const bool is_as_named = w->memory != NULL || open_number(path) >= 0 || is_special_file(path);
    w->path = is_as_named ? strdup(path) : behind_links(path);
    drove_status status = DROVE_OK;
    if (w->path == NULL && errno == ENOMEM) status = drove__fail_nomem(path, strlen(path));
    else if (w->path == NULL)
        status = drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be created", path);
    else if (w->memory == NULL) status = open_target(w);
    if (status == DROVE_OK && w->memory == NULL) {
        const cookie_io_functions_t functions = {.write = put_bytes};
        w->stream = fopencookie(w, "w", functions);
        if (w->stream == NULL) status = drove__fail_nomem(w->path, sizeof(FILE));
        else if (setvbuf(w->stream, NULL, _IOFBF, STREAM_BUFFER_BYTES) != 0)
            status = drove__fail_nomem(w->path, STREAM_BUFFER_BYTES);
    } else if (status == DROVE_OK) {
        w->stream = open_memstream(&w->bytes, &w->n_bytes);
        if (w->stream == NULL) status = drove__fail_nomem(path, sizeof(FILE));
    }
    if (status != DROVE_OK) {
        drove__writer_abort(w);
        return status;
    }
    *out = w;
    return DROVE_OK;
}

FILE *drove__writer_stream(drove_writer *w)
{
    return w->stream;
}

static drove_status fail_to_write(const drove_writer *w, int error)
{
    return drove__fail_errno(DROVE_E_IO, error, "%s: cannot be written", w->path);
}

drove_status drove__writer_write(drove_writer *w, const void *bytes, size_t size_bytes)
{
    if (fwrite(bytes, 1, size_bytes, w->stream) == size_bytes) return DROVE_OK;
    if (w->memory != NULL) return drove__fail_nomem(w->path, size_bytes);
    return fail_to_write(w, w->error != 0 ? w->error : EIO);
}

drove_status drove__writer_flush(drove_writer *w, const char **path)
{
    *path = NULL;
    if (w->memory != NULL)
        return fflush(w->stream) == 0 ? DROVE_OK : drove__fail_nomem(w->path, w->n_bytes);
    int flushed = fflush(w->stream);
    snprintf(w->link, sizeof w->link, LINK_FORMAT, w->fd);
    *path = w->temporary == NULL || w->is_named ? w->temporary : w->link;
    if (w->error == 0 && (flushed != 0 || ferror(w->stream))) w->error = EIO;
    return w->error == 0 ? DROVE_OK : fail_to_write(w, w->error);
}

/* The folder of the file, open; before the rename, so that what can fail does so while nothing has
 * changed. */
static drove_status open_folder(const drove_writer *w, int *fd)
{
    char *folder = folder_of(w->path);
    if (folder == NULL) return drove__fail_nomem(w->path, strlen(w->path));
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    free(folder);
    return *fd >= 0 ? DROVE_OK : fail_to_write(w, error);
}

bool drove__rename(const char *from, const char *to)
{
    struct stat before, after, left;
    bool is_known = lstat(from, &before) == 0;
    if (rename(from, to) == 0) return true;
    const int error = errno;
    bool is_done = is_known && lstat(from, &left) != 0 && errno == ENOENT &&
                   lstat(to, &after) == 0 && after.st_ino == before.st_ino &&
                   after.st_dev == before.st_dev;
    errno = error;
    return is_done;
}

static drove_status take_name(drove_writer *w)
{
    if (!drove__rename(w->temporary, w->path))
        return drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be replaced", w->path);
    w->is_named = false;
    return DROVE_OK;
}

/* Makes the file's new name durable.  EINVAL: the file system cannot sync folders, and nothing can
 * be done. */
static drove_status sync_name(const drove_writer *w, int folder)
{
    if (fsync(folder) == 0 || errno == EINVAL) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno,
                             "%s: is written, but its folder cannot be synced: a power cut may "
                             "bring back what was there before",
                             w->path);
}

/* Syncs the content, which then has the temporary name, and closes fd. */
static drove_status finish_content(drove_writer *w)
{
    const char *temporary;
    (void)drove__writer_flush(w, &temporary); /* w->error has what went wrong */
    if (w->error == 0 && w->temporary != NULL && fsync(w->fd) != 0) w->error = errno;
    if (w->error == 0 && w->temporary != NULL && !w->is_named) {
        int error = name_temporary(w, link_content);
        if (error != 0 && error != EEXIST) error = name_temporary(w, copy_content);
        w->error = error;
    }
    if (close(w->fd) != 0 && w->error == 0) w->error = errno;
    w->fd = -1;
    return w->error == 0 ? DROVE_OK : fail_to_write(w, w->error);
}

drove_status drove__writer_commit(drove_writer *w)
{
    drove_status status = DROVE_OK;
    if (w->memory != NULL) {
        bool is_whole = ferror(w->stream) == 0;
        is_whole = fclose(w->stream) == 0 && is_whole;
        w->stream = NULL;
        if (is_whole) {
            drove__memfile_replace(w->memory, w->bytes, w->n_bytes);
            w->bytes = NULL;
        } else { /* a write that fails has no memory */
            status = drove__fail_nomem(w->path, w->n_bytes);
        }
        free_writer(w);
        return status;
    }
    int folder = -1;
    status = finish_content(w);
    if (status == DROVE_OK && w->temporary != NULL) status = open_folder(w, &folder);
    if (status == DROVE_OK && w->temporary != NULL) status = take_name(w);
    if (status == DROVE_OK && w->temporary != NULL) status = sync_name(w, folder);
    if (folder >= 0) close(folder);
    if (status != DROVE_OK) drove__writer_abort(w);
    else free_writer(w);
    return status;
}

/* ---- two files that belong together ---- */

/* The first file of two has its new name, the second cannot have it. */
static void give_back(drove_writer *old)
{
    char why[DROVE_ERROR_TEXT_SIZE];
    if (!old->is_named) {
        unlink(old->path); /* as before: there was none */
        return;
    }
    old->is_named = false;
    drove__error_copy(why);
    if (!drove__rename(old->temporary, old->path))
        (void)drove__fail(DROVE_E_IO, "%s; the old content of %s is in %s", why, old->path,
                          old->temporary);
}

/* Both contents have temporary names. */
static drove_status take_names(drove_writer *first, drove_writer *second)
{
    const size_t size = strlen(first->path) + NAME_EXTRA;
    drove_writer old = {.path = first->path, .temporary = malloc(size)};
    if (old.temporary == NULL) return drove__fail_nomem(first->path, size);
    const int error = name_temporary(&old, link_old);
    drove_status status = DROVE_OK;
    if (error != 0 && error != ENOENT) /* its old content could not be given back */
        status = drove__fail_errno(DROVE_E_IO, error, "%s: cannot be replaced", first->path);
    if (status == DROVE_OK) status = take_name(first);
    if (status == DROVE_OK) {
        status = take_name(second);
        if (status != DROVE_OK) give_back(&old);
    }
    if (old.is_named) unlink(old.temporary);
    free(old.temporary);
    return status;
}

static const char *name_in_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Two paths may name one file. */
static drove_status check_two(const drove_writer *first, const drove_writer *second,
                              const int folder[2])
{
    struct stat one, other;
    if (strcmp(name_in_folder(first->path), name_in_folder(second->path)) != 0) return DROVE_OK;
    if (fstat(folder[0], &one) != 0 || fstat(folder[1], &other) != 0)
        return fail_to_write(first, errno);
    if (!is_same(&one, &other)) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "%s: expected two different files", second->path);
}

drove_status drove__writer_commit_both(drove_writer *first, drove_writer *second)
{
    const char *path;
    int folder[2] = {-1, -1};
    drove_status status = drove__writer_flush(first, &path);
    if (status == DROVE_OK) status = drove__writer_flush(second, &path);
    const bool are_files = first->temporary != NULL && second->temporary != NULL;
    if (status == DROVE_OK && !are_files) { /* devices, pipes or memory: nothing can be undone */
        status = drove__writer_commit(first);
        if (status == DROVE_OK) return drove__writer_commit(second);
        drove__writer_abort(second);
        return status;
    }
    if (status != DROVE_OK || (status = finish_content(first)) != DROVE_OK) goto end;
    if ((status = finish_content(second)) != DROVE_OK) goto end;
    if ((status = open_folder(first, &folder[0])) != DROVE_OK) goto end;
    if ((status = open_folder(second, &folder[1])) != DROVE_OK) goto end;
    if ((status = check_two(first, second, folder)) != DROVE_OK) goto end;
    if ((status = take_names(first, second)) != DROVE_OK) goto end;
    status = sync_name(second, folder[1]);
    const drove_status of_first = sync_name(first, folder[0]);
    if (of_first != DROVE_OK) status = of_first;
end:
    for (int i = 0; i < 2; i++)
        if (folder[i] >= 0) close(folder[i]);
    drove__writer_abort(first);
    drove__writer_abort(second);
    return status;
}

void drove__writer_abort(drove_writer *w)
{
    if (w == NULL) return;
    if (w->is_named) unlink(w->temporary);
    w->error = w->error != 0 ? w->error : ECANCELED; /* drops what the stream still buffers */
    free_writer(w);
}
