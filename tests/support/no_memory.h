/* tests/support/no_memory.h - memory that runs out at a chosen allocation of the calling thread, a
 * count of what was not freed, and a guard behind each piece: a write there ends the program when
 * the piece is freed.
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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY_MOST = 4096, NO_MEMORY_GUARD = 16, NO_MEMORY_BYTE = 0xa5 };

typedef struct no_memory_piece {
    unsigned char *bytes; /* [size + NO_MEMORY_GUARD] */
    size_t         size;
} no_memory_piece;

static _Thread_local struct {
    bool            is_on, has_failed;
    unsigned long   n_calls, fails_at; /* 0: none */
    size_t          n_live;
    no_memory_piece live[NO_MEMORY_MOST]; /* allocated since no_memory_begin and not freed */
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

/* What is allocated from here on is added to what is counted; nothing fails. */
static inline void no_memory_go_on(void)
{
    no_memory.n_calls = 0;
    no_memory.fails_at = 0;
    no_memory.is_on = true;
}

/* The counting of allocations ends, that of memory that is freed goes on.  Has one failed? */
static inline bool no_memory_end(void)
{
    no_memory.is_on = false;
    return no_memory.has_failed;
}

/* Allocations since no_memory_begin or no_memory_go_on. */
static inline unsigned long no_memory_calls(void)
{
    return no_memory.n_calls;
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
    no_memory.n_calls += no_memory.is_on;
    if (!no_memory.is_on || no_memory.n_calls != no_memory.fails_at) return false;
    no_memory.has_failed = true;
    errno = ENOMEM;
    return true;
}

/* Bytes to ask glibc for; 0: too many. */
static size_t no_memory_room(size_t size)
{
    return size <= SIZE_MAX - NO_MEMORY_GUARD ? size + NO_MEMORY_GUARD : 0;
}

/* Of a guard behind so much memory: one that was copied from behind another piece shows. */
static unsigned char no_memory_byte(size_t size, size_t k)
{
    return (unsigned char)(NO_MEMORY_BYTE + size / 64 + 16 * k);
}

static void *no_memory_add(void *memory, size_t size)
{
    if (memory == NULL) return NULL;
    for (size_t k = 0; k < NO_MEMORY_GUARD; k++)
        ((unsigned char *)memory)[size + k] = no_memory_byte(size, k);
    if (no_memory.is_on && no_memory.n_live < NO_MEMORY_MOST)
        no_memory.live[no_memory.n_live++] = (no_memory_piece){.bytes = memory, .size = size};
    return memory;
}

/* Its place in the list, behind its end where it is not there; a guard that was written to ends the
 * program. */
static size_t no_memory_find(const void *memory)
{
    size_t i = 0;
    while (i < no_memory.n_live && no_memory.live[i].bytes != memory) i++;
    if (i == no_memory.n_live) return i;
    const no_memory_piece piece = no_memory.live[i];
    for (size_t k = 0; k < NO_MEMORY_GUARD; k++) {
        if (piece.bytes[piece.size + k] == no_memory_byte(piece.size, k)) continue;
        fprintf(stderr, "byte %zu behind memory of %zu bytes was written\n", k, piece.size);
        abort();
    }
    return i;
}

static void no_memory_remove(size_t i)
{
    if (i < no_memory.n_live) no_memory.live[i] = no_memory.live[--no_memory.n_live];
}

void *malloc(size_t size)
{
    const size_t room = no_memory_room(size);
    if (room == 0 || no_memory_is_due()) return NULL;
    return no_memory_add(__libc_malloc(room), size);
}

void *calloc(size_t n, size_t size)
{
    size_t       total;
    const bool   is_too_much = __builtin_mul_overflow(n, size, &total);
    const size_t room = is_too_much ? 0 : no_memory_room(total);
    if (room == 0 || no_memory_is_due()) return NULL;
    return no_memory_add(__libc_calloc(1, room), total);
}

void *realloc(void *memory, size_t size)
{
    const size_t room = no_memory_room(size);
    if (room == 0 || no_memory_is_due()) return NULL;
    const size_t at = no_memory_find(memory);
    void        *moved = __libc_realloc(memory, room);
    if (moved == NULL) return NULL;
    no_memory_remove(at);
    return no_memory_add(moved, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    const size_t room = no_memory_room(size);
    if (room == 0 || no_memory_is_due()) return NULL;
    return no_memory_add(__libc_memalign(alignment, room), size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    const size_t room = no_memory_room(size);
    if (room == 0 || no_memory_is_due()) return ENOMEM;
    *memory = no_memory_add(__libc_memalign(alignment, room), size);
    return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    if (memory != NULL) no_memory_remove(no_memory_find(memory));
    __libc_free(memory);
}
#endif

#endif
