/* surroundings.c - a shared library, loaded before all others (LD_PRELOAD), that makes clocks and
 * file systems behave as they may; for tests/cli/test_surroundings.sh.
 *
 * DROVE_SURROUNDINGS is a list of words with commas between them:
 *   clock=N     the clock of the day is N seconds after 1970, or before it
 *   jumps=N     it jumps: every second look at it is N seconds ahead of the others
 *   stale       rename is done, and fails with ENOENT: a server's answer was lost, and the second
 *               request finds nothing (NFS); link the same with EEXIST
 *   nolink      link fails with EOPNOTSUPP; there are no files without a name (O_TMPFILE)
 *   noflock=N   flock fails with error N (ENOLCK, EOPNOTSUPP)
 *   slow=N      fsync takes N ms longer, and each write of more than 64 bytes as well
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The function of the next library.  POSIX lets a pointer of dlsym become one to a function. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* The number behind a word ("" for none), or NULL: the word is not there. */
static const char *word(const char *name)
{
    const char *at = getenv("DROVE_SURROUNDINGS");
    const size_t n = strlen(name);
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ",");
        if (length >= n && strncmp(at, name, n) == 0 && (length == n || at[n] == '='))
            return length == n ? "" : at + n + 1;
        at += length + (at[length] == ',');
    }
    return NULL;
}

static void wait_ms(const char *ms)
{
    const long n = ms != NULL ? atol(ms) : 0;
    const struct timespec moment = {.tv_sec = n / 1000, .tv_nsec = n % 1000 * 1000000};
    if (n > 0) nanosleep(&moment, NULL);
}

/* ---- clocks ---- */

/* Of the day: what the program sees instead of `now`. */
static time_t shown(time_t now)
{
    static atomic_uint n_looks;
    const char *fixed = word("clock"), *jump = word("jumps");
    if (fixed != NULL) return (time_t)atoll(fixed);
    if (jump != NULL && atomic_fetch_add(&n_looks, 1) % 2 == 1) return now + (time_t)atoll(jump);
    return now;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = NEXT(clock_gettime)(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec = shown(now->tv_sec);
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int result = NEXT(gettimeofday)(now, zone);
    if (result == 0) now->tv_sec = shown(now->tv_sec);
    return result;
}

time_t time(time_t *out)
{
    time_t now = shown(NEXT(time)(NULL));
    if (out != NULL) *out = now;
    return now;
}

/* ---- files ---- */

int rename(const char *from, const char *to)
{
    int result = NEXT(rename)(from, to);
    if (result != 0 || word("stale") == NULL) return result;
    errno = ENOENT;
    return -1;
}

static bool refuses_link(void)
{
    if (word("nolink") == NULL) return false;
    errno = EOPNOTSUPP;
    return true;
}

static int lose_answer(int result)
{
    if (result != 0 || word("stale") == NULL) return result;
    errno = EEXIST;
    return -1;
}

int link(const char *from, const char *to)
{
    return refuses_link() ? -1 : lose_answer(NEXT(link)(from, to));
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return refuses_link() ? -1 : lose_answer(NEXT(linkat)(from_folder, from, to_folder, to, flags));
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const bool is_new = (flags & (O_CREAT | O_TMPFILE)) != 0;
    const mode_t mode = is_new ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if ((flags & O_TMPFILE) == O_TMPFILE && refuses_link()) return -1;
    return NEXT(open)(path, flags, mode);
}

int flock(int fd, int operation);
int flock(int fd, int operation)
{
    const char *error = word("noflock");
    if (error == NULL) return NEXT(flock)(fd, operation);
    errno = atoi(error);
    return -1;
}

ssize_t write(int fd, const void *bytes, size_t size_bytes)
{
    if (size_bytes > 64) wait_ms(word("slow"));
    return NEXT(write)(fd, bytes, size_bytes);
}

int fsync(int fd)
{
    wait_ms(word("slow"));
    return getenv("DROVE_NO_SYNC") != NULL ? 0 : NEXT(fsync)(fd); /* cmake/DroveTest.cmake */
}
