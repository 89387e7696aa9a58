/* base/mem.h - aligned memory.  Everything a kernel touches starts on a 64-byte boundary. */
#ifndef DROVE_BASE_MEM_H
#define DROVE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DROVE_CACHE_LINE         64u
#define DROVE_ALIGNED_CACHE_LINE __attribute__((aligned(64)))
#define DROVE_COUNT(array)       (sizeof(array) / sizeof((array)[0]))

/* n rounded up to whole cache lines of floats. */
static inline size_t drove__pad_floats(size_t n)
{
    return (n + 15u) & ~(size_t)15u;
}

/* Zeroed, 64-byte aligned memory for count elements of size_bytes; NULL if there is none or the
 * product overflows.  Count 0 gives a valid pointer.  Large blocks (>= 4 MiB) are advised to use
 * huge pages.  Free with drove__free, which accepts NULL. */
void *drove__alloc(size_t count, size_t size_bytes);
void  drove__free(void *memory);

/* Between begin and end, drove__alloc and drove__topo_alloc give the calling thread memory that
 * processes forked later share with this one, at the same address, instead of a copy.  Each block
 * is a mapping of its own and is freed as usual.  The state belongs to the thread, so other runs in
 * the same program are not affected; pairs nest. */
void drove__memory_share_begin(void);
void drove__memory_share_end(void);
bool drove__memory_is_shared(void);

/* A copy of text[n] and of each of them, or NULL: no memory.  Free with drove__texts_free, which
 * accepts NULL, and in the array NULL. */
char **drove__texts_copy(const char *const *text, size_t n);
void   drove__texts_free(char **text, size_t n);

/* realloc for count elements with overflow check; the new part is not zeroed, alignment is that of
 * malloc.  Free with free().  NULL on failure; the old block is untouched. */
void *drove__grow(void *memory, size_t count, size_t size_bytes);

#endif
