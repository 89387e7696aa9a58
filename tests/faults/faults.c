/* faults/faults.c - libdrove_faults.so: makes the n-th call of a kind fail, for scripts/faults.
 *
 * It is preloaded (LD_PRELOAD) and not linked, so that it tests the very program that is used, and
 * reaches the calls of every library: theirs are bound to the functions here as ours are.
 *
 *     DROVE_FAULT=WHAT:N[+][:ERRNO]   the N-th call of WHAT fails, with + each later one as well;
 *                                     N = 0: calls are counted only
 *     DROVE_FAULT=WHAT:N!             the process is killed instead (SIGKILL)
 *     DROVE_FAULT_COUNTS=FILE         the counts, one for a process and all that it starts; without
 *                                     it they are printed at exit
 *     DROVE_FAULT_BEFORE_MAIN=1       calls before main() count, too
 *     DROVE_FAULT_RANK=R              only those of this rank of an MPI job
 *
 * WHAT is a function below, or a group: memory, files, threads; and where they are preloaded behind
 * this one those of opencl.c and mpi.c, or of the stand-in for CUDA: opencl, cuda, mpi, polls.
 * ERRNO is a number.  The file of
 * the counts is a `counts` below: scripts/faults has the same layout.
 *
 * Calls that the C library makes inside itself are not seen, but for those of malloc and its like:
 * hence fopen and opendir have wrappers of their own.  A close that fails has closed, as in Linux.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, renameat2 */
#endif
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MEMORY, FILES, THREADS };

static const char *const group_names[] = {"memory", "files", "threads"};

/* Shared by all processes of a test, in this order in the file. */
typedef struct counts {
    _Atomic uint64_t n_calls, n_failed;
    char where[240]; /* the first that failed: "malloc in libjansson.so.4" */
    char died[256];  /* the program or library in which a signal ended a process; "": none */
    _Atomic int64_t n_objects; /* of a device: made and not released */
} counts;

static counts own_counts, *shared = &own_counts;
static char what[32];
static uint64_t which;
static bool is_on, and_later, is_deadly;
static int given_errno;

/* glibc's own, under names that are not replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Those of a sanitizer's library that is preloaded behind this one; else NULL. */
__attribute__((weak)) void *__interceptor_malloc(size_t size);
__attribute__((weak)) void *__interceptor_calloc(size_t n, size_t size);
__attribute__((weak)) void *__interceptor_realloc(void *memory, size_t size);
__attribute__((weak)) void *__interceptor_memalign(size_t alignment, size_t size);

static void *real_malloc(size_t size)
{
    return __interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size);
}

static void *real_calloc(size_t n, size_t size)
{
    return __interceptor_calloc != NULL ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

static void *real_realloc(void *memory, size_t size)
{
    return __interceptor_realloc != NULL ? __interceptor_realloc(memory, size)
                                         : __libc_realloc(memory, size);
}

static void *real_memalign(size_t alignment, size_t size)
{
    return __interceptor_memalign != NULL ? __interceptor_memalign(alignment, size)
                                          : __libc_memalign(alignment, size);
}

/* ---- which call fails ---- */

/* Of the file of the code at an address, its name without folders. */
static const char *module_of(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return "?";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

static void note(const char *function, const void *caller)
{
    char *to = shared->where, *end = shared->where + sizeof shared->where - 1;
    const char *const parts[] = {function, " in ", module_of(caller)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *from = parts[i]; *from != '\0' && to < end;) *to++ = *from++;
}

bool drove_fault(const char *group, const char *function, const void *caller)
{
    if (!is_on || (strcmp(what, group) != 0 && strcmp(what, function) != 0)) return false;
    const uint64_t number = atomic_fetch_add(&shared->n_calls, 1) + 1;
    if (which == 0 || number < which || (number > which && !and_later)) return false;
    if (atomic_fetch_add(&shared->n_failed, 1) == 0) note(function, caller);
    if (is_deadly) (void)syscall(SYS_kill, getpid(), SIGKILL);
    return true;
}

void drove_fault_objects(int n)
{
    atomic_fetch_add(&shared->n_objects, n);
}

/* Whether this call of the C library is to fail; errno is then set. */
static bool fails(unsigned group, const char *function, int usual_errno, const void *caller)
{
    if (!drove_fault(group_names[group], function, caller)) return false;
    errno = given_errno != 0 ? given_errno : usual_errno;
    return true;
}

#define FAILS(group, function, usual_errno)                                                        \
    fails(group, function, usual_errno, __builtin_return_address(0))

/* The function that a wrapper stands for, into a pointer to one. */
static void find_next(const char *name, void *pointer)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) _exit(127);
    memcpy(pointer, &found, sizeof found);
}

/* ---- which code dies ---- */

/* Code that ends a process on behalf of its caller. */
static bool is_bearer(const char *module)
{
    static const char *const bearers[] = {"libc.so", "libstdc++", "libgcc_s", "libdrove_faults",
                                          "?"};
    for (size_t i = 0; i < sizeof bearers / sizeof *bearers; i++)
        if (strncmp(module, bearers[i], strlen(bearers[i])) == 0) return true;
    return false;
}

/* Notes the innermost code of the stack that is not the C library's, and dies as without it. */
static void on_death(int signal_number)
{
    void *frame[64];
    is_on = false;
    const int n = backtrace(frame, 64);
    for (int i = 0; i < n; i++) {
        const char *module = module_of(frame[i]);
        if (is_bearer(module)) continue;
        strncpy(shared->died, module, sizeof shared->died - 1);
        break;
    }
    (void)raise(signal_number);
}

static void watch_deaths(void)
{
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    struct sigaction action;
    void *frame[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_death;
    action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
    (void)backtrace(frame, 1); /* loads what it needs, while there is memory */
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) sigaction(deadly[i], &action, NULL);
}

/* ---- beginning and end ---- */

/* Text of the environment: WHAT:N[+|!][:ERRNO]. */
static void parse(const char *text)
{
    char *end;
    const size_t n = strcspn(text, ":");
    if (n >= sizeof what || text[n] == '\0') return;
    memcpy(what, text, n);
    which = strtoull(text + n + 1, &end, 10);
    and_later = *end == '+';
    is_deadly = *end == '!';
    if (and_later || is_deadly) end++;
    if (*end == ':') given_errno = atoi(end + 1);
}

static void map_counts(const char *path)
{
    int fd = path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *memory = MAP_FAILED;
    if (fd >= 0)
        memory = (void *)syscall(SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED,
                                 fd, 0);
    if (fd >= 0) syscall(SYS_close, fd);
    if (memory != MAP_FAILED) shared = memory;
}

/* Whether this process is the rank that is meant; without DROVE_FAULT_RANK every one is. */
static bool is_meant(void)
{
    const char *rank = getenv("DROVE_FAULT_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");
    if (own == NULL) own = getenv("PMI_RANK");
    return rank == NULL || (own != NULL && strcmp(rank, own) == 0);
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("DROVE_FAULT");
    if (fault == NULL) return;
    if (is_meant()) parse(fault);
    map_counts(getenv("DROVE_FAULT_COUNTS"));
    watch_deaths();
    is_on = what[0] != '\0' && getenv("DROVE_FAULT_BEFORE_MAIN") != NULL;
}

__attribute__((destructor)) static void end(void)
{
    char line[320];
    is_on = false;
    if (what[0] == '\0' || shared != &own_counts) return;
    int n =
        snprintf(line, sizeof line, "faults: %llu calls of %s, %llu failed%s%s\n",
                 (unsigned long long)shared->n_calls, what, (unsigned long long)shared->n_failed,
                 shared->where[0] != '\0' ? ": " : "", shared->where);
    if (n > 0) syscall(SYS_write, STDERR_FILENO, line, (size_t)n);
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    is_on = what[0] != '\0';
    return real_main(argc, argv, environment);
}

typedef int start_function(int (*)(int, char **, char **), int, char **, void (*)(void),
                           void (*)(void), void (*)(void), void *);

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack);

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
    start_function *start;
    find_next("__libc_start_main", &start);
    real_main = program;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack);
}

/* ---- memory ---- */

void *malloc(size_t size)
{
    return FAILS(MEMORY, "malloc", ENOMEM) ? NULL : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return FAILS(MEMORY, "calloc", ENOMEM) ? NULL : real_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
    return FAILS(MEMORY, "realloc", ENOMEM) ? NULL : real_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS(MEMORY, "aligned_alloc", ENOMEM) ? NULL : real_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size);

void *memalign(size_t alignment, size_t size)
{
    return FAILS(MEMORY, "memalign", ENOMEM) ? NULL : real_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = FAILS(MEMORY, "posix_memalign", ENOMEM) ? NULL : real_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *out = memory;
    return 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MEMORY, "mmap", ENOMEM)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MEMORY, "mmap", ENOMEM)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

/* ---- files ---- */

/* The mode that follows flags which may create a file. */
static mode_t mode_of(int flags, va_list arguments)
{
    bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? va_arg(arguments, mode_t) : 0;
}

static int open_with(const char *path, int flags, mode_t mode)
{
    if (FAILS(FILES, "open", EMFILE)) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_with(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_with(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    if (FAILS(FILES, "openat", EMFILE)) return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    if (FAILS(FILES, "fopen", EMFILE)) return NULL;
    FILE *(*real)(const char *, const char *);
    find_next("fopen", &real);
    return real(path, mode);
}

DIR *opendir(const char *path)
{
    if (FAILS(FILES, "opendir", EMFILE)) return NULL;
    DIR *(*real)(const char *);
    find_next("opendir", &real);
    return real(path);
}

ssize_t read(int fd, void *into, size_t size)
{
    return FAILS(FILES, "read", EIO) ? -1 : syscall(SYS_read, fd, into, size);
}

ssize_t pread(int fd, void *into, size_t size, off_t offset)
{
    return FAILS(FILES, "pread", EIO) ? -1 : syscall(SYS_pread64, fd, into, size, offset);
}

ssize_t pread64(int fd, void *into, size_t size, off_t offset)
{
    return FAILS(FILES, "pread", EIO) ? -1 : syscall(SYS_pread64, fd, into, size, offset);
}

ssize_t write(int fd, const void *from, size_t size)
{
    return FAILS(FILES, "write", ENOSPC) ? -1 : syscall(SYS_write, fd, from, size);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
    return FAILS(FILES, "pwrite", ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, from, size, offset);
}

/* Where a test does not wait for the disk (cmake/DroveTest.cmake), a sync returns at once. */
static int sync_by(long number, int fd)
{
    return getenv("DROVE_NO_SYNC") != NULL ? 0 : (int)syscall(number, fd);
}

int fsync(int fd)
{
    return FAILS(FILES, "fsync", EIO) ? -1 : sync_by(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return FAILS(FILES, "fdatasync", EIO) ? -1 : sync_by(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t size)
{
    return FAILS(FILES, "ftruncate", EIO) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

off_t lseek(int fd, off_t offset, int from)
{
    return FAILS(FILES, "lseek", EIO) ? -1 : syscall(SYS_lseek, fd, offset, from);
}

int rename(const char *from, const char *to)
{
    if (FAILS(FILES, "rename", EIO)) return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
    if (FAILS(FILES, "link", EIO)) return -1;
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int old, const char *from, int new, const char *to, int flags)
{
    return FAILS(FILES, "linkat", EIO) ? -1 : (int)syscall(SYS_linkat, old, from, new, to, flags);
}

int renameat(int old, const char *from, int new, const char *to)
{
    return FAILS(FILES, "renameat", EIO) ? -1 : (int)syscall(SYS_renameat2, old, from, new, to, 0);
}

int unlinkat(int folder, const char *path, int flags)
{
    return FAILS(FILES, "unlinkat", EIO) ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path)
{
    return FAILS(FILES, "unlink", EIO) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int mkdir(const char *path, mode_t mode)
{
    return FAILS(FILES, "mkdir", ENOSPC) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int close(int fd)
{
    bool is_bad = FAILS(FILES, "close", EIO);
    int error = errno, closed = (int)syscall(SYS_close, fd);
    if (!is_bad) return closed;
    errno = error;
    return -1;
}

/* ---- threads and processes ---- */

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*function)(void *), void *restrict argument)
{
    typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (FAILS(THREADS, "pthread_create", EAGAIN)) return errno;
    create_function *real;
    find_next("pthread_create", &real);
    return real(thread, attributes, function, argument);
}

pid_t fork(void)
{
    typedef pid_t fork_function(void);
    if (FAILS(THREADS, "fork", EAGAIN)) return -1;
    fork_function *real;
    find_next("fork", &real);
    return real();
}
