/* data/disk/ahead.h - blocks of a file on their way into memory, around the system's cache
 * (base/direct.h).
 *
 * A block's first bytes go straight to where they are wanted if the alignment of both allows it;
 * all others into a buffer, which the caller copies from.
 *
 * Threads: one at a time.
 */
#ifndef DROVE_DATA_DISK_AHEAD_H
#define DROVE_DATA_DISK_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct drove_ahead drove_ahead;

/* For blocks of about block_bytes of the file that fd has open; NULL: they are read as usual, as
 * the system has no such reads, or the blocks are too small or too large for them. */
drove_ahead *drove__ahead_open(int fd, uint64_t block_bytes);
void         drove__ahead_close(drove_ahead *a); /* NULL accepted */

/* Blocks that are worth being on their way at the same time. */
unsigned drove__ahead_count(const drove_ahead *a);
size_t   drove__ahead_alignment(const drove_ahead *a);

typedef struct drove_ahead_block {
    size_t   number; /* names it */
    uint64_t offset; /* in the file */
    uint64_t size_bytes;
    void    *front; /* [front_bytes] wanted for its first bytes; NULL: none */
    uint64_t front_bytes;
} drove_ahead_block;

/* Begins to read a block; nothing happens where that is not possible now. */
void drove__ahead_begin(drove_ahead *a, const drove_ahead_block *block);

typedef struct drove_ahead_bytes {
    uint64_t    first; /* bytes before it are where they were wanted */
    const char *bytes; /* of the block, from first on; until the next begin */
} drove_ahead_bytes;

/* Waits for a block that was begun with the same front.  false: it was not, or it was not read to
 * its end: it is read as usual then, which says what is wrong. */
bool drove__ahead_take(drove_ahead *a, const drove_ahead_block *block, drove_ahead_bytes *out);

/* Waits for all that was begun and not taken, and drops it. */
void drove__ahead_drop(drove_ahead *a);

#endif
