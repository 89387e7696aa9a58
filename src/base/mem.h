/* base/mem.h - aligned memory.  Everything a kernel touches starts on a 64-byte boundary. */
#ifndef DROVE_BASE_MEM_H
#define DROVE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DROVE_CACHE_LINE         64u
#define DROVE_ALIGNED_CACHE_LINE __attribute__((aligned(64)))
#define DROVE_COUNT(array)       (sizeof(array) / sizeof((array)[0]))

/* Number of floats, at least n, that fills whole cache lines. */
static inline size_t drove__pad_floats(size_t n)
{
    return (n + 15u) & ~(size_t)15u;
}

/* Zeroed, 64-byte aligned memory for count elements of size_bytes; NULL when there is none, or when
 * the product overflows.  Count 0 gives a valid pointer.  Large blocks (>= 4 MiB) are advised to
 * use huge pages.  Free with drove__free, which accepts NULL. */
void *drove__alloc(size_t count, size_t size_bytes);
void  drove__free(void *memory);

/* From begin to end, what the calling thread gets from drove__alloc and from drove__topo_alloc is
 * memory that processes forked later share with this one, at the same address, instead of getting a
 * copy of it.  Each block is a mapping of its own, freed as ever.  It belongs to the thread, so
 * that another run of the same program is not concerned; pairs nest. */
void drove__memory_share_begin(void);
void drove__memory_share_end(void);
bool drove__memory_is_shared(void);

/* realloc for count elements with overflow check; new part is not zeroed, only malloc alignment.
 * Memory of this family is freed with free(). NULL on failure, old block untouched. */
void *drove__grow(void *memory, size_t count, size_t size_bytes);

#endif
