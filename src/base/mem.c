/* base/mem.c - aligned memory.
 *
 * Every block is preceded by a header of one cache line that tells drove__free where the memory
 * came from.  Blocks below LARGE_BYTES come from the C library; larger ones are mapped, so that
 * their pages are zero without being touched and start on a huge page.  Memory to be shared by
 * processes is always mapped: the C library's memory is private to each process after a fork.
 */
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_BYTES     ((size_t)4 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Lies DROVE_CACHE_LINE bytes before the caller's memory. */
typedef struct block_header {
    void *mapping; /* NULL: from aligned_alloc */
    size_t mapping_bytes;
} block_header;

static _Thread_local unsigned share_depth;

void drove__memory_share_begin(void)
{
    share_depth++;
}

void drove__memory_share_end(void)
{
    assert(share_depth > 0);
    share_depth--;
}

bool drove__memory_is_shared(void)
{
    return share_depth > 0;
}

/* Advice only: a kernel without huge pages refuses it; the memory is still valid. */
static void advise_huge(char *block, size_t size_bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t before = -(uintptr_t)block & (HUGE_PAGE_BYTES - 1);
    if (size_bytes < before + HUGE_PAGE_BYTES) return;
    (void)madvise(block + before, (size_bytes - before) & ~(HUGE_PAGE_BYTES - 1), MADV_HUGEPAGE);
#else
    (void)block, (void)size_bytes;
#endif
}

void *drove__alloc(size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) return NULL;
    const bool is_large = total_bytes >= LARGE_BYTES;
    if (is_large || share_depth > 0) {
        /* A mapping with a header; the caller's part of a large one starts at a huge page. */
        const size_t mapping_bytes =
            total_bytes + DROVE_CACHE_LINE + (is_large ? HUGE_PAGE_BYTES : 0);
        if (mapping_bytes < total_bytes) return NULL;
        const int kind = share_depth > 0 ? MAP_SHARED : MAP_PRIVATE;
        char *mapping =
            mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
        if (mapping == MAP_FAILED) return NULL;
        uintptr_t block = (uintptr_t)mapping + DROVE_CACHE_LINE;
        if (is_large) {
            block = (block + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
            advise_huge((char *)block, total_bytes);
        }
        *(block_header *)(block - DROVE_CACHE_LINE) =
            (block_header){.mapping = mapping, .mapping_bytes = mapping_bytes};
        return (void *)block;
    }
    size_t padded_bytes = DROVE_CACHE_LINE + total_bytes + DROVE_CACHE_LINE - 1;
    padded_bytes -= padded_bytes % DROVE_CACHE_LINE;
    char *memory = aligned_alloc(DROVE_CACHE_LINE, padded_bytes);
    if (memory == NULL) return NULL;
    memset(memory, 0, padded_bytes);
    return memory + DROVE_CACHE_LINE;
}

void drove__free(void *memory)
{
    if (memory == NULL) return;
    block_header *header = (block_header *)((char *)memory - DROVE_CACHE_LINE);
    if (header->mapping != NULL) munmap(header->mapping, header->mapping_bytes);
    else free(header);
}

void *drove__grow(void *memory, size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) return NULL;
    char *grown = realloc(memory, total_bytes > 0 ? total_bytes : 1);
    if (grown != NULL && total_bytes >= LARGE_BYTES) advise_huge(grown, total_bytes);
    return grown;
}

char **drove__texts_copy(const char *const *text, size_t n)
{
    char **copy = calloc(n > 0 ? n : 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = strdup(text[i]);
        if (copy[i] != NULL) continue;
        drove__texts_free(copy, n);
        return NULL;
    }
    return copy;
}

void drove__texts_free(char **text, size_t n)
{
    for (size_t i = 0; text != NULL && i < n; i++) free(text[i]);
    free(text);
}
