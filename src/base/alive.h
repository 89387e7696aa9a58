/* base/alive.h - handles of the public API that were destroyed, in builds with assertions.
 *
 * A handle that is used after its end is the program's mistake, and many functions have no status
 * to say so.  Where assertions are compiled in, each public function looks for its handle among
 * those that ended; if it is one of them, a line goes to standard error, and the process aborts, as
 * by assert.  The memory of the last DROVE_ALIVE_KEPT handles that ended is kept, so that no other
 * object can have their address, and nothing reads freed memory.  With NDEBUG all of this is gone.
 *
 * A handle ends once, by DROVE_END in its public destroy function.  Its memory may live longer,
 * while runs or streams hold it; whoever frees it calls drove__alive_free.
 *
 * Threads: any.  DROVE_ALIVE is async-signal-safe.
 */
#ifndef DROVE_BASE_ALIVE_H
#define DROVE_BASE_ALIVE_H

#ifdef NDEBUG

#define DROVE_ALIVE(handle, kind) ((void)0)
#define DROVE_END(handle, kind)   ((void)0)

static inline void drove__alive_free(void *handle, void (*release)(void *memory))
{
    release(handle);
}

#else

enum { DROVE_ALIVE_KEPT = 256 };

/* kind: "a predictor".  handle NULL: nothing is done. */
#define DROVE_ALIVE(handle, kind) drove__alive_check(handle, kind, __func__)
#define DROVE_END(handle, kind)   drove__alive_end(handle, kind, __func__)

void drove__alive_check(const void *handle, const char *kind, const char *function);
void drove__alive_end(const void *handle, const char *kind, const char *function);

/* Frees the memory of a handle by `release`: at once if it did not end by DROVE_END, else when
 * DROVE_ALIVE_KEPT others have ended. */
void drove__alive_free(void *handle, void (*release)(void *memory));

#endif
#endif
