/* tests/support/no_memory.h - memory that runs out at a chosen allocation of the calling thread,
 * and a count of what was not freed.
 *
 * Defines malloc and its like for the whole program, over glibc's: included by one file of a test,
 * since a library that defines malloc would be linked to every test.  Without effect under a
 * sanitizer, which has an allocator of its own: no_memory_works() is false then.
 */
#ifndef DROVE_TESTS_NO_MEMORY_H
#define DROVE_TESTS_NO_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

enum { NO_MEMORY_MOST = 4096 };

static _Thread_local struct {
    bool          is_on, has_failed;
    unsigned long n_calls, fails_at; /* 0: none */
    size_t        n_live;
    void         *live[NO_MEMORY_MOST]; /* allocated since no_memory_begin and not freed */
} no_memory;

/* From here on allocations are counted; the n-th fails, or for 0 none. */
static inline void no_memory_begin(unsigned long n)
{
    no_memory.n_calls = 0;
    no_memory.fails_at = n;
    no_memory.n_live = 0;
    no_memory.has_failed = false;
    no_memory.is_on = true;
}

/* The counting of allocations ends, that of memory that is freed goes on.  Has one failed? */
static inline bool no_memory_end(void)
{
    no_memory.is_on = false;
    return no_memory.has_failed;
}

/* Pieces of memory that were allocated between the two and not freed since. */
static inline size_t no_memory_live(void)
{
    return no_memory.n_live;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __GLIBC__
static inline bool                                                          no_memory_works(void)
{
    return false;
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void  __libc_free(void *memory);

static inline bool no_memory_works(void)
{
    return true;
}

static bool no_memory_is_due(void)
{
    const bool is_due = no_memory.is_on && ++no_memory.n_calls == no_memory.fails_at;
    if (!is_due) return false;
    no_memory.has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *no_memory_add(void *memory)
{
    if (no_memory.is_on && memory != NULL && no_memory.n_live < NO_MEMORY_MOST)
        no_memory.live[no_memory.n_live++] = memory;
    return memory;
}

static void no_memory_remove(const void *memory)
{
    for (size_t i = 0; i < no_memory.n_live; i++) {
        if (no_memory.live[i] != memory) continue;
        no_memory.live[i] = no_memory.live[--no_memory.n_live];
        return;
    }
}

void *malloc(size_t size)
{
    return no_memory_is_due() ? NULL : no_memory_add(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return no_memory_is_due() ? NULL : no_memory_add(__libc_calloc(n, size));
}

void *realloc(void *memory, size_t size)
{
    if (no_memory_is_due()) return NULL;
    void *moved = __libc_realloc(memory, size);
    if (moved == NULL) return NULL;
    no_memory_remove(memory);
    return no_memory_add(moved);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return no_memory_is_due() ? NULL : no_memory_add(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (no_memory_is_due()) return ENOMEM;
    *memory = no_memory_add(__libc_memalign(alignment, size));
    return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    if (memory != NULL) no_memory_remove(memory);
    __libc_free(memory);
}
#endif

#endif
