/* data/disk/ahead.c - see ahead.h. */
#include "data/disk/ahead.h"

#include "base/direct.h"

#include <stdlib.h>

enum { SLOTS_LEAST = 2, SLOTS_MOST = 8 };
static const uint64_t BLOCK_LEAST = 64 << 10, BLOCK_MOST = 8 << 20; /* bytes */
static const uint64_t UNDER_WAY = 4 << 20; /* bytes that keep a device busy */

typedef struct slot {
    size_t number;
    const void *front;
    uint64_t first;  /* bytes of the block before those of the buffer */
    uint64_t shift;  /* bytes of the buffer before the block's */
    uint64_t wanted; /* bytes to the end of the block */
    char *buffer;    /* [capacity] */
    size_t capacity;
    bool is_used;
} slot;

struct drove_ahead {
    drove_direct *direct;
    size_t alignment;
    unsigned n_slots;
    slot slot[SLOTS_MOST];
};

drove_ahead *drove__ahead_open(int fd, uint64_t block_bytes)
{
    if (block_bytes < BLOCK_LEAST || block_bytes > BLOCK_MOST) return NULL;
    drove_ahead *a = calloc(1, sizeof *a);
    if (a == NULL) return NULL;
    uint64_t n = UNDER_WAY / block_bytes;
    a->n_slots = n < SLOTS_LEAST ? SLOTS_LEAST : n > SLOTS_MOST ? SLOTS_MOST : (unsigned)n;
    a->direct = drove__direct_open(fd, a->n_slots);
    if (a->direct == NULL) {
        free(a);
        return NULL;
    }
    a->alignment = drove__direct_alignment(a->direct);
    return a;
}

void drove__ahead_close(drove_ahead *a)
{
    if (a == NULL) return;
    drove__direct_close(a->direct);
    for (unsigned i = 0; i < a->n_slots; i++) free(a->slot[i].buffer);
    free(a);
}

unsigned drove__ahead_count(const drove_ahead *a)
{
    return a->n_slots;
}

size_t drove__ahead_alignment(const drove_ahead *a)
{
    return a->alignment;
}

void drove__ahead_begin(drove_ahead *a, const drove_ahead_block *block)
{
    slot *s = NULL;
    for (unsigned i = 0; i < a->n_slots && s == NULL; i++)
        if (!a->slot[i].is_used) s = &a->slot[i];
    if (s == NULL) return;
    const uint64_t mask = a->alignment - 1, begin = block->offset & ~mask;
    const uint64_t end = (block->offset + block->size_bytes + mask) & ~mask;
    struct iovec part[DROVE_DIRECT_PARTS];
    int n_parts = 0;
    s->number = block->number;
    s->front = block->front;
    const uint64_t low = (uintptr_t)block->front | block->front_bytes | block->offset;
    const bool is_aligned = block->front != NULL && block->front_bytes > 0 && (low & mask) == 0;
    s->first = is_aligned ? block->front_bytes : 0;
    s->shift = block->offset - begin;
    s->wanted = s->shift + block->size_bytes;
    const size_t buffered = (size_t)(end - begin - s->first);
    if (buffered > s->capacity) {
        void *buffer;
        if (posix_memalign(&buffer, a->alignment, buffered) != 0) return;
        free(s->buffer);
        s->buffer = buffer;
        s->capacity = buffered;
    }
    if (s->first > 0)
        part[n_parts++] =
            (struct iovec){.iov_base = block->front, .iov_len = (size_t)block->front_bytes};
    if (buffered > 0) part[n_parts++] = (struct iovec){.iov_base = s->buffer, .iov_len = buffered};
    s->is_used = drove__direct_begin(a->direct, (unsigned)(s - a->slot), begin, part, n_parts);
}

static bool end_slot(drove_ahead *a, slot *s)
{
    s->is_used = false;
    return drove__direct_end(a->direct, (unsigned)(s - a->slot)) >= s->wanted;
}

bool drove__ahead_take(drove_ahead *a, const drove_ahead_block *block, drove_ahead_bytes *out)
{
    slot *s = NULL;
    for (unsigned i = 0; i < a->n_slots; i++)
        if (a->slot[i].is_used && a->slot[i].number == block->number) s = &a->slot[i];
    if (s == NULL || !end_slot(a, s) || s->front != block->front) return false;
    *out = (drove_ahead_bytes){.first = s->first, .bytes = s->buffer + s->shift};
    return true;
}

void drove__ahead_drop(drove_ahead *a)
{
    for (unsigned i = 0; i < a->n_slots; i++)
        if (a->slot[i].is_used) (void)end_slot(a, &a->slot[i]);
}
