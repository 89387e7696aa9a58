/* base/direct.h - reads of a file around the system's cache, several at a time: the device writes
 * into the caller's memory while the caller does something else, and nothing is copied.
 *
 * Linux's O_DIRECT and io_submit.  Where the system or the file system has none of that, opening
 * gives NULL, and the caller reads as usual.
 *
 * Threads: one at a time.
 */
#ifndef DROVE_BASE_DIRECT_H
#define DROVE_BASE_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef struct drove_direct drove_direct;

enum { DROVE_DIRECT_SLOTS_MOST = 16, DROVE_DIRECT_PARTS = 2 };

/* For n_slots reads at a time of the file that fd has open.  NULL: not possible here. */
drove_direct *drove__direct_open(int fd, unsigned n_slots);
void          drove__direct_close(drove_direct *d); /* waits for all reads; NULL accepted */

/* Offsets, addresses and sizes must be multiples of this, a power of two. */
size_t drove__direct_alignment(const drove_direct *d);

/* Starts to read the bytes at an offset into part[n_parts], one after the other.  The slot is free
 * and its memory stays until drove__direct_end.  false: refused; the slot is still free. */
bool drove__direct_begin(drove_direct *d, unsigned slot, uint64_t offset, const struct iovec *part,
                         int n_parts);
/* Waits for a read that was begun and frees its slot.  Bytes that were read, fewer than wanted at
 * the end of the file; 0: failed. */
size_t drove__direct_end(drove_direct *d, unsigned slot);

/* Whether the byte at an offset is in the system's cache, and reading it waits for no device. */
bool drove__direct_is_cached(int fd, uint64_t offset);

#endif
