/* cluster/park.h - a thread that waits for a word to change, in memory of one process or of many.
 *
 * The word is a hint, not a lock: whoever changed what is waited for adds 1 to it and wakes;
 * whoever waits reads the word, looks at what it waits for, and parks only while the word still is
 * what it read. Nothing is kept in the word or in the C library, so a process that is killed while
 * it waits or wakes leaves nothing behind (a condition variable of the C library may then block
 * for ever).
 */
#ifndef DROVE_CLUSTER_PARK_H
#define DROVE_CLUSTER_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Until *word is no longer `seen`, somebody wakes, timeout_ns have passed, or for no reason at
 * all. */
void drove__park(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns, bool is_between);

/* All that are parked at the word. is_between, here and above: processes share it. */
void drove__unpark(_Atomic uint32_t *word, bool is_between);

#endif
